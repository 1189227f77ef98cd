//go:build !race

// The race detector makes sync.Pool drop what it holds at random, so that
// allocations can only be counted without it.

package isolate_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// The hot path allocates the invocation and little else; the engine's part is not
// counted here because the fake has none.
func TestInvokeAllocations(t *testing.T) {
	b, w := idleWorker(t)
	defer b.close()
	p := op.InvokeParams{Handler: "fetch", Args: []op.Value{op.String("GET")}, OnFail: func(*outcome.Failure) {}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 100 {
		w.Invoke(ctx, p)
	}
	if n := testing.AllocsPerRun(1000, func() {
		if v := w.Invoke(ctx, p); v.Failure() != nil {
			panic(fmt.Sprint(v.Failure()))
		}
	}); n > 2 {
		t.Errorf("Invoke allocates %v times, want at most 2", n)
	}
}

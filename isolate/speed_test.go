package isolate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/enginefake"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// The path of a request that meets an idle instance and answers in one slice.
func BenchmarkInvoke(b *testing.B) {
	bench, w := idleWorker(b)
	defer bench.close()
	p := op.InvokeParams{Handler: "fetch", OnFail: func(*outcome.Failure) {}}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		w.Invoke(ctx, p)
	}
}

// Many callers of one worker.
func BenchmarkInvokeParallel(b *testing.B) {
	bench, w := idleWorker(b)
	defer bench.close()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		p := op.InvokeParams{Handler: "fetch"}
		for pb.Next() {
			<-w.Invoke(context.Background(), p).Ended()
		}
	})
}

// Many callers of many workers.
func BenchmarkInvokeTenants(b *testing.B) {
	bench, w := idleWorker(b)
	defer bench.close()
	ws := []*isolate.Worker{w}
	for range 499 {
		ws = append(ws, bench.worker("hello"))
	}
	var next atomic.Uint64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		p := op.InvokeParams{Handler: "fetch"}
		for pb.Next() {
			<-ws[next.Add(7919)%500].Invoke(context.Background(), p).Ended()
		}
	})
}

func idleWorker(t testing.TB) (*bench, *isolate.Worker) {
	b := newBench(t, setup{scripts: map[string]enginefake.Script{"hello": {"fetch": hello}}})
	w := b.worker("hello")
	if err := w.Boot(context.Background()); err != nil {
		t.Fatal(err)
	}
	return b, w
}

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

package isolate_test

import (
	"context"
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

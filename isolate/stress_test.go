package isolate_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/enginefake"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// mixed does what its argument says.
var mixed = enginefake.Script{
	"fetch": func(c *enginefake.Ctx, args []op.Value) {
		switch args[0].Text() {
		case "ok":
			hello(c, nil)
		case "later":
			c.Async("op_later", func(c *enginefake.Ctx, _ op.Value, err *op.Error) {
				if err != nil {
					c.Throw(err.Msg)
					return
				}
				hello(c, nil)
			})
		case "spin":
			c.Spin()
		case "heap":
			c.ExhaustHeap()
		case "throw":
			c.Throw("oops")
		case "silent":
		case "die":
			c.Die("gone")
		}
	},
}

// allowed are the outcomes besides ok that each argument may lead to.
var allowed = map[string][]outcome.Outcome{
	"ok": {}, "later": {outcome.Exception}, "throw": {outcome.Exception}, "silent": {outcome.NoResponse},
	"spin": {outcome.CPUExceeded}, "heap": {outcome.MemoryExceeded}, "die": {},
}

// common may befall any invocation because of others.
var common = []outcome.Outcome{outcome.Fatal, outcome.MemoryExceeded, outcome.LoadShed, outcome.Canceled}

// Many clients, few isolates, and everything that can go wrong at once, in real
// time: each invocation ends exactly once, with an outcome that its script can
// have, and nothing is left behind.
func TestStress(t *testing.T) {
	later := op.Op{Name: "op_later", Mode: op.Async, Func: func(c *op.Call) error {
		go c.Resolve(op.Null)
		return nil
	}}
	b := newBench(t, setup{scripts: map[string]enginefake.Script{"mixed": mixed}, ops: []op.Op{later},
		config: isolate.Config{Cores: 2, MaxIsolates: 6, Warm: 1, ExtraRunners: 8}})
	var ws []*isolate.Worker
	for range 8 {
		ws = append(ws, b.worker("mixed", limits(func(l *isolate.Limits) { l.CPU = 2 * time.Millisecond })))
	}
	kinds := []string{"ok", "ok", "ok", "ok", "later", "later", "spin", "heap", "throw", "silent"}
	const clients, each = 8, 150
	var mu sync.Mutex
	seen := map[outcome.Outcome]int{}
	var wg sync.WaitGroup
	for n := range clients {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(n)))
			for i := range each {
				kind := kinds[rnd.IntN(len(kinds))]
				if n == 0 && i%50 == 49 {
					kind = "die"
				}
				ctx, cancel := context.WithCancel(context.Background())
				c, p := newCall(args(op.String(kind)))
				w := ws[rnd.IntN(len(ws))]
				ended := make(chan *outcome.Failure, 1)
				go func() {
					v := w.Invoke(ctx, p)
					<-v.Ended()
					ended <- v.Failure()
				}()
				if rnd.IntN(20) == 0 {
					cancel()
				}
				var f *outcome.Failure
				select {
				case f = <-ended:
				case f = <-c.failed: // Invoke may never return
				}
				cancel()
				o := outcome.OK
				if f != nil {
					o = f.Outcome
				}
				if o != outcome.OK && !contains(allowed[kind], o) && !contains(common, o) ||
					o == outcome.OK && (kind == "die" || kind == "silent" || kind == "spin") {
					t.Errorf("%s ended with %v", kind, f)
				}
				mu.Lock()
				seen[o]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	b.close()
	total := int64(0)
	for _, n := range b.r.Stats().Outcomes {
		total += n
	}
	if total != clients*each {
		t.Errorf("%d invocations ended, want %d", total, clients*each)
	}
	t.Logf("outcomes: %v", seen)
	if seen[outcome.OK] == 0 || seen[outcome.CPUExceeded] == 0 || seen[outcome.Fatal] == 0 {
		t.Errorf("outcomes: %v", seen)
	}
}

func contains(os []outcome.Outcome, o outcome.Outcome) bool {
	for _, x := range os {
		if x == o {
			return true
		}
	}
	return false
}

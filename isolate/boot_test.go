package isolate_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/enginefake"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

func TestTopLevelAwait(t *testing.T) {
	script := enginefake.Script{
		"load": func(c *enginefake.Ctx, _ []op.Value) {
			c.Async("op_gate", func(c *enginefake.Ctx, _ op.Value, _ *op.Error) { c.Booted() }, op.String("ready"))
		},
		"fetch": hello,
	}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		one, two := invoke(w), invoke(w)
		synctest.Wait()
		if over(one) || over(two) {
			t.Fatal("over before the start-up")
		}
		b.gates.open("ready")
		wantOK(t, one)
		wantOK(t, two)
		if !one.Cold() || !two.Cold() {
			t.Error("not cold")
		}
	})
}

func TestBootFailures(t *testing.T) {
	for _, tc := range []struct {
		name    string
		load    enginefake.Handler
		outcome outcome.Outcome
		text    string
		cause   string
	}{
		{"throws", func(c *enginefake.Ctx, _ []op.Value) { c.BootFailed("no such module") }, outcome.BootFailed, "did not start", "no such module"},
		{"never settles", func(c *enginefake.Ctx, _ []op.Value) {}, outcome.BootFailed, "did not start", "top level"},
		{"spins", spin, outcome.BootLimit, "limits.startupCpu allows (200ms)", ""},
		{"waits", never, outcome.BootLimit, "limits.startupWall allows (4s)", ""},
		{"bombs", func(c *enginefake.Ctx, _ []op.Value) { c.ExhaustHeap() }, outcome.MemoryExceeded, "limits.memory", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run(t, setup{scripts: map[string]enginefake.Script{"w": {"load": tc.load}}}, func(t *testing.T, b *bench) {
				w := b.worker("w", limits(func(l *isolate.Limits) {
					l.StartupCPU, l.StartupWall = 200*time.Millisecond, 4*time.Second
				}))
				for i, delay := range []time.Duration{time.Second, 2 * time.Second} {
					one, two := invoke(w), invoke(w)
					f := wantFailure(t, one, tc.outcome, tc.text)
					wantFailure(t, two, tc.outcome, tc.text)
					if tc.cause != "" && (f.Err == nil || !strings.Contains(f.Err.Error(), tc.cause)) {
						t.Errorf("cause = %v, want %q", f.Err, tc.cause)
					}
					made := b.engine.Made.Load()
					held := wantFailure(t, invoke(w), tc.outcome, tc.text)
					if held.RetryAfter != delay || b.engine.Made.Load() != made {
						t.Errorf("try %d: held back for %v, want %v", i, held.RetryAfter, delay)
					}
					time.Sleep(delay)
				}
				if n := strings.Count(b.log.String(), `msg="worker did not start"`); n != 2 {
					t.Errorf("logged %d times, want once for each try", n)
				}
			})
		})
	}
}

func TestBoot(t *testing.T) {
	fail := true
	script := enginefake.Script{"load": func(c *enginefake.Ctx, _ []op.Value) {
		if fail {
			c.BootFailed("broken")
		} else {
			c.Booted()
		}
	}, "fetch": hello}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		var f *outcome.Failure
		if err := w.Boot(t.Context()); !errors.As(err, &f) || f.Outcome != outcome.BootFailed {
			t.Errorf("Boot = %v", err)
		}
		fail = false
		time.Sleep(time.Second)
		if err := w.Boot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.Boot(t.Context()); err != nil || b.engine.Made.Load() != 2 {
			t.Errorf("Boot again = %v, %d isolates", err, b.engine.Made.Load())
		}
		c := invoke(w)
		wantOK(t, c)
		if c.Cold() {
			t.Error("cold after Boot")
		}
	})
}

func TestBootEndsWithItsContext(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"load": never}}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		ctx, cancel := contextIn(t, time.Second)
		defer cancel()
		if err := w.Boot(ctx); err == nil || !strings.Contains(err.Error(), `boot worker "w"`) {
			t.Errorf("Boot = %v", err)
		}
	})
}

func TestCloseDuringBoot(t *testing.T) {
	for name, load := range map[string]enginefake.Handler{"spins": spin, "waits": never} {
		t.Run(name, func(t *testing.T) {
			run(t, setup{scripts: map[string]enginefake.Script{"w": {"load": load}}}, func(t *testing.T, b *bench) {
				w := b.worker("w")
				c := invokeApart(w)
				synctest.Wait()
				w.Close()
				synctest.Wait()
				wantFailure(t, c, outcome.LoadShed, "replaced or removed")
			})
		})
	}
}

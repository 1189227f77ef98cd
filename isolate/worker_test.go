package isolate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/enginefake"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

func TestInvokeRunsInline(t *testing.T) {
	var got []string
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		got = append(got, args[0].Text())
		hello(c, args)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"hello": script}}, func(t *testing.T, b *bench) {
		w := b.worker("hello")
		for i, cold := range []bool{true, false, false} {
			c := invoke(w, args(op.String("arg")))
			if !over(c) {
				t.Fatalf("invocation %d is not over when Invoke returns", i)
			}
			wantOK(t, c)
			if c.Cold() != cold {
				t.Errorf("invocation %d: Cold = %v", i, c.Cold())
			}
			if c.Context().Err() == nil {
				t.Error("the context of an ended invocation has no error")
			}
		}
		if strings.Join(got, " ") != "arg arg arg" {
			t.Errorf("arguments = %q", got)
		}
		if n := b.engine.Made.Load(); n != 1 {
			t.Errorf("%d isolates were made", n)
		}
		if s := b.r.Stats(); s.Outcomes[outcome.OK] != 3 || s.Isolates != 1 || s.Running != 0 || s.Waiting != 0 {
			t.Errorf("Stats = %+v", s)
		}
	})
}

func TestAsyncOpsSettleInLaterSlices(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": wait("gate")}}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		one, two := invoke(w), invoke(w)
		synctest.Wait()
		if over(one) || over(two) {
			t.Fatal("an invocation is over before its op has settled")
		}
		b.gates.open("gate")
		wantOK(t, one)
		wantOK(t, two)
	})
}

func TestAttachGivesArgumentsAndResources(t *testing.T) {
	type state struct{ n int }
	var handle uint32
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		v, err := c.Sync("op_get", args[0])
		if err != nil || v.Text() != "resource" {
			panic("the resource is not there")
		}
		hello(c, nil)
	}}
	get := op.Op{Name: "op_get", Mode: op.Sync, Func: func(c *op.Call) error {
		s, err := op.Resource[string](c, 0)
		c.Return(op.String(s))
		if c.Invocation().State().(*state).n != 7 || c.Invocation().ID() != c.InvocationID() {
			return errors.New("wrong invocation")
		}
		return err
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}, ops: []op.Op{get}}, func(t *testing.T, b *bench) {
		c := invoke(b.worker("w"), func(p *op.InvokeParams) {
			p.State = &state{7}
			p.Attach = func(host op.Host, inv op.Invocation) []op.Value {
				handle = host.Resources().Add("resource")
				return []op.Value{op.Int(int64(handle))}
			}
		})
		wantOK(t, c)
	})
}

func TestAttachPanicIsAnInternalError(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": hello}}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		c := invoke(w, func(p *op.InvokeParams) {
			p.Attach = func(op.Host, op.Invocation) []op.Value { panic("secret") }
		})
		f := wantFailure(t, c, outcome.Exception, "internal error")
		if strings.Contains(f.Msg, "secret") || !strings.Contains(b.log.String(), "secret") {
			t.Errorf("message %q, log %q", f.Msg, b.log)
		}
		wantOK(t, invoke(w))
	})
}

func TestOpPanicsAndErrors(t *testing.T) {
	bad := func(name string, mode op.Mode) op.Op {
		return op.Op{Name: name, Mode: mode, Func: func(c *op.Call) error {
			if c.Text(0) == "panic" {
				panic("at /secret/path")
			}
			return errors.New("at /secret/path")
		}}
	}
	var seen []string
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		how := op.String(args[0].Text())
		if _, err := c.Sync("op_sync", how); err != nil {
			seen = append(seen, op.Public(err).Msg)
		}
		c.Post("op_post", how)
		c.Async("op_async", func(c *enginefake.Ctx, _ op.Value, err *op.Error) {
			seen = append(seen, err.Msg)
			hello(c, nil)
		}, how)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script},
		ops: []op.Op{bad("op_sync", op.Sync), bad("op_post", op.Post), bad("op_async", op.Async)},
	}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		wantOK(t, invoke(w, args(op.String("panic"))))
		wantOK(t, invoke(w, args(op.String("error"))))
		if strings.Join(seen, ",") != "internal error,internal error,internal error,internal error" {
			t.Errorf("scripts saw %q", seen)
		}
		for _, name := range []string{"op_sync", "op_post", "op_async"} {
			if n := strings.Count(b.log.String(), "op="+name); n != 2 {
				t.Errorf("%s was logged %d times, want 2", name, n)
			}
		}
	})
}

func TestEndsThatScriptsGive(t *testing.T) {
	for _, tc := range []struct {
		name    string
		fetch   enginefake.Handler
		outcome outcome.Outcome
		text    string
	}{
		{"throws", func(c *enginefake.Ctx, _ []op.Value) { c.Throw("my mistake") }, outcome.Exception, "threw"},
		{"ends without a response", func(c *enginefake.Ctx, _ []op.Value) { c.Done() }, outcome.NoResponse, "without a response"},
		{"can never respond", func(c *enginefake.Ctx, _ []op.Value) {}, outcome.NoResponse, "never"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": tc.fetch}}}, func(t *testing.T, b *bench) {
				w := b.worker("w", func(c *isolate.WorkerConfig) {
					c.MapStack = func(s string) string { return "mapped " + s }
				})
				f := wantFailure(t, invoke(w), tc.outcome, tc.text)
				if strings.Contains(f.Msg, "my mistake") {
					t.Errorf("the public message holds the script's: %q", f.Msg)
				}
				var se *op.ScriptError
				if errors.As(f.Err, &se) && se.Stack != "mapped Error: my mistake" {
					t.Errorf("stack = %q", se.Stack)
				}
				if n := b.engine.Made.Load(); n != 1 {
					t.Errorf("%d isolates were made", n)
				}
				wantFailure(t, invoke(w), tc.outcome, tc.text) // the instance lives
				if n := b.engine.Made.Load(); n != 1 {
					t.Errorf("%d isolates were made", n)
				}
			})
		})
	}
}

func TestStuckOnlyWhenNothingIsPending(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if args[0].Text() == "waits" {
			wait("gate")(c, nil)
		}
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		waits := invoke(w, args(op.String("waits")))
		silent := invoke(w, args(op.String("silent")))
		synctest.Wait()
		if over(silent) {
			t.Fatal("ended though another call of the instance is pending")
		}
		b.gates.open("gate")
		wantOK(t, waits)
		wantFailure(t, silent, outcome.NoResponse, "never")
	})
}

func TestTimers(t *testing.T) {
	began := time.Time{}
	var fired []time.Duration
	script := enginefake.Script{
		"fetch": func(c *enginefake.Ctx, _ []op.Value) {
			c.SetTimer(time.Hour)
			c.SetTimer(20 * time.Millisecond) // replaces the first
		},
		"timer": func(c *enginefake.Ctx, _ []op.Value) {
			if c.Invocation() == 0 {
				panic("a timer is of the invocation that set it")
			}
			if fired = append(fired, time.Since(began)); len(fired) == 1 {
				c.SetTimer(5 * time.Millisecond)
				c.ClearTimer()
				c.SetTimer(10 * time.Millisecond)
			}
		},
	}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		began = time.Now()
		c := invoke(b.worker("w"))
		wantFailure(t, c, outcome.NoResponse, "never")
		if len(fired) != 2 || fired[0] != 20*time.Millisecond || fired[1] != 30*time.Millisecond {
			t.Errorf("timer fired at %v", fired)
		}
	})
}

func TestBackgroundWorkIsPumped(t *testing.T) {
	slices := 0
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {
		c.Background()
		slices++
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		c := invoke(b.worker("w"))
		if over(c) {
			t.Fatal("ended though the isolate works in the background")
		}
		// The fake's empty slice reports no background work: now it is stuck.
		wantFailure(t, c, outcome.NoResponse, "never")
		if c.Wall() != time.Millisecond {
			t.Errorf("pumped after %v", c.Wall())
		}
	})
}

func TestConsole(t *testing.T) {
	script := enginefake.Script{
		"load": func(c *enginefake.Ctx, _ []op.Value) {
			c.Log("info", "starting")
			c.Booted()
		},
		"fetch": func(c *enginefake.Ctx, _ []op.Value) {
			c.Log("warn", "12345")
			c.Log("warn", "67890abc")
			c.Log("warn", "gone")
			for range 1000 {
				c.Log("warn", "")
			}
			hello(c, nil)
		},
	}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.LogBytes = 138 }))
		wantOK(t, invoke(w, request("r1")))
		wantOK(t, invoke(w, request("r2")))
		var got []string
		for _, r := range b.console {
			got = append(got, r.Worker+" "+r.Level+" "+r.Request+" "+r.Text)
		}
		want := []string{"w info  starting",
			"w warn r1 12345", "w warn r1 67890... (cut: limits.log allows 138B for one request)",
			"w warn r2 12345", "w warn r2 67890... (cut: limits.log allows 138B for one request)"}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("console:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestEnvAndGrants(t *testing.T) {
	resource := &closer{}
	var seen []string
	inspect := op.Op{Name: "op_inspect", Mode: op.Post, Func: func(c *op.Call) error {
		r, err := op.Resource[*closer](c, 0)
		if err != nil || r != resource {
			t.Errorf("resource = %v, %v", r, err)
		}
		if c.Host().Grant("outbound") != "net" || c.Host().Grant("other") != nil {
			t.Error("grants are wrong")
		}
		if f := c.Host().(interface{ Field(string) string }).Field("other"); f != "services.w.other" {
			t.Errorf("Field = %q", f)
		}
		return nil
	}}
	script := enginefake.Script{"load": func(c *enginefake.Ctx, args []op.Value) {
		for _, entry := range args {
			for _, v := range entry.Elements() {
				switch {
				case v.IsString():
					seen = append(seen, v.Text())
				case v.IsNullish():
					seen = append(seen, "null")
				default:
					seen = append(seen, fmt.Sprint(v.Int()))
				}
			}
		}
		c.Post("op_inspect", args[1].Elements()[3])
		c.Booted()
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}, ops: []op.Op{inspect}}, func(t *testing.T, b *bench) {
		w := b.worker("w", func(c *isolate.WorkerConfig) {
			c.Env = []isolate.EnvEntry{{Name: "A", Value: op.String("a")}, {Name: "B", Value: op.Null, Facade: "kv", Resource: resource}}
			c.Grants = map[string]any{"outbound": "net"}
			c.Fields = map[string]string{"other": "services.w.other"}
		})
		if err := w.Boot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(seen, " "); got != "A a null 0 B null kv 1" {
			t.Errorf("load was called with %q", got)
		}
		w.Close()
		synctest.Wait()
		if resource.closed {
			t.Error("a shared resource was closed with an instance")
		}
	})
}

type closer struct{ closed bool }

func (c *closer) Close() error {
	c.closed = true
	return nil
}

func TestDrainWaits(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": wait("gate")}}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		c := invoke(w)
		time.AfterFunc(time.Second, func() { b.gates.open("gate") })
		began := time.Now()
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if time.Since(began) != time.Second {
			t.Errorf("drained after %v", time.Since(began))
		}
		wantOK(t, c)
		wantOK(t, invoke(w)) // siblings that drain may still call it
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDrainDeadline(t *testing.T) {
	for name, fetch := range map[string]enginefake.Handler{"waiting": never, "spinning": spin} {
		t.Run(name, func(t *testing.T) {
			run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": fetch}}}, func(t *testing.T, b *bench) {
				w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = time.Hour }))
				c := invokeApart(w)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := b.r.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Drain = %v", err)
				}
				synctest.Wait()
				wantFailure(t, c, outcome.LoadShed, "replaced")
			})
		})
	}
}

func TestClosedWorkerSheds(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": hello}}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		wantOK(t, invoke(w))
		w.Close()
		w.Close()
		f := wantFailure(t, invoke(w), outcome.LoadShed, "replaced or removed")
		if f.RetryAfter <= 0 {
			t.Error("no RetryAfter")
		}
		synctest.Wait()
		if s := b.r.Stats(); s.Isolates != 0 || s.Workers != 0 {
			t.Errorf("Stats after Close = %+v", s)
		}
	})
}

func TestNewWorkerErrors(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {}}}, func(t *testing.T, b *bench) {
		_, err := b.r.NewWorker(isolate.WorkerConfig{Name: "x", Program: enginefake.Source("nothing")})
		if err == nil || !strings.Contains(err.Error(), `prepare worker "x"`) {
			t.Errorf("err = %v", err)
		}
		if err := b.r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err = b.r.NewWorker(isolate.WorkerConfig{Name: "w", Program: enginefake.Source("w")}); err == nil {
			t.Error("a closed runtime took a worker")
		}
	})
}

func TestUnknownHandler(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": hello}}}, func(t *testing.T, b *bench) {
		c := invoke(b.worker("w"), func(p *op.InvokeParams) { p.Handler = "scheduled" })
		f := wantFailure(t, c, outcome.Exception, "internal error")
		if f.Err == nil || !strings.Contains(f.Err.Error(), `"scheduled"`) {
			t.Errorf("cause = %v", f.Err)
		}
	})
}

func TestCodeCacheIsMadeOnce(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": hello}}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		if err := w.Boot(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := b.engine.Caches.Load(); n != 0 {
			t.Errorf("%d caches before the first invocation", n)
		}
		for range 3 {
			wantOK(t, invoke(w))
		}
		if n := b.engine.Caches.Load(); n != 0 {
			t.Errorf("%d caches were made while requests come", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		wantOK(t, invoke(w))
		time.Sleep(time.Second)
		if n := b.engine.Caches.Load(); n != 1 {
			t.Errorf("%d caches were made", n)
		}
	})
}

package isolate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/enginefake"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// A batch of three starts whose first one is killed: the others were never seen,
// so they run in a new instance, and keep what Attach gave them.
func TestUndeliveredStartsMoveUnseen(t *testing.T) {
	for name, end := range map[string]enginefake.Handler{
		"terminated": spin,
		"heap limit": func(c *enginefake.Ctx, _ []op.Value) { c.ExhaustHeap() },
	} {
		t.Run(name, func(t *testing.T) {
			var delivered []string
			script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
				delivered = append(delivered, args[0].Text())
				switch args[0].Text() {
				case "busy":
					time.Sleep(20 * time.Millisecond) // uncharged: events seem short
					hello(c, nil)
				case "end":
					end(c, nil)
				default:
					hello(c, nil)
				}
			}}
			run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
				w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = 50 * time.Millisecond }))
				if err := w.Boot(t.Context()); err != nil {
					t.Fatal(err)
				}
				invokeApart(w, args(op.String("busy")))
				synctest.Wait()
				attached := 0
				body := &closer{}
				ended := invoke(w, args(op.String("end")))
				moved := invoke(w, func(p *op.InvokeParams) {
					p.Attach = func(host op.Host, _ op.Invocation) []op.Value {
						attached++
						host.Resources().Add(body)
						if body.closed {
							t.Error("the body was closed with the instance that never saw it")
						}
						return []op.Value{op.String("moved")}
					}
				})
				other := invoke(w, args(op.String("other")))
				if name == "terminated" {
					wantFailure(t, ended, outcome.CPUExceeded, "")
				} else {
					wantFailure(t, ended, outcome.MemoryExceeded, "")
				}
				wantOK(t, moved)
				wantOK(t, other)
				if attached != 2 {
					t.Errorf("attached %d times", attached)
				}
				if want := []string{"busy", "end", "moved", "other"}; !slices.Equal(delivered, want) {
					t.Errorf("delivered %q, want %q", delivered, want)
				}
				synctest.Wait()
				if n := b.engine.Made.Load(); n != 2 {
					t.Errorf("%d isolates were made", n)
				}
				if !body.closed {
					t.Error("the body in the first instance's table is open")
				}
			})
		})
	}
}

func TestOthersDrainAfterAKill(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if args[0].Text() == "wait" {
			wait("gate")(c, nil)
		} else {
			spinIf(c, args)
		}
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		other := invoke(w, args(op.String("wait")))
		wantFailure(t, invoke(w, args(op.String("spin"))), outcome.CPUExceeded, "")
		wantOK(t, invoke(w, args(op.String("well"))))
		if over(other) || b.engine.Made.Load() != 2 || b.engine.Closed.Load() != 0 {
			t.Errorf("the retired instance does not wait for its other invocation")
		}
		b.gates.open("gate")
		wantOK(t, other)
		synctest.Wait()
		if b.engine.Closed.Load() != 1 {
			t.Error("the retired instance is open")
		}
	})
}

func TestLostJobsFailTheOthers(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if args[0].Text() == "wait" {
			never(c, nil)
			return
		}
		c.LoseJobs()
		spinIf(c, args)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		other := invoke(w, args(op.String("wait")))
		wantFailure(t, invoke(w, args(op.String("spin"))), outcome.CPUExceeded, "")
		f := wantFailure(t, other, outcome.Fatal, "another request")
		if f.RetryAfter <= 0 {
			t.Error("no RetryAfter")
		}
	})
}

// A tenant may not fill the process with instances that wait for one stream each.
func TestRetiredInstancesAreBounded(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if args[0].Text() == "stream" {
			c.Respond()
			never(c, nil)
			return
		}
		spinIf(c, args)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		var streams []*call
		for range 20 {
			streams = append(streams, invoke(w, args(op.String("stream"))))
			wantFailure(t, invoke(w, args(op.String("spin"))), outcome.CPUExceeded, "")
		}
		synctest.Wait()
		if n := b.r.Stats().Isolates; n != 16 {
			t.Errorf("%d isolates are open", n)
		}
		for i, s := range streams {
			if over(s) != (i < 4) {
				t.Errorf("stream %d: over = %v", i, over(s))
			}
		}
		wantFailure(t, streams[0], outcome.Fatal, "")
	})
}

func TestFatal(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		switch args[0].Text() {
		case "die":
			c.Die("out of memory")
		case "wait":
			never(c, nil)
		default:
			hello(c, nil)
		}
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script, "quiet": {"fetch": hello}}}, func(t *testing.T, b *bench) {
		w, quiet := b.worker("w"), b.worker("quiet")
		for i, delay := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000} {
			delay *= time.Millisecond
			other := invoke(w, args(op.String("wait")))
			c := invokeApart(w, args(op.String("die")))
			f := <-c.failed
			if f.Outcome != outcome.Fatal || f.Err == nil {
				t.Errorf("failure = %v", f)
			}
			wantFailure(t, other, outcome.Fatal, "given up")
			held := wantFailure(t, invoke(w, args(op.String("well"))), outcome.Fatal, "given up")
			if held.RetryAfter != delay {
				t.Errorf("crash %d: held back for %v, want %v", i, held.RetryAfter, delay)
			}
			wantOK(t, invoke(quiet))
			if s := <-b.lost; s.Parked != int64(i+1) {
				t.Errorf("OnLost was told of %d parked threads", s.Parked)
			}
			time.Sleep(delay)
			wantOK(t, invoke(w, args(op.String("well"))))
		}
	})
}

// What waited for the instance and was never started is not lost with it.
func TestFatalWhileOthersWait(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if len(args) == 0 {
			hello(c, nil)
			return
		}
		c.Burn(time.Millisecond)
		c.Die("out of memory")
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		invokeApart(w, args(op.Null))
		synctest.Wait()
		c := invoke(w)
		f := wantFailure(t, c, outcome.Fatal, "given up")
		if f.RetryAfter <= 0 {
			t.Error("no RetryAfter")
		}
	})
}

func TestFatalWhileAnIsolateIsMade(t *testing.T) {
	die := true
	var b *bench
	s := setup{scripts: map[string]enginefake.Script{"w": {"fetch": hello}},
		newHook: func(_ isolate.Params, host isolate.EngineHost) error {
			if die {
				die = false
				host.Fatal("New", "no memory")
				b.engine.Park()
				return fmt.Errorf("released")
			}
			return nil
		}}
	synctest.Test(t, func(t *testing.T) {
		b = newBench(t, s)
		w := b.worker("w")
		c := invokeApart(w)
		if f := <-c.failed; f.Outcome != outcome.Fatal {
			t.Errorf("failure = %v", f)
		}
		time.Sleep(time.Second)
		wantOK(t, invoke(w))
		if s := b.r.Stats(); s.Parked != 1 {
			t.Errorf("Stats = %+v", s)
		}
		b.engine.Made.Add(1) // the one that never came back
		b.close()
	})
}

func TestCancel(t *testing.T) {
	var events []string
	script := enginefake.Script{
		"fetch": func(c *enginefake.Ctx, args []op.Value) {
			c.Async("op_gate", func(c *enginefake.Ctx, _ op.Value, err *op.Error) {
				events = append(events, err.Name)
				c.Async("op_echo", func(c *enginefake.Ctx, _ op.Value, _ *op.Error) { // waitUntil
					events = append(events, "tidied up")
					c.Done()
				})
			}, op.String("gate"))
		},
		"abort": func(c *enginefake.Ctx, _ []op.Value) { events = append(events, "abort") },
	}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		ctx, cancel := context.WithCancel(t.Context())
		c := invokeCtx(ctx, b.worker("w"))
		cancel()
		f := wantFailure(t, c, outcome.Canceled, "client left")
		if f.Err != context.Canceled {
			t.Errorf("cause = %v", f.Err)
		}
		slices.Sort(events)
		if want := []string{"AbortError", "abort", "tidied up"}; !slices.Equal(events, want) {
			t.Errorf("JavaScript saw %q", events)
		}
		c.Cancel(nil) // harmless
	})
}

func TestCancelEndsWhatNeverEnds(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": never}}}, func(t *testing.T, b *bench) {
		c := invoke(b.worker("w"))
		began := time.Now()
		c.Cancel(nil)
		wantFailure(t, c, outcome.Canceled, "client left")
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("ended %v after it was canceled", d)
		}
	})
}

func TestCancelBeforeTheStart(t *testing.T) {
	seen := 0
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if len(args) > 0 {
			c.Burn(100 * time.Millisecond)
		} else {
			seen++
		}
		hello(c, nil)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		invokeApart(w, args(op.Null))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		c := invokeCtx(ctx, w)
		cancel()
		wantFailure(t, c, outcome.Canceled, "client left")
		wantFailure(t, invokeCtx(ctx, w), outcome.Canceled, "client left")
		wantOK(t, invoke(w))
		if seen != 1 {
			t.Errorf("%d of the canceled ones ran", seen-1)
		}
	})
}

// The engine may give up in the middle of a collection or while it closes.
func TestFatalInMaintenance(t *testing.T) {
	for _, what := range []string{"Idle", "MakeCodeCache", "Close"} {
		t.Run(what, func(t *testing.T) {
			var b *bench
			died := false
			s := setup{scripts: map[string]enginefake.Script{"w": {"fetch": hello}},
				config: isolate.Config{IdleAfter: 3 * time.Second},
				upkeep: func(w string, host isolate.EngineHost) {
					if w == what && !died {
						died = true
						host.Fatal(what, "no memory")
						b.engine.Park()
					}
				}}
			synctest.Test(t, func(t *testing.T) {
				b = newBench(t, s)
				w := b.worker("w")
				wantOK(t, invoke(w))
				time.Sleep(10 * time.Second)
				wantOK(t, invoke(w))
				if s := b.r.Stats(); s.Parked != 1 || s.Isolates != 2 {
					t.Errorf("Stats = %+v, want one parked of two", s)
				}
				ctx, cancel := contextIn(t, time.Minute)
				defer cancel()
				if err := b.r.Close(ctx); err != nil {
					t.Errorf("Close: %v", err)
				}
				if err := b.engine.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A termination that comes when the script has ended all the same may hit the
// next slice: that one is empty.
func TestLateTermination(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		switch args[0].Text() {
		case "wait":
			wait("gate")(c, nil)
		case "late":
			c.Stall(nil, 60*time.Millisecond)
		}
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = 50 * time.Millisecond }))
		other := invoke(w, args(op.String("wait")))
		wantFailure(t, invoke(w, args(op.String("late"))), outcome.CPUExceeded, "")
		b.gates.open("gate")
		wantOK(t, other)
	})
}

// Whoever boots a worker gets an answer though the start-up never comes back.
func TestFatalWhileStarting(t *testing.T) {
	script := enginefake.Script{"load": func(c *enginefake.Ctx, _ []op.Value) { c.Die("out of memory") }, "fetch": hello}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script, "quiet": {"fetch": hello}}}, func(t *testing.T, b *bench) {
		err := b.worker("w").Boot(t.Context())
		if outcome.Of(err) != outcome.Fatal || !strings.Contains(err.Error(), "out of memory") {
			t.Errorf("Boot: %v", err)
		}
		wantOK(t, invoke(b.worker("quiet")))
	})
}

package isolate_test

import (
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

// spinIf spins when the first argument says so, else it answers.
func spinIf(c *enginefake.Ctx, args []op.Value) {
	if len(args) > 0 && args[0].Text() == "spin" {
		c.Spin()
	}
	hello(c, args)
}

func TestCPULimit(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": spinIf}}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = 50 * time.Millisecond }))
		for range 3 {
			c := invoke(w, args(op.String("spin")))
			wantFailure(t, c, outcome.CPUExceeded, "limits.cpu allows (50ms)")
			if over := c.CPU() - 50*time.Millisecond; over < 0 || over > 2*time.Millisecond {
				t.Errorf("killed after %v of CPU", c.CPU())
			}
			wantOK(t, invoke(w, args(op.String("well"))))
		}
		synctest.Wait()
		if made, closed := b.engine.Made.Load(), b.engine.Closed.Load(); made != 4 || closed != 3 {
			t.Errorf("%d isolates made, %d closed", made, closed)
		}
	})
}

func TestCPULimitCountsAllEvents(t *testing.T) {
	var loop func(c *enginefake.Ctx)
	turns := 0
	loop = func(c *enginefake.Ctx) {
		turns++
		c.Charge(6 * time.Millisecond) // never seen by the watchdog
		c.Async("op_echo", func(c *enginefake.Ctx, _ op.Value, _ *op.Error) { loop(c) })
	}
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if len(args) > 0 {
			hello(c, nil)
			return
		}
		loop(c)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = 50 * time.Millisecond }))
		c := invoke(w)
		wantFailure(t, c, outcome.CPUExceeded, "limits.cpu")
		if turns != 9 || c.CPU() != 54*time.Millisecond {
			t.Errorf("%d turns, %v of CPU", turns, c.CPU())
		}
		wantOK(t, invoke(w, args(op.Null)))
		synctest.Wait()
		if turns != 9 {
			t.Errorf("the script went on after its end, for %d turns", turns)
		}
	})
}

func TestCPUOfTimersIsLimited(t *testing.T) {
	script := enginefake.Script{
		"fetch": func(c *enginefake.Ctx, _ []op.Value) {
			hello(c, nil)
			c.SetTimer(time.Millisecond)
		},
		"timer": func(c *enginefake.Ctx, _ []op.Value) {
			c.SetTimer(time.Millisecond)
			c.Charge(10 * time.Millisecond)
		},
	}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = 50 * time.Millisecond }))
		wantOK(t, invoke(w))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := b.engine.Closed.Load(); n != 1 {
			t.Errorf("an instance whose timers burn CPU after all its requests lives on")
		}
		wantOK(t, invoke(w))
	})
}

// Timers are charged to the request that set them, however many others begin
// meanwhile, and end it alone.
func TestTimersAreChargedToTheirRequest(t *testing.T) {
	wakes := 0
	script := enginefake.Script{
		"fetch": func(c *enginefake.Ctx, args []op.Value) {
			switch {
			case len(args) == 0:
				hello(c, nil)
			case args[0].IsNullish():
				c.SetTimer(time.Millisecond)
			default:
				c.Async("op_gate", func(c *enginefake.Ctx, _ op.Value, _ *op.Error) { hello(c, nil) }, op.String("gate"))
			}
		},
		"timer": func(c *enginefake.Ctx, _ []op.Value) {
			if wakes++; c.Invocation() != 0 {
				c.SetTimer(time.Millisecond)
				c.Charge(10 * time.Millisecond)
			}
		},
	}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = 50 * time.Millisecond }))
		burns, waits := invoke(w, args(op.Null)), invoke(w, args(op.String("waits")))
		for range 20 {
			time.Sleep(time.Millisecond)
			wantOK(t, invoke(w))
		}
		wantFailure(t, burns, outcome.CPUExceeded, "limits.cpu")
		if got := burns.CPU(); got != 60*time.Millisecond {
			t.Errorf("it was charged %v", got)
		}
		if wakes != 7 {
			t.Errorf("the timer was due %d times, want one more than the limit allowed: others wait for it, too", wakes)
		}
		b.gates.open("gate")
		wantOK(t, waits)
	})
}

// The client is answered when the decision falls, not when the engine obeys.
func TestClientDoesNotWaitForTheEngine(t *testing.T) {
	var release chan struct{}
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if len(args) > 0 {
			hello(c, nil)
			return
		}
		c.Stall(release, time.Hour)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		release = make(chan struct{})
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = 50 * time.Millisecond }))
		began := time.Now()
		c := invokeApart(w)
		f := <-c.failed
		if d := c.at.Sub(began); f.Outcome != outcome.CPUExceeded || d > 52*time.Millisecond {
			t.Errorf("%v after %v", f, d)
		}
		// Others meet a healthy instance meanwhile.
		wantOK(t, invoke(w, args(op.Null)))

		time.Sleep(11 * time.Second)
		synctest.Wait()
		if s := b.r.Stats(); s.Stuck != 1 || s.Parked != 0 {
			t.Errorf("Stats = %+v, want one stuck slice", s)
		}
		if s := <-b.lost; s.Stuck != 1 {
			t.Errorf("OnLost was called with %+v", s)
		}
		wantOK(t, invoke(w, args(op.Null)))
		close(release)
		<-c.returned
		synctest.Wait()
		if s := b.r.Stats(); s.Stuck != 0 || s.Isolates != 1 {
			t.Errorf("Stats after the slice came back = %+v", s)
		}
	})
}

func TestStuckInstanceFailsItsOthers(t *testing.T) {
	var release chan struct{}
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if len(args) > 0 {
			never(c, nil)
			return
		}
		c.Stall(release, time.Hour)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		release = make(chan struct{})
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU = 50 * time.Millisecond }))
		other := invoke(w, args(op.Null))
		began := time.Now()
		invokeApart(w)
		wantFailure(t, other, outcome.Fatal, "given up")
		if d := other.at.Sub(began); d < 10*time.Second || d > 11*time.Second {
			t.Errorf("the other one failed after %v", d)
		}
		close(release)
	})
}

func TestWallLimits(t *testing.T) {
	var aborted []uint32
	script := enginefake.Script{
		"fetch": func(c *enginefake.Ctx, args []op.Value) {
			if len(args) > 0 {
				c.Respond()
			}
			never(c, nil)
		},
		"abort": func(c *enginefake.Ctx, _ []op.Value) { aborted = append(aborted, c.Invocation()) },
	}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.FirstByte, l.Wall = 3*time.Second, 5*time.Second }))
		began := time.Now()
		silent := invoke(w)
		time.Sleep(time.Second)
		answered := invoke(w, args(op.Null))
		wantFailure(t, silent, outcome.FirstByteTimeout, "limits.firstByte (3s)")
		if d := silent.at.Sub(began); d != 3*time.Second {
			t.Errorf("first byte timeout after %v", d)
		}
		wantFailure(t, answered, outcome.WallExceeded, "limits.wall allows (5s)")
		if d := answered.at.Sub(began); d != 6*time.Second || answered.Wall() != 5*time.Second {
			t.Errorf("wall limit after %v, Wall = %v", d, answered.Wall())
		}
		synctest.Wait()
		if len(aborted) != 2 || aborted[0] != silent.ID() || aborted[1] != answered.ID() {
			t.Errorf("JavaScript was told to abort %v", aborted)
		}
		if n := b.engine.Made.Load(); n != 1 {
			t.Errorf("%d isolates were made: a wall limit between slices costs none", n)
		}
	})
}

func TestWallLimitInsideASlice(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": spinIf}}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU, l.FirstByte = time.Hour, 3*time.Second }))
		wantFailure(t, invoke(w, args(op.String("spin"))), outcome.FirstByteTimeout, "limits.firstByte")
		wantOK(t, invoke(w))
	})
}

func TestWallLimitOfThoseThatWait(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": spinIf}}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.CPU, l.FirstByte = 10*time.Second, 3*time.Second }))
		invokeApart(w, args(op.String("spin")))
		synctest.Wait()
		time.Sleep(time.Second)
		waits := invoke(w)
		if over(waits) {
			t.Fatal("over")
		}
		// The one that spins ends after 3 s, then this one runs.
		wantOK(t, waits)
	})
}

func TestHeapLimit(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		switch args[0].Text() {
		case "bomb":
			c.ExhaustHeap()
		case "wait":
			never(c, nil)
		default:
			hello(c, nil)
		}
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		other := invoke(w, args(op.String("wait")))
		wantFailure(t, invoke(w, args(op.String("bomb"))), outcome.MemoryExceeded, "limits.memory allows (64MiB)")
		wantFailure(t, other, outcome.MemoryExceeded, "limits.memory")
		wantOK(t, invoke(w, args(op.String("well"))))
		synctest.Wait()
		if n := b.engine.Closed.Load(); n != 1 {
			t.Errorf("%d isolates were closed", n)
		}
	})
}

func TestContainedFatalError(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		switch args[0].Text() {
		case "bomb":
			c.GiveUp()
		case "wait":
			never(c, nil)
		default:
			hello(c, nil)
		}
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		other := invoke(w, args(op.String("wait")))
		wantFailure(t, invoke(w, args(op.String("bomb"))), outcome.Fatal, "")
		wantFailure(t, other, outcome.Fatal, "")
		if held := wantFailure(t, invoke(w, args(op.String("well"))), outcome.Fatal, ""); held.RetryAfter != 100*time.Millisecond {
			t.Errorf("held back for %v", held.RetryAfter)
		}
		time.Sleep(100 * time.Millisecond)
		wantOK(t, invoke(w, args(op.String("well"))))
		synctest.Wait()
		if n := b.engine.Closed.Load(); n != 1 {
			t.Errorf("%d isolates were closed", n)
		}
		if s := b.r.Stats(); s.Parked != 0 || s.Stuck != 0 {
			t.Errorf("lost: %+v", s)
		}
	})
}

func TestMemorySamples(t *testing.T) {
	for name, m := range map[string]isolate.Memory{
		"limits.buffers allows (64MiB)": {External: 80 << 20},
		"limits.memory allows (64MiB)":  {External: 60 << 20, HeapUsed: 80 << 20},
	} {
		for _, spins := range []bool{true, false} {
			t.Run(fmt.Sprint(name, spins), func(t *testing.T) {
				script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
					if len(args) > 0 {
						hello(c, nil)
						return
					}
					c.SetMemory(m)
					if spins {
						c.Spin()
					}
					never(c, nil)
				}}
				run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
					w := b.worker("w")
					c := invoke(w)
					wantFailure(t, c, outcome.MemoryExceeded, name)
					if c.Wall() > 2*time.Millisecond {
						t.Errorf("noticed after %v", c.Wall())
					}
					wantOK(t, invoke(w, args(op.Null)))
				})
			})
		}
	}
}

func TestQueueFull(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": wait("gate")}}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.Concurrency, l.Queue = 2, 3 }))
		var cs []*call
		for range 5 {
			cs = append(cs, invoke(w))
		}
		f := wantFailure(t, invoke(w), outcome.QueueFull, "limits.queue allows (3)")
		if f.RetryAfter <= 0 {
			t.Error("no RetryAfter")
		}
		b.gates.open("gate")
		for _, c := range cs {
			wantOK(t, c)
		}
	})
}

func TestConcurrency(t *testing.T) {
	inside, most := 0, 0
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {
		inside++
		most = max(most, inside)
		c.Async("op_gate", func(c *enginefake.Ctx, _ op.Value, _ *op.Error) {
			inside--
			hello(c, nil)
		}, op.String("gate"))
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w", limits(func(l *isolate.Limits) { l.Concurrency = 3 }))
		var cs []*call
		for range 10 {
			cs = append(cs, invoke(w))
		}
		b.gates.open("gate")
		for _, c := range cs {
			wantOK(t, c)
		}
		if most != 3 {
			t.Errorf("%d invocations at once, the limit is 3", most)
		}
	})
}

func TestSubrequests(t *testing.T) {
	var errs []error
	take := op.Op{Name: "op_take", Mode: op.Sync, Func: func(c *op.Call) error {
		errs = append(errs, c.Invocation().Take(c.Text(0), 1))
		return nil
	}}
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {
		for _, limit := range []string{"subrequests", "subrequests", "subrequests", "unknown"} {
			if _, err := c.Sync("op_take", op.String(limit)); err != nil {
				panic(err)
			}
		}
		hello(c, nil)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}, ops: []op.Op{take}}, func(t *testing.T, b *bench) {
		wantOK(t, invoke(b.worker("w", limits(func(l *isolate.Limits) { l.Subrequests = 2 }))))
		var e *op.Error
		if errs[0] != nil || errs[1] != nil || !errors.As(errs[2], &e) || !strings.Contains(e.Msg, "limits.subrequests allows 2") {
			t.Errorf("errors = %v", errs)
		}
		if errs[3] == nil || errors.As(errs[3], &e) {
			t.Errorf("an unknown limit gives %v", errs[3])
		}
	})
}

func TestZeroLimitsAreDefaults(t *testing.T) {
	run(t, setup{scripts: map[string]enginefake.Script{"w": {"fetch": spin}}}, func(t *testing.T, b *bench) {
		wantFailure(t, invoke(b.worker("w")), outcome.CPUExceeded, "(1s)")
		// What cannot be zero takes its default, what can stays zero.
		w := b.worker("w", func(c *isolate.WorkerConfig) { c.Limits = isolate.Limits{Queue: 1} })
		wantFailure(t, invoke(w), outcome.CPUExceeded, "(1s)")
	})
}

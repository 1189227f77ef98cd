package isolate_test

import (
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

// A quiet tenant waits a few milliseconds for a core at most, however many spin.
func TestLongSlicesLendTheirCore(t *testing.T) {
	scripts := map[string]enginefake.Script{"spin": {"fetch": spin}, "quiet": {"fetch": hello}}
	run(t, setup{scripts: scripts, config: isolate.Config{Cores: 1}}, func(t *testing.T, b *bench) {
		quiet := b.worker("quiet")
		if err := quiet.Boot(t.Context()); err != nil {
			t.Fatal(err)
		}
		var spinners []*call
		for range 10 {
			w := b.worker("spin")
			spinners = append(spinners, invokeApart(w))
			synctest.Wait()
			if q := invoke(quiet); !over(q) {
				wantOK(t, q)
				if q.Wall() > 7*time.Millisecond {
					t.Errorf("waited for %v", q.Wall())
				}
			}
		}
		if s := b.r.Stats(); s.Running != 10 || s.Waiting != 0 {
			t.Errorf("Stats = %+v, want 10 running", s)
		}
		for _, c := range spinners {
			if f := <-c.failed; f.Outcome != outcome.CPUExceeded {
				t.Errorf("failure = %v", f)
			}
		}
		synctest.Wait()
		if s := b.r.Stats(); s.Running != 0 {
			t.Errorf("Stats at the end = %+v", s)
		}
	})
}

func TestExtraRunnersAreBounded(t *testing.T) {
	scripts := map[string]enginefake.Script{"spin": {"fetch": spin}}
	cfg := isolate.Config{Cores: 1, ExtraRunners: 2}
	run(t, setup{scripts: scripts, config: cfg}, func(t *testing.T, b *bench) {
		var cs []*call
		for range 6 {
			w := b.worker("spin")
			cs = append(cs, invokeApart(w))
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if s := b.r.Stats(); s.Running != 3 || s.Waiting != 3 {
			t.Errorf("%d run, %d wait, want 3 and 3", s.Running, s.Waiting)
		}
		for _, c := range cs {
			<-c.failed
		}
	})
}

// Instances take turns, however many events each of them has.
func TestInstancesTakeTurns(t *testing.T) {
	var order []string
	script := func(name string) enginefake.Script {
		return enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {
			order = append(order, name)
			c.Burn(time.Millisecond) // so that a slice has one event
			hello(c, nil)
		}}
	}
	scripts := map[string]enginefake.Script{"a": script("a"), "b": script("b")}
	run(t, setup{scripts: scripts, config: isolate.Config{Cores: 1}}, func(t *testing.T, b *bench) {
		wa, wb := b.worker("a"), b.worker("b")
		wantOK(t, invoke(wa))
		wantOK(t, invoke(wb))
		order = nil
		var cs []*call
		for i := range 8 {
			for _, w := range []*isolate.Worker{wa, wb} {
				if w == wb && i >= 4 {
					continue
				}
				cs = append(cs, invokeApart(w))
				synctest.Wait()
			}
		}
		for _, c := range cs {
			wantOK(t, c)
		}
		got := strings.Join(order, "")
		if strings.Contains(got[:8], "aaa") || strings.Contains(got, "bb") || len(got) != 12 {
			t.Errorf("order = %s", got)
		}
	})
}

// The caller's goroutine does not run the work of others for long.
func TestCallerLeavesOnceAnswered(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {
		c.Burn(3 * time.Millisecond)
		hello(c, nil)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		wantOK(t, invoke(w))
		began := time.Now()
		returned := make(chan time.Duration, 1)
		go func() {
			invoke(w)
			returned <- time.Since(began)
		}()
		synctest.Wait()
		var cs []*call
		for range 20 {
			cs = append(cs, invoke(w))
		}
		if d := <-returned; d != 3*time.Millisecond {
			t.Errorf("Invoke returned after %v", d)
		}
		for _, c := range cs {
			wantOK(t, c)
		}
		if d := time.Since(began); d != 63*time.Millisecond {
			t.Errorf("all were answered after %v", d)
		}
	})
}

// Events that wait are delivered together when they are short.
func TestEventsAreBatched(t *testing.T) {
	slices := 0
	last := time.Time{}
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if len(args) > 0 {
			c.Burn(4 * time.Millisecond)
		}
		if !time.Now().Equal(last) {
			slices++
			last = time.Now()
		}
		hello(c, nil)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		invokeApart(w, args(op.Null))
		synctest.Wait()
		var cs []*call
		for range 100 {
			cs = append(cs, invoke(w))
		}
		for _, c := range cs {
			wantOK(t, c)
		}
		if slices > 2 {
			t.Errorf("%d slices at different times", slices)
		}
	})
}

func TestWarmPool(t *testing.T) {
	scripts := map[string]enginefake.Script{"w": {"fetch": hello}}
	run(t, setup{scripts: scripts, config: isolate.Config{Warm: 3}}, func(t *testing.T, b *bench) {
		small, large := b.worker("w"), b.worker("w", limits(func(l *isolate.Limits) { l.Memory = 128 << 20 }))
		synctest.Wait()
		if s := b.r.Stats(); s.Warm != 6 || s.Isolates != 6 {
			t.Fatalf("Stats = %+v, want 6 warm", s)
		}
		for range 3 {
			wantOK(t, invoke(small))
			synctest.Wait()
		}
		if s := b.r.Stats(); s.Warm != 6 || s.Isolates != 7 {
			t.Errorf("Stats = %+v, want 6 warm of 7", s)
		}
		large.Close()
		synctest.Wait()
		if s := b.r.Stats(); s.Warm != 3 || s.Isolates != 4 {
			t.Errorf("Stats without the second class = %+v, want 3 warm of 4", s)
		}
	})
}

func TestWarmPoolIsBounded(t *testing.T) {
	scripts := map[string]enginefake.Script{"w": {"fetch": hello}}
	run(t, setup{scripts: scripts, config: isolate.Config{Warm: 2}}, func(t *testing.T, b *bench) {
		for i := range 10 {
			b.worker("w", limits(func(l *isolate.Limits) { l.Memory = int64(i+10) << 20 }))
		}
		synctest.Wait()
		if s := b.r.Stats(); s.Warm != 8 {
			t.Errorf("%d warm", s.Warm)
		}
	})
}

func TestPoolSurvivesAFatalErrorAndErrors(t *testing.T) {
	tries := 0
	var b *bench
	s := setup{scripts: map[string]enginefake.Script{"w": {"fetch": hello}}, config: isolate.Config{Warm: 2},
		newHook: func(_ isolate.Params, host isolate.EngineHost) error {
			switch tries++; tries {
			case 1:
				host.Fatal("New", "no memory")
				b.engine.Park()
				return fmt.Errorf("released")
			case 2:
				return fmt.Errorf("no room today")
			}
			return nil
		}}
	synctest.Test(t, func(t *testing.T) {
		b = newBench(t, s)
		w := b.worker("w")
		time.Sleep(2 * time.Second)
		f := wantOneOf(t, invoke(w))
		if f != nil && f.Outcome != outcome.LoadShed {
			t.Errorf("failure = %v", f)
		}
		b.worker("w") // asks the pool to fill again
		synctest.Wait()
		if s := b.r.Stats(); s.Parked != 1 || s.Warm != 2 {
			t.Errorf("Stats = %+v", s)
		}
		wantOK(t, invoke(w))
		b.engine.Made.Add(1) // the one that never came back
		b.close()
	})
}

func wantOneOf(t *testing.T, c *call) *outcome.Failure {
	t.Helper()
	<-c.Ended()
	return c.Failure()
}

func TestEvictsTheLeastRecentlyUsed(t *testing.T) {
	scripts := map[string]enginefake.Script{"w": {"fetch": hello}, "busy": {"fetch": never}}
	run(t, setup{scripts: scripts, config: isolate.Config{MaxIsolates: 3}}, func(t *testing.T, b *bench) {
		busy, one, two, three := b.worker("busy"), b.worker("w"), b.worker("w"), b.worker("w")
		invoke(busy)
		for _, w := range []*isolate.Worker{one, two, one} {
			time.Sleep(time.Millisecond)
			wantOK(t, invoke(w))
			synctest.Wait()
		}
		time.Sleep(time.Millisecond)
		wantOK(t, invoke(three)) // in place of two
		synctest.Wait()
		c := invoke(one)
		wantOK(t, c)
		if c.Cold() {
			t.Error("the more recently used instance was closed")
		}
		if s := b.r.Stats(); s.Isolates != 3 {
			t.Errorf("%d isolates, the cap is 3", s.Isolates)
		}
		c = invoke(two)
		wantOK(t, c)
		if !c.Cold() {
			t.Error("the least recently used instance lives")
		}
	})
}

func TestShedsLoadWhenNothingIsIdle(t *testing.T) {
	scripts := map[string]enginefake.Script{"w": {"fetch": hello}, "busy": {"fetch": wait("gate")}}
	run(t, setup{scripts: scripts, config: isolate.Config{MaxIsolates: 2}}, func(t *testing.T, b *bench) {
		one, two := invoke(b.worker("busy")), invoke(b.worker("busy"))
		w := b.worker("w")
		f := wantFailure(t, invoke(w), outcome.LoadShed, "no room for another worker")
		if f.RetryAfter <= 0 {
			t.Error("no RetryAfter")
		}
		b.gates.open("gate")
		wantOK(t, one)
		wantOK(t, two)
		synctest.Wait()
		wantOK(t, invoke(w))
	})
}

func TestWarmIsolatesMakeRoom(t *testing.T) {
	scripts := map[string]enginefake.Script{"w": {"fetch": never}}
	run(t, setup{scripts: scripts, config: isolate.Config{MaxIsolates: 2, Warm: 2}}, func(t *testing.T, b *bench) {
		synctest.Wait()
		one := b.worker("w", limits(func(l *isolate.Limits) { l.Memory = 10 << 20 }))
		synctest.Wait()
		two := b.worker("w", limits(func(l *isolate.Limits) { l.Memory = 20 << 20 }))
		synctest.Wait()
		three := b.worker("w", limits(func(l *isolate.Limits) { l.Memory = 20 << 20 }))
		invoke(one)
		invoke(two)
		synctest.Wait()
		wantFailure(t, invoke(three), outcome.LoadShed, "")
		if s := b.r.Stats(); s.Isolates != 2 || s.Warm != 0 {
			t.Errorf("Stats = %+v", s)
		}
	})
}

func TestIdleInstances(t *testing.T) {
	scripts := map[string]enginefake.Script{"w": {"fetch": hello}, "busy": {"fetch": never}}
	run(t, setup{scripts: scripts, config: isolate.Config{IdleAfter: time.Minute}}, func(t *testing.T, b *bench) {
		w, busy := b.worker("w"), b.worker("busy", limits(func(l *isolate.Limits) { l.FirstByte = time.Hour }))
		invoke(busy)
		wantOK(t, invoke(w))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := b.engine.Idled.Load(); n != 2 { // the busy one waits, too
			t.Errorf("%d collections of idle instances", n)
		}
		if b.engine.Closed.Load() != 0 {
			t.Error("closed too early")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if b.engine.Closed.Load() != 1 {
			t.Errorf("%d instances were closed, want the idle one", b.engine.Closed.Load())
		}
		c := invoke(w)
		wantOK(t, c)
		if !c.Cold() {
			t.Error("not cold after it was closed")
		}
	})
}

// What a killed worker left behind is given back, once for many of them.
func TestEngineIsTrimmed(t *testing.T) {
	script := enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if len(args) > 0 {
			spin(c, nil)
			return
		}
		hello(c, nil)
	}}
	run(t, setup{scripts: map[string]enginefake.Script{"w": script}}, func(t *testing.T, b *bench) {
		w := b.worker("w")
		wantOK(t, invoke(w))
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := b.engine.Trims.Load(); n != 0 {
			t.Errorf("%d trims though no isolate was closed", n)
		}
		for range 3 {
			wantFailure(t, invoke(w, args(op.Null)), outcome.CPUExceeded, "limits.cpu")
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := b.engine.Trims.Load(); n == 0 || n > 2 {
			t.Errorf("%d trims after three isolates within five seconds", n)
		}
	})
}

func TestLedgerRefuses(t *testing.T) {
	scripts := map[string]enginefake.Script{
		"big": {"fetch": func(c *enginefake.Ctx, _ []op.Value) {
			c.SetMemory(isolate.Memory{HeapTotal: 40 << 20, LargeObjects: 38 << 20})
			never(c, nil)
		}},
		"w": {"fetch": hello},
	}
	cfg := isolate.Config{CageBytes: 100 << 20}
	run(t, setup{scripts: scripts, config: cfg}, func(t *testing.T, b *bench) {
		big := invoke(b.worker("big"))
		if s := b.r.Stats(); s.CageBytes != 78<<20 || s.Mappings != 16 {
			t.Errorf("Stats = %+v", s)
		}
		wantFailure(t, invoke(b.worker("w")), outcome.LoadShed, "no room")
		big.Cancel(nil)
		<-big.Ended()
	})
}

func TestLedgerEndsTheLargest(t *testing.T) {
	grow := func(mib int64) enginefake.Script {
		return enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {
			c.SetMemory(isolate.Memory{HeapTotal: mib << 20})
			never(c, nil)
		}}
	}
	scripts := map[string]enginefake.Script{"30": grow(30), "45": grow(45), "20": grow(20), "w": {"fetch": hello}}
	run(t, setup{scripts: scripts, config: isolate.Config{CageBytes: 100 << 20}}, func(t *testing.T, b *bench) {
		idle := b.worker("w")
		wantOK(t, invoke(idle))
		small, large := invoke(b.worker("30")), invoke(b.worker("20"))
		synctest.Wait()
		largest := invoke(b.worker("45"))
		wantFailure(t, largest, outcome.MemoryExceeded, "the process ran out of room")
		if over(small) || over(large) {
			t.Error("a smaller one was ended")
		}
		synctest.Wait()
		if s := b.r.Stats(); s.CageBytes != 50<<20 {
			t.Errorf("Stats = %+v", s)
		}
	})
}

func TestMappingsAreBounded(t *testing.T) {
	scripts := map[string]enginefake.Script{"w": {"fetch": never}}
	run(t, setup{scripts: scripts, config: isolate.Config{MaxMappings: 100}}, func(t *testing.T, b *bench) {
		for range 3 {
			invoke(b.worker("w"))
		}
		wantFailure(t, invoke(b.worker("w")), outcome.LoadShed, "no room")
	})
}

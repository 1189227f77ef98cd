package isolate

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/isolate/outcome"
)

const (
	watchEvery  = time.Millisecond      // how often long slices are looked at
	lendAfter   = 5 * time.Millisecond  // when a slice's token goes to one that waits
	obeyWithin  = 10 * time.Second      // when a slice that was terminated is given up
	killedEvery = 10 * time.Millisecond // how often those are looked at
)

// slot is where a runner runs slices; the watchdog watches slots. The fields
// above mu are written by the runner.
type slot struct {
	r      *Runtime
	used   atomic.Bool
	token  atomic.Bool // the runner holds a core token
	task   bool        // the runner's goroutine is one of Runtime.spawn
	serial uint64
	inst   atomic.Pointer[Instance]
	start  atomic.Int64  // of the slice, on the runtime's clock
	word   atomic.Uint64 // serial<<3 | phase

	// mu is held by whoever is not the runner and looks into a slice. While the
	// phase is one of those that they set, the end of the slice waits for mu.
	mu       sync.Mutex
	verdict  *verdict
	killedAt int64
}

// The phases of a slot.
const (
	phaseIdle    = 0
	phaseRunning = 1
	phasePinned  = 2 // being looked at
	phaseKilled  = 3 // terminated, for the reason in verdict
	phaseLost    = 4 // given up: its runner has to leave
	phaseMask    = 7
)

// verdict is a decision to end something in an instance that runs.
type verdict struct {
	failure    *outcome.Failure
	invocation *Invocation // whose event is too much, nil for none
	all        bool        // every invocation of the instance ends
	cpu        int64       // measured CPU time of invocation, in ns; 0: not measured
}

// begin marks the start of a slice.
func (sl *slot) begin(in *Instance) (word uint64) {
	now := sl.r.clock()
	in.lastUsed.Store(now)
	sl.start.Store(now)
	sl.serial++
	word = sl.serial<<3 | phaseRunning
	sl.word.Store(word)
	sl.r.watchdog.wake()
	return word
}

// end marks its end. It returns the verdict if the slice was terminated, and
// whether it was given up.
func (sl *slot) end(word uint64) (v *verdict, threadLost bool) {
	if sl.word.CompareAndSwap(word, word&^phaseMask) {
		return nil, false
	}
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.word.Load()&phaseMask == phaseLost {
		return nil, true
	}
	v, sl.verdict = sl.verdict, nil
	sl.word.Store(word &^ phaseMask)
	return v, false
}

// inspect looks into the slice that runs. When decide returns a verdict the slice
// is terminated; the verdict is carried out by the caller.
func (sl *slot) inspect(decide func(in *Instance) *verdict) (in *Instance, v *verdict) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	word := sl.word.Load()
	pinned := word&^phaseMask | phasePinned
	if word&phaseMask != phaseRunning || !sl.word.CompareAndSwap(word, pinned) {
		return nil, nil
	}
	in = sl.inst.Load()
	if v = decide(in); v == nil {
		sl.word.Store(word)
		return in, nil
	}
	sl.verdict, sl.killedAt = v, sl.r.clock()
	sl.word.Store(word&^phaseMask | phaseKilled)
	in.iso.Terminate()
	return in, v
}

// killCurrent terminates the slice of an instance, if one runs.
func (sl *slot) killCurrent(in *Instance, v *verdict) {
	sl.inspect(func(cur *Instance) *verdict {
		if cur != in {
			return nil
		}
		return v
	})
}

// kill terminates the slice of an instance if it is an event of an invocation
// that runs, carries the verdict out, and reports whether it did.
func (sl *slot) kill(in *Instance, id uint32, v *verdict) bool {
	_, done := sl.inspect(func(cur *Instance) *verdict {
		if cur != in {
			return nil
		}
		if p := in.iso.Probe(); !p.Running || p.Invocation != id {
			return nil
		}
		return v
	})
	if done != nil {
		in.apply(done)
	}
	return done != nil
}

// lose gives the slice of an instance up and reports whether one runs.
func (sl *slot) lose(in *Instance) bool {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	for {
		word := sl.word.Load()
		if p := word & phaseMask; p == phaseIdle || p == phaseLost || sl.inst.Load() != in {
			return false
		}
		if sl.word.CompareAndSwap(word, word&^phaseMask|phaseLost) {
			return true
		}
	}
}

// apply carries a verdict out, before or after the slice it is about has ended:
// the instance is retired, and the clients of those that end are answered.
func (in *Instance) apply(v *verdict) {
	in.failBoot(v.failure, true)
	in.retire()
	if i := v.invocation; i != nil {
		if v.cpu > 0 {
			i.cpu.Store(v.cpu)
		}
		in.cutOff(i.id)
		if i.finish(v.failure) {
			in.r.log.Warn("request ended by a limit", "worker", in.name(), "request", i.p.Request,
				"outcome", v.failure.Outcome, "reason", v.failure.Msg)
		}
	}
	if v.all {
		in.endAll(v.failure)
	}
}

// watchdog looks at slices that run for long. It sleeps while there is none: a
// timer is set when a slice starts and none is set.
type watchdog struct {
	r     *Runtime
	awake atomic.Bool
	timer *time.Timer // reset by whoever sets awake, or by tick while it is set
}

func newWatchdog(r *Runtime) *watchdog {
	d := &watchdog{r: r}
	d.timer = time.AfterFunc(time.Hour, d.tick)
	d.timer.Stop()
	return d
}

// wake makes sure that the watchdog looks soon.
func (d *watchdog) wake() {
	if !d.awake.Load() && d.awake.CompareAndSwap(false, true) {
		d.timer.Reset(watchEvery)
	}
}

// tick looks at all slots once.
func (d *watchdog) tick() {
	next := d.look()
	if next == 0 {
		d.awake.Store(false)
		// A slice may have started since, and found the watchdog awake.
		if next = d.look(); next == 0 || !d.awake.CompareAndSwap(false, true) {
			return
		}
	}
	d.timer.Reset(next)
}

// look examines each slice and returns when it wants to look again, 0 for not.
func (d *watchdog) look() (next time.Duration) {
	soon := func(t time.Duration) {
		if next == 0 || t < next {
			next = t
		}
	}
	now := d.r.clock()
	for i := range d.r.sched.slots {
		sl := d.r.sched.slots[i].Load()
		word := sl.word.Load()
		age := time.Duration(now - sl.start.Load())
		switch {
		case word&phaseMask == phaseIdle || word&phaseMask == phaseLost || word != sl.word.Load():
			continue
		case age < watchEvery:
			soon(watchEvery - max(age, 0))
			continue
		case age >= lendAfter:
			d.r.sched.lend(sl)
		}
		if word&phaseMask == phaseKilled {
			if !d.disobeys(sl, word) {
				soon(killedEvery)
			}
			continue
		}
		soon(watchEvery)
		if in, v := sl.inspect(judge); v != nil {
			in.apply(v)
		}
	}
	return next
}

// disobeys gives a slice up that goes on long after its termination.
func (d *watchdog) disobeys(sl *slot, word uint64) bool {
	sl.mu.Lock()
	in := sl.inst.Load()
	late := sl.word.Load() == word && d.r.clock()-sl.killedAt > int64(obeyWithin)
	sl.mu.Unlock()
	if late {
		in.lose(fmt.Errorf("a slice did not end within %v of its termination", obeyWithin), false)
	}
	return late
}

// judge compares a running slice with the limits.
func judge(in *Instance) *verdict {
	p := in.iso.Probe()
	if !p.Running {
		return nil
	}
	limits := &in.w.limits
	v := in.lookup(p.Invocation)
	if f := in.overMemory(&p.Memory); f != nil {
		return &verdict{failure: f, invocation: v, all: true}
	}
	in.mu.Lock()
	starting := in.state == booting
	in.mu.Unlock()
	switch {
	case starting:
		if in.bootCPU+p.SliceNanos > int64(limits.StartupCPU) {
			return &verdict{failure: limits.startupCPUFailure()}
		}
	case v != nil:
		if used := v.cpu.Load() + p.EventNanos; used > int64(limits.CPU) {
			return &verdict{failure: limits.cpuFailure(), invocation: v, cpu: used}
		}
	case in.background+p.EventNanos > int64(limits.CPU):
		return &verdict{failure: limits.cpuFailure(), all: true}
	}
	return nil
}

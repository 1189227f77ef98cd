package isolate

import (
	"errors"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// How long a slice should take at most when events take as long as before: the
// first response of a batch leaves after its last event.
const sliceTarget = 200_000 // ns

// maxWindow bounds the events of one slice.
const maxWindow = 64

// turn runs one slice and its commands on sl. It reports whether there is more to
// do, in which case the instance is still active, and whether the slice was given
// up while it ran.
func (in *Instance) turn(sl *slot) (more, threadLost bool) {
	batch, any := in.gather()
	if any {
		word := sl.begin(in)
		res := in.iso.Slice(batch)
		v, threadLost := sl.end(word)
		if threadLost {
			in.returned()
			return false, true
		}
		in.conclude(&res, v)
	}
	in.slot.Store(nil)
	return in.rest(), false
}

// gather takes the next events: what is left of the last window, what came since,
// and invocations that start. any is false when no slice is wanted.
func (in *Instance) gather() (batch []byte, any bool) {
	quota := in.quota()
	in.mu.Lock()
	if in.dead || in.state >= closed {
		in.mu.Unlock()
		return nil, false
	}
	if in.flush {
		in.flush = false
		in.mu.Unlock()
		return nil, true
	}
	if in.run.left() == 0 {
		in.run, in.fill = in.fill, in.run
		if len(in.cut) > 0 {
			in.run.keep(func(k mark) bool { _, cut := in.cut[k.invocation]; return !cut || k.shared })
		}
		for n := min(in.startableLocked(), max(1, quota-in.run.left())); n > 0; n-- {
			if v := in.nextStartLocked(); v.startLocked() {
				in.invocations[v.id] = v
				in.starting = append(in.starting, v)
			}
		}
	}
	any, in.pump = in.pump, false
	in.mu.Unlock()
	if len(in.starting) > 0 {
		in.encodeStarts()
	}
	return in.run.window(quota), any || in.run.left() > 0
}

// encodeStarts attaches the invocations that start and encodes their events.
func (in *Instance) encodeStarts() {
	in.background = 0
	in.logged.Store(0)
	for _, v := range in.starting {
		args, err := v.args(in)
		if err != nil {
			in.r.log.Error("attach event", "worker", in.name(), "request", v.p.Request, "err", err)
			f := outcome.Failf(outcome.Exception, "internal error")
			f.Err = err
			v.finish(f)
			continue
		}
		in.run.call(v.handler, v.id, v, args)
	}
	clear(in.starting)
	in.starting = in.starting[:0]
}

// quota returns how many events the next slice should have.
func (in *Instance) quota() int {
	if in.average <= 0 {
		return maxWindow
	}
	return int(min(max(1, sliceTarget/in.average), maxWindow))
}

// conclude does what follows a slice: charge its time, drop the events that were
// delivered, execute its commands, and end what has to end. v is the watchdog's
// verdict, nil when there is none.
func (in *Instance) conclude(res *SliceResult, v *verdict) {
	exceeded := in.charge(res)
	in.run.advance(res.Events)
	in.execute(res.Commands)
	in.r.ledger.update(in, &res.Memory)
	if v != nil {
		in.apply(v) // the watchdog does so, too, and may be behind
	}
	switch {
	case res.Status == StatusHeapLimit:
		in.outOfHeap()
		return
	case res.Status == StatusFatal:
		in.gaveUp(errors.New(res.Fatal))
		return
	case res.Status == StatusTerminated:
		in.terminated(res, v)
	case v != nil:
		in.flush = true
	}
	if exceeded != nil && !(exceeded.invocation != nil && exceeded.invocation.isOver()) {
		in.apply(exceeded)
	}
	if f := in.overMemory(&res.Memory); f != nil {
		in.apply(&verdict{failure: f, invocation: in.lookup(lastOf(res)), all: true})
	}
	if res.Tasks {
		in.pumpLater()
	} else {
		in.pumpDelay = 0
	}
	in.findStuck(res)
}

// charge adds the slice's time to the invocations whose events it delivered. The
// verdict is of one that used up its CPU time in slices too short for the
// watchdog.
func (in *Instance) charge(res *SliceResult) (exceeded *verdict) {
	var sum int64
	for _, t := range res.Times {
		sum += t.Nanos
	}
	scale := 1.0
	if res.CPUNanos > 0 && sum > 0 {
		scale = float64(res.CPUNanos) / float64(sum)
	}
	if n := int64(len(res.Times)); n > 0 {
		in.average = (in.average*3 + sum/n) / 4
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.w.cpu.Add(int64(float64(sum) * scale))
	for _, t := range res.Times {
		ns := int64(float64(t.Nanos) * scale)
		v := in.invocations[t.Invocation]
		_, cut := in.cut[t.Invocation]
		switch {
		case cut: // its limit has ended it already
		case in.state == booting:
			in.bootCPU += ns
		case v != nil:
			if v.cpu.Add(ns) > int64(in.w.limits.CPU) && exceeded == nil {
				exceeded = &verdict{failure: in.w.limits.cpuFailure(), invocation: v}
			}
		default:
			if in.background += ns; in.background > int64(in.w.limits.CPU) && exceeded == nil {
				exceeded = &verdict{failure: in.w.limits.cpuFailure(), all: true}
			}
		}
	}
	if in.state == booting && in.bootCPU > int64(in.w.limits.StartupCPU) {
		exceeded = &verdict{failure: in.w.limits.startupCPUFailure()}
	}
	return exceeded
}

// execute runs the commands of a slice in order.
func (in *Instance) execute(cmds []byte) {
	for len(cmds) > 0 {
		c, rest, err := NextCommand(cmds, in.args)
		if err == nil && int(c.Op) >= len(in.r.ops) {
			err = errors.New("decode command: no op has this number")
		}
		if err != nil {
			in.r.log.Error("execute commands", "worker", in.name(), "err", err)
			return
		}
		in.args, cmds = c.Args, rest
		o := &in.r.ops[c.Op]
		async := o.Mode == op.Async && c.Promise != 0
		var inv op.Invocation
		in.mu.Lock()
		if v := in.invocations[c.Invocation]; v != nil {
			inv = invocationOp{v}
		}
		if async {
			in.pending++
		}
		in.mu.Unlock()
		if async {
			call := op.NewCall(in, inv, c.Invocation, c.Promise, c.Args)
			if err := callOp(o, call); err != nil {
				in.logOp(o, err)
				call.Reject(op.Public(err))
			}
			continue
		}
		in.post.Reset(in, inv, c.Invocation, c.Args)
		if err := callOp(o, &in.post); err != nil {
			in.r.log.Error("op failed", "op", o.Name, "worker", in.name(), "err", err)
		}
	}
}

// terminated tidies up after a slice that was cut short.
func (in *Instance) terminated(res *SliceResult, v *verdict) {
	if v == nil {
		// Nobody decided it: the event that was cut cannot go on.
		in.apply(&verdict{failure: jobsLostFailure(), invocation: in.lookup(lastOf(res)), all: true})
	}
	in.moveUndelivered()
	if res.JobsLost {
		in.endAll(jobsLostFailure())
	}
}

// outOfHeap ends an instance whose isolate ran into its heap limit.
func (in *Instance) outOfHeap() { in.wipe(in.w.limits.memoryFailure()) }

// gaveUp ends the instance after a slice in which the engine gave up, and which
// came back nevertheless.
func (in *Instance) gaveUp(cause error) {
	in.r.log.Error("instance ended by a fatal error", "worker", in.name(), "err", cause)
	in.w.holdBack()
	in.wipe(fatalFailure(cause))
}

// wipe ends everything that was started in the instance, which runs no more.
func (in *Instance) wipe(f *outcome.Failure) {
	in.moveUndelivered()
	in.apply(&verdict{failure: f, all: true})
	in.mu.Lock()
	in.dead = true
	in.mu.Unlock()
	in.run.reset()
}

// moveUndelivered passes invocations on whose first event is encoded but was not
// delivered.
func (in *Instance) moveUndelivered() {
	starts := in.run.withdraw()
	if len(starts) == 0 {
		return
	}
	var moved []*Invocation
	in.mu.Lock()
	for _, v := range starts {
		if in.invocations[v.id] == v && v.leaveLocked() {
			delete(in.invocations, v.id)
			moved = append(moved, v)
		}
	}
	in.mu.Unlock()
	in.w.place(moved)
}

// overMemory compares what an isolate holds with its limits. External counts
// Wasm memories, which no allocator refuses; a little of it is the engine's own.
func (in *Instance) overMemory(m *Memory) *outcome.Failure {
	const slack = 8 << 20
	switch {
	case max(m.External, m.Buffers) > in.params.BufferBytes+slack:
		return in.w.limits.buffersFailure()
	case m.HeapUsed+max(m.External, m.Buffers) > in.params.HeapBytes+in.params.BufferBytes+slack:
		return in.w.limits.memoryFailure()
	}
	return nil
}

// findStuck ends invocations that wait for a promise which nothing can settle any
// more: no pending call, no timer, no event. Only an invocation whose event just
// ran can have come into that state, or all when it is the instance that did.
func (in *Instance) findStuck(res *SliceResult) {
	in.mu.Lock()
	quiet := !res.Tasks && in.pending == 0 && in.timerAt == 0 && in.run.left() == 0 && in.fill.left() == 0
	changed := quiet && !in.quiet
	in.quiet = quiet
	if !quiet || in.state >= closed {
		in.mu.Unlock()
		return
	}
	if in.state == booting {
		in.mu.Unlock()
		in.failBoot(in.w.bootFailure(&op.ScriptError{Name: "Error",
			Message: "the main module waits, at its top level, for a promise that nothing is left to settle"}), true)
		return
	}
	var stuck []*Invocation
	if changed {
		for _, v := range in.invocations {
			stuck = append(stuck, v)
		}
	} else if len(in.invocations) > 0 {
		for _, t := range res.Times {
			if v := in.invocations[t.Invocation]; v != nil {
				stuck = append(stuck, v)
			}
		}
	}
	in.mu.Unlock()
	for _, v := range stuck {
		if v.stranded() {
			v.finish(stuckFailure())
		}
	}
}

// stranded reports whether an invocation that nothing will wake has more to do:
// it has not responded, or it was canceled and only its end is missing.
func (v *Invocation) stranded() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.phase == started && (!v.responded.Load() || v.canceled != nil)
}

// rest ends a turn and reports whether another one is wanted; if not, the
// instance is no longer the runner's.
func (in *Instance) rest() (more bool) {
	in.mu.Lock()
	if in.moreLocked() {
		in.mu.Unlock()
		return true
	}
	in.active = in.state >= closed
	closing := in.closingLocked()
	in.mu.Unlock()
	switch {
	case closing:
		in.r.spawn(in.dispose)
	case in.w.cache.Load() == cacheWanted && in.w.cache.CompareAndSwap(cacheWanted, cacheMade):
		in.cacheLater()
	}
	return false
}

// lastOf returns the invocation of the last event of a slice, which is the one
// that was cut when it did not end well.
func lastOf(res *SliceResult) uint32 {
	if len(res.Times) == 0 {
		return 0
	}
	return res.Times[len(res.Times)-1].Invocation
}

package isolate

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// Instance is one isolate with its mailbox. It begins as a warm one in the pool,
// is bound to one worker for good, and ends with that worker, after a limit, or
// when it was idle and room was needed. It is the op.Host of the ops that run for
// it and the EngineHost of its isolate.
type Instance struct {
	r      *Runtime
	params Params
	serial uint64 // counts instances; the lower one is older
	iso    Isolate
	table  op.Table
	ctx    context.Context // ends when the instance is closed
	cancel context.CancelFunc

	slot     atomic.Pointer[slot] // where its slices run
	call     engineCall
	lastUsed atomic.Int64 // end of the last turn, on the runtime's clock
	cage     atomic.Int64 // the ledger's estimate
	owned    atomic.Bool  // a worker has it
	trimmed  atomic.Int64 // when Idle ran, on the runtime's clock
	ending   atomic.Bool  // end was called: its memory is on its way back
	logged   atomic.Int64 // console bytes outside of live invocations since the last start

	mu          sync.Mutex // after Worker.mu, before Invocation.mu
	w           *Worker    // nil in the pool
	state       state
	retired     bool // takes no new invocations
	active      bool // somebody owns the isolate, see the package comment
	fill        mailbox
	starts      []*Invocation // wait to be started, oldest first
	firstStart  int           // index into starts
	invocations map[uint32]*Invocation
	pending     int                 // Async calls that were not settled
	cut         map[uint32]struct{} // invocations ended by a limit: their events are dropped
	timer       *time.Timer
	timerAt     int64 // when the timer is due, 0 for none
	timerFor    uint32
	pump        bool // an empty slice is wanted
	tableHolds  int  // invocations that moved away with resources in the table
	tableOrphan bool // the instance is closed, the last hold closes the table
	parked      bool // lost, and its thread is the engine's for good
	bootTimer   *time.Timer
	bootFailure *outcome.Failure
	booted      chan struct{} // closed when the start-up has ended, either way

	// The rest belongs to whoever made the instance active.
	run        mailbox
	average    int64 // of the time of an event, in ns
	args       []op.Value
	post       op.Call
	starting   []*Invocation
	flush      bool // a termination came late: an empty slice takes it away
	dead       bool // the heap limit ended the isolate: no slice may run
	quiet      bool // after the last slice, nothing was left that could settle a promise
	pumpDelay  time.Duration
	bootCPU    int64
	background int64 // CPU time of events of no live invocation
	handles    []uint32
}

var (
	_ op.Host    = (*Instance)(nil)
	_ EngineHost = (*Instance)(nil)
)

// state is an instance's place in its life.
type state uint8

const (
	warm    state = iota // no worker yet, or no isolate yet
	booting              // the main module is being evaluated
	ready
	closed // being closed, or closed
	lost   // the engine or a slice never came back
)

func (r *Runtime) newInstance(p Params) *Instance {
	in := &Instance{r: r, params: p, serial: r.instances.Add(1), booted: make(chan struct{}),
		invocations: map[uint32]*Invocation{}}
	in.lastUsed.Store(r.clock())
	in.ctx, in.cancel = context.WithCancel(context.Background())
	return in
}

// enqueueResult says what became of an invocation that was given to an instance.
type enqueueResult uint8

const (
	enqueued  enqueueResult = iota // somebody will run it
	mustRun                        // the caller made the instance active
	gone                           // the instance takes no more
	full                           // limits.queue
	wasOver                        // the invocation has ended
	forbidden                      // the start-up has failed
)

// enqueue adds an invocation to those that wait.
func (in *Instance) enqueue(v *Invocation) enqueueResult {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.bootFailure != nil:
		return forbidden
	case in.retired || in.state >= closed:
		return gone
	}
	if len(in.starts)-in.firstStart+len(in.invocations) >= in.w.limits.Concurrency+in.w.limits.Queue {
		return full
	}
	if !v.enterLocked(in, in.state != ready) {
		return wasOver
	}
	in.starts = append(in.starts, v)
	if in.wakeLocked() {
		return mustRun
	}
	return enqueued
}

// wakeLocked makes the instance active when it is not and has something to do,
// and reports whether it did: then the caller must run or schedule it.
func (in *Instance) wakeLocked() bool {
	if in.active || !in.moreLocked() {
		return false
	}
	in.active = true
	return true
}

// moreLocked reports whether a turn would have something to do. When the
// instance is active only its owner may ask.
func (in *Instance) moreLocked() bool {
	if in.dead || in.state >= closed {
		return false
	}
	return in.flush || in.pump || in.run.left() > 0 || in.fill.left() > 0 || in.startableLocked() > 0
}

// startableLocked returns how many invocations may be started.
func (in *Instance) startableLocked() int {
	if in.state != ready || in.retired {
		return 0
	}
	return min(len(in.starts)-in.firstStart, in.w.limits.Concurrency-len(in.invocations))
}

// nextStartLocked takes the first invocation that waits.
func (in *Instance) nextStartLocked() *Invocation {
	v := in.starts[in.firstStart]
	in.starts[in.firstStart] = nil
	if in.firstStart++; in.firstStart == len(in.starts) {
		in.starts, in.firstStart = in.starts[:0], 0
	}
	return v
}

// takeStartsLocked empties the queue of those that wait.
func (in *Instance) takeStartsLocked() []*Invocation {
	var vs []*Invocation
	for _, v := range in.starts[in.firstStart:] {
		if v.leaveLocked() {
			vs = append(vs, v)
		}
	}
	in.starts, in.firstStart = nil, 0
	return vs
}

// forget removes an invocation that is over.
func (in *Instance) forget(v *Invocation, was phase) {
	in.mu.Lock()
	if was == started {
		delete(in.invocations, v.id)
	} else {
		for i := in.firstStart; i < len(in.starts); i++ {
			if in.starts[i] == v {
				in.starts = append(in.starts[:i], in.starts[i+1:]...)
				break
			}
		}
	}
	run := in.wakeLocked()
	closing := in.closingLocked()
	in.mu.Unlock()
	if run {
		in.r.sched.start(in)
	}
	if closing {
		in.r.spawn(in.dispose)
	}
}

// lookup returns a live invocation by number, nil when there is none.
func (in *Instance) lookup(id uint32) *Invocation {
	if id == 0 {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.invocations[id]
}

// live returns the invocations that have started and not ended.
func (in *Instance) live() []*Invocation {
	in.mu.Lock()
	defer in.mu.Unlock()
	vs := make([]*Invocation, 0, len(in.invocations))
	for _, v := range in.invocations {
		vs = append(vs, v)
	}
	return vs
}

// claim makes an instance active that nobody uses, for maintenance.
func (in *Instance) claim() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.active || in.retired || in.state != ready {
		return false
	}
	in.active = true
	return true
}

// unclaim gives an active instance up: it is run when something came meanwhile,
// and closed when it is retired and empty.
func (in *Instance) unclaim() {
	in.mu.Lock()
	in.active = in.state == lost
	run := in.wakeLocked()
	closing := in.closingLocked()
	in.mu.Unlock()
	if run {
		in.r.sched.start(in)
	}
	if closing {
		in.r.spawn(in.dispose)
	}
}

// closingLocked reports whether the instance can be closed now, and makes it
// the caller's to dispose of.
func (in *Instance) closingLocked() bool {
	if !in.retired || in.active || in.state >= closed || len(in.invocations) > 0 {
		return false
	}
	in.state, in.active = closed, true
	return true
}

// claimIdle makes an instance the caller's to dispose of, when it is idle: ready,
// without invocations and without pending calls.
func (in *Instance) claimIdle() bool {
	in.mu.Lock()
	if in.active || in.retired || in.state != ready || len(in.invocations) > 0 ||
		len(in.starts) > in.firstStart || in.pending > 0 {
		in.mu.Unlock()
		return false
	}
	in.state, in.active, in.retired = closed, true, true
	w := in.w
	in.mu.Unlock()
	w.cur.CompareAndSwap(in, nil)
	return true
}

// retire stops new invocations. Those that JavaScript has not seen go to another
// instance of the worker.
func (in *Instance) retire() {
	in.mu.Lock()
	if in.retired || in.state >= closed {
		in.mu.Unlock()
		return
	}
	in.retired = true
	moved := in.takeStartsLocked()
	closing := in.closingLocked()
	w := in.w
	in.mu.Unlock()
	w.cur.CompareAndSwap(in, nil)
	if closing {
		in.r.spawn(in.dispose)
	}
	w.place(moved)
	w.boundRetired()
}

// cutOff drops what still comes for an invocation that a limit has ended, so that
// its script does not go on in short slices. The instance is in retirement, so
// the promises that stay open for it are gone soon.
func (in *Instance) cutOff(id uint32) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.cut == nil {
		in.cut = map[uint32]struct{}{}
	}
	in.cut[id] = struct{}{}
}

// endAll ends all invocations that have started.
func (in *Instance) endAll(f *outcome.Failure) {
	for _, v := range in.live() {
		in.cutOff(v.id)
		v.finish(f)
	}
}

// end retires the instance and ends what it does, in the middle of a slice if it
// runs one.
func (in *Instance) end(f *outcome.Failure) {
	in.ending.Store(true)
	in.failBoot(f, false)
	in.retire()
	if sl := in.slot.Load(); sl != nil {
		sl.killCurrent(in, &verdict{failure: f, all: true})
	}
	in.endAll(f)
}

// dispose closes an instance that is the caller's to dispose of, as a task of the
// runtime, and reports whether the goroutine was lost inside the engine.
func (in *Instance) dispose() (threadLost bool) { return in.disposeIn(true) }

func (in *Instance) disposeIn(task bool) (threadLost bool) {
	in.release()
	if in.iso != nil {
		var err error
		if !in.call.do(task, func() { err = in.iso.Close() }) {
			return true
		}
		if err != nil {
			in.r.log.Error("close isolate", "worker", in.name(), "err", err)
		}
	}
	in.r.remove(in)
	in.r.gone.Add(1)
	if in.w != nil {
		in.w.remove(in)
	}
	return false
}

// release ends what the instance holds in Go. More than once is harmless.
func (in *Instance) release() {
	in.cancel()
	in.mu.Lock()
	for _, t := range []*time.Timer{in.timer, in.bootTimer} {
		if t != nil {
			t.Stop()
		}
	}
	in.timerAt = 0
	// What the configuration opened is shared by all instances.
	for _, h := range in.handles {
		in.table.Take(h)
	}
	in.handles = nil
	in.tableOrphan = in.tableHolds > 0
	closeTable := !in.tableOrphan
	in.mu.Unlock()
	if closeTable {
		in.closeTable()
	}
}

func (in *Instance) closeTable() {
	if err := in.table.Close(); err != nil {
		in.r.log.Debug("close resources of an instance", "worker", in.name(), "err", err)
	}
}

// letTable gives up an invocation's hold on the table.
func (in *Instance) letTable() {
	in.mu.Lock()
	in.tableHolds--
	last := in.tableOrphan && in.tableHolds == 0
	in.mu.Unlock()
	if last {
		in.closeTable()
	}
}

// name returns the worker's name, for logs.
func (in *Instance) name() string {
	in.mu.Lock()
	w := in.w
	in.mu.Unlock()
	if w == nil {
		return ""
	}
	return w.cfg.Name
}

// bound reports whether a worker has the instance.
func (in *Instance) bound() bool { return in.owned.Load() }

// lose gives an instance up whose isolate can never be used again. parked says
// that the engine keeps its thread for good; otherwise the slice is one that does
// not obey, and whoever runs it disposes of the instance should it return.
func (in *Instance) lose(cause error, parked bool) {
	in.mu.Lock()
	if in.state == lost {
		in.mu.Unlock()
		return
	}
	in.state, in.active, in.retired, in.parked = lost, true, true, parked
	w := in.w
	moved := in.takeStartsLocked()
	in.mu.Unlock()

	if sl := in.slot.Load(); sl != nil && sl.lose(in) {
		in.r.sched.detach(sl)
	} else if parked {
		in.call.lose(in.r)
	}
	in.r.log.Error("instance lost", "worker", in.name(), "parked", parked, "err", cause)
	in.r.countLost(parked)
	if w == nil {
		in.r.pool.lost(in)
		in.release()
		return
	}
	w.cur.CompareAndSwap(in, nil)
	if parked {
		w.leak(in)
	}
	w.holdBack()
	f := fatalFailure(cause)
	in.failBoot(f, false)
	in.endAll(f)
	in.release()
	w.place(moved)
}

// returned is called by a runner whose slice came back after it was given up.
func (in *Instance) returned() {
	in.mu.Lock()
	parked := in.parked
	in.mu.Unlock()
	if !parked {
		in.r.countReturned()
		in.r.spawn(in.dispose)
	}
}

// engineCall guards calls into the engine outside of slices, in which the thread
// may be lost as well.
type engineCall struct {
	state atomic.Int32 // 0 none, 1 in the engine, 2 lost
	task  bool         // the goroutine is one of Runtime.spawn
}

// do runs f and reports whether its goroutine is still wanted.
func (c *engineCall) do(task bool, f func()) bool {
	c.task = task
	c.state.Store(1)
	f()
	return c.state.CompareAndSwap(1, 0)
}

// lose marks the call that runs, if any, as lost.
func (c *engineCall) lose(r *Runtime) {
	if c.state.CompareAndSwap(1, 2) && c.task {
		r.tasks.done()
	}
}

// create makes the isolate of an instance that did not come from the pool.
func (in *Instance) create(task bool) (f *outcome.Failure, threadLost bool) {
	if f := in.r.admit(in, !in.bound()); f != nil {
		return f, false
	}
	var iso Isolate
	var err error
	if !in.call.do(task, func() { iso, err = in.r.engine.New(in.params, in) }) {
		return nil, true
	}
	if err != nil {
		in.r.remove(in)
		f := shedFailure("the process has no room for another isolate")
		f.Err = fmt.Errorf("make isolate: %w", err)
		return f, false
	}
	in.iso = iso
	return nil, false
}

package isolate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// Invocation is one event that a worker handles: what ops see of it
// (op.Invocation) and what its caller holds (op.Running).
type Invocation struct {
	w       *Worker
	p       op.InvokeParams
	id      uint32
	handler uint16
	began   int64 // on the runtime's clock
	ctx     invocationContext

	cpu         atomic.Int64 // nanoseconds of its events so far
	responded   atomic.Bool
	subrequests atomic.Int64
	logged      atomic.Int64

	mu       sync.Mutex // taken after Instance.mu
	phase    phase
	in       *Instance // the one that has it queued or runs it
	cold     bool      // it waited for a start-up
	canceled error
	failure  *outcome.Failure
	silent   bool // OnFail has returned, or there is nothing to tell
	ended    chan struct{}
	unwatch  func() bool // stops watching the caller's context
	wallAt   int64       // when limits.wall ends it
	endedAt  int64
	// held are earlier instances, whose resource tables stay open until the end
	// because Attach put resources of this invocation there.
	held []*Instance
}

var (
	_ op.Invocation = invocationOp{}
	_ op.Running    = (*Invocation)(nil)
)

// phase is how far an invocation has come.
type phase uint8

const (
	waiting phase = iota // in the queue of an instance, or between two
	started              // attached to an instance, encoded for it, perhaps delivered
	over
)

// invocationOp is an Invocation as ops see it. It is a view and not the type
// itself so that the caller's side cannot end an event by accident.
type invocationOp struct{ *Invocation }

// Done ends the invocation: everything of it is finished.
func (v invocationOp) Done() {
	if v.responded.Load() {
		v.finish(nil)
	} else {
		v.finish(silentFailure())
	}
}

// ID returns the number under which the engine knows the invocation.
func (v *Invocation) ID() uint32 { return v.id }

// Context ends when the invocation has ended or its client has left.
func (v *Invocation) Context() context.Context { return &v.ctx }

// State returns what the caller attached.
func (v *Invocation) State() any { return v.p.State }

// Responded stops the first-byte clock.
func (v *Invocation) Responded() { v.responded.Store(true) }

// Fail ends the invocation with an exception of its script.
func (v *Invocation) Fail(err *op.ScriptError) {
	f := outcome.Failf(outcome.Exception, "the worker threw an exception")
	f.Err = v.w.mapError(err)
	v.finish(f)
}

// Take counts n against a limit of the invocation.
func (v *Invocation) Take(limit string, n int64) error {
	switch limit {
	case "subrequests":
		if v.subrequests.Add(n) > int64(v.w.limits.Subrequests) {
			return v.w.limits.subrequestsError()
		}
		return nil
	}
	return fmt.Errorf("take from limit: no limit is named %q (there is subrequests)", limit)
}

// Ended is closed when the invocation is over.
func (v *Invocation) Ended() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended == nil {
		if v.phase == over && v.silent {
			return closedChan
		}
		v.ended = make(chan struct{})
	}
	return v.ended
}

// Failure returns why the invocation ended, nil while it runs and when it ended
// well.
func (v *Invocation) Failure() *outcome.Failure {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failure
}

// CPU returns the CPU time of the invocation's events so far.
func (v *Invocation) CPU() time.Duration { return time.Duration(v.cpu.Load()) }

// Wall returns the time from Invoke to the end, or until now.
func (v *Invocation) Wall() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.phase == over {
		return time.Duration(v.endedAt - v.began)
	}
	return time.Duration(v.w.r.clock() - v.began)
}

// Cold reports whether the invocation waited for the start-up of an instance.
func (v *Invocation) Cold() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.cold
}

// Cancel says that nobody waits any more. Its context ends and JavaScript gets
// the "abort" event; when that does not end it, it may run on for cancelGrace
// because of waitUntil.
func (v *Invocation) Cancel(reason error) {
	if reason == nil {
		reason = context.Canceled
	}
	v.mu.Lock()
	if v.phase == over || v.canceled != nil {
		v.mu.Unlock()
		return
	}
	v.canceled = reason
	if v.phase == waiting {
		v.mu.Unlock()
		v.finish(nil)
		return
	}
	v.wallAt = min(v.wallAt, v.w.r.clock()+int64(cancelGrace))
	in, at := v.in, v.wallAt
	v.mu.Unlock()
	v.ctx.end(context.Canceled)
	in.Emit("abort", v.id)
	v.w.arm(at)
}

// cancelGrace is what waitUntil gets after the client has left.
const cancelGrace = 30 * time.Second

// answered reports whether the client has what it waits for first.
func (v *Invocation) answered() bool {
	if v.responded.Load() {
		return true
	}
	return v.isOver()
}

func (v *Invocation) isOver() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.phase == over
}

// gaveUp reports whether the client has left.
func (v *Invocation) gaveUp() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.canceled != nil
}

// deadline returns when a limit of wall time ends the invocation, and whether it
// is the one to the first byte.
func (v *Invocation) deadline() (at int64, firstByte bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at = v.wallAt
	if first := v.began + int64(v.w.limits.FirstByte); !v.responded.Load() && v.canceled == nil && first < at {
		return first, true
	}
	return at, false
}

// finish ends the invocation, once, and reports whether this call did. f is nil
// when it ended well.
func (v *Invocation) finish(f *outcome.Failure) bool {
	v.mu.Lock()
	if v.phase == over {
		v.mu.Unlock()
		return false
	}
	was, in, held := v.phase, v.in, v.held
	v.phase, v.in, v.held = over, nil, nil
	v.endedAt = v.w.r.clock()
	if v.canceled != nil && (f == nil || f.Outcome == outcome.Exception || f.Outcome == outcome.NoResponse || f.Outcome == outcome.WallExceeded) {
		f = &outcome.Failure{Outcome: outcome.Canceled, Msg: "the client left", Err: v.canceled}
	}
	v.failure = f
	v.silent = f == nil || v.p.OnFail == nil
	if v.silent && v.ended != nil {
		close(v.ended)
	}
	silent, unwatch := v.silent, v.unwatch
	v.unwatch = nil
	v.mu.Unlock()

	if !silent {
		v.p.OnFail(f)
		v.mu.Lock()
		v.silent = true
		if v.ended != nil {
			close(v.ended)
		}
		v.mu.Unlock()
	}
	v.ctx.end(context.Canceled)
	if unwatch != nil {
		unwatch()
	}
	for _, h := range held {
		h.letTable()
	}
	if in != nil {
		in.forget(v, was)
	}
	v.w.ended(f)
	return true
}

// watch cancels the invocation when ctx ends. It does nothing when the
// invocation is over already, which is what most are after their first slice.
func (v *Invocation) watch(ctx context.Context) {
	if ctx.Done() == nil {
		return
	}
	v.mu.Lock()
	gone := v.phase == over
	v.mu.Unlock()
	if gone {
		return
	}
	stop := context.AfterFunc(ctx, func() { v.Cancel(context.Cause(ctx)) })
	v.mu.Lock()
	gone = v.phase == over
	if !gone {
		v.unwatch = stop
	}
	v.mu.Unlock()
	if gone {
		stop()
	}
}

// enterLocked makes the invocation wait in an instance; false when it is over.
// Instance.mu is held.
func (v *Invocation) enterLocked(in *Instance, cold bool) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.phase == over {
		return false
	}
	v.in, v.phase = in, waiting
	v.cold = v.cold || cold
	return true
}

// startLocked moves the invocation from the queue into the instance; false when
// it is over. Instance.mu is held.
func (v *Invocation) startLocked() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.phase == over {
		return false
	}
	v.phase = started
	return true
}

// leaveLocked takes the invocation, which no JavaScript has seen, out of an
// instance in retirement; false when it is over. Instance.mu is held.
func (v *Invocation) leaveLocked() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.phase == over {
		return false
	}
	if v.phase == started && v.p.Attach != nil && !slices.Contains(v.held, v.in) {
		v.in.tableHolds++
		v.held = append(v.held, v.in)
	}
	v.phase, v.in = waiting, nil
	return true
}

// args returns what the handler is called with: Attach's when there is one.
func (v *Invocation) args(in *Instance) (args []op.Value, err error) {
	if v.p.Attach == nil {
		return v.p.Args, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = panicError("attach", p)
		}
	}()
	return v.p.Attach(in, invocationOp{v}), nil
}

func panicError(what string, p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("%s: panic: %w", what, err)
	}
	return errors.New(fmt.Sprint(what, ": panic: ", p))
}

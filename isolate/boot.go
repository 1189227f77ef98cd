package isolate

import (
	"context"
	"fmt"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// The start-up of an instance: an isolate from the pool or a new one, the
// program, the "load" event, and op.Host.Booted or a limit.

// open returns the worker's current instance, making one when there is none; then
// launch is the caller's duty. No instance comes with the failure that says why.
func (w *Worker) open() (in *Instance, launch bool, f *outcome.Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in := w.cur.Load(); in != nil {
		return in, false, nil
	}
	if w.closed {
		return nil, false, shedFailure("the worker was replaced or removed")
	}
	if f := w.heldLocked(w.r.clock()); f != nil {
		return nil, false, f
	}
	in = w.r.pool.take(w.limits.params())
	if in == nil {
		in = w.r.newInstance(w.limits.params())
	}
	in.mu.Lock()
	in.w, in.active = w, true
	in.mu.Unlock()
	in.owned.Store(true)
	w.instances[in] = struct{}{}
	w.cur.Store(in)
	return in, true, nil
}

// launch starts an instance that open made. own is the caller's invocation, nil
// when the caller waits for none. It reports whether the goroutine was lost
// inside the engine.
func (w *Worker) launch(in *Instance, own *Invocation, task bool) (threadLost bool) {
	if in.iso == nil {
		f, threadLost := in.create(task)
		if threadLost {
			return true
		}
		if f != nil {
			in.abandon(f)
			return false
		}
	}
	in.mu.Lock()
	if in.state != warm || in.retired { // lost, or its worker was closed meanwhile
		gone := in.state == lost
		in.mu.Unlock()
		if gone {
			w.leak(in)
		}
		in.unclaim()
		return false
	}
	in.state = booting
	in.bootTimer = time.AfterFunc(w.limits.StartupWall, func() {
		in.timeUp(w.limits.startupWallFailure())
	})
	in.mu.Unlock()
	var err error
	if !in.call.do(task, func() { err = in.iso.SetProgram(w.program) }) {
		return true
	}
	if err != nil {
		in.failBoot(w.bootFailure(fmt.Errorf("attach program: %w", err)), true)
	} else {
		in.Emit("load", 0, in.loadArgs()...)
	}
	if task {
		w.r.sched.start(in)
		return false
	}
	return w.r.sched.runHere(in, own)
}

// loadArgs makes the arguments of the "load" event, one for each entry of env: a
// list of its name, its value, the name of its facade (null: the value is the
// entry) and the handle of its resource (0: none).
func (in *Instance) loadArgs() []op.Value {
	args := make([]op.Value, 0, len(in.w.cfg.Env))
	for _, e := range in.w.cfg.Env {
		var h uint32
		if e.Resource != nil {
			h = in.table.Add(e.Resource)
			in.mu.Lock()
			in.handles = append(in.handles, h)
			in.mu.Unlock()
		}
		facade := op.Null
		if e.Facade != "" {
			facade = op.String(e.Facade)
		}
		args = append(args, op.List(op.String(e.Name), e.Value, facade, op.Int(int64(h))))
	}
	return args
}

// abandon ends an instance that got no isolate.
func (in *Instance) abandon(f *outcome.Failure) {
	in.failBoot(f, false)
	in.unclaim()
}

// timeUp ends a start-up that takes too long, in the middle of a slice if need be.
func (in *Instance) timeUp(f *outcome.Failure) {
	in.mu.Lock()
	late := in.state != booting
	in.mu.Unlock()
	if late {
		return
	}
	v := &verdict{failure: f}
	if sl := in.slot.Load(); sl != nil {
		sl.killCurrent(in, v)
	}
	in.apply(v)
}

// failBoot ends the start-up, once, and with it the invocations that wait for it.
// remember holds the worker back for a moment, so that a broken one does not spin.
func (in *Instance) failBoot(f *outcome.Failure, remember bool) {
	in.mu.Lock()
	if in.bootFailure != nil || in.state == ready || isClosed(in.booted) {
		in.mu.Unlock()
		return
	}
	in.bootFailure = f
	in.retired = true
	starts := in.takeStartsLocked()
	in.timerAt = 0
	if in.bootTimer != nil {
		in.bootTimer.Stop()
	}
	in.mu.Unlock()
	w := in.w
	if remember {
		w.rememberBoot(f)
	}
	w.cur.CompareAndSwap(in, nil)
	close(in.booted)
	for _, v := range starts {
		v.finish(f)
	}
	in.mu.Lock()
	closing := in.closingLocked()
	in.mu.Unlock()
	if closing {
		in.r.spawn(in.dispose)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// bootFailure is the failure of a start-up that threw, with its cause for the log.
func (w *Worker) bootFailure(err error) *outcome.Failure {
	f := outcome.Failf(outcome.BootFailed, "the worker did not start")
	f.Err = err
	if se, ok := err.(*op.ScriptError); ok {
		f.Err = w.mapError(se)
	}
	return f
}

// Boot starts an instance when there is none and waits until it is ready. The
// error is an *outcome.Failure, or ctx's. The start-up runs as a task, so that one
// that the engine never returns from does not take the caller along.
func (w *Worker) Boot(ctx context.Context) error {
	in, launch, f := w.open()
	if f != nil {
		return f
	}
	if launch {
		w.r.spawn(func() (threadLost bool) { return w.launch(in, nil, true) })
	}
	select {
	case <-in.booted:
	case <-ctx.Done():
		return fmt.Errorf("boot worker %q: %w", w.cfg.Name, context.Cause(ctx))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.bootFailure != nil {
		return in.bootFailure
	}
	return nil
}

// cachePause is how long after the first success of a worker its code cache is
// made, so that the requests that come right behind do not wait for it.
const cachePause = 100 * time.Millisecond

func (in *Instance) cacheLater() {
	time.AfterFunc(cachePause, func() { in.r.spawn(in.makeCodeCache) })
}

// makeCodeCache stores what the isolate has compiled, between two slices. A busy
// instance is tried again later; in place of one that is gone, the next that
// succeeds serves.
func (in *Instance) makeCodeCache() (threadLost bool) {
	w := in.w
	if !in.claim() {
		in.mu.Lock()
		gone := in.retired || in.state != ready
		in.mu.Unlock()
		if gone {
			w.cache.Store(cacheNone)
		} else {
			in.cacheLater()
		}
		return false
	}
	var n int
	var err error
	if !in.call.do(true, func() { n, err = w.program.MakeCodeCache(in.iso) }) {
		return true
	}
	if err != nil {
		in.r.log.Warn("make code cache", "worker", w.cfg.Name, "err", err)
	} else {
		in.r.log.Debug("made code cache", "worker", w.cfg.Name, "bytes", n)
	}
	in.unclaim()
	return false
}

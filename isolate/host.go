package isolate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
)

// What an instance is to the ops that run for it (op.Host) and to its isolate
// (EngineHost).

// Settle delivers the result of an Async call.
func (in *Instance) Settle(call, invocation uint32, v op.Value, err error) {
	in.mu.Lock()
	if in.state >= closed {
		in.mu.Unlock()
		return
	}
	in.pending--
	if _, cut := in.cut[invocation]; cut {
		in.pump = in.pump || in.pending == 0 // somebody else may wait for ever now
	} else {
		in.fill.settle(call, invocation, v, err)
	}
	run := in.wakeLocked()
	in.mu.Unlock()
	if err != nil && !public(err) {
		in.r.log.Error("op rejected", "worker", in.name(), "err", err)
	}
	if run {
		in.r.sched.start(in)
	}
}

// Emit calls a handler of JavaScript on behalf of an invocation.
func (in *Instance) Emit(handler string, invocation uint32, args ...op.Value) {
	h, ok := in.r.engine.Handler(handler)
	if !ok {
		in.r.log.Error("emit event", "worker", in.name(), "err", fmt.Errorf("no handler is registered as %q", handler))
		return
	}
	in.mu.Lock()
	if _, cut := in.cut[invocation]; cut || in.state >= closed {
		in.mu.Unlock()
		return
	}
	in.fill.call(h, invocation, nil, args)
	run := in.wakeLocked()
	in.mu.Unlock()
	if run {
		in.r.sched.start(in)
	}
}

// Resources holds the instance's handles.
func (in *Instance) Resources() *op.Table { return &in.table }

// Context ends when the instance is closed.
func (in *Instance) Context() context.Context { return in.ctx }

// Grant returns what the owner of the worker attached under a key.
func (in *Instance) Grant(key string) any { return in.w.cfg.Grants[key] }

// Field returns the config path that would grant what Grant has not, for
// op.NotGranted.
func (in *Instance) Field(key string) string { return in.w.cfg.Fields[key] }

// Booted says how the start-up ended.
func (in *Instance) Booted(err *op.ScriptError) {
	if err != nil {
		in.failBoot(in.w.bootFailure(err), true)
		return
	}
	in.mu.Lock()
	if in.state != booting || in.bootFailure != nil {
		in.mu.Unlock()
		return
	}
	in.state = ready
	in.bootTimer.Stop()
	close(in.booted)
	run := in.wakeLocked()
	in.mu.Unlock()
	in.w.bootOK()
	if run {
		in.r.sched.start(in)
	}
}

// recordBytes is what a console call costs beside its text: a line of the log has
// a head, and a loop of empty ones shall end, too.
const recordBytes = 64

// Log records console output, up to limits.log for each invocation.
func (in *Instance) Log(level string, invocation uint32, text string) {
	w := in.w
	if w.cfg.Console == nil {
		return
	}
	used, request := &in.logged, ""
	if v := in.lookup(invocation); v != nil {
		used, request = &v.logged, v.p.Request
	}
	rec := ConsoleRecord{Worker: w.cfg.Name, Level: level, Text: text, Request: request, Time: time.Now()}
	limit := w.limits.LogBytes
	cost := int64(len(text)) + recordBytes
	before := used.Add(cost) - cost
	switch {
	case before > limit:
		return
	case before+cost > limit:
		kept := strings.ToValidUTF8(text[:max(limit-before-recordBytes, 0)], "") // a cut rune goes
		rec.Text = fmt.Sprintf("%s... (cut: limits.log allows %s for one request)", kept, formatBytes(limit))
		used.Add(limit) // one notice is enough
	}
	w.cfg.Console(rec)
}

// SetTimer asks for the "timer" event, on behalf of an invocation, after a delay in
// milliseconds.
func (in *Instance) SetTimer(ms float64, invocation uint32) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.state >= closed {
		return
	}
	if !(ms >= 0) { // NaN clears, too
		in.timerAt = 0
		if in.timer != nil {
			in.timer.Stop()
		}
		return
	}
	d := time.Duration(min(ms, maxTimerMillis) * float64(time.Millisecond))
	in.timerAt, in.timerFor = in.r.clock()+int64(d), invocation
	if in.timer == nil {
		in.timer = time.AfterFunc(d, in.timerFired)
	} else {
		in.timer.Reset(d)
	}
}

// maxTimerMillis is the longest delay that HTML's timers can ask for.
const maxTimerMillis = 1<<31 - 1

func (in *Instance) timerFired() {
	in.mu.Lock()
	// An earlier setting may fire after it was replaced.
	if in.timerAt == 0 || in.r.clock() < in.timerAt || in.state >= closed {
		in.mu.Unlock()
		return
	}
	in.timerAt = 0
	id := in.timerFor
	_, cut := in.cut[id]
	if in.invocations[id] == nil || cut {
		id = 0 // others wait for the same wake-up
	}
	if h, ok := in.r.engine.Handler("timer"); ok {
		in.fill.call(h, id, nil, nil)
		in.fill.marks[len(in.fill.marks)-1].shared = true
	}
	run := in.wakeLocked()
	in.mu.Unlock()
	if run {
		in.r.sched.start(in)
	}
}

// pumpLater asks for an empty slice, because the isolate works on something in
// the background.
func (in *Instance) pumpLater() {
	in.pumpDelay = min(max(2*in.pumpDelay, time.Millisecond), 20*time.Millisecond)
	time.AfterFunc(in.pumpDelay, func() {
		in.mu.Lock()
		in.pump = in.state < closed
		run := in.wakeLocked()
		in.mu.Unlock()
		if run {
			in.r.sched.start(in)
		}
	})
}

// SyncOp runs a Sync op on the isolate's thread.
func (in *Instance) SyncOp(index uint16, invocation uint32, args []op.Value) (op.Value, error) {
	if int(index) >= len(in.r.ops) {
		return op.Undefined, fmt.Errorf("call op: no op has number %d", index)
	}
	o := &in.r.ops[index]
	var inv op.Invocation
	if v := in.lookup(invocation); v != nil {
		inv = invocationOp{v}
	}
	var c op.Call
	c.Reset(in, inv, invocation, args)
	if err := callOp(o, &c); err != nil {
		in.logOp(o, err)
		return op.Undefined, err
	}
	return c.Result(), nil
}

// Fatal says that the engine gave the isolate up. It returns at once: its thread
// is the engine's to park.
func (in *Instance) Fatal(location, message string) {
	in.r.spawn(func() bool {
		in.lose(fmt.Errorf("engine gave up at %s: %s", location, message), true)
		return false
	})
}

// callOp runs an op; a panic becomes an error.
func callOp(o *op.Op, c *op.Call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError(o.Name, p)
		}
	}()
	return o.Func(c)
}

// logOp logs an op's error whole when scripts see "internal error" only.
func (in *Instance) logOp(o *op.Op, err error) {
	if !public(err) {
		in.r.log.Error("op failed", "op", o.Name, "worker", in.name(), "err", err)
	}
}

// public reports whether an error is one that scripts may see.
func public(err error) bool {
	var e *op.Error
	return errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

package webapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// fakeInstance is a worker with one instance, whose JavaScript is a Go function:
// it serves as op.Invoker and op.Host.
type fakeInstance struct {
	t      *testing.T
	script func(s *fakeScript)
	inline bool // run the script on the goroutine of Invoke
	ops    map[string]op.Op
	table  op.Table
	ctx    context.Context
	grants map[string]any
	fields map[string]string

	mu      sync.Mutex // guards all below
	next    uint32
	settled map[uint32]chan settlement
	logs    []string
	booted  []*op.ScriptError
	emitted []string
	moves   int // times that Attach is called again, for an event that moves
	running sync.WaitGroup
}

type settlement struct {
	v   op.Value
	err error
}

func newFakeInstance(t *testing.T, script func(s *fakeScript)) *fakeInstance {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &fakeInstance{t: t, script: script, ops: map[string]op.Op{}, ctx: ctx, grants: map[string]any{}, settled: map[uint32]chan settlement{}}
	for _, list := range [][]op.Op{workerOps(), fetchOps(), streamsHostOps()} {
		for _, o := range list {
			w.ops[o.Name] = o
		}
	}
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		w.running.Wait()
		if n := w.table.Len(); n != 0 {
			t.Errorf("%d handles are left", n)
		}
		cancel()
		goleak.VerifyNone(t, ignore)
	})
	return w
}

func (w *fakeInstance) Settle(call, _ uint32, v op.Value, err error) {
	w.mu.Lock()
	ch := w.settled[call]
	delete(w.settled, call)
	w.mu.Unlock()
	if ch == nil {
		w.t.Errorf("call %d was settled twice", call)
		return
	}
	// What crosses is encoded before Settle returns.
	decoded, _, decodeErr := op.Decode(v.Append(nil))
	ch <- settlement{decoded, errors.Join(err, decodeErr)}
}

func (w *fakeInstance) Emit(handler string, invocation uint32, _ ...op.Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emitted = append(w.emitted, fmt.Sprint(handler, " ", invocation))
}

func (w *fakeInstance) Resources() *op.Table     { return &w.table }
func (w *fakeInstance) Context() context.Context { return w.ctx }
func (w *fakeInstance) SetTimer(float64, uint32) {}
func (w *fakeInstance) Grant(key string) any     { return w.grants[key] }

func (w *fakeInstance) Field(key string) string { return w.fields[key] }

func (w *fakeInstance) Booted(err *op.ScriptError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.booted = append(w.booted, err)
}

func (w *fakeInstance) Log(level string, _ uint32, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs = append(w.logs, level+": "+text)
}

// Invoke runs the script with the event.
func (w *fakeInstance) Invoke(ctx context.Context, p op.InvokeParams) op.Running {
	w.mu.Lock()
	w.next++
	inv := &fakeInvocation{w: w, id: w.next, p: p, ended: make(chan struct{})}
	w.mu.Unlock()
	inv.ctx, inv.end = context.WithCancelCause(ctx)
	run := func() {
		var args []op.Value
		for range 1 + w.moves {
			args = p.Attach(w, inv)
		}
		w.script(&fakeScript{w: w, inv: inv, Args: recode(args)})
	}
	if w.inline {
		run()
	} else {
		w.running.Go(run)
	}
	return inv
}

// recode sends values across the wire.
func recode(vs []op.Value) []op.Value {
	var out []op.Value
	for _, v := range vs {
		d, _, err := op.Decode(v.Append(nil))
		if err != nil {
			panic(err)
		}
		out = append(out, d)
	}
	return out
}

// fakeInvocation is both ends of an event.
type fakeInvocation struct {
	w   *fakeInstance
	id  uint32
	p   op.InvokeParams
	ctx context.Context
	end context.CancelCauseFunc

	mu        sync.Mutex // guards all below
	failure   *outcome.Failure
	responded bool
	over      bool
	canceled  error
	ended     chan struct{}
	taken     int64
	refuse    error
}

func (v *fakeInvocation) ID() uint32               { return v.id }
func (v *fakeInvocation) Context() context.Context { return v.ctx }
func (v *fakeInvocation) State() any               { return v.p.State }
func (v *fakeInvocation) Ended() <-chan struct{}   { return v.ended }

func (v *fakeInvocation) Responded() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.responded = true
}

func (v *fakeInvocation) Fail(err *op.ScriptError) {
	v.finish(&outcome.Failure{Outcome: outcome.Exception, Msg: "the worker threw an exception", Err: err})
}

func (v *fakeInvocation) Done() { v.finish(nil) }

func (v *fakeInvocation) finish(f *outcome.Failure) {
	v.mu.Lock()
	over := v.over
	v.over, v.failure = true, f
	v.mu.Unlock()
	if over {
		return
	}
	if f != nil && v.p.OnFail != nil {
		v.p.OnFail(f)
	}
	close(v.ended)
	v.end(nil)
}

func (v *fakeInvocation) Take(limit string, n int64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if limit != "subrequests" {
		return fmt.Errorf("no limit is named %q", limit)
	}
	v.taken += n
	return v.refuse
}

func (v *fakeInvocation) Failure() *outcome.Failure {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failure
}

func (v *fakeInvocation) Cancel(reason error) {
	v.mu.Lock()
	v.canceled = reason
	v.mu.Unlock()
	v.w.Emit("abort", v.id)
	v.end(reason)
}

// fakeScript is what the JavaScript of an event can do.
type fakeScript struct {
	w    *fakeInstance
	inv  *fakeInvocation
	Args []op.Value
}

// call calls an op and returns what it gave, waiting for an Async one.
func (s *fakeScript) call(name string, args ...op.Value) (op.Value, error) {
	return s.start(name, args...)()
}

// post calls a Post op.
func (s *fakeScript) post(name string, args ...op.Value) {
	if _, err := s.call(name, args...); err != nil {
		s.w.t.Errorf("%s: %v", name, err)
	}
}

// start calls an op and returns how to wait for it.
func (s *fakeScript) start(name string, args ...op.Value) func() (op.Value, error) {
	o, ok := s.w.ops[name]
	if !ok {
		panic("no op " + name)
	}
	var inv op.Invocation
	id := uint32(0)
	if s.inv != nil {
		inv, id = s.inv, s.inv.id
	}
	if o.Mode != op.Async {
		c := op.NewCall(s.w, inv, id, 0, recode(args))
		err := o.Func(c)
		return func() (op.Value, error) { return c.Result(), err }
	}
	ch := make(chan settlement, 1)
	s.w.mu.Lock()
	s.w.next++
	call := s.w.next
	s.w.settled[call] = ch
	s.w.mu.Unlock()
	c := op.NewCall(s.w, inv, id, call, recode(args))
	if err := o.Func(c); err != nil {
		c.Reject(err)
	}
	return func() (op.Value, error) {
		r := <-ch
		return r.v, r.err
	}
}

// respond answers with a text.
func (s *fakeScript) respond(status int64, text string) {
	s.post("op_fetch_respond", op.Int(status), op.String(""), op.String(""), op.Int(bodyText), op.String(text), op.Int(-1))
}

func (s *fakeScript) done() { s.post("op_invocation_done") }

// fetch makes a plain GET through the outbound service.
func (s *fakeScript) fetch(url string, manual bool) (op.Value, error) {
	return s.call("op_fetch", op.Int(0), op.Int(0), op.String("GET"), op.String(url), op.String(""), op.Bool(manual),
		op.Int(bodyNone), op.Undefined, op.Int(0))
}

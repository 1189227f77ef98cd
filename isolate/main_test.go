package isolate_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/enginefake"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a runtime over the fake engine, with what a test watches.
type bench struct {
	t       testing.TB
	engine  *enginefake.Engine
	r       *isolate.Runtime
	log     *logBuffer
	gates   *gates
	lost    chan isolate.Stats
	console []isolate.ConsoleRecord // one test's goroutines write it under mu
	mu      sync.Mutex
}

type setup struct {
	scripts map[string]enginefake.Script
	config  isolate.Config
	ops     []op.Op
	newHook func(p isolate.Params, host isolate.EngineHost) error
	upkeep  func(what string, host isolate.EngineHost)
}

// run runs a test in a bubble, where time passes only when everybody waits.
func run(t *testing.T, s setup, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, s)
		test(t, b)
		b.close()
	})
}

func newBench(t testing.TB, s setup) *bench {
	b := &bench{t: t, log: &logBuffer{}, gates: &gates{m: map[string]chan struct{}{}}, lost: make(chan isolate.Stats, 100)}
	b.engine = enginefake.New(enginefake.Config{Ops: append(s.ops, b.gates.ops()...), Scripts: s.scripts, New: s.newHook, Maintain: s.upkeep})
	cfg := s.config
	cfg.Engine = b.engine
	cfg.Log = slog.New(slog.NewTextHandler(b.log, nil))
	cfg.OnLost = func(s isolate.Stats) { b.lost <- s }
	if cfg.Cores == 0 {
		cfg.Cores = 2
	}
	if cfg.Warm == 0 {
		cfg.Warm = -1
	}
	b.r = isolate.NewRuntime(cfg)
	return b
}

// close closes runtime and engine, and checks that no isolate is left open but
// those that were lost.
func (b *bench) close() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.r.Close(ctx); err != nil {
		b.t.Errorf("Close: %v", err)
	}
	s := b.r.Stats()
	if open := b.engine.Made.Load() - b.engine.Closed.Load(); open != s.Parked+s.Stuck {
		b.t.Errorf("%d isolates are open after Close, %d parked and %d stuck", open, s.Parked, s.Stuck)
	}
	if err := b.engine.Close(); err != nil {
		b.t.Errorf("engine.Close: %v", err)
	}
}

func (b *bench) worker(script string, change ...func(*isolate.WorkerConfig)) *isolate.Worker {
	b.t.Helper()
	cfg := isolate.WorkerConfig{Name: script, Program: enginefake.Source(script),
		Console: func(r isolate.ConsoleRecord) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.console = append(b.console, r)
		}}
	for _, c := range change {
		c(&cfg)
	}
	w, err := b.r.NewWorker(cfg)
	if err != nil {
		b.t.Fatalf("NewWorker(%q): %v", script, err)
	}
	return w
}

func limits(change func(*isolate.Limits)) func(*isolate.WorkerConfig) {
	return func(c *isolate.WorkerConfig) {
		c.Limits = isolate.DefaultLimits()
		change(&c.Limits)
	}
}

// call is an invocation with what its OnFail was given.
type call struct {
	*isolate.Invocation
	failed   chan *outcome.Failure // what OnFail was called with
	at       time.Time             // when
	returned chan struct{}         // closed when Invoke has returned
}

// invoke sends a fetch event. It returns when Invoke does.
func invoke(w *isolate.Worker, change ...func(*op.InvokeParams)) *call {
	return invokeCtx(context.Background(), w, change...)
}

func invokeCtx(ctx context.Context, w *isolate.Worker, change ...func(*op.InvokeParams)) *call {
	c, p := newCall(change...)
	c.send(ctx, w, p)
	return c
}

// invokeApart sends a fetch event from a goroutine of its own.
func invokeApart(w *isolate.Worker, change ...func(*op.InvokeParams)) *call {
	c, p := newCall(change...)
	go c.send(context.Background(), w, p)
	return c
}

func (c *call) send(ctx context.Context, w *isolate.Worker, p op.InvokeParams) {
	c.Invocation = w.Invoke(ctx, p).(*isolate.Invocation)
	close(c.returned)
}

func newCall(change ...func(*op.InvokeParams)) (*call, op.InvokeParams) {
	c := &call{failed: make(chan *outcome.Failure, 1), returned: make(chan struct{})}
	p := op.InvokeParams{Handler: "fetch", Request: "req"}
	for _, f := range change {
		f(&p)
	}
	p.OnFail = func(f *outcome.Failure) {
		c.at = time.Now()
		c.failed <- f
	}
	return c, p
}

func request(name string) func(*op.InvokeParams) {
	return func(p *op.InvokeParams) { p.Request = name }
}

func args(vs ...op.Value) func(*op.InvokeParams) {
	return func(p *op.InvokeParams) { p.Args = vs }
}

// over reports whether an invocation has ended.
func over(c *call) bool {
	select {
	case <-c.Ended():
		return true
	default:
		return false
	}
}

// wantOK waits for the end of an invocation, which must be a good one.
func wantOK(t *testing.T, c *call) {
	t.Helper()
	<-c.returned
	<-c.Ended()
	if f := c.Failure(); f != nil {
		t.Errorf("failure = %v, want none", f)
	}
	if len(c.failed) > 0 {
		t.Errorf("OnFail was called with %v", <-c.failed)
	}
}

// wantFailure waits for the end of an invocation, whose failure must be of an
// outcome and mention a text.
func wantFailure(t *testing.T, c *call, o outcome.Outcome, text string) *outcome.Failure {
	t.Helper()
	<-c.returned
	<-c.Ended()
	f := c.Failure()
	if f == nil {
		t.Errorf("the invocation ended well, want %s", o)
		return &outcome.Failure{}
	}
	if f.Outcome != o || !strings.Contains(f.Msg, text) {
		t.Errorf("failure = %v, want %s with %q", f, o, text)
	}
	select {
	case told := <-c.failed:
		if told != f {
			t.Errorf("OnFail was called with %v, Failure is %v", told, f)
		}
	default:
		t.Error("Ended is closed and OnFail was not called")
	}
	return f
}

// gates are Async ops that a test settles: op_gate(name) resolves when the gate
// is open.
type gates struct {
	mu sync.Mutex
	m  map[string]chan struct{}
}

func (g *gates) gate(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.m[name] == nil {
		g.m[name] = make(chan struct{})
	}
	return g.m[name]
}

func (g *gates) open(name string) { close(g.gate(name)) }

func (g *gates) ops() []op.Op {
	return []op.Op{{Name: "op_gate", Mode: op.Async, Func: func(c *op.Call) error {
		gate, ctx := g.gate(c.Text(0)), c.Context()
		go func() {
			select {
			case <-gate:
				c.Resolve(op.String("open"))
			case <-ctx.Done():
				c.Reject(ctx.Err())
			}
		}()
		return nil
	}}, {Name: "op_never", Mode: op.Async, Func: func(*op.Call) error { return nil }},
		{Name: "op_echo", Mode: op.Async, Func: func(c *op.Call) error {
			c.Resolve(c.Arg(0))
			return nil
		}}}
}

// logBuffer collects the log.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Scripts that many tests use.

func hello(c *enginefake.Ctx, _ []op.Value) {
	c.Respond()
	c.Done()
}

func spin(c *enginefake.Ctx, _ []op.Value) { c.Spin() }

func wait(name string) enginefake.Handler {
	return func(c *enginefake.Ctx, _ []op.Value) {
		c.Async("op_gate", func(c *enginefake.Ctx, _ op.Value, err *op.Error) {
			if err != nil {
				c.Throw(err.Msg)
				return
			}
			c.Respond()
			c.Done()
		}, op.String(name))
	}
}

func never(c *enginefake.Ctx, _ []op.Value) { c.Async("op_never", nil) }

func contextIn(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

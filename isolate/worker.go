package isolate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// WorkerConfig is a tenant as it was deployed. Nothing of it changes later: a new
// configuration makes a new Worker.
type WorkerConfig struct {
	Name    string
	Program ProgramSource
	Env     []EnvEntry
	Limits  Limits
	// Grants is what op.Host.Grant returns, by key: what is absent is refused.
	Grants map[string]any
	// Fields are the config paths that would grant what is refused, by grant key,
	// such as "outbound": "services.shop.worker.globalOutbound".
	Fields map[string]string
	// Console receives console output. Called on runners: it must not block. nil
	// drops it.
	Console func(ConsoleRecord)
	// MapStack rewrites the stack of an exception by source maps, for logs. nil
	// leaves it.
	MapStack func(stack string) string
}

// EnvEntry is one entry of env: Value itself, or what the facade (an extension)
// makes of it and of the resource's handle.
type EnvEntry struct {
	Name     string
	Value    op.Value
	Facade   string
	Resource any
}

// ConsoleRecord is one call of console in a worker.
type ConsoleRecord struct {
	Worker  string
	Level   string
	Text    string
	Request string // the invocation's name in logs, empty outside of every invocation
	Time    time.Time
}

// Worker is a deployed tenant. It has at most one instance that takes new
// invocations, made when one is needed. Safe for many goroutines.
type Worker struct {
	r       *Runtime
	cfg     WorkerConfig
	limits  Limits
	program Program

	cur      atomic.Pointer[Instance]
	cpu      atomic.Int64 // of all its slices, in ns
	live     atomic.Int64 // invocations that are not over
	draining atomic.Bool
	cache    atomic.Int32 // cacheNone, cacheWanted, cacheMade
	sweepAt  atomic.Int64 // when sweep is due, 0 when it is not

	mu          sync.Mutex // before Instance.mu
	closed      bool
	instances   map[*Instance]struct{} // but those that are lost
	leaked      bool                   // a lost instance uses the program for good
	programGone bool
	unwanted    bool  // the pool knows that the worker is gone
	heldUntil   int64 // no instance is started before
	heldFailure *outcome.Failure
	bootFails   int // in a row
	fatals      int // without a pause of fatalMemory between them
	lastFatal   int64
	idle        chan struct{} // closed when live falls to 0
	sweepTimer  *time.Timer
}

var _ op.Invoker = (*Worker)(nil)

const (
	cacheNone int32 = iota
	cacheWanted
	cacheMade
)

const (
	// maxRetired bounds the retired instances of a worker that still have
	// invocations, so that one tenant cannot fill the process with them.
	maxRetired = 16
	// A worker that did not start waits this long, doubled each time.
	bootDelayMin, bootDelayMax = time.Second, 30 * time.Second
	// The same after a fatal error, which costs the process memory for good.
	fatalDelayMin, fatalDelayMax = 100 * time.Millisecond, 10 * time.Second
	// fatalMemory is how long a fatal error counts.
	fatalMemory = 10 * time.Minute
)

// NewWorker prepares a worker. It starts no instance: Boot does, or the first
// invocation.
func (r *Runtime) NewWorker(cfg WorkerConfig) (*Worker, error) {
	if err := cfg.checkWasm(); err != nil {
		return nil, fmt.Errorf("prepare worker %q: %w", cfg.Name, err)
	}
	program, err := r.engine.NewProgram(cfg.Program)
	if err != nil {
		return nil, fmt.Errorf("prepare worker %q: %w", cfg.Name, err)
	}
	w := &Worker{r: r, cfg: cfg, limits: cfg.Limits.withDefaults(), program: program,
		instances: map[*Instance]struct{}{}}
	if !r.addWorker(w) {
		return nil, errors.Join(fmt.Errorf("make worker %q: the runtime is closed", cfg.Name), program.Close())
	}
	r.pool.want(w.limits.params())
	return w, nil
}

// Name returns the worker's name.
func (w *Worker) Name() string { return w.cfg.Name }

// Invoke implements op.Invoker.
func (w *Worker) Invoke(ctx context.Context, p op.InvokeParams) op.Running {
	now := w.r.clock()
	v := &Invocation{w: w, p: p, id: w.r.nextInvocation(), began: now, wallAt: now + int64(w.limits.Wall)}
	w.live.Add(1)
	h, ok := w.r.engine.Handler(p.Handler)
	switch {
	case ctx.Err() != nil:
		v.Cancel(context.Cause(ctx))
		return v
	case !ok:
		f := outcome.Failf(outcome.Exception, "internal error")
		f.Err = fmt.Errorf("invoke worker %q: no handler is registered as %q", w.cfg.Name, p.Handler)
		v.finish(f)
		return v
	}
	v.handler = h
	w.submit(v, v, false)
	v.watch(ctx)
	return v
}

// submit gives an invocation to an instance, and runs it when nobody else does:
// on the caller's goroutine or, for a task of the runtime, on one of its own.
func (w *Worker) submit(v, own *Invocation, task bool) (threadLost bool) {
	for {
		in, launch, f := w.open()
		if f != nil {
			v.finish(f)
			return false
		}
		res := in.enqueue(v)
		if res == enqueued || res == mustRun {
			at, _ := v.deadline()
			w.arm(at)
		}
		if launch && w.launch(in, own, task) {
			return true // and v waits in an instance that is lost, too
		}
		switch res {
		case enqueued, wasOver:
			return false
		case mustRun:
			if task {
				w.r.sched.start(in)
				return false
			}
			return w.r.sched.runHere(in, own)
		case full:
			v.finish(w.limits.queueFailure())
			return false
		case forbidden:
			v.finish(in.whyNoBoot())
			return false
		case gone:
			w.cur.CompareAndSwap(in, nil)
		}
	}
}

// place finds another instance for invocations whose own was retired before any
// of their JavaScript ran.
func (w *Worker) place(vs []*Invocation) {
	if len(vs) == 0 {
		return
	}
	w.r.spawn(func() (threadLost bool) {
		for i, v := range vs {
			if v.gaveUp() {
				v.finish(nil)
			} else if w.submit(v, nil, true) {
				w.place(vs[i+1:])
				return true
			}
		}
		return false
	})
}

// ended counts an invocation that is over.
func (w *Worker) ended(f *outcome.Failure) {
	w.r.countOutcome(f)
	if f == nil && w.cache.Load() == cacheNone {
		w.cache.CompareAndSwap(cacheNone, cacheWanted)
	}
	if w.live.Add(-1) == 0 && w.draining.Load() {
		w.mu.Lock()
		if w.idle != nil {
			close(w.idle)
			w.idle = nil
		}
		w.mu.Unlock()
	}
}

// Drain waits until the worker has no invocation. When ctx ends first, those that
// are left end with load_shed and the error is ctx's. A draining worker still
// takes invocations: the ones that run may call it, or its siblings that drain at
// the same time. Whoever replaces a worker routes to the new one first.
func (w *Worker) Drain(ctx context.Context) error {
	w.draining.Store(true)
	for {
		w.mu.Lock()
		if w.live.Load() == 0 {
			w.mu.Unlock()
			return nil
		}
		if w.idle == nil {
			w.idle = make(chan struct{})
		}
		idle := w.idle
		w.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			w.endAll(shedFailure("the worker was replaced and the request did not end in time"))
			return fmt.Errorf("drain worker %q: %w", w.cfg.Name, context.Cause(ctx))
		}
	}
}

// Close ends what the worker does and gives its instances up. Invocations that
// come later end with load_shed. It does not wait: Runtime.Close does. Closing
// twice is harmless.
func (w *Worker) Close() {
	w.mu.Lock()
	w.closed = true
	if w.sweepTimer != nil {
		w.sweepTimer.Stop()
	}
	w.mu.Unlock()
	w.endAll(shedFailure("the worker was replaced or removed"))
	w.r.pool.unwant(w)
	w.closeProgram()
}

// endAll ends the instances with all that they do.
func (w *Worker) endAll(f *outcome.Failure) {
	w.mu.Lock()
	ins := make([]*Instance, 0, len(w.instances))
	for in := range w.instances {
		ins = append(ins, in)
	}
	w.mu.Unlock()
	for _, in := range ins {
		in.end(f)
	}
}

// remove forgets an instance that was closed.
func (w *Worker) remove(in *Instance) {
	w.mu.Lock()
	delete(w.instances, in)
	w.mu.Unlock()
	w.closeProgram()
}

// leak forgets an instance that uses the program for good.
func (w *Worker) leak(in *Instance) {
	w.mu.Lock()
	delete(w.instances, in)
	w.leaked = true
	w.mu.Unlock()
}

// closeProgram releases the program once nothing can use it any more.
func (w *Worker) closeProgram() {
	w.mu.Lock()
	last := w.closed && len(w.instances) == 0 && !w.leaked && !w.programGone
	w.programGone = w.programGone || last
	w.mu.Unlock()
	if !last {
		return
	}
	if err := w.program.Close(); err != nil {
		w.r.log.Error("close program", "worker", w.cfg.Name, "err", err)
	}
	w.r.removeWorker(w)
}

// boundRetired ends the oldest retired instance when there are too many.
func (w *Worker) boundRetired() {
	w.mu.Lock()
	n := 0
	var oldest *Instance
	for in := range w.instances {
		in.mu.Lock()
		if in.retired && in.state < closed {
			n++
			if oldest == nil || in.serial < oldest.serial {
				oldest = in
			}
		}
		in.mu.Unlock()
	}
	w.mu.Unlock()
	if n > maxRetired {
		oldest.end(jobsLostFailure())
	}
}

// heldLocked returns the failure of a worker that may not start yet.
func (w *Worker) heldLocked(now int64) *outcome.Failure {
	if now >= w.heldUntil || w.heldFailure == nil {
		return nil
	}
	f := *w.heldFailure
	f.RetryAfter = time.Duration(w.heldUntil - now)
	return &f
}

// rememberBoot holds the worker back after a start-up that failed.
func (w *Worker) rememberBoot(f *outcome.Failure) {
	w.mu.Lock()
	w.bootFails++
	delay := backoff(bootDelayMin, bootDelayMax, w.bootFails)
	w.heldUntil, w.heldFailure = w.r.clock()+int64(delay), f
	w.mu.Unlock()
	w.r.log.Error("worker did not start", "worker", w.cfg.Name, "outcome", f.Outcome, "reason", f.Msg,
		"err", f.Err, "retry", delay)
}

// bootOK forgets earlier failures to start.
func (w *Worker) bootOK() {
	w.mu.Lock()
	w.bootFails = 0
	w.mu.Unlock()
}

// holdBack holds the worker back after a fatal error. Success does not shorten
// the next delay: a tenant that alternates costs the process as much.
func (w *Worker) holdBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.r.clock()
	if now-w.lastFatal > int64(fatalMemory) {
		w.fatals = 0
	}
	w.fatals++
	w.lastFatal = now
	w.heldUntil = now + int64(backoff(fatalDelayMin, fatalDelayMax, w.fatals))
	w.heldFailure = fatalFailure(nil)
}

// backoff returns the n-th delay: lowest, doubled each time, at most highest.
func backoff(lowest, highest time.Duration, n int) time.Duration {
	return min(lowest<<min(n-1, 16), highest)
}

// mapError returns an exception with its stack mapped to the original source.
func (w *Worker) mapError(e *op.ScriptError) error {
	if e == nil {
		return nil
	}
	if w.cfg.MapStack == nil || e.Stack == "" {
		return e
	}
	m := *e
	m.Stack = w.cfg.MapStack(e.Stack)
	return &m
}

// arm makes sure that sweep runs at a time or before. One timer serves all
// invocations of a worker; most find it set and pay one atomic load.
func (w *Worker) arm(at int64) {
	if a := w.sweepAt.Load(); a != 0 && a <= at {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.sweepAt.Load(); a != 0 && a <= at || w.closed {
		return
	}
	w.sweepAt.Store(at)
	d := time.Duration(at - w.r.clock())
	if w.sweepTimer == nil {
		w.sweepTimer = time.AfterFunc(d, w.sweep)
	} else {
		w.sweepTimer.Reset(d)
	}
}

// sweep ends the invocations whose wall time is up.
func (w *Worker) sweep() {
	w.sweepAt.Store(0)
	now := w.r.clock()
	w.mu.Lock()
	var all []*Invocation
	for in := range w.instances {
		in.mu.Lock()
		for _, v := range in.invocations {
			all = append(all, v)
		}
		all = append(all, in.starts[in.firstStart:]...)
		in.mu.Unlock()
	}
	w.mu.Unlock()
	next := int64(0)
	for _, v := range all {
		at, firstByte := v.deadline()
		if at <= now && firstByte {
			v.timeOut(w.limits.firstByteFailure())
		} else if at <= now {
			v.timeOut(w.limits.wallFailure())
		} else if next == 0 || at < next {
			next = at
		}
	}
	if next != 0 {
		w.arm(next)
	}
}

// timeOut ends an invocation whose wall time is up: when its event runs, by
// terminating it, else by ending it alone and telling JavaScript to abort.
func (v *Invocation) timeOut(f *outcome.Failure) {
	v.mu.Lock()
	in := v.in
	if v.phase != started {
		in = nil
	}
	v.mu.Unlock()
	if in == nil {
		v.finish(f) // JavaScript does not know it
		return
	}
	if sl := in.slot.Load(); sl != nil && sl.kill(in, v.id, &verdict{failure: f, invocation: v}) {
		return
	}
	if v.finish(f) {
		in.Emit("abort", v.id)
	}
}

func (in *Instance) whyNoBoot() *outcome.Failure {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.bootFailure
}

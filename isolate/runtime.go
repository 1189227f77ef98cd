package isolate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// Config is what a Runtime is made of. Zero fields take their defaults.
type Config struct {
	Engine Engine // owned by the caller, who closes it after the Runtime
	// MaxIsolates bounds the isolates of the process, warm and closing ones
	// included. Default 1,000.
	MaxIsolates int
	// Warm is how many isolates of each class of limits wait ready. Negative:
	// none. Default 4.
	Warm int
	// Cores bounds the slices that run at once, long ones aside. Default
	// GOMAXPROCS.
	Cores int
	// ExtraRunners bounds the threads beyond Cores that run long slices. Default
	// 256.
	ExtraRunners int
	// IdleAfter is when an instance without work is closed. Default 5 minutes.
	IdleAfter time.Duration
	// CageBytes is the address space that the heaps of all isolates share.
	// Default 4 GiB, which is V8's.
	CageBytes int64
	// MaxMappings is the kernel's limit of memory mappings. Default 65,530.
	MaxMappings int64
	// Log receives what operators should see. Default: nothing.
	Log *slog.Logger
	// OnLost is called, from a goroutine of its own, when an isolate was given up
	// for good: the process should soon be replaced. May be nil.
	OnLost func(Stats)
}

// Runtime runs the workers of a process: scheduler, watchdog, warm pool, ledger.
// Safe for many goroutines.
type Runtime struct {
	cfg       Config
	engine    Engine
	log       *slog.Logger
	ops       []op.Op
	epoch     time.Time
	sched     *scheduler
	watchdog  *watchdog
	pool      *pool
	ledger    *ledger
	tasks     taskGroup
	instances atomic.Uint64 // made so far
	gone      atomic.Int64  // isolates that were closed since the last trim
	trimmedAt atomic.Int64  // on the runtime's clock
	lastID    atomic.Uint32 // of an invocation

	ok       atomic.Int64
	parked   atomic.Int64
	stuck    atomic.Int64
	mu       sync.Mutex // a leaf
	closed   bool
	emptied  chan struct{}          // closed when closed and only lost isolates are left
	isolates map[*Instance]struct{} // open, warm, being made or closed, parked
	workers  map[*Worker]struct{}
	failures map[outcome.Outcome]int64
	janitor  *time.Timer // nil while there is no instance to look after
}

// NewRuntime starts a runtime.
func NewRuntime(cfg Config) *Runtime {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&cfg.MaxIsolates, 1000)
	def(&cfg.Warm, 4)
	def(&cfg.Cores, runtime.GOMAXPROCS(0))
	def(&cfg.ExtraRunners, 256)
	if cfg.IdleAfter == 0 {
		cfg.IdleAfter = 5 * time.Minute
	}
	if cfg.CageBytes == 0 {
		cfg.CageBytes = 4 << 30
	}
	if cfg.MaxMappings == 0 {
		cfg.MaxMappings = 65530
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runtime{cfg: cfg, engine: cfg.Engine, log: cfg.Log, ops: cfg.Engine.Ops(), epoch: time.Now(),
		emptied: make(chan struct{}), isolates: map[*Instance]struct{}{}, workers: map[*Worker]struct{}{}, failures: map[outcome.Outcome]int64{}}
	r.sched = newScheduler(r, cfg.Cores, cfg.ExtraRunners)
	r.watchdog = newWatchdog(r)
	r.pool = newPool(r, max(cfg.Warm, 0))
	r.ledger = &ledger{r: r, maxCage: cfg.CageBytes, maxMappings: cfg.MaxMappings}
	return r
}

// clock returns monotonic nanoseconds since the runtime was made.
func (r *Runtime) clock() int64 { return int64(time.Since(r.epoch)) }

// nextInvocation returns a number for an invocation, never 0.
func (r *Runtime) nextInvocation() uint32 {
	for {
		if id := r.lastID.Add(1); id != 0 {
			return id
		}
	}
}

// Close ends all workers and waits until their isolates are closed or ctx ends.
// What never comes back (a parked thread) is not waited for.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	ws := make([]*Worker, 0, len(r.workers))
	for w := range r.workers {
		ws = append(ws, w)
	}
	if r.janitor != nil {
		r.janitor.Stop()
	}
	r.mu.Unlock()
	for _, w := range ws {
		w.Close()
	}
	r.pool.close()
	r.checkEmpty()
	// An isolate may still be in the hands of a caller's goroutine, which is no
	// task.
	err := wait(ctx, r.emptied)
	if err == nil {
		err = r.tasks.wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("close isolate runtime: %w", err)
	}
	r.watchdog.timer.Stop()
	return nil
}

// Drain drains all workers at once, see Worker.Drain.
func (r *Runtime) Drain(ctx context.Context) error {
	r.mu.Lock()
	var wg sync.WaitGroup
	errs := make([]error, len(r.workers))
	i := 0
	for w := range r.workers {
		n := i
		wg.Go(func() { errs[n] = w.Drain(ctx) })
		i++
	}
	r.mu.Unlock()
	wg.Wait()
	return errors.Join(errs...)
}

func (r *Runtime) addWorker(w *Worker) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.workers[w] = struct{}{}
		if r.janitor == nil {
			r.janitor = time.AfterFunc(tidyEvery, r.tidy)
		}
	}
	return !r.closed
}

func (r *Runtime) removeWorker(w *Worker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.workers, w)
	if len(r.workers) == 0 && r.janitor != nil {
		r.janitor.Stop()
		r.janitor = nil
	}
}

const (
	// tidyEvery is how often idle instances are looked after.
	tidyEvery = time.Second
	// tidyTrims bounds the collections of one round: each takes about 4 ms.
	tidyTrims = 25
	// trimPause is what an instance that wakes up now and then is spared.
	trimPause = 30 * time.Second
	// engineTrimPause is the least time between two trims of the whole engine.
	engineTrimPause = 5 * time.Second
)

// trim lets the engine give back what isolates left that were closed: a worker
// that was killed may have made it allocate a lot outside of its heap.
func (r *Runtime) trim() {
	t, ok := r.engine.(Trimmer)
	now := r.clock()
	if !ok || r.gone.Load() == 0 || now-r.trimmedAt.Load() < int64(engineTrimPause) {
		return
	}
	r.gone.Store(0)
	r.trimmedAt.Store(now)
	t.Trim()
}

// tidy gives memory of idle instances back and closes those that were idle for
// long.
func (r *Runtime) tidy() {
	r.spawn(func() (threadLost bool) {
		defer r.trim()
		now := r.clock()
		trims := 0
		for _, in := range r.open() {
			used, trimmed := in.lastUsed.Load(), in.trimmed.Load()
			idle := time.Duration(now - used)
			trim := used >= trimmed && (trimmed == 0 || now-trimmed >= int64(trimPause))
			switch {
			case idle >= r.cfg.IdleAfter && in.claimIdle():
				if in.disposeIn(true) {
					return true
				}
			case idle >= tidyEvery && trim && trims < tidyTrims && in.claim():
				trims++
				in.trimmed.Store(now)
				if !in.call.do(true, in.iso.Idle) {
					return true
				}
				m := in.iso.Memory()
				r.ledger.update(in, &m)
				in.unclaim()
			}
		}
		return false
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.janitor != nil {
		r.janitor.Reset(tidyEvery)
	}
}

// Stats is a snapshot of a runtime.
type Stats struct {
	Workers  int
	Isolates int // open, warm ones included
	Warm     int
	Running  int // runners that hold a core or were in a long slice
	Waiting  int // instances that wait for a core
	// Parked threads and isolates are lost until the process is replaced. Stuck
	// slices were given up and may still return.
	Parked, Stuck int64
	CageBytes     int64 // estimate
	Mappings      int64 // estimate
	// Outcomes counts the invocations that are over.
	Outcomes map[outcome.Outcome]int64
}

// Stats returns a snapshot.
func (r *Runtime) Stats() Stats {
	warm := r.pool.size()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Stats{Workers: len(r.workers), Isolates: len(r.isolates), Warm: warm,
		Running: r.cfg.Cores - int(r.sched.free.Load()) + int(r.sched.lent.Load()), Waiting: int(r.sched.queued.Load()),
		Parked: r.parked.Load(), Stuck: r.stuck.Load(), CageBytes: r.ledger.cage.Load(),
		Mappings: r.ledger.mappings(len(r.isolates)), Outcomes: maps.Clone(r.failures)}
	s.Outcomes[outcome.OK] = r.ok.Load()
	return s
}

func (r *Runtime) countOutcome(f *outcome.Failure) {
	if f == nil {
		r.ok.Add(1)
		return
	}
	r.mu.Lock()
	r.failures[f.Outcome]++
	r.mu.Unlock()
}

// checkEmpty lets Close go on when it has nothing to wait for.
func (r *Runtime) checkEmpty() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed && int64(len(r.isolates)) <= r.parked.Load()+r.stuck.Load() && !isClosed(r.emptied) {
		close(r.emptied)
	}
}

func wait(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// countLost counts an isolate that was given up.
func (r *Runtime) countLost(parked bool) {
	if parked {
		r.parked.Add(1)
	} else {
		r.stuck.Add(1)
	}
	r.checkEmpty()
	if r.cfg.OnLost != nil {
		r.spawn(func() bool {
			r.cfg.OnLost(r.Stats())
			return false
		})
	}
}

func (r *Runtime) countReturned() { r.stuck.Add(-1) }

// spawn runs f on a goroutine that Close waits for. f reports whether the
// goroutine was lost in the engine and given up meanwhile, in which case it has
// been counted out already.
func (r *Runtime) spawn(f func() (threadLost bool)) {
	r.tasks.add()
	go func() {
		if !f() {
			r.tasks.done()
		}
	}()
}

// taskGroup counts goroutines. Unlike a sync.WaitGroup it may be added to while
// somebody waits.
type taskGroup struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n falls to 0; nil while nobody waits
}

func (g *taskGroup) add() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
}

func (g *taskGroup) done() {
	g.mu.Lock()
	if g.n--; g.n == 0 && g.zero != nil {
		close(g.zero)
		g.zero = nil
	}
	g.mu.Unlock()
}

func (g *taskGroup) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.n == 0 {
			g.mu.Unlock()
			return nil
		}
		if g.zero == nil {
			g.zero = make(chan struct{})
		}
		zero := g.zero
		g.mu.Unlock()
		if err := wait(ctx, zero); err != nil {
			return err
		}
	}
}

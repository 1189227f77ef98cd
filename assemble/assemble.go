// Package assemble turns a configuration into what serves it: it bundles the
// workers, opens the bindings, wires services to each other, binds sockets, and
// swaps one generation of all that for the next while requests run. It is the
// only room that knows all others and holds the policy of none.
//
// # Generations
//
// Load builds a generation apart from the one that serves. Whatever did not
// change is handed over: workers (compared by configuration, code and bindings),
// bindings, outbound services with their connections, listeners. The rest is
// made anew, and unmade, newest first, when a later step fails. One pointer is
// then swapped. What only the old generation used drains in the background and
// is closed.
//
// A worker calls services through a resolver, which names the generation: that
// in which the worker was made, or the newest one it was handed over to. So a
// request that came in before a swap ends with the services it began with.
package assemble

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/webapi"
	edgenet "github.com/edge-runtime/edge/net"
	"github.com/edge-runtime/edge/vfs"
)

// Options are what an App is made of.
type Options struct {
	// Kinds are the binding kinds of this build.
	Kinds bindings.Set
	// NewEngine starts the engine, once, when the first configuration was read.
	NewEngine func(EngineOptions) (isolate.Engine, error)
	// BuildCommand makes a process that calls vfs.Serve; nil bundles in this one.
	BuildCommand func() *exec.Cmd
	// Dev builds workers for development.
	Dev bool
	// Log takes what operators should see. Default: nothing.
	Log *slog.Logger
	// Access takes one record per request, Console one per call of console. Both
	// may be nil and must not block.
	Access  func(*edgenet.AccessRecord)
	Console func(isolate.ConsoleRecord)
	// ErrorPage may replace the body of a failure, see edgenet.ServerConfig.
	ErrorPage func(*edgenet.RequestInfo, error) (contentType string, body []byte)
	// LookupEnv reads the environment; nil: that of the process.
	LookupEnv func(name string) (string, bool)
	// Addresses take the place of what the configuration says, by the name of the
	// socket; "admin" is the admin listener.
	Addresses map[string]string
}

// EngineOptions are what the configuration says about the engine.
type EngineOptions struct {
	Extensions []op.Extension
	WasmTraps  bool
}

// App serves one configuration at a time. Safe for many goroutines.
type App struct {
	opts    Options
	log     *slog.Logger
	builder *vfs.Builder

	cur   atomic.Pointer[generation]
	ready atomic.Bool

	reloadMu sync.Mutex // held for a whole Load or Stop; guards the fields below
	engine   isolate.Engine
	runtime  *isolate.Runtime
	server   config.Server // with which the engine and the runtime were started
	sockets  map[string]*socket
	admin    *admin
	stopped  bool

	watchMu sync.Mutex
	watched Watched

	drains sync.WaitGroup // generations that drain
	// loading ends when a Load has to give up, draining when what drains has to.
	loading, draining       context.Context
	stopLoading, stopDrains context.CancelFunc
}

// New returns an App that serves nothing yet. Stop it in the end.
func New(opts Options) *App {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	a := &App{opts: opts, log: opts.Log, sockets: map[string]*socket{}, builder: newBuilder(opts.BuildCommand)}
	a.loading, a.stopLoading = context.WithCancel(context.Background())
	a.draining, a.stopDrains = context.WithCancel(context.Background())
	return a
}

func newBuilder(command func() *exec.Cmd) *vfs.Builder {
	return vfs.NewBuilder(vfs.BuilderOptions{Command: command})
}

// Report says what a Load did.
type Report struct {
	Generation       int
	Services         int
	Started, Kept    int // workers
	Unchanged        bool
	Took             time.Duration
	Addresses        []Address
	Admin            string // the admin listener's address, empty without one
	AdminSubstituted bool   // the default address was taken
	Warnings         []string
}

// Address is where a socket listens.
type Address struct {
	Socket, Address string
	New             bool // it did not listen before the Load
}

// Load reads a configuration and serves it in place of the one before. When that
// fails, the error is a *config.Error, an *Error, or about the machine, and what
// served before serves on.
func (a *App) Load(ctx context.Context, path string) (*Report, error) {
	a.reloadMu.Lock()
	defer a.reloadMu.Unlock()
	if a.stopped {
		return nil, errors.New("load configuration: the server is stopping")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.loading, cancel)()
	began := time.Now()
	cfg, err := config.Load(path, config.Options{Kinds: a.opts.Kinds, LookupEnv: a.opts.LookupEnv})
	if err != nil {
		a.watchAfter(err, nil)
		return nil, err
	}
	if err := a.readdress(cfg); err != nil {
		a.watchAfter(err, &built{gen: &generation{cfg: cfg}})
		return nil, err
	}
	if err := a.startRuntime(cfg.Server); err != nil {
		return nil, err
	}
	var undo undoList
	next, err := a.build(ctx, cfg, &undo)
	if err != nil {
		a.watchAfter(err, next)
		return nil, errors.Join(err, undo.run())
	}
	report := a.commit(next)
	report.Took = time.Since(began)
	if cfg.Server != a.server {
		if was := withoutDrain(a.server); withoutDrain(cfg.Server) != was {
			report.Warnings = append(report.Warnings, "server.maxIsolates, server.warmIsolates and server.wasmTrapHandler take effect at the next start of the process")
		}
	}
	for _, w := range next.warned {
		report.Warnings = append(report.Warnings, w.String())
	}
	a.watchAfter(nil, next)
	a.builder.Sweep()
	return report, nil
}

// readdress applies Options.Addresses.
func (a *App) readdress(cfg *config.Config) error {
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(a.opts.Addresses)) {
		address := a.opts.Addresses[name]
		switch s := cfg.Sockets[name]; {
		case s != nil:
			s.Address = address
		case name == "admin" && address == "off":
			cfg.Admin = config.Admin{}
		case name == "admin":
			cfg.Admin = config.Admin{Address: address}
		default:
			problems = append(problems, Problem{Text: fmt.Sprintf("the command line gives an address to the socket %q, which the configuration does not have (it has %s)",
				name, strings.Join(slices.Sorted(maps.Keys(cfg.Sockets)), ", "))})
		}
	}
	return asError(problems)
}

// withoutDrain leaves out what takes effect at once.
func withoutDrain(s config.Server) config.Server {
	s.DrainTimeout = 0
	return s
}

// startRuntime starts the engine and the runtime of isolates, once.
func (a *App) startRuntime(s config.Server) error {
	if a.runtime != nil {
		return nil
	}
	exts, err := webapi.Extensions()
	if err != nil {
		return err
	}
	for _, name := range a.opts.Kinds.Names() {
		k, err := a.opts.Kinds.Get(name)
		if err != nil {
			return err
		}
		exts = append(exts, k.Extensions...)
	}
	if a.engine, err = a.opts.NewEngine(EngineOptions{Extensions: exts, WasmTraps: s.WasmTrapHandler}); err != nil {
		return fmt.Errorf("start engine: %w", err)
	}
	warm := s.WarmIsolates
	if warm == 0 {
		warm = -1 // in isolate.Config zero is the default
	}
	a.runtime = isolate.NewRuntime(isolate.Config{
		Engine: a.engine, MaxIsolates: s.MaxIsolates, Warm: warm, Log: a.log, OnLost: a.lost,
	})
	a.server = s
	return nil
}

// lost reports that the engine gave an isolate up for good.
func (a *App) lost(s isolate.Stats) {
	a.log.Error("an isolate was lost: its memory comes back when the process is restarted", "parked", s.Parked, "stuck", s.Stuck)
}

// Ready reports whether a configuration is served.
func (a *App) Ready() bool { return a.ready.Load() }

// Stats returns what the runtime counts; the zero Stats before the first Load.
func (a *App) Stats() isolate.Stats {
	a.reloadMu.Lock()
	defer a.reloadMu.Unlock()
	if a.runtime == nil {
		return isolate.Stats{}
	}
	return a.runtime.Stats()
}

// DrainTimeout is what the configuration gives requests to finish.
func (a *App) DrainTimeout() time.Duration {
	if g := a.cur.Load(); g != nil {
		return g.cfg.Server.DrainTimeout
	}
	return 0
}

// Stop stops accepting, lets requests finish until ctx ends, and closes
// everything. It never waits much longer than ctx, whatever a tenant does. The
// error says what was cut short.
func (a *App) Stop(ctx context.Context) error {
	a.ready.Store(false)
	a.stopLoading()
	defer context.AfterFunc(ctx, a.stopDrains)()
	a.reloadMu.Lock()
	defer a.reloadMu.Unlock()
	if a.stopped {
		return nil
	}
	a.stopped = true
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for _, s := range a.sockets {
		wg.Go(func() {
			if err := s.drain(ctx); err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if a.runtime != nil {
		errs = append(errs, a.runtime.Drain(ctx))
	}
	if err := waitFor(ctx, &a.drains); err != nil {
		errs = append(errs, fmt.Errorf("drain replaced workers: %w", err))
	}
	if a.admin != nil {
		a.admin.close()
	}
	if g := a.cur.Load(); g != nil {
		g.release()
	}
	if a.runtime != nil {
		// Isolates that obey are closed in no time.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := a.runtime.Close(closing); err != nil {
			errs = append(errs, err)
		} else if lost := a.runtime.Stats(); lost.Parked+lost.Stuck == 0 { // else the engine is still in use
			errs = append(errs, a.engine.Close())
		}
	}
	a.builder.Close()
	return errors.Join(errs...)
}

// waitFor waits for a WaitGroup or the end of ctx.
func waitFor(ctx context.Context, wg *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// undoList takes back what was done, newest first.
type undoList struct{ steps []func() error }

func (u *undoList) add(f func() error) { u.steps = append(u.steps, f) }

func (u *undoList) run() error {
	var errs []error
	for _, f := range slices.Backward(u.steps) {
		errs = append(errs, f())
	}
	u.steps = nil
	return errors.Join(errs...)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/edge-runtime/edge/assemble"
	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/v8"
	"github.com/edge-runtime/edge/isolate/webapi"
)

type serveCommand struct {
	Config string `arg:"" help:"The configuration, a CUE file." env:"EDGE_CONFIG" placeholder:"config.cue"`
	Watch  bool   `help:"Reload when the configuration or a file of a worker changes." env:"EDGE_WATCH"`
	addressFlags
	logFlags
	DrainTimeout time.Duration `help:"What requests get to finish when the server stops. Default: server.drainTimeout of the configuration." env:"EDGE_DRAIN_TIMEOUT"`
}

// addressFlags are the flags that put other addresses in the place of those of
// the configuration.
type addressFlags struct {
	SocketAddr map[string]string `help:"Listen elsewhere than the configuration says: the name of a socket and an address. Port 0 takes a free one." placeholder:"http=127.0.0.1:8081" mapsep:"none" env:"EDGE_SOCKET_ADDR"`
	AdminAddr  string            `help:"The same for the admin listener; off for none." placeholder:"127.0.0.1:9091" env:"EDGE_ADMIN_ADDR"`
}

func (f addressFlags) all() map[string]string {
	all := map[string]string{}
	maps.Copy(all, f.SocketAddr)
	if f.AdminAddr != "" {
		all["admin"] = f.AdminAddr
	}
	return all
}

// Run serves until a signal ends it.
func (c *serveCommand) Run(p *program) error {
	return p.serve(serving{config: c.Config, watch: c.Watch, drain: c.DrainTimeout, logs: c.logFlags, addresses: c.all()})
}

type devCommand struct {
	Config string `arg:"" help:"The configuration, a CUE file." env:"EDGE_CONFIG" placeholder:"config.cue"`
	addressFlags
	logFlags
	DrainTimeout time.Duration `help:"What requests get to finish when the server stops." default:"1s" env:"EDGE_DRAIN_TIMEOUT"`
}

// Run serves until a signal ends it, for people who write workers.
func (c *devCommand) Run(p *program) error {
	return p.serve(serving{config: c.Config, watch: true, dev: true, drain: c.DrainTimeout, logs: c.logFlags, addresses: c.all()})
}

// serving says how to serve.
type serving struct {
	config     string
	watch, dev bool
	drain      time.Duration // 0: what the configuration says
	logs       logFlags
	addresses  map[string]string // see assemble.Options
}

// server is a run of serve or dev.
type server struct {
	serving
	p       *program
	out     *output
	log     *slog.Logger
	app     *assemble.App
	watcher *assemble.Watcher
	// loads counts those that worked; broken says that the last one did not.
	loads  int
	broken bool
}

func (p *program) serve(how serving) error {
	out, err := newOutput(p.stderr, how.logs, how.dev)
	if err != nil {
		return err
	}
	defer out.close()
	s := &server{serving: how, p: p, out: out, log: out.log}
	opts := assemble.Options{
		Kinds: p.kinds, NewEngine: newEngine, BuildCommand: buildProcess, Dev: how.dev, Log: out.log,
		Access: out.request, Console: out.console, Addresses: how.addresses,
	}
	if how.dev {
		opts.ErrorPage = s.errorPage
	}
	s.app = assemble.New(opts)
	out.explain = s.app.Explain
	if how.watch {
		if s.watcher, err = assemble.NewWatcher(out.log); err != nil {
			return err
		}
		defer s.watcher.Close()
	}
	return s.run()
}

// engine is V8, whose malloc is the process's.
type engine struct{ *v8.Engine }

var _ isolate.Trimmer = engine{}

// Trim implements isolate.Trimmer.
func (engine) Trim() { v8.Trim() }

// newEngine starts V8.
func newEngine(o assemble.EngineOptions) (isolate.Engine, error) {
	e, err := v8.New(v8.Options{Extensions: o.Extensions, WasmTraps: o.WasmTraps, DomainToASCII: webapi.DomainToASCII})
	if err != nil {
		return nil, err
	}
	return engine{e}, nil
}

// run loads, then waits for signals and changes.
func (s *server) run() error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	loaded := make(chan error, 1)
	var began time.Time
	load := func() {
		began = time.Now()
		go func() { loaded <- s.load(ctx) }()
	}
	load()
	busy, again := true, false
	changes := make(chan string)
	for {
		select {
		case err := <-loaded:
			busy = false
			if err != nil && s.loads == 0 && !s.dev {
				_ = s.app.Stop(ctx) // nothing is served yet
				return errReported
			}
			if again {
				busy, again = true, false
				load()
			} else if s.watcher != nil {
				s.watcher.Set(s.app.Watched(), began)
				go s.waitForChange(ctx, changes)
			}
		case file := <-changes:
			s.log.Debug("changed", "file", file)
			busy = true
			load()
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				if again = busy; !busy {
					busy = true
					load()
				}
				continue
			}
			return s.stop(sig, signals)
		}
	}
}

// waitForChange reports the next change of what is watched.
func (s *server) waitForChange(ctx context.Context, changes chan<- string) {
	if file, ok := s.watcher.Wait(ctx); ok {
		select {
		case changes <- file:
		case <-ctx.Done():
		}
	}
}

// load reads the configuration and reports what came of it.
func (s *server) load(ctx context.Context) error {
	report, err := s.app.Load(ctx, s.config)
	if err != nil {
		s.broken = true
		s.out.loadFailed(err, s.loads > 0, s.dev)
		return err
	}
	s.loads++
	report.Unchanged = report.Unchanged && !s.broken // that it is mended is news
	s.broken = false
	s.out.loaded(report, s.config, s.loads == 1)
	return nil
}

// stop drains. A second signal ends the process at once.
func (s *server) stop(sig os.Signal, signals <-chan os.Signal) error {
	timeout := s.drain
	if timeout <= 0 {
		timeout = s.app.DrainTimeout()
	}
	s.log.Info("stopping", "signal", signalName(sig), "deadline", timeout.String(), "hint", "a second signal stops at once")
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.app.Stop(ctx) }()
	// What does not obey the deadline is left behind.
	grace := time.NewTimer(timeout + 3*time.Second)
	defer grace.Stop()
	for {
		select {
		case err := <-stopped:
			if err != nil {
				s.log.Warn("stopped before everything had ended", "error", err)
				return errReported
			}
			s.log.Info("stopped")
			return nil
		case <-grace.C:
			s.log.Warn("stopped although a worker did not")
			return errReported
		case again := <-signals:
			if again != syscall.SIGHUP {
				s.log.Warn("stopped at once", "signal", signalName(again))
				return errReported
			}
		}
	}
}

func signalName(sig os.Signal) string {
	switch sig {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	}
	return sig.String()
}

// mistakes lists what is wrong with a configuration or its workers, with source
// lines where there are any, and how many things that are.
func mistakes(err error, color bool) (text string, n int) {
	var ce *config.Error
	var ae *assemble.Error
	switch {
	case errors.As(err, &ce):
		return ce.Error(), len(ce.Mistakes)
	case errors.As(err, &ae):
		return ae.Render(color), len(ae.Problems)
	}
	return err.Error(), 1
}

// plural returns "1 mistake" or "2 mistakes".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, strings.TrimSuffix(what, "s"))
}

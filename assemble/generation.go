package assemble

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate/outcome"
	edgenet "github.com/edge-runtime/edge/net"
	"github.com/edge-runtime/edge/net/fetch"
)

// generation is a configuration that is, was or is about to be served. It does
// not change once it serves.
type generation struct {
	number   int
	cfg      *config.Config
	units    map[string]*unit // by service
	routers  map[string]*edgenet.Router
	bindings map[string]*unit // by their key

	// active counts the fetches that have looked a service up and not returned;
	// closedBit is set when it may do so no more.
	active atomic.Int64
	idle   chan struct{} // gets a token when active falls to 0
}

// closedBit makes a count negative for good.
const closedBit = math.MinInt64

// enter holds the generation's services open. It reports false when they are
// closed already.
func (g *generation) enter() bool {
	for {
		n := g.active.Load()
		if n < 0 {
			return false
		}
		if g.active.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (g *generation) exit() {
	if g.active.Add(-1) == 0 {
		select {
		case g.idle <- struct{}{}:
		default:
		}
	}
}

// service returns what answers for a service.
func (g *generation) service(name, entrypoint string) (fetch.Fetcher, error) {
	u := g.units[name]
	if u == nil {
		return nil, outcome.Failf(outcome.NotFound, "there is no service of that name any more")
	}
	return u.fetcher(entrypoint)
}

// unit is a service or a binding that several generations may share.
type unit struct {
	key  string // equal keys mean that the next generation can use it too
	refs int    // generations; guarded by App.reloadMu or, for the last ones, unitMu
	// fetcher answers for an export of a service; nil for a binding.
	fetcher func(entrypoint string) (fetch.Fetcher, error)
	worker  *worker // nil when it is none
	value   bindings.Binding
	close   func() error
}

// unitMu guards the reference counts of all units: they change a few times per
// reload.
var unitMu sync.Mutex

func (u *unit) retain() {
	unitMu.Lock()
	defer unitMu.Unlock()
	u.refs++
}

// drop gives up one reference and reports whether it was the last.
func (u *unit) drop() bool {
	unitMu.Lock()
	defer unitMu.Unlock()
	u.refs--
	return u.refs == 0
}

// resolver is how a worker finds other services: in the newest generation that
// the worker belongs to.
type resolver struct{ gen atomic.Pointer[generation] }

// late returns a Fetcher that looks the service up when it is first asked in a
// generation.
func (r *resolver) late(name, entrypoint string) fetch.Fetcher {
	return &lateFetcher{resolver: r, name: name, entrypoint: entrypoint}
}

type lateFetcher struct {
	resolver         *resolver
	name, entrypoint string
	found            atomic.Pointer[found]
}

// found is a service of a generation.
type found struct {
	gen     *generation
	fetcher fetch.Fetcher
}

// Fetch implements fetch.Fetcher.
func (l *lateFetcher) Fetch(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	for g := l.resolver.gen.Load(); g != nil; {
		if g.enter() {
			defer g.exit()
			return l.in(g, ctx, req)
		}
		next := l.resolver.gen.Load()
		if next == g {
			break // what is left of a worker that was replaced
		}
		g = next
	}
	_ = req.Body.Close() // the failure says more
	return nil, outcome.Failf(outcome.LoadShed, "the worker was replaced or removed")
}

// in runs a request in a generation that was entered.
func (l *lateFetcher) in(g *generation, ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	f := l.found.Load()
	if f == nil || f.gen != g {
		target, err := g.service(l.name, l.entrypoint)
		if err != nil {
			_ = req.Body.Close() // the error says more
			return nil, err
		}
		f = &found{g, target}
		l.found.Store(f)
	}
	return f.fetcher.Fetch(ctx, req)
}

// routeFetcher answers for a route. A request that was routed just before its
// generation was closed is routed again, by the one that serves then.
type routeFetcher struct {
	app       *App
	gen       *generation
	socketKey string
	fetcher   fetch.Fetcher
}

// Fetch implements fetch.Fetcher.
func (r *routeFetcher) Fetch(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if r.gen.enter() {
		defer r.gen.exit()
		return r.fetcher.Fetch(ctx, req)
	}
	host, path := target(req.URL)
	next := socketHandler{r.app, r.socketKey}.Match(host, path)
	if next == nil {
		_ = req.Body.Close() // the failure says more
		return nil, outcome.Failf(outcome.NotFound, "no route leads to a service")
	}
	return next.Fetcher.Fetch(ctx, req)
}

// commit makes a generation the one that serves and lets the one before drain.
func (a *App) commit(next *built) *Report {
	g := next.gen
	old := a.cur.Load()
	for _, u := range g.units {
		if u.worker != nil {
			u.worker.resolver.gen.Store(g)
		}
	}
	a.cur.Store(g)
	a.ready.Store(true)
	report := &Report{Generation: g.number, Services: len(g.units), Started: next.started, Kept: next.kept, Unchanged: old != nil && g.sameAs(old)}
	a.commitSockets(next, report)
	if old != nil {
		a.drains.Add(1)
		go func() {
			defer a.drains.Done()
			a.retire(old, g)
		}()
	}
	return report
}

// sameAs reports whether two generations serve the same.
func (g *generation) sameAs(old *generation) bool {
	for name, u := range g.units {
		if old.units[name] != u {
			return false
		}
	}
	a, b := *g.cfg, *old.cfg
	a.Files, b.Files = nil, nil
	return reflect.DeepEqual(a, b)
}

// retire lets what only the old generation used finish, and closes it.
func (a *App) retire(old, next *generation) {
	ctx, cancel := context.WithTimeout(a.draining, max(next.cfg.Server.DrainTimeout, time.Millisecond))
	defer cancel()
	var leaving []*worker
	for name, u := range old.units {
		if u.worker != nil && next.units[name] != u {
			leaving = append(leaving, u.worker)
		}
	}
	old.drain(ctx, leaving)
	for _, err := range old.release() {
		a.log.Warn("close what a reload replaced", "error", err)
	}
}

// drain waits until nothing of a generation that was replaced is in use: no
// fetch that may look up a service, no request in a worker that leaves. A
// request may pass through several of these, hence the rounds.
func (g *generation) drain(ctx context.Context, leaving []*worker) {
	for {
		for g.active.Load() > 0 && ctx.Err() == nil {
			select {
			case <-g.idle:
			case <-ctx.Done():
			}
		}
		var wg sync.WaitGroup
		for _, w := range leaving {
			// Requests that do not end in time get their outcome from Drain.
			wg.Go(func() { _ = w.isolate.Drain(ctx) })
		}
		wg.Wait()
		if ctx.Err() != nil {
			g.active.Add(closedBit)
			return
		}
		if g.active.CompareAndSwap(0, closedBit) {
			return
		}
	}
}

// release gives up the generation's references and closes what nobody else has:
// services before the bindings that they use.
func (g *generation) release() []error {
	var errs []error
	for _, units := range []map[string]*unit{g.units, g.bindings} {
		for name, u := range units {
			if !u.drop() || u.close == nil {
				continue
			}
			if err := u.close(); err != nil {
				errs = append(errs, fmt.Errorf("close %s: %w", name, err))
			}
		}
	}
	return errs
}

package assemble

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate"
	edgenet "github.com/edge-runtime/edge/net"
	"github.com/edge-runtime/edge/vfs"
)

// bootAtLoad is how many workers are started before a generation serves, so that
// one that throws is found out. Beyond it they start with their first request:
// a process with thousands of tenants could not hold them all anyway.
const bootAtLoad = 64

// built is a generation that does not serve yet.
type built struct {
	gen           *generation
	bundles       map[string]*vfs.Bundle // by service
	trees         map[string]*vfs.Tree
	started, kept int
	warned        []vfs.Message // by the code of workers that are new
	newSockets    map[string]*socket
	newAdmin      *admin
	// What the attempt looked at, see Watched.
	files, dirs, folders []string
}

// build makes a generation apart from the one that serves. What it does stands
// in undo. The result is not nil when there is an error: it says what was looked
// at.
func (a *App) build(ctx context.Context, cfg *config.Config, undo *undoList) (*built, error) {
	next := &built{newSockets: map[string]*socket{}}
	old := a.cur.Load()
	number := 1
	if old != nil {
		number = old.number + 1
	}
	next.gen = &generation{number: number, cfg: cfg, units: map[string]*unit{}, bindings: map[string]*unit{},
		routers: map[string]*edgenet.Router{}, idle: make(chan struct{}, 1)}
	if err := a.read(cfg, next); err != nil {
		return next, err
	}
	undo.add(func() error { return errors.Join(next.gen.release()...) })
	fresh, err := a.makeUnits(ctx, next, old)
	if err != nil {
		return next, err
	}
	if err := a.routes(next); err != nil {
		return next, err
	}
	if err := a.openSockets(next, undo); err != nil {
		return next, err
	}
	for _, w := range fresh {
		w.resolver.gen.Store(next.gen)
	}
	return next, boot(ctx, fresh)
}

// read bundles the workers and reads the folders, several at a time, and
// reports everything that is wrong with any of them.
func (a *App) read(cfg *config.Config, next *built) error {
	next.bundles, next.trees = map[string]*vfs.Bundle{}, map[string]*vfs.Tree{}
	var mu sync.Mutex
	var problems []Problem
	each(cfg, func(s *config.Service) {
		switch {
		case s.Worker != nil:
			bundle, err := a.builder.Build(buildOptions(cfg, s.Worker, a.opts.Dev))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problems = append(problems, buildProblem(s, err))
				var be *vfs.BuildError
				if errors.As(err, &be) {
					next.files, next.dirs = append(next.files, be.Files...), append(next.dirs, be.Dirs...)
				}
				return
			}
			next.bundles[s.Name] = bundle
			next.files, next.dirs = append(next.files, bundle.Files...), append(next.dirs, bundle.Dirs...)
		case s.Disk != nil:
			tree, dirs, err := readFolder(s.Disk)
			mu.Lock()
			defer mu.Unlock()
			next.folders = append(next.folders, dirs...)
			if err != nil {
				problems = append(problems, Problem{Service: s.Name, Field: s.Field + ".disk", Text: err.Error()})
				return
			}
			next.trees[s.Name] = tree
		}
	})
	return asError(problems)
}

// each calls f for every service, several at a time: bundling waits for its
// processes and reading for the disk.
func each(cfg *config.Config, f func(*config.Service)) {
	slots := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for _, name := range slices.Sorted(maps.Keys(cfg.Services)) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(cfg.Services[name])
		})
	}
	wg.Wait()
}

// makeUnits takes over from the old generation what did not change and makes the
// rest. It returns the workers that it made, by name.
func (a *App) makeUnits(ctx context.Context, next *built, old *generation) ([]*worker, error) {
	g := next.gen
	var fresh []*worker
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(g.cfg.Services)) {
		s := g.cfg.Services[name]
		if s.Worker != nil {
			u, kept, failed := a.makeWorker(ctx, next, old, s)
			problems = append(problems, failed...)
			switch {
			case kept:
				next.kept++
			case u != nil:
				next.started++
				next.warned = append(next.warned, next.bundles[name].Warnings...)
				fresh = append(fresh, u.worker)
			}
			continue
		}
		key := serviceKey(s, next)
		if u := reuse(old, name, key); u != nil {
			g.units[name] = u
			continue
		}
		u, err := newService(s, next.trees[name])
		if err != nil {
			problems = append(problems, Problem{Service: name, Field: s.Field, Text: err.Error()})
			continue
		}
		u.key, u.refs = key, 1
		g.units[name] = u
	}
	return fresh, asError(problems)
}

// makeWorker takes a worker over together with its bindings, or makes it.
func (a *App) makeWorker(ctx context.Context, next *built, old *generation, s *config.Service) (u *unit, kept bool, problems []Problem) {
	g := next.gen
	names := slices.Sorted(maps.Keys(s.Worker.Bindings))
	keys := make([]bindingKey, len(names))
	key := serviceKey(s, next)
	for i, name := range names {
		b := s.Worker.Bindings[name]
		var err error
		if keys[i], err = a.keyOf(g.cfg, b); err != nil {
			problems = append(problems, Problem{Service: s.Name, Field: b.Field, Text: err.Error()})
		}
		key += fmt.Sprintf(" %q=%s", name, keys[i].text)
	}
	if len(problems) > 0 {
		return nil, false, problems
	}
	if u := reuse(old, s.Name, key); u != nil {
		g.units[s.Name] = u
		for _, name := range names {
			field := s.Worker.Bindings[name].Field
			b := old.bindings[field]
			b.retain()
			g.bindings[field] = b
		}
		return u, true, nil
	}
	r := &resolver{}
	env := make([]isolate.EnvEntry, 0, len(names))
	for i, name := range names {
		b := s.Worker.Bindings[name]
		opened, err := a.openBinding(ctx, g, old, b, keys[i], r)
		if err != nil {
			problems = append(problems, Problem{Service: s.Name, Field: b.Field, Text: err.Error()})
			continue
		}
		env = append(env, isolate.EnvEntry{Name: name, Value: opened.Value, Facade: opened.Facade, Resource: opened.Resource})
	}
	if len(problems) > 0 {
		return nil, false, problems
	}
	u, err := a.newWorker(s, next.bundles[s.Name], env, r)
	if err != nil {
		return nil, false, []Problem{{Service: s.Name, Field: s.Field, Text: err.Error()}}
	}
	u.key, u.refs = key, 1
	g.units[s.Name] = u
	return u, false, nil
}

// reuse takes a unit over from the old generation when its key did not change.
func reuse(old *generation, name, key string) *unit {
	if old == nil {
		return nil
	}
	u := old.units[name]
	if u == nil || u.key != key {
		return nil
	}
	u.retain()
	return u
}

// serviceKey says everything about a service that makes it what it is, except
// for a worker's bindings.
func serviceKey(s *config.Service, next *built) string {
	c := *s
	var content [32]byte
	switch {
	case s.Worker != nil:
		w := *s.Worker
		w.Bindings = nil
		c.Worker = &w
		content = next.bundles[s.Name].Hash
	case s.Disk != nil:
		content = next.trees[s.Name].Hash()
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // a configuration holds plain values only
	}
	return fmt.Sprintf("%s %x", text, content) + certificates(s)
}

// certificates adds the contents of PEM files: they are read once, when the
// service is made.
func certificates(s *config.Service) string {
	var t *config.TLS
	switch {
	case s.Network != nil:
		t = &s.Network.TLS
	case s.External != nil:
		t = s.External.TLS
	}
	if t == nil {
		return ""
	}
	key := ""
	for _, path := range t.TrustedCertificates {
		data, err := os.ReadFile(path)
		key += fmt.Sprintf(" %x %v", sha256.Sum256(data), err)
	}
	return key
}

// bindingKey says everything that a binding is made of: kind, value, files and
// variables.
type bindingKey struct {
	text string
	// own reports that the binding refers to a service. It then belongs to its
	// worker, whose resolver it uses.
	own bool
}

// keyOf returns the key of a binding.
func (a *App) keyOf(cfg *config.Config, b config.Binding) (bindingKey, error) {
	kind, err := a.opts.Kinds.Get(b.Kind)
	if err != nil {
		return bindingKey{}, err
	}
	key := bindingKey{text: b.Kind + " " + string(b.Raw)}
	if kind.References == nil {
		return key, nil
	}
	refs, err := kind.References(b.Raw)
	if err != nil {
		return bindingKey{}, err
	}
	env := a.bindingEnv(cfg, b, nil)
	for _, ref := range refs {
		switch ref.Type {
		case bindings.Service:
			key.own = true
		case bindings.File:
			data, err := env.ReadFile(ref.Name)
			key.text += fmt.Sprintf(" %x %v", sha256.Sum256(data), err)
		case bindings.Environment:
			value, ok := env.LookupEnv(ref.Name)
			key.text += fmt.Sprintf(" %q %v", value, ok)
		}
	}
	return key, nil
}

// openBinding opens a binding of a worker that is made, or takes it over.
func (a *App) openBinding(ctx context.Context, g, old *generation, b config.Binding, key bindingKey, r *resolver) (bindings.Binding, error) {
	if old != nil && !key.own {
		if u := old.bindings[b.Field]; u != nil && u.key == key.text {
			u.retain()
			g.bindings[b.Field] = u
			return u.value, nil
		}
	}
	kind, err := a.opts.Kinds.Get(b.Kind)
	if err != nil {
		return bindings.Binding{}, err
	}
	opened, err := kind.Open(ctx, b.Raw, a.bindingEnv(g.cfg, b, r))
	if err != nil {
		return bindings.Binding{}, err
	}
	g.bindings[b.Field] = &unit{key: key.text, refs: 1, value: opened, close: opened.Close}
	return opened, nil
}

func (a *App) bindingEnv(cfg *config.Config, b config.Binding, r *resolver) bindings.Env {
	lookup := a.opts.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	return bindings.Env{
		Field: b.Field, LookupEnv: lookup,
		// The loader has checked that the file is there and has it watched.
		ReadFile: func(path string) ([]byte, error) { return os.ReadFile(fromConfig(cfg, path)) },
		Service:  r.bind,
	}
}

// fromConfig makes a path that is relative to the configuration absolute.
func fromConfig(cfg *config.Config, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cfg.Dir, path)
}

// boot starts the first of the new workers and reports all that do not start.
func boot(ctx context.Context, fresh []*worker) error {
	var mu sync.Mutex
	var problems []Problem
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, w := range fresh[:min(len(fresh), bootAtLoad)] {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := w.isolate.Boot(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				problems = append(problems, w.problem(err))
			}
		})
	}
	wg.Wait()
	return asError(problems)
}

// limits are the limits of a worker as the runtime wants them.
func limits(l config.Limits) isolate.Limits {
	return isolate.Limits{
		CPU: l.CPU, StartupCPU: l.StartupCPU, StartupWall: l.StartupWall, FirstByte: l.FirstByte, Wall: l.Wall,
		Memory: l.Memory, Buffers: l.Buffers, Concurrency: l.Concurrency,
		Queue: l.Queue, Subrequests: l.Subrequests, LogBytes: l.LogBytes,
	}
}

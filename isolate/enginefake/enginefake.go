// Package enginefake is an engine without JavaScript: a worker's handlers are Go
// functions. It runs slices by the rules of isolate.Engine, deterministically
// (under testing/synctest, in bubble time), and can do what real scripts do to an
// engine: spin until they are terminated, not obey, run out of heap, kill it. It
// serves tests and never a program.
package enginefake

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
)

// Handler is the code of one event. It runs like JavaScript: on the isolate's
// thread, alone, and to its end.
type Handler func(c *Ctx, args []op.Value)

// Script is a worker's code: its handlers by name. Without "load" the start-up
// succeeds at once; events without a handler do nothing.
type Script map[string]Handler

// Config is what an Engine is made of.
type Config struct {
	// Ops can be called by Ctx.Post, Ctx.Async and Ctx.Sync, besides the package's
	// own.
	Ops []op.Op
	// Scripts by name. A program's script is named by the text of its main module.
	Scripts map[string]Script
	// Events are the handlers that exist besides load, fetch, abort and timer.
	Events []string
	// New is called by Engine.New before an isolate is made, nil to do without. An
	// error refuses it.
	New func(p isolate.Params, host isolate.EngineHost) error
	// Maintain is called by Idle, MakeCodeCache and Close of an isolate, nil to do
	// without.
	Maintain func(what string, host isolate.EngineHost)
}

// Engine implements isolate.Engine.
type Engine struct {
	cfg      Config
	ops      []op.Op
	byName   map[string]uint16
	events   map[string]uint16
	names    []string // of events, by number
	released chan struct{}
	release  sync.Once

	// Counters of calls.
	Made, Closed, Idled, Caches, Trims atomic.Int64
}

// Isolates and their engine are what package isolate expects.
var (
	_ isolate.Engine  = (*Engine)(nil)
	_ isolate.Trimmer = (*Engine)(nil)
	_ isolate.Isolate = (*fakeIsolate)(nil)
	_ isolate.Program = (*program)(nil)
)

// New returns an engine.
func New(cfg Config) *Engine {
	e := &Engine{cfg: cfg, ops: append(slices.Clone(cfg.Ops), ownOps()...), byName: map[string]uint16{},
		events: map[string]uint16{}, released: make(chan struct{})}
	for i, o := range e.ops {
		e.byName[o.Name] = uint16(i)
	}
	e.names = append([]string{"load", "fetch", "abort", "timer"}, cfg.Events...)
	for i, name := range e.names {
		e.events[name] = uint16(i)
	}
	return e
}

// Source returns the program of a script.
func Source(script string) isolate.ProgramSource {
	return isolate.ProgramSource{Main: "main.js", Modules: []isolate.Module{{Key: "main.js", Source: []byte(script)}}}
}

// New makes an isolate.
func (e *Engine) New(p isolate.Params, host isolate.EngineHost) (isolate.Isolate, error) {
	if e.cfg.New != nil {
		if err := e.cfg.New(p, host); err != nil {
			return nil, err
		}
	}
	e.Made.Add(1)
	return &fakeIsolate{e: e, host: host, term: make(chan struct{}, 1), then: map[uint32]Then{}}, nil
}

// NewProgram finds the script that the main module names.
func (e *Engine) NewProgram(src isolate.ProgramSource) (isolate.Program, error) {
	for _, m := range src.Modules {
		if m.Key != src.Main {
			continue
		}
		if s, ok := e.cfg.Scripts[string(m.Source)]; ok {
			return &program{e: e, script: s}, nil
		}
		return nil, fmt.Errorf("make program: no script is named %q", m.Source)
	}
	return nil, fmt.Errorf("make program: no module has the key %q", src.Main)
}

// Ops returns the ops, the package's own last.
func (e *Engine) Ops() []op.Op { return e.ops }

// Handler returns the number of an event.
func (e *Engine) Handler(name string) (uint16, bool) {
	n, ok := e.events[name]
	return n, ok
}

// Close lets the threads go that Ctx.Die parked, so that no goroutine is left. A
// real engine cannot.
func (e *Engine) Close() error {
	e.release.Do(func() { close(e.released) })
	return nil
}

// Park blocks until the engine is closed, as a thread does that V8's fatal
// handler never lets go. For Config.New.
func (e *Engine) Park() { <-e.released }

// program is a script as a program.
type program struct {
	e      *Engine
	script Script
	closed atomic.Bool
}

// MakeCodeCache counts.
func (p *program) MakeCodeCache(iso isolate.Isolate) (int, error) {
	iso.(*fakeIsolate).enter()
	defer iso.(*fakeIsolate).leave()
	iso.(*fakeIsolate).maintain("MakeCodeCache")
	p.e.Caches.Add(1)
	return 1, nil
}

// Close marks the program.
func (p *program) Close() error {
	if p.closed.Swap(true) {
		return fmt.Errorf("close program: it is closed")
	}
	return nil
}

// ownOps are what every worker needs of its instance.
func ownOps() []op.Op {
	post := func(name string, f func(c *op.Call) error) op.Op {
		return op.Op{Name: name, Mode: op.Post, Func: f}
	}
	return []op.Op{
		post("op_fake_booted", func(c *op.Call) error {
			if c.Len() == 0 {
				c.Host().Booted(nil)
			} else {
				c.Host().Booted(&op.ScriptError{Name: "Error", Message: c.Text(0), Stack: "Error: " + c.Text(0)})
			}
			return nil
		}),
		post("op_fake_responded", func(c *op.Call) error {
			if inv := c.Invocation(); inv != nil {
				inv.Responded()
			}
			return nil
		}),
		post("op_fake_done", func(c *op.Call) error {
			if inv := c.Invocation(); inv != nil {
				inv.Done()
			}
			return nil
		}),
		post("op_fake_throw", func(c *op.Call) error {
			if inv := c.Invocation(); inv != nil {
				inv.Fail(&op.ScriptError{Name: "Error", Message: c.Text(0), Stack: "Error: " + c.Text(0)})
			}
			return nil
		}),
		post("op_fake_log", func(c *op.Call) error {
			c.Host().Log(c.Text(0), c.InvocationID(), c.Text(1))
			return nil
		}),
		post("op_fake_timer", func(c *op.Call) error {
			c.Host().SetTimer(c.Arg(0).Number(), c.InvocationID())
			return nil
		}),
	}
}

// Trim implements isolate.Trimmer.
func (e *Engine) Trim() { e.Trims.Add(1) }

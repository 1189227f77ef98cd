package v8

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
)

// Options configure the process's V8.
type Options struct {
	// Extensions make up the start-up snapshot; they need not be sorted.
	Extensions []op.Extension
	// Flags are added to V8's command line. The first engine of a process decides.
	Flags []string
	// WasmTraps uses hardware traps for the bounds of Wasm memories: 20 to 45 %
	// faster in memory-bound Wasm, but a process then has room for 126 memories,
	// which one tenant can take. For trusted Wasm only.
	WasmTraps bool
	// JumpOnFatal leaves a slice in which V8 gave up, which then ends with
	// StatusFatal and a thread that lives on. Without it the thread is kept for
	// good, and EngineHost.Fatal says so. The first engine of a process decides.
	JumpOnFatal bool
	// DomainToASCII is UTS #46 for the URL parser: the ASCII form of a domain that
	// is not plain ASCII, or an error. nil refuses such domains.
	DomainToASCII func(domain string) (string, error)
}

// Engine is V8 with one start-up snapshot. It implements isolate.Engine.
type Engine struct {
	snap *snapshot
	ops  []op.Op

	live      atomic.Int64 // isolates
	closeOnce sync.Once
}

var domainToASCII atomic.Pointer[func(string) (string, error)]

// New starts V8, evaluates the extensions and makes the snapshot. About 100 ms.
func New(o Options) (*Engine, error) {
	sorted, err := op.Sort(o.Extensions)
	if err != nil {
		return nil, err
	}
	if o.DomainToASCII != nil {
		domainToASCII.Store(&o.DomainToASCII)
	}
	initPlatform(o)
	e := &Engine{}
	for _, x := range sorted {
		e.ops = append(e.ops, x.Ops...)
	}
	if len(e.ops) >= 1<<16 {
		return nil, fmt.Errorf("start engine: %d ops, at most %d fit the wire format", len(e.ops), 1<<16-1)
	}
	if e.snap, err = newSnapshot(sorted, e.ops); err != nil {
		return nil, err
	}
	return e, nil
}

// Ops returns the ops by number.
func (e *Engine) Ops() []op.Op { return e.ops }

// SnapshotBytes returns the size of the start-up snapshot.
func (e *Engine) SnapshotBytes() int { return e.snap.bytes() }

// Handler returns the number of a handler of the snapshot.
func (e *Engine) Handler(name string) (uint16, bool) {
	n, ok := e.snap.handlers[name]
	return n, ok
}

// Close frees the snapshot. V8 itself stays for the life of the process.
func (e *Engine) Close() error {
	if n := e.live.Load(); n != 0 {
		return fmt.Errorf("close engine: %d isolates are open", n)
	}
	err := errors.New("close engine: closed twice")
	e.closeOnce.Do(func() {
		e.snap.close()
		err = nil
	})
	return err
}

var _ isolate.Engine = (*Engine)(nil)

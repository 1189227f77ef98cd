package isolate

import (
	"github.com/edge-runtime/edge/isolate/op"
)

// Engine makes isolates. V8 is one (isolate/v8); a scripted fake serves the
// tests of this package. Safe for many goroutines.
type Engine interface {
	// New makes an isolate with a ready context from the start-up snapshot. It is
	// called with room in the process-wide ledger. heapLimit and bufferLimit are
	// bytes. host receives what the isolate reports until Close has returned.
	New(p Params, host EngineHost) (Isolate, error)
	// NewProgram prepares modules for many isolates: one copy of the source and,
	// once made, of the code cache. Close it when no isolate uses it.
	NewProgram(src ProgramSource) (Program, error)
	// OpIndex and handlers: the sorted extensions that the snapshot was made from.
	Ops() []op.Op
	// Handler returns the number of a handler that JavaScript registered with
	// native_on while the snapshot was made.
	Handler(name string) (uint16, bool)
	// Close releases the process-wide state that can be released. No isolate may
	// be open.
	Close() error
}

// Trimmer is an Engine that keeps memory of isolates that were closed until it is
// told to give it back. That takes a while; any goroutine may ask, at any time.
type Trimmer interface{ Trim() }

// Params are an isolate's own limits.
type Params struct {
	HeapBytes   int64 // V8 heap; the isolate is ended by StatusHeapLimit near it
	BufferBytes int64 // ArrayBuffers; an allocation over it is a RangeError in JavaScript
}

// EngineHost is what an isolate calls. Each method says on which thread.
type EngineHost interface {
	// SyncOp runs a Sync op on the isolate's thread, inside JavaScript. args
	// borrow the engine's memory. It must not panic and not block. The result is
	// encoded before SyncOp is called again.
	SyncOp(index uint16, invocation uint32, args []op.Value) (op.Value, error)
	// Fatal says that V8 gave up: the slice that runs, if any, never returns and
	// its thread is lost. Any thread; must not call into the isolate.
	Fatal(location, message string)
}

// Program is a prepared set of modules.
type Program interface {
	// MakeCodeCache compiles nothing new: it stores what iso has compiled of the
	// program, for later isolates. Called between slices of iso, off the hot path.
	MakeCodeCache(iso Isolate) (bytes int, err error)
	Close() error
}

// ProgramSource is a worker's modules.
type ProgramSource struct {
	Main    string // key of the main module
	Modules []Module
	// Resolve maps what a module imports to the key of a module, when it is
	// loaded: static and dynamic imports alike. attrType is the import's "type"
	// attribute, empty without one. Its error is shown to the script.
	Resolve func(specifier, referrer, attrType string) (key string, err error)
}

// ModuleType says how a module's bytes become a module.
type ModuleType uint8

// The types of modules.
const (
	ESModule   ModuleType = iota
	JSONModule            // default export: the parsed value
	TextModule            // default export: a string
	DataModule            // default export: an ArrayBuffer
	WasmModule            // default export: a WebAssembly.Module
)

// Module is one module of a program.
type Module struct {
	Key    string // canonical path inside the bundle, such as "lib/a.js"
	Type   ModuleType
	Source []byte // UTF-8 for the first three types
}

// Isolate is one engine instance. Slice, SetProgram and Idle are called by one
// goroutine at a time, from any thread; Terminate and Probe from any, at any
// time before Close.
type Isolate interface {
	// SetProgram attaches the program that native_import_main loads. Once.
	SetProgram(p Program) error
	// Slice delivers a batch of events (see Batch) in order, with a microtask
	// checkpoint after each, and returns what JavaScript asked for.
	Slice(batch []byte) SliceResult
	// Terminate stops the JavaScript that runs, or the next that starts, until
	// the slice has ended. The slice returns StatusTerminated.
	Terminate()
	// Probe samples the slice that is running.
	Probe() Probe
	// Idle gives memory back: a full collection. About 4 ms.
	Idle()
	// Memory reads the counters. Between slices.
	Memory() Memory
	// Close disposes of the isolate. No slice may be running.
	Close() error
}

// Status says how a slice ended.
type Status uint8

// The ways a slice ends.
const (
	StatusOK         Status = iota
	StatusTerminated        // Terminate was obeyed
	StatusHeapLimit         // the heap limit was reached and the script ended
	StatusFatal             // V8 gave up: the isolate can only be closed
)

// SliceResult is what a slice did.
type SliceResult struct {
	Status Status
	// Fatal is what the engine said, for StatusFatal.
	Fatal string
	// Commands holds the queued Post and Async calls (see Commands). It borrows
	// the isolate's memory until the next Slice or Close.
	Commands []byte
	// Events counts the events that were delivered, the one that was cut short
	// included; the others of the batch were not looked at.
	Events int
	// JobsLost reports that a termination fell into a microtask checkpoint, so
	// promise jobs of other invocations were dropped.
	JobsLost bool
	// Times charges the slice's time: one entry per delivered event.
	Times []EventTime
	// CPUNanos is the CPU time of the slice by the thread's clock, 0 when the
	// slice was too short to be worth the reading.
	CPUNanos int64
	Memory   Memory
	// Tasks reports that the isolate waits for work of its own, such as the
	// compilation of a Wasm module: it wants an empty slice soon, and a promise
	// that seems stuck may yet settle.
	Tasks bool
}

// EventTime is the time one event took.
type EventTime struct {
	Invocation uint32
	Nanos      int64 // monotonic
}

// Probe is a sample of a running slice.
type Probe struct {
	Running    bool
	Serial     uint64 // number of the slice, so that a sample of the next is told apart
	Invocation uint32 // whose event runs
	EventNanos int64  // CPU time since that event began
	SliceNanos int64  // CPU time since the slice began
	// Memory is the engine's latest sample from inside the slice, zero when there
	// is none yet.
	Memory Memory
}

// Memory is what an isolate holds, in bytes.
type Memory struct {
	HeapUsed, HeapTotal, LargeObjects, Buffers, External int64
}

package enginefake

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
)

// fakeIsolate implements isolate.Isolate.
type fakeIsolate struct {
	e      *Engine
	host   isolate.EngineHost
	script Script
	term   chan struct{} // holds a termination that was not obeyed yet
	inside atomic.Bool
	closed atomic.Bool

	// The rest but what mu guards belongs to the slice.
	ctx      Ctx
	then     map[uint32]Then
	promises uint32
	args     []op.Value
	commands []byte
	times    []isolate.EventTime
	jobsLost bool
	tasks    bool

	mu         sync.Mutex // guards what Probe reads
	serial     uint64
	running    bool
	invocation uint32
	sliceCPU   int64
	eventCPU   int64
	burning    time.Time // zero when no CPU time passes
	memory     isolate.Memory
}

// The ways in which code is cut short, as panics.
type (
	terminated struct{}
	heapLimit  struct{}
	gaveUp     struct{}
	dead       struct{}
)

// enter makes sure that the isolate is used by one goroutine, before its end.
func (f *fakeIsolate) enter() {
	if f.closed.Load() {
		panic("enginefake: a closed isolate is used")
	}
	if f.inside.Swap(true) {
		panic("enginefake: an isolate is used by two goroutines at once")
	}
}

func (f *fakeIsolate) leave() { f.inside.Store(false) }

// SetProgram attaches a script.
func (f *fakeIsolate) SetProgram(p isolate.Program) error {
	f.enter()
	defer f.leave()
	if f.script != nil {
		return fmt.Errorf("set program: there is one")
	}
	if p.(*program).closed.Load() {
		return fmt.Errorf("set program: it is closed")
	}
	f.script = p.(*program).script
	return nil
}

// Slice delivers events.
func (f *fakeIsolate) Slice(batch []byte) (res isolate.SliceResult) {
	f.enter()
	defer f.leave()
	f.commands, f.times, f.jobsLost, f.tasks = f.commands[:0], f.times[:0], false, false
	f.mu.Lock()
	f.serial++
	f.running, f.sliceCPU = true, 0
	f.mu.Unlock()
	res.Status = isolate.StatusOK
	for len(batch) > 0 && res.Status == isolate.StatusOK {
		batch, res.Status = f.event(batch)
		res.Events++
	}
	select {
	case <-f.term: // it holds until the slice has ended
	default:
	}
	f.mu.Lock()
	f.running = false
	res.CPUNanos, res.Memory = f.sliceCPU, f.memory
	f.mu.Unlock()
	res.Commands, res.Times, res.JobsLost, res.Tasks = f.commands, f.times, f.jobsLost, f.tasks
	return res
}

// event delivers the first event of a batch.
func (f *fakeIsolate) event(batch []byte) (rest []byte, status isolate.Status) {
	kind := batch[0]
	id := binary.LittleEndian.Uint32(batch[1:])
	a := binary.LittleEndian.Uint32(batch[5:])
	argc := int(binary.LittleEndian.Uint16(batch[9:]))
	rest = batch[11:]
	args := f.args[:0]
	for range argc {
		v, r, err := op.Decode(rest)
		if err != nil {
			panic(err)
		}
		args, rest = append(args, v), r
	}
	f.args = args
	f.mu.Lock()
	f.invocation, f.eventCPU = id, 0
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.times = append(f.times, isolate.EventTime{Invocation: id, Nanos: f.eventCPU})
		f.mu.Unlock()
		switch p := recover(); p.(type) {
		case nil:
		case terminated, dead:
			status = isolate.StatusTerminated
		case heapLimit:
			status = isolate.StatusHeapLimit
		case gaveUp:
			status = isolate.StatusFatal
		default:
			panic(p)
		}
	}()
	f.ctx = Ctx{iso: f, invocation: id}
	f.run(kind, a, args)
	return rest, isolate.StatusOK
}

func (f *fakeIsolate) run(kind byte, a uint32, args []op.Value) {
	c := &f.ctx
	c.checkTerm()
	if kind == 1 {
		name := f.e.names[a]
		if h := f.script[name]; h != nil {
			h(c, args)
		} else if name == "load" {
			c.Booted()
		}
		return
	}
	then := f.then[a]
	delete(f.then, a)
	if then == nil {
		return
	}
	if kind == 2 {
		then(c, args[0], nil)
	} else {
		then(c, op.Undefined, &op.Error{Class: op.Class(args[0].Int()), Name: args[1].Text(), Msg: args[2].Text(), Code: args[3].Text()})
	}
}

// Terminate stops Ctx.Spin and Ctx.Burn.
func (f *fakeIsolate) Terminate() {
	if f.closed.Load() {
		panic("enginefake: a closed isolate is terminated")
	}
	select {
	case f.term <- struct{}{}:
	default:
	}
}

// Probe samples the slice that runs.
func (f *fakeIsolate) Probe() isolate.Probe {
	if f.closed.Load() {
		panic("enginefake: a closed isolate is probed")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := isolate.Probe{Running: f.running, Serial: f.serial, Invocation: f.invocation,
		EventNanos: f.eventCPU, SliceNanos: f.sliceCPU, Memory: f.memory}
	if !f.burning.IsZero() {
		d := int64(time.Since(f.burning))
		p.EventNanos += d
		p.SliceNanos += d
	}
	return p
}

// Idle counts.
func (f *fakeIsolate) Idle() {
	f.enter()
	defer f.leave()
	f.maintain("Idle")
	f.e.Idled.Add(1)
}

func (f *fakeIsolate) maintain(what string) {
	if f.e.cfg.Maintain != nil {
		f.e.cfg.Maintain(what, f.host)
	}
}

// Memory returns what Ctx.SetMemory set.
func (f *fakeIsolate) Memory() isolate.Memory {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.memory
}

// Close closes the isolate.
func (f *fakeIsolate) Close() error {
	f.enter()
	defer f.leave()
	f.maintain("Close")
	f.closed.Store(true)
	f.e.Closed.Add(1)
	return nil
}

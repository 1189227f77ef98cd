package v8

// #cgo noescape edge_isolate_terminate
// #cgo nocallback edge_isolate_terminate
// #cgo noescape edge_isolate_probe
// #cgo nocallback edge_isolate_probe
// #cgo noescape edge_isolate_slice
// #include "isolate.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"unsafe"

	"github.com/edge-runtime/edge/isolate"
)

// instance is one V8 isolate; see isolate.Isolate for the thread rules.
type instance struct {
	engine *Engine
	host   isolate.EngineHost
	handle cgo.Handle
	c      *C.edge_instance
	res    C.edge_slice_result
	times  []isolate.EventTime
}

// New makes an isolate with a ready context: 2 ms.
func (e *Engine) New(p isolate.Params, host isolate.EngineHost) (isolate.Isolate, error) {
	if p.HeapBytes < 4<<20 {
		return nil, fmt.Errorf("make isolate: heap limit of %d bytes, V8 needs 4 MiB", p.HeapBytes)
	}
	in := &instance{engine: e, host: host}
	in.handle = cgo.NewHandle(in)
	in.c = C.edge_isolate_new(e.snap.c, C.int64_t(p.HeapBytes), C.int64_t(p.BufferBytes), C.uintptr_t(in.handle))
	if in.c == nil {
		in.handle.Delete()
		return nil, errors.New("make isolate: the start-up snapshot lacks what it registered")
	}
	e.live.Add(1)
	return in, nil
}

// SetProgram attaches the program.
func (in *instance) SetProgram(p isolate.Program) error {
	pr, ok := p.(*program)
	if !ok {
		return fmt.Errorf("attach program: it was made by another engine (%T)", p)
	}
	C.edge_isolate_set_program(in.c, pr.c)
	return nil
}

// Slice runs a batch.
func (in *instance) Slice(batch []byte) isolate.SliceResult {
	C.edge_isolate_slice(in.c, (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(batch))), C.size_t(len(batch)), &in.res)
	r := &in.res
	in.times = in.times[:0]
	for _, t := range unsafe.Slice(r.times, int(r.times_len)) {
		in.times = append(in.times, isolate.EventTime{Invocation: uint32(t.invocation), Nanos: int64(t.nanos)})
	}
	out := isolate.SliceResult{
		Status:   isolate.Status(r.status),
		Events:   int(r.events),
		JobsLost: bool(r.jobs_lost),
		Times:    in.times,
		CPUNanos: int64(r.cpu_nanos),
		Memory:   memory(&r.memory),
	}
	if out.Status == isolate.StatusFatal {
		out.Fatal = C.GoStringN(r.fatal, C.int(r.fatal_len))
	}
	if r.commands_len > 0 {
		out.Commands = unsafe.Slice((*byte)(unsafe.Pointer(r.commands)), int(r.commands_len))
	}
	return out
}

// Terminate stops the slice that is running, if one is.
func (in *instance) Terminate() { C.edge_isolate_terminate(in.c, 0) }

// TerminateSlice stops the slice of that number and reports whether it was
// still running, so that a late decision never hits the next slice.
func (in *instance) TerminateSlice(serial uint64) bool {
	return bool(C.edge_isolate_terminate(in.c, C.uint64_t(serial)))
}

// Probe samples the running slice.
func (in *instance) Probe() isolate.Probe {
	var p C.edge_probe
	C.edge_isolate_probe(in.c, &p)
	return isolate.Probe{
		Running:    bool(p.running),
		Serial:     uint64(p.serial),
		Invocation: uint32(p.invocation),
		EventNanos: int64(p.event_nanos),
		SliceNanos: int64(p.slice_nanos),
		Memory:     memory(&p.memory),
	}
}

// Idle collects all garbage.
func (in *instance) Idle() { C.edge_isolate_idle(in.c) }

// Memory reads the counters.
func (in *instance) Memory() isolate.Memory {
	var m C.edge_memory
	C.edge_isolate_memory(in.c, &m)
	return memory(&m)
}

// Close disposes of the isolate.
func (in *instance) Close() error {
	if in.c == nil {
		return nil
	}
	freed := bool(C.edge_isolate_free(in.c))
	in.c = nil
	in.engine.live.Add(-1)
	if !freed {
		return errors.New("close isolate: V8 gave up, its memory is lost")
	}
	in.handle.Delete()
	return nil
}

func memory(m *C.edge_memory) isolate.Memory {
	return isolate.Memory{
		HeapUsed:     int64(m.heap_used),
		HeapTotal:    int64(m.heap_total),
		LargeObjects: int64(m.large_objects),
		Buffers:      int64(m.buffers),
		External:     int64(m.external),
	}
}

// LiveBufferBytes returns the ArrayBuffer bytes of all isolates, for leak tests.
func LiveBufferBytes() int64 { return int64(C.edge_isolate_live()) }

package isolate

import (
	"fmt"

	"github.com/edge-runtime/edge/isolate/op"
)

// Wasm modules that come with a worker, as files or in its env, never pass the
// JavaScript that guards WebAssembly.Module. Those that would make a shared
// memory, which is a clock of nanoseconds in the hands of whoever gets a second
// thread, are refused when the worker is made.

// checkWasm refuses a worker with a module that declares or imports a shared
// memory.
func (cfg *WorkerConfig) checkWasm() error {
	const why = "it has a shared memory, which workers are not offered: compile it without threads"
	for _, m := range cfg.Program.Modules {
		if m.Type == WasmModule && sharesMemory(m.Source) {
			return fmt.Errorf("load %q: %s", m.Key, why)
		}
	}
	for _, e := range cfg.Env {
		if e.Value.Kind() == op.KindWasm && sharesMemory(e.Value.Raw()) {
			return fmt.Errorf("load env.%s: %s", e.Name, why)
		}
	}
	return nil
}

// wasmReader is a position in a binary module. What lies behind its end is 0.
type wasmReader struct {
	data []byte
	at   uint64
}

func (r *wasmReader) left() bool { return r.at < uint64(len(r.data)) }

func (r *wasmReader) byte() byte {
	if !r.left() {
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

// number reads LEB128. What does not fit is for the engine to refuse.
func (r *wasmReader) number() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		n |= uint64(b&127) << shift
		if b < 128 {
			break
		}
	}
	return n
}

func (r *wasmReader) skip(n uint64) {
	r.at = min(r.at+min(n, uint64(len(r.data))), uint64(len(r.data)))
}

// limits reads those of a table or a memory and reports whether they say shared.
func (r *wasmReader) limits() (shared bool) {
	flags := r.byte()
	r.number()
	if flags&1 != 0 {
		r.number()
	}
	return flags&2 != 0
}

// valueType skips one; references to a type name it.
func (r *wasmReader) valueType() {
	if code := r.byte(); code == 0x63 || code == 0x64 {
		r.number()
	}
}

// The sections of a module that can make a memory.
const (
	wasmImports  = 2
	wasmMemories = 5
)

// sharesMemory reports whether a module declares or imports a shared memory:
// https://webassembly.github.io/spec/core/binary/modules.html
func sharesMemory(module []byte) bool {
	r := &wasmReader{data: module, at: 8}
	for r.left() {
		id, size := r.byte(), r.number()
		begin := r.at
		r.skip(size)
		section := &wasmReader{data: module[min(begin, uint64(len(module))):r.at]}
		switch id {
		case wasmImports:
			if section.importsShared() {
				return true
			}
		case wasmMemories:
			for count := section.number(); count > 0 && section.left(); count-- {
				if section.limits() {
					return true
				}
			}
		}
	}
	return false
}

// importsShared reads an import section.
func (r *wasmReader) importsShared() bool {
	for count := r.number(); count > 0 && r.left(); count-- {
		r.skip(r.number())
		r.skip(r.number())
		switch r.byte() {
		case 0: // function
			r.number()
		case 1: // table
			r.valueType()
			r.limits()
		case 2: // memory
			if r.limits() {
				return true
			}
		case 3: // global
			r.valueType()
			r.byte()
		case 4: // tag
			r.byte()
			r.number()
		default:
			return false // no module that the engine accepts
		}
	}
	return false
}

package v8

// #include <stdlib.h>
// #include "isolate.h"
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"unsafe"

	"github.com/edge-runtime/edge/isolate"
)

// program is a prepared set of modules in C++ memory.
type program struct {
	resolve func(specifier, referrer, attrType string) (string, error)
	handle  cgo.Handle
	c       *C.edge_program
}

// NewProgram copies the modules into memory that isolates share.
func (e *Engine) NewProgram(src isolate.ProgramSource) (isolate.Program, error) {
	found := false
	mods := make([]C.edge_module, len(src.Modules)+1)
	var pin runtime.Pinner
	defer pin.Unpin()
	str := func(p *byte, n int) (*C.char, C.size_t) {
		if n == 0 {
			return nil, 0
		}
		pin.Pin(p)
		return (*C.char)(unsafe.Pointer(p)), C.size_t(n)
	}
	for i, m := range src.Modules {
		found = found || m.Key == src.Main
		mods[i].key, mods[i].key_len = str(unsafe.StringData(m.Key), len(m.Key))
		mods[i].source, mods[i].source_len = str(unsafe.SliceData(m.Source), len(m.Source))
		mods[i]._type = C.int32_t(m.Type)
	}
	if !found {
		return nil, fmt.Errorf("prepare program: no module has the key %q of the main module", src.Main)
	}
	p := &program{resolve: src.Resolve}
	p.handle = cgo.NewHandle(p)
	main, n := str(unsafe.StringData(src.Main), len(src.Main))
	p.c = C.edge_program_new(&mods[0], C.size_t(len(src.Modules)), main, n, C.uintptr_t(p.handle))
	return p, nil
}

// MakeCodeCache stores what iso has compiled of the program.
func (p *program) MakeCodeCache(iso isolate.Isolate) (int, error) {
	in, ok := iso.(*instance)
	if !ok {
		return 0, fmt.Errorf("make code cache: the isolate is of another engine (%T)", iso)
	}
	return int(C.edge_program_make_cache(p.c, in.c)), nil
}

// Close frees the modules; no isolate may use them.
func (p *program) Close() error {
	if p.c != nil {
		C.edge_program_free(p.c)
		p.c = nil
		p.handle.Delete()
	}
	return nil
}

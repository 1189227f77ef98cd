package v8

// #include <stdlib.h>
// #include "isolate.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/edge-runtime/edge/isolate/op"
)

// snapshot is the start-up snapshot with the handlers that its JavaScript
// registered.
type snapshot struct {
	c        *C.edge_snapshot
	handlers map[string]uint16
}

// newSnapshot evaluates the sorted extensions and serialises the heap.
func newSnapshot(exts []op.Extension, ops []op.Op) (*snapshot, error) {
	var pin runtime.Pinner
	defer pin.Unpin()
	str := func(s string) (*C.char, C.size_t) {
		if s == "" {
			return nil, 0
		}
		p := unsafe.StringData(s)
		pin.Pin(p)
		return (*C.char)(unsafe.Pointer(p)), C.size_t(len(s))
	}
	cexts := make([]C.edge_extension, len(exts)+1)
	for i, x := range exts {
		cexts[i].name, cexts[i].name_len = str(x.Name)
		cexts[i].source, cexts[i].source_len = str(x.Source)
	}
	cops := make([]C.edge_op, len(ops)+1)
	for i, o := range ops {
		cops[i].name, cops[i].name_len = str(o.Name)
		cops[i].mode = C.int32_t(o.Mode)
	}
	var cerr C.edge_text
	c := C.edge_snapshot_new(&cexts[0], C.size_t(len(exts)), &cops[0], C.size_t(len(ops)), &cerr)
	if c == nil {
		msg := C.GoStringN(cerr.data, C.int(cerr.len))
		C.free(unsafe.Pointer(cerr.data))
		return nil, fmt.Errorf("make start-up snapshot: %s", msg)
	}
	s := &snapshot{c: c, handlers: map[string]uint16{}}
	for i := range uint16(C.edge_snapshot_handlers(c)) {
		var n C.size_t
		p := C.edge_snapshot_handler(c, C.size_t(i), &n)
		name := C.GoStringN(p, C.int(n))
		if _, dup := s.handlers[name]; dup {
			C.edge_snapshot_free(c)
			return nil, fmt.Errorf("make start-up snapshot: two handlers are registered for %q", name)
		}
		s.handlers[name] = i
	}
	return s, nil
}

func (s *snapshot) bytes() int { return int(C.edge_snapshot_bytes(s.c)) }

func (s *snapshot) close() { C.edge_snapshot_free(s.c) }

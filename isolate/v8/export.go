package v8

// #include <stdlib.h>
// #include <string.h>
// #include "isolate.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/cgo"
	"unsafe"

	"github.com/edge-runtime/edge/isolate/op"
)

// The functions that C++ calls. A Go panic must not cross C++ frames, which it
// would leave without running destructors, so each recovers.

//export edge_go_sync_op
func edge_go_sync_op(host C.uintptr_t, inst *C.edge_instance, index, invocation C.uint32_t, args *C.uint8_t, n C.size_t, argc C.uint32_t) {
	var out []byte
	kind := C.int32_t(0)
	defer func() {
		if p := recover(); p != nil {
			kind, out = 1, encodeError(fmt.Errorf("sync op: panic: %v", p))
		}
		C.edge_isolate_sync_result(inst, kind, (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(out))), C.size_t(len(out)))
	}()
	in := cgo.Handle(host).Value().(*instance)
	src := unsafe.Slice((*byte)(unsafe.Pointer(args)), int(n))
	vals := make([]op.Value, 0, int(argc))
	for range int(argc) {
		v, rest, err := op.Decode(src)
		if err != nil {
			kind, out = 1, encodeError(err)
			return
		}
		vals, src = append(vals, v), rest
	}
	v, err := in.host.SyncOp(uint16(index), uint32(invocation), vals)
	if err != nil {
		kind, out = 1, encodeError(err)
		return
	}
	out = v.Append(nil)
}

func encodeError(err error) []byte {
	e := op.Public(err)
	out := op.Int(int64(e.Class)).Append(nil)
	out = op.String(e.Name).Append(out)
	out = op.String(e.Msg).Append(out)
	return op.String(e.Code).Append(out)
}

//export edge_go_resolve
func edge_go_resolve(host C.uintptr_t, spec *C.char, specLen C.size_t, referrer *C.char, referrerLen C.size_t, typ *C.char, typLen C.size_t, out *C.edge_text) (ok C.int) {
	defer func() {
		if p := recover(); p != nil {
			setText(out, "internal error")
			ok = 0
		}
	}()
	p := cgo.Handle(host).Value().(*program)
	s := C.GoStringN(spec, C.int(specLen))
	if p.resolve == nil {
		setText(out, fmt.Sprintf("cannot import %q: this worker has one module", s))
		return 0
	}
	key, err := p.resolve(s, C.GoStringN(referrer, C.int(referrerLen)), C.GoStringN(typ, C.int(typLen)))
	if err != nil {
		setText(out, err.Error())
		return 0
	}
	setText(out, key)
	return 1
}

//export edge_go_fatal
func edge_go_fatal(host C.uintptr_t, location, message *C.char) {
	defer func() { _ = recover() }() // the thread is parked next, whatever happened
	if host == 0 {
		return
	}
	in := cgo.Handle(host).Value().(*instance)
	in.host.Fatal(C.GoString(location), C.GoString(message))
}

var errNoIDNA = errors.New("domain is not ASCII")

//export edge_go_domain_to_ascii
func edge_go_domain_to_ascii(domain *C.char, n C.size_t, out *C.edge_text) (ok C.int) {
	defer func() {
		if p := recover(); p != nil {
			setText(out, "")
			ok = 0
		}
	}()
	f := domainToASCII.Load()
	ascii, err := "", errNoIDNA
	if f != nil {
		ascii, err = (*f)(C.GoStringN(domain, C.int(n)))
	}
	setText(out, ascii)
	if err != nil {
		return 0
	}
	return 1
}

// setText hands text to C++, which frees it.
func setText(out *C.edge_text, s string) {
	out.len = C.size_t(len(s))
	out.data = (*C.char)(C.malloc(C.size_t(len(s) + 1)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(out.data)), len(s)), s)
}

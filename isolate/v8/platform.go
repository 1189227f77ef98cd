// Package v8 is the engine: V8 13.6 behind isolate.Engine. It is the only
// package with cgo. C++ speaks integers and (pointer, length) pairs; it holds no
// policy.
//
// Before the first build, go generate lays a link to V8's headers, which come
// with the Go module that holds the compiled engine.
package v8

//go:generate go run ./headers

// #cgo CXXFLAGS: -std=c++20 -O2 -fno-rtti -fno-exceptions -fPIC -isystem ${SRCDIR}/include
// #cgo CXXFLAGS: -DV8_COMPRESS_POINTERS -DV8_31BIT_SMIS_ON_64BIT_ARCH -DV8_ENABLE_SANDBOX
// #cgo CXXFLAGS: -Wall -Wextra
// #cgo LDFLAGS: -static-libstdc++ -static-libgcc
// #include <stdlib.h>
// #include "platform.h"
import "C"

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"

	_ "rogchap.com/v8go" // links V8's archive for this platform
)

// flags are the V8 flags of the process, each with its reason.
//
// Code that Turbofan has not optimised looks for a termination at the end of a
// loop's round only when the loop has used up its function's interrupt budget.
// That budget is 2^30 bytes of bytecode, minutes, while an optimised version is
// compiled on another thread, and for functions too long to be optimised. So
// compilation is on the tenant's own thread, where its CPU time is charged to
// the tenant, and no function is too long.
var flags = []string{
	"--no-concurrent-recompilation",
	"--max-optimized-bytecode-size=2000000000",
	"--no-turboshaft-loop-unrolling",    // optimised loops of builtin calls could not be stopped
	"--no-wasm-async-compilation",       // compilation is the tenant's CPU time, inside its slice
	"--js-float16array",                 // shipped by browsers, off in 13.6; --js-base-64 errs, see webapi/uint8array.js
	"--js-explicit-resource-management", // likewise
	"--no-verify-snapshot-checksum",     // the snapshot never leaves this process
	"--max-lazy",                        // what a cold worker does not call is not compiled
	"--stack-size=864",                  // KiB; threads of Go have at least 1 MiB
}

var initOnce sync.Once

// initPlatform starts V8 for the process. Flags and traps of the first call
// count; V8 cannot be started twice.
func initPlatform(o Options) {
	initOnce.Do(func() {
		all := strings.Join(append(flags, o.Flags...), " ")
		cs := C.CString(all)
		defer C.free(unsafe.Pointer(cs))
		C.edge_platform_init(cs, C.size_t(len(all)), C.int(max(1, min(4, runtime.NumCPU()-1))), C.bool(o.JumpOnFatal))
		if o.WasmTraps {
			C.edge_platform_wasm_traps()
		}
	})
}

// Version returns the version of the linked V8, such as "13.6.233.10".
func Version() string { return C.GoString(C.edge_platform_version()) }

// Trim gives free malloc memory back to the system. About 40 ms: for after mass
// eviction, on a goroutine of its own.
func Trim() { C.edge_platform_trim() }

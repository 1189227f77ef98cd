package wasm

import (
	"testing"

	"github.com/edge-runtime/edge/bindings/bindingtest"
	"github.com/edge-runtime/edge/isolate/op"
)

func TestWasm(t *testing.T) {
	const empty = "\x00asm\x01\x00\x00\x00"
	files := map[string]string{"lib/m.wasm": empty, "m.wat": " (module)", "empty.wasm": "", "component.wasm": "\x00asm\x0d\x00\x01\x00"}
	bindingtest.Run(t, Kind(), []bindingtest.Case{
		{Name: "a module", CUE: `wasm: "lib/m.wasm"`, Files: files, Want: op.Wasm([]byte(empty))},
		{Name: "no such file", CUE: `wasm: "lib/n.wasm"`, Files: files, Mistake: `file "lib/n.wasm": no such file (did you mean "m.wasm"?)`},
		{Name: "a folder", CUE: `wasm: "lib"`, Files: files, Mistake: `file "lib": is a folder`},
		{Name: "the text format", CUE: `wasm: "m.wat"`, Files: files, OpenError: "looks like the text format"},
		{Name: "an empty file", CUE: `wasm: "empty.wasm"`, Files: files, OpenError: "does not begin with the bytes of one"},
		{Name: "a component", CUE: `wasm: "component.wasm"`, Files: files, OpenError: "is no WebAssembly module"},
		{Name: "no path", CUE: `wasm: ""`, Files: files, Mistake: "is empty"},
	})
}

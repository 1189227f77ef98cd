package data

import (
	"testing"

	"github.com/edge-runtime/edge/bindings/bindingtest"
	"github.com/edge-runtime/edge/isolate/op"
)

func TestData(t *testing.T) {
	files := map[string]string{"x.bin": "\x00\xff"}
	bindingtest.Run(t, Kind(), []bindingtest.Case{
		{Name: "a file", CUE: `data: file: "x.bin"`, Files: files, Want: op.Bytes([]byte("\x00\xff"))},
		{Name: "base64", CUE: `data: base64: "aGVsbG8="`, Want: op.Bytes([]byte("hello"))},
		{Name: "no bytes", CUE: `data: base64: ""`, Want: op.Bytes(nil)},
		{Name: "both", CUE: `data: {file: "x.bin", base64: ""}`, Files: files, Mistake: "give file or base64, one of them"},
		{Name: "neither", CUE: `data: {}`, Mistake: "give file or base64, one of them"},
		{Name: "not base64", CUE: `data: base64: "aGVsbG8"`, Mistake: "the standard alphabet, with padding"},
		{Name: "no such file", CUE: `data: file: "y.bin"`, Mistake: `services.worker.worker.bindings.BOUND.data.file: file "y.bin": no such file`},
		{Name: "an unknown field", CUE: `data: fil: "x.bin"`, Mistake: `did you mean "file"?`},
		{Name: "a string", CUE: `data: "x.bin"`, Mistake: "should be a struct"},
	})
}

package isolate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
)

// wasmOf makes a module of sections.
func wasmOf(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), bytes.Join(sections, nil)...)
}

func TestSharesMemory(t *testing.T) {
	plain, shared := []byte{5, 4, 1, 1, 1, 2}, []byte{5, 4, 1, 3, 1, 2}
	imports := func(entries ...[]byte) []byte {
		all := bytes.Join(entries, nil)
		return append([]byte{2, byte(len(all) + 1), byte(len(entries))}, all...)
	}
	name := []byte{1, 'a', 1, 'b'}
	entry := func(b ...byte) []byte { return append(bytes.Clone(name), b...) }
	for _, tt := range []struct {
		name   string
		module []byte
		want   bool
	}{
		{"empty", nil, false},
		{"no section", wasmOf(), false},
		{"a memory", wasmOf(plain), false},
		{"a shared memory", wasmOf(shared), true},
		{"a shared memory of 64 bits", wasmOf([]byte{5, 4, 1, 7, 1, 2}), true},
		{"the second memory is shared", wasmOf([]byte{5, 6, 2, 0, 1, 3, 1, 2}), true},
		{"behind another section", wasmOf([]byte{0, 3, 1, 'x', 9}, shared), true},
		{"numbers longer than need be", wasmOf([]byte{5, 0x86, 0x80, 0x00, 0x81, 0x00, 3, 0x81, 0x00, 2}), true},
		{"imported", wasmOf(imports(entry(2, 3, 1, 2))), true},
		{"imported, not shared", wasmOf(imports(entry(2, 1, 1, 2))), false},
		{"imported behind all else", wasmOf(imports(entry(0, 5), entry(1, 0x70, 1, 2, 3), entry(1, 0x63, 4, 0, 2), entry(3, 0x64, 4, 1), entry(3, 0x7f, 0), entry(4, 0, 1), entry(2, 3, 1, 2))), true},
		{"a shared table is none of ours", wasmOf(imports(entry(1, 0x70, 3, 2, 3))), false},
		{"an import of no kind", wasmOf(imports(entry(9), entry(2, 3, 1, 2))), false},
		{"cut in the memory", wasmOf([]byte{5, 4, 1}), false},
		{"cut in an import", wasmOf([]byte{2, 9, 1, 200, 'a'}), false},
		{"a section that never ends", wasmOf([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, shared), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := sharesMemory(tt.module); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func FuzzSharesMemory(f *testing.F) {
	f.Add(wasmOf([]byte{5, 4, 1, 3, 1, 2}))
	f.Add(wasmOf([]byte{2, 9, 1, 1, 'a', 1, 'b', 2, 3, 1, 2}))
	f.Fuzz(func(_ *testing.T, module []byte) { sharesMemory(module) }) // it neither hangs nor panics
}

func TestWorkerWithSharedMemoryIsRefused(t *testing.T) {
	shared := wasmOf([]byte{5, 4, 1, 3, 1, 2})
	for _, tt := range []struct {
		name string
		cfg  WorkerConfig
		want string
	}{
		{"a module", WorkerConfig{Program: ProgramSource{Modules: []Module{{Key: "a.wasm", Type: WasmModule, Source: shared}}}}, `load "a.wasm": `},
		{"bytes that are no module", WorkerConfig{Program: ProgramSource{Modules: []Module{{Key: "a.bin", Type: DataModule, Source: shared}}}}, ""},
		{"a binding", WorkerConfig{Env: []EnvEntry{{Name: "MOD", Value: op.Wasm(shared)}}}, "load env.MOD: "},
		{"a binding of bytes", WorkerConfig{Env: []EnvEntry{{Name: "MOD", Value: op.Bytes(shared)}}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.cfg.checkWasm()
			if got := err == nil; got != (tt.want == "") {
				t.Fatalf("got %v", err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

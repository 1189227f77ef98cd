package v8

import (
	"testing"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
)

// TestProbeSamplesMemory looks into slices that allocate.
func TestProbeSamplesMemory(t *testing.T) {
	tests := []struct {
		name, body string
		enough     func(m isolate.Memory) bool
	}{
		{"heap", "const a = [], f = () => a.push({}); for (;;) if (a.length < 1e5) f(); else [3, 2, 1].sort(() => 1);", func(m isolate.Memory) bool { return m.HeapUsed > 1<<20 }},
		{"buffers", "const a = new Uint8Array(5e6); for (;;) a[0]++;", func(m isolate.Memory) bool { return m.Buffers >= 5e6 }},
		{"large objects", "const a = new Array(1e5).fill(0.5); for (;;) [3, 2, 1].sort(() => 1);", func(m isolate.Memory) bool { return m.LargeObjects > 8e5 }},
		{"Wasm memories", "const m = new WebAssembly.Memory({ initial: 100 }); for (;;) m.buffer;", func(m isolate.Memory) bool { return m.External > 6e6 }},
		{"collections only", "for (;;) new Array(1000).fill(1);", func(m isolate.Memory) bool { return m.HeapTotal > 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, isolate.Params{})
			h.load("main.js", "export default (go) => { if (go) {"+tt.body+"} return 1; }")
			for range 3 {
				done := make(chan isolate.SliceResult, 1)
				go func() { done <- h.slice("run", 1, op.Bool(true)) }()
				var p isolate.Probe
				for !p.Running || !tt.enough(p.Memory) {
					select {
					case r := <-done:
						t.Fatalf("the script ended: %+v", r)
					default:
					}
					if p = h.iso.Probe(); p.Running && p.SliceNanos > 20e9 {
						h.lost = true
						t.Fatalf("no such sample within 20 s of CPU time: %+v", p)
					}
				}
				h.iso.Terminate()
				if r := <-done; r.Status != isolate.StatusTerminated {
					t.Fatalf("got %+v", r)
				}
				if p := h.iso.Probe(); p != (isolate.Probe{Serial: p.Serial}) {
					t.Errorf("between slices: got %+v", p)
				}
				h.call("run", 2) // the sample of an earlier slice is not shown in it
			}
		})
	}
}

func TestEmptySlices(t *testing.T) {
	h := newHost(t, isolate.Params{})
	h.load("main.js", "export default () => 1")
	for _, batch := range [][]byte{nil, {}} {
		if r := h.iso.Slice(batch); r.Status != isolate.StatusOK || r.Events != 0 || len(r.Times) != 0 || len(r.Commands) != 0 {
			t.Errorf("got %+v", r)
		}
	}
	if got := h.call("run", 1); got[0].args[1] != "1" {
		t.Errorf("got %v", got)
	}
}

// TestHeapLimitEndsTheEvent fills the heap in the second of three events.
func TestHeapLimitEndsTheEvent(t *testing.T) {
	for _, body := range []string{
		"const a = []; for (;;) a.push({});",
		"let s = 'x'; for (;;) { s += s.length; s = s.slice(0, 1000) + Math.random(); (globalThis.k ??= []).push(s + s); }",
		"const m = []; for (;;) m.push(new Array(20000).fill(0.5));",
		"(async () => { const a = []; for (;;) { a.push(new Array(1000).fill(1.5)); await 0; } })()",
	} {
		h := newHost(t, isolate.Params{HeapBytes: 16 << 20})
		h.load("main.js", "export default (go) => { if (go) {"+body+"} return 1; }")
		var b isolate.Batch
		run, _ := h.e.Handler("run")
		b.Call(run, 1, op.Bool(false))
		b.Call(run, 2, op.Bool(true))
		b.Call(run, 3, op.Bool(false))
		r := h.iso.Slice(b.Bytes())
		if r.Status != isolate.StatusHeapLimit || r.Events != 2 || len(r.Times) != 2 || r.Times[1].Invocation != 2 || r.Times[1].Nanos <= 0 {
			t.Errorf("%s: got %+v", body, r)
		}
		if len(h.reports(r)) == 0 {
			t.Errorf("%s: the first event's commands are lost", body)
		}
	}
}

// TestWasmCompilesInItsSlice: nothing of it is left for a later slice.
func TestWasmCompilesInItsSlice(t *testing.T) {
	h := newHost(t, isolate.Params{})
	h.load("main.js", `export default async () => {
		const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
		const m = await WebAssembly.compile(bytes);
		const { instance } = await WebAssembly.instantiate(bytes);
		return m instanceof WebAssembly.Module && instance instanceof WebAssembly.Instance ? "both" : "no"; }`)
	if got := h.call("run", 1); len(got) != 1 || got[0].args[1] != "both" {
		t.Errorf("got %v", got)
	}
}

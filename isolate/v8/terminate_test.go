package v8

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
)

// endless is a script that does not end by itself.
type endless struct {
	name, body string
	setup      string // of the module, run once
	// late says why V8 stops this one late: its terminations are allowed a longer
	// time.
	late string
}

// Wasm modules with one export "f": an empty loop, a loop of memory.grow(0), and
// a loop that calls the import "m"."g".
const (
	wasmLoop = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x05\x01\x01f\x00\x00\x0a\x09\x01\x07\x00\x03\x40\x0c\x00\x0b\x0b"
	wasmGrow = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x05\x03\x01\x00\x01\x07\x05\x01\x01f\x00\x00\x0a\x0e\x01\x0c\x00\x03\x40\x41\x00\x40\x00\x1a\x0c\x00\x0b\x0b"
	wasmCall = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x02\x07\x01\x01m\x01g\x00\x00\x03\x02\x01\x00\x07\x05\x01\x01f\x00\x01\x0a\x0b\x01\x09\x00\x03\x40\x10\x00\x0c\x00\x0b\x0b"
)

func wasmSetup(bytes, imports string) string {
	var b strings.Builder
	for i := range len(bytes) {
		fmt.Fprintf(&b, "%d,", bytes[i])
	}
	return "const w = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([" + b.String() + "])), " + imports + ").exports.f;"
}

// long makes a function too long for V8 to optimise.
var long = "if (go === 7) {" + strings.Repeat("big[0] = big[1] + big[2] * big[3] - big[4];", 3000) + "}"

var endlessScripts = []endless{
	{name: "empty loop", body: "for (;;);"},
	{name: "labelled loops", body: "a: for (;;) { b: for (let i = 0; ; i++) { if (i % 3 === 0) continue a; if (i % 5 === 0) break b; } }"},
	{name: "while with counters", body: "let i = 0, j = 0; while (true) { i = (i + 1) % 1000; j ^= i; } return j;"},
	{name: "fixed inner loops", body: "let s = 0; for (;;) for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) s ^= i * j;"},
	{name: "loop in a function that is inlined", setup: "const f = (x) => x + 1;", body: "let s = 0; for (;;) s = f(s) & 255;"},
	{name: "inlined function that loops over builtins", setup: "const f = (a) => { for (;;) a.fill(1); };", body: "f(small)"},
	{name: "inlined function with a bounded loop", setup: "const f = (a) => { for (let i = 0; i < 1e9; i++) a.fill(1); };", body: "for (;;) f(small)"},
	{name: "class static block", body: "class A { static { for (;;); } }"},
	{name: "class static block of builtins", body: "class A { static { for (;;) new Array(1000).fill(1); } }"},
	{name: "constructors", body: "class A { constructor() { this.x = [1]; } } class B extends A {} for (;;) new B();"},
	{name: "getter", body: "const o = { get x() { for (;;); } }; t.report(o.x)"},
	{name: "toString", body: "t.report(`${{ toString() { for (;;); } }}`)"},
	{name: "exceptions", body: "for (;;) { try { null.x; } catch { } }"},
	{name: "try, catch and finally", body: "for (;;) { try { for (;;) { try { throw 1; } finally { for (let i = 0; i < 100; i++); } } } catch { continue; } finally { continue; } }"},
	{name: "finally that loops", body: "try { for (;;); } finally { for (;;); }"},
	{name: "recursion", body: "const f = (n) => { if (n === 0) return 0; return f(n - 1) + f(n - 1); }; f(100)"},
	{name: "endless recursion, caught", body: "const f = () => { try { f(); } finally { f(); } }; f()"},

	{name: "arrays", body: "for (;;) new Array(1000).fill(1);"},
	{name: "arrays in a long function", body: "for (;;) small.fill(1);" + long},
	{name: "large arrays in a long function", body: "for (;;) big.fill(1);" + long},
	{name: "push and pop", body: "const a = []; for (;;) { a.push({}); a.pop(); }"},
	{name: "indexOf", body: "for (;;) big.indexOf(5)"},
	{name: "spread", body: "const a = [1, 2, 3]; for (;;) Math.max(...a, ...a);"},
	{name: "spread of a generator", body: "return [...(function* () { for (;;) yield 1; })()].length"},
	{name: "destructuring", body: "let a = 1, b = 2; for (;;) { [a, b] = [b, a]; ({ a, ...b } = { a, b }); }"},
	{name: "Array.from", body: "for (;;) Array.from({ length: 1000 }, (_, i) => i * 2);"},
	{name: "Array.from of much", body: "Array.from({ length: 2 ** 30 }, () => { for (;;); })"},
	{name: "reduce", body: "for (;;) small.reduce((a, b) => a + b, 0);"},
	{name: "map and filter", body: "for (;;) small.map((x) => x + 1).filter((x) => x & 1);"},
	{name: "forEach that loops", body: "small.forEach(() => { for (;;); })"},
	{name: "comparator", body: "for (;;) [3, 1, 2].sort(() => 1)"},
	{name: "sort", body: "for (;;) [3, 1, 2, 5, 4].sort()"},
	{name: "typed arrays", body: "const a = new Float64Array(4096); for (;;) for (let i = 0; i < a.length; i++) a[i] += i;"},
	{name: "typed array builtins", body: "const a = new Uint8Array(4096); for (;;) { a.fill(3); a.reverse(); a.subarray(1, 9).set([1, 2, 3]); }"},
	{name: "typed arrays that are made", body: "for (;;) new Uint8Array(100);"},

	{name: "string concatenation", body: "let s = ''; for (;;) { s += 'ab'; if (s.length > 1e6) s = ''; }"},
	{name: "string builtins", body: "let s = 'abc'; for (;;) s = s.repeat(3).toUpperCase().slice(1, 9).padEnd(10);"},
	{name: "string searches", body: "const s = 'x'.repeat(1e5); for (;;) s.indexOf('yx');"},
	{name: "split and join", body: "for (;;) 'a,b,c,d'.split(',').join(';');"},
	{name: "replaceAll", body: "const s = 'ab'.repeat(500); for (;;) s.replaceAll('a', 'c');"},
	{name: "template literals", body: "let n = 0; for (;;) { n = `${n}${n}`.length; }"},
	{name: "tagged templates", body: "const tag = (s, ...v) => s.raw.length + v.length; for (;;) tag`a${1}b${2}`;"},
	{name: "regular expression", body: "/(a+)+$/.test('a'.repeat(40) + 'b')"},
	{name: "regular expressions", body: "for (;;) 'abcabc'.replace(/b/g, 'x').match(/x(.)/);"},
	{name: "replace with a callback", body: "for (;;) 'abc'.replace(/./g, (c) => c + c);"},
	{name: "BigInt", body: "let a = 1n; for (;;) a = (a * 3n + 1n) % (1n << 200n);"},
	{name: "BigInt text", body: "for (;;) (1n << 500n).toString();"},
	{name: "numbers as text", body: "for (;;) parseFloat((Math.random() * 1e9).toFixed(3));"},
	{name: "dates", body: "for (;;) new Date(1e12).toISOString();"},

	{name: "Map growth", body: "for (;;) { const m = new Map(); for (let i = 0; i < 10000; i++) m.set(i, i); }"},
	{name: "Set growth", body: "for (;;) { const m = new Set(); for (let i = 0; i < 10000; i++) m.add(i); }"},
	{name: "Map lookups", body: "const m = new Map([[1, 2]]); for (;;) m.get(1);"},
	{name: "Map iteration", body: "const m = new Map([[1, 2]]); for (const [k] of m) { m.delete(k); m.set(k + 1, 1); }"},
	{name: "WeakMap", body: "const m = new WeakMap(); for (;;) m.set({}, 1);"},
	{name: "objects as maps", body: "for (;;) { const o = {}; for (let i = 0; i < 100; i++) o['k' + i] = i; for (const k in o) delete o[k]; }"},
	{name: "object builtins", body: "for (;;) Object.entries(Object.assign({}, { a: 1, b: 2 }));"},
	{name: "JSON", body: "for (;;) JSON.parse(JSON.stringify({ a: [1, 2, { b: 'c' }] }));"},
	{name: "toJSON", body: "for (;;) JSON.stringify({ toJSON() { return [1]; } });"},
	{name: "toJSON that loops", body: "JSON.stringify({ toJSON() { for (;;); } })"},
	{name: "reviver", body: "for (;;) JSON.parse('[1,2,3]', (k, v) => v);"},
	{name: "Proxy traps", body: "const p = new Proxy({}, { get: () => 1, has: () => true }); for (;;) { p.x; 'y' in p; }"},
	{name: "Proxy trap that loops", body: "new Proxy({}, { get() { for (;;); } }).x"},
	{name: "Reflect", body: "for (;;) Reflect.apply(Math.max, null, [1, 2]);"},
	{name: "bound functions", body: "const f = Math.min.bind(null, 1); for (;;) f(2);"},
	{name: "structured clones", body: "for (;;) t.native_structured_clone({ a: [1, 2, 3] }, [], {});"},
	{name: "natives of the runtime", body: "for (;;) t.native_utf8_encode('abc');"},
	{name: "Sync ops", body: "for (;;) t.sync('echo', 1);"},

	{name: "generator", body: "function* g() { for (;;) yield 1; } for (const x of g());"},
	{name: "generator that loops", body: "function* g() { try { for (;;); } finally { yield 2; } } g().next()"},
	{name: "generator delegation", body: "function* g() { for (;;) yield* [1, 2]; } for (const x of g());"},
	{name: "async generator", body: "(async () => { async function* g() { for (;;) yield 1; } for await (const x of g()); })();"},
	{name: "microtasks", body: "const f = () => Promise.resolve().then(f); f();"},
	{name: "await", body: "(async () => { for (;;) await 0; })();"},
	{name: "await and spin", body: "(async () => { await 0; for (;;); })();"},
	{name: "builtins after await", body: "(async () => { await 0; for (;;) new Array(1000).fill(1); })();"},
	{name: "thenables", body: "(async () => { for (;;) await { then(r) { r(1); } }; })();"},
	{name: "Promise.all", body: "(async () => { for (;;) await Promise.all([1, 2, 3]); })();"},
	{name: "rejections", body: "(async () => { for (;;) { try { await Promise.reject(1); } catch { } } })();"},

	{name: "Wasm loop", setup: wasmSetup(wasmLoop, "{}"), body: "w()"},
	{name: "Wasm loop of calls", setup: wasmSetup(wasmCall, "{ m: { g: () => {} } }"), body: "w()"},
	{name: "calls of Wasm", setup: wasmSetup("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x05\x01\x01f\x00\x00\x0a\x04\x01\x02\x00\x0b", "{}"), body: "for (;;) w()"},
	{name: "Wasm loop of memory.grow", setup: wasmSetup(wasmGrow, "{}"), body: "w()"},
}

// killTimes are the CPU times after which scripts are terminated: in the
// interpreter, while V8 compiles on other threads, and in optimised code.
var killTimes = []time.Duration{200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}

// TestTerminate kills endless scripts, each again and again in one isolate, which
// answers afterwards.
func TestTerminate(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 8
	}
	for _, s := range endlessScripts {
		t.Run(s.name, func(t *testing.T) {
			h := newHost(t, isolate.Params{})
			got := h.load("main.js", "const small = new Array(100).fill(0), big = new Array(10000).fill(0);"+s.setup+
				"export default (go) => { if (go) {"+s.body+"} return 1; }")
			if len(got) != 1 || got[0].args[0] != "loaded" {
				t.Fatalf("load: %v", got)
			}
			var worst time.Duration
			for i := range rounds {
				worst = max(worst, h.kill(killTimes[i%len(killTimes)], s.late != ""))
				if got := h.call("run", 2, op.Bool(false)); len(got) != 1 || got[0].args[1] != "1" {
					t.Fatalf("after the kill: %v", got)
				}
			}
			t.Logf("stopped within %v", worst)
		})
	}
}

// kill runs the script, terminates it after cpu and returns how long it took to
// end.
func (h *testHost) kill(cpu time.Duration, late bool) time.Duration {
	h.t.Helper()
	limit := 5 * time.Second
	if late {
		limit = 30 * time.Second
	}
	iso := h.iso.(*instance)
	var b isolate.Batch
	run, _ := h.e.Handler("run")
	b.Call(run, 1, op.Bool(true))
	done := make(chan isolate.SliceResult, 1)
	go func() { done <- iso.Slice(b.Bytes()) }()
	serial := h.runningFor(cpu, done)
	start := time.Now()
	if !iso.TerminateSlice(serial) {
		h.t.Fatal("the slice was not running")
	}
	select {
	case r := <-done:
		took := time.Since(start)
		if r.Status == isolate.StatusFatal {
			h.t.Logf("left after %v: %s", took, r.Fatal)
		}
		if r.Status != isolate.StatusTerminated || r.CPUNanos == 0 || len(r.Times) != 1 || r.Times[0].Invocation != 1 {
			h.t.Fatalf("got %+v", r)
		}
		if iso.TerminateSlice(serial) {
			h.t.Error("a slice that has ended was stopped")
		}
		return took
	case <-time.After(limit):
		h.lost = true
		h.t.Fatalf("the script goes on %v after its termination", limit)
		return 0
	}
}

// runningFor waits until the slice has used that much CPU time and returns its
// number.
func (h *testHost) runningFor(cpu time.Duration, done <-chan isolate.SliceResult) uint64 {
	h.t.Helper()
	for {
		select {
		case r := <-done:
			h.t.Fatalf("the script ended by itself: %+v", r)
		default:
		}
		p := h.iso.Probe()
		if p.Running && p.SliceNanos > int64(cpu) {
			if p.Invocation > 1 || p.EventNanos > p.SliceNanos {
				h.t.Errorf("probe: got %+v", p)
			}
			return p.Serial
		}
	}
}

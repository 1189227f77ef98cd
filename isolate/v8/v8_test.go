package v8

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
)

// testSource is the "web platform" of these tests: handlers that run the code
// under test and report through ops.
const testSource = `
import { native_on, native_import_main, native_invocation, native_unhandled, native_builtin,
	native_structured_clone, native_set_dom_exception, native_promise_state,
	native_utf8_encode, native_utf8_decode, native_utf8_encode_into, native_latin1_encode, native_latin1_decode,
	native_base64_encode, native_base64_decode_forgiving, native_random_bytes,
	native_preview_entries, native_proxy_target, native_class_name,
	op_test_report, op_test_async, op_test_sync } from "edge:ops";
class DOMException extends Error { constructor(m, n) { super(m); this.name = n; } }
native_set_dom_exception((m, n) => new DOMException(m, n));
globalThis.t = { native_structured_clone, native_promise_state, native_utf8_encode, native_utf8_decode, native_utf8_encode_into,
	native_latin1_encode, native_latin1_decode, native_base64_encode, native_base64_decode_forgiving, native_random_bytes,
	native_preview_entries, native_proxy_target, native_class_name, native_invocation,
	report: op_test_report, async: op_test_async, sync: op_test_sync };
native_unhandled((type, p, reason) => op_test_report("unhandled", type, String(reason)));
native_builtin("edge:workers", { answer: 42 });
const show = (e) => e && e.stack ? String(e.stack) : String(e);
let main;
native_on("load", () => native_import_main().then((ns) => { main = ns; op_test_report("loaded", Object.keys(ns).join()); },
	(e) => op_test_report("load failed", show(e))));
native_on("run", (...args) => {
	try {
		const r = main.default(...args);
		if (r instanceof Promise) r.then((v) => op_test_report("done", v), (e) => op_test_report("rejected", show(e)));
		else op_test_report("returned", r);
	} catch (e) { op_test_report("threw", show(e)); }
});
`

type report struct {
	inv  uint32
	args []string
}

// testHost drives one isolate by hand.
type testHost struct {
	t     *testing.T
	e     *Engine
	iso   isolate.Isolate
	fatal chan string
	lost  bool // a slice never ends, so the isolate cannot be closed
}

func (h *testHost) SyncOp(index uint16, inv uint32, args []op.Value) (op.Value, error) {
	c := op.NewCall(nil, nil, inv, 0, args)
	err := h.e.Ops()[index].Func(c)
	return c.Result(), err
}

func (h *testHost) Fatal(location, message string) {
	h.fatal <- location + ": " + message
}

var testOps = []op.Op{
	{Name: "op_test_report", Mode: op.Post, Func: func(*op.Call) error { return nil }},
	{Name: "op_test_async", Mode: op.Async, Func: func(*op.Call) error { return nil }},
	{Name: "op_test_sync", Mode: op.Sync, Func: func(c *op.Call) error {
		switch c.Text(0) {
		case "echo":
			c.Return(c.Arg(1))
		case "range":
			return op.Errorf(op.RangeError, "out of %s", "range")
		case "dom":
			return op.Aborted("stopped")
		case "secret":
			return errors.New("open /etc/passwd: denied")
		case "panic":
			panic("boom")
		}
		return nil
	}},
}

var (
	engineOnce sync.Once
	testEngine *Engine
)

func engine(t testing.TB) *Engine {
	engineOnce.Do(func() {
		o := engineOptions()
		o.Extensions = []op.Extension{{Name: "test", Source: testSource, Ops: testOps}}
		e, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		testEngine = e
	})
	return testEngine
}

func newHost(t *testing.T, p isolate.Params) *testHost {
	t.Helper()
	h := &testHost{t: t, e: engine(t), fatal: make(chan string, 1)}
	if p.HeapBytes == 0 {
		p.HeapBytes = 64 << 20
	}
	if p.BufferBytes == 0 {
		p.BufferBytes = 64 << 20
	}
	iso, err := h.e.New(p, h)
	if err != nil {
		t.Fatal(err)
	}
	h.iso = iso
	return h
}

// load attaches modules (name, source, name, source...); the first is main.
func (h *testHost) load(mods ...string) []report {
	h.t.Helper()
	src := isolate.ProgramSource{Main: mods[0], Resolve: func(spec, ref, typ string) (string, error) {
		for i := 0; i < len(mods); i += 2 {
			if strings.TrimPrefix(spec, "./") == mods[i] {
				return mods[i], nil
			}
		}
		if spec == "edge:workers" {
			return spec, nil
		}
		return "", fmt.Errorf("cannot import %q from %q (type %q)", spec, ref, typ)
	}}
	for i := 0; i < len(mods); i += 2 {
		typ := isolate.ESModule
		switch {
		case strings.HasSuffix(mods[i], ".json"):
			typ = isolate.JSONModule
		case strings.HasSuffix(mods[i], ".txt"):
			typ = isolate.TextModule
		case strings.HasSuffix(mods[i], ".bin"):
			typ = isolate.DataModule
		case strings.HasSuffix(mods[i], ".wasm"):
			typ = isolate.WasmModule
		}
		src.Modules = append(src.Modules, isolate.Module{Key: mods[i], Type: typ, Source: []byte(mods[i+1])})
	}
	p, err := h.e.NewProgram(src)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.iso.SetProgram(p); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if h.lost {
			return
		}
		if err := errors.Join(h.iso.Close(), p.Close()); err != nil {
			h.t.Error(err)
		}
	})
	return h.call("load", 0)
}

func (h *testHost) call(handler string, inv uint32, args ...op.Value) []report {
	h.t.Helper()
	var b isolate.Batch
	n, ok := h.e.Handler(handler)
	if !ok {
		h.t.Fatalf("no handler %q", handler)
	}
	b.Call(n, inv, args...)
	r := h.iso.Slice(b.Bytes())
	if r.Status != isolate.StatusOK {
		h.t.Fatalf("slice of %q ended with status %d", handler, r.Status)
	}
	return h.reports(r)
}

// slice runs one event and returns what became of it.
func (h *testHost) slice(handler string, inv uint32, args ...op.Value) isolate.SliceResult {
	var b isolate.Batch
	n, _ := h.e.Handler(handler)
	b.Call(n, inv, args...)
	return h.iso.Slice(b.Bytes())
}

func (h *testHost) reports(r isolate.SliceResult) []report {
	h.t.Helper()
	var out []report
	for _, c := range h.commands(r) {
		if h.e.Ops()[c.Op].Name != "op_test_report" {
			continue
		}
		rep := report{inv: c.Invocation}
		for _, a := range c.Args {
			switch {
			case a.IsString():
				rep.args = append(rep.args, a.Text())
			case a.Kind() == op.KindBytes:
				rep.args = append(rep.args, fmt.Sprintf("%x", a.Raw()))
			case a.IsNullish():
				rep.args = append(rep.args, "-")
			default:
				rep.args = append(rep.args, fmt.Sprint(a.Number()))
			}
		}
		out = append(out, rep)
	}
	return out
}

func (h *testHost) commands(r isolate.SliceResult) []isolate.Command {
	h.t.Helper()
	var out []isolate.Command
	rest := r.Commands
	for len(rest) > 0 {
		c, next, err := isolate.NextCommand(rest, nil)
		if err != nil {
			h.t.Fatal(err)
		}
		out, rest = append(out, c), next
	}
	return out
}

// eval runs the body of a function whose result is reported.
func eval(t *testing.T, body string, args ...op.Value) string {
	t.Helper()
	h := newHost(t, isolate.Params{})
	got := h.load("main.js", "export default function () {"+body+"}")
	if len(got) != 1 || got[0].args[0] != "loaded" {
		t.Fatalf("load: %v", got)
	}
	got = h.call("run", 7, args...)
	if len(got) != 1 {
		t.Fatalf("run: got %d reports: %v", len(got), got)
	}
	return strings.Join(got[0].args, "|")
}

func TestValuesCrossBothWays(t *testing.T) {
	tests := []struct {
		name string
		in   op.Value
		want string
	}{
		{"undefined", op.Undefined, "returned|-"},
		{"integer", op.Int(-7), "returned|-7"},
		{"large integer", op.Int(1 << 40), "returned|1.099511627776e+12"},
		{"double", op.Float(1.5), "returned|1.5"},
		{"string with NUL", op.String("a\x00b"), "returned|a\x00b"},
		{"Latin-1", op.String("caf\u00e9"), "returned|caf\u00e9"},
		{"beyond the BMP", op.String("\U0001F600"), "returned|\U0001F600"},
		{"byte string", op.ByteString([]byte{0xff, 0}), "returned|\u00ff\x00"},
		{"bytes with NUL", op.Bytes([]byte{0, 1, 0}), "returned|000100"},
		{"empty bytes", op.Bytes(nil), "returned|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := eval(t, "return arguments[0]", tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestScripts(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"list and JSON", "return JSON.stringify(arguments)", `returned|{"0":[1,"x"],"1":{"a":[true]}}`},
		{"utf8 encode", `return t.native_utf8_encode("\u00e9\u20ac\ud83d\ude00\ud800")`, "returned|c3a9e282acf09f9880efbfbd"},
		{"utf8 decode", `return t.native_utf8_decode(new Uint8Array([0xEF,0xBB,0xBF,0xC3,0xA9,0xFF]), false, false)`, "returned|\u00e9\ufffd"},
		{"utf8 fatal", `t.native_utf8_decode(new Uint8Array([0xC3]), true, false)`, "threw|TypeError: The encoded data was not valid for encoding utf-8"},
		{"utf8 surrogate fatal", `t.native_utf8_decode(new Uint8Array([0xED,0xA0,0x80]), true, false)`, "threw|TypeError: The encoded data was not valid for encoding utf-8"},
		{"encode into stops before a split", `const c = new Uint32Array(2), d = new Uint8Array(4); t.native_utf8_encode_into("a\u20ac\u20ac", d, c); return c.join()`, "returned|2,4"},
		{"base64", `return t.native_base64_encode(new Uint8Array([0,255,7]))`, "returned|AP8H"},
		{"base64 forgiving", `return t.native_base64_decode_forgiving(" A P8H ").length`, "returned|3"},
		{"base64 invalid", `return t.native_base64_decode_forgiving("A")`, "returned|-"},
		{"latin1", `return t.native_latin1_decode(t.native_latin1_encode("\u00ff\x00"))`, "returned|\u00ff\x00"},
		{"random fills", `const a = new Uint8Array(64); t.native_random_bytes(a); return a.some((x) => x !== 0) ? 1 : 0`, "returned|1"},
		{"clone", `const a = {m: new Map([[1, new Date(5)]]), e: new RangeError("x")}; a.self = a; const b = t.native_structured_clone(a, [], {}); return [b.self === b, b.m.get(1).getTime(), b.e instanceof RangeError].join()`, "returned|true,5,true"},
		{"clone of a function", `t.native_structured_clone(() => 1, [], {})`, "threw|DataCloneError: () => 1 could not be cloned."},
		{"clone transfers", `const a = new ArrayBuffer(8); const b = t.native_structured_clone(a, [a], {}); return a.byteLength + "," + b.byteLength`, "returned|0,8"},
		{"clone hooks", `class P { #x = 3; static is(o) { return #x in o; } get x() { return this.#x; } }
			const hooks = {write: (o) => P.is(o) ? {tag: 1} : undefined, read: () => new P()};
			return t.native_structured_clone({p: new P(), q: new (class Q { a = 1 })}, [], hooks).p.x`, "returned|3"},
		{"promise state", `return t.native_promise_state(Promise.resolve(5)).join()`, "returned|1,5"},
		{"preview", `return JSON.stringify(t.native_preview_entries(new Map([[1, 2]]).entries()))`, "returned|[[1,2],true]"},
		{"proxy", `return t.native_proxy_target(new Proxy({a: 1}, {get() { throw 1; }}))[0].a`, "returned|1"},
		{"sync op", `return t.sync("echo", "\u20ac")`, "returned|\u20ac"},
		{"sync op throws its class", `try { t.sync("range") } catch (e) { return e instanceof RangeError ? e.message : "no" }`, "returned|out of range"},
		{"sync op DOMException", `try { t.sync("dom") } catch (e) { return e.name }`, "returned|AbortError"},
		{"sync op hides the host", `try { t.sync("secret") } catch (e) { return e.message }`, "returned|internal error"},
		{"sync op panic", `try { t.sync("panic") } catch (e) { return e.message }`, "returned|internal error"},
		{"no code from strings", `try { eval("1") } catch (e) { return e.name + ": " + e.message }`, "returned|EvalError: Code generation from strings is not allowed in a worker"},
		{"no Function", `try { new Function("return 1")() } catch (e) { return e.name }`, "returned|EvalError"},
		{"a function does not cross", `t.report(() => 1)`, "threw|TypeError: a value of type function cannot be passed to the runtime"},
		{"Float16Array", `return new Float16Array(2).byteLength`, "returned|4"},
		{"unbounded recursion is a RangeError", `function f() { f(); } try { f() } catch (e) { return e.name }`, "returned|RangeError"},
		{"buffer limit is a RangeError", `try { new ArrayBuffer(1 << 28) } catch (e) { return e.name }`, "returned|RangeError"},
		{"invocation", `return t.native_invocation()`, "returned|7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := eval(t, tt.body, op.List(op.Int(1), op.String("x")), op.JSON([]byte(`{"a":[true]}`)))
			got, _, _ = strings.Cut(got, "\n")
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestModules(t *testing.T) {
	wasm := "\x00asm\x01\x00\x00\x00\x01\x07\x01\x60\x02\x7f\x7f\x01\x7f\x03\x02\x01\x00\x07\x07\x01\x03add\x00\x00\x0a\x09\x01\x07\x00\x20\x00\x20\x01\x6a\x0b"
	h := newHost(t, isolate.Params{})
	got := h.load("main.js", `
		import { b } from "./b.js";
		import data from "./d.json" with { type: "json" };
		import text from "./t.txt";
		import bin from "./x.bin";
		import wasm from "./w.wasm";
		import { answer } from "edge:workers";
		await null;
		export default async () => {
			const { late } = await import("./late.js");
			const again = await import("./late.js");
			let refused; try { await import("npm:x") } catch (e) { refused = e.name + ": " + e.message }
			return [b, data.k, text.length, new Uint8Array(bin).join(), new WebAssembly.Instance(wasm).exports.add(2, 3), answer, late,
				again.late === late, import.meta.url, import.meta.main, refused].join("|");
		};`,
		"b.js", `export const b = import.meta.main`, "d.json", `{"k": 9}`, "t.txt", "a\x00b", "x.bin", "\x00\x01", "w.wasm", wasm,
		"late.js", `export const late = "L"`)
	if len(got) != 1 || got[0].args[0] != "loaded" {
		t.Fatalf("load: %v", got)
	}
	got = h.call("run", 1)
	want := `false|9|3|0,1|5|42|L|true|file:///main.js|true|TypeError: cannot import "npm:x" from "main.js" (type "")`
	if len(got) != 1 || got[0].args[1] != want {
		t.Errorf("got %v\nwant %q", got, want)
	}
}

// TestDynamicImports imports what is being evaluated, what failed before, and
// with an Array.prototype that listens.
func TestDynamicImports(t *testing.T) {
	tests := []struct{ name, main, want string }{
		{"itself", `const p = import("./main.js"); export const x = "me"; export default async () => (await p).x`, "done|me"},
		{"the importer", `import { p } from "./cycle.js"; export const x = "me"; export default async () => (await p).x`, "done|me"},
		{"itself, while it awaits", `const p = import("./main.js"); await null; export const x = "me"; export default async () => (await p).x`, "done|me"},
		{"what throws, twice", `const get = () => import("./throws.js").then(() => "no", (e) => e.message);
			export default async () => (await get()) + (await get())`, "done|oops 1oops 1"},
		{"what does not link, twice", `const get = () => import("./unlinked.js").then(() => "no", (e) => e.name);
			export default async () => (await get()) + (await get())`, "done|SyntaxErrorSyntaxError"},
		{"data, twice", `export default async () => (await import("./d.json")).default === (await import("./d.json")).default ? "same" : "two"`, "done|same"},
		{"the invocation stays", `export default async () => (await import("./b.js"), t.native_invocation())`, "done|7"},
		{"setters on Array.prototype", `export default async () => {
			let seen = 0;
			for (const i of [0, 1]) Object.defineProperty(Array.prototype, i, { set() { seen++; }, get() { return 5; }, configurable: true });
			try { return (await import("./b.js")).b + seen; } finally { delete Array.prototype[0]; delete Array.prototype[1]; }
		}`, "done|10"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, isolate.Params{})
			got := h.load("main.js", tt.main, "cycle.js", `export const p = import("./main.js")`, "b.js", `export const b = "1"`,
				"throws.js", `globalThis.n = (globalThis.n ?? 0) + 1; throw new Error("oops " + n)`,
				"unlinked.js", `import { none } from "./b.js"`, "d.json", "{}")
			if len(got) != 1 || got[0].args[0] != "loaded" {
				t.Fatalf("load: %v", got)
			}
			got = h.call("run", 7)
			if len(got) != 1 || strings.Join(got[0].args, "|") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestModuleErrorsNameTheirPlace(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"syntax", "export default 1;\n  let x = ;", "SyntaxError: Unexpected token ';'\n    at file:///main.js:2:11"},
		{"throws", "\nthrow new Error('no')", "Error: no\n    at file:///main.js:2:7"},
		{"missing export", "import { x } from './b.js'", "SyntaxError: The requested module './b.js' does not provide an export named 'x'"},
		{"refused", "import 'http://x/'", "TypeError: cannot import \"http://x/\" from \"main.js\" (type \"\")"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, isolate.Params{})
			got := h.load("main.js", tt.source, "b.js", "")
			if len(got) != 1 || got[0].args[0] != "load failed" || !strings.HasPrefix(got[0].args[1], tt.want) {
				t.Errorf("got %v, want prefix %q", got, tt.want)
			}
		})
	}
}

func TestAsyncOps(t *testing.T) {
	h := newHost(t, isolate.Params{})
	h.load("main.js", `export default async (x) => { const r = await t.async(x); return t.native_invocation() + ":" + r; }`)
	var b isolate.Batch
	run, _ := h.e.Handler("run")
	b.Call(run, 1, op.String("a"))
	b.Call(run, 2, op.String("b"))
	r := h.iso.Slice(b.Bytes())
	cmds := h.commands(r)
	if len(cmds) != 2 || cmds[0].Promise == 0 || cmds[0].Promise == cmds[1].Promise || cmds[1].Invocation != 2 {
		t.Fatalf("got commands %+v", cmds)
	}
	p1, p2 := cmds[0].Promise, cmds[1].Promise
	b.Reset()
	b.Reject(p2, 2, &op.Error{Class: op.DOMException, Name: "AbortError", Msg: "gone", Code: "E"})
	b.Resolve(p1, 1, op.String("ok"))
	b.Resolve(p1, 1, op.String("twice")) // ignored
	b.Resolve(999, 1, op.String("unknown"))
	got := h.reports(h.iso.Slice(b.Bytes()))
	if len(got) != 2 || !strings.HasPrefix(got[0].args[1], "AbortError: gone") && !strings.HasPrefix(got[0].args[1], "Error: gone") || got[0].inv != 2 {
		t.Errorf("got %v", got)
	}
	if got[1].args[1] != "1:ok" || got[1].inv != 1 {
		t.Errorf("the invocation does not follow the promise: %v", got[1])
	}
}

func TestUnhandledRejections(t *testing.T) {
	h := newHost(t, isolate.Params{})
	h.load("main.js", `export default () => { Promise.reject(new Error("lost")); const p = Promise.reject(1); p.catch(() => {}); return 1; }`)
	got := h.call("run", 3)
	if len(got) != 2 || got[1].args[0] != "unhandled" || got[1].args[2] != "Error: lost" {
		t.Errorf("got %v", got)
	}
}

func TestBuffersAreCountedAndReturned(t *testing.T) {
	before := LiveBufferBytes()
	h := newHost(t, isolate.Params{BufferBytes: 8 << 20})
	h.load("main.js", `export default () => { const keep = []; try { for (;;) keep.push(new Uint8Array(300000)); } catch (e) { return e.name + keep.length; } }`)
	got := h.call("run", 1)
	if len(got) != 1 || got[0].args[1] != "RangeError27" {
		t.Errorf("got %v", got)
	}
	h.iso.Idle()
	if m := h.iso.Memory(); m.Buffers != 0 || m.HeapTotal == 0 {
		t.Errorf("after a collection: %+v", m)
	}
	if after := LiveBufferBytes(); after != before {
		t.Errorf("%d bytes are still counted", after-before)
	}
}

func TestPooledMemoryIsCleared(t *testing.T) {
	h := newHost(t, isolate.Params{})
	h.load("main.js", `export default (fill) => {
		for (const n of [600, 5000, 70000, 200000]) { const a = new Uint8Array(n); if (a.some((x) => x !== 0)) return "dirty"; if (fill) a.fill(7); }
		return "clean"; }`)
	for range 5 {
		if got := h.call("run", 1, op.Bool(true)); got[0].args[1] != "clean" {
			t.Fatalf("got %v", got)
		}
		h.iso.Idle()
	}
}

func TestCodeCache(t *testing.T) {
	src := isolate.ProgramSource{Main: "main.js", Modules: []isolate.Module{{Key: "main.js",
		Source: []byte("export default () => { " + strings.Repeat("globalThis.x = () => 1; ", 200) + " return 5; }")}}}
	e := engine(t)
	p, err := e.NewProgram(src)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range 3 {
		h := newHost(t, isolate.Params{})
		if err := h.iso.SetProgram(p); err != nil {
			t.Fatal(err)
		}
		h.call("load", 0)
		if got := h.call("run", 1); got[0].args[1] != "5" {
			t.Errorf("got %v", got)
		}
		n, err := p.MakeCodeCache(h.iso)
		if err != nil || (n > 0) != (i == 0) {
			t.Errorf("cache of isolate %d: %d bytes, %v", i, n, err)
		}
		if err := h.iso.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSnapshotErrors(t *testing.T) {
	engine(t)
	tests := []struct{ name, source, want string }{
		{"syntax", "let let;", "edge:bad: SyntaxError"},
		{"throws", "\nthrow new TypeError('x')", "edge:bad: TypeError: x"},
		{"op that does not exist", `import { op_nope } from "edge:ops"`, "does not provide an export named 'op_nope'"},
		{"never ends", "await new Promise(() => {})", "its top-level await never ends"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(Options{Extensions: []op.Extension{{Name: "bad", Source: tt.source}}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

// TestThreadsAndIsolatesDoNotLeak makes and ends many isolates.
func TestThreadsAndIsolatesDoNotLeak(t *testing.T) {
	cycle := func() {
		h := newHost(t, isolate.Params{})
		p, err := h.e.NewProgram(isolate.ProgramSource{Main: "m.js", Modules: []isolate.Module{{Key: "m.js", Source: []byte("export default () => 1")}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.iso.SetProgram(p); err != nil {
			t.Fatal(err)
		}
		h.call("load", 0)
		h.call("run", 1)
		if err := errors.Join(h.iso.Close(), p.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		cycle()
	}
	Trim()
	before := rss(t)
	for range 200 {
		cycle()
	}
	Trim()
	if grown := rss(t) - before; grown > 8<<20 {
		t.Errorf("200 isolates left %d KB behind", grown>>10)
	}
}

func rss(t *testing.T) int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Fscan(bytes.NewReader(data), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

func BenchmarkSlice(b *testing.B) {
	t := &testing.T{}
	h := newHost(t, isolate.Params{})
	h.load("main.js", "export default (a) => a")
	var batch isolate.Batch
	run, _ := h.e.Handler("run")
	batch.Call(run, 1, op.String("hello"))
	b.ReportAllocs()
	for b.Loop() {
		h.iso.Slice(batch.Bytes())
	}
}

package vfs

import (
	"errors"
	"strings"
	"testing"
)

func TestModulesGivenOneByOne(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"src/main.ts": "import { a } from './lib/a.js';\nimport data from './d.json' with { type: 'json' };\nimport t from 't.txt';\nimport w from './x.wasm';\nimport raw from './b.bin';\nimport y from './b.bin' with { type: 'bytes' };\nexport default { fetch(): never { throw new Error(a + data + t + w + raw + y) } }",
		"src/a.jsx":   `/** @jsxRuntime classic @jsx h */ const h = (x) => x; export const a = <p/>; export const later = (n) => import("./" + n);`,
		"tpl.txt":     "text!", "x.wasm": "\x00asm",
	})
	b, err := Build(BuildOptions{Root: dir, Modules: []ModuleSpec{
		{Name: "./main.js", Type: ESModule, File: "src/main.ts"},
		{Name: "lib/a.js", Type: ESModule, File: "src/a.jsx"},
		{Name: "d.json", Type: JSON, Source: []byte(`{"a":1}`)},
		{Name: "t.txt", Type: Text, File: "tpl.txt"},
		{Name: "x.wasm", Type: Wasm, File: "x.wasm"},
		{Name: "b.bin", Type: Data, Source: []byte{0, 255}},
		{Name: "lib/inline.js", Type: ESModule, Source: []byte(`export const i = await import("../lib/a.js")`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if b.Main != "main.js" {
		t.Errorf("got main %q", b.Main)
	}
	for key, want := range map[string]struct {
		typ  ModuleType
		text string
	}{
		"main.js": {ESModule, `with { type: "json" }`}, "lib/a.js": {ESModule, `h("p"`}, "d.json": {JSON, `{"a":1}`}, "t.txt": {Text, "text!"},
		"x.wasm": {Wasm, "\x00asm"}, "b.bin": {Data, "\x00\xff"}, "lib/inline.js": {ESModule, "await import("}, "b.bin" + bytesSuffix: {ESModule, "new Uint8Array(b)"},
	} {
		m, ok := b.Module(key)
		if !ok || m.Type != want.typ || !strings.Contains(string(m.Source), want.text) {
			t.Errorf("%s: got %v %s %q, want %q in it", key, ok, m.Type, m.Source, want.text)
		}
	}
	tests := []struct{ specifier, referrer, attr, want string }{
		{"./lib/a.js", "main.js", "", "lib/a.js"},
		{"./lib/a.js", "file:///main.js", "", "lib/a.js"},
		{"../main.js", "lib/a.js", "", "main.js"},
		{"./../lib/./a.js", "lib/a.js", "", "lib/a.js"},
		{"lib/a.js", "main.js", "", "lib/a.js"},
		{"./d.json", "main.js", "json", "d.json"},
		{"./d.json", "main.js", "", "d.json"},
		{"./t.txt", "main.js", "text", "t.txt"},
		{"./b.bin", "main.js", "", "b.bin"},
		{"./b.bin", "main.js", "bytes", "b.bin" + bytesSuffix},
		{"b.bin", "b.bin" + bytesSuffix, "", "b.bin"},
		{"cloudflare:workers", "main.js", "", RuntimeKey},
		{"edge:workers", "lib/a.js", "", RuntimeKey},
	}
	for _, tt := range tests {
		if got, err := b.Resolve(tt.specifier, tt.referrer, tt.attr); err != nil || got != tt.want {
			t.Errorf("resolve %q from %q as %q: got %q, %v, want %q", tt.specifier, tt.referrer, tt.attr, got, err, tt.want)
		}
	}
	stack := b.MapStack("Error: x\n    at Object.fetch (file:///main.js:" + lineOf(t, code(t, b), "throw new") + ")\n    at later (file:///lib/a.js:1:1)")
	if want := "at Object.fetch (src/main.ts:7:35)"; !strings.Contains(stack, want) || strings.Contains(stack, "file:") {
		t.Errorf("got stack %q, want %q in it", stack, want)
	}
	if frame := b.Frame("src/main.ts", 7, 35, false); !strings.Contains(frame, "> 7 | export default") {
		t.Errorf("got frame:\n%s", frame)
	}
}

func TestModulesAreRefused(t *testing.T) {
	t.Parallel()
	es := func(name, source string) ModuleSpec { return ModuleSpec{Name: name, Source: []byte(source)} }
	secret := lay(t, map[string]string{"x.js": "leaked"})
	tests := []struct {
		name    string
		modules []ModuleSpec
		main    string
		files   map[string]string
		want    []string
	}{
		{name: "imports that lead nowhere", modules: []ModuleSpec{es("a.js", "import './b.js';\nimport 'npm:x';\nimport '../up.js'"), es("lib/c.js", "import 'zod'")}, want: []string{
			`a.js:1:8: import "./b.js": the worker has no such module (it has "a.js", "lib/c.js")`, `a.js:2:8: import "npm:x": npm: specifiers are not fetched`,
			`a.js:3:8: import "../up.js": the path leaves the worker's modules`, `lib/c.js:1:8: import "zod": the worker has no such module`}},
		{name: "the wrong type", modules: []ModuleSpec{es("a.js", "import x from './t' with { type: 'json' }; import y from './a.js' with { type: 'text' }; export default x + y"), {Name: "t", Type: Text, Source: []byte("x")}},
			want: []string{`import "./t": it is of type text, not "json"`, `import "./a.js": it is of type esModule, not "text"`}},
		{name: "names", modules: []ModuleSpec{es("/a.js", ""), es("../a.js", ""), es("https://x/a.js", ""), es("", ""), es("edge:workers", ""), es("b.js", ""), es("./b.js", "")},
			want: []string{`"/a.js": the name is not`, `"../a.js": the name`, `"https://x/a.js"`, `""`, `"edge:workers"`, `read module "./b.js": the name is taken`}},
		{name: "a main that is not there", modules: []ModuleSpec{es("a.js", "")}, main: "b.js", want: []string{`find main module "b.js": no module has that name`}},
		{name: "a main that is no code", modules: []ModuleSpec{{Name: "a.json", Type: JSON, Source: []byte("1")}}, want: []string{`find main module "a.json": it is of type json (the main module is an esModule)`}},
		{name: "broken contents", modules: []ModuleSpec{es("a.js", ""), {Name: "b.json", Type: JSON, Source: []byte("{\n  x }")}, {Name: "c.txt", Type: Text, Source: []byte("\xff")}, {Name: "d", Type: 9}},
			want: []string{`b.json:2:3: parse JSON: invalid character 'x'`, `c.txt: read text: it is not UTF-8 (give it as data)`, `d: read module: type 9 is unknown`}},
		{name: "syntax errors", modules: []ModuleSpec{{Name: "a.js", File: "src/a.ts"}, es("b.js", "let = 1 1")}, files: map[string]string{"src/a.ts": "\nlet x: = 1"}, want: []string{`b.js:1:9: Expected ";" but found "1"`, `src/a.ts:2:8: Unexpected "="`}},
		{name: "files", modules: []ModuleSpec{{Name: "a.js", File: "none.js"}, {Name: "b.js", File: "../x.js"}, {Name: "c.js", File: "/etc/passwd"}, {Name: "d.js", File: "link.js"}, {Name: "e.js", File: "dir"}, {Name: "f", Type: Text, File: ".env"}},
			files: map[string]string{"link.js": "->" + secret + "/x.js", "dir/x": "", ".env": "K=V"},
			want:  []string{`read module "a.js": read file "none.js": no such file or directory`, `"b.js": the path leaves the project`, `"c.js": absolute paths`, `"d.js": the path leaves the project`, `"e.js": read file "dir": is a directory`, `"f": hidden files`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := tt.files
			if files == nil {
				files = map[string]string{}
			}
			dir := project(t, files)
			_, err := Build(BuildOptions{Root: dir, Modules: tt.modules, Main: tt.main})
			var be *BuildError
			if !errors.As(err, &be) {
				t.Fatalf("got %v, want a BuildError", err)
			}
			if len(be.Messages) != len(tt.want) {
				t.Fatalf("got %d messages, want %d:\n%s", len(be.Messages), len(tt.want), be)
			}
			for i, want := range tt.want {
				if got := be.Messages[i].String(); !strings.Contains(got, want) {
					t.Errorf("message %d: got %q, want %q in it", i, got, want)
				}
			}
			if strings.Contains(be.Error(), dir) || strings.Contains(be.Error(), "leaked") {
				t.Errorf("the error shows the host: %s", be)
			}
		})
	}
}

func TestRefusedLazyImportsOfGivenModulesAreWarnings(t *testing.T) {
	t.Parallel()
	b, err := Build(BuildOptions{Root: project(t, map[string]string{}), Modules: []ModuleSpec{
		{Name: "a.js", Source: []byte(`export default async (x) => [await import("node:fs"), await import("./" + x), await import(` + "`../../${x}.js`" + `)]`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0].String(), `a.js:1:43: import "node:fs": this build offers no Node.js modules`) {
		t.Errorf("got %v", b.Warnings)
	}
	if _, err := b.Resolve("node:fs", "a.js", ""); err == nil || !strings.Contains(err.Error(), "no Node.js modules") {
		t.Errorf("got %v", err)
	}
}

func TestResolveRefusesComputedImports(t *testing.T) {
	t.Parallel()
	b := mustBuild(t, "src/a.js", map[string]string{"src/a.js": `import w from "./w.wasm"; export default (x) => [w, import(x)]`, "src/w.wasm": "", "src/b.js": ""})
	for specifier, want := range map[string]string{
		"npm:zod":                          "npm: specifiers are not fetched",
		"https://x/y.js":                   "code is not fetched from the network",
		"data:text/javascript,import.meta": "data: specifiers are refused",
		"file:///etc/passwd":               "file: specifiers are refused",
		"node:fs":                          "no Node.js modules",
		"fs":                               "no Node.js modules",
		"/etc/passwd":                      "absolute paths are refused",
		"../../../etc/passwd":              "the path leaves the worker's modules",
		"./../../x":                        "the path leaves the worker's modules",
		"./b.js":                           "it is not in the bundle (only a constant specifier is bundled)",
		"./%2e%2e/%2e%2e/etc/passwd":       "it is not in the bundle",
		"./w.wasm?x":                       "it is not in the bundle",
		"zod":                              `package "zod" is not installed (run "npm install zod"; only a constant specifier is bundled)`,
		"src/w.wasm":                       "is not installed",
		"edge:internals":                   "this runtime has no such module",
		"":                                 "the specifier is empty",
		"./w.wasm\x00":                     "NUL",
	} {
		key, err := b.Resolve(specifier, "src/a.js", "")
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("resolve %q: got %q, %v, want %q", specifier, key, err, want)
		}
		if err != nil && strings.Contains(err.Error(), b.Root) {
			t.Errorf("resolve %q shows the host: %v", specifier, err)
		}
	}
	for _, referrer := range []string{"", "/", "nowhere/at/all.js", "../../..", "file:///../.."} {
		if key, err := b.Resolve("../x", referrer, ""); err == nil {
			t.Errorf("from %q: got %q", referrer, key)
		}
	}
	if _, err := b.Resolve("./w.wasm", "src/a.js", "json"); err == nil || !strings.Contains(err.Error(), `it is of type wasm, not "json"`) {
		t.Errorf("got %v", err)
	}
	if _, err := b.Resolve("edge:workers", "src/a.js", "json"); err == nil {
		t.Error("got the runtime's module as JSON")
	}
}

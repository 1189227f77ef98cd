package vfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const pkgJSON = `{"name":"t","private":true}`

// project lays files below a folder that has a package.json.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	if _, ok := files["package.json"]; !ok {
		files["package.json"] = pkgJSON
	}
	return lay(t, files)
}

// buildMain builds main of a project made of files.
func buildMain(t testing.TB, main string, files map[string]string) (*Bundle, error) {
	t.Helper()
	return Build(BuildOptions{Root: project(t, files), Main: main})
}

func mustBuild(t testing.TB, main string, files map[string]string) *Bundle {
	t.Helper()
	b, err := buildMain(t, main, files)
	if err != nil {
		t.Fatalf("build %s: %v", main, err)
	}
	return b
}

// code returns the main module's source.
func code(t testing.TB, b *Bundle) string {
	t.Helper()
	m, ok := b.Module(b.Main)
	if !ok {
		t.Fatalf("no module %q", b.Main)
	}
	return string(m.Source)
}

func TestBuildTakesWhatMainImports(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		main  string
		files map[string]string
		want  []string // in the code
		not   []string
	}{
		{name: "plain JavaScript", main: "a.js", files: map[string]string{"a.js": `export default { fetch() { return new Response("hi") } }`}, want: []string{`new Response("hi")`, "export {"}},
		{name: "TypeScript without endings", main: "src/a.ts", files: map[string]string{
			"src/a.ts": `import { b } from "./b"; import c from "./c.js"; export const x: number = b + c`, "src/b.ts": `export const b: number = 41`, "src/c.ts": `export default 1 as number`,
		}, want: []string{"41"}, not: []string{": number"}},
		{name: "the runtime's modules stay outside", main: "a.js", files: map[string]string{"a.js": `import { WorkerEntrypoint } from "cloudflare:workers"; import { env } from "edge:workers"; export default class extends WorkerEntrypoint { x = env }`}, want: []string{`from "cloudflare:workers"`, `from "edge:workers"`}},
		{name: "the runtime's module by require", main: "a.js", files: map[string]string{"a.js": `const { env } = require("cloudflare:workers"); export default env`}, want: []string{`from "cloudflare:workers"`}, not: []string{"throw Object"}},
		{name: "CommonJS package", main: "a.js", files: map[string]string{"a.js": `import x, { y } from "p"; export default x.y + y`, "node_modules/p/package.json": `{"main":"lib"}`, "node_modules/p/lib/index.js": `exports.y = require("./z.json").z`, "node_modules/p/lib/z.json": `{"z":77}`}, want: []string{"77"}},
		{name: "conditions of exports", main: "a.js", files: map[string]string{"a.js": `import x from "p"; export default x`, "node_modules/p/package.json": `{"exports":{"node":"./n.js","workerd":"./w.js","default":"./d.js"}}`, "node_modules/p/n.js": `export default "node"`, "node_modules/p/w.js": `export default "workerd"`, "node_modules/p/d.js": `export default "default"`}, want: []string{`"workerd"`}, not: []string{`"node"`, `"default"`}},
		{name: "require takes the require branch", main: "a.js", files: map[string]string{"a.js": `const x = require("p"); export default x`, "node_modules/p/package.json": `{"exports":{"import":"./i.js","require":"./r.js"}}`, "node_modules/p/i.js": `export default "esm"`, "node_modules/p/r.js": `module.exports = "cjs"`}, want: []string{`"cjs"`}, not: []string{`"esm"`}},
		{name: "browser map turns a Node module off", main: "a.js", files: map[string]string{"a.js": `import x from "p"; export default x`, "node_modules/p/package.json": `{"main":"m.js","browser":{"fs":false,"node:os":false,"./n.js":false,"q":false}}`, "node_modules/p/m.js": `import { readFileSync } from "fs"; const os = require("node:os"); const n = require("./n"); const q = require("q"); export default [readFileSync, os, n, q]`, "node_modules/p/n.js": `throw new Error("turned off")`, "node_modules/q/index.js": `throw new Error("turned off too")`}, not: []string{"turned off", "throw Object"}},
		{name: "browser map replaces a file", main: "a.js", files: map[string]string{"a.js": `import x from "p"; export default x`, "node_modules/p/package.json": `{"main":"m.js","browser":{"./m.js":"./b.js","fs":"./fs.js"}}`, "node_modules/p/m.js": `export default "main"`, "node_modules/p/b.js": `import fs from "fs"; export default "browser" + fs`, "node_modules/p/fs.js": `export default "shim"`}, want: []string{`"browser"`, `"shim"`}, not: []string{`"main"`}},
		{name: "a package named like a Node module", main: "a.js", files: map[string]string{"a.js": `import { Buffer } from "buffer"; const e = require("events"); export default [Buffer, e]`, "node_modules/buffer/index.js": `exports.Buffer = "polyfill"`, "node_modules/events/index.js": `module.exports = "emitter"`}, want: []string{`"polyfill"`, `"emitter"`}, not: []string{"throw Object"}},
		{name: "text, JSON and attributes", main: "a.js", files: map[string]string{"a.js": `import h from "./h.html"; import q from "./q.sql"; import j from "./j.json" with { type: "json" }; import t from "./a.js" with { type: "text" }; import u from "./u.data" with { type: "text" }; import n from "./n.conf" with { type: "json" }; import c from "./c.css"; export default [h, q, j, t, u, n, c]`, "h.html": "<p>html", "q.sql": "select 1", "j.json": `{"j":5}`, "u.data": "udata", "n.conf": `{"conf":6}`, "c.css": "a{b:url(x.png)}"}, want: []string{"<p>html", "select 1", "j: 5", "import h from", "udata", "conf: 6", "a{b:url(x.png)}"}},
		{name: "lowered syntax", main: "a.ts", files: map[string]string{"a.ts": `function d(v: any, c: any) {} ; export class A { @d m() { using x = null as any; return x } accessor z = 1 }`}, not: []string{"@d", "using x", "accessor z"}},
		{name: "decorators in JavaScript", main: "a.js", files: map[string]string{"a.js": `function d(v, c) {} ; export class A { @d m() {} }`}, not: []string{"@d"}},
		{name: "JSX without a tsconfig", main: "a.jsx", files: map[string]string{"a.jsx": `export default <p>x</p>`, "node_modules/react/jsx-runtime.js": `export const jsx = "the runtime"`}, want: []string{"the runtime"}},
		{name: "JSX by tsconfig", main: "src/a.tsx", files: map[string]string{"src/a.tsx": `export default <p>x</p>`, "tsconfig.json": `{ // comment
			"compilerOptions": { "jsx": "preserve", "jsxImportSource": "preact", }, }`, "node_modules/preact/jsx-runtime.js": `export const jsx = "preact's"`}, want: []string{`preact's`}},
		{name: "JSX factory by tsconfig", main: "a.tsx", files: map[string]string{"a.tsx": `const h = (x: any) => x; export default <p/>`, "tsconfig.json": `{"compilerOptions":{"jsx":"react","jsxFactory":"h"}}`}, want: []string{`h("p"`}},
		{name: "paths of tsconfig", main: "apps/x/a.ts", files: map[string]string{"apps/x/a.ts": `import { u } from "@lib/u"; import { v } from "~/v"; export default u + v`, "apps/x/tsconfig.json": `{"extends":"../../base.json"}`, "base.json": `{"compilerOptions":{"paths":{"@lib/*":["./lib/*"],"~/*":["lib/*"]}}}`, "lib/u.ts": `export const u = "from u"`, "lib/v.ts": `export const v = "from v"`}, want: []string{"from u", "from v"}},
		{name: "paths under a baseUrl", main: "a.ts", files: map[string]string{"a.ts": `import { u } from "u"; import { w } from "w"; export default u + w`, "tsconfig.json": `{"compilerOptions":{"baseUrl":"lib","paths":{"u":["x"]}}}`, "lib/x.ts": `export const u = "from x"`, "lib/w.ts": `export const w = "from w"`}, want: []string{"from x", "from w"}},
		{name: "class fields by tsconfig", main: "a.ts", files: map[string]string{"a.ts": `export class A { x }`, "tsconfig.json": `{"extends":["@cfg/a","./b"]}`, "node_modules/@cfg/a/tsconfig.json": `{"compilerOptions":{"useDefineForClassFields":true}}`, "b.json": `{"compilerOptions":{"useDefineForClassFields":false}}`}, want: []string{"A = class {\n}"}},
		{name: "package imports", main: "a.js", files: map[string]string{"package.json": `{"imports":{"#u":"./u.js"}}`, "a.js": `import u from "#u"; export default u`, "u.js": `export default "u!"`}, want: []string{"u!"}},
		{name: "package linked like pnpm does", main: "a.js", files: map[string]string{"a.js": `import p from "p"; export default p`, "node_modules/p": "->.pnpm/p@1/node_modules/p", "node_modules/.pnpm/p@1/node_modules/p/package.json": `{"type":"module","exports":"./i.js"}`, "node_modules/.pnpm/p@1/node_modules/p/i.js": `import q from "q"; export default "p" + q`, "node_modules/.pnpm/p@1/node_modules/q": "->../../q@1/node_modules/q", "node_modules/.pnpm/q@1/node_modules/q/index.js": `module.exports = "the q"`}, want: []string{"the q"}},
		{name: "cycle of imports", main: "a.js", files: map[string]string{"a.js": `import { b } from "./b.js"; export const a = () => b`, "b.js": `import { a } from "./a.js"; export const b = "cyc" + a`}, want: []string{"cyc"}},
		{name: "a dead branch is not looked up", main: "a.js", files: map[string]string{"a.js": `if (process.env.NODE_ENV === "development") require("./none"); if (false) await import("npm:x"); export default 1`}, not: []string{"MODULE_NOT_FOUND", "process.env"}},
		{name: "tree shaking", main: "a.js", files: map[string]string{"a.js": `import { used } from "p"; export default used`, "node_modules/p/package.json": `{"sideEffects":false,"module":"m.js"}`, "node_modules/p/m.js": `export const used = "is used"; export { x } from "./x.js"; export function unused() { return "not used" }`, "node_modules/p/x.js": `globalThis.x = "side effect"; export const x = 1`}, want: []string{"is used"}, not: []string{"not used", "side effect"}},
		{name: "a constant dynamic import is bundled", main: "a.js", files: map[string]string{"a.js": "export default async () => (await import(`./b.js`)).b", "b.js": `export const b = "lazy b"`}, want: []string{"lazy b"}},
		{name: "top-level await", main: "a.js", files: map[string]string{"a.js": `export default await Promise.resolve(3)`}, want: []string{"await Promise"}},
		{name: "a source map comment leads nowhere", main: "a.js", files: map[string]string{"a.js": "export default 1\n//# sourceMappingURL=file:///etc/hostname"}, not: []string{"hostname"}},
		{name: "the code is ASCII", main: "a.js", files: map[string]string{"a.js": `export default "hé ☃"`}, want: []string{`"h\xE9 \u2603"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := mustBuild(t, tt.main, tt.files)
			got := code(t, b)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in:\n%s", want, got)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(got, not) {
					t.Errorf("%q is in:\n%s", not, got)
				}
			}
			if strings.Contains(got, b.Root) {
				t.Errorf("the code shows the host's folder:\n%s", got)
			}
			if strings.Contains(string(b.Map(b.Main)), b.Root) {
				t.Errorf("the map shows the host's folder")
			}
		})
	}
}

func TestBuildRefusesByName(t *testing.T) {
	t.Parallel()
	secret := lay(t, map[string]string{"secret.js": "export default 'leaked'", "secret.json": `{"leaked":1}`, "bad.json": "leaked: yes"})
	up := "../../../../../../../../../.."
	tests := []struct {
		name  string
		files map[string]string
		make  func(dir string) error
		opts  BuildOptions
		want  []string // one per message
	}{
		{name: "npm", files: map[string]string{"a.js": "\n  import { z } from \"npm:zod@3/mini\""},
			want: []string{`a.js:2:21: import "npm:zod@3/mini": npm: specifiers are not fetched (run "npm install zod" and import "zod")`}},
		{name: "every scheme at once", files: map[string]string{"a.js": `import "jsr:@std/path@1"
import "http://x.example/a.js"
import "HTTPS://x.example/a.js"
import "data:text/javascript,1"
import "file:///etc/passwd"
import "node:fs/promises"
export * from "cloudflare:sockets"
import "bun:sqlite"
import "what:ever"
import "//x.example/a.js"
import "/etc/passwd"
import "C:\\x.js"
import "blob:x"
import ""`}, want: []string{
			`a.js:1:8: import "jsr:@std/path@1": jsr: specifiers are not fetched (run "npx jsr add @std/path" and import "@std/path")`,
			`a.js:2:8: import "http://x.example/a.js": code is not fetched from the network`,
			`a.js:3:8: import "HTTPS://x.example/a.js": code is not fetched`,
			`a.js:4:8: import "data:text/javascript,1": data: specifiers are refused`,
			`a.js:5:8: import "file:///etc/passwd": file: specifiers are refused`,
			`a.js:6:8: import "node:fs/promises": this build offers no Node.js modules (use an import of the file`,
			`a.js:7:15: import "cloudflare:sockets": this runtime has no such module (it offers "edge:workers"`,
			`a.js:8:8: import "bun:sqlite": bun: modules belong to another runtime`,
			`a.js:9:8: import "what:ever": what: specifiers are unknown here`,
			`a.js:10:8: import "//x.example/a.js": code is not fetched`,
			`a.js:11:8: import "/etc/passwd": absolute paths are refused`,
			`a.js:12:8: import "C:\\x.js": absolute paths are refused`,
			`a.js:13:8: import "blob:x": blob: specifiers are refused`,
			`a.js:14:8: import "": the specifier is empty`,
		}},
		{name: "from a dependency", files: map[string]string{"a.js": `import "p"`, "node_modules/p/package.json": `{"type":"module","main":"i.js"}`, "node_modules/p/i.js": "import crypto from 'crypto';\nimport 'https://x.example'"},
			want: []string{`node_modules/p/i.js:1:20: import "crypto": this build offers no Node.js modules (package "p" needs Node.js: look for an entry of it for browsers`, `node_modules/p/i.js:2:8: import "https://x.example"`}},
		{name: "not installed", files: map[string]string{"a.js": `import "left-pad"; import "@a/b/c"; import "#none"`},
			want: []string{`import "left-pad": package "left-pad" is not installed (run "npm install left-pad")`, `import "@a/b/c": package "@a/b" is not installed (run "npm install @a/b")`, `import "#none": no such entry (add it to "imports" in package.json)`}},
		{name: "not offered", files: map[string]string{"src/a.js": `import "p/other"; import "q"; import "lib/b"; import "@s/p/x"`, "node_modules/p/package.json": `{"exports":"./i.js"}`, "node_modules/p/i.js": "", "node_modules/q/package.json": `{"exports":{"node":"./i.js"}}`, "src/lib/b.ts": "", "node_modules/@s/p/package.json": "{}"}, opts: BuildOptions{Main: "src/a.js"},
			want: []string{`import "p/other": package "p" is installed and has no such entry for this runtime (see "exports" and "main" in its package.json)`, `import "q": package "q" is installed and has no such entry`, `import "lib/b": package "lib" is not installed (for the file beside it write "./lib/b")`, `import "@s/p/x": package "@s/p" is installed`}},
		{name: "no such file", files: map[string]string{"B.ts": "", "a.js": `import "./b.js"; import "../../x"`}, want: []string{`a.js:1:8: import "./b.js": no such file (the folder has "B.ts")`, `a.js:1:25: import "../../x": no such file`}},
		{name: "outside by dots", files: map[string]string{"a.js": fmt.Sprintf(`import "%s%s/secret.js"; import t from "%s%s/secret.js" with { type: "text" }; export default t`, up, secret, up, secret)},
			want: []string{"/secret.js\": the path leaves the project", "the path leaves the project"}},
		{name: "outside by a link", files: map[string]string{"a.js": `import "./l.js"; import "./d/secret.js"`, "l.js": "->" + secret + "/secret.js", "d": "->" + secret}, want: []string{`a.js:1:8: import "./l.js": the path leaves the project`}},
		{name: "outside by a package", files: map[string]string{"a.js": `import "p"; import "q"`, "node_modules/p": "->" + secret, "node_modules/q/package.json": `{"main":"` + up + secret + `/secret.js"}`}, want: []string{`import "p": package "p" is not installed`, `leaves the project`}},
		{name: "outside by paths of tsconfig", files: map[string]string{"a.ts": `import "x/secret.js"`, "tsconfig.json": `{"compilerOptions":{"paths":{"x/*":["` + up + secret + `/*"]}}}`}, opts: BuildOptions{Main: "a.ts"}, want: []string{`a.ts:1:8: import "x/secret.js": the path leaves the project`}},
		{name: "outside by extends", files: map[string]string{"a.ts": `export {}`, "tsconfig.json": `{"extends":"` + up + secret + `/bad.json"}`}, opts: BuildOptions{Main: "a.ts"}, want: []string{`tsconfig.json: extends "` + up + secret + `/bad.json": the path leaves the project`}},
		{name: "outside by absolute extends", files: map[string]string{"a.ts": `export {}`, "tsconfig.json": `{"extends":"/etc/passwd"}`}, opts: BuildOptions{Main: "a.ts"}, want: []string{`tsconfig.json: extends import "/etc/passwd": absolute paths are refused`}},
		{name: "outside by a linked tsconfig", files: map[string]string{"a.ts": `export {}`, "tsconfig.json": "->" + secret + "/bad.json"}, opts: BuildOptions{Main: "a.ts"}, want: []string{`tsconfig.json: read tsconfig.json: path escapes from parent`}},
		{name: "outside by a linked package.json", files: map[string]string{"a.js": `import "p"`, "node_modules/p/index.js": "", "node_modules/p/package.json": "->" + secret + "/bad.json"}, want: []string{`node_modules/p/package.json: read package.json: path escapes from parent`}},
		{name: "endless package.json", files: map[string]string{"a.js": `import "./d/b.js"; import "p"`, "d/b.js": "", "d/package.json": "->/dev/zero", "node_modules/p/index.js": "", "node_modules/p/package.json": "->/dev/zero"}, want: []string{`d/package.json: read package.json: path escapes`, `node_modules/p/package.json: read package.json: path escapes`}},
		{name: "pipe", files: map[string]string{"a.js": `import "./pipe.js"`}, make: func(d string) error { return syscall.Mkfifo(d+"/pipe.js", 0o600) }, want: []string{`a.js:1:8: import "./pipe.js": is a named pipe, not a regular file`}},
		{name: "hidden files", files: map[string]string{"a.js": `import e from "./.env" with { type: "text" }; import g from "./.git/config" with { type: "text" }; import "./.x.js"; import b from "./.env" with { type: "bytes" }; export default [e, g, b]`, ".env": "KEY=1", ".git/config": "x", ".x.js": ""}, want: []string{"hidden files", "hidden files", "hidden files", "hidden files"}},
		{name: "private files", files: map[string]string{"a.js": `import c from "./edge.cue" with { type: "text" }; import d from "./l" with { type: "text" }; export default c + d`, "edge.cue": "secret", "l": "->edge.cue"}, opts: BuildOptions{Private: []string{"edge.cue"}}, want: []string{`a.js:1:15: import "./edge.cue": the file is not for workers (hand values over as bindings)`}},
		{name: "outside of its folder", files: map[string]string{"t/a/a.js": `import "../b/b.js"; import "p"; import "./c/c.js"`, "t/b/b.js": "", "t/a/c/c.js": "", "node_modules/p/index.js": ""}, opts: BuildOptions{Main: "t/a/a.js", Within: "t/a"}, want: []string{`t/a/a.js:1:8: import "../b/b.js": the path leaves the worker's folder (import only files below "t/a")`}},
		{name: "unknown kinds of files", files: map[string]string{"a.js": `import "./a.png"; import "./b.node"; import "./c"`, "a.png": "", "b.node": "", "c": ""}, want: []string{`import "./a.png": files of type ".png" are unknown (import it with { type: "text" } or { type: "bytes" })`, `".node"`, `files of type ""`}},
		{name: "unknown attributes", files: map[string]string{"a.js": `import a from "./b.json" with { type: "css" }; import b from "./b.json" with { lazy: "yes" }; export default a + b`, "b.json": "1"}, want: []string{`the import type "css" is unknown (supported are "json", "text" and "bytes")`, `the import attribute "lazy" is unknown`}},
		{name: "syntax errors all at once", files: map[string]string{"a.ts": "import './b'; import './c'\n", "c.ts": "\nlet x = ;\n", "b.ts": "export const é = \"☃☃☃\" + ) ;"}, opts: BuildOptions{Main: "a.ts"}, want: []string{`b.ts:1:26: Unexpected ")"`, `c.ts:2:9: Unexpected ";"`}},
		{name: "no such export", files: map[string]string{"a.js": `import { b } from "./b.js"; export default b`, "b.js": "export const c = 1"}, want: []string{`a.js:1:10: No matching export in "b.js" for import "b"`}},
		{name: "broken JSON", files: map[string]string{"a.js": `import b from "./b.json"; export default b`, "b.json": "{\n  \"a\": }"}, want: []string{`b.json:2:8: Unexpected "}"`}},
		{name: "broken tsconfig", files: map[string]string{"a.ts": "", "tsconfig.json": "{\n  /* é */ \"extends\" 1 }"}, opts: BuildOptions{Main: "a.ts"}, want: []string{`tsconfig.json:2:`}},
		{name: "too many bytes", files: map[string]string{"a.js": `import "./b.js"`, "b.js": strings.Repeat("x;", 600)}, opts: BuildOptions{MaxBytes: 1024}, want: []string{`a.js:1:8: import "./b.js": the worker's files are larger than 1 KiB together`}},
		{name: "too many files", files: map[string]string{"a.js": `import "./b.js"; import "./c.js"`, "b.js": "", "c.js": ""}, opts: BuildOptions{MaxFiles: 3}, want: []string{`the worker has more than 3 files`}},
		{name: "main is missing", files: map[string]string{"A.ts": ""}, want: []string{`read main "a.js": no such file (the folder has "A.ts")`}},
		{name: "main is outside", opts: BuildOptions{Main: "../x.js"}, files: map[string]string{}, want: []string{`read main "../x.js": the path leaves the project`}},
		{name: "main is absolute", opts: BuildOptions{Main: secret + "/secret.js"}, files: map[string]string{}, want: []string{`absolute paths are refused (give it relative to the config)`}},
		{name: "main is a link out", files: map[string]string{"a.js": "->" + secret + "/secret.js"}, want: []string{`read main "a.js": the path leaves the project`}},
		{name: "main is a folder", files: map[string]string{"a.js/x": ""}, want: []string{`read main "a.js": is a folder (name a file in it)`}},
		{name: "main is no code", files: map[string]string{"a.json": "1"}, opts: BuildOptions{Main: "a.json"}, want: []string{`read main "a.json": files of type ".json" hold no code`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, tt.files)
			if tt.make != nil {
				if err := tt.make(dir); err != nil {
					t.Fatal(err)
				}
			}
			opts := tt.opts
			opts.Root = dir
			if opts.Main == "" {
				opts.Main = "a.js"
			}
			for i, p := range opts.Private {
				opts.Private = slices.Clone(opts.Private)
				opts.Private[i] = filepath.Join(dir, p)
			}
			b, err := Build(opts)
			var be *BuildError
			if !errors.As(err, &be) {
				t.Fatalf("got bundle %v and error %v, want a BuildError", b, err)
			}
			if len(be.Messages) != len(tt.want) {
				t.Fatalf("got %d messages, want %d:\n%s", len(be.Messages), len(tt.want), be)
			}
			for i, want := range tt.want {
				if got := be.Messages[i].String(); !strings.Contains(got, want) {
					t.Errorf("message %d: got %q, want %q in it", i, got, want)
				}
			}
			if all := be.Error() + be.Frame(true); strings.Contains(all, "leaked") || strings.Contains(all, dir) {
				t.Errorf("the error shows what is outside of the project:\n%s", all)
			}
		})
	}
}

func TestLazyImportsFailWhenTheyAreReached(t *testing.T) {
	t.Parallel()
	secret := lay(t, map[string]string{"secret.js": "export default 'leaked'"})
	b := mustBuild(t, "a.js", map[string]string{
		"a.js": `import "p"; export default async () => { try { await import("npm:zod") } catch {} ; await import("./none.js"); await import("` + "../../../../../../../.." + secret + `/secret.js") }`,
		"node_modules/p/index.js": `
			try { require("crypto") } catch (e) { if (e.code !== "MODULE_NOT_FOUND") throw e }
			exports.f = () => require("fs/promises"); exports.g = () => import("node:os"); exports.h = () => require("optional-peer")
			exports.i = () => require("./missing"); exports.j = () => require.resolve("zlib")`,
	})
	got := code(t, b)
	for _, want := range []string{
		`import "npm:zod": npm: specifiers are not fetched (run`,
		`import "./none.js": no such file`,
		`import "crypto": this build offers no Node.js modules (package "p" needs Node.js`,
		`import "fs/promises": this build offers no Node.js modules`,
		`import "node:os": this build offers no Node.js modules`,
		`package "optional-peer" is not installed (run "npm install optional-peer")`,
		`import "./missing": no such file`, `secret.js": the path leaves the project`,
		`"ERR_MODULE_NOT_FOUND"`, `"MODULE_NOT_FOUND"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "leaked") {
		t.Error("the bundle holds a file from outside")
	}
	var warned []string
	for _, w := range b.Warnings {
		warned = append(warned, w.String())
	}
	all := strings.Join(warned, "\n")
	for _, want := range []string{`a.js:1:61: import "npm:zod": npm: specifiers are not fetched; this throws when it is reached`, `"./none.js"`, `leaves the project`} {
		if !strings.Contains(all, want) {
			t.Errorf("warning %q is missing in:\n%s", want, all)
		}
	}
	if strings.Contains(all, "node_modules/p") {
		t.Errorf("packages are warned about:\n%s", all)
	}
}

func TestAssetsStayModules(t *testing.T) {
	t.Parallel()
	b := mustBuild(t, "src/a.js", map[string]string{
		"src/a.js": `import w from "../lib/x.wasm"; import v from "p"; import d from "./d.bin"; import y from "./y.png" with { type: "bytes" };
			import unused from "./unused.wasm"; export default [w, v, d, y, () => import("../lib/x.wasm"), require("./r.wasm")]`,
		"lib/x.wasm": "wasm x", "src/d.bin": "data", "src/y.png": "\x89png", "src/unused.wasm": "unused", "src/r.wasm": "wasm r",
		"node_modules/p/package.json": `{"module":"i.js"}`, "node_modules/p/i.js": `import w from "./v.wasm?module"; export default w`, "node_modules/p/v.wasm": "wasm v",
	})
	want := map[string]ModuleType{
		"src/a.js": ESModule, "lib/x.wasm": Wasm, "node_modules/p/v.wasm": Wasm, "src/d.bin": Data, "src/y.png?bytes": Data, "src/r.wasm": Wasm,
	}
	for _, m := range b.Modules {
		if typ, ok := want[m.Key]; !ok || typ != m.Type {
			t.Errorf("got module %q of type %s", m.Key, m.Type)
		}
		delete(want, m.Key)
	}
	for key := range want {
		t.Errorf("module %q is missing", key)
	}
	source := code(t, b)
	for specifier, key := range map[string]string{
		"../lib/x.wasm": "lib/x.wasm", "../node_modules/p/v.wasm": "node_modules/p/v.wasm", "./d.bin": "src/d.bin", "./y.png?bytes": "src/y.png?bytes", "./r.wasm": "src/r.wasm",
	} {
		if !strings.Contains(source, `"`+specifier+`"`) {
			t.Errorf("%q is missing in:\n%s", specifier, source)
		}
		if got, err := b.Resolve(specifier, "file:///src/a.js", ""); err != nil || got != key {
			t.Errorf("resolve %q: got %q, %v, want %q", specifier, got, err, key)
		}
	}
	if !strings.Contains(source, "new Uint8Array") {
		t.Errorf("bytes are no Uint8Array in:\n%s", source)
	}
}

func TestWatchListNamesWhatMatters(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"src/a.ts": `import "./b"; import "p"; import w from "./w.wasm"; export default w`, "src/b.ts": "export {}", "src/w.wasm": "x",
		"node_modules/p/package.json": `{"main":"m.js"}`, "node_modules/p/m.js": "", "tsconfig.json": `{"extends":"./base"}`, "base.json": "{}",
	}
	dir := project(t, files)
	b, err := Build(BuildOptions{Root: dir, Main: "src/a.ts"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"src/a.ts", "src/b.ts", "src/w.wasm", "node_modules/p/package.json", "node_modules/p/m.js", "package.json", "tsconfig.json", "base.json"} {
		if !slices.Contains(b.Files, filepath.Join(dir, want)) {
			t.Errorf("file %s is not watched: %v", want, b.Files)
		}
	}
	for _, want := range []string{"src", "node_modules/p", "node_modules", "."} {
		if !slices.Contains(b.Dirs, filepath.Join(dir, want)) {
			t.Errorf("folder %s is not watched: %v", want, b.Dirs)
		}
	}
	os.WriteFile(filepath.Join(dir, "src/a.ts"), []byte(`import "./later/x"; import "q"; syntax error`), 0o644)
	_, err = Build(BuildOptions{Root: dir, Main: "src/a.ts"})
	var be *BuildError
	if !errors.As(err, &be) {
		t.Fatalf("got %v", err)
	}
	if !slices.Contains(be.Files, filepath.Join(dir, "src/a.ts")) || !slices.Contains(be.Dirs, filepath.Join(dir, "src")) {
		t.Errorf("a broken build does not watch its files: %v %v", be.Files, be.Dirs)
	}
}

func TestHashFollowsTheCode(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.ts": "export default 1", "b.ts": "export default 1"})
	hash := func(main string, dev bool) [32]byte {
		t.Helper()
		b, err := Build(BuildOptions{Root: dir, Main: main, Dev: dev})
		if err != nil {
			t.Fatal(err)
		}
		return b.Hash
	}
	first := hash("a.ts", false)
	if hash("a.ts", false) != first {
		t.Error("the same code has two hashes")
	}
	if hash("b.ts", false) == first {
		t.Error("another name has the same hash")
	}
	os.WriteFile(filepath.Join(dir, "a.ts"), []byte("\nexport default 1"), 0o644)
	if hash("a.ts", false) == first {
		t.Error("moved lines have the same hash, so stacks would show the wrong ones")
	}
}

func TestDevelopmentIsDefined(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.js": `export default process.env.NODE_ENV`})
	for dev, want := range map[bool]string{true: `"development"`, false: `"production"`} {
		b, err := Build(BuildOptions{Root: dir, Main: "a.js", Dev: dev})
		if err != nil {
			t.Fatal(err)
		}
		if got := code(t, b); !strings.Contains(got, want) {
			t.Errorf("dev %v: %s is missing in:\n%s", dev, want, got)
		}
	}
}

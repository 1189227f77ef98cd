package vfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain lets the test binary be the build process of its own tests.
func TestMain(m *testing.M) {
	if os.Getenv("VFS_TEST_SERVE") != "" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serveCommand() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "VFS_TEST_SERVE=1")
	return cmd
}

func TestBuilderMakesNothingTwice(t *testing.T) {
	t.Parallel()
	for _, where := range []struct {
		name string
		opts BuilderOptions
	}{{"here", BuilderOptions{}}, {"in a process", BuilderOptions{Command: serveCommand, Parallel: 1}}} {
		t.Run(where.name, func(t *testing.T) {
			t.Parallel()
			dir := project(t, map[string]string{
				"a.ts": `import "./b"; import p from "p"; export default p`, "b.js": "globalThis.b = 1",
				"node_modules/p/index.js": "module.exports = 1", "tsconfig.json": "{}",
			})
			b := NewBuilder(where.opts)
			t.Cleanup(b.Close)
			build := func() *Bundle {
				t.Helper()
				bundle, err := b.Build(BuildOptions{Root: dir, Main: "a.ts"})
				if err != nil {
					t.Fatal(err)
				}
				return bundle
			}
			last := build()
			if again := build(); again != last {
				t.Error("nothing changed, and it was built again")
			}
			for _, change := range []struct {
				name string
				do   func() error
			}{
				{"a file's content", func() error { return os.WriteFile(dir+"/b.js", []byte("globalThis.b = 2"), 0o644) }},
				{"a file that goes before another", func() error { return os.WriteFile(dir+"/b.ts", []byte("globalThis.b = 3"), 0o644) }},
				{"a tsconfig", func() error {
					return os.WriteFile(dir+"/tsconfig.json", []byte(`{"compilerOptions":{"strict":true}}`), 0o644)
				}},
				{"a package.json of a package", func() error {
					return os.WriteFile(dir+"/node_modules/p/package.json", []byte(`{"main":"other.js"}`), 0o644)
				}},
				{"a package", func() error {
					return os.WriteFile(dir+"/node_modules/p/other.js", []byte(`module.exports = "other"`), 0o644)
				}},
				{"a package that is removed and back", func() error {
					if err := os.Rename(dir+"/node_modules/p/other.js", dir+"/node_modules/p/x.js"); err != nil {
						return err
					}
					return os.Rename(dir+"/node_modules/p/x.js", dir+"/node_modules/p/index.js")
				}},
			} {
				if err := change.do(); err != nil {
					t.Fatal(err)
				}
				next := build()
				if next == last {
					t.Errorf("%s changed, and it was not built again", change.name)
				}
				last = next
				if again := build(); again != last {
					t.Errorf("%s: nothing changed, and it was built again", change.name)
				}
			}
			if got := code(t, last); !strings.Contains(got, "globalThis.b = 3") {
				t.Errorf("the last bundle is old:\n%s", got)
			}
		})
	}
}

func TestBuilderSweepsWhatIsNotAskedFor(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.js": "", "b.js": ""})
	b := NewBuilder(BuilderOptions{})
	defer b.Close()
	build := func(main string) *Bundle {
		bundle, err := b.Build(BuildOptions{Root: dir, Main: main})
		if err != nil {
			t.Fatal(err)
		}
		return bundle
	}
	first, other := build("a.js"), build("b.js")
	b.Sweep()
	if build("a.js") != first {
		t.Error("a bundle in use was swept")
	}
	b.Sweep()
	if build("a.js") != first {
		t.Error("a bundle in use was swept")
	}
	if build("b.js") == other {
		t.Error("a bundle that nothing asked for was kept")
	}
}

func TestBuilderIsSafeForManyGoroutines(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("w%d.js", i)] = fmt.Sprintf("export default %d", i)
	}
	dir := project(t, files)
	b := NewBuilder(BuilderOptions{Command: serveCommand, Parallel: 2})
	defer b.Close()
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			n := i % 20
			bundle, err := b.Build(BuildOptions{Root: dir, Main: fmt.Sprintf("w%d.js", n)})
			if err != nil {
				t.Error(err)
				return
			}
			if m, _ := bundle.Module(bundle.Main); !strings.Contains(string(m.Source), fmt.Sprint(n)) {
				t.Errorf("w%d.js: got %s", n, m.Source)
			}
		})
	}
	wg.Wait()
}

func TestProcessHandsOverEverything(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"src/a.ts": "import w from './w.wasm';\nimport('npm:x');\nexport function f(): never { throw new Error('x') }\nexport default w", "src/w.wasm": "wasm", "src/bad.ts": "let x = ;",
	})
	b := NewBuilder(BuilderOptions{Command: serveCommand, Parallel: 1})
	defer b.Close()
	opts := BuildOptions{Root: dir, Main: "src/a.ts"}
	got, err := b.Build(opts)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Build(opts)
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash != want.Hash || got.Main != want.Main || got.Root != want.Root || len(got.Modules) != 2 || len(got.Warnings) != 1 ||
		fmt.Sprint(got.Files, got.Dirs) != fmt.Sprint(want.Files, want.Dirs) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	place := "at f (file:///src/a.js:" + lineOf(t, code(t, got), "throw new") + ")"
	if a, b := got.MapStack(place), want.MapStack(place); a != b || !strings.Contains(a, "src/a.ts:3:") {
		t.Errorf("got stack %q, want %q", a, b)
	}
	if key, err := got.Resolve("./w.wasm", "src/a.js", ""); key != "src/w.wasm" {
		t.Errorf("got %q, %v", key, err)
	}
	_, err = b.Build(BuildOptions{Root: dir, Main: "src/bad.ts"})
	var be *BuildError
	if !errors.As(err, &be) || be.Messages[0].Line != 1 || len(be.Files) == 0 {
		t.Errorf("got %#v", err)
	}
	if _, err = b.Build(BuildOptions{Root: dir + "/none", Main: "a.js"}); err == nil || errors.As(err, &be) {
		t.Errorf("got %#v", err)
	}
}

// lineOf returns "line:col" of the first place of text.
func lineOf(t testing.TB, source, text string) string {
	t.Helper()
	i := strings.Index(source, text)
	if i < 0 {
		t.Fatalf("no %q in:\n%s", text, source)
	}
	line, col, _ := placeOf([]byte(source), i)
	return fmt.Sprintf("%d:%d", line, col)
}

func TestHostileSourceEndsOnlyItsProcess(t *testing.T) {
	t.Parallel()
	const n = 400_000
	sources := map[string]string{
		"brackets.js":  strings.Repeat("[", n),
		"not.js":       "x=" + strings.Repeat("!", n) + "1",
		"arrows.js":    "x=" + strings.Repeat("a=>", n) + "1",
		"chain.js":     "x=a" + strings.Repeat(".a", n),
		"ternary.js":   "x=a" + strings.Repeat("?a:a", n),
		"calls.js":     "x=a" + strings.Repeat("()", n),
		"templates.js": "x=" + strings.Repeat("`${", n) + "1" + strings.Repeat("}`", n),
		"data.js":      `import x from "./data.json"; export default x`,
		"data.json":    strings.Repeat("[", n) + strings.Repeat("]", n),
		"good.js":      "export default 1",
	}
	dir := project(t, sources)
	b := NewBuilder(BuilderOptions{Command: serveCommand, Parallel: 1})
	defer b.Close()
	for name := range sources {
		if filepath.Ext(name) != ".js" || name == "good.js" {
			continue
		}
		_, err := b.Build(BuildOptions{Root: dir, Main: name})
		var be *BuildError
		if !errors.As(err, &be) || !strings.Contains(err.Error(), "gave up") {
			t.Errorf("%s: got %.300v", name, err)
		}
		if _, err := b.Build(BuildOptions{Root: dir, Main: "good.js"}); err != nil {
			t.Fatalf("after %s: %v", name, err)
		}
	}
}

func TestSlowSourceIsStopped(t *testing.T) {
	t.Parallel()
	// esbuild takes quadratic time over nested scopes: minutes for these.
	dir := project(t, map[string]string{"a.js": strings.Repeat("{", 150_000) + strings.Repeat("}", 150_000), "good.js": ""})
	b := NewBuilder(BuilderOptions{Command: serveCommand, Parallel: 1, Timeout: 500 * time.Millisecond})
	defer b.Close()
	_, err := b.Build(BuildOptions{Root: dir, Main: "a.js"})
	if err == nil || !strings.Contains(err.Error(), "took longer than 500ms") && !strings.Contains(err.Error(), "gave up") {
		t.Errorf("got %.300v", err)
	}
}

func TestEndlessFileEndsOnlyItsProcess(t *testing.T) {
	t.Parallel()
	// esbuild follows "exports" to a folder that nothing named before.
	dir := project(t, map[string]string{
		"a.js": `import "p"`, "good.js": "", "node_modules/p/package.json": `{"exports":"./deep/i.js"}`,
		"node_modules/p/deep/i.js": "", "node_modules/p/deep/package.json": "->/dev/zero",
	})
	b := NewBuilder(BuilderOptions{Command: serveCommand, Parallel: 1, Memory: 256 << 20})
	defer b.Close()
	if _, err := b.Build(BuildOptions{Root: dir, Main: "a.js"}); err == nil || !strings.Contains(err.Error(), "gave up") {
		t.Errorf("got %.300v", err)
	}
	if _, err := b.Build(BuildOptions{Root: dir, Main: "good.js"}); err != nil {
		t.Error(err)
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	t.Parallel()
	b := NewBuilder(BuilderOptions{Command: func() *exec.Cmd { return exec.Command("/nonexistent/edge") }})
	defer b.Close()
	if _, err := b.Build(BuildOptions{Root: project(t, map[string]string{"a.js": ""}), Main: "a.js"}); err == nil || !strings.Contains(err.Error(), "start build process") {
		t.Errorf("got %v", err)
	}
}

// writeTenants lays n small workers.
func writeTenants(t testing.TB, n int) string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("w%d.js", i)] = fmt.Sprintf("const N = %d;\nexport default { async fetch(req, env) { const u = new URL(req.url); return new Response('hi ' + N + u.pathname) } }\n", i)
	}
	return project(t, files)
}

func buildTenants(b testing.TB, builder *Builder, dir string, n int) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if _, err := builder.Build(BuildOptions{Root: dir, Main: fmt.Sprintf("w%d.js", i)}); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

func Benchmark500Tenants(b *testing.B) {
	dir := writeTenants(b, 500)
	for _, where := range []struct {
		name string
		opts BuilderOptions
	}{{"here", BuilderOptions{}}, {"process", BuilderOptions{Command: serveCommand}}} {
		b.Run(where.name, func(b *testing.B) {
			for b.Loop() {
				builder := NewBuilder(where.opts)
				buildTenants(b, builder, dir, 500)
				builder.Close()
			}
		})
		b.Run(where.name+"/again", func(b *testing.B) {
			builder := NewBuilder(where.opts)
			defer builder.Close()
			buildTenants(b, builder, dir, 500)
			for b.Loop() {
				buildTenants(b, builder, dir, 500)
			}
		})
	}
}

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The rules of the house that no compiler checks. They walk the tree: a test
// that asked the go command would keep a cached pass after a rule was broken.

const modulePath = "github.com/edge-runtime/edge"

// room says what the packages below a folder may import, beside the standard
// library.
type room struct {
	folder string
	// inner are folders of this module, outer prefixes of other modules; "..." as
	// an inner one allows all.
	inner, outer []string
	// tests are allowed to tests beyond that.
	tests []string
}

// law lists the rooms, the deeper folders first: the first that a package lies
// in counts.
var law = []room{
	{folder: "isolate/op", inner: []string{"isolate/outcome"}},
	{folder: "isolate/outcome"},
	{folder: "net/fetch"},
	{folder: "isolate/v8/headers"},
	{folder: "isolate/v8", inner: []string{"isolate", "isolate/op"}, outer: []string{"rogchap.com/v8go"}, tests: []string{"isolate/webapi"}},
	{folder: "isolate/webapi/webapitest", inner: []string{"isolate/op", "isolate/outcome", "net/fetch"}, outer: webLibraries},
	{folder: "isolate/webapi", inner: []string{"isolate/op", "isolate/outcome", "net/fetch"}, outer: webLibraries, tests: []string{"isolate/webapi/webapitest"}},
	{folder: "isolate/enginefake", inner: []string{"isolate", "isolate/op"}},
	{folder: "isolate", inner: []string{"isolate/op", "isolate/outcome"}, tests: []string{"isolate/enginefake"}},
	{folder: "bindings/bindingtest", inner: []string{"bindings", "config", "isolate/op", "net/fetch"}},
	{folder: "bindings", inner: []string{"bindings", "isolate/op", "isolate/outcome", "net/fetch"}, tests: []string{"bindings/bindingtest"}},
	{folder: "config", inner: []string{"bindings"}, outer: []string{"cuelang.org/go"}},
	{folder: "net", inner: []string{"net/fetch", "isolate/op", "isolate/outcome"}, outer: []string{"github.com/valyala/fasthttp", "golang.org/x/sys"}},
	{folder: "vfs", outer: []string{"github.com/evanw/esbuild", "github.com/go-sourcemap/sourcemap"}},
	{folder: "assemble", inner: []string{"bindings", "config", "isolate", "isolate/op", "isolate/outcome", "isolate/webapi", "net", "net/fetch", "vfs"},
		outer: []string{"github.com/fsnotify/fsnotify"}, tests: []string{"..."}},
	{folder: "cli", inner: []string{"..."}, outer: []string{"github.com/alecthomas/kong", "golang.org/x/term"}},
	{folder: "internal/gen"},
	{folder: "internal", inner: []string{"cli"}},
	{folder: "conformance", inner: []string{"..."}},
	{folder: "samples", inner: []string{"internal/programtest"}},
	{folder: "bench", inner: []string{"..."}, outer: []string{"github.com/valyala/fasthttp"}},
	{folder: ".", inner: []string{"cli"}, tests: []string{"internal/programtest"}},
}

// webLibraries do the heavy work of the web platform.
var webLibraries = []string{"github.com/andybalholm/brotli", "github.com/klauspost/compress", "golang.org/x/net/idna", "golang.org/x/text", "golang.org/x/crypto"}

// testLibraries are allowed to every test.
var testLibraries = []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "go.uber.org/goleak", "pgregory.net/rapid"}

// longFiles are the files of more than 1,000 lines, with the reason.
var longFiles = map[string]string{
	"go.sum": "written by the go command",
}

// sourceFile is a file of the tree.
type sourceFile struct {
	path string
	text []byte
}

// tree returns the files that the project keeps: what git would, without asking
// it.
func tree(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); base == "node_modules" || base == "bin" || base != "." && base != ".ci" && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil // the link to V8's headers
		}
		text, err := fs.ReadFile(root, name)
		files = append(files, sourceFile{name, text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parse parses the Go files.
func parse(t *testing.T) map[string]*ast.File {
	t.Helper()
	parsed := map[string]*ast.File{}
	for _, f := range tree(t) {
		if path.Ext(f.path) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed[f.path] = file
	}
	return parsed
}

func TestImportLaw(t *testing.T) {
	used := map[string]bool{}
	for name, file := range parse(t) {
		if strings.Contains(name, "testdata/") {
			continue
		}
		r := roomOf(path.Dir(name))
		if r == nil {
			t.Errorf("%s lies in no room of the law", name)
			continue
		}
		used[r.folder] = true
		for _, imp := range file.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := r.refuses(path.Dir(name), p, strings.HasSuffix(name, "_test.go")); why != "" {
				t.Errorf("%s imports %s: %s", name, p, why)
			}
		}
	}
	for _, r := range law {
		if !used[r.folder] && r.folder != "bench" {
			t.Errorf("the law has a room %q, which holds no Go file", r.folder)
		}
	}
}

func roomOf(dir string) *room {
	for i, r := range law {
		if dir == r.folder || strings.HasPrefix(dir, r.folder+"/") {
			return &law[i]
		}
	}
	return nil
}

// refuses says why a package may not be imported, "" when it may.
func (r *room) refuses(dir, imported string, test bool) string {
	below := func(p, prefix string) bool { return p == prefix || strings.HasPrefix(p, prefix+"/") }
	inner, ok := strings.CutPrefix(imported, modulePath+"/")
	switch {
	case ok:
		allowed := r.inner
		if test {
			allowed = slices.Concat(r.inner, r.tests, []string{dir})
		}
		for _, a := range allowed {
			if a == "..." || inner == a {
				return ""
			}
		}
		return fmt.Sprintf("the room %q may use %v of this module", r.folder, allowed)
	case !strings.Contains(strings.Split(imported, "/")[0], "."):
		return ""
	}
	allowed := r.outer
	if test {
		allowed = slices.Concat(r.outer, testLibraries)
	}
	if slices.ContainsFunc(allowed, func(a string) bool { return below(imported, a) }) {
		return ""
	}
	return fmt.Sprintf("the room %q may use %v", r.folder, allowed)
}

func TestPackagesAndExportedNamesHaveComments(t *testing.T) {
	commented := map[string]int{}
	packages := map[string]bool{}
	for name, file := range parse(t) {
		if strings.Contains(name, "testdata/") {
			continue
		}
		dir := path.Dir(name)
		if !strings.HasSuffix(name, "_test.go") {
			packages[dir] = true
			if file.Doc != nil {
				commented[dir]++
			}
		}
		for _, decl := range file.Decls {
			for _, bare := range uncommented(decl) {
				if !strings.HasSuffix(name, "_test.go") {
					t.Errorf("%s: %s has no comment", name, bare)
				}
			}
		}
	}
	for dir := range packages {
		if commented[dir] != 1 {
			t.Errorf("package %s has %d package comments, want 1", dir, commented[dir])
		}
	}
}

// uncommented returns the exported names that a declaration leaves unexplained.
func uncommented(decl ast.Decl) []string {
	var bare []string
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || receiverExported(d)) {
			bare = append(bare, "func "+d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					bare = append(bare, "type "+s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
						bare = append(bare, n.Name)
					}
				}
			}
		}
	}
	return bare
}

func receiverExported(d *ast.FuncDecl) bool {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

func TestFilesAreShort(t *testing.T) {
	long := map[string]bool{}
	for _, f := range tree(t) {
		lines := bytes.Count(f.text, []byte("\n"))
		if lines <= 1000 {
			continue
		}
		long[f.path] = true
		if longFiles[f.path] == "" && path.Base(f.path) != "package-lock.json" {
			t.Errorf("%s has %d lines: divide it, or give the reason in longFiles", f.path, lines)
		}
	}
	for name := range longFiles {
		if !long[name] && name != "go.sum" {
			t.Errorf("longFiles excuses %s, which is not long", name)
		}
	}
}

func TestFunctionsAreShort(t *testing.T) {
	for _, f := range tree(t) {
		if path.Ext(f.path) != ".go" || strings.HasSuffix(f.path, "_test.go") || strings.HasSuffix(f.path, "_gen.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, f.path, f.text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				if n := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line; n > 90 {
					t.Errorf("%s: func %s has %d lines, at most 90 are easy to follow", f.path, fn.Name.Name, n)
				}
			}
		}
	}
}

func TestWebPlatformIsASCII(t *testing.T) {
	n := 0
	for _, f := range tree(t) {
		dir := path.Dir(f.path)
		if path.Ext(f.path) != ".js" || !strings.HasPrefix(dir, "isolate/webapi") && !strings.HasPrefix(dir, "bindings") {
			continue
		}
		n++
		if i := bytes.IndexFunc(f.text, func(r rune) bool { return r > 126 || r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%s:%d: not ASCII", f.path, 1+bytes.Count(f.text[:i], []byte("\n")))
		}
	}
	if n == 0 {
		t.Error("found no JavaScript")
	}
}

func TestStandardsSayWhatTheyAre(t *testing.T) {
	for _, f := range tree(t) {
		if path.Dir(f.path) != "isolate/webapi" || path.Ext(f.path) != ".js" {
			continue
		}
		if head, _, _ := strings.Cut(string(f.text), "\n\n"); !strings.HasPrefix(head, "// ") || !strings.Contains(head, "Public: ") {
			t.Errorf("%s does not begin with what standard it is, and what is public", f.path)
		}
	}
}

func TestNoLooseEnds(t *testing.T) {
	for _, f := range tree(t) {
		switch path.Ext(f.path) {
		case ".go", ".js", ".ts", ".cc", ".h", ".c", ".cue":
		default:
			continue
		}
		for i, line := range bytes.Split(f.text, []byte("\n")) {
			for _, word := range []string{"TO" + "DO", "FIX" + "ME", "XX" + "X:"} {
				if bytes.Contains(line, []byte(word)) {
					t.Errorf("%s:%d: %s: mend it, or file an issue", f.path, i+1, word)
				}
			}
		}
	}
}

func TestModuleReplacesV8(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("\nreplace rogchap.com/v8go => github.com/tommie/v8go v0.34.0\n")) {
		t.Error("go.mod does not replace rogchap.com/v8go by the fork that is maintained: go mod tidy may have dropped it")
	}
}

func TestGeneratedListsAreUpToDate(t *testing.T) {
	if out, err := exec.Command("go", "run", "./internal/gen", "-check").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTestdataIsUsed(t *testing.T) {
	// A script or a test in JavaScript is found by its name: one that is named
	// otherwise would never run.
	for _, f := range tree(t) {
		switch dir := path.Dir(f.path); {
		case dir == "testdata/script" && path.Ext(f.path) != ".txtar":
			t.Errorf("%s is no script", f.path)
		case dir == "isolate/webapi/testdata" && !strings.HasSuffix(f.path, "_test.js") && path.Base(f.path) != "internals.js":
			t.Errorf("%s is no test", f.path)
		}
	}
}

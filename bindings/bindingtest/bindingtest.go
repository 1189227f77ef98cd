// Package bindingtest is the suite that every binding kind passes. Cases are
// written as a user writes them, in CUE, and go the whole way: through the
// loader with the kind's schema and references, then through Open. Beside what
// the cases say, the suite checks what every kind owes: a closed schema that
// says what it is, references that cover all that Open asks for, errors instead
// of panics for whatever stands in the configuration, and a facade that exists.
package bindingtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/net/fetch"
)

// Case is one binding, good or bad. Exactly one of Mistake, OpenError and the
// expectations of a good one (Want, Check) is given.
type Case struct {
	Name string
	// CUE is what stands under the binding's name, such as `text: "hello"`.
	CUE string
	// Files are written beside the configuration.
	Files map[string]string
	// Env is the whole environment.
	Env map[string]string
	// Services are those that exist beside the worker itself, which is named
	// "worker".
	Services map[string]fetch.Fetcher

	// Want is the binding's value.
	Want op.Value
	// Check looks at what Want does not say. It may be nil.
	Check func(t *testing.T, b bindings.Binding)

	// Mistake is a part of what the loader reports.
	Mistake string
	// OpenError is a part of Open's error, for what only Open can see.
	OpenError string
}

// Run runs the suite over a kind.
func Run(t *testing.T, kind bindings.Kind, cases []Case) {
	t.Helper()
	t.Run("kind", func(t *testing.T) { checkKind(t, kind) })
	t.Run("hostile values", func(t *testing.T) { checkHostile(t, kind) })
	good, bad := 0, 0
	for _, c := range cases {
		if c.Mistake != "" || c.OpenError != "" {
			bad++
		} else {
			good++
		}
		t.Run(c.Name, func(t *testing.T) { runCase(t, kind, c) })
	}
	if good == 0 || bad == 0 {
		t.Errorf("there are %d good and %d bad cases, a kind needs both", good, bad)
	}
}

func runCase(t *testing.T, kind bindings.Kind, c Case) {
	t.Parallel()
	dir := t.TempDir()
	cfg, err := load(t, dir, kind, c)
	if c.Mistake != "" {
		if err == nil || !strings.Contains(err.Error(), c.Mistake) {
			t.Fatalf("the loader reports %v, want %q in it", err, c.Mistake)
		}
		var mistakes *config.Error
		if !errors.As(err, &mistakes) {
			t.Fatalf("the loader's error is %T, want *config.Error", err)
		}
		for _, m := range mistakes.Mistakes {
			if m.Line == 0 || !strings.HasPrefix(m.Path, "services.worker.worker.bindings.BOUND") {
				t.Errorf("mistake %q stands at line %d and path %q, want a place in the binding", m.Msg, m.Line, m.Path)
			}
		}
		return
	}
	if err != nil {
		t.Fatalf("load configuration: %v", err)
	}
	bound := cfg.Services["worker"].Worker.Bindings["BOUND"]
	if bound.Kind != kind.Name {
		t.Fatalf("the binding is of kind %q, want %q", bound.Kind, kind.Name)
	}
	asked := &recorder{dir: dir, c: c}
	b, err := kind.Open(t.Context(), bound.Raw, asked.env(bound.Field))
	if c.OpenError != "" {
		if err == nil || !strings.Contains(err.Error(), c.OpenError) || !strings.Contains(err.Error(), bound.Field) {
			t.Fatalf("Open returned %v, want %q and the field %s in it", err, c.OpenError, bound.Field)
		}
		return
	}
	if err != nil {
		t.Fatalf("open binding: %v", err)
	}
	if got, want := b.Value.Append(nil), c.Want.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("the value crosses as %q, want %q", got, want)
	}
	checkBinding(t, kind, b)
	asked.check(t, kind, bound.Raw)
	if c.Check != nil {
		c.Check(t, b)
	}
	checkTwice(t, kind, bound, asked, b)
}

// load writes the case's files and a configuration around its binding, and
// loads it with this kind alone.
func load(t *testing.T, dir string, kind bindings.Kind, c Case) (*config.Config, error) {
	t.Helper()
	var cue strings.Builder
	cue.WriteString("services: worker: worker: {main: \"main.js\", bindings: BOUND: {\n" + c.CUE + "\n}}\n")
	cue.WriteString("sockets: http: {address: \"127.0.0.1:0\", service: \"worker\"}\n")
	for name := range c.Services {
		fmt.Fprintf(&cue, "services: %q: external: address: \"127.0.0.1:1\"\n", name)
	}
	files := map[string]string{"main.js": "export default {}", "config.cue": cue.String()}
	for name, text := range c.Files {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := bindings.NewSet(kind)
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { v, ok := c.Env[name]; return v, ok }
	return config.Load(filepath.Join(dir, "config.cue"), config.Options{Kinds: set, LookupEnv: lookup})
}

var createRE = regexp.MustCompile(`(?m)^export (?:async )?function create\(|^export \{[^}]*\bcreate\b`)

// checkKind checks what a kind says about itself.
func checkKind(t *testing.T, kind bindings.Kind) {
	if !regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`).MatchString(kind.Name) {
		t.Errorf("the name is %q, want a field name in camel case", kind.Name)
	}
	if !strings.Contains(kind.Schema, "//") {
		t.Error("the schema has no comment; its comments are the manual")
	}
	seen := map[string]bool{}
	for _, x := range kind.Extensions {
		if seen[x.Name] {
			t.Errorf("there are two extensions named %q", x.Name)
		}
		seen[x.Name] = true
		if i := strings.IndexFunc(x.Source, func(r rune) bool { return r >= 0x80 }); i >= 0 {
			t.Errorf("extension %q is not ASCII at byte %d", x.Name, i)
		}
		for _, o := range x.Ops {
			if want := "op_" + strings.ToLower(kind.Name) + "_"; !strings.HasPrefix(o.Name, want) || o.Func == nil {
				t.Errorf("op %q: want a name that begins with %q, and a function", o.Name, want)
			}
		}
	}
	dir := t.TempDir()
	_, err := load(t, dir, kind, Case{CUE: "bogus: 1"})
	if err == nil || !strings.Contains(err.Error(), "unknown field") {
		t.Errorf("with an unknown field beside the kind the loader reports %v: the schema has opened #Binding", err)
	}
}

// checkHostile hands a kind what its schema forbids: References and Open are
// called by the loader and by assemble with whatever JSON there is.
func checkHostile(t *testing.T, kind bindings.Kind) {
	env := (&recorder{dir: t.TempDir()}).env("services.worker.worker.bindings.BOUND")
	for _, raw := range []string{"", "null", "0", "true", `""`, `"x"`, "[]", "[1]", "{}", `{"a":1}`, "{", `{"name":5}`, `{"file":[]}`, `"\ud800"`} {
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("with %s it panics: %v", raw, r)
				}
			}()
			if kind.References != nil {
				_, _ = kind.References(json.RawMessage(raw)) // an error is as good as none
			}
			b, err := kind.Open(t.Context(), json.RawMessage(raw), env)
			if err == nil && b.Close != nil {
				_ = b.Close()
			}
			if !json.Valid([]byte(raw)) && err == nil {
				t.Errorf("Open takes %q, which is no JSON", raw)
			}
		}()
	}
}

// checkBinding checks that an opened binding can be put into an isolate.
func checkBinding(t *testing.T, kind bindings.Kind, b bindings.Binding) {
	t.Helper()
	if b.Facade == "" {
		if b.Resource != nil {
			t.Error("there is a Resource without a Facade, so nothing can use it")
		}
		return
	}
	i := slices.IndexFunc(kind.Extensions, func(x op.Extension) bool { return x.Name == b.Facade })
	if i < 0 {
		t.Fatalf("the facade is %q, which is no extension of the kind", b.Facade)
	}
	src := kind.Extensions[i].Source
	if !createRE.MatchString(src) {
		t.Errorf("facade %q does not export create", b.Facade)
	}
	if !strings.Contains(src, fmt.Sprintf("registerFacade(%q, create)", b.Facade)) {
		t.Errorf("facade %q does not register itself with registerFacade(%q, create)", b.Facade, b.Facade)
	}
}

// checkTwice opens the binding again, from two goroutines, and closes all.
func checkTwice(t *testing.T, kind bindings.Kind, bound config.Binding, asked *recorder, first bindings.Binding) {
	t.Helper()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			b, err := kind.Open(context.Background(), bound.Raw, asked.env(bound.Field))
			if err != nil {
				t.Errorf("open binding again: %v", err)
				return
			}
			if b.Facade != first.Facade || b.Value.Kind() != first.Value.Kind() {
				t.Errorf("opened again it is facade %q and value kind %v, before %q and %v", b.Facade, b.Value.Kind(), first.Facade, first.Value.Kind())
			}
			if b.Close != nil {
				if err := b.Close(); err != nil {
					t.Errorf("close binding: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if first.Close != nil {
		if err := first.Close(); err != nil {
			t.Errorf("close binding: %v", err)
		}
	}
}

// recorder is the Env of a case. It notes what was asked for.
type recorder struct {
	dir string
	c   Case
	mu  sync.Mutex
	got map[bindings.Reference]bool // Path left out
}

func (r *recorder) note(typ bindings.ReferenceType, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.got == nil {
		r.got = map[bindings.Reference]bool{}
	}
	r.got[bindings.Reference{Type: typ, Name: name}] = true
}

func (r *recorder) env(field string) bindings.Env {
	return bindings.Env{
		Field: field,
		ReadFile: func(path string) ([]byte, error) {
			r.note(bindings.File, path)
			text, ok := r.c.Files[path]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			}
			return []byte(text), nil
		},
		LookupEnv: func(name string) (string, bool) {
			r.note(bindings.Environment, name)
			v, ok := r.c.Env[name]
			return v, ok
		},
		Service: func(name, _ string) (fetch.Fetcher, error) {
			r.note(bindings.Service, name)
			f, ok := r.c.Services[name]
			if !ok {
				return nil, fmt.Errorf("unknown service %q", name)
			}
			return f, nil
		},
	}
}

// check compares what Open asked for with what References lists: the loader
// checks and watches only the latter.
func (r *recorder) check(t *testing.T, kind bindings.Kind, raw json.RawMessage) {
	t.Helper()
	listed := map[bindings.Reference]bool{}
	if kind.References != nil {
		refs, err := kind.References(raw)
		if err != nil {
			t.Errorf("list references: %v", err)
		}
		for _, ref := range refs {
			if ref.Path != kind.Name && !strings.HasPrefix(ref.Path, kind.Name+".") && !strings.HasPrefix(ref.Path, kind.Name+"[") {
				t.Errorf("reference to %q stands at path %q, want one that begins with %q", ref.Name, ref.Path, kind.Name)
			}
			ref.Path = ""
			listed[ref] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for ref := range r.got {
		if !listed[ref] {
			t.Errorf("Open asks for %q, which References does not list", ref.Name)
		}
	}
}

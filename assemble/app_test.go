//go:build cgo

package assemble_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edge-runtime/edge/assemble"
	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/bindings/service"
	"github.com/edge-runtime/edge/bindings/text"
	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/v8"
	"github.com/edge-runtime/edge/isolate/webapi"
	edgenet "github.com/edge-runtime/edge/net"
)

// probe is a binding kind that counts what is opened and closed.
type probe struct {
	mu           sync.Mutex
	open, closed int
}

func (p *probe) kind() bindings.Kind {
	k := text.Kind()
	k.Name = "probe"
	k.Schema = "package config\n#Binding: probe?: string"
	open := k.Open
	k.Open = func(ctx context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
		if string(raw) == `"broken"` {
			return bindings.Binding{}, errors.New("cannot be opened")
		}
		b, err := open(ctx, raw, env)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open++
		b.Close = func() error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.closed++
			return nil
		}
		return b, err
	}
	return k
}

func (p *probe) counts() (opened, closed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open, p.closed
}

// site is a configuration in a folder of its own, and the App that serves it.
type site struct {
	t     *testing.T
	dir   string
	app   *assemble.App
	probe *probe
	base  string // URL of the socket http

	mu      sync.Mutex
	access  []edgenet.AccessRecord
	console []string
}

func newSite(t *testing.T, files map[string]string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), probe: &probe{}}
	for name, content := range files {
		s.write(name, content)
	}
	kinds, err := bindings.NewSet(text.Kind(), service.Kind(), s.probe.kind())
	if err != nil {
		t.Fatal(err)
	}
	s.app = assemble.New(assemble.Options{
		Kinds: kinds, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		NewEngine: func(o assemble.EngineOptions) (isolate.Engine, error) {
			return v8.New(v8.Options{Extensions: o.Extensions, DomainToASCII: webapi.DomainToASCII})
		},
		Access: func(r *edgenet.AccessRecord) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.access = append(s.access, *r)
		},
		Console: func(r isolate.ConsoleRecord) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.console = append(s.console, r.Text)
		},
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := s.app.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

// write replaces a file of the site.
func (s *site) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

// load loads the site and fails the test when that fails.
func (s *site) load() *assemble.Report {
	s.t.Helper()
	r, err := s.tryLoad()
	if err != nil {
		s.t.Fatalf("load: %v", err)
	}
	return r
}

func (s *site) tryLoad() (*assemble.Report, error) {
	r, err := s.app.Load(s.t.Context(), filepath.Join(s.dir, "config.cue"))
	if err == nil {
		for _, a := range r.Addresses {
			if a.Socket == "http" {
				s.base = "http://" + a.Address
			}
		}
	}
	return r, err
}

// get returns the body of a path, with the status in front when it is not 200.
func (s *site) get(path string) string {
	s.t.Helper()
	got, err := get(http.DefaultClient, s.base+path)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func get(c *http.Client, url string) (string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 {
		return fmt.Sprintf("%d %s", resp.StatusCode, body), err
	}
	return string(body), err
}

func (s *site) want(path, want string) {
	s.t.Helper()
	if got := s.get(path); got != want {
		s.t.Errorf("%s answers %q, want %q", path, got, want)
	}
}

// worker is code that answers with a text.
func worker(text string) string {
	return fmt.Sprintf("export default { fetch: () => new Response(%q) };\n", text)
}

const oneWorker = `
admin: address: "off"
services: w: worker: main: "w.js"
sockets: http: {address: "127.0.0.1:0", service: "w"}
`

func TestLoadKeepsWhatDidNotChange(t *testing.T) {
	s := newSite(t, map[string]string{
		"config.cue": `
admin: address: "off"
services: {
	a: worker: {main: "a.js", bindings: {B: service: "b", P: probe: "same", Q: probe: "q1"}}
	b: worker: {main: "b.js", bindings: P: probe: "b"}
	site: disk: path: "public"
}
sockets: http: {address: "127.0.0.1:0", routes: [{path: "/site/", service: "site"}, {path: "/b", service: "b"}, {service: "a"}]}
`,
		"a.js":                 `let n = 0; export default { fetch: async (r, env) => new Response([++n, await (await env.B.fetch("http://b/")).text(), env.P, env.Q].join()) };`,
		"b.js":                 `let n = 0; export default { fetch: (r, env) => new Response("b1." + ++n) };`,
		"public/site/page.txt": "page 1",
	})
	expect := func(r *assemble.Report, started, kept int) {
		t.Helper()
		if r.Started != started || r.Kept != kept {
			t.Errorf("started %d and kept %d workers, want %d and %d", r.Started, r.Kept, started, kept)
		}
	}
	counts := func(opened, closed int) {
		t.Helper()
		// What was replaced is closed in the background.
		s.until(func() bool { o, c := s.probe.counts(); return o == opened && c == closed })
	}
	expect(s.load(), 2, 0)
	s.want("/", "1,b1.1,same,q1")
	counts(3, 0)

	r := s.load()
	expect(r, 0, 2)
	if !r.Unchanged {
		t.Error("the report does not say that nothing has changed")
	}
	s.want("/", "2,b1.2,same,q1")

	// Only b: a goes on, and calls the new b.
	s.write("b.js", `let n = 0; export default { fetch: (r, env) => new Response("b2." + ++n) };`)
	expect(s.load(), 1, 1)
	s.want("/", "3,b2.1,same,q1")
	counts(3, 0)

	// One binding of a: a starts anew, its other binding is handed over.
	config, err := os.ReadFile(filepath.Join(s.dir, "config.cue"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("config.cue", strings.Replace(string(config), "q1", "q2", 1))
	expect(s.load(), 1, 1)
	s.want("/", "1,b2.2,same,q2")
	counts(4, 1)

	// A file of the disk service.
	s.want("/site/page.txt", "page 1")
	s.write("public/site/page.txt", "page 2")
	if r := s.load(); r.Unchanged {
		t.Error("the report says that nothing has changed")
	}
	s.want("/site/page.txt", "page 2")

	// A worker that is gone.
	s.write("config.cue", oneWorker)
	s.write("w.js", worker("alone"))
	expect(s.load(), 1, 0)
	s.want("/", "alone")
	counts(4, 4)
}

// until waits for something that happens in the background.
func (s *site) until(ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatal("what should happen in the background did not")
		}
	}
}

func TestLoadThatFailsLeavesWhatServes(t *testing.T) {
	s := newSite(t, map[string]string{"config.cue": oneWorker, "w.js": worker("good")})
	if s.app.Ready() {
		t.Error("ready before anything was loaded")
	}
	s.load()
	if !s.app.Ready() {
		t.Error("not ready")
	}
	with := func(services string) string {
		return strings.Replace(oneWorker, "services: w:", services+"\nservices: w:", 1)
	}
	for _, tt := range []struct {
		name, config, code string
		want               []string
	}{
		{"a mistake", "services: {}\n", "", []string{"config.cue:1:1: sockets: is missing"}},
		{"code that does not parse", oneWorker, "export default {{", []string{"services.w.worker.main:", "w.js:1:"}},
		{"code that throws", oneWorker, "\n\nnull.x", []string{"services.w: the worker did not start", "TypeError: Cannot read properties of null", "w.js:3:"}},
		{"code without a handler", oneWorker, "export default 5", []string{"services.w: the worker did not start", "no fetch handler"}},
		{"code that does not end", with("limits: startupCpu: \"50ms\""), "for (;;);", []string{"services.w:", "limits.startupCpu"}},
		{"several workers", with("services: {a: worker: main: \"a.js\", z: worker: main: \"z.js\"}"), worker("good"),
			[]string{"services.a.worker.main:", "services.z.worker.main:"}},
		{"a binding that cannot be opened", with("services: w: worker: bindings: P: probe: \"broken\""), worker("good"),
			[]string{"services.w.worker.bindings.P: cannot be opened"}},
		{"a binding that was opened before", with("services: {w: worker: bindings: P: probe: \"fine\", x: worker: {main: \"w.js\", bindings: P: probe: \"broken\"}}"), worker("good"),
			[]string{"services.x.worker.bindings.P: cannot be opened"}},
		{"a port in use", with("sockets: more: {address: \"" + strings.TrimPrefix(s.base, "http://") + "\", service: \"w\"}"), worker("other"),
			[]string{"sockets.more.address: listen on 127.0.0.1:", "the address is in use"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.write("config.cue", tt.config)
			s.write("w.js", tt.code)
			s.write("a.js", "1 +")
			s.write("z.js", "import 'npm:z'")
			_, err := s.tryLoad()
			if err == nil {
				t.Fatal("the load worked")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			s.want("/", "good")
		})
	}
	if o, c := s.probe.counts(); o != c || o != 1 {
		t.Errorf("%d bindings were opened and %d closed, want 1 and 1", o, c)
	}
	s.write("config.cue", oneWorker)
	s.write("w.js", worker("mended"))
	s.load()
	s.want("/", "mended")
}

func TestProblemsShowTheSource(t *testing.T) {
	s := newSite(t, map[string]string{"config.cue": strings.Replace(oneWorker, "w.js", "w.ts", 1),
		"w.ts": "interface A {}\n\nfunction boom(a: A): never {\n  throw new RangeError(\"no\");\n}\nboom({});\nexport default {};\n"})
	_, err := s.tryLoad()
	var ae *assemble.Error
	if !errors.As(err, &ae) || len(ae.Problems) != 1 || ae.Problems[0].Service != "w" {
		t.Fatalf("the error is %#v, want one problem of w", err)
	}
	const want = `services.w: the worker did not start: RangeError: no
  2 | 
  3 | function boom(a: A): never {
> 4 |   throw new RangeError("no");
    |         ^
  5 | }
  6 | boom({});
    at boom (w.ts:4:9)
    at w.ts:6:1`
	if got := ae.Render(false); got != want {
		t.Errorf("rendered\n%s\nwant\n%s", got, want)
	}
}

func TestConsoleNamesTheAuthorsFiles(t *testing.T) {
	s := newSite(t, map[string]string{"config.cue": strings.Replace(oneWorker, "w.js", "w.ts", 1),
		"w.ts": "type A = string;\n\nexport default {\n  fetch() {\n    Promise.reject(new Error('alone'));\n    return new Response('ok');\n  },\n};\n"})
	s.load()
	s.want("/", "ok")
	s.until(func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.console) > 0 })
	if got, want := s.console[0], "Uncaught (in promise) Error: alone\n    at Object.fetch (w.ts:5:20)"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestExplain(t *testing.T) {
	s := newSite(t, map[string]string{"config.cue": oneWorker,
		"w.js": "export default {\n  fetch() {\n    throw new Error('here');\n  },\n};\n"})
	if x := s.app.Explain("w", errors.New("x")); x.Stack != "" {
		t.Errorf("before a load: %+v", x)
	}
	s.load()
	if got := s.get("/"); !strings.HasPrefix(got, `500 {"outcome":"exception"`) || strings.Contains(got, "here") {
		t.Errorf("answered %s", got)
	}
	s.until(func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.access) > 0 })
	r := s.access[0]
	x := s.app.Explain(r.Service, r.Err)
	if x.Message != "Error: here" || x.File != "w.js" || x.Line != 3 || x.Stack != "Error: here\n    at Object.fetch (w.js:3:11)" {
		t.Errorf("explained as %+v", x)
	}
	if frame := x.Frame(false); !strings.Contains(frame, "> 3 |     throw new Error('here');") {
		t.Errorf("framed as\n%s", frame)
	}
	if x := s.app.Explain("nobody", r.Err); x.Stack != "" {
		t.Errorf("of another service: %+v", x)
	}
}

func TestConsoleShowsTheSource(t *testing.T) {
	s := newSite(t, map[string]string{"config.cue": strings.Replace(oneWorker, "w.js", "w.ts", 1), "w.ts": `interface A {}

function boom(a: A): never {
  throw Object.assign(new Error("no", { cause: new Error("why") }), { code: 5 });
}
export default {
  fetch() {
    try {
      boom({});
    } catch (e) {
      console.error("caught", e);
    }
    console.log("file:///w.js:1:1", "no stack");
    (async () => boom({}))();
    return new Response("ok");
  },
};
`})
	s.load()
	s.want("/", "ok")
	s.until(func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.console) == 3 })
	const stack = `Error: no
    at boom (w.ts:4:23)
    at Object.fetch (w.ts:9:7) {
  code: 5,
  [cause]: Error: why
      at boom (w.ts:4:48)
      at Object.fetch (w.ts:9:7)
}`
	if got := s.console[0]; got != "caught "+stack {
		t.Errorf("logged\n%s\nwant\ncaught %s", got, stack)
	}
	if got := s.console[1]; got != "file:///w.js:1:1 no stack" {
		t.Errorf("a text that is no stack was logged as %q", got)
	}
	if got := s.console[2]; !strings.HasPrefix(got, "Uncaught (in promise) Error: no\n    at boom (w.ts:4:23)\n    at w.ts:14:18\n    at Object.fetch (w.ts:14:25)") || strings.Contains(got, "edge:") {
		t.Errorf("a rejection was logged as\n%s", got)
	}
}

func TestAddresses(t *testing.T) {
	kinds, err := bindings.NewSet(text.Kind())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "config.cue")
	if err := os.WriteFile(path, []byte(oneWorker), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "w.js"), []byte(worker("x")), 0o644); err != nil {
		t.Fatal(err)
	}
	app := assemble.New(assemble.Options{Kinds: kinds, Addresses: map[string]string{"htp": "127.0.0.1:0"}})
	defer app.Stop(t.Context())
	if _, err := app.Load(t.Context(), path); err == nil || !strings.Contains(err.Error(), `the socket "htp", which the configuration does not have (it has http)`) {
		t.Errorf("an address for no socket: %v", err)
	}
}

func TestLoadAfterStop(t *testing.T) {
	s := newSite(t, map[string]string{"config.cue": oneWorker, "w.js": worker("x")})
	s.load()
	if err := s.app.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.tryLoad(); err == nil || !strings.Contains(err.Error(), "is stopping") {
		t.Errorf("load after stop: %v", err)
	}
	if _, err := get(http.DefaultClient, s.base); err == nil {
		t.Error("it still answers")
	}
}

func TestMistakesAreThoseOfConfig(t *testing.T) {
	s := newSite(t, map[string]string{"config.cue": "services: 1"})
	_, err := s.tryLoad()
	var ce *config.Error
	if !errors.As(err, &ce) {
		t.Fatalf("the error is a %T, want a *config.Error", err)
	}
	watched := s.app.Watched()
	if len(watched.Files) == 0 || watched.Files[0] != filepath.Join(s.dir, "config.cue") {
		t.Errorf("watches %+v, want the configuration", watched)
	}
}

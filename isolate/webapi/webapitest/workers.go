package webapitest

import (
	"embed"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

//go:embed workers
var files embed.FS

// Worker is a worker with requests and what it has to answer.
type Worker struct {
	Name   string
	Source []byte // the main module
	// Env are the bindings, by name; the order is theirs in the file.
	Env []EnvEntry
	// Outbound says that Origin is the outbound service; without it there is none
	// and OutboundField is the config field that would grant one.
	Outbound      bool
	OutboundField string
	// Boot is part of the error that start-up has to end with; empty for none.
	Boot     string
	Requests []Request
}

// EnvEntry is one binding of a Worker.
type EnvEntry struct {
	Name  string
	Value json.RawMessage
}

// Request is one request to a Worker.
type Request struct {
	Entrypoint string
	Method     string
	URL        string // a path
	Headers    [][2]string
	Body       *string
	Stream     []string // the body, in chunks
	Want       Want
}

// Want is what has to come of a Request. Zero fields are not looked at.
type Want struct {
	Status     int
	StatusText string
	Headers    [][2]string // each has to be there
	Body       *string
	Length     int
	Outcome    outcome.Outcome // of a failure
	Error      string          // part of its text, cause included
}

// Workers returns the workers of this package, by name.
func Workers() ([]Worker, error) {
	names, err := files.ReadDir("workers")
	if err != nil {
		return nil, err
	}
	var ws []Worker
	for _, n := range names {
		name, isSource := strings.CutSuffix(n.Name(), ".js")
		if !isSource {
			continue
		}
		w, err := readWorker(name)
		if err != nil {
			return nil, err
		}
		ws = append(ws, w)
	}
	return ws, nil
}

func readWorker(name string) (Worker, error) {
	w := Worker{Name: name}
	var err error
	if w.Source, err = files.ReadFile(path.Join("workers", name+".js")); err != nil {
		return w, err
	}
	text, err := files.ReadFile(path.Join("workers", name+".json"))
	if err != nil {
		return w, err
	}
	var spec struct {
		Env           map[string]json.RawMessage
		Outbound      bool
		OutboundField string
		Boot          string
		Requests      []Request
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return w, err
	}
	for n, v := range spec.Env {
		w.Env = append(w.Env, EnvEntry{n, v})
	}
	slices.SortFunc(w.Env, func(a, b EnvEntry) int { return strings.Compare(a.Name, b.Name) })
	w.Outbound, w.OutboundField, w.Boot, w.Requests = spec.Outbound, spec.OutboundField, spec.Boot, spec.Requests
	return w, nil
}

// Start starts a worker and returns its Fetchers by entrypoint. boot is the error
// of its start-up.
type Start func(t *testing.T, w Worker) (entrypoint func(name string) fetch.Fetcher, boot error)

// RunWorkers runs every worker and checks what it answers.
func RunWorkers(t *testing.T, start Start) {
	ws, err := Workers()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ws {
		t.Run(w.Name, func(t *testing.T) {
			entrypoint, boot := start(t, w)
			if (boot != nil) != (w.Boot != "") || boot != nil && !strings.Contains(boot.Error(), w.Boot) {
				t.Fatalf("start-up ended with %v, want %q", boot, w.Boot)
			}
			for _, r := range w.Requests {
				r.run(t, entrypoint(r.Entrypoint))
			}
		})
	}
}

func (r Request) run(t *testing.T, f fetch.Fetcher) {
	t.Helper()
	what := strings.TrimSpace(r.Method + " " + r.URL + " " + r.Entrypoint)
	req := &fetch.Request{Method: "GET", URL: "http://worker.example" + r.URL, ID: "test", ClientAddr: "192.0.2.1:99"}
	if r.Method != "" {
		req.Method = r.Method
	}
	for _, h := range r.Headers {
		req.Header.Add(h[0], h[1])
	}
	switch {
	case r.Stream != nil:
		rd, wr := io.Pipe()
		go func() {
			for _, chunk := range r.Stream {
				if _, err := io.WriteString(wr, chunk); err != nil {
					return
				}
			}
			_ = wr.Close() // it never fails
		}()
		req.Body = fetch.StreamBody(rd, -1)
		defer rd.Close()
	case r.Body != nil:
		req.Body = fetch.BytesBody([]byte(*r.Body))
	}
	resp, err := f.Fetch(t.Context(), req)
	if r.Want.Outcome != "" || err != nil {
		if err == nil || outcome.Of(err) != r.Want.Outcome || !strings.Contains(err.Error(), r.Want.Error) {
			t.Errorf("%s: ended with %v, want %s with %q", what, err, r.Want.Outcome, r.Want.Error)
		}
		return
	}
	r.Want.check(t, what, resp)
}

func (w Want) check(t *testing.T, what string, resp *fetch.Response) {
	t.Helper()
	body, err := resp.Body.ReadAll(1 << 20)
	if err != nil {
		t.Errorf("%s: reading the body: %v", what, err)
	}
	if w.Status != 0 && resp.Status != w.Status {
		t.Errorf("%s: status %d, want %d (%.200s)", what, resp.Status, w.Status, body)
	}
	if w.StatusText != "" && resp.StatusText != w.StatusText {
		t.Errorf("%s: status text %q, want %q", what, resp.StatusText, w.StatusText)
	}
	if w.Body != nil && string(body) != *w.Body {
		t.Errorf("%s: body %q, want %q", what, body, *w.Body)
	}
	if w.Length != 0 && len(body) != w.Length {
		t.Errorf("%s: body of %d bytes, want %d", what, len(body), w.Length)
	}
	for _, h := range w.Headers {
		if !slices.Contains(resp.Header.Values(h[0]), latin1(h[1])) {
			t.Errorf("%s: header %s is %q, want %q among them", what, h[0], resp.Header.Values(h[0]), h[1])
		}
	}
}

// latin1 returns the bytes that a text of characters below 256 stands for.
func latin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

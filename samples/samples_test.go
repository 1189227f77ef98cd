package samples

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/edge-runtime/edge/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// expectations is expect.json, which README.md explains.
type expectations struct {
	Needs    []string
	Prepare  [][]string
	Env      map[string]string
	Requests []request
}

type request struct {
	Name    string
	Method  string
	Path    string
	Headers map[string]string
	Body    string
	// BodySize sends that many bytes in place of Body.
	BodySize int
	Repeat   int
	Want     want
}

type want struct {
	Status   int
	Headers  map[string]string
	Body     *string
	Contains []string
	JSON     json.RawMessage
	Absent   []string
	// Cut wants a body that ends before its end.
	Cut bool
}

// TestSamples serves each sample and asks it what its expect.json says.
func TestSamples(t *testing.T) {
	dirs, err := filepath.Glob("*/config.cue")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("found no samples (%v)", err)
	}
	for _, config := range dirs {
		dir := filepath.Dir(config)
		t.Run(dir, func(t *testing.T) { testSample(t, dir) })
	}
}

func testSample(t *testing.T, dir string) {
	var x expectations
	text, err := os.ReadFile(filepath.Join(dir, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&x); err != nil {
		t.Fatalf("read expect.json: %v", err)
	}
	for _, tool := range x.Needs {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s needs %s", dir, tool)
		}
	}
	for _, args := range x.Prepare {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	var env []string
	for name, value := range x.Env {
		env = append(env, name+"="+value)
	}
	p, err := programtest.Start(context.Background(), dir, env, "serve", "config.cue", "--log-format=json",
		"--socket-addr=http=127.0.0.1:0", "--admin-addr=off")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	base, err := p.URL("http")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range x.Requests {
		for range max(r.Repeat, 1) {
			if err := r.run(base); err != nil {
				t.Errorf("%s: %v", r, err)
				break
			}
		}
	}
	if t.Failed() {
		t.Logf("the log:\n%s", p.Output())
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Wait(); err != nil || code != 0 {
		t.Errorf("the program ended with %d, %v, want 0\n%s", code, err, p.Output())
	}
}

func (r request) String() string {
	if r.Name != "" {
		return r.Name
	}
	return strings.TrimSpace(r.Method + " " + r.Path)
}

func (r request) run(base string) error {
	method := r.Method
	if method == "" {
		method = "GET"
	}
	sent := r.Body
	if r.BodySize > 0 {
		sent = strings.Repeat("x", r.BodySize)
	}
	req, err := http.NewRequest(method, strings.TrimSuffix(base, "/")+r.Path, strings.NewReader(sent))
	if err != nil {
		return err
	}
	for name, value := range r.Headers {
		if strings.EqualFold(name, "host") {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	client := http.Client{Timeout: programtest.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if cut := err != nil; cut != r.Want.Cut {
		return fmt.Errorf("read body: %v after %q, want it cut: %t", err, body, r.Want.Cut)
	}
	return r.Want.check(resp, body)
}

func (w want) check(resp *http.Response, body []byte) error {
	status := w.Status
	if status == 0 {
		status = 200
	}
	if resp.StatusCode != status {
		return fmt.Errorf("status %d, want %d\n%s", resp.StatusCode, status, body)
	}
	for name, value := range w.Headers {
		if got := resp.Header.Get(name); got != value {
			return fmt.Errorf("header %s is %q, want %q", name, got, value)
		}
	}
	if w.Body != nil && string(body) != *w.Body {
		return fmt.Errorf("body %q, want %q", body, *w.Body)
	}
	for _, part := range w.Contains {
		if !strings.Contains(string(body), part) {
			return fmt.Errorf("body %q, want %q in it", body, part)
		}
	}
	for _, part := range w.Absent {
		if strings.Contains(string(body), part) {
			return fmt.Errorf("body %q, want no %q in it", body, part)
		}
	}
	if w.JSON == nil {
		return nil
	}
	var got, expected any
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("body %q is no JSON: %w", body, err)
	}
	if err := json.Unmarshal(w.JSON, &expected); err != nil {
		return fmt.Errorf("read expect.json: %w", err)
	}
	if !reflect.DeepEqual(got, expected) {
		return fmt.Errorf("body %s, want %s", body, w.JSON)
	}
	return nil
}

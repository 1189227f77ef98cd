package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edge-runtime/edge/internal/programtest"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// patience bounds everything that has to happen, on the slowest machine.
const patience = programtest.Patience

// tenant is a service of the server under attack. Its requests carry the Host
// that tenant.host returns.
type tenant struct {
	name   string
	main   string
	limits map[string]any
	more   map[string]any // other fields of the worker
}

func (tt tenant) host() string { return tt.name + ".test" }

// logRecord is a line of the server's log.
type logRecord struct {
	Msg, Outcome, Host, Path, Worker, Level, Text, Error, URL, Socket string
	Status                                                            int
	CPU                                                               float64 `json:"cpu_ms"`
	Parked                                                            bool
}

// victim is the server under attack: the program with a configuration of many
// tenants, and everything that it logged.
type victim struct {
	dir     string
	pid     int
	address string            // of the socket "http"
	sockets map[string]string // all of them
	client  *http.Client
	kill    func() error
	signal  func(os.Signal) error
	exited  chan struct{} // closed when the process has ended

	mu      sync.Mutex
	changed chan struct{} // closed when a line comes
	records []logRecord
	raw     []string // lines that are no JSON
	bytes   int64
}

// startVictim serves the tenants, each under its own host name, on each of the
// sockets. Sockets map names to their http field.
func startVictim(t *testing.T, tenants []tenant, services map[string]any, sockets map[string]any, server map[string]any) *victim {
	t.Helper()
	v := &victim{dir: t.TempDir(), sockets: map[string]string{}, exited: make(chan struct{}), changed: make(chan struct{})}
	if err := os.CopyFS(v.dir, os.DirFS("testdata/hostile")); err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(services)
	if all == nil {
		all = map[string]any{}
	}
	var routes []any
	for _, tt := range tenants {
		worker := map[string]any{"main": tt.main}
		maps.Copy(worker, tt.more)
		if tt.limits != nil {
			worker["limits"] = tt.limits
		}
		all[tt.name] = map[string]any{"worker": worker}
		routes = append(routes, map[string]any{"host": tt.host(), "service": tt.name})
	}
	listen := map[string]any{}
	for name, limits := range sockets {
		listen[name] = map[string]any{"address": "127.0.0.1:0", "routes": routes, "http": limits}
	}
	config, err := json.Marshal(map[string]any{"services": all, "sockets": listen, "admin": map[string]any{"address": "off"}, "server": server})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(v.dir, "config.cue"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := programtest.Command(context.Background(), "serve", "config.cue", "--log-format=json")
	cmd.Dir = v.dir
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.pid, v.kill, v.signal = cmd.Process.Pid, cmd.Process.Kill, cmd.Process.Signal
	go v.read(out)
	go func() {
		_ = cmd.Wait() // how it ended is seen by who signalled
		_ = in.Close() // never fails
		close(v.exited)
	}()
	t.Cleanup(func() {
		_ = v.kill() // it may have ended
		<-v.exited
	})
	for name := range sockets {
		r := v.await(t, "listening on "+name, func(r *logRecord) bool { return r.Msg == "listening" && r.Socket == name })
		v.sockets[name] = strings.Trim(strings.TrimPrefix(r.URL, "http://"), "/")
	}
	v.address = v.sockets["http"]
	v.client = v.newClient()
	return v
}

// newClient returns a client that finds every host at the server.
func (v *victim) newClient() *http.Client {
	tr := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, v.address)
		},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 64,
	}
	return &http.Client{Transport: tr, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// read collects the log.
func (v *victim) read(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			var rec logRecord
			bad := json.Unmarshal(line, &rec) != nil
			v.mu.Lock()
			v.bytes += int64(len(line))
			if bad {
				v.raw = append(v.raw, string(bytes.TrimSpace(line)))
			} else {
				v.records = append(v.records, rec)
			}
			close(v.changed)
			v.changed = make(chan struct{})
			v.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// await waits for a line of the log.
func (v *victim) await(t *testing.T, what string, match func(*logRecord) bool) *logRecord {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for from := 0; ; {
		v.mu.Lock()
		list, changed := v.records[from:], v.changed
		v.mu.Unlock()
		for i := range list {
			if match(&list[i]) {
				return &list[i]
			}
		}
		from += len(list)
		select {
		case <-changed:
		case <-v.exited:
			t.Fatalf("%s: the server has ended:\n%s", what, v.tail())
		case <-timeout.C:
			t.Fatalf("%s: no such line in the log:\n%s", what, v.tail())
		}
	}
}

// count returns how many lines match.
func (v *victim) count(match func(*logRecord) bool) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for i := range v.records {
		if match(&v.records[i]) {
			n++
		}
	}
	return n
}

// tail returns the end of the log, requests that went well left out.
func (v *victim) tail() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	bad := slices.DeleteFunc(slices.Clone(v.records), func(r logRecord) bool { return r.Outcome == "ok" })
	for _, r := range bad[max(0, len(bad)-30):] {
		fmt.Fprintf(&b, "%+v\n", r)
	}
	for _, line := range v.raw[max(0, len(v.raw)-200):] {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// alive fails the test when the process has ended.
func (v *victim) alive(t *testing.T) {
	t.Helper()
	select {
	case <-v.exited:
		t.Fatalf("the server has ended:\n%s", v.tail())
	default:
	}
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// ask makes a request of a tenant.
func (v *victim) ask(t *testing.T, tt tenant, path string) answer {
	t.Helper()
	a, err := v.try(tt, path)
	if err != nil {
		v.alive(t)
		t.Fatalf("GET http://%s%s: %v", tt.host(), path, err)
	}
	return a
}

func (v *victim) try(tt tenant, path string) (answer, error) {
	resp, err := v.client.Get("http://" + tt.host() + path)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body), err: err}, nil
}

// outcome returns how the server says that the request ended.
func (a answer) outcome() outcome.Outcome {
	if o := a.header.Get("Edge-Outcome"); o != "" {
		return outcome.Outcome(o)
	}
	return outcome.OK
}

var requestID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// checkFailure compares a failure that the runtime answered with one of the
// outcomes that it may have.
func (a answer) checkFailure(t *testing.T, dir string, want ...outcome.Outcome) {
	t.Helper()
	got := a.outcome()
	if !slices.Contains(want, got) {
		t.Fatalf("outcome: got %s (%d %q), want %v", got, a.status, clip(a.body), want)
	}
	if got == outcome.OK {
		return
	}
	var body struct{ Outcome, Message, RequestID string }
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		t.Fatalf("body of a failure: got %q (%v)", clip(a.body), err)
	}
	if a.status != got.Status() || body.Outcome != string(got) || body.Message == "" || !requestID.MatchString(body.RequestID) {
		t.Errorf("failure: got %d %+v for %s", a.status, body, got)
	}
	if a.header.Get("Content-Type") != "application/json" {
		t.Errorf("Content-Type of a failure: got %q", a.header.Get("Content-Type"))
	}
	checkPublic(t, a.body, dir)
	if s := a.header.Get("Retry-After"); (got == outcome.QueueFull || got == outcome.LoadShed) && s == "" {
		t.Errorf("%s came without Retry-After", got)
	}
}

// checkPublic looks for what a public text may never have: paths of the host and
// stacks.
func checkPublic(t *testing.T, text, dir string) {
	t.Helper()
	for _, secret := range []string{dir, os.TempDir(), ".js:", "edge:worker", "goroutine ", ".go:"} {
		if strings.Contains(text, secret) {
			t.Errorf("a public text has %q: %q", secret, clip(text))
		}
	}
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

// healthy waits until a tenant answers an ordinary request: one that was held
// back after a fatal error says when to come again, and is believed.
func (v *victim) healthy(t *testing.T, tt tenant) {
	t.Helper()
	until := time.Now().Add(patience)
	for {
		a := v.ask(t, tt, "/ok")
		if a.status == 200 && a.body == "ok" {
			return
		}
		if o := a.outcome(); o != outcome.Fatal && o != outcome.MemoryExceeded && o != outcome.CPUExceeded || time.Now().After(until) {
			t.Fatalf("after the attack %s answers an ordinary request with %d %s %q", tt.name, a.status, o, clip(a.body))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// usage is what a process holds.
type usage struct {
	rss          int64 // bytes
	threads, fds int
}

func (v *victim) usage(t *testing.T) usage {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.pid))
	if err != nil {
		v.alive(t)
		t.Fatal(err)
	}
	field := func(name string) int64 {
		m := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+)`).FindSubmatch(status)
		if m == nil {
			t.Fatalf("no %s in /proc/%d/status", name, v.pid)
		}
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", v.pid))
	if err != nil {
		t.Fatal(err)
	}
	return usage{rss: field("VmRSS") << 10, threads: int(field("Threads")), fds: len(fds)}
}

func (u usage) String() string {
	return fmt.Sprintf("%d MiB, %d threads, %d descriptors", u.rss>>20, u.threads, u.fds)
}

// settle polls until the process holds no more than want, and reports what it
// holds at last.
func (v *victim) settle(t *testing.T, want usage) (got usage, ok bool) {
	t.Helper()
	until := time.Now().Add(patience)
	for {
		got = v.usage(t)
		if ok = got.rss <= want.rss && got.threads <= want.threads && got.fds <= want.fds; ok || time.Now().After(until) {
			return got, ok
		}
		<-time.After(50 * time.Millisecond)
	}
}

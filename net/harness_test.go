package edgenet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/edge-runtime/edge/net/fetch"
)

// patience bounds every wait of a test for what must happen.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	if ln, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		_ = ln.Close() // Go's own poller is there from now on
	}
	before := openFiles()
	code := m.Run()
	if code == 0 {
		// fasthttp keeps one goroutine per process that formats the Date header.
		if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1")); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
		if after := openFiles(); before >= 0 && after > before {
			_, _ = os.Stderr.WriteString("descriptors leak\n")
			code = 1
		}
	}
	os.Exit(code)
}

// openFiles counts the process's descriptors, -1 where that is not known.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}

// testServer is a Server on a loopback socket with its access records.
type testServer struct {
	*Server
	t       testing.TB
	addr    string
	records chan AccessRecord
	serving chan error
}

// serve starts a server whose requests all go to f.
func serve(t testing.TB, f fetch.FetcherFunc, change ...func(*ServerConfig)) *testServer {
	t.Helper()
	router, err := NewRouter([]Route{{Service: "test", Fetcher: f}})
	if err != nil {
		t.Fatal(err)
	}
	ts := &testServer{t: t, records: make(chan AccessRecord, 1024), serving: make(chan error, 1)}
	cfg := ServerConfig{
		Socket: "main", Handler: router,
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		Log:    func(r *AccessRecord) { ts.records <- *r },
	}
	for _, c := range change {
		c(&cfg)
	}
	if ts.Server, err = NewServer(cfg); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ts.addr = ln.Addr().String()
	go func() { ts.serving <- ts.Serve(ln) }()
	t.Cleanup(func() {
		ts.Close()
		if err := <-ts.serving; err != nil {
			t.Errorf("Serve returned %v, want nil after Close", err)
		}
	})
	return ts
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Helper()
	w.t.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

// record returns the next access record.
func (ts *testServer) record() AccessRecord {
	ts.t.Helper()
	select {
	case r := <-ts.records:
		return r
	case <-time.After(patience):
		ts.t.Fatal("no access record")
		return AccessRecord{}
	}
}

// noRecord checks that no record is left.
func (ts *testServer) noRecord() {
	ts.t.Helper()
	select {
	case r := <-ts.records:
		ts.t.Errorf("one access record too many: %+v", r)
	default:
	}
}

// rawConn is a client that speaks bytes.
type rawConn struct {
	*net.TCPConn
	t testing.TB
	r *bufio.Reader
}

// dial connects to the server.
func (ts *testServer) dial() *rawConn {
	ts.t.Helper()
	c, err := net.Dial("tcp", ts.addr)
	if err != nil {
		ts.t.Fatal(err)
	}
	ts.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		ts.t.Fatal(err)
	}
	return &rawConn{TCPConn: c.(*net.TCPConn), t: ts.t, r: bufio.NewReader(c)}
}

// send writes text with bare line ends turned into those of HTTP.
func (c *rawConn) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		c.t.Fatal(err)
	}
}

// response reads the head of a response and returns it with its body unread.
func (c *rawConn) response(method string) *http.Response {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read response: %v", err)
	}
	return resp
}

// get reads a whole response.
func (c *rawConn) get(method string) (*http.Response, string) {
	c.t.Helper()
	resp := c.response(method)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("read response body: %v", err)
	}
	return resp, string(body)
}

// rest reads until the server closes the connection.
func (c *rawConn) rest() (string, error) {
	b, err := io.ReadAll(c.r)
	return string(b), err
}

// closed checks that the server has closed the connection without more bytes.
func (c *rawConn) closed() {
	c.t.Helper()
	if b, err := c.rest(); b != "" || err != nil && !isReset(err) {
		c.t.Errorf("connection gives %q, %v, want its end", b, err)
	}
}

func isReset(err error) bool {
	return err != nil && strings.Contains(err.Error(), "reset by peer")
}

// text answers every request with a text.
func text(s string) fetch.FetcherFunc {
	return func(context.Context, *fetch.Request) (*fetch.Response, error) {
		resp := &fetch.Response{Status: 200, Body: fetch.BytesBody([]byte(s))}
		resp.Header.Add("content-type", "text/plain")
		return resp, nil
	}
}

// pipeBody is a stream whose other end the test holds.
type pipeBody struct {
	*io.PipeReader
	once   sync.Once
	closed chan struct{}
}

func newPipeBody() (*pipeBody, *io.PipeWriter) {
	r, w := io.Pipe()
	return &pipeBody{PipeReader: r, closed: make(chan struct{})}, w
}

func (p *pipeBody) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.PipeReader.Close()
}

// await waits for a channel.
func await[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// zeros is a stream without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

var errTest = errors.New("secret cause in /home/someone")

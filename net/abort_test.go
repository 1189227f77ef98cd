package edgenet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// reset closes the client's side so that the server gets a reset.
func (c *rawConn) reset() {
	_ = c.SetLinger(0)
	_ = c.Close()
}

func TestClientThatLeavesCancelsTheRequest(t *testing.T) {
	t.Parallel()
	leave := map[string]func(*rawConn){
		"closed": func(c *rawConn) { _ = c.Close() },
		"reset":  func(c *rawConn) { c.reset() },
	}
	send := map[string]string{
		"waiting":           "GET / HTTP/1.1\nHost: h\n\n",
		"with pipelined":    "GET / HTTP/1.1\nHost: h\n\nGET /next HTTP/1.1\nHost: h\n\n",
		"upload not read":   "POST / HTTP/1.1\nHost: h\nContent-Length: 1000000\n\n" + strings.Repeat("x", 20000),
		"expects to go on":  "POST / HTTP/1.1\nHost: h\nContent-Length: 10\nExpect: 100-continue\n\n",
		"empty chunks only": "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n",
	}
	for how, do := range leave {
		for what, text := range send {
			t.Run(what+" "+how, func(t *testing.T) {
				t.Parallel()
				started := make(chan struct{}, 2)
				causes := make(chan error, 2)
				ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
					started <- struct{}{}
					<-ctx.Done()
					causes <- context.Cause(ctx)
					return nil, ctx.Err()
				}, func(c *ServerConfig) { c.HalfCloseGrace = 10 * time.Millisecond })
				c := ts.dial()
				c.send(text)
				await(t, started, "the request")
				do(c)
				if err := await(t, causes, "the cancellation"); outcome.Of(err) != outcome.Canceled {
					t.Errorf("cause is %v, want canceled", err)
				}
				if rec := ts.record(); rec.Outcome != outcome.Canceled || rec.Status != 499 {
					t.Errorf("record is %+v", rec)
				}
			})
		}
	}
}

// noticed reports whether the server has seen a client end its sending side.
func (ts *testServer) noticed() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for c := range ts.conns {
		if c.gone.Load() {
			return true
		}
	}
	return false
}

func TestHalfClosedClientGetsAQuickAnswer(t *testing.T) {
	t.Parallel()
	var ts *testServer
	ts = serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		for give := time.Now().Add(patience); !ts.noticed() && time.Now().Before(give); {
			runtime.Gosched()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return text("quick")(ctx, req)
	}, func(c *ServerConfig) { c.HalfCloseGrace = patience })
	c := ts.dial()
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	_ = c.CloseWrite()
	if resp, body := c.get("GET"); resp.StatusCode != 200 || body != "quick" {
		t.Errorf("response is %d %q", resp.StatusCode, body)
	}
	c.closed()
}

func TestClientThatLeavesEndsTheStream(t *testing.T) {
	t.Parallel()
	for how, leave := range map[string]func(*rawConn){
		"closed": func(c *rawConn) { _ = c.Close() },
		"reset":  func(c *rawConn) { c.reset() },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			body, w := newPipeBody()
			ts := serve(t, func(context.Context, *fetch.Request) (*fetch.Response, error) {
				return &fetch.Response{Status: 200, Body: fetch.StreamBody(body, -1)}, nil
			}, func(c *ServerConfig) { c.HalfCloseGrace = 10 * time.Millisecond })
			c := ts.dial()
			c.send("GET / HTTP/1.1\nHost: h\n\n")
			c.response("GET")
			if _, err := io.WriteString(w, "data: 1\n\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := c.r.ReadString('1'); err != nil {
				t.Fatal(line, err)
			}
			leave(c) // the stream is silent now
			await(t, body.closed, "the end of the stream")
			if rec := ts.record(); rec.Outcome != outcome.Canceled || rec.Status != 200 || rec.BytesOut != 9 {
				t.Errorf("record is %+v", rec)
			}
		})
	}
}

func TestStreamIsFlushedPieceByPiece(t *testing.T) {
	t.Parallel()
	body, w := newPipeBody()
	ts := serve(t, func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Status: 200, Header: fetch.Header("content-type\ntext/event-stream\n"), Body: fetch.StreamBody(body, -1)}, nil
	})
	c := ts.dial()
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	resp := c.response("GET") // before there is any piece
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("header is %v", resp.Header)
	}
	buf := make([]byte, 100)
	for i := range 5 {
		event := fmt.Sprintf("data: %d\n\n", i)
		if _, err := io.WriteString(w, event); err != nil {
			t.Fatal(err)
		}
		if n, err := io.ReadFull(resp.Body, buf[:len(event)]); string(buf[:n]) != event {
			t.Fatalf("piece %d is %q, %v", i, buf[:n], err)
		}
	}
	_ = w.Close()
	if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
		t.Errorf("stream ends with %q, %v", rest, err)
	}
	await(t, body.closed, "the close of the body")
}

func TestBrokenStreamCutsTheConnection(t *testing.T) {
	t.Parallel()
	broken := func(s string, err error) io.ReadCloser {
		return io.NopCloser(io.MultiReader(strings.NewReader(s), errReader{err}))
	}
	tests := []struct {
		name, proto string
		body        *fetch.Body
		outcome     outcome.Outcome
	}{
		{"error in a chunked body", "HTTP/1.1", fetch.StreamBody(broken("abc", errTest), -1), outcome.StreamAborted},
		{"error before any byte", "HTTP/1.1", fetch.StreamBody(broken("", errTest), -1), outcome.StreamAborted},
		{"failure with an outcome", "HTTP/1.1", fetch.StreamBody(broken("abc", outcome.Failf(outcome.CPUExceeded, "x")), -1), outcome.CPUExceeded},
		{"error in a sized body", "HTTP/1.1", fetch.StreamBody(broken("abc", errTest), 5), outcome.StreamAborted},
		{"shorter than its size", "HTTP/1.1", fetch.StreamBody(io.NopCloser(strings.NewReader("abc")), 5), outcome.StreamAborted},
		{"longer than its size", "HTTP/1.1", fetch.StreamBody(io.NopCloser(strings.NewReader("abcdef")), 5), outcome.StreamAborted},
		{"panic in a body", "HTTP/1.1", fetch.StreamBody(io.NopCloser(panicReader{}), -1), outcome.StreamAborted},
		{"error without frames", "HTTP/1.0", fetch.StreamBody(broken("abc", errTest), -1), outcome.StreamAborted},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ts := serve(t, func(context.Context, *fetch.Request) (*fetch.Response, error) {
				return &fetch.Response{Status: 200, Body: tt.body}, nil
			})
			c := ts.dial()
			c.send("GET / " + tt.proto + "\nHost: h\n\n")
			resp := c.response("GET")
			if body, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("body %q ended as if it were whole", body)
			}
			if rec := ts.record(); rec.Outcome != tt.outcome || rec.Status != 200 {
				t.Errorf("record is %+v, want %s", rec, tt.outcome)
			}
			ts.noRecord()
		})
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("body panics") }

func TestStreamThatStandsStillIsCut(t *testing.T) {
	t.Parallel()
	body, w := newPipeBody()
	defer w.Close()
	ts := serve(t, func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Status: 200, Body: fetch.StreamBody(body, -1)}, nil
	}, func(c *ServerConfig) { c.StreamIdleTimeout = 20 * time.Millisecond })
	c := ts.dial()
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	if b, err := io.ReadAll(c.response("GET").Body); err == nil {
		t.Errorf("body %q ended as if it were whole", b)
	}
	await(t, body.closed, "the close of the body")
	if rec := ts.record(); rec.Outcome != outcome.IdleTimeout {
		t.Errorf("record is %+v", rec)
	}
}

func TestClientThatDoesNotReadIsCut(t *testing.T) {
	t.Parallel()
	produced := make(chan int64, 1)
	ts := serve(t, func(context.Context, *fetch.Request) (*fetch.Response, error) {
		counter := &countReader{r: zeros{}, done: produced}
		return &fetch.Response{Status: 200, Body: fetch.StreamBody(counter, -1)}, nil
	}, func(c *ServerConfig) { c.WriteTimeout = 100 * time.Millisecond })
	c := ts.dial()
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	// Back-pressure: what nobody takes is not produced.
	if n := await(t, produced, "the end of the stream"); n > 256<<20 {
		t.Errorf("%d bytes were produced for a client that reads none", n)
	}
	if rec := ts.record(); rec.Outcome != outcome.IdleTimeout {
		t.Errorf("record is %+v", rec)
	}
}

type countReader struct {
	r    io.Reader
	n    int64
	done chan int64
}

func (c *countReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *countReader) Close() error {
	select {
	case c.done <- c.n:
	default:
	}
	return nil
}

// stuck is a service that does not come back until the test lets it.
type stuck struct {
	contexts chan context.Context
	release  chan struct{}
	late     *pipeBody
	fetched  chan struct{}
}

func newStuck() *stuck {
	late, _ := newPipeBody()
	return &stuck{contexts: make(chan context.Context, 8), release: make(chan struct{}), late: late, fetched: make(chan struct{})}
}

func (s *stuck) Fetch(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if strings.HasSuffix(req.URL, "/quick") {
		return text("quick")(ctx, req)
	}
	s.contexts <- ctx
	<-s.release
	return &fetch.Response{Status: 200, Body: fetch.StreamBody(s.late, -1)}, nil
}

func TestAbandonAnswersForAStuckService(t *testing.T) {
	t.Parallel()
	f := &outcome.Failure{Outcome: outcome.Fatal, Msg: "the isolate was given up", RetryAfter: time.Second, Err: errTest}
	for name, send := range map[string]string{
		"waiting":       "GET / HTTP/1.1\nHost: h\n\n",
		"expecting":     "POST / HTTP/1.1\nHost: h\nContent-Length: 5\nExpect: 100-continue\n\n",
		"with upload":   "POST / HTTP/1.1\nHost: h\nContent-Length: 1000000\n\n" + strings.Repeat("x", 100000),
		"HEAD":          "HEAD / HTTP/1.1\nHost: h\n\n",
		"after another": "GET /quick HTTP/1.1\nHost: h\n\nGET / HTTP/1.1\nHost: h\n\nGET /quick HTTP/1.1\nHost: h\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStuck()
			ts := serve(t, s.Fetch)
			c := ts.dial()
			c.send(send)
			ctx := await(t, s.contexts, "the service")
			if !fetch.Abandon(ctx, f) {
				t.Fatal("Abandon did nothing")
			}
			if fetch.Abandon(ctx, f) {
				t.Error("abandoned twice")
			}
			if name == "after another" {
				// A response that fasthttp held back must not be overtaken.
				if _, body := c.get("GET"); body != "quick" {
					t.Fatalf("first response is %q", body)
				}
				ts.record()
			}
			method, _, _ := strings.Cut(send, " ")
			resp, body := c.get(method)
			if resp.StatusCode != 503 || resp.Header.Get("Edge-Outcome") != "fatal" || resp.Header.Get("Retry-After") != "1" || !resp.Close {
				t.Errorf("response is %d %v", resp.StatusCode, resp.Header)
			}
			if method != "HEAD" && !strings.Contains(body, `"message":"the isolate was given up"`) || strings.Contains(body, "secret") {
				t.Errorf("body is %q", body)
			}
			await(t, ctx.Done(), "the end of the context")
			if outcome.Of(context.Cause(ctx)) != outcome.Fatal {
				t.Errorf("cause is %v", context.Cause(ctx))
			}
			rec := ts.record()
			if rec.Outcome != outcome.Fatal || rec.Status != 503 || rec.Method != method || !errors.Is(rec.Err, errTest) {
				t.Errorf("record is %+v", rec)
			}
			// Drain does not wait for the stuck one, and what it returns later is closed.
			if err := ts.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			close(s.release)
			await(t, s.late.closed, "the close of the late response")
			_ = c.CloseWrite()
			if rest, _ := c.rest(); rest != "" {
				t.Errorf("%q follows the answer", rest)
			}
			ts.noRecord()
		})
	}
}

func TestAbandonAfterTheAnswerDoesNothing(t *testing.T) {
	t.Parallel()
	contexts := make(chan context.Context, 1)
	body, w := newPipeBody()
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		contexts <- ctx
		return &fetch.Response{Status: 200, Body: fetch.StreamBody(body, -1)}, nil
	})
	c := ts.dial()
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	resp := c.response("GET")
	if fetch.Abandon(<-contexts, outcome.Failf(outcome.Fatal, "late")) {
		t.Error("Abandon says that it answered")
	}
	go func() {
		_, _ = io.WriteString(w, "whole")
		_ = w.Close()
	}()
	if b, err := io.ReadAll(resp.Body); string(b) != "whole" || err != nil {
		t.Errorf("body is %q, %v", b, err)
	}
	if rec := ts.record(); rec.Outcome != outcome.OK {
		t.Errorf("record is %+v", rec)
	}
}

func TestAbandonAndReturnRace(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		go fetch.Abandon(ctx, outcome.Failf(outcome.CPUExceeded, "spun"))
		return text("done")(ctx, req)
	})
	answers := map[int]int{}
	for range 200 {
		c := ts.dial()
		c.send("GET / HTTP/1.1\nHost: h\nConnection: close\n\n")
		resp, body := c.get("GET")
		answers[resp.StatusCode]++
		rec := ts.record()
		if resp.StatusCode != rec.Status || (resp.StatusCode == 200) != (body == "done") {
			t.Fatalf("response is %d %q, record %+v", resp.StatusCode, body, rec)
		}
		c.closed()
		_ = c.Close()
	}
	t.Log(answers)
	ts.noRecord()
}

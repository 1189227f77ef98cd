package conformance

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/isolate/outcome"
)

func (s *suite) testLifetimes(t *testing.T) {
	for _, l := range s.lives {
		t.Run(l.way, func(t *testing.T) {
			t.Parallel()
			switch v := s.victim; {
			case l.leave:
				v.leave(t, l)
			case l.answered:
				v.begin(t, l)
			default:
				v.ask(t, l.tenant, "/"+l.way).checkFailure(t, v.dir, l.want...)
			}
			s.victim.healthy(t, l.tenant)
		})
	}
}

// begin makes a request whose response begins well.
func (v *victim) begin(t *testing.T, l life) {
	t.Helper()
	a := v.ask(t, l.tenant, "/"+l.way)
	if a.status != 200 {
		t.Fatalf("got %d %s %q", a.status, a.outcome(), clip(a.body))
	}
	if cut := a.err != nil; cut != l.cut {
		t.Errorf("the body is %q (%v)", clip(a.body), a.err)
	}
	if want := "answered"; !l.cut && a.body != want {
		t.Errorf("the body is %q, want %q", clip(a.body), want)
	}
	v.ended(t, l)
}

// ended waits for the log's word on how a request ended.
func (v *victim) ended(t *testing.T, l life) {
	t.Helper()
	r := v.await(t, "the request's record", func(r *logRecord) bool { return r.Msg == "request" && r.Host == l.host() && r.Path == "/"+l.way })
	if !slices.Contains(l.want, outcome.Outcome(r.Outcome)) {
		t.Errorf("the log says %+v, want %v", r, l.want)
	}
}

// leave makes a request and leaves: in the middle of the response, or before.
func (v *victim) leave(t *testing.T, l life) {
	t.Helper()
	wait := patience
	if !l.answered {
		wait = 100 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+l.host()+"/"+l.way, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := v.client.Do(req)
	if !l.answered {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, %v", resp, err)
		}
		v.ended(t, l)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, resp.Body, 2<<20); err != nil {
		t.Errorf("read the begin of the body: %v", err)
	}
	cancel()
	_ = resp.Body.Close() // canceled
	v.ended(t, l)
}

// testLargeHeads sends heads that are more than a server takes.
func (s *suite) testLargeHeads(t *testing.T) {
	v := s.victim
	for name, tt := range map[string]struct {
		head string
		want int
	}{
		"one large header":    {"X: " + strings.Repeat("x", 1<<20) + "\r\n", 431},
		"many headers":        {strings.Repeat("X: "+strings.Repeat("x", 100)+"\r\n", 10000), 431},
		"a header of no name": {": x\r\n", 400},
		"a NUL":               {"X: a\x00b\r\n", 400},
		"a bare CR":           {"X: a\rb\r\n", 400},
		"two lengths":         {"Content-Length: 5\r\nContent-Length: 6\r\n", 400},
		// Chunks win, and nothing that follows is believed to be a request.
		"length and chunks": {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			resp := v.send(t, "POST /ok HTTP/1.1\r\nHost: "+s.headers.host()+"\r\n"+tt.head+"\r\n0\r\n\r\nGET /ok HTTP/1.1\r\n\r\n")
			if resp.StatusCode != tt.want || !resp.Close {
				t.Errorf("got %d, want %d; the connection closes: %t", resp.StatusCode, tt.want, resp.Close)
			}
		})
	}
	long := "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: " + s.headers.host() + "\r\n\r\n"
	if status := v.send(t, long).StatusCode; status != 431 && status != 414 {
		t.Errorf("a long path: got %d", status)
	}
}

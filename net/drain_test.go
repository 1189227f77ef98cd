package edgenet

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

func TestDrainFinishesWhatRuns(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), make(chan struct{})
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		if strings.HasSuffix(req.URL, "/wait") {
			close(started)
			<-finish
		}
		return text("done")(ctx, req)
	})
	idle := ts.dial()
	idle.send("GET / HTTP/1.1\nHost: h\n\n")
	idle.get("GET")
	ts.record()
	fresh := ts.dial() // connected, about to send
	fresh.send("GE")
	busy := ts.dial()
	busy.send("GET /wait HTTP/1.1\nHost: h\n\n")
	await(t, started, "the request")

	drained := make(chan error, 1)
	go func() { drained <- ts.Drain(t.Context()) }()
	idle.closed() // at once
	if c, err := net.Dial("tcp", ts.addr); err == nil {
		_ = c.Close()
		t.Error("the server still accepts")
	}
	fresh.send("T / HTTP/1.1\nHost: h\n\n")
	if resp, body := fresh.get("GET"); body != "done" || !resp.Close {
		t.Errorf("fresh connection got %q, close %v", body, resp.Close)
	}
	fresh.closed()
	select {
	case err := <-drained:
		t.Fatalf("Drain returned %v before the request had ended", err)
	default:
	}
	close(finish)
	if resp, body := busy.get("GET"); body != "done" || !resp.Close {
		t.Errorf("busy connection got %q, close %v", body, resp.Close)
	}
	busy.closed()
	if err := await(t, drained, "the end of Drain"); err != nil {
		t.Error(err)
	}
}

func TestRetireLeavesIdleConnectionsTheirLastRequest(t *testing.T) {
	t.Parallel()
	ts := serve(t, text("done"))
	idle, lazy := ts.dial(), ts.dial()
	for _, c := range []*rawConn{idle, lazy} {
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		c.get("GET")
		ts.record()
	}
	retired := make(chan error, 1)
	go func() { retired <- ts.Retire(t.Context()) }()
	await(t, ts.stop, "the end of accepting")
	// stop is closed first; the listeners are when the lock is free again.
	ts.mu.Lock()
	listening := len(ts.listeners)
	ts.mu.Unlock()
	if listening != 0 {
		t.Errorf("%d listeners are left", listening)
	}
	if c, err := net.Dial("tcp", ts.addr); err == nil {
		_ = c.Close()
		t.Error("the server still accepts")
	}
	idle.send("GET / HTTP/1.1\nHost: h\n\n")
	if resp, body := idle.get("GET"); body != "done" || !resp.Close {
		t.Errorf("idle connection got %q, close %v, want the last response", body, resp.Close)
	}
	idle.closed()
	select {
	case err := <-retired:
		t.Fatalf("Retire returned %v while a connection was idle", err)
	default:
	}
	if err := ts.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	lazy.closed()
	if err := await(t, retired, "the end of Retire"); err != nil {
		t.Error(err)
	}
}

func TestDrainHasADeadline(t *testing.T) {
	t.Parallel()
	body, w := newPipeBody()
	defer w.Close()
	started := make(chan struct{}, 3)
	release := make(chan struct{})
	defer close(release)
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		started <- struct{}{}
		switch {
		case strings.HasSuffix(req.URL, "/stream"):
			return &fetch.Response{Status: 200, Body: fetch.StreamBody(body, -1)}, nil
		case strings.HasSuffix(req.URL, "/spin"):
			<-release // it looks at nothing
			return nil, errTest
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	wait, spin, stream := ts.dial(), ts.dial(), ts.dial()
	wait.send("GET /wait HTTP/1.1\nHost: h\n\n")
	spin.send("GET /spin HTTP/1.1\nHost: h\n\n")
	stream.send("GET /stream HTTP/1.1\nHost: h\n\n")
	resp := stream.response("GET")
	for range 3 {
		await(t, started, "the requests")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ts.Drain(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "drain: 3 connections") {
		t.Errorf("Drain returned %v", err)
	}
	for _, c := range []*rawConn{wait, spin} {
		if resp, _ := c.get("GET"); resp.StatusCode != 503 || resp.Header.Get("Edge-Outcome") != "load_shed" {
			t.Errorf("waiting client got %d %v", resp.StatusCode, resp.Header)
		}
	}
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("stream %q ended as if it were whole", b)
	}
	for range 3 {
		if rec := ts.record(); rec.Outcome != outcome.LoadShed {
			t.Errorf("record is %+v", rec)
		}
	}
	ts.noRecord()
}

func TestServeAfterCloseReturns(t *testing.T) {
	t.Parallel()
	s, err := NewServer(ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); err != nil {
		t.Error(err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("listener is left open: %v", err)
	}
}

func TestServeReportsAListenerThatFails(t *testing.T) {
	t.Parallel()
	s, err := NewServer(ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Serve(failingListener{}); !errors.Is(err, errTest) || len(s.Addrs()) != 0 {
		t.Errorf("Serve returned %v, addresses %v", err, s.Addrs())
	}
}

type failingListener struct{ net.Listener }

func (failingListener) Accept() (net.Conn, error) { return nil, errTest }
func (failingListener) Addr() net.Addr            { return &net.TCPAddr{} }
func (failingListener) Close() error              { return nil }

func TestServerOnTwoListeners(t *testing.T) {
	t.Parallel()
	ts := serve(t, text("x"))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() { second <- ts.Serve(ln) }()
	for _, addr := range []string{ts.addr, ln.Addr().String()} {
		other := *ts
		other.addr = addr
		c := other.dial()
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		if _, body := c.get("GET"); body != "x" {
			t.Errorf("%s answers %q", addr, body)
		}
	}
	if err := ts.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-second; err != nil {
		t.Error(err)
	}
}

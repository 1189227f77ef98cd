package edgenet

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

func limited(l OutboundLimits) func(*NetworkConfig) {
	return func(c *NetworkConfig) { c.Limits = l }
}

func TestConnectionsAreNotSharedBetweenServices(t *testing.T) {
	t.Parallel()
	p := servePeer(t, answering(okResponse))
	for range 3 {
		n := reach(t)
		fine(t, n, p.url)
		fine(t, n, p.url)
	}
	if got := p.connections(); got != 3 {
		t.Errorf("%d connections were made, want one for each service", got)
	}
}

func TestConnectionsAreKeptForTheirHostOnly(t *testing.T) {
	t.Parallel()
	p := servePeer(t, answering(okResponse))
	names := &answers{byName: map[string][][]string{"a.example": {{"127.0.0.1"}}, "b.example": {{"127.0.0.1"}}}}
	n := reach(t, resolving(names))
	for range 2 {
		fine(t, n, "http://a.example"+port(p.addr))
		fine(t, n, "http://B.example."+port(p.addr))
		fine(t, n, "http://b.example"+port(p.addr))
	}
	if got := p.connections(); got != 2 {
		t.Errorf("%d connections were made, want one for each host", got)
	}
}

func TestStaleConnections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		method string
		body   *fetch.Body
		// second is what the server does with the second request on its first
		// connection.
		second func(c *peerConn)
		want   string
	}{
		{"closed under a GET", "GET", nil, func(*peerConn) {}, "ok"},
		{"closed under a PUT", "PUT", fetch.BytesBody([]byte("x")), func(*peerConn) {}, "ok"},
		{"closed under a POST", "POST", fetch.BytesBody([]byte("x")), func(*peerConn) {}, "without a response"},
		{"closed under a PATCH", "PATCH", nil, func(*peerConn) {}, "without a response"},
		{"closed under a streamed PUT", "PUT", fetch.StreamBody(io.NopCloser(strings.NewReader("x")), 1), func(*peerConn) {}, "without a response"},
		{"half a response", "GET", nil, func(c *peerConn) { c.say("HTTP/1.1 2") }, "without a response"},
		{"reset under a GET", "GET", nil, func(c *peerConn) { _ = c.Conn.(*net.TCPConn).SetLinger(0) }, "ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := servePeer(t, func(c *peerConn) {
				for i := 1; ; i++ {
					if _, _, err := c.request(); err != nil {
						return
					}
					if c.n == 1 && i == 2 {
						tt.second(c)
						return
					}
					c.say(okResponse)
				}
			})
			n := reach(t)
			fine(t, n, p.url)
			_, got, err := roundTrip(n, &fetch.Request{Method: tt.method, URL: p.url, Body: tt.body})
			if err != nil {
				got = scriptText(t, err)
			}
			if !strings.HasSuffix(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			fine(t, n, p.url)
			if got := p.connections(); got != 2 {
				t.Errorf("%d connections were made, want 2", got)
			}
		})
	}
}

func TestRequestsAreRepeatedOnceOnly(t *testing.T) {
	t.Parallel()
	p := servePeer(t, func(c *peerConn) {
		if _, _, err := c.request(); err == nil && c.n == 1 {
			c.say(okResponse)
			_, _, _ = c.request()
		}
	})
	n := reach(t)
	fine(t, n, p.url)
	_, _, err := get(n, p.url)
	if got := scriptText(t, err); !strings.HasSuffix(got, "without a response") {
		t.Errorf("error is %q", got)
	}
	if got := p.connections(); got != 2 {
		t.Errorf("%d connections were made, want 2", got)
	}
}

func TestIdleConnectionThatTheServerClosedIsNotUsed(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"", "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"} {
		gone := make(chan struct{})
		p := servePeer(t, func(c *peerConn) {
			if _, _, err := c.request(); err != nil {
				return
			}
			c.say(okResponse)
			if c.n == 1 {
				c.say("%s", last)
				_ = c.Conn.(*net.TCPConn).CloseWrite()
				close(gone)
				c.untilClosed()
			}
		})
		n := reach(t)
		fine(t, n, p.url)
		await(t, gone, "the server to leave")
		// A POST is not repeated, so this one saw a connection that lives.
		_, body, err := roundTrip(n, &fetch.Request{Method: "POST", URL: p.url})
		if err != nil || body != "ok" {
			t.Errorf("got %q, %v", body, err)
		}
	}
}

// secretive is a layer over a connection that keeps what it reads to itself, as
// TLS does with session tickets.
type secretive struct{ net.Conn }

func (s secretive) Read(p []byte) (int, error) {
	for {
		if _, err := s.Conn.Read(p); err != nil {
			return 0, err
		}
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		layered bool
		server  func(c *peerConn)
		want    bool
	}{
		{"nothing has come", false, func(*peerConn) {}, true},
		{"nothing has come over TLS", true, func(*peerConn) {}, true},
		{"unasked bytes", false, func(c *peerConn) { c.say("x") }, false},
		{"a message of TLS's own", true, func(c *peerConn) { c.say("x") }, true},
		{"the end", false, func(c *peerConn) { _ = c.Close() }, false},
		{"the end over TLS", true, func(c *peerConn) { _ = c.Close() }, false},
		{"a message and the end", true, func(c *peerConn) { c.say("x"); _ = c.Close() }, false},
		{"a reset", false, func(c *peerConn) { _ = c.Conn.(*net.TCPConn).SetLinger(0); _ = c.Close() }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			connected, done, checked := make(chan struct{}), make(chan struct{}), make(chan struct{})
			p := servePeer(t, func(c *peerConn) {
				<-connected
				tt.server(c)
				close(done)
				<-checked
			})
			defer close(checked)
			n := reach(t)
			to, _, _, err := splitURL(p.url)
			if err != nil {
				t.Fatal(err)
			}
			c, err := n.outbound.dial(t.Context(), &call{to: to})
			if err != nil {
				t.Fatal(err)
			}
			defer c.kill()
			if tt.layered {
				c.Conn = secretive{c.raw}
				c.br = newConnReader(c.Conn)
			}
			close(connected)
			await(t, done, "the server")
			for range 2 {
				if got := c.usable(); got != tt.want {
					t.Errorf("usable is %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	// The server says for how long it keeps a connection.
	for keep, want := range map[string]time.Duration{"": 20 * time.Second, "Keep-Alive: timeout=11\r\n": 10 * time.Second, "Keep-Alive: timeout=600\r\n": 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			left := make(chan time.Time, 10)
			n := piped(t, func(c *peerConn) {
				answering("HTTP/1.1 200 OK\r\n" + keep + "Content-Length: 2\r\n\r\nok")(c)
				left <- time.Now()
			}, limited(OutboundLimits{IdleTimeout: 20 * time.Second}))
			fine(t, n, localURL)
			time.Sleep(7 * time.Second) // of the bubble's clock
			fine(t, n, localURL)
			used := time.Now()
			if got := (<-left).Sub(used); got < want || got > want+5*time.Second {
				t.Errorf("%q: the connection was kept for %v, want %v and at most a quarter of the limit more", keep, got, want)
			}
			if open, idle := n.pool.count(); open != 0 || idle != 0 {
				t.Errorf("%d connections are open and %d idle", open, idle)
			}
		})
	}
}

// parked serves requests that wait for permission, and tells of each.
func parked(t *testing.T) (p *peer, waiting chan struct{}, permit chan struct{}) {
	waiting, permit = make(chan struct{}, 100), make(chan struct{})
	p = servePeer(t, func(c *peerConn) {
		for {
			if _, _, err := c.request(); err != nil {
				return
			}
			waiting <- struct{}{}
			<-permit
			c.say(okResponse)
		}
	})
	return p, waiting, permit
}

func TestMaxConns(t *testing.T) {
	t.Parallel()
	p, waiting, permit := parked(t)
	n := reach(t, limited(OutboundLimits{MaxConns: 3}))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, body, err := get(n, p.url); err != nil || body != "ok" {
				t.Errorf("got %q, %v", body, err)
			}
		})
	}
	for range 10 {
		await(t, waiting, "a request")
		if open, _ := n.pool.count(); open > 3 {
			t.Errorf("%d connections are open, want at most 3", open)
		}
		permit <- struct{}{}
	}
	wg.Wait()
	if got := p.connections(); got != 3 {
		t.Errorf("%d connections were made, want 3", got)
	}
}

func TestIdleConnectionMakesRoomForAnotherHost(t *testing.T) {
	t.Parallel()
	a, b := servePeer(t, answering(okResponse)), servePeer(t, answering(okResponse))
	n := reach(t, limited(OutboundLimits{MaxConns: 1}))
	for i := range 3 {
		fine(t, n, a.url)
		fine(t, n, b.url)
		if open, idle := n.pool.count(); open != 1 || idle != 1 {
			t.Fatalf("%d connections are open and %d idle, want one", open, idle)
		}
		if a.connections() != i+1 || b.connections() != i+1 {
			t.Fatalf("%d and %d connections were made, want %d", a.connections(), b.connections(), i+1)
		}
	}
}

func TestPlaceOfABusyHostGoesToAnother(t *testing.T) {
	t.Parallel()
	p, waiting, permit := parked(t)
	other := servePeer(t, answering(okResponse))
	n := reach(t, limited(OutboundLimits{MaxConns: 1}))
	var wg sync.WaitGroup
	wg.Go(func() { _, _, _ = get(n, p.url) })
	await(t, waiting, "the first request")
	wg.Go(func() {
		if _, body, err := get(n, other.url); err != nil || body != "ok" {
			t.Errorf("got %q, %v", body, err)
		}
	})
	permit <- struct{}{}
	wg.Wait()
}

func TestTooManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := piped(t, func(c *peerConn) { c.untilClosed() }, limited(OutboundLimits{MaxConns: 1, ConnectTimeout: 5 * time.Second}))
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() {
			_, err := n.Fetch(ctx, &fetch.Request{Method: "GET", URL: localURL})
			first <- err
		}()
		synctest.Wait()
		_, _, err := get(n, localURL)
		if got, want := scriptText(t, err), "connect to 127.0.0.1:80: too many connections are open (1)"; got != want {
			t.Errorf("error is %q, want %q", got, want)
		}
		// One that waits can be canceled, and does not take the place with it.
		waiter, cancelWaiter := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() {
			_, err := n.Fetch(waiter, &fetch.Request{Method: "GET", URL: localURL})
			second <- err
		}()
		synctest.Wait()
		cancelWaiter()
		checkCanceled(t, <-second, nil)
		cancel()
		checkCanceled(t, <-first, nil)
		synctest.Wait()
	})
}

func TestMaxIdlePerHost(t *testing.T) {
	t.Parallel()
	p, waiting, permit := parked(t)
	n := reach(t, limited(OutboundLimits{MaxIdlePerHost: 2}))
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { _, _, _ = get(n, p.url) })
	}
	for range 5 {
		await(t, waiting, "a request")
	}
	close(permit)
	wg.Wait()
	if open, idle := n.pool.count(); open != 2 || idle != 2 {
		t.Errorf("%d connections are open and %d idle, want 2", open, idle)
	}
}

func TestCloseKeepsRequestsThatRun(t *testing.T) {
	t.Parallel()
	p, waiting, permit := parked(t)
	n := reach(t)
	got := make(chan string, 1)
	go func() {
		_, body, err := get(n, p.url)
		got <- fmt.Sprint(body, err)
	}()
	await(t, waiting, "the request")
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	permit <- struct{}{}
	if s := await(t, got, "the response"); s != "ok<nil>" {
		t.Errorf("got %s", s)
	}
	if open, _ := n.pool.count(); open != 0 {
		t.Errorf("%d connections are open after Close", open)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := servePeer(t, func(c *peerConn) {
		for i := 0; ; i++ {
			_, body, err := c.request()
			if err != nil {
				return
			}
			c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
			if i == 5 {
				return // without a warning
			}
		}
	})
	n := reach(t, limited(OutboundLimits{MaxConns: 5, MaxIdlePerHost: 3}))
	var wg sync.WaitGroup
	for worker := range 20 {
		wg.Go(func() {
			for i := range 20 {
				want := strings.Repeat(fmt.Sprintf("%d/%d ", worker, i), 1+i*20)
				body := fetch.BytesBody([]byte(want))
				if i%5 == 4 {
					ctx, cancel := context.WithCancel(context.Background())
					resp, err := n.Fetch(ctx, &fetch.Request{Method: "PUT", URL: p.url, Body: body})
					if err == nil {
						_ = resp.Body.Close()
					}
					cancel()
					continue
				}
				if _, got, err := roundTrip(n, &fetch.Request{Method: "PUT", URL: p.url, Body: body}); err != nil {
					if !strings.HasSuffix(err.Error(), "EOF") && !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "pipe") {
						t.Errorf("worker %d: %v", worker, err)
					}
				} else if got != want {
					t.Errorf("worker %d got another body than it sent", worker)
				}
			}
		})
	}
	wg.Wait()
	if open, idle := n.pool.count(); open != idle || open > 3 {
		t.Errorf("%d connections are open and %d idle, want at most 3, all idle", open, idle)
	}
}

package edgenet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

func TestTimeouts(t *testing.T) {
	t.Parallel()
	limits := func(c *NetworkConfig) {
		c.Limits = OutboundLimits{ConnectTimeout: 3 * time.Second, ResponseHeaderTimeout: 7 * time.Second, WriteTimeout: 11 * time.Second}
	}
	tests := []struct {
		name  string
		serve func(c *peerConn)
		body  bool
		dial  DialFunc
		url   string
		after time.Duration
		want  string
	}{
		{name: "no connection", after: 3 * time.Second, want: "connect to 127.0.0.1:80: timed out",
			dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }},
		{name: "no TLS handshake", url: "https://127.0.0.1/", after: 3 * time.Second, want: "connect to 127.0.0.1:443: timed out",
			serve: func(c *peerConn) { c.untilClosed() }},
		{name: "no response", after: 7 * time.Second, want: "fetch from 127.0.0.1:80: no response within 7s",
			serve: func(c *peerConn) { c.untilClosed() }},
		{name: "a head that drips", after: 7 * time.Second, want: "fetch from 127.0.0.1:80: no response within 7s",
			serve: func(c *peerConn) {
				go c.untilClosed()
				for _, b := range []byte("HTTP/1.1 200 OK\r\nA: bcdefghijkl\r\n\r\n") {
					if _, err := c.Write([]byte{b}); err != nil {
						return
					}
					time.Sleep(time.Second) // of the bubble's clock
				}
			}},
		{name: "interim responses that drip", after: 7 * time.Second, want: "fetch from 127.0.0.1:80: no response within 7s",
			serve: func(c *peerConn) {
				go c.untilClosed()
				for {
					if _, err := io.WriteString(c, "HTTP/1.1 102 Processing\r\n\r\n"); err != nil {
						return
					}
					time.Sleep(time.Second) // of the bubble's clock
				}
			}},
		{name: "a server that does not read", body: true, after: 12 * time.Second, want: "fetch from 127.0.0.1:80: timed out",
			serve: func(c *peerConn) { _, _ = c.head(); time.Sleep(time.Hour) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var serving chan struct{}
				n := piped(t, func(c *peerConn) {
					serving = make(chan struct{})
					defer close(serving)
					tt.serve(c)
				}, limits, func(c *NetworkConfig) {
					if tt.dial != nil {
						c.Dial = tt.dial
					}
				})
				req := &fetch.Request{Method: "POST", URL: localURL}
				if tt.url != "" {
					req.URL = tt.url
				}
				body := &countingBody{closed: make(chan struct{})}
				if tt.body {
					req.Body = fetch.StreamBody(body, -1)
				}
				begin := time.Now()
				_, _, err := roundTrip(n, req)
				if got := scriptText(t, err); got != tt.want {
					t.Errorf("error is %q, want %q", got, tt.want)
				}
				if got := time.Since(begin); got != tt.after {
					t.Errorf("it came after %v, want %v", got, tt.after)
				}
				if tt.body {
					<-body.closed
				}
				if serving != nil {
					<-serving
				}
			})
		})
	}
}

func TestAddressesAreTriedInTurn(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	refuse := func(context.Context) (net.Conn, error) { return nil, errTest }
	after := func(d time.Duration) func(context.Context) (net.Conn, error) {
		return func(ctx context.Context) (net.Conn, error) {
			select {
			case <-time.After(d):
				c, _ := net.Pipe()
				return c, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	tests := []struct {
		name  string
		dials []func(context.Context) (net.Conn, error)
		after time.Duration
		fail  bool
	}{
		{"the first refuses", []func(context.Context) (net.Conn, error){refuse, after(0)}, 0, false},
		{"the first hangs", []func(context.Context) (net.Conn, error){slow, after(10 * time.Millisecond)}, 260 * time.Millisecond, false},
		{"two hang", []func(context.Context) (net.Conn, error){slow, slow, after(0)}, 500 * time.Millisecond, false},
		{"the first is slow but first", []func(context.Context) (net.Conn, error){after(300 * time.Millisecond), after(time.Second)}, 300 * time.Millisecond, false},
		{"both answer at once", []func(context.Context) (net.Conn, error){after(300 * time.Millisecond), after(50 * time.Millisecond)}, 300 * time.Millisecond, false},
		{"all refuse", []func(context.Context) (net.Conn, error){refuse, refuse, refuse}, 0, true},
		{"all hang", []func(context.Context) (net.Conn, error){slow, slow}, 10 * time.Second, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var answer []string
				for i := range tt.dials {
					answer = append(answer, fmt.Sprintf("127.0.0.%d", i+1))
				}
				names := &answers{byName: map[string][][]string{"a.example": {answer}}}
				var next atomic.Int32
				d := newDialer(names, func(ctx context.Context, _, _ string) (net.Conn, error) {
					return tt.dials[next.Add(1)-1](ctx)
				}, func(netip.Addr) error { return nil })
				begin := time.Now()
				conn, err := d.connect(ctx, "a.example", 80)
				if (err != nil) != tt.fail {
					t.Fatalf("error is %v", err)
				}
				if got := time.Since(begin); got != tt.after {
					t.Errorf("it took %v, want %v", got, tt.after)
				}
				if conn != nil {
					_ = conn.Close()
				}
			})
		})
	}
}

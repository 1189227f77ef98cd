package edgenet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

func TestBodiesStreamBothWaysAtOnce(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{-1, 30} {
		t.Run(fmt.Sprintf("length %d", size), func(t *testing.T) {
			t.Parallel()
			p := servePeer(t, func(c *peerConn) {
				if _, err := c.head(); err != nil {
					return
				}
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				var in io.Reader = io.LimitReader(c.br, size)
				if size < 0 {
					in = httputil.NewChunkedReader(c.br)
				}
				buf := make([]byte, 100)
				for {
					n, err := in.Read(buf)
					if n > 0 {
						c.say("%x\r\n%s\r\n", n, bytes.ToUpper(buf[:n]))
					}
					if err != nil {
						break
					}
				}
				c.say("0\r\nX-Trailer: dropped\r\n\r\n")
			})
			body, w := newPipeBody()
			resp, err := reach(t).Fetch(t.Context(), &fetch.Request{Method: "POST", URL: p.url, Body: fetch.StreamBody(body, size)})
			if err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 3)
			for _, s := range []string{"abc", "def", "ghi", "jkl", "mno", "pqr", "stu", "vwx", "yzz", "zzz"} {
				_, _ = io.WriteString(w, s)
				if _, err := io.ReadFull(resp.Body.Reader, buf); err != nil || string(buf) != strings.ToUpper(s) {
					t.Fatalf("sent %q and got %q, %v", s, buf, err)
				}
			}
			_ = w.Close()
			if rest, err := io.ReadAll(resp.Body.Reader); err != nil || len(rest) > 0 {
				t.Errorf("the end is %q, %v", rest, err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
			await(t, body.closed, "the request body to be closed")
		})
	}
}

func TestLargeBodiesArriveWhole(t *testing.T) {
	t.Parallel()
	content := make([]byte, 5<<20)
	rnd := rand.NewChaCha8([32]byte{1})
	_, _ = rnd.Read(content)
	want := sha256.Sum256(content)
	sums := make(chan [32]byte, 1)
	p := servePeer(t, func(c *peerConn) {
		for {
			req, body, err := c.request()
			if err != nil {
				return
			}
			sums <- sha256.Sum256([]byte(body))
			switch req.URL.Path {
			case "/length":
				c.say("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			case "/chunked":
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				w := httputil.NewChunkedWriter(c)
				for rest := []byte(body); len(rest) > 0; {
					n := min(len(rest), 1+rand.IntN(100_000))
					_, _ = w.Write(rest[:n])
					rest = rest[n:]
				}
				_ = w.Close()
				c.say("\r\n")
			case "/close":
				c.say("HTTP/1.1 200 OK\r\n\r\n%s", body)
				return
			}
		}
	})
	n := reach(t)
	bodies := map[string]func() *fetch.Body{
		"inline": func() *fetch.Body { return fetch.BytesBody(content) },
		"length": func() *fetch.Body {
			return fetch.StreamBody(io.NopCloser(bytes.NewReader(content)), int64(len(content)))
		},
		"chunked": func() *fetch.Body { return fetch.StreamBody(io.NopCloser(bytes.NewReader(content)), -1) },
	}
	for up, body := range bodies {
		for _, down := range []string{"length", "chunked", "close"} {
			resp, got, err := roundTrip(n, &fetch.Request{Method: "POST", URL: p.url + "/" + down, Body: body()})
			if err != nil {
				t.Fatalf("%s, %s: %v", up, down, err)
			}
			if sum := await(t, sums, "the request"); sum != want {
				t.Errorf("%s, %s: the server got another body", up, down)
			}
			if sum := sha256.Sum256([]byte(got)); sum != want {
				t.Errorf("%s, %s: the client got another body", up, down)
			}
			wantSize := int64(-1)
			if down == "length" {
				wantSize = int64(len(content))
			}
			if resp.Body.Size != wantSize {
				t.Errorf("%s: size is %d, want %d", down, resp.Body.Size, wantSize)
			}
		}
	}
	if got := p.connections(); got != 3 {
		t.Errorf("%d connections were made, want 3: one for each body that closes", got)
	}
}

// piped makes a Network whose connections are pipes without any buffer, so that
// inside a synctest bubble it is certain what each side has read. serve is
// called for each.
func piped(t *testing.T, serve func(c *peerConn), change ...func(*NetworkConfig)) *Network {
	t.Helper()
	conns := 0
	return reach(t, append([]func(*NetworkConfig){func(c *NetworkConfig) {
		c.Dial = func(context.Context, string, string) (net.Conn, error) {
			conns++
			client, server := net.Pipe()
			pc := &peerConn{Conn: server, br: newConnReader(server), n: conns}
			go func() {
				defer func() { _ = server.Close() }()
				serve(pc)
			}()
			return client, nil
		}
	}}, change...)...)
}

// countingBody yields as many bytes as it is asked for and counts them.
type countingBody struct {
	read   atomic.Int64
	closed chan struct{}
}

func (b *countingBody) Read(p []byte) (int, error) {
	select {
	case <-b.closed:
		return 0, io.ErrClosedPipe
	default:
	}
	b.read.Add(int64(len(p)))
	return len(p), nil
}

func (b *countingBody) Close() error {
	select {
	case <-b.closed:
	default:
		close(b.closed)
	}
	return nil
}

const localURL = "http://127.0.0.1/"

func TestServerThatDoesNotReadHoldsTheRequestBodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan int64)
		n := piped(t, func(c *peerConn) {
			if _, err := c.head(); err != nil {
				return
			}
			for size := range proceed {
				_, _ = io.CopyN(io.Discard, c.br, size)
			}
		})
		body := &countingBody{closed: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := n.Fetch(ctx, &fetch.Request{Method: "POST", URL: localURL, Body: fetch.StreamBody(body, -1)})
			done <- err
		}()
		total := int64(0)
		for range 10 {
			synctest.Wait()
			if got := body.read.Load(); got > total+2*requestPiece {
				t.Errorf("%d bytes of the body were read, the server took %d", got, total)
			}
			proceed <- 100_000
			total += 100_000
			synctest.Wait()
			if got := body.read.Load(); got < total-1000 {
				t.Errorf("%d bytes of the body were read, the server took %d", got, total)
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want canceled", err)
		}
		<-body.closed
		close(proceed)
	})
}

func TestReaderThatDoesNotReadHoldsTheServerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		n := piped(t, func(c *peerConn) {
			if _, err := c.head(); err != nil {
				return
			}
			c.say("HTTP/1.1 200 OK\r\n\r\n")
			for piece := make([]byte, 1000); ; sent.Add(1000) {
				if _, err := c.Write(piece); err != nil {
					return
				}
			}
		})
		resp, err := n.Fetch(t.Context(), &fetch.Request{Method: "GET", URL: localURL})
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for range 10 {
			synctest.Wait()
			if got := sent.Load(); got > total+connBuffer+1000 {
				t.Errorf("the server sent %d bytes, %d were read", got, total)
			}
			k, err := io.CopyN(io.Discard, resp.Body.Reader, 50_000)
			if err != nil {
				t.Fatal(err)
			}
			total += k
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if _, err := resp.Body.Reader.Read(make([]byte, 1)); err != errBodyClosedEarly {
			t.Errorf("reading a closed body gives %v", err)
		}
	})
}

func TestCancelEndsEachPhase(t *testing.T) {
	t.Parallel()
	// Each phase tells when it has come about.
	tests := []struct {
		name   string
		change func(reached func()) func(*NetworkConfig)
		serve  func(c *peerConn, reached func())
		body   bool
		url    string
		read   bool // the response arrives; its body is canceled
	}{
		{name: "in the name lookup", url: "http://slow.example/", change: func(reached func()) func(*NetworkConfig) {
			return func(c *NetworkConfig) { c.Resolver = blockingResolver(reached) }
		}},
		{name: "while connecting", change: func(reached func()) func(*NetworkConfig) {
			return func(c *NetworkConfig) {
				c.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
					reached()
					<-ctx.Done()
					return nil, ctx.Err()
				}
			}
		}},
		{name: "in the TLS handshake", url: "https", serve: func(c *peerConn, reached func()) {
			_, _ = c.br.ReadByte()
			reached()
			c.untilClosed()
		}},
		{name: "before the response", serve: func(c *peerConn, reached func()) {
			_, _ = c.head()
			reached()
			c.untilClosed()
		}},
		{name: "between interim responses", serve: func(c *peerConn, reached func()) {
			_, _ = c.head()
			c.say("HTTP/1.1 102 Processing\r\n\r\n")
			reached()
			c.untilClosed()
		}},
		{name: "within the head", serve: func(c *peerConn, reached func()) {
			_, _ = c.head()
			c.say("HTTP/1.1 200 OK\r\nA: ")
			reached()
			c.untilClosed()
		}},
		{name: "while the request body gives nothing", body: true, serve: func(c *peerConn, reached func()) {
			_, _ = c.head()
			reached()
			c.untilClosed()
		}},
		{name: "within a body with a length", read: true, serve: func(c *peerConn, reached func()) {
			_, _ = c.head()
			c.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
			c.untilClosed()
		}},
		{name: "within a chunked body", read: true, serve: func(c *peerConn, reached func()) {
			_, _ = c.head()
			c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
			c.untilClosed()
		}},
		{name: "within a body while sending", read: true, body: true, serve: func(c *peerConn, reached func()) {
			_, _ = c.head()
			c.say("HTTP/1.1 200 OK\r\n\r\nhello")
			c.untilClosed()
		}},
	}
	for _, tt := range tests {
		for _, withCause := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cause %v", tt.name, withCause), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancelCause(t.Context())
				var cause error
				if withCause {
					cause = outcome.Failf(outcome.WallExceeded, "took too long")
				}
				reached := func() { cancel(cause) }
				left := make(chan struct{})
				p := servePeer(t, func(c *peerConn) {
					tt.serve(c, reached)
					close(left)
				})
				var change []func(*NetworkConfig)
				if tt.change != nil {
					change = append(change, tt.change(reached))
				}
				req := &fetch.Request{Method: "POST", URL: tt.url}
				switch tt.url {
				case "":
					req.URL = p.url
				case "https":
					req.URL = "https://" + p.addr
				}
				body, w := newPipeBody()
				if tt.body {
					req.Body = fetch.StreamBody(body, -1)
				}
				resp, err := reach(t, change...).Fetch(ctx, req)
				if tt.read {
					if err != nil {
						t.Fatal(err)
					}
					buf := make([]byte, 5)
					if _, err := io.ReadFull(resp.Body.Reader, buf); err != nil {
						t.Fatal(err)
					}
					got := make(chan error, 1)
					go func() {
						_, err := resp.Body.Reader.Read(buf)
						got <- err
					}()
					reached()
					err = await(t, got, "the read to end")
					if err := resp.Body.Close(); err != nil {
						t.Error(err)
					}
					checkCanceled(t, err, cause)
				} else {
					checkCanceled(t, err, cause)
				}
				if tt.body {
					await(t, body.closed, "the request body to be closed")
				}
				if tt.serve != nil {
					await(t, left, "the server to see the connection close")
				}
				_ = w.Close()
			})
		}
	}
}

func checkCanceled(t *testing.T, err, cause error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) || cause != nil && !errors.Is(err, cause) {
		t.Errorf("error is %v, want canceled with the cause %v", err, cause)
	}
	if public := op.Public(err); public.Name != "AbortError" {
		t.Errorf("the script gets %+v, want an AbortError", public)
	}
}

type blockingResolver func()

func (r blockingResolver) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	r()
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestFetchWithAnEndedContextDoesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	body, w := newPipeBody()
	_, err := reach(t).Fetch(ctx, &fetch.Request{Method: "POST", URL: "http://127.0.0.1:1/", Body: fetch.StreamBody(body, -1)})
	checkCanceled(t, err, nil)
	await(t, body.closed, "the request body to be closed")
	_ = w.Close()
}

func TestCloseDuringARead(t *testing.T) {
	t.Parallel()
	p := servePeer(t, func(c *peerConn) {
		_, _ = c.head()
		c.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
		c.untilClosed()
	})
	body, w := newPipeBody()
	resp, err := reach(t).Fetch(t.Context(), &fetch.Request{Method: "POST", URL: p.url, Body: fetch.StreamBody(body, -1)})
	if err != nil {
		t.Fatal(err)
	}
	reading, got := make(chan struct{}), make(chan error, 1)
	go func() {
		_, _ = io.ReadFull(resp.Body.Reader, make([]byte, 5))
		close(reading)
		_, err := resp.Body.Reader.Read(make([]byte, 5))
		got <- err
	}()
	await(t, reading, "the first read")
	if err := errors.Join(resp.Body.Close(), resp.Body.Close()); err != nil {
		t.Error(err)
	}
	if err := await(t, got, "the read to end"); err != errBodyClosedEarly {
		t.Errorf("the read ends with %v, want %v", err, errBodyClosedEarly)
	}
	await(t, body.closed, "the request body to be closed")
	_ = w.Close()
}

func TestRequestBodiesThatFail(t *testing.T) {
	t.Parallel()
	own := outcome.Failf(outcome.BodyTooLarge, "too large")
	script := op.Errorf(op.RangeError, "thrown by the script")
	tests := []struct {
		name   string
		size   int64
		text   string
		err    error
		want   string // public text
		wanted error  // in the chain
	}{
		{"shorter than its length", 10, "hello", io.EOF, "send the request body: it is shorter than its length of 10 bytes", nil},
		{"longer than its length", 3, "hello", io.EOF, "send the request body: it is longer than its length of 3 bytes", nil},
		{"breaks off", -1, "hello", errTest, "send the request body: it broke off", errTest},
		{"breaks off with a failure", -1, "hello", own, "", own},
		{"breaks off with a script's error", -1, "hello", script, "thrown by the script", script},
		{"breaks off at once", 5, "", io.ErrUnexpectedEOF, "send the request body: it broke off", io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole := make(chan bool, 1)
			p := servePeer(t, func(c *peerConn) {
				_, _, err := c.request()
				whole <- err == nil
			})
			body, w := newPipeBody()
			go func() {
				_, _ = io.WriteString(w, tt.text)
				_ = w.CloseWithError(tt.err)
			}()
			_, err := reach(t).Fetch(t.Context(), &fetch.Request{Method: "POST", URL: p.url, Body: fetch.StreamBody(body, tt.size)})
			if tt.wanted != nil && !errors.Is(err, tt.wanted) {
				t.Errorf("error is %v, want %v in it", err, tt.wanted)
			}
			if tt.want != "" {
				if got := op.Public(err).Msg; got != tt.want {
					t.Errorf("public text is %q, want %q", got, tt.want)
				}
			}
			if await(t, whole, "the server") {
				t.Error("the server took the request for whole")
			}
			await(t, body.closed, "the request body to be closed")
		})
	}
}

func TestEarlyResponses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, response string
		close          bool // the server closes with unread input, which resets
		want           string
	}{
		{"a refusal, and the connection closes", "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig", true, "413 big"},
		{"a refusal, and the server reads on", "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig", false, "413 big"},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", false, "204 "},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbig\r\n0\r\n\r\n", false, "200 big"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := servePeer(t, func(c *peerConn) {
				_, _ = c.head()
				c.say("%s", tt.response)
				if !tt.close {
					c.untilClosed()
					return
				}
				_ = c.Conn.(*net.TCPConn).CloseWrite()
				_, _ = io.CopyN(io.Discard, c.br, 1<<20)
			})
			n := reach(t)
			body := &countingBody{closed: make(chan struct{})}
			resp, text, err := roundTrip(n, &fetch.Request{Method: "POST", URL: p.url, Body: fetch.StreamBody(body, -1)})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%d %s", resp.Status, text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
			await(t, body.closed, "the request body to be closed")
			if _, idle := n.pool.count(); idle != 0 {
				t.Error("a connection with half a request on it was kept")
			}
		})
	}
}

func TestResponseEndsBeforeTheWriterDoes(t *testing.T) {
	// The server answers when it has the data; the end of the request comes a
	// little later. That is no reason to lose the connection.
	synctest.Test(t, func(t *testing.T) {
		n := piped(t, func(c *peerConn) {
			for {
				if _, err := c.head(); err != nil {
					return
				}
				in := httputil.NewChunkedReader(c.br)
				_, _ = io.ReadFull(in, make([]byte, 5))
				c.say(okResponse)
				time.Sleep(lateWrite / 2) // of the bubble's clock
				_, _ = io.Copy(io.Discard, in)
				_, _ = c.head() // the trailers' end
			}
		})
		for range 3 {
			body, w := newPipeBody()
			go func() {
				_, _ = io.WriteString(w, "hello")
				_ = w.Close()
			}()
			resp, text, err := roundTrip(n, &fetch.Request{Method: "POST", URL: localURL, Body: fetch.StreamBody(body, -1)})
			if err != nil || text != "ok" || resp.Status != 200 {
				t.Fatalf("got %v %q, %v", resp, text, err)
			}
			if open, idle := n.pool.count(); open != 1 || idle != 1 {
				t.Fatalf("%d connections are open and %d idle, want one idle", open, idle)
			}
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
}

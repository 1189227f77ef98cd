package edgenet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/net/fetch"
)

// peer is a server that a test scripts byte by byte.
type peer struct {
	url, addr string
	arrived   chan *peerConn // a copy of each connection, before it is handled
}

// peerConn is the server's end of one connection.
type peerConn struct {
	net.Conn
	br *bufio.Reader
	n  int // 1 for the first connection
}

// servePeer calls handle for each connection, on a goroutine of its own, and
// closes the connection when it returns.
func servePeer(t testing.TB, handle func(c *peerConn)) *peer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{addr: ln.Addr().String(), arrived: make(chan *peerConn, 1024)}
	p.url = "http://" + p.addr
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for n := 1; ; n++ {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			c := &peerConn{Conn: conn, br: bufio.NewReader(conn), n: n}
			p.arrived <- c
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				handle(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return p
}

// connections returns how many connections came so far.
func (p *peer) connections() int { return len(p.arrived) }

// head reads a request's head, without its last line.
func (c *peerConn) head() (string, error) {
	var b strings.Builder
	for {
		line, err := c.br.ReadString('\n')
		if err != nil || line == "\r\n" {
			return b.String(), err
		}
		b.WriteString(line)
	}
}

// request reads a whole request.
func (c *peerConn) request() (*http.Request, string, error) {
	req, err := http.ReadRequest(c.br)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(req.Body)
	return req, string(body), err
}

func (c *peerConn) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c, format, args...) // a client that left is what some tests are about
}

// untilClosed waits for the client to close.
func (c *peerConn) untilClosed() { _, _ = io.Copy(io.Discard, c.br) }

// answering serves the same response to each request of a connection.
func answering(response string) func(c *peerConn) {
	return func(c *peerConn) {
		for {
			if _, _, err := c.request(); err != nil {
				return
			}
			c.say("%s", response)
		}
	}
}

const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// reach returns a Network that may connect to this machine.
func reach(t testing.TB, change ...func(*NetworkConfig)) *Network {
	t.Helper()
	cfg := NetworkConfig{Service: "internet", Field: "services.internet.network", Allow: addressRuleList("local")}
	for _, c := range change {
		c(&cfg)
	}
	n, err := NewNetwork(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if open, _ := n.pool.count(); open != 0 {
			t.Errorf("%d connections are open at the end, want 0", open)
		}
	})
	return n
}

// get fetches a URL and reads the whole response.
func get(f fetch.Fetcher, url string) (*fetch.Response, string, error) {
	return roundTrip(f, &fetch.Request{Method: "GET", URL: url})
}

func roundTrip(f fetch.Fetcher, req *fetch.Request) (*fetch.Response, string, error) {
	resp, err := f.Fetch(context.Background(), req)
	if err != nil {
		return nil, "", err
	}
	body, err := resp.Body.ReadAll(1 << 30)
	return resp, string(body), err
}

// fine checks that a URL gives "ok".
func fine(t *testing.T, f fetch.Fetcher, url string) {
	t.Helper()
	resp, body, err := get(f, url)
	if err != nil || resp.Status != 200 || body != "ok" {
		t.Fatalf("got %v, %q, %v; want a 200 with ok", resp, body, err)
	}
}

// scriptText checks that err is a TypeError for scripts and returns its text.
func scriptText(t *testing.T, err error) string {
	t.Helper()
	var public *op.Error
	if !errors.As(err, &public) {
		t.Fatalf("error is %v, want one for scripts", err)
	}
	if public.Class != op.TypeError {
		t.Errorf("class is %v, want TypeError", public.Class)
	}
	return public.Msg
}

// answers is a resolver whose answers are scripted.
type answers struct {
	mu     sync.Mutex
	byName map[string][][]string // each lookup takes the next answer, the last stays
	asked  []string
}

func (a *answers) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, host)
	list := a.byName[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.9.9:53", IsNotFound: true}
	}
	var out []netip.Addr
	for _, text := range list[0] {
		out = append(out, netip.MustParseAddr(text))
	}
	if len(list) > 1 {
		a.byName[host] = list[1:]
	}
	return out, ctx.Err()
}

func resolving(r Resolver) func(*NetworkConfig) {
	return func(c *NetworkConfig) { c.Resolver = r }
}

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':'):] }

func TestFetchSendsWhatTheRequestHolds(t *testing.T) {
	t.Parallel()
	heads := make(chan string, 1)
	p := servePeer(t, func(c *peerConn) {
		for {
			head, err := c.head()
			if err != nil {
				return
			}
			heads <- head
			c.say(okResponse)
		}
	})
	var h fetch.Header
	for _, f := range [][2]string{
		{"X-B", "2"}, {"x-a", "1"}, {"Cookie", "a=b"}, {"x-b", "\xfcber, again"}, {"Host", "elsewhere.example"},
		{"Connection", "close, X-Private"}, {"X-Private", "secret"}, {"Expect", "100-continue"}, {"TE", "trailers"},
		{"Trailer", "x"}, {"Upgrade", "websocket"}, {"Keep-Alive", "timeout=5"}, {"Proxy-Authorization", "secret"},
		{"Transfer-Encoding", "chunked"}, {"Content-Length", "77"}, {"Proxy-Connection", "keep-alive"}, {"empty", ""},
	} {
		h.Add(f[0], f[1])
	}
	n := reach(t)
	tests := []struct {
		name, method, url string
		want              string
	}{
		{"a path and a query", "GET", p.url + "/a/b?c=d&e=%zz|", "GET /a/b?c=d&e=%zz| HTTP/1.1\r\nHost: " + p.addr + "\r\n"},
		{"no path", "GET", p.url, "GET / HTTP/1.1\r\nHost: " + p.addr + "\r\n"},
		{"a query alone", "GET", p.url + "?q", "GET /?q HTTP/1.1\r\nHost: " + p.addr + "\r\n"},
		{"a fragment", "DELETE", p.url + "/x#y?z", "DELETE /x HTTP/1.1\r\nHost: " + p.addr + "\r\n"},
		{"credentials", "GET", "http://user:pa%40ss@" + p.addr + "/", "GET / HTTP/1.1\r\nHost: " + p.addr + "\r\n"},
	}
	for _, tt := range tests {
		if _, _, err := roundTrip(n, &fetch.Request{Method: tt.method, URL: tt.url, Header: h}); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		want := tt.want + "X-B: 2\r\nX-A: 1\r\nCookie: a=b\r\nX-B: \xfcber, again\r\nEmpty: \r\nCdn-Loop: edge;hops=1\r\n"
		if got := await(t, heads, "a request"); got != want {
			t.Errorf("%s: the server got\n%q, want\n%q", tt.name, got, want)
		}
	}
	if p.connections() != 1 {
		t.Errorf("%d connections were made, want 1", p.connections())
	}
}

func TestFetchFramesRequestBodies(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	p := servePeer(t, func(c *peerConn) {
		for {
			req, body, err := c.request()
			if err != nil {
				return
			}
			got <- fmt.Sprintf("%s length=%s %d chunked=%v %q", req.Method, req.Header.Get("Content-Length"), req.ContentLength,
				slices.Equal(req.TransferEncoding, []string{"chunked"}), body[:min(len(body), 20)])
			c.say(okResponse)
		}
	})
	n := reach(t)
	stream := func(s string, size int64) *fetch.Body {
		return fetch.StreamBody(io.NopCloser(strings.NewReader(s)), size)
	}
	big := strings.Repeat("x", 100_000)
	tests := []struct {
		method string
		body   *fetch.Body
		want   string
	}{
		{"GET", nil, `GET length= 0 chunked=false ""`},
		{"POST", nil, `POST length=0 0 chunked=false ""`},
		{"PUT", nil, `PUT length=0 0 chunked=false ""`},
		{"PATCH", nil, `PATCH length=0 0 chunked=false ""`},
		{"DELETE", nil, `DELETE length= 0 chunked=false ""`},
		{"POST", fetch.BytesBody(nil), `POST length=0 0 chunked=false ""`},
		{"POST", fetch.BytesBody([]byte("hello")), `POST length=5 5 chunked=false "hello"`},
		{"GET", fetch.BytesBody([]byte("hello")), `GET length=5 5 chunked=false "hello"`},
		{"POST", fetch.BytesBody([]byte(big)), `POST length=100000 100000 chunked=false "xxxxxxxxxxxxxxxxxxxx"`},
		{"POST", stream("hello", 5), `POST length=5 5 chunked=false "hello"`},
		{"POST", stream("", 0), `POST length=0 0 chunked=false ""`},
		{"POST", stream("", -1), `POST length= -1 chunked=true ""`},
		{"POST", stream("hello", -1), `POST length= -1 chunked=true "hello"`},
		{"POST", stream(big, -1), `POST length= -1 chunked=true "xxxxxxxxxxxxxxxxxxxx"`},
		{"POST", stream(big, 100_000), `POST length=100000 100000 chunked=false "xxxxxxxxxxxxxxxxxxxx"`},
		{"FROB", stream("hello", -1), `FROB length= -1 chunked=true "hello"`},
	}
	for _, tt := range tests {
		if _, _, err := roundTrip(n, &fetch.Request{Method: tt.method, URL: p.url, Body: tt.body}); err != nil {
			t.Fatalf("%s: %v", tt.want, err)
		}
		if got := await(t, got, "a request"); got != tt.want {
			t.Errorf("the server got %s, want %s", got, tt.want)
		}
	}
	if p.connections() != 1 {
		t.Errorf("%d connections were made, want 1", p.connections())
	}
}

func TestFetchRefusesWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	n := reach(t)
	for _, tt := range []struct{ method, url, want string }{
		{"GET", "ftp://127.0.0.1/", `the scheme "ftp" cannot be fetched (only http and https can)`},
		{"GET", "/relative", "not a valid http URL"},
		{"GET", "http://", "not a valid http URL"},
		{"GET", "http:///path", "not a valid http URL"},
		{"GET", "http://[::1", "not a valid http URL"},
		{"GET", "http://[::1]x/", "not a valid http URL"},
		{"GET", "http://[fe80::1%25lo]/", "not a valid http URL"},
		{"GET", "http://[1.2.3.4]/", "not a valid http URL"},
		{"GET", "http://a b/", "not a valid http URL"},
		{"GET", "http://a\r\nx: y/", "not a valid http URL"},
		{"GET", "http://a/\r\nx: y", "not a valid http URL"},
		{"GET", "http://a/ b", "not a valid http URL"},
		{"GET", "http://a/\u00fc", "not a valid http URL"},
		{"GET", "http://a:0/", "not a valid http URL"},
		{"GET", "http://a:65536/", "not a valid http URL"},
		{"GET", "http://a:+80/", "not a valid http URL"},
		{"GET", "http://a:80:80/", "not a valid http URL"},
		{"GET", "http://" + strings.Repeat("a", 300) + "/", "not a valid http URL"},
		{"CONNECT", "http://127.0.0.1/", `the method "CONNECT" cannot be sent`},
		{"", "http://127.0.0.1/", `the method "" cannot be sent`},
		{"GET /", "http://127.0.0.1/", "cannot be sent"},
		{"GET\r\n", "http://127.0.0.1/", "cannot be sent"},
	} {
		body, w := newPipeBody()
		_, err := n.Fetch(t.Context(), &fetch.Request{Method: tt.method, URL: tt.url, Body: fetch.StreamBody(body, -1)})
		if text := scriptText(t, err); !strings.Contains(text, tt.want) {
			t.Errorf("%s %q: error is %q, want %q in it", tt.method, tt.url, text, tt.want)
		}
		await(t, body.closed, "the body to be closed")
		_ = w.Close()
	}
}

func FuzzSplitURL(f *testing.F) {
	for _, s := range []string{"http://a/", "https://[::1]:8443/x?y#z", "http://u:p@h:1?q", "http://a@b@c/", "http://a:080", "http://[::ffff:1.2.3.4]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, url string) {
		to, authority, target, err := splitURL(url)
		if err != nil {
			return
		}
		head := string(appendRequestHead(nil, &call{req: &fetch.Request{}, method: "GET", host: authority, target: target}))
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
		if err != nil && !strings.Contains(err.Error(), "invalid URL escape") && !strings.Contains(err.Error(), "malformed Host") {
			t.Fatalf("%q makes the request %q: %v", url, head, err)
		}
		if err == nil && (req.Host != authority || req.RequestURI != target || len(req.Header) != 1) { // the count of hops
			t.Errorf("%q makes the request %q", url, head)
		}
		if to.port == 0 || to.host == "" || strings.ContainsAny(to.host, "/@ []%") {
			t.Errorf("%q gives the origin %+v", url, to)
		}
	})
}

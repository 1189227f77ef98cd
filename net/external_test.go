package edgenet

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// external makes an External to an address.
func external(t testing.TB, address string, change ...func(*ExternalConfig)) *External {
	t.Helper()
	cfg := ExternalConfig{Service: "backend", Address: address}
	for _, c := range change {
		c(&cfg)
	}
	e, err := NewExternal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if open, _ := e.pool.count(); open != 0 {
			t.Errorf("%d connections are open at the end, want 0", open)
		}
	})
	return e
}

func TestExternalGoesToItsAddress(t *testing.T) {
	t.Parallel()
	heads := make(chan string, 1)
	p := servePeer(t, func(c *peerConn) {
		for {
			head, err := c.head()
			if err != nil {
				return
			}
			heads <- head
			c.say("HTTP/1.1 200 OK\r\nServer: secret/1.0\r\nX-Old: 1\r\nX-Old: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	inject := func(c *ExternalConfig) {
		c.InjectRequestHeaders = []HeaderEdit{{Name: "x-edge", Value: "1"}, {Name: "authorization", Value: "Bearer t"}, {Name: "cookie", Remove: true}, {Name: "x-absent", Remove: true}}
		c.InjectResponseHeaders = []HeaderEdit{{Name: "server", Remove: true}, {Name: "x-old", Value: "new"}, {Name: "x-new", Value: "2"}}
	}
	var h fetch.Header
	h.Add("x-edge", "from the client")
	h.Add("cookie", "a=b")
	h.Add("authorization", "stolen")
	h.Add("connection", "x-edge")
	h.Add("accept", "*/*")
	const plain = "server=secret/1.0 x-old=1 x-old=2 set-cookie=a set-cookie=b content-length=2"
	tests := []struct {
		name, url string
		change    func(*ExternalConfig)
		want      string // the request
		header    string // of the response
	}{
		{"the URL's host is sent, not gone to", "https://shop.example.com:8443/a?b", nil,
			"GET /a?b HTTP/1.1\r\nHost: shop.example.com:8443\r\nCookie: a=b\r\nAuthorization: stolen\r\nAccept: */*\r\n", plain},
		{"another host", "http://shop.example.com/", func(c *ExternalConfig) { c.Host = "inner.example" },
			"GET / HTTP/1.1\r\nHost: inner.example\r\nCookie: a=b\r\nAuthorization: stolen\r\nAccept: */*\r\n", plain},
		{"another host by injection", "http://shop.example.com/", func(c *ExternalConfig) {
			c.InjectRequestHeaders = []HeaderEdit{{Name: "host", Value: "inner.example:81"}}
		}, "GET / HTTP/1.1\r\nHost: inner.example:81\r\nCookie: a=b\r\nAuthorization: stolen\r\nAccept: */*\r\n", plain},
		{"injected headers", "http://shop.example.com/", inject,
			"GET / HTTP/1.1\r\nHost: shop.example.com\r\nAccept: */*\r\nX-Edge: 1\r\nAuthorization: Bearer t\r\n",
			"set-cookie=a set-cookie=b content-length=2 x-old=new x-new=2"},
	}
	for _, tt := range tests {
		var change []func(*ExternalConfig)
		if tt.change != nil {
			change = append(change, tt.change)
		}
		var trace fetch.Trace
		before := string(h)
		resp, body, err := roundTrip(external(t, p.addr, change...), &fetch.Request{Method: "GET", URL: tt.url, Header: h, Trace: &trace})
		if err != nil || body != "ok" {
			t.Fatalf("%s: got %q, %v", tt.name, body, err)
		}
		want := tt.want + "Cdn-Loop: edge;hops=1\r\n"
		if got := await(t, heads, "the request"); got != want {
			t.Errorf("%s: the server got\n%q, want\n%q", tt.name, got, want)
		}
		if got := strings.TrimPrefix(showHead(&responseHead{header: resp.Header}, nil), "0  length=0 | "); got != tt.header {
			t.Errorf("%s: the header is %q, want %q", tt.name, got, tt.header)
		}
		if string(h) != before {
			t.Errorf("%s: the request's header was changed", tt.name)
		}
		if got := trace.Report().Service; got != "backend" {
			t.Errorf("%s: service is %q", tt.name, got)
		}
	}
}

func TestExternalFailuresAreBadGateways(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := ln.Addr().String()
	_ = ln.Close()
	leaves := servePeer(t, func(c *peerConn) { _, _ = c.head() })
	breaks := servePeer(t, func(c *peerConn) { _, _ = c.head(); c.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello") })
	ca := newAuthority(t)
	secure := servePeer(t, secured(&tls.Config{Certificates: []tls.Certificate{ca.issue(time.Now().Add(time.Hour), "secret.internal")}}, nil, answering(okResponse)))
	over := func(conf TLS) func(*ExternalConfig) {
		return func(c *ExternalConfig) { c.TLS = &conf }
	}
	tests := []struct {
		name, address string
		change        func(*ExternalConfig)
		want          string
	}{
		{"nobody listens", closed, nil, "connect to the external server: connection refused"},
		{"no such name", "db.internal:80", nil, "connect to the external server: no such host"},
		{"no response", leaves.addr, nil, "fetch from the external server: the server closed the connection without a response"},
		{"half a response", breaks.addr, nil, "read the response from the external server: the server closed the connection"},
		{"a certificate that is not trusted", secure.addr, over(TLS{CertificateHost: "secret.internal"}), "connect to the external server: the certificate is signed by an authority that is not trusted"},
		{"a certificate for another host", secure.addr, over(TLS{TrustedCertificates: []string{ca.file}}), "connect to the external server: the certificate is for another host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := external(t, tt.address, func(c *ExternalConfig) {
				c.Resolver = &answers{}
				if tt.change != nil {
					tt.change(c)
				}
			})
			_, _, err := get(e, "http://shop.example/")
			var f *outcome.Failure
			if !errors.As(err, &f) {
				t.Fatalf("error is %v, want a failure", err)
			}
			if f.Outcome != outcome.BadGateway || f.Msg != tt.want || f.Err == nil {
				t.Errorf("got %s %q, cause %v; want bad_gateway %q with a cause", f.Outcome, f.Msg, f.Err, tt.want)
			}
		})
	}
}

func TestExternalVerifiesTheServer(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	asked := make(chan string, 1)
	cert := ca.issue(time.Now().Add(time.Hour), "inner.example", "backend.example")
	p := servePeer(t, secured(&tls.Config{Certificates: []tls.Certificate{cert}}, asked, answering(okResponse)))
	names := &answers{byName: map[string][][]string{"backend.example": {{"127.0.0.1"}}}}
	for _, tt := range []struct{ address, host, want string }{
		{"backend.example" + port(p.addr), "", "backend.example"},
		{p.addr, "inner.example", "inner.example"},
	} {
		e := external(t, tt.address, func(c *ExternalConfig) {
			c.Resolver = names
			c.TLS = &TLS{TrustedCertificates: []string{ca.file}, CertificateHost: tt.host}
		})
		fine(t, e, "http://shop.example/")
		fine(t, e, "https://another.example/")
		if got := await(t, asked, "a handshake"); got != tt.want {
			t.Errorf("server name is %q, want %q", got, tt.want)
		}
	}
	if got := p.connections(); got != 2 {
		t.Errorf("%d connections were made, want 2", got)
	}
}

func TestExternalLooksTheNameUpForEachConnection(t *testing.T) {
	t.Parallel()
	p := servePeer(t, answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"))
	dials := &dialLog{to: p.addr}
	names := &answers{byName: map[string][][]string{"backend.internal": {{"10.0.0.1"}, {"10.0.0.2", "10.0.0.3"}}}}
	dials.fail = func(addr string) error {
		if addr == "10.0.0.2:80" {
			return errTest
		}
		return nil
	}
	e := external(t, "backend.internal:80", func(c *ExternalConfig) { c.Resolver, c.Dial = names, dials.dial })
	fine(t, e, "http://a.example/")
	fine(t, e, "http://b.example/")
	if got, want := dials.String(), "10.0.0.1:80 10.0.0.2:80 10.0.0.3:80"; got != want {
		t.Errorf("connected to %s, want %s", got, want)
	}
}

func TestExternalRefusesWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	e := external(t, "127.0.0.1:1")
	for _, req := range []*fetch.Request{{Method: "CONNECT", URL: "http://a/"}, {Method: "GET", URL: "ws://a/"}, {Method: "GET", URL: "http://a/ b"}} {
		body, w := newPipeBody()
		req.Body = fetch.StreamBody(body, -1)
		_, err := e.Fetch(t.Context(), req)
		var public *op.Error
		if !errors.As(err, &public) {
			t.Errorf("%s %s: error is %v", req.Method, req.URL, err)
		}
		await(t, body.closed, "the body to be closed")
		_ = w.Close()
	}
}

func TestNewExternalReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := NewExternal(ExternalConfig{
		Service: "backend", Address: "nowhere", Host: "a b", TLS: &TLS{TrustedCertificates: []string{"no/such.pem"}},
		InjectRequestHeaders:  []HeaderEdit{{Name: "X-Upper"}, {Name: "content-length", Value: "5"}, {Name: "x-a", Value: "a\r\nb"}, {Name: "x-twice"}, {Name: "x-twice"}},
		InjectResponseHeaders: []HeaderEdit{{Name: "transfer-encoding", Remove: true}, {Name: "", Value: "x"}},
	})
	for _, want := range []string{`build external "backend"`, `parse address "nowhere": want host:port`, `the host header "a b"`, "no/such.pem",
		`"X-Upper" is no header name in lower case`, `"content-length" belongs to the connection`, `of the header "x-a"`, `"x-twice" is injected twice`,
		`"transfer-encoding" belongs`, `"" is no header name`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to name %s", err, want)
		}
	}
	for _, address := range []string{"", ":80", "a:0", "a:x", "a:65536", "[::1]", "::1"} {
		if _, err := NewExternal(ExternalConfig{Address: address}); err == nil {
			t.Errorf("the address %q was accepted", address)
		}
	}
	for _, host := range []string{"", "a b", "[::1"} {
		if _, err := NewExternal(ExternalConfig{Address: "a:80", InjectRequestHeaders: []HeaderEdit{{Name: "host", Value: host}}}); err == nil {
			t.Errorf("the host header %q was accepted", host)
		}
	}
}

func TestExternalBehindASocket(t *testing.T) {
	t.Parallel()
	// The whole way: a client, the server, an external, and the server behind it.
	p := servePeer(t, func(c *peerConn) {
		for {
			req, body, err := c.request()
			if err != nil {
				return
			}
			c.say("HTTP/1.1 201 Made\r\nX-Host: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s %s\r\n0\r\n\r\n", req.Host, len(body)+1+len(req.URL.Path), req.URL.Path, body)
		}
	})
	e := external(t, p.addr)
	ts := serve(t, e.Fetch)
	resp, err := http.Post("http://"+ts.addr+"/up", "text/plain", io.LimitReader(strings.NewReader(strings.Repeat("x", 200_000)), 200_000))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.StatusCode != 201 || len(body) != 200_004 || resp.Header.Get("X-Host") != ts.addr {
		t.Errorf("got %d, %d bytes, %q, %v", resp.StatusCode, len(body), resp.Header, err)
	}
	if r := ts.record(); r.Service != "backend" || r.Status != 201 {
		t.Errorf("the record is %+v", r)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestExternalThatIsDownBehindASocket(t *testing.T) {
	t.Parallel()
	e := external(t, "127.0.0.1:80", func(c *ExternalConfig) {
		c.Dial = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.1.2.3:80")), Err: errTest}
		}
	})
	ts := serve(t, e.Fetch)
	c := ts.dial()
	c.send("GET / HTTP/1.1\nHost: a\n\n")
	resp, body := c.get("GET")
	if resp.StatusCode != 502 || resp.Header.Get("Edge-Outcome") != "bad_gateway" || !strings.Contains(body, "connect to the external server: the connection failed") {
		t.Errorf("got %d %v %s", resp.StatusCode, resp.Header, body)
	}
	if strings.Contains(body, "10.1.2.3") || strings.Contains(body, "secret") {
		t.Errorf("the body tells of the host: %s", body)
	}
	if r := ts.record(); r.Outcome != outcome.BadGateway || r.Service != "backend" {
		t.Errorf("the record is %+v", r)
	}
}

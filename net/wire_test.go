package edgenet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

// memConn is a connection in memory: it reads what it was given, as often as it
// was told, and collects or swallows what is written.
type memConn struct {
	net.Conn
	input   []byte
	times   int
	rest    []byte
	written *bytes.Buffer
}

func (c *memConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.times == 0 {
			return 0, io.EOF
		}
		c.times--
		c.rest = c.input
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *memConn) Write(p []byte) (int, error) {
	if c.written != nil {
		return c.written.Write(p)
	}
	return len(p), nil
}

func (c *memConn) Close() error                     { return nil }
func (c *memConn) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (c *memConn) LocalAddr() net.Addr              { return c.RemoteAddr() }
func (c *memConn) SetDeadline(time.Time) error      { return nil }
func (c *memConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memConn) SetWriteDeadline(time.Time) error { return nil }

const helloRequest = "GET / HTTP/1.1\r\nHost: shop.example.com\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\n\r\n"

var helloHeader = fetch.Header("content-type\ntext/plain\n")

// hello is a service of three allocations: response, body and text.
func hello(context.Context, *fetch.Request) (*fetch.Response, error) {
	return &fetch.Response{Status: 200, Header: helloHeader, Body: fetch.BytesBody([]byte("hello world"))}, nil
}

// FuzzWire sends bytes as a client would. However wrong they are, each response
// is well-formed and each has one access record.
func FuzzWire(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"HEAD /stream HTTP/1.1\r\nHost: h\r\n\r\nGET /stream HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /fail HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
		"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
		"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
		"GET http://x/y HTTP/1.1\r\nHost: h\r\nConnection: x-y, close\r\nX-Y: 1\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\nTRACE / HTTP/1.1\r\nHost: h\r\n\r\n",
		"\r\n\r\n\x00",
	} {
		f.Add([]byte(s))
	}
	var records []string
	ts := serve(f, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		switch {
		case strings.HasSuffix(req.URL, "/fail"):
			return nil, errTest
		case strings.HasSuffix(req.URL, "/echo") && req.Body != nil:
			return readAll(ctx, req)
		case strings.HasSuffix(req.URL, "/stream"):
			return &fetch.Response{Status: 200, Body: fetch.StreamBody(io.NopCloser(strings.NewReader("stream")), -1)}, nil
		}
		return hello(ctx, req)
	}, func(c *ServerConfig) {
		c.MaxHeaderBytes = 4096
		c.Log = func(r *AccessRecord) { records = append(records, r.Method) }
	})
	f.Fuzz(func(t *testing.T, input []byte) {
		records = nil
		var out bytes.Buffer
		_ = ts.http.ServeConn(newConn(ts.Server, &memConn{input: input, times: 1, written: &out}))
		r := bufio.NewReader(&out)
		for i, method := range records {
			resp, err := http.ReadResponse(r, &http.Request{Method: method})
			for err == nil && resp.StatusCode == 100 {
				resp, err = http.ReadResponse(r, &http.Request{Method: method})
			}
			if err != nil {
				t.Fatalf("%q: response %d of %d to %s: %v", input, i, len(records), method, err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatalf("%q: body of response %d to %s: %v", input, i, method, err)
			}
		}
		if rest, err := io.ReadAll(r); len(rest) > 0 || errors.Is(err, io.ErrUnexpectedEOF) {
			if len(records) > 0 || !bytes.HasPrefix(rest, []byte("HTTP/1.1 100 ")) {
				t.Fatalf("%q: %q follows %d responses", input, rest, len(records))
			}
		}
	})
}

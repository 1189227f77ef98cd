//go:build unix

package edgenet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/edge-runtime/edge/net/fetch"
)

// pingPong measures requests one after another on one connection.
func pingPong(b *testing.B, addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	req := []byte(helloRequest)
	r := bufio.NewReader(c)
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		if _, err := c.Write(req); err != nil {
			b.Fatal(err)
		}
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if len(line) == 2 {
				break
			}
		}
		if _, err := r.Discard(len("hello world")); err != nil {
			b.Fatal(err)
		}
	}
}

// cpu reports the CPU time per operation, which a busy machine disturbs less.
func cpu(b *testing.B) func() {
	used := func() int64 {
		var ru syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
			b.Fatal(err)
		}
		return ru.Utime.Nano() + ru.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkHello(b *testing.B) {
	b.Run("edge", func(b *testing.B) {
		ts := serve(b, hello, func(c *ServerConfig) { c.Log = func(*AccessRecord) {} })
		pingPong(b, ts.addr)
	})
	b.Run("fasthttp", func(b *testing.B) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		s := &fasthttp.Server{NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("text/plain")
			ctx.SetBodyString("hello world")
		}}
		done := make(chan error, 1)
		go func() { done <- s.Serve(ln) }()
		pingPong(b, ln.Addr().String())
		_ = s.Shutdown()
		<-done
	})
}

// BenchmarkStream measures a response body of many pieces.
func BenchmarkStream(b *testing.B) {
	const size = 64 << 20
	ts := serve(b, func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Status: 200, Body: fetch.StreamBody(io.NopCloser(io.LimitReader(zeros{}, size)), -1)}, nil
	})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		c := ts.dial()
		c.send("GET / HTTP/1.1\nHost: h\nConnection: close\n\n")
		n, err := io.Copy(io.Discard, c.response("GET").Body)
		if err != nil || n != size {
			b.Fatal(n, err)
		}
		_ = c.Close()
		ts.record()
	}
}

// BenchmarkUpload measures a request body of many pieces.
func BenchmarkUpload(b *testing.B) {
	const size = 64 << 20
	ts := serve(b, func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		n, err := io.Copy(io.Discard, req.Body.Reader)
		return &fetch.Response{Status: 200, Body: fetch.BytesBody(fmt.Append(nil, n))}, err
	})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		c := ts.dial()
		c.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nConnection: close\nContent-Length: %d\n\n", size))
		if _, err := io.Copy(c, io.LimitReader(zeros{}, size)); err != nil {
			b.Fatal(err)
		}
		if _, body := c.get("POST"); body != fmt.Sprint(size) {
			b.Fatal(body)
		}
		_ = c.Close()
		ts.record()
	}
}

// BenchmarkWithoutSockets is BenchmarkHello less the system calls.
func BenchmarkWithoutSockets(b *testing.B) {
	request := []byte(helloRequest)
	b.Run("edge", func(b *testing.B) {
		ts := serve(b, hello, func(c *ServerConfig) { c.Log = func(*AccessRecord) {} })
		b.ReportAllocs()
		b.ResetTimer()
		defer cpu(b)()
		_ = ts.http.ServeConn(newConn(ts.Server, &memConn{input: request, times: b.N}))
	})
	b.Run("fasthttp", func(b *testing.B) {
		s := &fasthttp.Server{NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("text/plain")
			ctx.SetBodyString("hello world")
		}}
		b.ReportAllocs()
		b.ResetTimer()
		defer cpu(b)()
		_ = s.ServeConn(&memConn{input: request, times: b.N})
	})
}

// Package webapitest is a kit for tests of the web platform: servers without a
// network that tests in JavaScript fetch from. It imports no engine.
package webapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// Plain is what the paths below /encoded/ send, decoded.
const Plain = "hello, hello, hello"

// Origin answers every host with what the path asks for:
//
//	/echo               the request as JSON: {method, url, headers, body}
//	/status/N           status N, with the header Location of ?location=
//	/loop               a redirect to itself
//	/headers            two Set-Cookie headers, and one with a byte above 127
//	/encoded/<coding>   Plain, encoded: gzip, deflate, raw (bare deflate), br, zstd,
//	                    both (gzip, then br), broken, unknown
//	/stream?n=          n chunks "0", "1", ... without a length
//	/broken             a chunk, then an error
//	/endless            a chunk, then nothing until it is closed
//	/hang               nothing until the request is aborted
//	/fail               a failure "the origin is down"
//	/large              100,000 bytes "x"
func Origin() fetch.Fetcher { return fetch.FetcherFunc(serve) }

func serve(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	u, err := url.Parse(req.URL)
	if err != nil {
		return nil, err
	}
	resp := &fetch.Response{Status: 200, StatusText: "OK"}
	head, arg, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	switch head {
	case "echo":
		return resp, echo(resp, req)
	case "status":
		resp.Status, err = strconv.Atoi(arg)
		if to := u.Query().Get("location"); to != "" {
			resp.Header.Add("location", to)
		}
		resp.Body = fetch.BytesBody([]byte("status " + arg))
	case "loop":
		resp.Status = 302
		resp.Header.Add("location", "/loop")
	case "headers":
		resp.Header.Add("set-cookie", "a=1")
		resp.Header.Add("x-latin", "caf\xe9")
		resp.Header.Add("set-cookie", "b=2")
	case "encoded":
		err = encoded(resp, arg)
	case "stream":
		n, _ := strconv.Atoi(u.Query().Get("n"))
		resp.Body = fetch.StreamBody(&chunks{n: n, done: make(chan struct{})}, -1)
	case "broken":
		resp.Body = fetch.StreamBody(&chunks{n: 1, end: errors.New("the cable was cut"), done: make(chan struct{})}, -1)
	case "endless":
		resp.Body = fetch.StreamBody(&chunks{n: 1, wait: true, done: make(chan struct{})}, -1)
	case "large":
		resp.Body = fetch.BytesBody(bytes.Repeat([]byte("x"), 100_000))
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "fail":
		return nil, outcome.Failf(outcome.BadGateway, "the origin is down")
	default:
		resp.Status, resp.StatusText = 404, "Not Found"
	}
	if req.Method == "HEAD" {
		_ = resp.Body.Close() // nobody asked for it
		resp.Body = nil
	}
	return resp, err
}

func echo(resp *fetch.Response, req *fetch.Request) error {
	body, err := req.Body.ReadAll(1 << 20)
	if err != nil {
		return fmt.Errorf("read request body: %w", err)
	}
	headers := [][2]string{}
	for n, v := range req.Header.All() {
		headers = append(headers, [2]string{string(n), string(v)})
	}
	text, err := json.Marshal(map[string]any{"method": req.Method, "url": req.URL, "headers": headers, "body": string(body)})
	if err != nil {
		return err
	}
	resp.Header.Add("content-type", "application/json")
	resp.Body = fetch.BytesBody(text)
	return nil
}

func encoded(resp *fetch.Response, coding string) error {
	header := coding
	data := []byte(Plain)
	var err error
	switch coding {
	case "raw":
		header = "deflate"
		data, err = encode("raw", data)
	case "both":
		header = "gzip, br"
		if data, err = encode("gzip", data); err == nil {
			data, err = encode("br", data)
		}
	case "broken":
		header, data = "gzip", []byte("this is no gzip")
	case "unknown":
		header = "rot13"
	default:
		data, err = encode(coding, data)
	}
	resp.Header.Add("content-encoding", header)
	resp.Header.Add("content-length", strconv.Itoa(len(data)))
	resp.Body = fetch.BytesBody(data)
	return err
}

func encode(coding string, data []byte) ([]byte, error) {
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "raw":
		w, err = flate.NewWriter(&out, flate.DefaultCompression)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	default:
		return nil, fmt.Errorf("encode: unknown coding %q", coding)
	}
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// chunks is a body of numbered chunks.
type chunks struct {
	n    int
	end  error // after the last chunk, io.EOF when nil
	wait bool  // wait for Close after the last chunk
	done chan struct{}
	once sync.Once

	mu sync.Mutex // guards i
	i  int
}

// Read returns the next chunk.
func (c *chunks) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
		return 0, errors.New("the body was closed")
	default:
	}
	if c.i < c.n {
		n := copy(p, strconv.Itoa(c.i))
		c.i++
		return n, nil
	}
	if c.wait {
		<-c.done
		return 0, errors.New("the body was closed")
	}
	if c.end != nil {
		return 0, c.end
	}
	return 0, io.EOF
}

// Close ends a Read.
func (c *chunks) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

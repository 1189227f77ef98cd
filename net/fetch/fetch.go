// Package fetch holds what passes between services: requests, responses, header
// lists, bodies and the Fetcher interface, in the terms of the Fetch standard
// (https://fetch.spec.whatwg.org/). It is a leaf: standard library only, no
// sockets, no engine.
package fetch

import (
	"context"
	"errors"
	"io"
)

// Fetcher answers one request with one response: a worker, a network, an
// external server, a directory. It follows no redirect. Safe for many
// goroutines.
//
// The request and its body belong to the Fetcher until the response body has
// been closed; whoever gets a Response closes its body. An error is an
// *outcome.Failure, an *op.Error for the calling script, or an internal error.
// When ctx ends, both bodies are aborted.
type Fetcher interface {
	Fetch(ctx context.Context, req *Request) (*Response, error)
}

// FetcherFunc is a function that is a Fetcher.
type FetcherFunc func(ctx context.Context, req *Request) (*Response, error)

// Fetch calls f.
func (f FetcherFunc) Fetch(ctx context.Context, req *Request) (*Response, error) { return f(ctx, req) }

// MaxHops is how many services one request may come through. The loader refuses
// circles of services, so what meets it is a chain that leaves the process and
// comes back, or a deep one.
const MaxHops = 16

// Request is an HTTP request as a service sees it.
type Request struct {
	Method string // upper case for the standard methods
	URL    string // absolute and serialised, with the query, without a fragment
	Header Header
	Body   *Body // nil: no body
	// ID names the request in logs and error bodies; the same along a chain of
	// service bindings.
	ID string
	// Hops counts the services that the request came through, on other servers of
	// this kind too. No service takes one with more than MaxHops.
	Hops int
	// ClientAddr is the peer's "ip:port", empty inside the process.
	ClientAddr string
	// Trace takes what Fetchers report for the access log; nil: nobody asks.
	Trace *Trace
}

// Response is an HTTP response as a service gave it.
type Response struct {
	Status     int // 200 to 599, or 101
	StatusText string
	Header     Header
	Body       *Body // nil: no body (null body status, HEAD)
}

// Body is a byte stream that is read once. Either the whole content is in
// memory (Reader nil) or it comes from Reader.
type Body struct {
	// Inline is the whole content when Reader is nil. Not to be changed.
	Inline []byte
	// Reader delivers the content. Close releases it early or late, may be called
	// during a Read, which it ends, and more than once.
	Reader io.ReadCloser
	// Size is the length in bytes, -1 when unknown; len(Inline) when inline.
	Size int64
}

// BytesBody returns a body with its whole content in memory.
func BytesBody(b []byte) *Body { return &Body{Inline: b, Size: int64(len(b))} }

// StreamBody returns a body that is read from r; size is -1 when unknown.
func StreamBody(r io.ReadCloser, size int64) *Body { return &Body{Reader: r, Size: size} }

// ErrTooLarge is returned by ReadAll.
var ErrTooLarge = errors.New("body is larger than the limit")

// ReadAll reads the whole body, at most limit bytes, and closes it. A nil body
// is empty.
func (b *Body) ReadAll(limit int64) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	if b.Reader == nil {
		if int64(len(b.Inline)) > limit {
			return nil, ErrTooLarge
		}
		return b.Inline, nil
	}
	data, err := io.ReadAll(io.LimitReader(b.Reader, limit+1))
	err = errors.Join(err, b.Reader.Close())
	if int64(len(data)) > limit {
		return nil, ErrTooLarge
	}
	return data, err
}

// Close releases the body. A nil body is harmless.
func (b *Body) Close() error {
	if b == nil || b.Reader == nil {
		return nil
	}
	return b.Reader.Close()
}

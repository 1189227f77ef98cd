package webapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// userAgent is what fetch calls itself when the script says nothing.
const userAgent = "edge"

// inlineResponseBody is the most bytes of a response body in memory that reach
// JavaScript with the response. Larger ones become handles.
const inlineResponseBody = 64 << 10

// fetchOps are the ops of fetch.js.
func fetchOps() []op.Op {
	running := &fetches{m: map[fetchKey]context.CancelFunc{}}
	return []op.Op{
		{Name: "op_fetch", Mode: op.Async, Func: running.fetch},
		{Name: "op_fetch_abort", Mode: op.Post, Func: running.abort},
	}
}

// fetches are the fetches of a process that a signal can abort.
type fetches struct {
	mu sync.Mutex
	m  map[fetchKey]context.CancelFunc
}

// fetchKey names a fetch: the token is unique within an instance.
type fetchKey struct {
	host  op.Host
	token int64
}

// fetch: (fetcher, token, method, url, header block, manual, body kind, body,
// size), resolved with (status, statusText, header block, body kind, body,
// size). It makes one request. A redirect that is followed, which is fetch.js's
// to do, comes without a body.
func (fs *fetches) fetch(c *op.Call) error {
	inv := c.Invocation()
	if inv == nil {
		return op.Errorf(op.TypeError, "fetch failed: it was called outside of a request, call it in a handler")
	}
	fetcher, err := fetcherOf(c)
	if err != nil {
		return err
	}
	if err := inv.Take("subrequests", 1); err != nil {
		return err
	}
	body, err := takeBody(c, 6)
	if err != nil {
		return err
	}
	req := &fetch.Request{Method: c.Text(2), URL: c.Text(3), Header: headerOf(c.Arg(4)), Body: body}
	ex := exchangeOf(c)
	if ex != nil {
		req.ID, req.Hops = ex.id, ex.hops
	}
	outbound := c.Int(0) == 0
	if outbound {
		req.Hops++ // a binding counts itself
	}
	complete(req, outbound)
	ctx, cancel := context.WithCancel(c.Context())
	f := &running{c: c, ex: ex, manual: c.Arg(5).Truth(), cancel: cancel}
	if token := c.Int(1); token != 0 {
		key := fetchKey{c.Host(), token}
		fs.mu.Lock()
		fs.m[key] = cancel
		fs.mu.Unlock()
		f.cancel = func() {
			cancel()
			fs.mu.Lock()
			delete(fs.m, key)
			fs.mu.Unlock()
		}
	}
	go f.run(fetch.WithAbandoner(ctx, f), fetcher, req)
	return nil
}

// abort: (token).
func (fs *fetches) abort(c *op.Call) error {
	fs.mu.Lock()
	cancel := fs.m[fetchKey{c.Host(), c.Int(0)}]
	fs.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return nil
}

// fetcherOf returns the Fetcher of the handle in the first argument, or the
// worker's outbound service for 0.
func fetcherOf(c *op.Call) (fetch.Fetcher, error) {
	if c.Int(0) != 0 {
		return op.Resource[fetch.Fetcher](c, 0)
	}
	if f, ok := c.Host().Grant("outbound").(fetch.Fetcher); ok {
		return f, nil
	}
	field := "globalOutbound"
	if h, ok := c.Host().(interface{ Field(key string) string }); ok && h.Field("outbound") != "" {
		field = h.Field("outbound")
	}
	return nil, op.NotGranted("fetch", field)
}

// complete adds the headers that a user agent sends by itself, when the request
// leaves the worker for good, and removes those that tell of its framing.
//
// https://fetch.spec.whatwg.org/#http-network-or-cache-fetch
func complete(req *fetch.Request, outbound bool) {
	req.Header.Del("content-length")
	req.Header.Del("transfer-encoding")
	if !outbound {
		// On the wire the URL tells the host; the other worker looks for the header.
		req.Header.Set("host", authority(req.URL))
		return
	}
	add := func(name, value string) {
		if _, set := req.Header.Get(name); !set {
			req.Header.Add(name, value)
		}
	}
	add("accept", "*/*")
	add("user-agent", userAgent)
	if _, ranged := req.Header.Get("range"); ranged {
		add("accept-encoding", "identity")
	}
	add("accept-encoding", acceptEncoding)
}

// authority returns host and port of a serialised URL without credentials.
func authority(url string) string {
	_, rest, _ := strings.Cut(url, "//")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// running is one call of op_fetch.
type running struct {
	c       *op.Call
	ex      *exchange
	manual  bool
	cancel  context.CancelFunc
	settled atomic.Bool
}

// Abandon rejects the fetch in the place of a Fetcher that does not return.
func (f *running) Abandon(err error) bool {
	if !f.settled.CompareAndSwap(false, true) {
		return false
	}
	f.cancel()
	f.c.Reject(fetchError(err))
	return true
}

func (f *running) run(ctx context.Context, fetcher fetch.Fetcher, req *fetch.Request) {
	resp, err := fetcher.Fetch(ctx, req)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		f.Abandon(err)
		return
	}
	if !f.settled.CompareAndSwap(false, true) {
		_ = resp.Body.Close() // the fetch was rejected, nobody is there who could use the error
		return
	}
	if _, located := resp.Header.Get("location"); located && !f.manual && isRedirect(resp.Status) {
		_ = resp.Body.Close() // the redirect counts, not how its body ends
		resp.Body = nil
	}
	if resp.Body == nil || resp.Body.Reader == nil {
		f.cancel()
	} else {
		resp.Body = fetch.StreamBody(&fetchedBody{ReadCloser: resp.Body.Reader, cancel: f.cancel}, resp.Body.Size)
	}
	decode(resp)
	kind, body, size := f.hand(resp.Body)
	f.c.Resolve(op.List(op.Int(int64(resp.Status)), op.ByteString([]byte(resp.StatusText)),
		op.ByteString(resp.Header), op.Int(int64(kind)), body, op.Int(size)))
}

// hand makes the values kind, body and size of a response body.
func (f *running) hand(b *fetch.Body) (kind int, body op.Value, size int64) {
	if b == nil {
		return bodyNone, op.Null, 0
	}
	if b.Reader == nil && len(b.Inline) <= inlineResponseBody {
		return bodyBytes, op.Bytes(b.Inline), b.Size
	}
	handle := f.c.Host().Resources().Add(NewBodyReader(b))
	if f.ex != nil {
		f.ex.own(f.c.Host(), handle)
	}
	return bodyHandle, op.Int(int64(handle)), b.Size
}

func isRedirect(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

// fetchError returns what the script sees of err.
func fetchError(err error) error {
	var public *op.Error
	var failure *outcome.Failure
	switch {
	case errors.As(err, &public), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &failure):
		public = op.Errorf(op.TypeError, "fetch failed: %s", failure.Msg)
	default:
		public = op.Errorf(op.TypeError, "fetch failed")
	}
	return fmt.Errorf("%w: %w", public, err)
}

// fetchedBody is the body of a fetched response: the end of it ends the fetch.
type fetchedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Read reads the body.
func (b *fetchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.cancel()
	}
	return n, err
}

// Close releases the body.
func (b *fetchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel()
	return err
}

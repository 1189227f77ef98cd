package edgenet

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// inlineBody is the largest request body that is read before the service is
// called, so that it travels with the request's event.
const inlineBody = 64 << 10

// errBodyClosed is what a reader gets that comes too late.
var errBodyClosed = errors.New("the request body has been closed")

// requestBody is a request body that a service reads while it arrives. The
// service may read it from any goroutine, close it, and keep it after the
// request has ended: from shut on it touches neither fasthttp nor the socket.
// Nothing is read ahead, so a service that does not read holds the client back.
type requestBody struct {
	ex    *exchange
	limit int64

	closing atomic.Bool

	// wanted, when not nil, is closed by the first Read, which then waits for
	// opened: the client is waiting for a 100 (Continue).
	wanted, opened chan struct{}
	wantOnce       sync.Once
	openOnce       sync.Once

	mu   sync.Mutex // held during a read of the socket; guards the fields below
	r    io.Reader  // nil before it is opened and after it was shut
	size int64      // -1: chunked
	left time.Duration
	err  error // the end of the body
}

// attachBody gives the request its body.
func (ex *exchange) attachBody(ctx *fasthttp.RequestCtx) *outcome.Failure {
	r := ctx.RequestBodyStream()
	size := int64(ctx.Request.Header.ContentLength())
	if r == nil || size == 0 {
		return nil
	}
	if f := ex.checkSize(size); f != nil {
		return f
	}
	if size > 0 && size <= inlineBody {
		b := make([]byte, size)
		n, err := io.ReadFull(r, b)
		ex.bytesIn.Store(int64(n))
		if err != nil {
			ex.c.linger = true
			return ex.c.bodyFailure(err)
		}
		ex.req.Body = fetch.BytesBody(b)
		return nil
	}
	body := &requestBody{ex: ex, limit: ex.srv.cfg.MaxBodyBytes, size: size, left: ex.srv.cfg.BodyTimeout, r: r}
	ex.body.Store(body)
	ex.req.Body = fetch.StreamBody(body, size)
	return nil
}

// checkSize refuses a body whose announced size is over the limit.
func (ex *exchange) checkSize(size int64) *outcome.Failure {
	if size <= ex.srv.cfg.MaxBodyBytes {
		return nil
	}
	ex.c.linger = true
	return tooLarge(ex.srv.cfg.MaxBodyBytes)
}

func tooLarge(limit int64) *outcome.Failure {
	return outcome.Failf(outcome.BodyTooLarge, "the request body is larger than %d bytes", limit)
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.wanted != nil {
		b.wantOnce.Do(func() { close(b.wanted) })
		<-b.opened
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.err != nil:
		return 0, b.err
	case b.r == nil || b.closing.Load():
		return 0, errBodyClosed
	case len(p) == 0:
		return 0, nil
	}
	began := time.Now()
	b.ex.c.allow(b.left)
	n, err := b.r.Read(p)
	total := b.ex.bytesIn.Add(int64(n))
	full := b.ex.srv.cfg.BodyTimeout
	b.left += time.Duration(n)*time.Second/time.Duration(b.ex.srv.cfg.MinBodyRate) - time.Since(began)
	b.left = max(min(b.left, full), time.Millisecond)
	switch {
	case b.size < 0 && total > b.limit:
		over := total - b.limit
		return n - int(min(over, int64(n))), b.fail(tooLarge(b.limit))
	case err == io.EOF && b.size >= 0 && total < b.size:
		return n, b.fail(b.ex.c.bodyFailure(io.ErrUnexpectedEOF))
	case err == io.EOF:
		b.err = io.EOF
	case err != nil && b.closing.Load():
		return n, errBodyClosed
	case err != nil:
		return n, b.fail(b.ex.c.bodyFailure(err))
	}
	return n, b.err
}

// fail ends the body with a failure, which also becomes the request's if the
// service fails over it.
func (b *requestBody) fail(f *outcome.Failure) error {
	b.err = f
	b.ex.bodyErr.CompareAndSwap(nil, f)
	if f.Outcome == outcome.Canceled {
		b.ex.ctx.cancel(f)
	}
	return f
}

// Close implements io.Closer: the service wants no more.
func (b *requestBody) Close() error {
	b.shut()
	return nil
}

// shut ends a read in progress and takes the body away from the service.
func (b *requestBody) shut() {
	b.closing.Store(true)
	b.open(nil)
	if b.mu.TryLock() {
		b.r = nil
		b.mu.Unlock()
		return
	}
	c := b.ex.c
	c.capRead(time.Time{})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.r = nil; b.err == io.EOF {
		c.uncapRead() // the read had come to the end by itself
	}
}

// open lets readers pass that waited for the client to continue; r is nil when
// it never will.
func (b *requestBody) open(r io.Reader) {
	if b.opened == nil {
		return
	}
	b.openOnce.Do(func() {
		b.mu.Lock()
		b.r = r
		b.mu.Unlock()
		close(b.opened)
	})
}

// complete reports whether the whole body was read.
func (b *requestBody) complete() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err == io.EOF || b.size >= 0 && b.ex.bytesIn.Load() == b.size
}

// bodyFailure returns what an error of reading a request body means: a timeout or
// the end of the connection, which conn saw, or else bytes that are no body.
func (c *conn) bodyFailure(err error) *outcome.Failure {
	switch {
	case c.readErr == nil:
		return &outcome.Failure{Outcome: outcome.BadRequest, Msg: "the request body is not valid", Err: err}
	case errors.Is(c.readErr, os.ErrDeadlineExceeded):
		return &outcome.Failure{Outcome: outcome.ReadTimeout, Msg: "the request body took too long to arrive", Err: err}
	}
	return &outcome.Failure{Outcome: outcome.Canceled, Msg: "the client left before its request was complete", Err: err}
}

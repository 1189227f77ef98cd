package edgenet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

const (
	// requestPiece is how much of a request body is written at once.
	requestPiece = 32 << 10
	// maxKeptHead bounds the buffer for heads that a connection keeps.
	maxKeptHead = 16 << 10
	// smallRequest is the largest body in memory that is written together with
	// the head, before anything is read: it fits into the system's buffers.
	smallRequest = 16 << 10
	// lateWrite is how long the request may still be on its way when its response
	// has ended, before the connection is closed.
	lateWrite = 50 * time.Millisecond
	// lastWords is how long a response may take to arrive on a connection that
	// takes no more of the request.
	lastWords = time.Second
)

// hop is one request and its response on a connection. The caller's goroutine
// reads; a second one writes while there is a body to send. Whoever ends the hop
// first, by settle, decides what becomes of the connection.
type hop struct {
	o    *outbound
	call *call
	conn *outConn
	// lost says that the connection ended before a byte of a response came.
	lost   bool
	writer sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	unwatch func() bool
	over    bool
	cause   error // why it was aborted
	headed  bool  // the head has been read: the header deadline is off
	writing bool  // the writer runs
	// writeErr is what kept the connection from taking the whole request.
	writeErr error
	// done is the head of a response that ended before the writer, late what ends
	// the writer then.
	done *responseHead
	late *time.Timer
}

// run sends the request and returns the response when its head has arrived. When
// it fails, nothing of the hop is left; the request's body is the caller's to
// close.
func (h *hop) run() (*fetch.Response, error) {
	h.mu.Lock()
	h.unwatch = context.AfterFunc(h.call.ctx, func() { h.abort(contextError(h.call.ctx)) })
	h.mu.Unlock()
	h.send()
	resp, err := h.receive()
	if err != nil {
		h.abort(err)
		h.writer.Wait()
		return nil, h.describe("fetch from", h.why())
	}
	return resp, nil
}

// send writes a request without a body, or with a small one; another one is
// left to a goroutine. That a connection takes no more is told by receive: the
// server may have answered before.
func (h *hop) send() {
	head := appendRequestHead(h.conn.out[:0], h.call)
	if cap(head) <= maxKeptHead {
		h.conn.out = head
	}
	body := h.call.req.Body
	if body == nil || body.Reader == nil && len(body.Inline) <= smallRequest {
		if body != nil {
			head = append(head, body.Inline...)
		}
		h.sent(h.write(head))
		return
	}
	h.mu.Lock()
	h.writing = true
	h.mu.Unlock()
	h.writer.Go(func() {
		err := h.write(head)
		if err == nil {
			err = h.writeBody(body)
		}
		_ = body.Close() // all of it was sent, or the failure says more
		if own := (*bodyError)(nil); errors.As(err, &own) {
			h.abort(err)
		}
		h.sent(err)
	})
}

// write writes a piece.
func (h *hop) write(p []byte) error {
	for len(p) > 0 {
		piece := p[:min(len(p), requestPiece)]
		_ = h.conn.SetWriteDeadline(time.Now().Add(h.o.limits.WriteTimeout)) // a closed connection fails below
		if _, err := h.conn.Write(piece); err != nil {
			return err
		}
		p = p[len(piece):]
	}
	return nil
}

// sent is called when no more of the request will be sent. It starts the clock
// of the response, or frees the connection when that has ended.
func (h *hop) sent(err error) {
	h.mu.Lock()
	h.writing, h.writeErr = false, err
	done := h.done
	if !h.over {
		// TLS writes by itself, later.
		_ = h.conn.SetWriteDeadline(time.Time{}) // a closed connection fails in receive
		if !h.headed {
			wait := h.o.limits.ResponseHeaderTimeout
			if err != nil {
				wait = min(wait, lastWords)
			}
			_ = h.conn.SetReadDeadline(time.Now().Add(wait)) // likewise
		}
	}
	h.mu.Unlock()
	if done != nil {
		h.late.Stop()
		h.release(done)
	}
}

var pieces = sync.Pool{New: func() any { return new([requestPiece]byte) }}

// writeBody writes a body piece by piece, as it comes.
func (h *hop) writeBody(body *fetch.Body) error {
	if body.Reader == nil {
		return h.write(body.Inline)
	}
	const prefix = 8 // hexadecimal length and CRLF
	buf := pieces.Get().(*[requestPiece]byte)
	defer pieces.Put(buf)
	left := body.Size
	for {
		n, err := body.Reader.Read(buf[prefix : len(buf)-2])
		if body.Size >= 0 && int64(n) > left {
			return &bodyError{msg: fmt.Sprintf("it is longer than its length of %d bytes", body.Size)}
		}
		left -= int64(n)
		piece := buf[prefix : prefix+n]
		if body.Size < 0 && n > 0 {
			var hex [prefix]byte
			size := append(strconv.AppendInt(hex[:0], int64(n), 16), "\r\n"...)
			copy(buf[prefix-len(size):], size)
			piece = append(buf[prefix-len(size):prefix+n], "\r\n"...)
		}
		if writeErr := h.write(piece); writeErr != nil {
			return writeErr
		}
		switch {
		case err == io.EOF && body.Size < 0:
			return h.write([]byte("0\r\n\r\n"))
		case err == io.EOF && left > 0:
			return &bodyError{msg: fmt.Sprintf("it is shorter than its length of %d bytes", body.Size)}
		case err == io.EOF:
			return nil
		case err != nil:
			return &bodyError{msg: "it broke off", err: err}
		}
	}
}

// receive reads heads up to that of the final response.
func (h *hop) receive() (*fetch.Response, error) {
	if _, err := h.conn.br.Peek(1); err != nil {
		h.lost = !timedOut(err)
		return nil, h.silence(err)
	}
	r := headReader{br: h.conn.br, budget: h.o.limits.MaxResponseHeaderBytes}
	for {
		head, err := r.read(h.call.method)
		switch {
		case err != nil:
			return nil, h.silence(err)
		case head.status == 101:
			return nil, protocolErrorf("the server switched to another protocol unasked")
		case head.status >= 200 && head.status < 600:
			return h.accept(head), nil
		case head.status < 100 || head.status > 199:
			return nil, protocolErrorf("the response has the status %d (there are 200 to 599)", head.status)
		}
	}
}

// silence says what it means that a response did not come.
func (h *hop) silence(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var protocol protocolError
	switch {
	case errors.As(err, &protocol):
		return err
	case h.writeErr != nil:
		return h.writeErr
	case timedOut(err):
		return fmt.Errorf("%w: %w", protocolErrorf("no response within %v", h.o.limits.ResponseHeaderTimeout), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", errNoResponse, err)
	}
	return err
}

// accept makes the response of a head.
func (h *hop) accept(head *responseHead) *fetch.Response {
	h.mu.Lock()
	h.headed = true
	_ = h.conn.SetReadDeadline(time.Time{}) // a closed connection fails below
	h.mu.Unlock()
	resp := &fetch.Response{Status: head.status, StatusText: head.text, Header: head.header}
	switch {
	case h.call.method == "HEAD" || nullBody(head.status):
		if head.chunked || head.length != 0 {
			head.close = true // a 205 with content, which nobody gets
		}
		h.complete(head)
		h.writer.Wait()
	case head.length >= 0 && head.length <= int64(h.conn.br.Buffered()):
		b := make([]byte, head.length)
		_, _ = io.ReadFull(h.conn.br, b) // it is in the buffer
		h.complete(head)
		h.writer.Wait()
		resp.Body = fetch.BytesBody(b)
	case head.chunked:
		resp.Body = fetch.StreamBody(&outBody{h: h, head: head, left: -1, r: httputil.NewChunkedReader(h.conn.br)}, -1)
	default:
		resp.Body = fetch.StreamBody(&outBody{h: h, head: head, left: head.length, r: h.conn.br}, head.length)
	}
	return resp
}

// complete ends a hop whose response has been read to its end. Where the request
// is still being sent, that gets a moment to end.
func (h *hop) complete(head *responseHead) {
	h.mu.Lock()
	if h.writing {
		h.done = head
		h.late = time.AfterFunc(lateWrite, func() { h.abort(errAnswered) })
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	h.release(head)
}

// errAnswered ends a connection that its response has ended.
var errAnswered = errors.New("the response has ended")

// release gives the connection back to the pool, if it can serve another call.
func (h *hop) release(head *responseHead) {
	h.mu.Lock()
	whole := h.writeErr == nil
	h.mu.Unlock()
	if head.close || !whole || h.conn.br.Buffered() > 0 {
		h.abort(errAnswered)
		return
	}
	if h.settle(nil) {
		h.conn.pool.put(h.conn, head.keep)
	}
}

// abort ends the hop and closes its connection, which ends what other goroutines
// do with it. The first cause stays.
func (h *hop) abort(cause error) {
	if h.settle(cause) {
		h.conn.pool.drop(h.conn)
		_ = h.call.req.Body.Close() // it ends a read of the writer
	}
}

// settle reports whether the caller is the one to decide what becomes of the
// connection. Without a cause the connection lives on, unless the end of the
// context is on its way to abort.
func (h *hop) settle(cause error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	if unwatched := h.unwatch(); cause == nil && !unwatched {
		return false
	}
	h.over, h.cause = true, cause
	return true
}

// why returns what the hop was aborted for.
func (h *hop) why() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}

// describe makes the error that the caller of Fetch gets, or the reader of the
// response's body.
func (h *hop) describe(doing string, cause error) error {
	var own *bodyError
	switch {
	case h.call.ctx.Err() != nil:
		return contextError(h.call.ctx)
	case errors.As(cause, &own):
		return own.describe(h.o.fail)
	}
	return h.o.fail(fmt.Sprintf("%s %s: %s", doing, h.call.name(), reason(cause)), cause)
}

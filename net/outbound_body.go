package edgenet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// outBody is a response body that is read from its connection as it arrives:
// who does not read holds the server back.
type outBody struct {
	h    *hop
	head *responseHead
	r    io.Reader
	left int64 // of a body with a length; -1: as r ends

	mu       sync.Mutex  // one Read at a time; guards left and the fields below
	err      error       // what Read returns from now on
	trailing bool        // the trailers come next
	ended    atomic.Bool // the end has been read
}

// errBodyClosedEarly is what a reader gets that comes after Close.
var errBodyClosedEarly = errors.New("the response body has been closed")

// Read reads the body. With its last byte the connection is free for the next
// request.
func (b *outBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.read(p)
	switch {
	case err == io.EOF:
		b.ended.Store(true)
		b.h.complete(b.head)
		b.err = io.EOF
	case err != nil:
		b.err = b.broken(err)
	}
	if n > 0 {
		return n, nil
	}
	return n, b.err
}

// read reads once. It returns io.EOF together with the last bytes where it can
// tell without waiting.
func (b *outBody) read(p []byte) (n int, err error) {
	if b.trailing {
		return 0, b.readTrailers()
	}
	if b.left >= 0 && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err = b.r.Read(p)
	switch {
	case b.head.chunked && err == io.EOF:
		b.trailing = true
		if n > 0 && !b.trailersBuffered() {
			return n, nil
		}
		return n, b.readTrailers()
	case b.head.chunked:
		return n, chunkError(err)
	case b.left < 0 || err != nil && err != io.EOF:
		return n, err
	}
	if b.left -= int64(n); b.left == 0 {
		return n, io.EOF
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// chunkError tells a fault in the chunks from one of the connection.
func chunkError(err error) error {
	var broken net.Error
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.As(err, &broken) {
		return err
	}
	return fmt.Errorf("%w: %w", errChunks, err)
}

// trailersBuffered reports whether the end of a body without trailers has
// arrived.
func (b *outBody) trailersBuffered() bool {
	br := b.h.conn.br
	end, _ := br.Peek(min(2, br.Buffered())) // what is buffered is there
	return string(end) == "\r\n"
}

// readTrailers reads to the end of a chunked body; what the trailers say is
// dropped.
func (b *outBody) readTrailers() error {
	r := headReader{br: b.h.conn.br, budget: b.h.o.limits.MaxResponseHeaderBytes}
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return io.EOF
		}
	}
}

// broken ends the hop of a body that broke off and returns why.
func (b *outBody) broken(err error) error {
	b.h.abort(err)
	cause := b.h.why()
	if cause == errBodyClosedEarly {
		return cause
	}
	return b.h.describe("read the response from", cause)
}

// Close releases the body. Before its end it closes the connection, which ends a
// Read. When it returns, the request's body is not touched any more.
func (b *outBody) Close() error {
	if !b.ended.Load() {
		b.h.abort(errBodyClosedEarly)
	}
	b.h.writer.Wait()
	return nil
}

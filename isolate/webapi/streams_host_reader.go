package webapi

import (
	"io"
	"sync"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/net/fetch"
)

// BodyReader is the resource of a body that JavaScript may read: a request's
// that came in, or a response's that fetch got. It is read by one op at a time;
// Take and Close may be called from any goroutine.
type BodyReader struct {
	mu     sync.Mutex // guards all below
	body   *fetch.Body
	offset int   // of what was read of an inline body
	err    error // met together with the last bytes, for the next read
	used   bool  // a read was begun
	busy   bool  // a read is under way
	closed bool
}

// NewBodyReader wraps a body, which then belongs to the reader. A nil body is
// an empty one.
func NewBodyReader(b *fetch.Body) *BodyReader {
	if b == nil {
		b = fetch.BytesBody(nil)
	}
	return &BodyReader{body: b}
}

// Take takes the body out, to be passed on as it is. It returns nil when
// JavaScript has begun to read it, when it was taken before, or closed.
func (r *BodyReader) Take() *fetch.Body {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used || r.closed {
		return nil
	}
	r.closed = true
	return r.body
}

// Size returns the length of the whole body in bytes, -1 when unknown.
func (r *BodyReader) Size() int64 { return r.body.Size }

// Close releases the body and ends a read that is under way. After Take it does
// nothing. Closing twice is harmless.
func (r *BodyReader) Close() error {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if closed {
		return nil
	}
	return r.body.Close()
}

// inline returns the next bytes of a body that is in memory, at most limit of
// them (-1: all), empty at its end. ok is false for a body that has to be read.
func (r *BodyReader) inline(limit int64) (chunk []byte, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.body.Reader != nil {
		return nil, false
	}
	r.used = true
	if r.closed {
		return nil, true
	}
	rest := r.body.Inline[r.offset:]
	if limit >= 0 && int64(len(rest)) > limit {
		rest = rest[:limit]
	}
	r.offset += len(rest)
	return rest, true
}

// begin starts a read, or returns the error that it has.
func (r *BodyReader) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return op.Aborted("The body was canceled")
	case r.busy:
		return op.Errorf(op.TypeError, "The body is being read already")
	case r.err != nil:
		return r.err
	}
	r.used, r.busy = true, true
	return nil
}

// finish ends a read. err is kept when there were bytes to hand over first.
func (r *BodyReader) finish(n int, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
	if err != nil {
		r.err = err
		if r.closed && err != io.EOF {
			r.err = op.Aborted("The body was canceled")
		}
	}
	if n > 0 {
		return nil
	}
	return r.err
}

// read reads some bytes, io.EOF at the end. It blocks until the body gives some
// or is closed.
func (r *BodyReader) read(p []byte) (n int, err error) {
	if err := r.begin(); err != nil {
		return 0, err
	}
	for n == 0 && err == nil {
		n, err = r.body.Reader.Read(p)
	}
	return n, r.finish(n, err)
}

// readPart reads the rest of the body, with io.EOF, or a long part of it, with a
// nil error.
func (r *BodyReader) readPart() ([]byte, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	limit, size := int64(bodyWhole), int64(4<<10)
	if known := r.body.Size; known >= 0 && known <= bodyWholeKnown {
		// One more than the size, so that the end is met without growing.
		limit, size = max(limit, known+1), known+1
	}
	part := make([]byte, 0, size)
	var err error
	for err == nil && int64(len(part)) < limit {
		if len(part) == cap(part) {
			part = append(part, 0)[:len(part)]
		}
		var n int
		n, err = r.body.Reader.Read(part[len(part):min(int64(cap(part)), limit)])
		part = part[:len(part)+n]
	}
	return part, r.finish(0, err)
}

package webapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/net/fetch"
)

// BodyWriter is the resource of a body that JavaScript writes and Go reads: a
// pipe with a bounded buffer, whose other end is a fetch.Body. All methods may
// be called from any goroutine, and none of them blocks; the body's Read does.
type BodyWriter struct {
	body *fetch.Body
	stop func() bool // ends the watch over the context

	mu     sync.Mutex   // guards all below; no callback is called under it
	more   sync.Cond    // there is something new for Read
	blocks []*bodyBlock // unread bytes, in order
	size   int          // how many
	room   []func(error)
	ended  bool  // the writer gave everything
	failed error // what Read returns after the unread bytes
	// over says that nothing is read any more, for the reason in cause (nil:
	// everything was read).
	over    bool
	cause   error
	onClose func(error)
}

// bodyBlock is a run of bytes; those of a pooled one lie in data[:n].
type bodyBlock struct {
	bytes  []byte // unread
	pooled *[bodyChunk]byte
	n      int // bytes of pooled in use
}

// NewBodyWriter returns a pipe and its reading end. Both are aborted when ctx
// ends.
func NewBodyWriter(ctx context.Context) (*BodyWriter, *fetch.Body) {
	w := &BodyWriter{}
	w.more.L = &w.mu
	w.body = fetch.StreamBody(bodyPipeEnd{w}, -1)
	w.mu.Lock() // ctx may have ended, and its function needs stop
	w.stop = context.AfterFunc(ctx, func() { w.closeWith(context.Cause(ctx)) })
	w.mu.Unlock()
	return w, w.body
}

// Body returns the reading end.
func (w *BodyWriter) Body() *fetch.Body { return w.body }

// Write copies p into the buffer, whatever its length. room, when it is not
// nil, is called once: with nil when the reader has made room, at once if there
// is some left, or with an error when the reader is gone.
func (w *BodyWriter) Write(p []byte, room func(error)) {
	w.mu.Lock()
	if w.over || w.ended || w.failed != nil {
		err := w.cause
		w.mu.Unlock()
		if room != nil {
			room(bodyLeftError(err))
		}
		return
	}
	if len(p) > 0 {
		w.appendLocked(p)
		w.more.Signal()
	}
	if room != nil && w.size >= bodyMark {
		w.room = append(w.room, room)
		room = nil
	}
	w.mu.Unlock()
	if room != nil {
		room(nil)
	}
}

// appendLocked copies small writes together into pooled blocks, and long ones
// into memory of their own.
func (w *BodyWriter) appendLocked(p []byte) {
	w.size += len(p)
	if n := len(w.blocks); n > 0 {
		last := w.blocks[n-1]
		if last.pooled != nil && len(p) <= bodyChunk-last.n {
			start := last.n - len(last.bytes)
			last.n += copy(last.pooled[last.n:], p)
			last.bytes = last.pooled[start:last.n]
			return
		}
	}
	if len(p) > bodyChunk/2 {
		w.blocks = append(w.blocks, &bodyBlock{bytes: append([]byte(nil), p...)})
		return
	}
	b := &bodyBlock{pooled: bodyBuffers.Get().(*[bodyChunk]byte)}
	b.n = copy(b.pooled[:], p)
	b.bytes = b.pooled[:b.n]
	w.blocks = append(w.blocks, b)
}

// End says that the body is complete. The reader meets io.EOF after what is
// left in the buffer.
func (w *BodyWriter) End() {
	w.mu.Lock()
	w.ended = true
	w.more.Broadcast()
	w.mu.Unlock()
}

// Abort says that the body failed. The reader meets err after what is left in
// the buffer.
func (w *BodyWriter) Abort(err error) {
	w.mu.Lock()
	if !w.ended && w.failed == nil {
		w.failed = err
	}
	w.more.Broadcast()
	w.mu.Unlock()
}

// OnClosed sets what is called once the reader is done, at once if it is: with
// nil when it read everything, else with the error that the script gets.
func (w *BodyWriter) OnClosed(fn func(error)) {
	w.mu.Lock()
	if !w.over {
		w.onClose = fn
		w.mu.Unlock()
		return
	}
	cause := w.cause
	w.mu.Unlock()
	fn(bodyClosedError(cause))
}

// Close aborts a pipe that is not complete, as when the instance is closed.
func (w *BodyWriter) Close() error {
	w.mu.Lock()
	ended := w.ended
	w.mu.Unlock()
	if !ended {
		w.closeWith(context.Canceled)
	}
	return nil
}

// errBodyReaderLeft is the cause of a pipe whose reader closed it early.
var errBodyReaderLeft = op.Aborted("The other side stopped reading the body")

// bodyLeftError is what the script gets for a write that nobody will read.
func bodyLeftError(cause error) error {
	if cause == nil {
		return errBodyReaderLeft
	}
	return bodyClosedError(cause)
}

// bodyClosedError is what the script gets for the end of a pipe; nil stays nil.
func bodyClosedError(cause error) error {
	var public *op.Error
	if cause == nil || errors.As(cause, &public) {
		return cause
	}
	return fmt.Errorf("%w: %w", op.Aborted("The body was aborted"), cause)
}

// closeWith ends the pipe for both sides. cause is nil when everything was read.
func (w *BodyWriter) closeWith(cause error) {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return
	}
	w.over, w.cause = true, cause
	for _, b := range w.blocks {
		b.release()
	}
	w.blocks, w.size = nil, 0
	room, onClose := w.room, w.onClose
	w.room, w.onClose = nil, nil
	w.more.Broadcast()
	w.mu.Unlock()
	w.stop()
	for _, fn := range room {
		fn(bodyLeftError(cause))
	}
	if onClose != nil {
		onClose(bodyClosedError(cause))
	}
}

func (b *bodyBlock) release() {
	if b.pooled != nil {
		bodyBuffers.Put(b.pooled)
		b.pooled, b.bytes = nil, nil
	}
}

// bodyPipeEnd is the end that Go reads.
type bodyPipeEnd struct{ w *BodyWriter }

// Read returns what is there, and waits only when there is nothing.
func (r bodyPipeEnd) Read(p []byte) (int, error) {
	w := r.w
	w.mu.Lock()
	for w.size == 0 && !w.over && !w.ended && w.failed == nil {
		w.more.Wait()
	}
	if w.size == 0 {
		over, cause, failed := w.over, w.cause, w.failed
		w.mu.Unlock()
		if over && cause != nil {
			return 0, cause
		}
		w.closeWith(failed)
		if failed != nil {
			return 0, failed
		}
		return 0, io.EOF
	}
	n := w.takeLocked(p)
	var room []func(error)
	if w.size <= bodyMark/2 {
		room, w.room = w.room, nil
	}
	w.mu.Unlock()
	for _, fn := range room {
		fn(nil)
	}
	return n, nil
}

// takeLocked moves unread bytes into p.
func (w *BodyWriter) takeLocked(p []byte) int {
	n := 0
	for n < len(p) && len(w.blocks) > 0 {
		first := w.blocks[0]
		m := copy(p[n:], first.bytes)
		n += m
		first.bytes = first.bytes[m:]
		if len(first.bytes) == 0 {
			first.release()
			w.blocks[0] = nil
			w.blocks = w.blocks[1:]
		}
	}
	w.size -= n
	return n
}

// Close ends the reading. It is the end of a complete body when all of it was
// read, else the writer learns that nobody wants the rest.
func (r bodyPipeEnd) Close() error {
	w := r.w
	w.mu.Lock()
	complete := w.ended && w.size == 0 && w.failed == nil
	w.mu.Unlock()
	if complete {
		w.closeWith(nil)
	} else {
		w.closeWith(errBodyReaderLeft)
	}
	return nil
}

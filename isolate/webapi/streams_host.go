package webapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// streamsHostOps returns the ops of streams_host.js: bodies that cross between
// JavaScript and Go, chunk by chunk or whole.
func streamsHostOps() []op.Op {
	return []op.Op{
		{Name: "op_body_read", Mode: op.Async, Func: opBodyRead},
		{Name: "op_body_read_all", Mode: op.Async, Func: opBodyReadAll},
		{Name: "op_body_cancel", Mode: op.Post, Func: opBodyCancel},
		{Name: "op_body_open", Mode: op.Sync, Func: opBodyOpen},
		{Name: "op_body_push", Mode: op.Post, Func: opBodyPush},
		{Name: "op_body_write", Mode: op.Async, Func: opBodyWrite},
		{Name: "op_body_closed", Mode: op.Async, Func: opBodyClosed},
		{Name: "op_body_end", Mode: op.Post, Func: opBodyEnd},
		{Name: "op_body_error", Mode: op.Post, Func: opBodyError},
	}
}

const (
	// bodyChunk is the most that one read hands to JavaScript, and the size of
	// the pooled buffers.
	bodyChunk = 64 << 10
	// bodyMark is how many unread bytes a BodyWriter holds before it stops
	// having room. It has room again at half of that.
	bodyMark = 64 << 10
	// bodyWhole is the most that op_body_read_all hands over at once of a body
	// of unknown size, and bodyWholeKnown of one whose size is known. What is
	// longer comes in parts, since only JavaScript's memory is counted.
	bodyWhole      = 1 << 20
	bodyWholeKnown = 8 << 20
)

var bodyBuffers = sync.Pool{New: func() any { return new([bodyChunk]byte) }}

// opBodyRead is op_body_read(handle, maxBytes): a chunk, null at the end.
func opBodyRead(c *op.Call) error {
	r, err := op.Resource[*BodyReader](c, 0)
	if err != nil {
		return err
	}
	handle, limit := uint32(c.Int(0)), c.Int(1)
	if limit <= 0 || limit > bodyChunk {
		limit = bodyChunk
	}
	if chunk, ok := r.inline(limit); ok {
		resolveChunk(c, handle, chunk, nil)
		return nil
	}
	go func() {
		buf := bodyBuffers.Get().(*[bodyChunk]byte)
		n, err := r.read(buf[:limit])
		resolveChunk(c, handle, buf[:n], err)
		bodyBuffers.Put(buf)
	}()
	return nil
}

// resolveChunk answers a read; the handle ends with its body.
func resolveChunk(c *op.Call, handle uint32, chunk []byte, err error) {
	switch {
	case len(chunk) > 0:
		c.Resolve(op.Bytes(chunk))
		return
	case err == nil || err == io.EOF:
		c.Resolve(op.Null)
	default:
		c.Reject(bodyReadError(err))
	}
	dropReader(c.Host(), handle)
}

// opBodyReadAll is op_body_read_all(handle): the rest of the body as one
// Uint8Array, or, when that is long, an array with the next part of it.
func opBodyReadAll(c *op.Call) error {
	r, err := op.Resource[*BodyReader](c, 0)
	if err != nil {
		return err
	}
	handle := uint32(c.Int(0))
	if chunk, ok := r.inline(-1); ok {
		c.Resolve(op.Bytes(chunk))
		dropReader(c.Host(), handle)
		return nil
	}
	go func() {
		part, err := r.readPart()
		switch {
		case err == nil:
			c.Resolve(op.List(op.Bytes(part)))
			return
		case err == io.EOF:
			c.Resolve(op.Bytes(part))
		default:
			c.Reject(bodyReadError(err))
		}
		dropReader(c.Host(), handle)
	}()
	return nil
}

// opBodyCancel is op_body_cancel(handle): nobody will read the body.
func opBodyCancel(c *op.Call) error {
	dropReader(c.Host(), uint32(c.Int(0)))
	return nil
}

// dropReader releases a handle and its body. What was dropped already is
// harmless: the end of a body and its cancel may cross.
func dropReader(h op.Host, handle uint32) {
	if r, ok := h.Resources().Get(handle).(*BodyReader); ok {
		h.Resources().Take(handle)
		_ = r.Close() // nobody is left who could use the error
	}
}

// bodyReadError is what the script sees of an error of a body. The cause is kept
// for the log.
func bodyReadError(err error) error {
	var public *op.Error
	var failure *outcome.Failure
	switch {
	case errors.As(err, &public), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &failure):
		public = op.Errorf(op.TypeError, "The body could not be read: %s", failure.Msg)
	default:
		public = op.Errorf(op.TypeError, "The body could not be read: the connection was lost")
	}
	return fmt.Errorf("%w: %w", public, err)
}

// opBodyOpen is op_body_open(): the handle of a new BodyWriter, for a body that
// JavaScript makes.
func opBodyOpen(c *op.Call) error {
	w, _ := NewBodyWriter(c.Context())
	c.Return(op.Int(int64(c.Host().Resources().Add(w))))
	return nil
}

// opBodyPush is op_body_push(handle, bytes): write without asking for room.
func opBodyPush(c *op.Call) error {
	if w, ok := c.Host().Resources().Get(uint32(c.Int(0))).(*BodyWriter); ok {
		w.Write(c.Bytes(1), nil)
	}
	return nil
}

// opBodyWrite is op_body_write(handle, bytes): resolves when there is room
// again, rejects when the other side went away.
func opBodyWrite(c *op.Call) error {
	w, err := op.Resource[*BodyWriter](c, 0)
	if err != nil {
		return err
	}
	w.Write(c.Bytes(1), func(err error) { settleBody(c, err) })
	return nil
}

// opBodyClosed is op_body_closed(handle): resolves when the other side has read
// everything, rejects when it went away before. The handle ends with it.
func opBodyClosed(c *op.Call) error {
	w, err := op.Resource[*BodyWriter](c, 0)
	if err != nil {
		return err
	}
	handle := uint32(c.Int(0))
	w.OnClosed(func(err error) {
		c.Host().Resources().Take(handle)
		settleBody(c, err)
	})
	return nil
}

func settleBody(c *op.Call, err error) {
	if err != nil {
		c.Reject(err)
		return
	}
	c.Resolve(op.Undefined)
}

// opBodyEnd is op_body_end(handle): the body is complete.
func opBodyEnd(c *op.Call) error {
	if w, ok := c.Host().Resources().Get(uint32(c.Int(0))).(*BodyWriter); ok {
		w.End()
	}
	return nil
}

// opBodyError is op_body_error(handle, text): the stream failed in JavaScript.
func opBodyError(c *op.Call) error {
	if w, ok := c.Host().Resources().Get(uint32(c.Int(0))).(*BodyWriter); ok {
		w.Abort(&outcome.Failure{
			Outcome: outcome.StreamAborted,
			Msg:     "the worker's body stream failed",
			Err:     errors.New(c.Text(1)),
		})
	}
	return nil
}

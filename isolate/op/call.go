package op

import (
	"context"
	"errors"
	"sync/atomic"
)

// Call is one call of an op. For Sync and Post ops it is good until the
// function returns; for Async ops until it is settled, though its arguments are
// not: they borrow the engine's memory, which is reused when the function
// returns.
type Call struct {
	host    Host
	inv     Invocation
	invID   uint32
	id      uint32 // promise id, 0 for Sync and Post
	args    []Value
	result  Value
	settled atomic.Bool
}

// NewCall is for engines: it makes the Call that an op's function receives. inv
// is nil when the op was called outside of every invocation.
func NewCall(host Host, inv Invocation, invID, id uint32, args []Value) *Call {
	return &Call{host: host, inv: inv, invID: invID, id: id, args: args}
}

// Reset is for engines: it makes c the next call, of a Sync or Post op, so that
// one Call serves many. Never for a call that an Async op may still settle.
func (c *Call) Reset(host Host, inv Invocation, invID uint32, args []Value) {
	c.host, c.inv, c.invID, c.id, c.args, c.result = host, inv, invID, 0, args, Undefined
}

// Host returns the instance.
func (c *Call) Host() Host { return c.host }

// Invocation returns the event on whose behalf JavaScript called, nil when it
// did so outside of every event (during start-up) or after that event ended.
func (c *Call) Invocation() Invocation { return c.inv }

// InvocationID returns the number of that event, 0 for none.
func (c *Call) InvocationID() uint32 { return c.invID }

// Context returns the invocation's context, or the instance's when there is no
// invocation.
func (c *Call) Context() context.Context {
	if c.inv != nil {
		return c.inv.Context()
	}
	return c.host.Context()
}

// Len returns the number of arguments.
func (c *Call) Len() int { return len(c.args) }

// Arg returns an argument, Undefined when there is none.
func (c *Call) Arg(i int) Value {
	if i < len(c.args) {
		return c.args[i]
	}
	return Undefined
}

// Text returns a string argument as UTF-8 in memory of its own.
func (c *Call) Text(i int) string { return c.Arg(i).Text() }

// Int returns a number argument, truncated.
func (c *Call) Int(i int) int64 { return c.Arg(i).Int() }

// Bytes returns the borrowed bytes of a typed array, a buffer or a one-byte
// string argument.
func (c *Call) Bytes(i int) []byte { return c.Arg(i).Raw() }

// Return sets the value that a Sync op returns; undefined without it. v may
// borrow memory until the function has returned.
func (c *Call) Return(v Value) { c.result = v }

// Result is for engines: what Return was given.
func (c *Call) Result() Value { return c.result }

// Resolve fulfils the promise of an Async call. From any goroutine, once; a
// later Resolve or Reject does nothing. v is encoded before it returns.
func (c *Call) Resolve(v Value) {
	if c.id != 0 && c.settled.CompareAndSwap(false, true) {
		c.host.Settle(c.id, c.invID, v, nil)
	}
}

// Reject rejects the promise of an Async call, by the rules of Resolve.
func (c *Call) Reject(err error) {
	if c.id != 0 && c.settled.CompareAndSwap(false, true) {
		c.host.Settle(c.id, c.invID, Undefined, err)
	}
}

// Public returns what user code may see of err: err itself when it is or wraps
// an *Error, an AbortError for a canceled context, else "internal error".
func Public(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Aborted("The operation was aborted")
	}
	return &Error{Class: PlainError, Msg: "internal error"}
}

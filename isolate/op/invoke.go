package op

import (
	"context"

	"github.com/edge-runtime/edge/isolate/outcome"
)

// Invoker is a worker, as those see it who have events for it: it picks or
// starts an instance and runs the event there. Safe for many goroutines.
type Invoker interface {
	// Invoke enqueues one event and, when the instance is idle, runs it on the
	// caller's goroutine until JavaScript waits for something. It never returns
	// nil: an event that no instance takes (a full queue, a failed boot) comes
	// back as ended, with its Failure. When ctx ends, the invocation is canceled.
	Invoke(ctx context.Context, p InvokeParams) Running
}

// InvokeParams is one event for a worker.
type InvokeParams struct {
	// Handler is the name given to native_on, such as "fetch".
	Handler string
	// Args are sent to the handler when Attach is nil.
	Args []Value
	// State is what Invocation.State returns to the ops of the event.
	State any
	// Request names the request in logs.
	Request string
	// Attach is called once, when an instance was chosen, before the event is
	// delivered: it may put resources into the instance's table and returns the
	// arguments. They may borrow memory until the event has been encoded. It is
	// called again when the event moves to another instance before any of its
	// JavaScript ran.
	Attach func(host Host, inv Invocation) []Value
	// OnFail is called at most once, when the invocation fails, and before the
	// channel of Ended is closed. It may come from another goroutine while Invoke
	// has not returned (an engine that is stuck), so that the client is answered
	// at once. It must not block. May be nil.
	OnFail func(*outcome.Failure)
}

// Running is an event that a worker took. Safe for many goroutines.
type Running interface {
	// Ended is closed when the event is over: its handler, its response body and
	// what it gave to waitUntil.
	Ended() <-chan struct{}
	// Failure is nil while the event runs and when it ended well.
	Failure() *outcome.Failure
	// Cancel says that nobody waits for the event any more: its signal aborts and
	// its context ends. waitUntil may keep it running. Canceling twice is harmless.
	Cancel(reason error)
}

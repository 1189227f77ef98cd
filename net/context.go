package edgenet

import (
	"context"
	"sync"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

// requestContext is the context of an exchange. It lies in the exchange and
// makes the machinery of a cancelable context when somebody asks for it: a
// service that answers at once never does.
type requestContext struct {
	ex *exchange

	mu    sync.Mutex // guards the fields below
	inner context.Context
	end   context.CancelCauseFunc
	cause error // it was canceled before inner was made
}

// Deadline implements context.Context: net sets none, services do.
func (c *requestContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} { return c.made().Done() }

// Err implements context.Context.
func (c *requestContext) Err() error { return c.made().Err() }

// Value implements context.Context. It holds the exchange as fetch.Abandoner, and
// what the context package stores in a context of its own, so that derived
// contexts need no goroutine.
func (c *requestContext) Value(key any) any {
	if key == (fetch.AbandonerKey{}) {
		return c.ex
	}
	return c.made().Value(key)
}

func (c *requestContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.end = context.WithCancelCause(context.Background())
		if c.cause != nil {
			c.end(c.cause)
		}
	}
	return c.inner
}

// cancel ends the context; the first cause stays.
func (c *requestContext) cancel(cause error) {
	c.mu.Lock()
	end := c.end
	if end == nil && c.cause == nil {
		c.cause = cause
	}
	c.mu.Unlock()
	if end != nil {
		end(cause)
	}
}

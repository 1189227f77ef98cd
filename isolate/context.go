package isolate

import (
	"context"
	"sync"
	"time"
)

// invocationContext is the context of an invocation: it costs no allocation
// until somebody waits for it. It carries no deadline and no values: the
// caller's context may not outlive the caller, an invocation may.
type invocationContext struct {
	mu     sync.Mutex // a leaf
	err    error
	done   chan struct{}
	after  map[int]func()
	serial int
}

var _ interface {
	context.Context
	AfterFunc(func()) func() bool // lets package context propagate without a goroutine
} = (*invocationContext)(nil)

// Deadline implements context.Context.
func (c *invocationContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (c *invocationContext) Value(any) any { return nil }

// Done implements context.Context.
func (c *invocationContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		if c.err != nil {
			return closedChan
		}
		c.done = make(chan struct{})
	}
	return c.done
}

// Err implements context.Context.
func (c *invocationContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc calls f in a goroutine of its own when the context ends, by the
// rules of context.AfterFunc.
func (c *invocationContext) AfterFunc(f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[int]func(){}
	}
	c.serial++
	n := c.serial
	c.after[n] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, ok := c.after[n]
		delete(c.after, n)
		return ok
	}
}

// end ends the context; the first error stays.
func (c *invocationContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	for _, f := range c.after {
		go f()
	}
	c.after = nil
}

var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

package op

import (
	"errors"
	"io"
	"sync"
)

// Table holds the Go values that one instance's JavaScript refers to by number:
// bodies, sockets, bindings. Safe for many goroutines. Numbers are never reused
// within a table, so a stale one finds nothing.
type Table struct {
	mu     sync.Mutex
	next   uint32
	m      map[uint32]any
	closed bool
}

// Add stores v and returns its handle, above 0. In a closed table v is closed
// at once, when it is an io.Closer, and the handle finds nothing.
func (t *Table) Add(v any) uint32 {
	t.mu.Lock()
	t.next++
	id := t.next
	closed := t.closed
	if !closed {
		if t.m == nil {
			t.m = map[uint32]any{}
		}
		t.m[id] = v
	}
	t.mu.Unlock()
	if c, ok := v.(io.Closer); ok && closed {
		_ = c.Close() // nobody is left who could use the error
	}
	return id
}

// Get returns the value of a handle, nil when there is none.
func (t *Table) Get(id uint32) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.m[id]
}

// Take removes a handle and returns its value, nil when there is none.
func (t *Table) Take(id uint32) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.m[id]
	delete(t.m, id)
	return v
}

// Len returns the number of live handles.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.m)
}

// Close closes every value that is an io.Closer and refuses later ones. Closing
// twice is harmless.
func (t *Table) Close() error {
	t.mu.Lock()
	m := t.m
	t.m, t.closed = nil, true
	t.mu.Unlock()
	var errs []error
	for _, v := range m {
		if c, ok := v.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// Resource returns the value of the handle in argument i, as a T. The error is
// a TypeError for the script.
func Resource[T any](c *Call, i int) (T, error) {
	v, ok := c.host.Resources().Get(uint32(c.Int(i))).(T)
	if !ok {
		return v, Errorf(TypeError, "bad resource handle %d", c.Int(i))
	}
	return v, nil
}

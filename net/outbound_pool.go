package edgenet

import (
	"bufio"
	"container/list"
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// connBuffer is the size of a connection's read buffer. Reads of at least that
// much bypass it.
const connBuffer = 8 << 10

func newConnReader(c net.Conn) *bufio.Reader { return bufio.NewReaderSize(c, connBuffer) }

// outConn is a connection to a server. One call at a time owns it, or the pool.
type outConn struct {
	net.Conn          // what is spoken on: raw, or TLS over it
	raw      net.Conn // what is closed: no goodbye that could block
	br       *bufio.Reader
	sys      syscall.RawConn // nil: it has no descriptor
	out      []byte          // where heads of requests are written
	key      origin
	pool     *connPool
	reused   bool
	idleFrom time.Time
	idleTill time.Time
}

// kill closes the connection, which ends reads and writes of other goroutines.
func (c *outConn) kill() { _ = c.raw.Close() }

// usable reports whether an idle connection may be used: the server has neither
// closed it nor sent what nobody asked for.
func (c *outConn) usable() bool {
	if c.br.Buffered() > 0 {
		return false
	}
	waits, gone := pending(c.sys)
	switch {
	case gone:
		return false
	case !waits:
		return true
	case c.Conn == c.raw:
		return false
	}
	// A record of TLS's own, such as a session ticket, or the goodbye: reading
	// tells which. There is input, so the deadline is met only by a ticket.
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.br.Peek(1)
	_ = c.SetReadDeadline(time.Time{})
	return err != nil && timedOut(err)
}

// connPool holds the connections of one outbound service, at most max of them.
// Who finds none free waits in line.
type connPool struct {
	max, maxIdle int
	idleTimeout  time.Duration

	mu      sync.Mutex            // guards the fields below
	idle    map[origin][]*outConn // by key, the one used last at the end
	open    int                   // places taken: idle, in use, being connected
	waiters list.List             // of *connWaiter, first come first served
	sweeper *time.Timer           // runs while connections are idle
	closed  bool                  // nothing is kept idle any more
}

// connWaiter waits for a connection, or for a place to make one (nil).
type connWaiter struct {
	key   origin
	fresh bool
	ready chan *outConn // holds one
}

func newConnPool(l OutboundLimits) *connPool {
	return &connPool{max: l.MaxConns, maxIdle: l.MaxIdlePerHost, idleTimeout: l.IdleTimeout, idle: map[origin][]*outConn{}}
}

// take returns an idle connection that can be used, or nil. The caller gives it
// back with put or drop.
func (p *connPool) take(key origin) *outConn {
	for c := p.pop(key); c != nil; c = p.pop(key) {
		if c.usable() {
			c.reused = true
			return c
		}
		p.drop(c)
	}
	return nil
}

// wait returns nil when the caller now owns a place to make a connection, which
// it gives back with free; or a connection that came free meanwhile, unless
// fresh is set.
func (p *connPool) wait(ctx context.Context, key origin, fresh bool) (*outConn, error) {
	p.mu.Lock()
	if p.open < p.max {
		p.open++
		p.mu.Unlock()
		return nil, nil
	}
	if c := p.oldestLocked(); c != nil {
		// Its place changes hands.
		p.mu.Unlock()
		c.kill()
		return nil, nil
	}
	w := &connWaiter{key: key, fresh: fresh, ready: make(chan *outConn, 1)}
	e := p.waiters.PushBack(w)
	p.mu.Unlock()
	select {
	case c := <-w.ready:
		if c != nil {
			c.reused = true
		}
		return c, nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	p.waiters.Remove(e)
	p.mu.Unlock()
	select {
	case c := <-w.ready: // it came meanwhile
		if c != nil {
			p.put(c, 0)
		} else {
			p.free()
		}
	default:
	}
	return nil, ctx.Err()
}

// pop takes the connection of a key that was used last.
func (p *connPool) pop(key origin) *outConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.idle[key]
	if len(conns) == 0 {
		return nil
	}
	c := conns[len(conns)-1]
	p.removeLocked(c)
	return c
}

func (p *connPool) removeLocked(c *outConn) {
	conns := p.idle[c.key]
	i := slices.Index(conns, c)
	if conns = slices.Delete(conns, i, i+1); len(conns) == 0 {
		delete(p.idle, c.key)
		return
	}
	p.idle[c.key] = conns
}

// oldestLocked takes the connection that is idle for longest, whatever its key.
func (p *connPool) oldestLocked() *outConn {
	var oldest *outConn
	for _, conns := range p.idle {
		if c := conns[0]; oldest == nil || c.idleFrom.Before(oldest.idleFrom) {
			oldest = c
		}
	}
	if oldest != nil {
		p.removeLocked(oldest)
	}
	return oldest
}

// put gives back a connection that can serve another call; keep, when above 0,
// is how long its server keeps it.
func (p *connPool) put(c *outConn, keep time.Duration) {
	p.mu.Lock()
	if e := p.waiters.Front(); e != nil {
		w := p.waiters.Remove(e).(*connWaiter)
		if w.key == c.key && !w.fresh {
			w.ready <- c
			p.mu.Unlock()
			return
		}
		w.ready <- nil // its place changes hands
		p.mu.Unlock()
		c.kill()
		return
	}
	if p.closed || len(p.idle[c.key]) >= p.maxIdle {
		p.open--
		p.mu.Unlock()
		c.kill()
		return
	}
	c.idleFrom = time.Now()
	c.idleTill = c.idleFrom.Add(p.idleTimeout)
	if keep > 0 && keep < p.idleTimeout {
		c.idleTill = c.idleFrom.Add(keep)
	}
	p.idle[c.key] = append(p.idle[c.key], c)
	if p.sweeper == nil {
		p.sweeper = time.AfterFunc(p.sweepEvery(), p.sweep)
	}
	p.mu.Unlock()
}

// drop frees the place of a connection that serves no other call, and closes it:
// in this order, so that who sees it closed sees the place free.
func (p *connPool) drop(c *outConn) {
	p.free()
	c.kill()
}

// free gives a place back.
func (p *connPool) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.waiters.Front(); e != nil {
		p.waiters.Remove(e).(*connWaiter).ready <- nil
		return
	}
	p.open--
}

func (p *connPool) sweepEvery() time.Duration { return max(p.idleTimeout/4, 10*time.Millisecond) }

// sweep closes the connections that were idle for too long, or whose server has
// left, and comes again while there are others.
func (p *connPool) sweep() {
	var dead []*outConn
	now := time.Now()
	p.mu.Lock()
	for _, conns := range p.idle {
		for _, c := range conns {
			if _, gone := pending(c.sys); gone || !now.Before(c.idleTill) {
				dead = append(dead, c)
			}
		}
	}
	for _, c := range dead {
		p.removeLocked(c)
	}
	p.sweeper = nil
	if len(p.idle) > 0 {
		p.sweeper = time.AfterFunc(p.sweepEvery(), p.sweep)
	}
	p.mu.Unlock()
	for _, c := range dead {
		p.drop(c)
	}
}

// close closes the idle connections and keeps none from now on.
func (p *connPool) close() {
	p.mu.Lock()
	p.closed = true
	var conns []*outConn
	for c := p.oldestLocked(); c != nil; c = p.oldestLocked() {
		conns = append(conns, c)
	}
	if p.sweeper != nil {
		p.sweeper.Stop()
		p.sweeper = nil
	}
	p.mu.Unlock()
	for _, c := range conns {
		p.drop(c)
	}
}

// count returns the number of open connections and of the idle ones among them.
func (p *connPool) count() (open, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conns := range p.idle {
		idle += len(conns)
	}
	return p.open, idle
}

package edgenet

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// The states of a connection, for Drain.
const (
	connNew    int32 = iota // accepted, nothing read
	connActive              // a request is being read or answered
	connIdle                // between requests
	connClosed              // claimed by whoever closes it
)

// epoch is the zero of deadlines kept as integers.
var epoch = time.Now()

// sinceEpoch returns t as nanoseconds after epoch, 0 for the zero time.
func sinceEpoch(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(int64(t.Sub(epoch)), 1)
}

// now returns the present as nanoseconds after epoch, at less cost than time.Now.
func now() int64 { return int64(time.Since(epoch)) }

func afterEpoch(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return epoch.Add(time.Duration(ns))
}

// writePiece is how much is written under one deadline, so that a slow client
// that takes a large response steadily is not cut.
const writePiece = 16 << 10

// conn is the net.Conn that fasthttp serves. It sits on the accepted connection
// for four reasons: deadlines that move later every request cost nothing until
// one fires, a read can be ended from elsewhere, an answer that net wrote itself
// silences fasthttp's, and closing waits a moment for an upload that nobody read.
type conn struct {
	net.Conn
	srv    *Server
	client string // the peer's "ip:port"
	watch  uint64 // the watcher's handle

	state   atomic.Int32
	muted   atomic.Bool              // writes are swallowed
	taken   atomic.Bool              // whoever abandoned the exchange writes and closes
	ex      atomic.Pointer[exchange] // the request in progress
	gone    atomic.Bool              // the peer has ended its sending side
	reset   atomic.Bool              // the connection is broken
	ended   sync.Once                // the socket is closed
	readCap atomic.Int64             // a deadline that other goroutines impose on reads

	// The fields below belong to the goroutine that reads or writes: fasthttp's,
	// or the reader of a request body, which hand over through requestBody.mu.
	readIn    time.Duration // how long the next read may take, 0: see readBy
	readBy    int64         // the deadline that was asked for
	readSet   int64         // the deadline that the socket has
	readAny   bool
	readErr   error // of the last read
	writeSet  int64
	wroteAt   int64 // when the last write of the exchange began, 0: none
	writeErr  error
	linger    bool      // unread request bytes may follow
	expecting *exchange // waits for fasthttp to continue reading the body
	rec       AccessRecord
}

// newConn returns the conn over an accepted connection.
func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{Conn: nc, srv: s}
	if addr := nc.RemoteAddr(); addr != nil {
		c.client = addr.String()
	}
	c.allow(s.cfg.HeaderTimeout)
	return c
}

// allow gives the reads from now on a deadline, which runs from the first of
// them: most requests need no read but the one that they arrive with, and so no
// look at the clock.
func (c *conn) allow(d time.Duration) { c.readIn = d }

// SetReadDeadline notes the deadline; the socket learns of it when it is earlier
// than the one it has.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.readIn, c.readBy = 0, sinceEpoch(t)
	return nil
}

// SetWriteDeadline does nothing: Write sets its own.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline sets the read deadline.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// Read reads under the deadline that was asked for or imposed.
func (c *conn) Read(p []byte) (int, error) {
	if c.readIn != 0 {
		c.readBy = now() + int64(c.readIn)
		c.readIn = 0
	}
	exact := false
	for {
		limit, by := c.readCap.Load(), c.readBy
		if limit != 0 && (by == 0 || limit < by) {
			by = limit
		}
		if by != c.readSet && (exact || by != 0 && (c.readSet == 0 || c.readSet > by)) {
			if err := c.Conn.SetReadDeadline(afterEpoch(by)); err != nil {
				return 0, err
			}
			c.readSet = by
			if c.readCap.Load() != limit {
				exact = true
				continue
			}
		}
		n, err := c.Conn.Read(p)
		if c.readErr = err; n > 0 {
			c.readAny = true
			return n, err
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && (by == 0 || now() < by) {
			// The socket's deadline was one of an earlier request.
			c.readSet, exact = -1, true
			continue
		}
		return n, err
	}
}

// capRead makes reads end at t, also the one in progress. The zero time is now.
func (c *conn) capRead(t time.Time) {
	if t.IsZero() {
		t = epoch
	}
	c.readCap.Store(sinceEpoch(t))
	_ = c.Conn.SetReadDeadline(t) // on a closed connection there is nothing to end
}

// uncapRead lifts the deadline of capRead. Only the reading goroutine calls it.
func (c *conn) uncapRead() {
	c.readCap.Store(0)
	c.readSet = -1
}

// Write writes p in pieces, each under the write timeout, or swallows it when
// the request was answered another way.
func (c *conn) Write(p []byte) (int, error) {
	if c.muted.Load() {
		return len(p), nil
	}
	n := 0
	for n < len(p) {
		if err := c.armWrite(); err != nil {
			c.writeErr = err
			return n, err
		}
		m, err := c.Conn.Write(p[n:min(n+writePiece, len(p))])
		n += m
		if err != nil {
			c.writeErr = err
			return n, err
		}
	}
	return n, nil
}

// armWrite sets the write deadline when less than half of the timeout is left.
func (c *conn) armWrite() error {
	timeout := int64(c.srv.cfg.WriteTimeout)
	c.wroteAt = now()
	if c.writeSet-c.wroteAt >= timeout/2 {
		return nil
	}
	c.writeSet = c.wroteAt + timeout
	return c.Conn.SetWriteDeadline(afterEpoch(c.writeSet))
}

// Close ends the connection after an exchange. When the peer may still be
// sending, it first gets the end of the response and a while to read it: closing
// over unread bytes would reset the connection and lose the response.
func (c *conn) Close() error {
	c.endExchange()
	if c.taken.Load() {
		return nil
	}
	if c.linger && !c.reset.Load() && c.state.Load() != connClosed {
		c.lingerClose()
	}
	c.kill()
	return nil
}

// lingerClose ends the sending side and discards what arrives, up to the limit
// in time.
func (c *conn) lingerClose() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.Conn.SetReadDeadline(time.Now().Add(c.srv.cfg.LingerTimeout)) != nil {
		return
	}
	buf := streamBuffers.Get().(*[]byte)
	defer streamBuffers.Put(buf)
	for {
		if _, err := c.Conn.Read(*buf); err != nil {
			return
		}
	}
}

// silence makes fasthttp end the connection without a word.
func (c *conn) silence(ctx *fasthttp.RequestCtx) {
	c.muted.Store(true)
	ctx.SetConnectionClose()
}

// kill closes the socket at once. Any goroutine may call it, more than once.
func (c *conn) kill() {
	c.ended.Do(func() {
		c.state.Store(connClosed)
		c.srv.watcher.remove(c)
		_ = c.Conn.Close() // nothing is left to tell the peer
	})
}

// peerLeft is called by the watcher when the peer ended its sending side, or,
// with broken, the whole connection.
func (c *conn) peerLeft(broken bool) {
	c.gone.Store(true)
	if broken {
		c.reset.Store(true)
	}
	if ex := c.ex.Load(); ex != nil {
		ex.peerLeft(broken)
	}
}

// streamBuffers holds the buffers that bodies are copied through.
var streamBuffers = sync.Pool{New: func() any {
	b := make([]byte, 32<<10)
	return &b
}}

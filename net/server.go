package edgenet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// ServerConfig configures a Server. A field left at zero takes the default that
// its comment names; there is no unlimited.
type ServerConfig struct {
	// Socket names the server in access records.
	Socket string
	// Scheme is that of the URLs services see, "http" by default.
	Scheme string
	// Handler is the first handler; SetHandler replaces it.
	Handler Handler

	// MaxHeaderBytes bounds the request line with all headers; each connection
	// keeps a buffer of this size. 16 KiB.
	MaxHeaderBytes int
	// MaxBodyBytes bounds a request body. 100 MiB.
	MaxBodyBytes int64
	// MaxConns bounds the open connections; one more is answered 503. 10000.
	MaxConns int

	// HeaderTimeout bounds the time from a request's first byte (on a new
	// connection: from the accept) to the end of its headers. 10 s.
	HeaderTimeout time.Duration
	// BodyTimeout is the time a client may keep a reader of its body waiting. It
	// is used up by waiting and comes back at the rate of a second for
	// MinBodyRate bytes, so that neither a slow nor a dripping client holds a
	// service for long while a fast one uploads for as long as it takes. 30 s.
	BodyTimeout time.Duration
	// MinBodyRate is in bytes per second. 1024.
	MinBodyRate int
	// IdleTimeout bounds the wait for the next request. 75 s.
	IdleTimeout time.Duration
	// WriteTimeout bounds the time a client may take for 16 KiB of a response.
	// 30 s.
	WriteTimeout time.Duration
	// StreamIdleTimeout bounds the silence of a service within a response body.
	// 5 min.
	StreamIdleTimeout time.Duration
	// HalfCloseGrace is how long a client that ended its sending side still gets
	// an answer: see exchange.peerLeft. 100 ms.
	HalfCloseGrace time.Duration
	// LingerTimeout bounds how long a connection is kept after a response that
	// did not wait for the whole request. 1 s.
	LingerTimeout time.Duration

	// Log is called once for each request, when its response has ended or its
	// connection was cut. The record is valid during the call.
	Log func(*AccessRecord)
	// ErrorPage may replace the JSON body of a failure that the runtime made, for
	// edge dev; an empty content type keeps the JSON.
	ErrorPage func(*RequestInfo, error) (contentType string, body []byte)
	// Logger takes what is no request: failing accepts and panics. Nil discards.
	Logger *slog.Logger
}

// Server serves HTTP/1.1 on listeners that are given to it.
type Server struct {
	cfg     ServerConfig
	http    *fasthttp.Server
	handler atomic.Pointer[Handler]
	watcher *watcher
	log     *slog.Logger

	draining atomic.Bool // accepts no more; responses are the last of their connection
	gentle   atomic.Bool // while draining: idle connections are left alone
	closing  atomic.Bool

	mu        sync.Mutex // guards the fields below
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	jobs      int             // accept loops and answers given in a handler's place
	noConns   []chan struct{} // closed when conns is empty
	noJobs    []chan struct{} // closed when jobs is 0
	stop      chan struct{}   // closed when the server stops accepting
}

// NewServer returns a Server that listens nowhere yet. It must be closed.
func NewServer(cfg ServerConfig) (*Server, error) {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&cfg.HeaderTimeout, 10*time.Second)
	def(&cfg.BodyTimeout, 30*time.Second)
	def(&cfg.IdleTimeout, 75*time.Second)
	def(&cfg.WriteTimeout, 30*time.Second)
	def(&cfg.StreamIdleTimeout, 5*time.Minute)
	def(&cfg.HalfCloseGrace, 100*time.Millisecond)
	def(&cfg.LingerTimeout, time.Second)
	if cfg.Scheme == "" {
		cfg.Scheme = "http"
	}
	if cfg.MaxHeaderBytes <= 0 {
		cfg.MaxHeaderBytes = 16 << 10
	}
	if cfg.MaxBodyBytes <= 0 {
		cfg.MaxBodyBytes = 100 << 20
	}
	if cfg.MaxConns <= 0 {
		cfg.MaxConns = 10000
	}
	if cfg.MinBodyRate <= 0 {
		cfg.MinBodyRate = 1024
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	w, err := newWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch connections: %w", err)
	}
	s := &Server{
		cfg: cfg, watcher: w, log: cfg.Logger,
		listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}, stop: make(chan struct{}),
	}
	s.SetHandler(cfg.Handler)
	s.http = &fasthttp.Server{
		Handler:        s.handle,
		ErrorHandler:   s.refuse,
		ExpectHandler:  s.expect,
		HeaderReceived: s.headerReceived,
		ConnState:      s.connState,
		Logger:         quiet{},
		// ServeConn is called by our own accept loop, which counts connections.
		Concurrency:                  math.MaxInt32,
		ReadBufferSize:               cfg.MaxHeaderBytes,
		StreamRequestBody:            true,
		MaxRequestBodySize:           math.MaxInt,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
	}
	return s, nil
}

// SetHandler replaces the handler for requests that start from now on; nil
// answers all with not_found. Requests in progress keep theirs.
func (s *Server) SetHandler(h Handler) {
	if h == nil {
		h = &Router{}
	}
	s.handler.Store(&h)
}

// Serve accepts connections from ln until Drain or Close, which close ln, and
// then returns nil. It may be called for more than one listener.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.draining.Load() {
		s.mu.Unlock()
		_ = ln.Close() // the server has stopped before it began
		return nil
	}
	s.listeners[ln] = struct{}{}
	s.jobs++
	s.mu.Unlock()
	defer s.jobDone()

	var wait time.Duration
	for {
		nc, err := ln.Accept()
		if err == nil {
			wait = 0
			s.start(nc)
			continue
		}
		if s.draining.Load() {
			return nil
		}
		if !temporary(err) {
			s.mu.Lock()
			delete(s.listeners, ln)
			s.mu.Unlock()
			return fmt.Errorf("accept on %s: %w", ln.Addr(), err)
		}
		// Out of descriptors or memory: connections in progress give some back.
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		s.log.Warn("accept failed", "socket", s.cfg.Socket, "error", err, "retry", wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.stop:
			timer.Stop()
		}
	}
}

// temporary reports whether an accept that failed may succeed later.
func temporary(err error) bool {
	var te interface{ Temporary() bool }
	return errors.As(err, &te) && te.Temporary()
}

// start serves an accepted connection on a goroutine of its own, or answers that
// there are too many.
func (s *Server) start(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	full := len(s.conns) >= s.cfg.MaxConns
	if s.draining.Load() {
		s.mu.Unlock()
		_ = nc.Close() // accepted after the listener was told to stop
		return
	}
	if !full {
		s.conns[c] = struct{}{}
	}
	s.mu.Unlock()
	if full {
		s.shed(c)
		return
	}
	s.watcher.add(c)
	go func() {
		defer s.forget(c)
		// An error of the connection is in its last request's record.
		_ = s.http.ServeConn(c)
	}()
}

// forget takes c out of the connections that Drain waits for.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	if len(s.conns) == 0 {
		s.noConns = closeAll(s.noConns)
	}
}

// spawn runs f on a goroutine that Close waits for.
func (s *Server) spawn(f func()) {
	s.mu.Lock()
	s.jobs++
	s.mu.Unlock()
	go func() {
		defer s.jobDone()
		f()
	}()
}

func (s *Server) jobDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs--; s.jobs == 0 {
		s.noJobs = closeAll(s.noJobs)
	}
}

func closeAll(chans []chan struct{}) []chan struct{} {
	for _, ch := range chans {
		close(ch)
	}
	return nil
}

// connState follows fasthttp through a connection: it is called on the
// connection's goroutine when a request's first byte came and when a response
// has been written.
func (s *Server) connState(nc net.Conn, state fasthttp.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	switch state {
	case fasthttp.StateActive:
		if !c.state.CompareAndSwap(connIdle, connActive) {
			c.state.CompareAndSwap(connNew, connActive)
		}
		if c.readCap.Load() != 0 {
			c.uncapRead()
		}
		c.allow(s.cfg.HeaderTimeout)
	case fasthttp.StateIdle:
		_ = c.SetReadDeadline(c.endExchange().Add(s.cfg.IdleTimeout)) // only notes it
		c.linger = false
		c.state.CompareAndSwap(connActive, connIdle)
		if s.draining.Load() && !s.gentle.Load() {
			s.closeIdle(c)
		}
	}
}

// Addrs returns the addresses that are served.
func (s *Server) Addrs() []net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	addrs := make([]net.Addr, 0, len(s.listeners))
	for ln := range s.listeners {
		addrs = append(addrs, ln.Addr())
	}
	return addrs
}

// Drain stops accepting, closes idle connections, lets requests finish and then
// closes the server. When ctx ends first, what is left is answered with
// load_shed or cut, and the error says how many requests that were.
func (s *Server) Drain(ctx context.Context) error {
	s.gentle.Store(false)
	return s.drain(ctx, true)
}

// Retire stops accepting and lets every connection end in its own time: one that
// is idle may bring one more request, and the response says that it is the last.
// So no client meets a connection that closes under its request, which Drain
// cannot promise. It returns when all have ended; when ctx ends first, it is as
// with Drain, which may be called meanwhile. Close the listeners and wait for
// Serve before, or a connection that was just accepted is closed.
func (s *Server) Retire(ctx context.Context) error {
	s.gentle.Store(true)
	return s.drain(ctx, false)
}

func (s *Server) drain(ctx context.Context, closeIdle bool) error {
	s.stopAccepting()
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	empty := make(chan struct{})
	if len(conns) == 0 {
		close(empty)
	} else {
		s.noConns = append(s.noConns, empty)
	}
	s.mu.Unlock()
	for _, c := range conns {
		if !closeIdle {
			break
		}
		if c.state.Load() == connNew {
			// A client that has just connected is about to send its request.
			c.capRead(time.Now().Add(min(time.Second, s.cfg.HeaderTimeout)))
		}
		s.closeIdle(c)
	}
	var err error
	select {
	case <-empty:
	case <-ctx.Done():
		s.mu.Lock()
		n := len(s.conns)
		s.mu.Unlock()
		if n > 0 {
			err = fmt.Errorf("drain: %d connections ended before their requests did: %w", n, context.Cause(ctx))
		}
	}
	s.Close()
	return err
}

// closeIdle closes c when it waits for a request. One whose next request has
// already arrived is left to answer it.
func (s *Server) closeIdle(c *conn) {
	if c.state.Load() != connIdle || inputWaits(c) {
		return
	}
	if c.state.CompareAndSwap(connIdle, connClosed) {
		c.kill()
	}
}

// stopAccepting closes the listeners.
func (s *Server) stopAccepting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Swap(true) {
		return
	}
	close(s.stop)
	for ln := range s.listeners {
		if err := ln.Close(); err != nil {
			s.log.Warn("close listener", "socket", s.cfg.Socket, "error", err)
		}
	}
	clear(s.listeners)
}

// Close stops at once: requests that have no answer get load_shed, responses in
// progress are cut. Goroutines of connections end when their handlers return,
// which Close does not wait for: one may be stuck for good. Calling it again is
// harmless.
func (s *Server) Close() {
	s.stopAccepting()
	if s.closing.Swap(true) {
		return
	}
	s.mu.Lock()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		switch ex := c.ex.Load(); {
		case ex == nil:
			c.kill()
		case !ex.Abandon(errStopping):
			ex.ctx.cancel(errStopping)
			c.kill()
		case ex.results != nil:
			c.capRead(time.Time{}) // its goroutine may be waiting for the body
		}
	}
	s.mu.Lock()
	idle := make(chan struct{})
	if s.jobs == 0 {
		close(idle)
	} else {
		s.noJobs = append(s.noJobs, idle)
	}
	s.mu.Unlock()
	<-idle
	s.watcher.close()
}

// headerReceived sets the limit for the part of the body that fasthttp reads
// before it calls the handler. A body that is too large is refused unread: one
// byte is the least that can be asked for.
func (s *Server) headerReceived(h *fasthttp.RequestHeader) (rc fasthttp.RequestConfig) {
	n := int64(h.ContentLength())
	if n == 0 || n == -2 {
		h.Del("Expect") // there is no body to continue with
	}
	if n > 0 {
		rc.ReadTimeout = s.cfg.BodyTimeout
		if n > s.cfg.MaxBodyBytes {
			rc.MaxRequestBodySize = 1
		}
	}
	return rc
}

// quiet is fasthttp's logger: what it has to say is in the access records.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

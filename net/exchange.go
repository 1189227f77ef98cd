package edgenet

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// The states of an exchange. The one who leaves stateRunning answers.
const (
	stateRunning   int32 = iota
	stateAnswered        // the connection's goroutine answers
	stateAbandoned       // the failure that somebody else reported is the answer
)

// exchange is one request with its response. It is allocated for each request
// and never reused: a Fetcher that keeps its request too long, after a
// cancellation for example, must not see the next tenant's.
//
// It belongs to its connection's goroutine, which runs the Fetcher too, so that
// a request costs no goroutine. The exceptions are atomic, or, in an abandoned
// exchange, belong to whoever abandoned it.
type exchange struct {
	srv   *Server
	c     *conn
	ctx   requestContext
	req   fetch.Request
	trace fetch.Trace
	route *Route

	start      time.Time
	host, path string

	state   atomic.Int32
	logged  atomic.Bool
	body    atomic.Pointer[requestBody] // a request body that streams
	bodyErr atomic.Pointer[outcome.Failure]
	bytesIn atomic.Int64
	results chan result // not nil: the Fetcher runs on a goroutine of its own

	resp    *fetch.Response
	stream  responseStream
	failure *outcome.Failure

	status   int
	bytesOut int64
}

// result is what a Fetch came to.
type result struct {
	resp *fetch.Response
	err  error
}

// newExchange returns an exchange on a connection, without a request yet.
func newExchange(s *Server, c *conn, start time.Time) *exchange {
	ex := &exchange{srv: s, c: c, start: start}
	ex.ctx.ex, ex.stream.ex = ex, ex
	return ex
}

// handle is fasthttp's handler.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	c, ok := ctx.Conn().(*conn)
	if !ok {
		return
	}
	keepOrder(ctx)
	if ex := c.expecting; ex != nil {
		c.expecting = nil
		ex.resume(ctx)
		return
	}
	if c.state.Load() == connClosed {
		c.silence(ctx)
		return
	}
	ex := newExchange(s, c, ctx.Time())
	f := ex.begin(ctx)
	if f == nil {
		f = ex.attachBody(ctx)
	}
	if f != nil {
		ex.answer(ctx, result{err: f})
		return
	}
	resp, err := ex.fetch()
	ex.answer(ctx, result{resp, err})
}

// keepOrder makes fasthttp send each response before it reads on. It would hold
// one back while a pipelined request waits, and an answer that is written in a
// handler's place would overtake it. The deadline itself is ignored by conn.
func keepOrder(ctx *fasthttp.RequestCtx) {
	_ = ctx.SetWriteDeadline(time.Time{}) // fails for no connection of ours
}

// begin reads the head of the request and finds its route.
func (ex *exchange) begin(ctx *fasthttp.RequestCtx) *outcome.Failure {
	f := ex.readHead(&ctx.Request.Header)
	if f == nil {
		if ex.route = (*ex.srv.handler.Load()).Match(ex.host, ex.path); ex.route == nil {
			f = outcome.Failf(outcome.NotFound, "no route leads to %s%s", ex.host, ex.path)
		}
	}
	ex.c.ex.Store(ex) // from here on others may abandon it
	if ex.c.gone.Load() {
		ex.peerLeft(ex.c.reset.Load())
	}
	if ex.srv.closing.Load() {
		ex.ctx.cancel(errStopping)
	}
	return f
}

// readHead fills the request from the parsed head. URL, id and header list share
// one allocation, which is never written again.
func (ex *exchange) readHead(h *fasthttp.RequestHeader) *outcome.Failure {
	raw, host := h.RequestURI(), h.Host()
	if len(host) == 0 && ex.c.LocalAddr() != nil {
		host = []byte(ex.c.LocalAddr().String()) // HTTP/1.0
	}
	b := make([]byte, idLen, idLen+len(ex.srv.cfg.Scheme)+8+2*len(host)+len(raw)+len(h.RawHeaders()))
	putID(b)
	b, t, urlErr := appendURL(b, ex.srv.cfg.Scheme, host, raw)
	list := len(b)
	var headErr error
	if urlErr == nil {
		var authority []byte
		if len(raw) > 0 && raw[0] != '/' {
			authority = b[t.hostLo:t.authority:t.authority]
		}
		b, headErr = appendRequestHeader(b, h, authority)
	}
	str := func(lo, hi int) string { return unsafe.String(unsafe.SliceData(b[lo:hi]), hi-lo) }
	ex.req.ID = str(0, idLen)
	ex.req.ClientAddr = ex.c.client
	ex.req.Trace = &ex.trace
	method, known := methodName(h.Method())
	ex.req.Method = method
	switch {
	case urlErr != nil:
		return &outcome.Failure{Outcome: outcome.BadRequest, Msg: urlErr.Error(), Err: urlErr}
	case headErr != nil:
		return &outcome.Failure{Outcome: outcome.BadRequest, Msg: headErr.Error(), Err: headErr}
	}
	ex.req.URL = str(t.urlLo, t.urlHi)
	ex.host, ex.path = str(t.hostLo, t.hostHi), str(t.pathLo, t.pathHi)
	ex.req.Header = fetch.Header(b[list:len(b):len(b)])
	ex.req.Hops = readHops(ex.req.Header)
	if !known && (method == "CONNECT" || method == "TRACE" || method == "TRACK") {
		// https://fetch.spec.whatwg.org/#forbidden-method
		return outcome.Failf(outcome.BadRequest, "method %s is not served", method)
	}
	return checkHops(&ex.req)
}

// idLen is the length of a request id.
const idLen = 16

// putID writes a fresh request id. Ids that clients send are not taken over: they
// could collide, or speak of another's request.
func putID(dst []byte) {
	var id [idLen / 2]byte
	binary.BigEndian.PutUint64(id[:], rand.Uint64())
	hex.Encode(dst, id[:])
}

// headless gives an exchange whose head is not known its id.
func (ex *exchange) headless() {
	var id [idLen]byte
	putID(id[:])
	ex.req.ID = string(id[:])
}

// methodName returns the method as a string, without an allocation for the usual
// ones, of which it reports true.
func methodName(m []byte) (string, bool) {
	switch string(m) {
	case "GET":
		return "GET", true
	case "HEAD":
		return "HEAD", true
	case "POST":
		return "POST", true
	case "PUT":
		return "PUT", true
	case "DELETE":
		return "DELETE", true
	case "PATCH":
		return "PATCH", true
	case "OPTIONS":
		return "OPTIONS", true
	}
	return string(m), false
}

// fetch calls the service; a panic is its failure, not the server's.
func (ex *exchange) fetch() (resp *fetch.Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			resp, err = nil, ex.panicked(v)
		}
	}()
	return ex.route.Fetcher.Fetch(&ex.ctx, &ex.req)
}

// panicked logs what a service's code panicked with, with the stack, and returns
// it as an error.
func (ex *exchange) panicked(v any) error {
	ex.srv.log.Error("service panicked", "service", ex.route.Service, "request", ex.req.ID, "panic", v, "stack", string(debug.Stack()))
	return fmt.Errorf("service panicked: %v", v)
}

// discard closes a response, if there is one.
func (ex *exchange) discard(resp *fetch.Response) {
	if resp == nil || resp.Body == nil || resp.Body.Reader == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			_ = ex.panicked(v) // it is logged
		}
	}()
	_ = resp.Body.Close() // the response has ended, whatever its source says
}

// claim reports whether the caller is the one who answers.
func (ex *exchange) claim(state int32) bool { return ex.state.CompareAndSwap(stateRunning, state) }

// peerLeft cancels the request because the client is gone. The end of the
// client's sending side alone leaves open whether it still reads, so a request
// that is answered within the grace is not disturbed: clients that close
// their side right after the request (nc -N, some health checks) get quick
// answers, and one that has really left is noticed a moment later.
func (ex *exchange) peerLeft(broken bool) {
	left := &outcome.Failure{Outcome: outcome.Canceled, Msg: "the client left"}
	if broken {
		ex.ctx.cancel(left)
		return
	}
	time.AfterFunc(ex.srv.cfg.HalfCloseGrace, func() {
		if !ex.logged.Load() {
			ex.ctx.cancel(left)
		}
	})
}

// Abandon implements fetch.Abandoner: it answers while the handler's goroutine
// is stuck in the Fetcher.
func (ex *exchange) Abandon(err error) bool {
	if !ex.claim(stateAbandoned) {
		return false
	}
	f := asFailure(context.Background(), err)
	if ex.results != nil {
		ex.ctx.cancel(f)
		ex.results <- result{err: f} // the connection's goroutine is free to answer
		return true
	}
	ex.c.muted.Store(true)
	ex.c.taken.Store(true)
	ex.srv.spawn(func() { ex.writeRaw(f) })
	return true
}

// writeRaw writes a failure as a whole message on the socket and closes the
// connection. The exchange was claimed by its caller.
func (ex *exchange) writeRaw(f *outcome.Failure) {
	c := ex.c
	ex.failure, ex.status = f, f.Outcome.Status()
	a := ex.srv.answerFor(f, ex.info())
	ex.ctx.cancel(f)
	if c.Conn.SetWriteDeadline(time.Now().Add(min(ex.srv.cfg.WriteTimeout, 5*time.Second))) == nil {
		if _, err := c.Conn.Write(a.raw(ex.req.Method == "HEAD")); err == nil {
			ex.bytesOut = int64(len(a.body))
		}
	}
	ex.log(time.Now(), new(AccessRecord))
	body := ex.body.Load()
	if body != nil {
		body.shut()
	}
	if body != nil && !body.complete() || inputWaits(c) {
		c.lingerClose()
	}
	c.kill()
	ex.srv.forget(c)
}

// info returns what an error page may show.
func (ex *exchange) info() RequestInfo {
	accept, _ := ex.req.Header.Get("accept")
	info := RequestInfo{Method: ex.req.Method, URL: ex.req.URL, Accept: accept, RequestID: ex.req.ID}
	if ex.route != nil {
		info.Service = ex.route.Service
	}
	return info
}

// endExchange ends the request in progress, if any: its bodies are released, its
// context ends, the log is told. It returns when that was. Only the connection's
// goroutine calls it.
func (c *conn) endExchange() (now time.Time) {
	// The last write ends the response; one look at the clock serves for both.
	if now = afterEpoch(c.wroteAt); now.IsZero() {
		now = time.Now()
	}
	c.wroteAt = 0
	ex := c.ex.Load()
	if ex == nil {
		return now
	}
	c.ex.Store(nil)
	if ex.results == nil && ex.state.Load() == stateAbandoned {
		return now // the end is up to the one who abandoned it
	}
	ex.release()
	if ex.failure == nil && c.writeErr != nil {
		ex.failure = writeFailure(c.writeErr)
	}
	ex.log(now, &c.rec)
	ex.ctx.cancel(context.Canceled)
	return now
}

// release closes both bodies.
func (ex *exchange) release() {
	ex.discard(ex.resp)
	if body := ex.body.Load(); body != nil {
		if body.shut(); !body.complete() {
			ex.c.linger = true
		}
	}
}

// log tells the hook about the request, once. The record is filled in rec.
func (ex *exchange) log(now time.Time, rec *AccessRecord) {
	if ex.logged.Swap(true) || ex.srv.cfg.Log == nil {
		return
	}
	report := ex.trace.Report()
	*rec = AccessRecord{
		Time: ex.start, Socket: ex.srv.cfg.Socket, ClientAddr: ex.c.client, RequestID: ex.req.ID,
		Method: ex.req.Method, Host: ex.host, Path: ex.path, Service: report.Service,
		Status: ex.status, Outcome: outcome.OK, Err: report.Err, Wall: now.Sub(ex.start),
		CPU: report.CPU, Cold: report.Cold, BytesIn: ex.bytesIn.Load(), BytesOut: ex.bytesOut, Extra: report.Extra,
	}
	if rec.Service == "" && ex.route != nil {
		rec.Service = ex.route.Service
	}
	switch {
	case ex.failure != nil:
		rec.Outcome = ex.failure.Outcome
		if ex.failure.Err != nil {
			rec.Err = ex.failure.Err
		}
		if rec.Status == 0 {
			rec.Status = rec.Outcome.Status()
		}
	case report.Outcome != "":
		rec.Outcome = outcome.Outcome(report.Outcome)
	}
	ex.srv.cfg.Log(rec)
	*rec = AccessRecord{} // an idle connection holds nothing of its last request
}

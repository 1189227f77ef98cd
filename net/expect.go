package edgenet

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/edge-runtime/edge/net/fetch"
)

// expect is fasthttp's ExpectHandler: the client waits for a 100 (Continue)
// before it sends its body. The service runs at once, on a goroutine of its own,
// and the 100 goes out when it first reads the body; a response that it gives
// before is the only answer (RFC 9110, 10.1.1).
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	c, ok := ctx.Conn().(*conn)
	if !ok {
		return fasthttp.StatusExpectationFailed
	}
	size := int64(ctx.Request.Header.ContentLength())
	if c.state.Load() == connClosed {
		c.silence(ctx)
		return fasthttp.StatusExpectationFailed
	}
	keepOrder(ctx)
	ex := newExchange(s, c, time.Now())
	// One place: whoever claims the exchange sends the result.
	ex.results = make(chan result, 1)
	f := ex.begin(ctx)
	if f == nil {
		f = ex.checkSize(size)
	}
	c.linger = true // unless the body is read, below
	if f != nil {
		res := result{err: f}
		if !ex.claim(stateAnswered) {
			res = <-ex.results
		}
		ex.answer(ctx, res)
		return ctx.Response.StatusCode()
	}
	body := &requestBody{
		ex: ex, limit: s.cfg.MaxBodyBytes, size: size, left: s.cfg.BodyTimeout,
		wanted: make(chan struct{}), opened: make(chan struct{}),
	}
	ex.body.Store(body)
	ex.req.Body = fetch.StreamBody(body, max(size, -1))
	go func() {
		resp, err := ex.fetch()
		if ex.claim(stateAnswered) {
			ex.results <- result{resp, err}
		} else {
			ex.discard(resp)
		}
	}()
	select {
	case <-body.wanted:
		c.expecting, c.linger = ex, false
		c.allow(s.cfg.BodyTimeout)
		return fasthttp.StatusContinue
	case res := <-ex.results:
		ex.answer(ctx, res)
		return ctx.Response.StatusCode()
	}
}

// resume goes on with an exchange whose client was told to continue.
func (ex *exchange) resume(ctx *fasthttp.RequestCtx) {
	if body := ex.body.Load(); body != nil {
		body.open(ctx.RequestBodyStream())
	}
	ex.answer(ctx, <-ex.results)
}

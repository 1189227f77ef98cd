package edgenet

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// answer gives the result of the Fetch to fasthttp, unless the exchange was
// abandoned meanwhile: then what came late is closed unseen.
func (ex *exchange) answer(ctx *fasthttp.RequestCtx, res result) {
	if ex.results == nil && !ex.claim(stateAnswered) {
		ex.discard(res.resp)
		ex.c.silence(ctx)
		return
	}
	ex.resp = res.resp
	f := ex.judge(res)
	if f != nil {
		ex.fail(ctx, f)
	} else {
		ex.respond(ctx)
	}
	if ex.srv.draining.Load() {
		ctx.SetConnectionClose()
	}
	if !ctx.Response.IsBodyStream() {
		ex.release()
	}
	// What is left of the request body is discarded under this deadline.
	ex.c.allow(ex.srv.cfg.LingerTimeout)
}

// judge returns the failure that a result stands for, nil for a response that
// can be sent.
func (ex *exchange) judge(res result) *outcome.Failure {
	if res.err != nil {
		f := asFailure(&ex.ctx, res.err)
		if bodyErr := ex.bodyErr.Load(); bodyErr != nil && (f.Outcome == outcome.Exception || f.Outcome == outcome.NoResponse) {
			return bodyErr // a service that fails over its request's body fails for the body's reason
		}
		return f
	}
	if res.resp == nil {
		return outcome.Failf(outcome.NoResponse, "the service gave no response")
	}
	if s := res.resp.Status; s < 200 || s > 599 {
		return outcome.Failf(outcome.Exception, "the service answered with the status %d, which cannot be sent", s)
	}
	return nil
}

// overtake ends an exchange whose request could not be read to the end, and
// reports whether the caller is to answer it.
func (ex *exchange) overtake(f *outcome.Failure) bool {
	ex.bodyErr.CompareAndSwap(nil, f)
	ex.ctx.cancel(f)
	if ex.claim(stateAnswered) {
		return true
	}
	if ex.results == nil {
		return false
	}
	res := <-ex.results
	ex.discard(res.resp)
	return true
}

// fail answers with a failure. A connection that is broken gets no answer.
func (ex *exchange) fail(ctx *fasthttp.RequestCtx, f *outcome.Failure) {
	ex.failure, ex.status = f, f.Outcome.Status()
	if ex.c.reset.Load() {
		ex.c.silence(ctx)
		return
	}
	a := ex.srv.answerFor(f, ex.info())
	a.set(&ctx.Response)
	if !ctx.IsHead() {
		ex.bytesOut = int64(len(a.body))
	}
	switch f.Outcome {
	case outcome.BodyTooLarge, outcome.ReadTimeout, outcome.Canceled, outcome.BadRequest:
		// More of the request may come, or where it ends is not known.
		ex.c.linger = true
		ctx.SetConnectionClose()
	}
}

// respond sends the service's response: a body in memory through fasthttp's
// buffer, a stream piece by piece.
func (ex *exchange) respond(ctx *fasthttp.RequestCtx) {
	resp, out := ex.resp, &ctx.Response
	ex.status = resp.Status
	out.SetStatusCode(resp.Status)
	if text := resp.StatusText; text != "" && text != fasthttp.StatusMessage(resp.Status) && validFieldValue([]byte(text)) {
		out.Header.SetStatusMessage([]byte(text))
	}
	setResponseHeader(&out.Header, resp.Header)
	body := resp.Body
	head := ctx.IsHead()
	switch {
	case head || nullBody(resp.Status):
		if size := headSize(resp); head && size >= 0 {
			out.Header.SetContentLength(size)
		} else if head && body != nil && ctx.Request.Header.IsHTTP11() {
			out.Header.SetContentLength(-1)
		}
		out.SkipBody = head
	case body == nil:
	case body.Reader == nil:
		out.SetBodyRaw(body.Inline)
		ex.bytesOut = int64(len(body.Inline))
	case body.Size > math.MaxInt:
		ex.fail(ctx, outcome.Failf(outcome.Exception, "the service's response is too large"))
	case body.Size < 0 && !ctx.Request.Header.IsHTTP11():
		ex.respondUnframed(ctx)
	default:
		ex.stream.remaining = body.Size
		ex.stream.chunked = body.Size < 0
		out.ImmediateHeaderFlush = true // the body is written past fasthttp's buffer
		out.SetBodyStream(&ex.stream, int(max(body.Size, -1)))
	}
}

// nullBody reports whether a status has no body.
//
// https://fetch.spec.whatwg.org/#null-body-status
func nullBody(status int) bool { return status == 204 || status == 205 || status == 304 }

// headSize returns the length that a HEAD response tells, -1 for none.
func headSize(resp *fetch.Response) int {
	if resp.Body != nil {
		return int(min(resp.Body.Size, math.MaxInt))
	}
	if v, ok := resp.Header.Get("content-length"); ok {
		if n, err := strconv.ParseUint(v, 10, 63); err == nil {
			return int(n)
		}
	}
	return -1
}

// respondUnframed sends a stream of unknown length to a client that knows no
// chunks: it ends with the connection, which is reset when the stream broke.
func (ex *exchange) respondUnframed(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.SetProtocol([]byte("HTTP/1.0"))
	ctx.SetConnectionClose()
	ex.stream.remaining = -1
	_, err := ex.c.Write(ctx.Response.Header.Header())
	if err == nil {
		_, err = ex.stream.WriteTo(nil)
	}
	if tcp, ok := ex.c.Conn.(*net.TCPConn); ok && err != nil {
		_ = tcp.SetLinger(0) // an ordinary end would look like the whole
	}
	ex.c.silence(ctx)
}

// The space before and after the data in a buffer of a stream, for the frame of
// a chunk: up to 8 hexadecimal digits and two line ends.
const (
	chunkHead = 10
	chunkTail = 2
)

// responseStream is the response body that fasthttp is given. It writes on the
// socket itself, each piece as soon as the service has it and with its frame in
// one write, after fasthttp has flushed the head; fasthttp ends the body.
type responseStream struct {
	ex        *exchange
	chunked   bool
	remaining int64 // of a body of known size, else -1
}

// SupportsBodyWriteTo makes fasthttp call WriteTo.
func (r *responseStream) SupportsBodyWriteTo() bool { return true }

// Read is never called: fasthttp calls WriteTo.
func (r *responseStream) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// WriteTo copies the body to the socket and reports its failure, upon which
// fasthttp cuts the connection.
func (r *responseStream) WriteTo(io.Writer) (sent int64, err error) {
	ex := r.ex
	body := ex.resp.Body
	defer func() {
		if v := recover(); v != nil {
			sent, err = r.fail(&outcome.Failure{Outcome: outcome.StreamAborted, Msg: "the response body broke off", Err: ex.panicked(v)})
		}
	}()
	stop := context.AfterFunc(&ex.ctx, func() { ex.discard(ex.resp) }) // ends a Read in progress
	defer stop()
	idle := time.AfterFunc(ex.srv.cfg.StreamIdleTimeout, func() {
		ex.ctx.cancel(outcome.Failf(outcome.IdleTimeout, "the response stood still"))
	})
	defer idle.Stop()

	bufp := streamBuffers.Get().(*[]byte)
	defer streamBuffers.Put(bufp)
	buf := *bufp
	size := r.remaining
	for {
		n, err := body.Reader.Read(buf[chunkHead : len(buf)-chunkTail])
		if n > 0 {
			if size >= 0 && int64(n) > r.remaining {
				return r.fail(outcome.Failf(outcome.StreamAborted, "the response body is longer than its content-length"))
			}
			r.remaining -= int64(n)
			if _, werr := ex.c.Write(frame(buf, n, r.chunked)); werr != nil {
				return r.fail(writeFailure(werr))
			}
			ex.bytesOut += int64(n)
			idle.Reset(ex.srv.cfg.StreamIdleTimeout)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return r.fail(streamFailure(&ex.ctx, err))
		}
	}
	if size >= 0 && r.remaining > 0 {
		return r.fail(outcome.Failf(outcome.StreamAborted, "the response body is shorter than its content-length"))
	}
	return max(size, 0), nil
}

// Close implements io.Closer: fasthttp has ended the body.
func (r *responseStream) Close() error {
	r.ex.release()
	r.ex.c.wroteAt = now() // it may have waited since its last write
	return nil
}

func (r *responseStream) fail(f *outcome.Failure) (int64, error) {
	r.ex.failure = f
	return 0, f
}

// frame returns the n bytes at buf[chunkHead:], as a chunk or bare.
func frame(buf []byte, n int, chunked bool) []byte {
	if !chunked {
		return buf[chunkHead : chunkHead+n]
	}
	end := chunkHead + n
	buf[end], buf[end+1] = '\r', '\n'
	lo := chunkHead - 2
	buf[lo], buf[lo+1] = '\r', '\n'
	for v := n; v > 0; v >>= 4 {
		lo--
		buf[lo] = "0123456789abcdef"[v&15]
	}
	return buf[lo : end+chunkTail]
}

// streamFailure returns what the error of a response body means: the reason for
// which the request was canceled, or that the stream broke.
func streamFailure(ctx context.Context, err error) *outcome.Failure {
	var f *outcome.Failure
	if errors.As(context.Cause(ctx), &f) {
		return f
	}
	if errors.As(err, &f) && f.Outcome != outcome.Exception {
		return f
	}
	return &outcome.Failure{Outcome: outcome.StreamAborted, Msg: "the response body broke off", Err: err}
}

// writeFailure returns what an error of writing to the client means.
func writeFailure(err error) *outcome.Failure {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &outcome.Failure{Outcome: outcome.IdleTimeout, Msg: "the client took too long to read", Err: err}
	}
	return &outcome.Failure{Outcome: outcome.Canceled, Msg: "the client left", Err: err}
}

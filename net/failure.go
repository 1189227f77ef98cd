package edgenet

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// errStopping answers requests that the end of the server overtook.
var errStopping = &outcome.Failure{Outcome: outcome.LoadShed, Msg: "the server is stopping", RetryAfter: time.Second}

// asFailure returns the failure that err stands for. ctx is the request's: when
// it was canceled, its cause is the reason and err only the consequence. An
// error without an audience becomes "internal error".
func asFailure(ctx context.Context, err error) *outcome.Failure {
	var f *outcome.Failure
	if cause := context.Cause(ctx); cause != nil && errors.As(cause, &f) {
		return f
	}
	if errors.As(err, &f) {
		return f
	}
	var scriptErr *op.Error
	if errors.As(err, &scriptErr) {
		return &outcome.Failure{Outcome: outcome.BadGateway, Msg: scriptErr.Msg, Err: err}
	}
	return &outcome.Failure{Outcome: outcome.Exception, Msg: "internal error", Err: err}
}

// answer is a response that the runtime makes itself.
type answer struct {
	status      int
	outcome     outcome.Outcome
	contentType string
	retryAfter  string
	body        []byte
}

// answerFor renders a failure. It shows the outcome, its public message and the
// request's id, never the cause.
func (s *Server) answerFor(f *outcome.Failure, info RequestInfo) answer {
	a := answer{status: f.Outcome.Status(), outcome: f.Outcome}
	if f.RetryAfter > 0 {
		a.retryAfter = strconv.Itoa(max(1, int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	if s.cfg.ErrorPage != nil {
		info.Outcome, info.Status, info.Message = f.Outcome, a.status, f.Msg
		if a.contentType, a.body = s.cfg.ErrorPage(&info, f); a.contentType != "" {
			return a
		}
	}
	body, err := json.Marshal(struct {
		Outcome   outcome.Outcome `json:"outcome"`
		Message   string          `json:"message"`
		RequestID string          `json:"requestId"`
	}{f.Outcome, f.Msg, info.RequestID})
	if err != nil {
		body = []byte("{}") // strings always marshal
	}
	a.contentType, a.body = "application/json", append(body, '\n')
	return a
}

// set makes a the response of ctx.
func (a answer) set(resp *fasthttp.Response) {
	resp.ResetBody()
	resp.Header.Reset()
	resp.Header.SetNoDefaultContentType(true)
	resp.SetStatusCode(a.status)
	resp.Header.SetContentType(a.contentType)
	resp.Header.Set("Cache-Control", "no-store")
	resp.Header.Set(outcomeHeader, string(a.outcome))
	if a.retryAfter != "" {
		resp.Header.Set("Retry-After", a.retryAfter)
	}
	resp.SetBodyRaw(a.body)
}

// raw returns a as a whole HTTP/1.1 message after which the connection closes.
func (a answer) raw(head bool) []byte {
	reason := http.StatusText(a.status)
	if reason == "" {
		reason = "Error"
	}
	b := append([]byte("HTTP/1.1 "), strconv.Itoa(a.status)+" "+reason+"\r\nDate: "...)
	b = time.Now().UTC().AppendFormat(b, http.TimeFormat)
	b = append(b, "\r\nContent-Type: "+a.contentType+"\r\nCache-Control: no-store\r\nEdge-Outcome: "+string(a.outcome)...)
	if a.retryAfter != "" {
		b = append(b, "\r\nRetry-After: "+a.retryAfter...)
	}
	b = append(b, "\r\nContent-Length: "+strconv.Itoa(len(a.body))+"\r\nConnection: close\r\n\r\n"...)
	if !head {
		b = append(b, a.body...)
	}
	return b
}

// maxShedding bounds the connections that are told that they are too many; more
// are closed without a word.
const maxShedding = 256

// shed answers a connection that is one too many and closes it.
func (s *Server) shed(c *conn) {
	s.mu.Lock()
	many := s.jobs > maxShedding
	s.mu.Unlock()
	if many {
		c.kill()
		return
	}
	s.spawn(func() {
		f := &outcome.Failure{Outcome: outcome.LoadShed, Msg: "too many connections", RetryAfter: time.Second}
		ex := newExchange(s, c, time.Now())
		ex.headless()
		if ex.claim(stateAnswered) {
			ex.writeRaw(f)
		}
	})
}

// refuse is fasthttp's ErrorHandler: a request that could not be read.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, err error) {
	c, ok := ctx.Conn().(*conn)
	if !ok {
		return
	}
	if !c.readAny || c.state.Load() == connClosed {
		// Nothing was asked on this connection.
		c.muted.Store(true)
		return
	}
	f := readFailure(err)
	ex := c.expecting
	if c.expecting = nil; ex == nil {
		ex = newExchange(s, c, time.Now())
		ex.headless()
		c.ex.Store(ex)
	}
	c.linger = true
	if !ex.overtake(f) {
		c.silence(ctx)
		return
	}
	ex.fail(ctx, f)
}

// readFailure returns what an error of reading a request means.
func readFailure(err error) *outcome.Failure {
	var small *fasthttp.ErrSmallBuffer
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &small):
		return &outcome.Failure{Outcome: outcome.HeaderTooLarge, Msg: "the request's headers are too large", Err: err}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &outcome.Failure{Outcome: outcome.ReadTimeout, Msg: "the request took too long to arrive", Err: err}
	}
	return &outcome.Failure{Outcome: outcome.BadRequest, Msg: "the request is not valid HTTP/1.1", Err: err}
}

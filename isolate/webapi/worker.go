package webapi

import (
	"errors"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// How a body crosses in op_fetch_respond and op_fetch; body.js has the same.
const (
	bodyNone   = 0
	bodyText   = 1
	bodyBytes  = 2
	bodyHandle = 3
	bodyStream = 4
)

// maxScriptText bounds the texts of an exception that are kept.
const maxScriptText = 16 << 10

// workerOps are the ops of worker.js.
func workerOps() []op.Op {
	return []op.Op{
		{Name: "op_boot_done", Mode: op.Post, Func: bootDone},
		{Name: "op_fetch_respond", Mode: op.Post, Func: fetchRespond},
		{Name: "op_fetch_pass_through", Mode: op.Async, Func: fetchPassThrough},
		{Name: "op_invocation_done", Mode: op.Post, Func: invocationDone},
		{Name: "op_invocation_fail", Mode: op.Post, Func: invocationFail},
	}
}

// scriptError reads name, message and stack from the arguments that begin at i.
func scriptError(c *op.Call, i int) *op.ScriptError {
	return &op.ScriptError{Name: clip(c.Text(i)), Message: clip(c.Text(i + 1)), Stack: clip(c.Text(i + 2))}
}

func clip(s string) string {
	if len(s) > maxScriptText {
		return s[:maxScriptText]
	}
	return s
}

// bootDone: (ok, name, message, stack).
func bootDone(c *op.Call) error {
	if c.Arg(0).Truth() {
		c.Host().Booted(nil)
	} else {
		c.Host().Booted(scriptError(c, 1))
	}
	return nil
}

// fetchRespond: (status, statusText, header block, body kind, body, size).
func fetchRespond(c *op.Call) error {
	ex := exchangeOf(c)
	if ex == nil {
		return nil
	}
	resp, err := ex.responseOf(c)
	if err != nil {
		c.Invocation().Fail(&op.ScriptError{Name: "TypeError", Message: err.Error()})
		return nil
	}
	keepEncoding(ex, resp)
	ex.watch(resp)
	if ex.respond(resp) {
		c.Invocation().Responded()
	}
	return nil
}

// responseOf reads the arguments of op_fetch_respond. A second response, which
// is refused later, must not change the first.
func (ex *exchange) responseOf(c *op.Call) (*fetch.Response, error) {
	ex.mu.Lock()
	settled := ex.settled
	ex.mu.Unlock()
	resp, body := &ex.response, &ex.content
	if settled {
		resp, body = &fetch.Response{}, &fetch.Body{}
	}
	resp.Status, resp.StatusText = int(c.Int(0)), byteString(c.Arg(1))
	kind, content := c.Int(3), c.Arg(4)
	raw, text := c.Arg(2).Raw(), content.Raw()
	if raw == nil || text == nil || kind != bodyText && kind != bodyBytes {
		var err error
		resp.Header = headerOf(c.Arg(2))
		resp.Body, err = takeBody(c, 3)
		return resp, err
	}
	// Header list and content in memory share one allocation.
	buf := make([]byte, 0, len(raw)+len(text))
	buf = append(buf, raw...)
	resp.Header = buf[:len(raw):len(raw)]
	if kind == bodyText {
		body.Inline = content.AppendText(buf[len(raw):])
	} else {
		body.Inline = append(buf[len(raw):], text...)
	}
	body.Size = int64(len(body.Inline))
	resp.Body = body
	return resp, nil
}

// exchangeOf returns the exchange that a call belongs to, nil when its
// invocation is over or no fetch event.
func exchangeOf(c *op.Call) *exchange {
	if c.Invocation() == nil {
		return nil
	}
	ex, _ := c.Invocation().State().(*exchange)
	return ex
}

// takeBody makes a body of the arguments kind, body and size at i. A handle is
// taken out of the instance's table.
func takeBody(c *op.Call, i int) (*fetch.Body, error) {
	switch c.Int(i) {
	case bodyNone:
		return nil, nil
	case bodyText:
		return fetch.BytesBody(c.Arg(i + 1).AppendText(nil)), nil
	case bodyBytes:
		return fetch.BytesBody(append([]byte(nil), c.Bytes(i+1)...)), nil
	case bodyHandle:
		r, err := op.Resource[*BodyReader](c, i+1)
		if err != nil {
			return nil, err
		}
		c.Host().Resources().Take(uint32(c.Int(i + 1)))
		if body := r.Take(); body != nil {
			return body, nil
		}
		return nil, op.Errorf(op.TypeError, "the body was already read, or it was canceled")
	case bodyStream:
		// The handle stays until the pump of streams_host.js is done with it.
		w, err := op.Resource[*BodyWriter](c, i+1)
		if err != nil {
			return nil, err
		}
		body := w.Body()
		body.Size = c.Int(i + 2)
		return body, nil
	}
	return nil, op.Errorf(op.TypeError, "bad body kind %d", c.Int(i))
}

// headerOf copies a header block.
func headerOf(v op.Value) fetch.Header {
	if raw := v.Raw(); raw != nil {
		return append(fetch.Header(nil), raw...)
	}
	return fetch.Header(byteString(v))
}

// byteString returns the bytes that a string of code units below 256 stands for.
func byteString(v op.Value) string {
	if raw := v.Raw(); raw != nil {
		return string(raw)
	}
	b := make([]byte, 0, 64)
	for _, r := range v.Text() {
		b = append(b, byte(r))
	}
	return string(b)
}

// fetchPassThrough: (name, message, stack) of what the handler threw. The
// request, which nobody read, goes to the worker's outbound service; resolved
// when that has answered.
func fetchPassThrough(c *op.Call) error {
	ex := exchangeOf(c)
	if ex == nil {
		c.Resolve(op.Undefined)
		return nil
	}
	inv, host, cause := c.Invocation(), c.Host(), scriptError(c, 0)
	outbound, ok := host.Grant("outbound").(fetch.Fetcher)
	if !ok {
		inv.Fail(cause)
		c.Resolve(op.Undefined)
		return nil
	}
	host.Log("error", c.InvocationID(), cause.Stack)
	ex.mu.Lock()
	ex.detachLocked()
	settled := ex.settled
	ex.mu.Unlock()
	if settled {
		c.Resolve(op.Undefined)
		return nil
	}
	ctx := fetch.WithAbandoner(inv.Context(), nil)
	req := *ex.req
	req.Hops++
	go func() {
		resp, err := outbound.Fetch(ctx, &req)
		if err != nil {
			ex.fail(asFailure(err))
		} else {
			ex.watch(resp)
			if ex.respond(resp) {
				inv.Responded()
			}
		}
		c.Resolve(op.Undefined)
	}()
	return nil
}

// asFailure returns the Failure that err stands for.
func asFailure(err error) *outcome.Failure {
	var f *outcome.Failure
	if errors.As(err, &f) {
		return f
	}
	return &outcome.Failure{Outcome: outcome.BadGateway, Msg: "the outbound service did not answer", Err: err}
}

// invocationDone: the script has nothing more to do for the event.
func invocationDone(c *op.Call) error {
	if c.Invocation() == nil {
		return nil
	}
	if ex := exchangeOf(c); ex != nil {
		ex.done(c.Invocation())
	} else {
		c.Invocation().Done()
	}
	return nil
}

// invocationFail: (name, message, stack) of what the handler threw.
func invocationFail(c *op.Call) error {
	if c.Invocation() != nil {
		c.Invocation().Fail(scriptError(c, 0))
	}
	return nil
}

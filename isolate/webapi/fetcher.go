package webapi

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// FetcherOptions are the knobs of NewFetcher. The zero value is good.
type FetcherOptions struct {
	// Service is the name that the access log shows.
	Service string
	// MaxHops is how many services a request may have come through; 0 means
	// fetch.MaxHops.
	MaxHops int
}

// inlineRequestBody is the most bytes of a request body in memory that are sent
// with the event. Larger ones, which JavaScript may never read, become handles.
const inlineRequestBody = 64 << 10

// NewFetcher returns the Fetcher of a worker: each request becomes an event
// "fetch" of the worker's entrypoint, "" being the default export.
func NewFetcher(w op.Invoker, entrypoint string, opts FetcherOptions) fetch.Fetcher {
	if opts.MaxHops == 0 {
		opts.MaxHops = fetch.MaxHops
	}
	return &workerFetcher{w: w, entrypoint: entrypoint, opts: opts}
}

type workerFetcher struct {
	w          op.Invoker
	entrypoint string
	opts       FetcherOptions
}

// exchange is one request inside a worker. It is the State of its invocation.
type exchange struct {
	f   *workerFetcher
	ctx context.Context
	req *fetch.Request
	// id and hops outlive the request, which goes back to its owner.
	id   string
	hops int

	mu      sync.Mutex
	resp    *fetch.Response
	failure *outcome.Failure
	settled bool          // resp or failure is set
	answer  chan struct{} // closed when settled; made when somebody has to wait
	// host and handle say where the request body lies; handle is 0 when it is
	// nowhere.
	host   op.Host
	handle uint32
	body   *BodyReader // the request body, made once however often the event moves
	// owned are handles that end with the invocation, in owner's table.
	owner op.Host
	owned []uint32
	// stream is the response body while it is sent; its failure is the
	// invocation's.
	stream *responseStream
	// streaming says that the response body is being sent. The invocation does
	// not end before that; finished is set when it only waits for it.
	streaming bool
	finished  op.Invocation
	running   op.Running
	// used measures the invocation, nil where its runtime does not.
	used    measured
	charged time.Duration

	// What each request needs lies here, so that it costs one allocation.
	inner    detached
	args     [8]op.Value
	cf       [64]byte
	response fetch.Response
	content  fetch.Body
}

// measured is an invocation that knows what it cost. Safe for many goroutines.
type measured interface {
	CPU() time.Duration
	Cold() bool
}

// detached is a context with the values of ctx that never ends.
type detached struct{ ctx context.Context }

// Deadline reports none.
func (*detached) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns nil.
func (*detached) Done() <-chan struct{} { return nil }

// Err returns nil.
func (*detached) Err() error { return nil }

// Value returns the value of the outer context.
func (d *detached) Value(key any) any { return d.ctx.Value(key) }

// Fetch runs one request in the worker.
func (f *workerFetcher) Fetch(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	req.Trace.SetService(f.opts.Service)
	if req.Hops > f.opts.MaxHops {
		_ = req.Body.Close() // the failure says more
		return nil, outcome.Failf(outcome.LoopDetected, "the request came through more than %d services", f.opts.MaxHops)
	}
	ex := &exchange{f: f, ctx: ctx, req: req, id: req.ID, hops: req.Hops, inner: detached{ctx}}
	// The invocation outlives ctx, which may end when the response was sent, for
	// what the script gave to waitUntil.
	running := f.w.Invoke(&ex.inner, op.InvokeParams{
		Handler: "fetch",
		State:   ex,
		Request: req.ID,
		Attach:  ex.attach,
		OnFail:  ex.fail,
	})
	if answer := ex.started(running); answer != nil {
		select {
		case <-answer:
		case <-running.Ended():
			ex.fail(running.Failure())
		case <-ctx.Done():
			ex.fail(ex.canceled())
			running.Cancel(context.Cause(ctx))
		}
	}
	ex.report()
	return ex.take()
}

// started notes that Invoke has returned, and returns what to wait for: nil when
// the answer is there.
func (ex *exchange) started(running op.Running) <-chan struct{} {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.running = running
	ex.used, _ = running.(measured)
	if ex.settled {
		return nil
	}
	ex.answer = make(chan struct{})
	return ex.answer
}

// settleLocked wakes who waits for the answer.
func (ex *exchange) settleLocked() {
	ex.settled = true
	if ex.answer != nil {
		close(ex.answer)
	}
}

// take hands the response to the caller of Fetch.
func (ex *exchange) take() (*fetch.Response, error) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.failure != nil && ex.resp == nil {
		return nil, ex.failure
	}
	return ex.resp, nil
}

// attach builds the arguments of the event for one instance.
func (ex *exchange) attach(host op.Host, inv op.Invocation) []op.Value {
	req := ex.req
	kind, body, size := op.Int(0), op.Null, op.Int(0)
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.detachLocked()
	ex.used, _ = inv.(measured)
	switch b := req.Body; {
	case b == nil:
	case b.Reader == nil && len(b.Inline) <= inlineRequestBody:
		kind, body, size = op.Int(1), op.Bytes(b.Inline), op.Int(b.Size)
	default:
		if ex.body == nil {
			ex.body = NewBodyReader(b)
		}
		ex.host, ex.handle = host, host.Resources().Add(ex.body)
		kind, body, size = op.Int(2), op.Int(int64(ex.handle)), op.Int(b.Size)
	}
	cf := op.Null
	if req.ClientAddr != "" {
		cf = op.ByteString(appendCF(ex.cf[:0], req.ClientAddr))
	}
	ex.args = [8]op.Value{
		op.String(ex.f.entrypoint), op.String(req.Method), op.String(req.URL),
		op.ByteString(req.Header), kind, body, size, cf,
	}
	return ex.args[:]
}

// appendCF appends the JSON text of request.cf.
func appendCF(dst []byte, clientAddr string) []byte {
	dst = append(dst, `{"clientAddr":`...)
	dst = strconv.AppendQuoteToASCII(dst, clientAddr)
	return append(dst, '}')
}

// own makes a handle end with the invocation.
func (ex *exchange) own(host op.Host, handle uint32) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.owner = host
	ex.owned = append(ex.owned, handle)
}

// release drops what the invocation holds. Doing so twice is harmless.
func (ex *exchange) release() {
	ex.mu.Lock()
	ex.detachLocked()
	owner, owned, body := ex.owner, ex.owned, ex.body
	ex.owned = nil
	ex.mu.Unlock()
	for _, handle := range owned {
		if r, ok := owner.Resources().Take(handle).(*BodyReader); ok {
			_ = r.Close() // the script did not want it
		}
	}
	if body != nil {
		_ = ex.req.Body.Close() // it was read as far as anybody wanted
	}
}

// detachLocked takes the request body back out of an instance's table.
func (ex *exchange) detachLocked() {
	if ex.handle != 0 {
		ex.host.Resources().Take(ex.handle)
		ex.host, ex.handle = nil, 0
	}
}

// respond settles the exchange with a response. When it is settled already, or
// its caller is gone, the response is closed.
func (ex *exchange) respond(resp *fetch.Response) bool {
	ex.mu.Lock()
	if ex.settled {
		ex.mu.Unlock()
		_ = resp.Body.Close() // nobody is there who could use the error
		return false
	}
	ex.resp = resp
	ex.settleLocked()
	ex.mu.Unlock()
	return true
}

// fail settles the exchange with a failure, or ends the response that is being
// sent. It is the invocation's OnFail; nil stands for an invocation that ended
// well without a response.
func (ex *exchange) fail(f *outcome.Failure) {
	if f == nil {
		f = outcome.Failf(outcome.NoResponse, "the worker ended without a response")
	}
	ex.release()
	ex.mu.Lock()
	settled, stream, inside := ex.settled, ex.stream, ex.running == nil
	if !settled {
		_ = ex.req.Body.Close() // the failure says more
		ex.failure = f
		ex.settleLocked()
	}
	ex.mu.Unlock()
	switch {
	case settled && stream != nil:
		stream.abort(f)
	case !settled && inside && mayBeStuck(f.Outcome):
		ex.report()
		fetch.Abandon(ex.ctx, f)
	}
}

// cancel tells the invocation that its client has left.
func (ex *exchange) cancel() {
	ex.mu.Lock()
	running := ex.running
	ex.mu.Unlock()
	if running != nil {
		running.Cancel(context.Cause(ex.ctx))
	}
}

// canceled is the failure of a request whose client has left.
func (ex *exchange) canceled() *outcome.Failure {
	return &outcome.Failure{Outcome: outcome.Canceled, Msg: "the client left", Err: context.Cause(ex.ctx)}
}

// mayBeStuck reports whether an invocation that ends so may leave the goroutine
// that called Invoke inside the engine for long or for good.
func mayBeStuck(o outcome.Outcome) bool {
	switch o {
	case outcome.CPUExceeded, outcome.MemoryExceeded, outcome.WallExceeded, outcome.FirstByteTimeout, outcome.Fatal:
		return true
	}
	return false
}

// streamOver lets the invocation end when it waited for the response body.
func (ex *exchange) streamOver() {
	ex.mu.Lock()
	ex.streaming = false
	inv := ex.finished
	ex.mu.Unlock()
	if inv != nil {
		ex.finish(inv)
	}
}

// done ends the invocation, at once or when the response body was sent.
func (ex *exchange) done(inv op.Invocation) {
	ex.mu.Lock()
	waits := ex.streaming
	if waits {
		ex.finished = inv
	}
	ex.mu.Unlock()
	if !waits {
		ex.finish(inv)
	}
}

// finish releases what the request holds and ends the invocation.
func (ex *exchange) finish(inv op.Invocation) {
	ex.release()
	inv.Done()
}

// report charges CPU time that was not charged yet to the request's trace.
func (ex *exchange) report() {
	if ex.req.Trace == nil {
		return
	}
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.used == nil {
		return
	}
	cpu := ex.used.CPU()
	ex.req.Trace.AddCPU(cpu - ex.charged)
	ex.charged = cpu
	if ex.used.Cold() {
		ex.req.Trace.SetCold()
	}
}

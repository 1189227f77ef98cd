package assemble

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// idleLimit bounds the silence within the response bodies of a worker.
func idleLimit(f fetch.Fetcher, idle time.Duration) fetch.Fetcher {
	return fetch.FetcherFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		resp, err := f.Fetch(ctx, req)
		if err == nil && resp.Body != nil && resp.Body.Reader != nil {
			resp.Body.Reader = &idleReader{ReadCloser: resp.Body.Reader, idle: idle}
		}
		return resp, err
	})
}

// idleReader ends a Read that waits for too long by closing what it reads.
type idleReader struct {
	io.ReadCloser
	idle  time.Duration
	timer *time.Timer
	late  atomic.Bool
}

// Read reads, and fails with idle_timeout when nothing came for too long.
func (r *idleReader) Read(p []byte) (int, error) {
	if r.timer == nil {
		r.timer = time.AfterFunc(r.idle, func() {
			r.late.Store(true)
			// What is read fails; the failure below says why.
			_ = r.ReadCloser.Close()
		})
	} else {
		r.timer.Reset(r.idle)
	}
	n, err := r.ReadCloser.Read(p)
	r.timer.Stop()
	if err != nil && r.late.Load() {
		err = outcome.Failf(outcome.IdleTimeout, "the worker's response stood still for longer than limits.idle allows (%v)", r.idle)
	}
	return n, err
}

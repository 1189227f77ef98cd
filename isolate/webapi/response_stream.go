package webapi

import (
	"context"
	"io"
	"sync"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// responseStream is a response body on its way out of a worker. It ends with its
// exchange: when the invocation fails, or the caller's context ends, a Read
// returns that failure.
type responseStream struct {
	ex *exchange
	r  io.ReadCloser

	mu      sync.Mutex
	failure *outcome.Failure
	ended   bool
	unwatch func() bool
}

// watch makes a response body that is a stream end with the exchange, and the
// invocation wait for it.
func (ex *exchange) watch(resp *fetch.Response) {
	if resp.Body == nil || resp.Body.Reader == nil {
		return
	}
	stream := newResponseStream(ex, resp.Body.Reader)
	resp.Body = fetch.StreamBody(stream, resp.Body.Size)
	ex.mu.Lock()
	ex.stream = stream
	ex.streaming = true
	ex.mu.Unlock()
}

// newResponseStream wraps the body of ex's response.
func newResponseStream(ex *exchange, r io.ReadCloser) *responseStream {
	s := &responseStream{ex: ex, r: r}
	if ex.ctx.Done() != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unwatch = context.AfterFunc(ex.ctx, func() {
			if s.over() {
				return
			}
			s.abort(ex.canceled())
			ex.cancel()
		})
	}
	return s
}

// Read reads the body. An error other than io.EOF means that the rest is lost.
func (s *responseStream) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err == nil {
		return n, nil
	}
	s.mu.Lock()
	if s.failure != nil {
		err = s.failure
	}
	s.mu.Unlock()
	s.end()
	return n, err
}

// Close releases the body. Closing twice is harmless.
func (s *responseStream) Close() error {
	err := s.r.Close()
	s.end()
	return err
}

// abort makes the body fail with f.
func (s *responseStream) abort(f *outcome.Failure) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	if s.failure == nil {
		s.failure = f
	}
	s.mu.Unlock()
	_ = s.r.Close() // it ends a Read, which returns f
}

// over reports whether the body was read to its end or closed.
func (s *responseStream) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *responseStream) end() {
	s.mu.Lock()
	ended, unwatch := s.ended, s.unwatch
	s.ended = true
	s.mu.Unlock()
	if ended {
		return
	}
	if unwatch != nil {
		unwatch()
	}
	s.ex.streamOver()
	s.ex.report()
}

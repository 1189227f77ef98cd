package edgenet

import (
	"time"

	"github.com/edge-runtime/edge/isolate/outcome"
)

// AccessRecord is what the log says about one request.
type AccessRecord struct {
	Time       time.Time // when its headers had been read
	Socket     string
	ClientAddr string // "ip:port"
	RequestID  string
	// Method, Host and Path are empty for a request that could not be read.
	Method string
	Host   string // without port
	Path   string // without query
	// Service is the one that answered, the route's unless a Fetcher said so.
	Service string
	// Status is the one sent, or the outcome's when nothing was.
	Status  int
	Outcome outcome.Outcome
	Err     error // the cause, not for the public
	// Wall runs from Time to the end of the response.
	Wall time.Duration
	// CPU and Cold are what Fetchers reported to the request's fetch.Trace.
	CPU  time.Duration
	Cold bool
	// BytesIn and BytesOut count body bytes as far as they were read and written.
	BytesIn, BytesOut int64
	Extra             any
}

// RequestInfo is what an error page may show of a request.
type RequestInfo struct {
	Method    string
	URL       string
	Accept    string
	RequestID string
	Service   string
	Outcome   outcome.Outcome
	Status    int
	Message   string // the public one
}

// Package outcome names the ways in which a request can end. Every request ends
// with exactly one; it stands in the log, the metric and, for failures that the
// runtime made, in the edge-outcome response header. It imports nothing of edge.
package outcome

import (
	"errors"
	"fmt"
	"time"
)

// Outcome is the name of a way to end.
type Outcome string

// The outcomes. No two limits share one.
const (
	OK               Outcome = "ok"
	Exception        Outcome = "exception"          // the worker threw
	NoResponse       Outcome = "no_response"        // the handler ended, or can never end, without a response
	BootFailed       Outcome = "boot_failed"        // the worker's module threw or did not load
	BootLimit        Outcome = "boot_limit"         // start-up took longer than its limits
	CPUExceeded      Outcome = "cpu_exceeded"       // limits.cpu
	MemoryExceeded   Outcome = "memory_exceeded"    // limits.memory
	WallExceeded     Outcome = "wall_exceeded"      // limits.wall
	FirstByteTimeout Outcome = "first_byte_timeout" // limits.firstByte
	IdleTimeout      Outcome = "idle_timeout"       // a stream stood still
	LoopDetected     Outcome = "loop_detected"      // too many hops between services
	QueueFull        Outcome = "queue_full"         // limits.queue
	LoadShed         Outcome = "load_shed"          // the process has no room
	BodyTooLarge     Outcome = "body_too_large"
	HeaderTooLarge   Outcome = "header_too_large"
	ReadTimeout      Outcome = "read_timeout" // the client was too slow
	Canceled         Outcome = "canceled"     // the client left
	StreamAborted    Outcome = "stream_aborted"
	Fatal            Outcome = "fatal" // V8 gave the isolate up
	// NotFound and BadGateway are net's: no route, no answer from an external.
	NotFound   Outcome = "not_found"
	BadRequest Outcome = "bad_request"
	BadGateway Outcome = "bad_gateway"
)

var statuses = map[Outcome]int{
	OK: 200, Exception: 500, NoResponse: 500, BootFailed: 503, BootLimit: 503, CPUExceeded: 503,
	MemoryExceeded: 503, WallExceeded: 504, FirstByteTimeout: 504, IdleTimeout: 504, LoopDetected: 508,
	QueueFull: 503, LoadShed: 503, BodyTooLarge: 413, HeaderTooLarge: 431, ReadTimeout: 408,
	Canceled: 499, StreamAborted: 502, Fatal: 503, NotFound: 404, BadRequest: 400, BadGateway: 502,
}

// Status returns the HTTP status that a response made by the runtime carries.
func (o Outcome) Status() int {
	if s, ok := statuses[o]; ok {
		return s
	}
	return 500
}

// All returns every outcome with its status, for documentation and metrics.
func All() map[Outcome]int {
	m := make(map[Outcome]int, len(statuses))
	for o, s := range statuses {
		m[o] = s
	}
	return m
}

// Failure is an error that decides a request's outcome.
type Failure struct {
	Outcome Outcome
	// Msg is public: it is sent to the client. No stack, no host path.
	Msg string
	// RetryAfter is sent as Retry-After when above 0.
	RetryAfter time.Duration
	// Err is the cause, for the log only.
	Err error
}

// Error returns outcome, message and cause.
func (f *Failure) Error() string {
	if f.Err != nil {
		return fmt.Sprintf("%s: %s: %v", f.Outcome, f.Msg, f.Err)
	}
	return fmt.Sprintf("%s: %s", f.Outcome, f.Msg)
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Failf returns a Failure with a public message.
func Failf(o Outcome, format string, args ...any) *Failure {
	return &Failure{Outcome: o, Msg: fmt.Sprintf(format, args...)}
}

// Of returns the outcome that err stands for: OK for nil, that of a Failure in
// its chain, else Exception.
func Of(err error) Outcome {
	var f *Failure
	switch {
	case err == nil:
		return OK
	case errors.As(err, &f):
		return f.Outcome
	}
	return Exception
}

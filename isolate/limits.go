package isolate

import (
	"fmt"
	"time"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// Limits bound what a worker may use. Each has an outcome of its own, and the
// message of that outcome names the field and its value.
//
// The zero Limits stand for DefaultLimits. In other Limits a field of zero takes
// its default too, except for the counts that may be zero: Queue, Subrequests and
// LogBytes are taken as they are.
type Limits struct {
	CPU         time.Duration // CPU time of one invocation, all its events together
	StartupCPU  time.Duration // CPU time of evaluating the main module
	StartupWall time.Duration // wall time of the same, from the creation of the isolate
	FirstByte   time.Duration // wall time until the invocation has responded
	Wall        time.Duration // wall time of an invocation in total, waitUntil included
	Memory      int64         // bytes of JavaScript heap in one instance
	Buffers     int64         // bytes of ArrayBuffers and Wasm memories in one instance
	Concurrency int           // invocations in one instance at the same time
	Queue       int           // invocations that wait for a place among those
	Subrequests int           // fetches and service calls of one invocation
	LogBytes    int64         // console output of one invocation
}

// DefaultLimits returns what a worker gets that states no limits. One second of
// CPU lets a first request compile a framework on a slow machine, and is short
// enough that a loop is noticed at once; 64 MiB of heap bound the input of what
// cannot be interrupted, such as JSON.parse.
func DefaultLimits() Limits {
	return Limits{
		CPU:         time.Second,
		StartupCPU:  time.Second,
		StartupWall: 10 * time.Second,
		FirstByte:   30 * time.Second,
		Wall:        15 * time.Minute,
		Memory:      64 << 20,
		Buffers:     64 << 20,
		Concurrency: 1000,
		Queue:       1000,
		Subrequests: 100,
		LogBytes:    256 << 10,
	}
}

// withDefaults fills in what was left out.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	if l == (Limits{}) {
		return d
	}
	for _, f := range []struct {
		v *time.Duration
		d time.Duration
	}{
		{&l.CPU, d.CPU}, {&l.StartupCPU, d.StartupCPU}, {&l.StartupWall, d.StartupWall},
		{&l.FirstByte, d.FirstByte}, {&l.Wall, d.Wall},
	} {
		if *f.v <= 0 {
			*f.v = f.d
		}
	}
	if l.Memory <= 0 {
		l.Memory = d.Memory
	}
	if l.Buffers <= 0 {
		l.Buffers = d.Buffers
	}
	if l.Concurrency <= 0 {
		l.Concurrency = d.Concurrency
	}
	return l
}

// params returns the limits that an isolate is made with, the class of the warm
// pool at the same time.
func (l Limits) params() Params {
	return Params{HeapBytes: l.Memory, BufferBytes: l.Buffers}
}

// The failures of limits. Their texts are public.

func (l *Limits) cpuFailure() *outcome.Failure {
	return outcome.Failf(outcome.CPUExceeded, "the worker used more CPU time than limits.cpu allows (%v)", l.CPU)
}

func (l *Limits) startupCPUFailure() *outcome.Failure {
	return outcome.Failf(outcome.BootLimit, "the worker's start-up used more CPU time than limits.startupCpu allows (%v)", l.StartupCPU)
}

func (l *Limits) startupWallFailure() *outcome.Failure {
	return outcome.Failf(outcome.BootLimit, "the worker's start-up took longer than limits.startupWall allows (%v)", l.StartupWall)
}

func (l *Limits) firstByteFailure() *outcome.Failure {
	return outcome.Failf(outcome.FirstByteTimeout, "the worker did not respond within limits.firstByte (%v)", l.FirstByte)
}

func (l *Limits) wallFailure() *outcome.Failure {
	return outcome.Failf(outcome.WallExceeded, "the request took longer than limits.wall allows (%v)", l.Wall)
}

func (l *Limits) memoryFailure() *outcome.Failure {
	return outcome.Failf(outcome.MemoryExceeded, "the worker used more memory than limits.memory allows (%s)", formatBytes(l.Memory))
}

func (l *Limits) buffersFailure() *outcome.Failure {
	return outcome.Failf(outcome.MemoryExceeded, "the worker's buffers and Wasm memories hold more than limits.buffers allows (%s)", formatBytes(l.Buffers))
}

func (l *Limits) queueFailure() *outcome.Failure {
	f := outcome.Failf(outcome.QueueFull, "more requests wait for the worker than limits.queue allows (%d)", l.Queue)
	f.RetryAfter = time.Second
	return f
}

func (l *Limits) subrequestsError() error {
	e := op.Errorf(op.PlainError, "Too many subrequests: limits.subrequests allows %d for one request", l.Subrequests)
	e.Code = "ERR_LIMIT_SUBREQUESTS"
	return e
}

// Failures without a field of their own.

func shedFailure(format string, args ...any) *outcome.Failure {
	f := outcome.Failf(outcome.LoadShed, format, args...)
	f.RetryAfter = time.Second
	return f
}

func fatalFailure(cause error) *outcome.Failure {
	return &outcome.Failure{Outcome: outcome.Fatal, Msg: "the worker's isolate had to be given up", RetryAfter: time.Second, Err: cause}
}

// jobsLostFailure ends the invocations whose promise jobs a termination of
// another one swept away: they could only stand still until a timeout.
func jobsLostFailure() *outcome.Failure {
	return &outcome.Failure{Outcome: outcome.Fatal, RetryAfter: time.Second,
		Msg: "the worker's isolate was ended because of another request that exceeded a limit"}
}

func stuckFailure() *outcome.Failure {
	return outcome.Failf(outcome.NoResponse, "the worker's response can never come: it waits for a promise that nothing is left to settle")
}

func silentFailure() *outcome.Failure {
	return outcome.Failf(outcome.NoResponse, "the worker's handler ended without a response")
}

// formatBytes writes a size the way the configuration takes it.
func formatBytes(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

package fetch

import (
	"sync"
	"time"
)

// Trace gathers what the Fetchers that a request passes report about it, for
// the access log. Its methods may be called from many goroutines, on a nil
// Trace, and after the request has ended (then nobody reads it any more).
type Trace struct {
	mu     sync.Mutex
	report Report
}

// Report is the content of a Trace.
type Report struct {
	// Service is the name of the service that answered.
	Service string
	// Outcome is what the service says about a response that it gave although
	// something failed; empty for net's own judgement.
	Outcome string
	// Err is the cause, for the log only.
	Err error
	// CPU is the CPU time that was charged to the request.
	CPU time.Duration
	// Cold reports that an instance was started for the request.
	Cold bool
	// Extra is anything a Fetcher adds for the log hook of its own program.
	Extra any
}

// SetService names the service that answers.
func (t *Trace) SetService(name string) { t.update(func(r *Report) { r.Service = name }) }

// SetOutcome overrides the outcome that net would log for a response; err is
// its cause and may be nil. A request that has no whole response keeps the
// outcome that net saw.
func (t *Trace) SetOutcome(outcome string, err error) {
	t.update(func(r *Report) { r.Outcome, r.Err = outcome, err })
}

// AddCPU charges CPU time.
func (t *Trace) AddCPU(d time.Duration) { t.update(func(r *Report) { r.CPU += d }) }

// SetCold records that an instance was started for the request.
func (t *Trace) SetCold() { t.update(func(r *Report) { r.Cold = true }) }

// SetExtra stores v for the log hook.
func (t *Trace) SetExtra(v any) { t.update(func(r *Report) { r.Extra = v }) }

// Report returns what was reported so far.
func (t *Trace) Report() Report {
	if t == nil {
		return Report{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report
}

func (t *Trace) update(f func(*Report)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.report)
}

package fetch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestTraceGathersReportsOfManyGoroutines(t *testing.T) {
	t.Parallel()
	var tr Trace
	cause := errors.New("cause")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			tr.AddCPU(time.Millisecond)
			tr.SetService("shop")
			tr.SetCold()
			tr.SetOutcome("exception", cause)
			tr.SetExtra(7)
		})
	}
	wg.Wait()
	want := Report{Service: "shop", Outcome: "exception", Err: cause, CPU: 8 * time.Millisecond, Cold: true, Extra: 7}
	if got := tr.Report(); got != want {
		t.Errorf("report is %+v, want %+v", got, want)
	}
}

func TestNilTraceTakesReports(t *testing.T) {
	t.Parallel()
	var tr *Trace
	tr.AddCPU(time.Second)
	tr.SetService("shop")
	if got := tr.Report(); got != (Report{}) {
		t.Errorf("report of a nil trace is %+v, want nothing", got)
	}
}

type abandoner struct{ got error }

func (a *abandoner) Abandon(err error) bool {
	if a.got != nil {
		return false
	}
	a.got = err
	return true
}

func TestAbandonReachesTheNearestAbandoner(t *testing.T) {
	t.Parallel()
	cause := errors.New("stuck")
	if Abandon(t.Context(), cause) {
		t.Error("a context without an abandoner was abandoned")
	}
	outer := &abandoner{}
	ctx := WithAbandoner(t.Context(), outer)
	if Abandon(WithAbandoner(ctx, nil), cause) || outer.got != nil {
		t.Error("a shield let the failure of the inner service through")
	}
	child, cancel := context.WithCancel(ctx)
	cancel()
	if !Abandon(child, cause) || outer.got != cause {
		t.Errorf("abandoner got %v, want %v, also through a canceled context", outer.got, cause)
	}
	if Abandon(child, cause) {
		t.Error("abandoned twice")
	}
}

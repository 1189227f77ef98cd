package webapi

import (
	"context"
	"slices"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
)

// logLine is one call of Host.Log.
type logLine struct {
	level      string
	invocation uint32
	text       string
}

// recordingHost is an instance that keeps what timers and console ask of it.
type recordingHost struct {
	lines  []logLine
	timers []float64
	table  op.Table
}

func (h *recordingHost) Settle(uint32, uint32, op.Value, error) {}
func (h *recordingHost) Emit(string, uint32, ...op.Value)       {}
func (h *recordingHost) Resources() *op.Table                   { return &h.table }
func (h *recordingHost) Context() context.Context               { return context.Background() }
func (h *recordingHost) Booted(*op.ScriptError)                 {}
func (h *recordingHost) Log(level string, inv uint32, text string) {
	h.lines = append(h.lines, logLine{level, inv, text})
}
func (h *recordingHost) SetTimer(ms float64, invocation uint32) {
	h.timers = append(h.timers, ms, float64(invocation))
}
func (h *recordingHost) Grant(string) any { return nil }

func TestTimerSetAsksTheHost(t *testing.T) {
	t.Parallel()
	h := &recordingHost{}
	set := timersOps()[0]
	for _, ms := range []op.Value{op.Float(1.5), op.Int(0), op.Int(-1)} {
		if err := set.Func(op.NewCall(h, nil, 0, 0, []op.Value{ms, op.Int(7)})); err != nil {
			t.Fatal(err)
		}
	}
	if want := []float64{1.5, 7, 0, 7, -1, 7}; !slices.Equal(h.timers, want) {
		t.Errorf("host was asked for %v, want %v", h.timers, want)
	}
}

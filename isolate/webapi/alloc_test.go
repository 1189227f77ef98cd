//go:build !race

// The race detector makes sync.Pool drop what it holds at random, so that
// allocations can only be counted without it.

package webapi

import (
	"context"
	"testing"
)

// A small chunk that goes through costs no allocation once the pool is warm,
// but for the growth of the list of blocks.
func TestBodyWriterPoolsBuffers(t *testing.T) {
	w, body := NewBodyWriter(context.Background())
	chunk, buf := make([]byte, 1000), make([]byte, 4000)
	got := testing.AllocsPerRun(1000, func() {
		for range 4 {
			w.Write(chunk, nil)
		}
		if n, err := body.Reader.Read(buf); n != 4000 || err != nil {
			t.Fatalf("read %d bytes, %v, want 4000", n, err)
		}
	})
	if got > 2 {
		t.Errorf("%v allocations for four chunks, want at most 2", got)
	}
	_ = body.Close()
}

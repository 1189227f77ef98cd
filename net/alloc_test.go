//go:build !race

// The race detector makes sync.Pool drop what it holds at random, so that
// allocations can only be counted without it.

package edgenet

import (
	"testing"
)

func TestRequestAllocations(t *testing.T) {
	ts := serve(t, hello, func(c *ServerConfig) { c.Log = func(*AccessRecord) {} })
	const requests = 1000
	total := testing.AllocsPerRun(3, func() {
		_ = ts.http.ServeConn(newConn(ts.Server, &memConn{input: []byte(helloRequest), times: requests}))
	})
	// The exchange, the block of its strings, and the three of the service.
	if per := total / requests; per > 5.5 {
		t.Errorf("a request takes %.2f allocations, want 5", per)
	}
}

package edgenet

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

func TestReadHops(t *testing.T) {
	for value, want := range map[string]int{
		"":                                  0,
		"other":                             0,
		"other;hops=3":                      0,
		"edge;hops=0":                       0,
		"edge;hops=3":                       3,
		"EDGE ; HOPS=3":                     3,
		"other, edge;x=y;hops=4, another":   4,
		"edge;hops=2, edge;hops=9":          9,
		"edges;hops=3":                      0,
		"edge":                              fetch.MaxHops,
		"edge;hops":                         fetch.MaxHops,
		"edge;hops=-1":                      fetch.MaxHops,
		"edge;hops=99999999999999999999999": fetch.MaxHops,
		"edge;hops=1e3":                     fetch.MaxHops,
		",,;,edge;hops=5":                   5,
	} {
		var h fetch.Header
		h.Add("x", "edge;hops=7")
		h.Add("CDN-Loop", value)
		if got := readHops(h); got != want {
			t.Errorf("%q: got %d hops, want %d", value, got, want)
		}
	}
	if got := readHops(nil); got != 0 {
		t.Errorf("without the header: got %d hops", got)
	}
}

// What a script puts into the header neither hides the hops nor loses the entries
// of others.
func TestLoopHeaderIsOurs(t *testing.T) {
	for value, want := range map[string]string{
		"":                              "edge;hops=4",
		"edge;hops=0":                   "edge;hops=4",
		"other":                         "other, edge;hops=4",
		"a;v=1 , edge;hops=1,,b, Edge ": "a;v=1, b, edge;hops=4",
	} {
		req := &fetch.Request{Hops: 3}
		if value != "" {
			req.Header.Add("cdn-loop", value)
		}
		head := string(appendRequestHead(nil, &call{req: req, method: "GET", host: "a", target: "/"}))
		if got := "Cdn-Loop: " + want + "\r\n"; strings.Count(head, "Cdn-Loop") != 1 || !strings.Contains(head, got) {
			t.Errorf("%q: got the head %q, want %q in it", value, head, got)
		}
	}
}

// A server whose route leads, through an external service, to itself.
func TestLoopOfSocketsEnds(t *testing.T) {
	var next atomic.Pointer[External]
	var calls atomic.Int32
	s := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		calls.Add(1)
		return next.Load().Fetch(ctx, req)
	})
	e, err := NewExternal(ExternalConfig{Service: "loop", Address: s.addr})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	next.Store(e)
	resp, body, err := roundTrip(e, &fetch.Request{Method: "GET", URL: "http://a/"})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Status != outcome.LoopDetected.Status() || !strings.Contains(body, fmt.Sprint(fetch.MaxHops)) {
		t.Errorf("got %d %q", resp.Status, body)
	}
	if got := calls.Load(); got != fetch.MaxHops {
		t.Errorf("the server was asked %d times, want %d", got, fetch.MaxHops)
	}
}

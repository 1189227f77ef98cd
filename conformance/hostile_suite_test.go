package conformance

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/edge-runtime/edge/isolate/outcome"
)

// suite is what is done to the server besides the attacks of the tables.
type suite struct {
	victim *victim
	relay  *relay

	lives     []life
	polluters map[string]tenant
	reach     tenant
	headers   tenant
	uploads   tenant
	calls     tenant
	loop      tenant
	queue     tenant
}

// life is a request of lifetimes.js.
type life struct {
	tenant
	way string
	// answered says that the response begins well; then outcome is what the log
	// says of its end.
	answered bool
	// cut says that the body does not end as it should.
	cut bool
	// leave says that the client leaves when the response has begun, or at once
	// when it does not.
	leave bool
	want  []outcome.Outcome
}

// pollutions are the kinds of pollute.js, and what they may break: what
// a standard lets the polluted function see.
var pollutions = map[string][]string{
	"nothing": nil, "object_then": nil, "object_then_throws": nil, "object_methods": nil, "object_to_primitive": nil,
	"object_names": nil, "object_statics": nil, "array_setters": nil, "object_index_setters": nil, "array_methods": nil,
	"array_statics": nil, "array_species": nil, "array_iterator": nil, "iterators": nil, "array_prototype_is_null": nil,
	"promise_constructor": nil, "function_methods": nil, "function_prototype_is_null": nil, "reflect": nil, "strings": nil,
	"regexps": nil, "maps": nil, "typed_arrays": nil, "typed_array_species": nil, "json": nil, "numbers": nil, "errors": nil,
	"platform_classes": nil, "globals": nil, "globals_null": nil, "global_prototype": nil, "frozen": nil,
	// A reaction that returns a promise asks it for then.
	"promise_methods": {"transform"},
	// Each then asks for the species: the request fails whole.
	"promise_statics": {"all"}, "promise_species": {"all"},
}

func newSuite() *suite {
	limited := func(way string, limits map[string]any) tenant {
		return tenant{name: "life-" + strings.ReplaceAll(way, "_", "-"), main: "lifetimes.js", limits: limits}
	}
	short := map[string]any{"firstByte": "300ms"}
	idle := map[string]any{"idle": "300ms"}
	wall := map[string]any{"wall": "300ms"}
	spin := map[string]any{"cpu": "100ms"}
	s := &suite{
		polluters: map[string]tenant{},
		reach:     tenant{name: "reach", main: "reach.js", more: bindOther},
		headers:   tenant{name: "headers", main: "headers.js"},
		uploads:   tenant{name: "uploads", main: "uploads.js", limits: map[string]any{"cpu": "20s", "memory": "32MiB", "buffers": "32MiB"}},
		calls:     tenant{name: "calls", main: "subrequests.js", limits: map[string]any{"subrequests": 5}, more: bindOther},
		loop:      tenant{name: "loop", main: "subrequests.js", more: map[string]any{"globalOutbound": "relay"}},
		queue:     tenant{name: "queue", main: "lifetimes.js", limits: map[string]any{"concurrency": 1, "queue": 1}},
	}
	for kind := range pollutions {
		s.polluters[kind] = tenant{name: "pollute-" + strings.ReplaceAll(kind, "_", "-"), main: "pollute.js", more: bindOther}
	}
	refused := func(way string, limits map[string]any, want ...outcome.Outcome) {
		s.lives = append(s.lives, life{tenant: limited(way, limits), way: way, want: want})
	}
	begun := func(way string, limits map[string]any, cut, leave bool, want ...outcome.Outcome) {
		s.lives = append(s.lives, life{tenant: limited(way, limits), way: way, answered: true, cut: cut, leave: leave, want: want})
	}
	refused("never", nil, outcome.NoResponse)
	refused("never_but_timer", short, outcome.FirstByteTimeout)
	refused("late", short, outcome.FirstByteTimeout)
	refused("wall", wall, outcome.WallExceeded)
	refused("throw_in_start", nil, outcome.Exception)
	// What a response is made in, and what it leaves behind, end together.
	refused("wait_until_loop_now", spin, outcome.CPUExceeded)
	begun("still_stream", idle, true, false, outcome.IdleTimeout)
	begun("still_stream_timer", idle, true, false, outcome.IdleTimeout)
	begun("slow_stream", wall, true, false, outcome.WallExceeded)
	begun("throw_in_pull", nil, true, false, outcome.Exception, outcome.StreamAborted)
	begun("odd_chunk", nil, true, false, outcome.Exception, outcome.StreamAborted)
	begun("loop_in_pull", spin, true, false, outcome.CPUExceeded)
	for _, way := range []string{"endless_stream", "endless_greedy_stream", "cancel_throws", "cancel_loops"} {
		begun(way, spin, false, true, outcome.Canceled, outcome.CPUExceeded)
	}
	for _, way := range []string{"loop_on_abort", "throw_on_abort"} {
		s.lives = append(s.lives, life{tenant: limited(way, spin), way: way, leave: true, want: []outcome.Outcome{outcome.Canceled}})
	}
	for _, way := range []string{"wait_until_loop", "wait_until_rejects", "wait_until_many", "wait_until_never",
		"log_flood", "rejection_flood", "timer_flood", "error_event_loop"} {
		begun(way, map[string]any{"cpu": "2s"}, false, false, outcome.OK)
	}
	return s
}

var bindOther = map[string]any{"bindings": map[string]any{"OTHER": map[string]any{"service": "innocent"}}}

func (s *suite) tenants() []tenant {
	list := []tenant{s.reach, s.headers, s.uploads, s.calls, s.loop, s.queue}
	for _, l := range s.lives {
		list = append(list, l.tenant)
	}
	for _, tt := range s.polluters {
		list = append(list, tt)
	}
	return list
}

// services are those that are no workers.
func (s *suite) services() map[string]any {
	return map[string]any{"relay": map[string]any{"external": map[string]any{"address": s.relay.ln.Addr().String()}}}
}

func (s *suite) run(t *testing.T) {
	// Alone, since they measure memory.
	t.Run("uploads", s.testUploads)
	t.Run("all", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"lifetimes": s.testLifetimes, "pollution": s.testPollution, "reach": s.testReach, "header attempts": s.testHeaderAttempts,
			"wire": s.testWire, "subrequests": s.testSubrequests, "loop": s.testLoop, "queue": s.testQueue, "large heads": s.testLargeHeads,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}

func (s *suite) testPollution(t *testing.T) {
	v := s.victim
	var kinds struct{ All []string }
	if err := json.Unmarshal([]byte(v.ask(t, s.polluters["nothing"], "/list").body), &kinds); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds.All {
		tt, ok := s.polluters[kind]
		if !ok {
			t.Errorf("pollute.js has %s, and nobody asks for it", kind)
			continue
		}
		t.Run(kind, func(t *testing.T) {
			broken := pollutions[kind]
			for range 2 {
				a := v.ask(t, tt, "/"+kind)
				if len(broken) > 0 && broken[0] == "all" {
					a.checkFailure(t, v.dir, outcome.Exception)
					continue
				}
				for failure := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(a.body), ";"), "; ") {
					name, _, _ := strings.Cut(failure, ":")
					if a.status != 200 || a.err != nil || name != "intact" && (len(broken) == 0 || name != broken[0]) {
						t.Errorf("got %d (%v) %s", a.status, a.err, clip(failure))
					}
				}
			}
			v.healthy(t, tt)
		})
	}
}

func (s *suite) testReach(t *testing.T) {
	v := s.victim
	var probes struct{ All []string }
	if err := json.Unmarshal([]byte(v.ask(t, s.reach, "/list").body), &probes); err != nil {
		t.Fatal(err)
	}
	if len(probes.All) < 40 {
		t.Errorf("there are %d probes", len(probes.All))
	}
	for _, name := range probes.All {
		a := v.ask(t, s.reach, "/"+name)
		if found, ok := strings.CutPrefix(a.body, "found: "); !ok || a.status != 200 || found != "" {
			t.Errorf("%s: got %d %s", name, a.status, clip(a.body))
		}
	}
	v.healthy(t, s.reach)
}

func (s *suite) testHeaderAttempts(t *testing.T) {
	for _, path := range []string{"/attempts", "/attempts_after_weakening", "/attempts_after_weakening"} {
		if a := s.victim.ask(t, s.headers, path); a.body != "accepted: " || a.status != 200 {
			t.Errorf("%s: got %d %s", path, a.status, clip(a.body))
		}
	}
}

func (s *suite) testSubrequests(t *testing.T) {
	a := s.victim.ask(t, s.calls, "/many")
	var got struct {
		Answered int
		Refused  []string
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("got %d %q", a.status, a.body)
	}
	if got.Answered != 5 || len(got.Refused) != 1 || !strings.Contains(got.Refused[0], "ERR_LIMIT_SUBREQUESTS") || !strings.Contains(got.Refused[0], "limits.subrequests") {
		t.Errorf("got %+v", got)
	}
}

// A worker that asks itself through another server.
func (s *suite) testLoop(t *testing.T) {
	v := s.victim
	for _, path := range []string{"/loop", "/loop_of_headers"} {
		if a := v.ask(t, s.loop, path); a.status != outcome.LoopDetected.Status() {
			t.Errorf("%s: got %d %s", path, a.status, clip(a.body))
		}
		v.await(t, "the loop's end", func(r *logRecord) bool {
			return r.Msg == "request" && r.Path == path && r.Outcome == string(outcome.LoopDetected)
		})
		if n := v.count(func(r *logRecord) bool { return r.Msg == "request" && r.Host == s.loop.host() && r.Path == path }); n > 20 {
			t.Errorf("%s made %d requests", path, n)
		}
	}
	v.healthy(t, s.loop)
}

func (s *suite) testQueue(t *testing.T) {
	v := s.victim
	var mu sync.Mutex
	got := map[outcome.Outcome]int{}
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			a, err := v.try(s.queue, "/slow")
			if err != nil {
				t.Error(err)
				return
			}
			if o := a.outcome(); o == outcome.OK && a.body != "slow" || o != outcome.OK && (o != outcome.QueueFull || a.header.Get("Retry-After") == "") {
				t.Errorf("got %d %s %q", a.status, o, clip(a.body))
			}
			mu.Lock()
			got[a.outcome()]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if got[outcome.OK] < 2 || got[outcome.QueueFull] < 1 || got[outcome.OK]+got[outcome.QueueFull] != 12 {
		t.Errorf("got %v", got)
	}
	v.healthy(t, s.queue)
}

// relay passes connections on to the server, as another host's proxy would.
type relay struct {
	ln   net.Listener
	to   atomic.Pointer[string]
	stop chan struct{} // closed to end every connection
}

func startRelay(t *testing.T) *relay {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{ln: ln, stop: make(chan struct{})}
	t.Cleanup(func() { _ = ln.Close() }) // closed once
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			go r.pass(in)
		}
	}()
	return r
}

func (r *relay) pass(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", *r.to.Load())
	if err != nil {
		return
	}
	defer out.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // either side may close
			ended <- struct{}{}
		}()
	}
	select {
	case <-ended:
	case <-r.stop:
	}
}

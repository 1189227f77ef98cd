package v8

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
)

var soak = flag.Duration("soak", 3*time.Second, "how long fatal errors are provoked beside a serving neighbour")

// bombs make V8 call its fatal handlers, most of them at any heap limit.
var bombs = []string{
	"return new Array(1 << 27).fill(1.5)",
	"return 'a'.repeat(2 ** 29 - 24).split('')",
	"return Array.from({ length: 1e8 }, (_, i) => ({ i }))",
	"const m = new Map(); for (let i = 0; ; i++) m.set(i, { i });",
	"const s = new Set(); for (let i = 0; ; i++) s.add('k' + i);",
	"const o = {}; for (let i = 0; ; i++) o['k' + i] = [i];",
	"let s = JSON.stringify({ a: 'x'.repeat(1000) }); for (;;) s = JSON.stringify([s, JSON.parse(s)]);",
	"const a = []; for (;;) a.push(new Array(20000).fill(0.5));",
	"const a = []; for (;;) a.push('x'.repeat(100000) + a.length, [...'abcdef'.repeat(1000)]);",
	"let a = [1]; for (;;) a = [a, ...a, ...a];",
	"let f = () => 1; for (;;) { const g = f; f = () => g() + 1; }",
	"let s = 'ab'; for (;;) s = s + s.replaceAll('a', 'aaaa');",
	"let b = 3n; for (;;) b = b * b;",
	"const a = []; for (;;) a.push(structured({ a: [1, 2, 3], m: new Map([[1, 2]]) }));",
	"const a = []; for (;;) a.push(/(x+x+)+y/.exec('x'.repeat(10)) ?? new RegExp('a' + a.length));",
	"const a = [[]]; for (;;) a.push(a[a.length - 1].concat(new Array(1000).fill({})));",
	"const a = []; for (;;) a.push(new Promise((r) => r(a)).then(() => a.push({})));",
	"const a = []; for (;;) { a.unshift(new Array(100).fill(a)); a.sort(() => 1); }",
	"const w = []; for (let i = 0; ; i++) w.push(new WeakRef({ i }), new Proxy({ i }, {}), Symbol('s' + i));",
	"class A { #x = new Array(100).fill(this); } const a = []; for (;;) a.push(class extends A { y = new A() }, new A());",
	"(async () => { const a = []; for (;;) { a.push(new Array(1000).fill(1.5)); await 0; } })()",
	"const a = new Array(1e6).fill(0).map((_, i) => 'key' + i); for (;;) a.push(a.join('-'), Object.fromEntries(a.map((k) => [k, k])));",
	"function* g() { for (;;) yield new Array(10000).fill({}); } return [...g()]",
	"for (;;) new Array(1000).fill(1);",
	"const small = []; for (;;) small.indexOf(1);",
}

// TestFatalKeepsItsThreadAlone lets V8 give up without an allowance to jump: the
// slice never returns, the host is told, and the rest of the process goes on.
func TestFatalKeepsItsThreadAlone(t *testing.T) {
	if !inChild(t, "park") {
		return
	}
	for _, body := range bombs[:2] {
		h := newHost(t, isolate.Params{})
		h.lost = true
		h.load("main.js", "export default () => {"+body+"}")
		ended := make(chan isolate.SliceResult, 1)
		go func() { ended <- h.slice("run", 1) }()
		select {
		case why := <-h.fatal:
			t.Log(why)
		case r := <-ended:
			t.Errorf("%s: the slice ended with status %d", body, r.Status)
		}
		if got := eval(t, "return 1"); got != "returned|1" {
			t.Errorf("a neighbour got %q", got)
		}
	}
}

// TestFatalEndsTheSlice lets V8 give up where it may be left: the slice ends, its
// isolate can be closed, and the thread serves others.
func TestFatalEndsTheSlice(t *testing.T) {
	if !inChild(t, "jump") {
		return
	}
	for _, body := range bombs[:3] {
		h := newHost(t, isolate.Params{})
		h.load("main.js", "export default () => {"+body+"}")
		r := h.slice("run", 7)
		if r.Status == isolate.StatusOK || r.Events != 1 || len(r.Times) != 1 || r.Times[0].Invocation != 7 {
			t.Errorf("%s: got %+v", body, r)
		}
		if r.Status == isolate.StatusFatal {
			if r.Fatal == "" {
				t.Errorf("%s: it is not said why", body)
			}
			if again := h.slice("run", 8); again.Status != isolate.StatusFatal || again.Events != 0 {
				t.Errorf("%s: run again: %+v", body, again)
			}
			h.iso.Idle()
			if m := h.iso.Memory(); m != (isolate.Memory{}) {
				t.Errorf("%s: memory of a dead isolate: %+v", body, m)
			}
		}
		if got := eval(t, "return 1"); got != "returned|1" {
			t.Errorf("a neighbour got %q", got)
		}
	}
}

// TestFatalBesideANeighbour provokes fatal errors and terminations from two
// threads, while a third serves.
func TestFatalBesideANeighbour(t *testing.T) {
	if !inChild(t, "jump") {
		return
	}
	var stop atomic.Bool
	var attackers, others sync.WaitGroup
	var count [4]atomic.Int64
	var lost atomic.Int64
	reasons := newTally()
	for range 2 {
		attackers.Go(func() {
			for !stop.Load() {
				body := bombs[rand.IntN(len(bombs))]
				r, ok := attack(t, body, &stop)
				if !ok {
					lost.Add(1)
					continue
				}
				count[r.Status].Add(1)
				if r.Status == isolate.StatusFatal {
					reasons.add(r.Fatal)
				}
			}
		})
	}
	var served int64
	var worst time.Duration
	others.Go(func() {
		h := newHost(t, isolate.Params{})
		h.load("main.js", "export default (n) => JSON.stringify({ n, a: new Array(20).fill(n) })")
		defer h.iso.Close()
		for i := 0; !stop.Load(); i++ {
			start := time.Now()
			got := h.call("run", 1, op.Int(int64(i%100)))
			worst = max(worst, time.Since(start))
			if len(got) != 1 || !strings.Contains(got[0].args[1], "[") {
				t.Errorf("the neighbour answered %v", got)
			}
			served++
			if i%1000 == 999 {
				h.iso.Idle()
			}
		}
	})
	before := rss(t)
	time.AfterFunc(*soak, func() { stop.Store(true) })
	attackers.Wait()
	stop.Store(true)
	others.Wait()
	Trim()
	t.Logf("ok %d, terminated %d, heap limit %d, fatal %d, threads lost %d; neighbour served %d, worst %v; resident %+d KB; fatal: %v",
		count[0].Load(), count[1].Load(), count[2].Load(), count[3].Load(), lost.Load(), served, worst, (rss(t)-before)>>10, reasons)
	if served == 0 {
		t.Error("the neighbour was not served")
	}
}

// attack runs a bomb in an isolate of its own. False when it never ended.
func attack(t *testing.T, body string, stop *atomic.Bool) (isolate.SliceResult, bool) {
	h := &testHost{t: t, e: engine(t), fatal: make(chan string, 1)}
	iso, err := h.e.New(isolate.Params{HeapBytes: int64(8+rand.IntN(56)) << 20, BufferBytes: 8 << 20}, h)
	if err != nil {
		t.Error(err)
		return isolate.SliceResult{}, false
	}
	h.iso = iso
	p, err := h.e.NewProgram(isolate.ProgramSource{Main: "m.js", Modules: []isolate.Module{{Key: "m.js",
		Source: []byte("const structured = (v) => t.native_structured_clone(v, [], {}); export default () => {" + body + "}")}}})
	if err != nil {
		t.Error(err)
		return isolate.SliceResult{}, false
	}
	if err := iso.SetProgram(p); err != nil {
		t.Error(err)
	}
	h.slice("load", 0)
	ended := make(chan isolate.SliceResult, 1)
	go func() { ended <- h.slice("run", 1) }()
	kill := time.NewTimer(time.Duration(rand.IntN(4000)) * time.Millisecond)
	defer kill.Stop()
	give := time.NewTimer(5 * time.Minute)
	defer give.Stop()
	for {
		select {
		case r := <-ended:
			if err := iso.Close(); err != nil {
				t.Error(err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			return r, true
		case <-kill.C:
			iso.Terminate()
		case why := <-h.fatal:
			t.Logf("thread lost: %s: %s", why, body)
			return isolate.SliceResult{}, false
		case <-give.C:
			t.Errorf("never ended: %s", body)
			return isolate.SliceResult{}, false
		}
	}
}

// tally counts texts.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func newTally() *tally { return &tally{n: map[string]int{}} }

func (c *tally) add(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[s]++
}

func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for s, n := range c.n {
		parts = append(parts, fmt.Sprintf("%s x%d", s, n))
	}
	return strings.Join(parts, "; ")
}

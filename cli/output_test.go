package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edge-runtime/edge/assemble"
	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/outcome"
	edgenet "github.com/edge-runtime/edge/net"
)

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// written runs f with an output of the given flags and returns what it wrote.
func written(t *testing.T, flags logFlags, dev bool, f func(*output)) string {
	t.Helper()
	var b buffer
	if flags.LogLevel == "" {
		flags.LogLevel = "info"
	}
	if flags.LogFormat == "" {
		flags.LogFormat = "auto"
	}
	o, err := newOutput(&b, flags, dev)
	if err != nil {
		t.Fatal(err)
	}
	o.explain = func(service string, err error) assemble.Explanation {
		if service == "thrower" {
			return assemble.Explanation{Message: "Error: x", Stack: "Error: x\n    at f (w.ts:1:2)"}
		}
		return assemble.Explanation{}
	}
	f(o)
	o.close()
	return b.buf.String()
}

func record() *edgenet.AccessRecord {
	return &edgenet.AccessRecord{
		Time: time.Now(), Socket: "http", ClientAddr: "192.0.2.1:99", RequestID: "abc", Method: "GET", Host: "a.example", Path: "/p",
		Service: "w", Status: 200, Outcome: outcome.OK, Wall: 1500 * time.Microsecond, CPU: 250*time.Microsecond + 499, Cold: true, BytesIn: 1, BytesOut: 2,
	}
}

func TestRequestsAsJSON(t *testing.T) {
	t.Parallel()
	got := written(t, logFlags{LogFormat: "json"}, false, func(o *output) { o.request(record()) })
	var fields map[string]any
	if err := json.Unmarshal([]byte(got), &fields); err != nil {
		t.Fatalf("%v in %q", err, got)
	}
	for name, want := range map[string]any{
		"msg": "request", "level": "INFO", "outcome": "ok", "status": 200.0, "method": "GET", "host": "a.example", "path": "/p", "worker": "w",
		"cpu_ms": 0.25, "wall_ms": 1.5, "start": "cold", "request": "abc", "bytes_in": 1.0, "bytes_out": 2.0, "client": "192.0.2.1:99", "socket": "http",
	} {
		if fields[name] != want {
			t.Errorf("%s is %v, want %v", name, fields[name], want)
		}
	}
	r := record()
	r.Service, r.Outcome, r.Status, r.Err = "thrower", outcome.Exception, 500, errors.New("thrown")
	got = written(t, logFlags{LogFormat: "json"}, false, func(o *output) { o.request(r) })
	if !strings.Contains(got, `"level":"ERROR"`) || !strings.Contains(got, `"stack":"Error: x\n    at f (w.ts:1:2)"`) {
		t.Errorf("a failure is logged as %s", got)
	}
}

func TestWhichRequestsAreLogged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		which   string
		outcome outcome.Outcome
		level   string
		want    bool
	}{
		{"all", outcome.OK, "info", true},
		{"failed", outcome.OK, "info", false},
		{"failed", outcome.Canceled, "info", false},
		{"failed", outcome.CPUExceeded, "info", true},
		{"none", outcome.Fatal, "info", false},
		{"all", outcome.OK, "warn", false},
		{"all", outcome.QueueFull, "warn", true},
		{"all", outcome.QueueFull, "error", false},
		{"all", outcome.Exception, "error", true},
	} {
		r := record()
		r.Outcome = tt.outcome
		for _, format := range []string{"json", "text"} {
			got := written(t, logFlags{LogFormat: format, AccessLog: tt.which, LogLevel: tt.level}, false, func(o *output) { o.request(r) })
			if (got != "") != tt.want {
				t.Errorf("%s as %s, which %s, level %s: %q", tt.outcome, format, tt.which, tt.level, got)
			}
		}
	}
}

func TestRequestsAsText(t *testing.T) {
	t.Parallel()
	got := written(t, logFlags{LogFormat: "text"}, false, func(o *output) { o.request(record()) })
	if !regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} 200 GET  a.example/p w 1.5ms cpu 250µs cold abc\n$`).MatchString(got) {
		t.Errorf("a request is logged as %q", got)
	}
	r := record()
	r.Service, r.Outcome, r.Status, r.Err, r.Path = "thrower", outcome.Exception, 500, errors.New("thrown"), "/\x1b[31m"
	got = written(t, logFlags{}, true, func(o *output) { o.request(r) })
	if !strings.Contains(got, " 500 GET  a.example/?[31m thrower") || !strings.HasSuffix(got, " exception\n    Error: x\n        at f (w.ts:1:2)\n") {
		t.Errorf("a failure is logged as %q", got)
	}
	r = record()
	r.Outcome, r.Status, r.Err = outcome.CPUExceeded, 503, outcome.Failf(outcome.CPUExceeded, "too long")
	got = written(t, logFlags{}, true, func(o *output) { o.request(r) })
	if !strings.HasSuffix(got, " cpu_exceeded\n    cpu_exceeded: too long\n") {
		t.Errorf("a limit is logged as %q", got)
	}
}

func TestConsole(t *testing.T) {
	t.Parallel()
	call := isolate.ConsoleRecord{Worker: "w", Level: "warn", Text: "two\nlines \x1b[2J", Request: "abc", Time: time.Now()}
	got := written(t, logFlags{LogFormat: "json"}, false, func(o *output) { o.console(call) })
	if !strings.Contains(got, `"level":"WARN","msg":"console","worker":"w","level":"warn","text":"two\nlines \u001b[2J","request":"abc"`) {
		t.Errorf("logged as %s", got)
	}
	got = written(t, logFlags{LogFormat: "text"}, false, func(o *output) { o.console(call) })
	if !strings.HasSuffix(got, "[w] warn two\n    lines ?[2J\n") {
		t.Errorf("shown as %q", got)
	}
	call.Level = "debug"
	if got := written(t, logFlags{LogFormat: "text"}, false, func(o *output) { o.console(call) }); got != "" {
		t.Errorf("debug output is shown: %q", got)
	}
	if got := written(t, logFlags{LogFormat: "text"}, true, func(o *output) { o.console(call) }); got == "" {
		t.Error("debug output is not shown in development")
	}
}

func TestLoads(t *testing.T) {
	t.Parallel()
	r := &assemble.Report{Services: 2, Started: 1, Kept: 1, Took: 12345 * time.Microsecond, Admin: "127.0.0.1:9999", AdminSubstituted: true,
		Addresses: []assemble.Address{{Socket: "http", Address: "[::]:8080", New: true}, {Socket: "old", Address: "127.0.0.1:1"}}, Warnings: []string{"careful"}}
	got := written(t, logFlags{LogFormat: "text"}, false, func(o *output) { o.loaded(r, "c.cue", true) })
	for _, want := range []string{" warning careful\n", "loaded config=c.cue services=2 workers=1 took=12ms", "health=http://127.0.0.1:9999/healthz",
		"another took its place", "listening socket=http url=http://localhost:8080/"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "socket=old") {
		t.Errorf("an address that was there before is announced: %q", got)
	}
	got = written(t, logFlags{LogFormat: "text"}, false, func(o *output) { o.loaded(r, "c.cue", false) })
	if !strings.Contains(got, "reloaded config=c.cue started=1 kept=1") || strings.Count(got, "listening") != 1 || strings.Contains(got, "admin") {
		t.Errorf("a reload is logged as %q", got)
	}
	r.Unchanged, r.Warnings, r.Addresses = true, nil, nil
	if got := written(t, logFlags{LogFormat: "text"}, false, func(o *output) { o.loaded(r, "c.cue", false) }); got != "" {
		t.Errorf("a reload that changed nothing is logged as %q", got)
	}
	ce := &config.Error{Mistakes: []config.Mistake{{File: "c.cue", Line: 1, Col: 2, Msg: "bad"}, {File: "c.cue", Line: 3, Col: 4, Msg: "worse"}}}
	for _, tt := range []struct {
		serving, dev bool
		want         string
	}{
		{false, false, "2 mistakes: the configuration is not served"},
		{true, false, "2 mistakes: what was served before serves on"},
		{false, true, "2 mistakes: waiting for a change"},
	} {
		got := written(t, logFlags{LogFormat: "text"}, tt.dev, func(o *output) { o.loadFailed(ce, tt.serving, tt.dev) })
		if !strings.HasPrefix(got, "c.cue:1:2: bad\nc.cue:3:4: worse\n") || !strings.Contains(got, tt.want) {
			t.Errorf("logged as %q, want %q", got, tt.want)
		}
	}
	got = written(t, logFlags{LogFormat: "json"}, false, func(o *output) { o.loadFailed(ce, true, false) })
	if !strings.Contains(got, `"mistakes":2,"then":"what was served before serves on","error":"c.cue:1:2: bad\nc.cue:3:4: worse"`) {
		t.Errorf("logged as %s", got)
	}
	if got := written(t, logFlags{}, true, func(o *output) { o.loadFailed(context.Canceled, true, true) }); got != "" {
		t.Errorf("the end of the program is logged as %q", got)
	}
}

func TestTextHandler(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := slog.New(&textHandler{w: &b, level: slog.LevelDebug})
	log.With("a", 1).WithGroup("g").Warn("careful", "b", "two words", "c", "x=y", "d", "", "e", "first\nsecond")
	got := regexp.MustCompile(`^\S+ `).ReplaceAllString(b.String(), "")
	if want := "warning careful g.a=1 g.b=\"two words\" g.c=\"x=y\" g.d=\n    first\n    second\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.Reset()
	slog.New(&textHandler{w: &b, level: slog.LevelInfo}).Debug("quiet")
	if b.Len() > 0 {
		t.Errorf("a debug record was written: %q", b.String())
	}
	b.Reset()
	slog.New(&textHandler{w: &b, color: true}).Error("bad")
	if !strings.Contains(b.String(), "\x1b[31merror\x1b[0m bad") {
		t.Errorf("coloured as %q", b.String())
	}
}

// gate is a writer that waits until it is opened.
type gate struct {
	buffer
	begun, open chan struct{}
	once        sync.Once
}

func (g *gate) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.begun) })
	<-g.open
	return g.buffer.Write(p)
}

func TestLineWriterNeverWaits(t *testing.T) {
	t.Parallel()
	g := &gate{begun: make(chan struct{}), open: make(chan struct{})}
	w := newLineWriter(g)
	w.WriteString("first\n")
	<-g.begun
	line := strings.Repeat("x", 1023) + "\n"
	for range 2 * maxPending / len(line) {
		w.WriteString(line)
	}
	close(g.open)
	w.close()
	got := g.buf.String()
	if !strings.HasPrefix(got, "first\n") || !strings.Contains(got, `"msg":"log lines were dropped: the reader is too slow","lines":4096}`) {
		t.Errorf("%d bytes were written, which end with %q", len(got), got[max(0, len(got)-100):])
	}
}

// slow is a writer that looks at what it was given when it is told to.
type slow struct {
	buffer
	look chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.look
	return s.buffer.Write(p)
}

func TestLineWriterKeepsLinesWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{look: make(chan struct{})}
		w := newLineWriter(s)
		var want strings.Builder
		for _, word := range []string{"one", "two", "three", "four", "five", "six", "seven", "eight"} {
			// Two lines, the second while the first is on its way; then a rest.
			for range 2 {
				want.WriteString(word + "\n")
				w.WriteString(word + "\n")
				synctest.Wait()
				word = "-" + word[1:]
			}
			s.look <- struct{}{}
			s.look <- struct{}{}
			synctest.Wait()
		}
		w.close()
		if got := s.buf.String(); got != want.String() {
			t.Errorf("%q was written, want %q", got, want.String())
		}
	})
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		1234 * time.Nanosecond: "1µs", 123456 * time.Nanosecond: "123µs", 1234567 * time.Nanosecond: "1.23ms",
		12345678 * time.Nanosecond: "12ms", 1234567890: "1.23s", 12345678900: "12.3s",
	} {
		if got := duration(d); got != want {
			t.Errorf("%d ns is shown as %s, want %s", d, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 mistakes", 1: "1 mistake", 2: "2 mistakes"} {
		if got := plural(n, "mistake"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

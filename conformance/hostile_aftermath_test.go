package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// aftermath looks at what the process still holds when everything is over, and
// ends it.
func (v *victim) aftermath(t *testing.T, before usage) {
	t.Helper()
	v.client.CloseIdleConnections()
	parked := v.count(func(r *logRecord) bool { return r.Msg == "instance lost" })
	// An isolate that was given up keeps its thread and its memory; the threads
	// that Go once needed stay.
	want := usage{rss: before.rss + 300<<20 + int64(parked)*parkedBytes, threads: before.threads + parked + 40, fds: before.fds + 12}
	after, ok := v.settle(t, want)
	t.Logf("before: %v; after: %v; isolates given up: %d; log: %d KiB, %d lines", before, after, parked, v.bytes>>10, len(v.records))
	if !ok {
		t.Errorf("the process holds %v, want at most %v", after, want)
	}
	if len(v.raw) > 0 {
		t.Logf("%d lines of the log are no JSON, the first is %q", len(v.raw), v.raw[0])
	}
	v.reloads(t)
	// The runtime's own report of its goroutines ends the process.
	if err := v.signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-v.exited
	v.checkGoroutines(t, parked)
}

// parkedBytes is what one isolate that was given up may keep.
const parkedBytes = 256 << 20

// touch changes the code of the innocent, in nothing but a comment.
func (v *victim) touch(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(v.dir, "innocent.js"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("// changed\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// reloads checks that the server still takes new code.
func (v *victim) reloads(t *testing.T) {
	t.Helper()
	v.touch(t)
	if err := v.signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r := v.await(t, "the reload", isLoad)
	if r.Msg != "reloaded" {
		t.Errorf("the reload failed: %s", r.Error)
	}
}

// checkGoroutines counts goroutines by the function that started them.
func (v *victim) checkGoroutines(t *testing.T, parked int) {
	t.Helper()
	v.mu.Lock()
	dump := strings.Join(v.raw, "\n")
	v.mu.Unlock()
	started := map[string]int{}
	total := 0
	for _, g := range strings.Split(dump, "\n\n") {
		if !strings.Contains(g, "goroutine ") {
			continue
		}
		total++
		by := "the runtime"
		if m := regexp.MustCompile(`created by (\S+)`).FindStringSubmatch(g); m != nil {
			by = m[1]
		}
		started[by]++
	}
	var names []string
	for name := range started {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return started[b] - started[a] })
	for _, name := range names[:min(len(names), 8)] {
		t.Logf("%d goroutines of %s", started[name], name)
	}
	if total == 0 || total > 60+4*parked {
		t.Errorf("%d goroutines are left", total)
	}
}

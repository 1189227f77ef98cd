package conformance

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/edge-runtime/edge/internal/programtest"
)

// badStarts are workers that do not start, with what a load says of each.
var badStarts = map[string]string{
	"boot_loop.js":       "limits.startupCpu",
	"boot_await_loop.js": "limits.startupCpu",
	"boot_then.js":       "limits.startupCpu",
	"boot_slow.js":       "limits.startupWall",
	"boot_throw.js":      "at start-up",
	"boot_throw_null.js": "Uncaught null",
	"boot_never.js":      "nothing is left to settle",
	"boot_memory.js":     "limits.memory",
	"boot_fatal.js":      "had to be given up",
}

// badConfig is a configuration of an innocent worker and those.
func badConfig(t *testing.T, mains ...string) []byte {
	t.Helper()
	services := map[string]any{"innocent": map[string]any{"worker": map[string]any{"main": "innocent.js"}}}
	for _, main := range mains {
		limits := map[string]any{"startupCpu": "20s", "startupWall": "25s", "memory": "24MiB"}
		switch main {
		case "boot_loop.js", "boot_await_loop.js", "boot_then.js":
			limits["startupCpu"] = "100ms"
		case "boot_slow.js":
			limits["startupWall"] = "300ms"
		}
		services["bad_"+strings.TrimSuffix(main, ".js")] = map[string]any{"worker": map[string]any{"main": main, "limits": limits}}
	}
	text, err := json.Marshal(map[string]any{
		"services": services, "admin": map[string]any{"address": "off"}, "server": map[string]any{"drainTimeout": "1s"},
		"sockets": map[string]any{"http": map[string]any{"address": "127.0.0.1:0", "routes": []any{map[string]any{"host": "innocent.test", "service": "innocent"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestHostileLoad lets a running server load workers that do not start: one that
// V8 gives up never comes back to whoever loads it. Each is reported, what was
// served serves on, and the next load works.
func TestHostileLoad(t *testing.T) {
	t.Parallel()
	innocent := tenant{name: "innocent", main: "innocent.js"}
	v := startVictim(t, []tenant{innocent}, nil, map[string]any{"http": map[string]any{}}, map[string]any{"drainTimeout": "1s"})
	b := v.watch(innocent, []tenant{innocent})
	path := filepath.Join(v.dir, "config.cue")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var mains []string
	for main := range badStarts {
		mains = append(mains, main)
	}
	load := func(config []byte) *logRecord {
		n := v.count(isLoad)
		if err := os.WriteFile(path, config, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := v.signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		return v.await(t, "the end of the load", func(r *logRecord) bool {
			if isLoad(r) {
				n--
			}
			return n < 0
		})
	}
	r := load(badConfig(t, mains...))
	for main, want := range badStarts {
		name := "services.bad_" + strings.TrimSuffix(main, ".js") + ": "
		_, text, found := strings.Cut(r.Error, name)
		text, _, _ = strings.Cut(text, "services.bad_")
		if !found || !strings.Contains(text, want) {
			t.Errorf("%s: the load says %q, want %q", main, clip(text), want)
		}
	}
	if r := load(badConfig(t, "shared_importer.js")); !strings.Contains(r.Error, "shared memory") {
		t.Errorf("a module with a shared memory: the load says %q", r.Error)
	}
	v.touch(t)
	if r := load(good); r.Msg != "reloaded" {
		t.Errorf("a good configuration after the bad ones: %+v", r)
	}
	b.finish(t)
	v.alive(t)
}

func isLoad(r *logRecord) bool { return r.Msg == "reloaded" || r.Msg == "load configuration" }

// TestHostileFirstLoad starts the program with workers that do not start: it ends,
// and says why.
func TestHostileFirstLoad(t *testing.T) {
	t.Parallel()
	for _, main := range []string{"boot_fatal.js", "boot_loop.js"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/hostile")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "config.cue"), badConfig(t, main), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := programtest.Command(ctx, "serve", "config.cue", "--log-format=json")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), badStarts[main]) {
			t.Errorf("%s: it ended with %d (%v):\n%s", main, code, err, out)
		}
	}
}

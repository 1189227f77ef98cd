package assemble

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/edge-runtime/edge/config"
)

// folder is a folder with files to change.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T, files ...string) folder {
	t.Helper()
	// The real path: what the kernel reports is compared with what is wanted.
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := folder{t, dir}
	for _, name := range files {
		f.write(name)
	}
	return f
}

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f folder) write(name string) {
	f.t.Helper()
	f.check(os.MkdirAll(filepath.Dir(f.path(name)), 0o755))
	f.check(os.WriteFile(f.path(name), []byte(time.Now().String()), 0o644))
}

func (f folder) replace(name string) {
	f.t.Helper()
	f.check(os.WriteFile(f.path(name+"~"), nil, 0o644))
	f.check(os.Rename(f.path(name+"~"), f.path(name)))
}

func (f folder) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestWatcher(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		files  []string // that exist before
		want   Watched  // relative
		change func(f folder)
		first  string // what is reported
	}{
		{"a file is written", []string{"a"}, Watched{Files: []string{"a"}}, func(f folder) { f.write("a") }, "a"},
		{"a file is replaced by a rename", []string{"a"}, Watched{Files: []string{"a"}}, func(f folder) { f.replace("a") }, "a"},
		{"a file is removed", []string{"a"}, Watched{Files: []string{"a"}}, func(f folder) { f.check(os.Remove(f.path("a"))) }, "a"},
		{"other files change first", []string{"a", "b"}, Watched{Files: []string{"a"}},
			func(f folder) { f.write("b"); f.replace("c"); f.check(os.Chmod(f.path("a"), 0o600)); f.write("a") }, "a"},
		{"a file comes to where one was looked for", []string{"d/a"}, Watched{Dirs: []string{"d"}}, func(f folder) { f.write("d/b") }, "d/b"},
		{"a file that nobody read is written to there", []string{"d/a", "d/b"}, Watched{Files: []string{"d/b"}, Dirs: []string{"d"}},
			func(f folder) { f.write("d/a"); f.write("d/b") }, "d/b"},
		{"a file of a tree is written", []string{"d/a"}, Watched{Trees: []string{"d"}}, func(f folder) { f.write("d/a") }, "d/a"},
		{"a folder is made that was looked for", nil, Watched{Dirs: []string{"x/y"}}, func(f folder) { f.write("x/y/z") }, "x"},
		{"a file comes whose folder was missing", nil, Watched{Files: []string{"x/y/z"}}, func(f folder) { f.write("x/y/z") }, "x"},
		{"the folder of a file is replaced", []string{"d/a", "e/a"}, Watched{Files: []string{"d/a"}},
			func(f folder) {
				f.check(os.Rename(f.path("d"), f.path("old")))
				f.check(os.Rename(f.path("e"), f.path("d")))
			}, "d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, tt.files...)
			w, err := NewWatcher(slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			abs := func(names []string) []string {
				var out []string
				for _, n := range names {
					out = append(out, f.path(n))
				}
				return out
			}
			w.Set(Watched{Files: abs(tt.want.Files), Dirs: abs(tt.want.Dirs), Trees: abs(tt.want.Trees)}, time.Now().Add(time.Hour))
			tt.change(f)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if changed, ok := w.Wait(ctx); !ok || changed != f.path(tt.first) {
				t.Errorf("noticed %q, %v, want %q", changed, ok, f.path(tt.first))
			}
		})
	}
}

func TestWatcherFollowsLinks(t *testing.T) {
	t.Parallel()
	// As Kubernetes mounts a ConfigMap: a link to a folder that is switched.
	f := newFolder(t, "v1/a", "v2/a")
	f.check(os.Symlink("v1", f.path("data")))
	f.check(os.Symlink("data/a", f.path("a")))
	w, err := NewWatcher(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Set(Watched{Files: []string{f.path("a")}, Dirs: []string{f.dir}}, time.Now().Add(time.Hour))
	f.check(os.Symlink("v2", f.path("data.new")))
	f.check(os.Rename(f.path("data.new"), f.path("data")))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, ok := w.Wait(ctx); !ok {
		t.Error("the switch was not noticed")
	}
}

func TestWatcherNoticesWhatChangedBefore(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "a")
	w, err := NewWatcher(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Set(Watched{Files: []string{f.path("a")}}, time.Now().Add(-time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if changed, ok := w.Wait(ctx); !ok || changed != f.path("a") {
		t.Errorf("noticed %q, %v", changed, ok)
	}
	// Once: the folder is watched now.
	w.Set(Watched{Files: []string{f.path("a")}}, time.Now().Add(-time.Hour))
	done, stop := context.WithCancel(t.Context())
	stop()
	if changed, ok := w.Wait(done); ok {
		t.Errorf("noticed %q again", changed)
	}
}

func TestWatchedAfterFailures(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	defer a.builder.Close()
	gen := &generation{cfg: &config.Config{Files: []string{"/c/config.cue"}}}
	a.watchAfter(nil, &built{gen: gen, files: []string{"/c/w.js"}, dirs: []string{"/c"}, folders: []string{"/c/public"}})
	a.watchAfter(&config.Error{Mistakes: []config.Mistake{{}}, Files: []string{"/c/more.cue"}}, nil)
	got := a.Watched()
	for _, want := range []string{"/c/config.cue", "/c/w.js", "/c/more.cue"} {
		found := false
		for _, f := range got.Files {
			found = found || f == want
		}
		if !found {
			t.Errorf("%s is not watched after a failure: %v", want, got.Files)
		}
	}
	if len(got.Dirs) != 1 || len(got.Trees) != 1 {
		t.Errorf("watches %v and %v", got.Dirs, got.Trees)
	}
	// What works replaces what failed.
	a.watchAfter(nil, &built{gen: gen})
	if got := a.Watched(); len(got.Files) != 1 || len(got.Dirs) != 0 {
		t.Errorf("watches %+v, want the configuration alone", got)
	}
	a.watchAfter(errors.New("the machine"), nil)
	if got := a.Watched(); len(got.Files) != 1 {
		t.Errorf("watches %+v after an error of the machine", got)
	}
}

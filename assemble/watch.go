package assemble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/edge-runtime/edge/config"
)

// Watched is what a configuration was made from, as absolute paths.
type Watched struct {
	Files []string // whose contents matter
	Dirs  []string // where files were looked for: what comes and goes matters
	Trees []string // folders of disk services: everything in them matters
}

// Watched returns what to watch: what the last Load looked at and, when it
// failed, what serves.
func (a *App) Watched() Watched {
	a.watchMu.Lock()
	defer a.watchMu.Unlock()
	w := a.watched
	return Watched{Files: slices.Clone(w.Files), Dirs: slices.Clone(w.Dirs), Trees: slices.Clone(w.Trees)}
}

// watchAfter notes what an attempt looked at. After one that failed, what was
// watched before is watched too: going back has to be seen.
func (a *App) watchAfter(err error, next *built) {
	files, dirs, trees := map[string]bool{}, map[string]bool{}, map[string]bool{}
	add := func(m map[string]bool, list []string) {
		for _, path := range list {
			m[path] = true
		}
	}
	var ce *config.Error
	if errors.As(err, &ce) {
		add(files, ce.Files)
	}
	if next != nil {
		add(files, next.gen.cfg.Files)
		add(files, next.files)
		add(dirs, next.dirs)
		add(trees, next.folders)
	}
	a.watchMu.Lock()
	defer a.watchMu.Unlock()
	if err != nil {
		add(files, a.watched.Files)
		add(dirs, a.watched.Dirs)
		add(trees, a.watched.Trees)
	}
	a.watched = Watched{Files: slices.Sorted(maps.Keys(files)), Dirs: slices.Sorted(maps.Keys(dirs)), Trees: slices.Sorted(maps.Keys(trees))}
}

// quiet is how long nothing may change before a change is acted on: editors and
// package managers write in bursts.
const quiet = 100 * time.Millisecond

// Watcher tells when something of a Watched changes. It watches folders, so that
// a file that is replaced by a rename is seen, and one that is not there yet.
type Watcher struct {
	notify *fsnotify.Watcher
	log    *slog.Logger
	files  map[string]bool
	dirs   map[string]bool
	trees  map[string]bool
	// missing are folders that are not there, with the ancestor that is watched in
	// their place.
	missing map[string]string
	// stale is a file that changed before its folder was watched.
	stale string
}

// NewWatcher returns a Watcher of nothing. Close it.
func NewWatcher(log *slog.Logger) (*Watcher, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w (the limit is fs.inotify.max_user_instances)", err)
	}
	return &Watcher{notify: n, log: log}, nil
}

// Close stops watching.
func (w *Watcher) Close() error { return w.notify.Close() }

// Set replaces what is watched. since is when reading it began: what changed
// after that, in folders that were not watched yet, is noticed too.
func (w *Watcher) Set(want Watched, since time.Time) {
	w.files, w.dirs, w.trees, w.missing = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]string{}
	folders := map[string]bool{}
	for _, file := range want.Files {
		w.files[file] = true
		folders[filepath.Dir(file)] = true
		// A link that is switched to another file leads elsewhere after all.
		if real, err := filepath.EvalSymlinks(file); err == nil && real != file {
			w.files[real] = true
			folders[filepath.Dir(real)] = true
		}
	}
	for _, dir := range want.Dirs {
		w.dirs[dir] = true
		folders[dir] = true
	}
	for _, dir := range want.Trees {
		w.trees[dir] = true
		folders[dir] = true
	}
	watch := map[string]bool{}
	for dir := range folders {
		there := dir
		for !isFolder(there) && filepath.Dir(there) != there {
			there = filepath.Dir(there)
		}
		if there != dir {
			w.missing[dir] = there
		}
		watch[there] = true
		// The folder itself may be replaced by a rename, too.
		watch[filepath.Dir(there)] = true
	}
	for _, old := range w.notify.WatchList() {
		if !watch[old] {
			// It may be gone, which is why it is watched no more.
			_ = w.notify.Remove(old)
		}
	}
	known := w.notify.WatchList()
	for dir := range watch {
		if err := w.notify.Add(dir); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			w.log.Warn("watch folder", "folder", dir, "error", err, "hint", "the limit is fs.inotify.max_user_watches")
		}
	}
	w.findStale(known, since)
}

// findStale looks for files that changed while their folder was not watched. Times of
// files are coarse, so it looks a moment further back: one load too many does no
// harm, and a file whose time lies in the future is seen once.
func (w *Watcher) findStale(known []string, since time.Time) {
	since = since.Add(-20 * time.Millisecond)
	for file := range w.files {
		if slices.Contains(known, filepath.Dir(file)) {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.ModTime().After(since) {
			w.stale = file
			return
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Wait returns when something has changed and nothing more did for a moment, with
// the name of what changed first. It returns false when ctx ends.
func (w *Watcher) Wait(ctx context.Context) (changed string, ok bool) {
	var timer <-chan time.Time
	if w.stale != "" {
		changed, timer, w.stale = w.stale, time.After(quiet), ""
	}
	for {
		select {
		case <-ctx.Done():
			return "", false
		case <-timer:
			return changed, true
		case e, open := <-w.notify.Events:
			if !open {
				return "", false
			}
			if w.concerns(e) {
				if changed == "" {
					changed = e.Name
				}
				timer = time.After(quiet)
			}
		case err, open := <-w.notify.Errors:
			if !open {
				return "", false
			}
			// Events were lost: anything may have changed.
			w.log.Warn("watch files", "error", err)
			changed, timer = "files", time.After(quiet)
		}
	}
}

// concerns reports whether an event may change what is served.
func (w *Watcher) concerns(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	if w.files[e.Name] || w.dirs[e.Name] || w.trees[e.Name] {
		return true
	}
	dir := filepath.Dir(e.Name)
	if w.trees[dir] || w.dirs[dir] && e.Op != fsnotify.Write {
		return true
	}
	// The folder of a file, or the first part of a way that was not there.
	for file := range w.files {
		if strings.HasPrefix(file, e.Name+string(filepath.Separator)) {
			return true
		}
	}
	for dir := range w.missing {
		if dir == e.Name || strings.HasPrefix(dir, e.Name+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

package vfs

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// BuilderOptions configures a Builder. Zero values take the defaults.
type BuilderOptions struct {
	Parallel int // builds at a time; default one per core
	// Command makes a process that calls Serve with its standard input and output.
	// Builds run in such processes, so that source code that makes the bundler
	// recurse without end, or take all memory, ends only its process. Nil: builds
	// run in this process.
	Command func() *exec.Cmd
	// Timeout bounds one build in a process; default one minute.
	Timeout time.Duration
	// Memory bounds, in bytes, what a process takes; default 2 GiB.
	Memory int64
}

// Builder makes bundles, several at a time, and makes none again that has not
// changed. Safe for many goroutines.
type Builder struct {
	opts  BuilderOptions
	slots chan struct{}

	mu      sync.Mutex
	entries map[[32]byte]*entry
	round   int
	idle    []*process
	linger  *time.Timer // ends the idle processes
}

// entry is one bundle in the cache.
type entry struct {
	mu     sync.Mutex // held while the bundle is made or checked
	round  int        // of the last use; guarded by Builder.mu
	bundle *Bundle
	state  state
}

// state is what a bundle was made from.
type state struct {
	Root  string
	Files map[string]stamp
	Dirs  map[string][32]byte
}

// NewBuilder returns a Builder. Close it when it is no longer needed.
func NewBuilder(opts BuilderOptions) *Builder {
	if opts.Parallel <= 0 {
		opts.Parallel = runtime.GOMAXPROCS(0)
	}
	if opts.Timeout <= 0 {
		opts.Timeout = time.Minute
	}
	if opts.Memory <= 0 {
		opts.Memory = 2 << 30
	}
	return &Builder{opts: opts, slots: make(chan struct{}, opts.Parallel), entries: map[[32]byte]*entry{}}
}

// Build makes a bundle like the function Build, or returns the one that it made
// from the same options before when no file or folder that went into it has
// changed.
func (b *Builder) Build(opts BuildOptions) (*Bundle, error) {
	// A build process may run in another folder.
	root, err := filepath.Abs(opts.Root)
	if err != nil {
		return nil, fmt.Errorf("find project: %w", err)
	}
	opts.Root = root
	key := opts.key()
	b.mu.Lock()
	e := b.entries[key]
	if e == nil {
		e = &entry{}
		b.entries[key] = e
	}
	e.round = b.round
	b.mu.Unlock()

	e.mu.Lock()
	defer e.mu.Unlock()
	b.slots <- struct{}{}
	defer func() { <-b.slots }()
	if e.bundle != nil && e.state.holds(opts.Root) {
		return e.bundle, nil
	}
	e.bundle = nil
	bundle, st, err := b.make(opts)
	if err != nil {
		return nil, err
	}
	e.bundle, e.state = bundle, st
	return bundle, nil
}

// Sweep forgets the bundles that were not asked for since the last Sweep. Call
// it after each reload.
func (b *Builder) Sweep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, e := range b.entries {
		if e.round < b.round {
			delete(b.entries, key)
		}
	}
	b.round++
}

// Close ends the processes that the builder started. Builds must have returned.
func (b *Builder) Close() {
	b.mu.Lock()
	idle := b.idle
	b.idle = nil
	if b.linger != nil {
		b.linger.Stop()
	}
	b.mu.Unlock()
	for _, p := range idle {
		p.stop()
	}
}

// make builds, here or in a process.
func (b *Builder) make(opts BuildOptions) (*Bundle, state, error) {
	if b.opts.Command == nil {
		return buildState(opts)
	}
	p, err := b.acquire()
	if err != nil {
		return nil, state{}, err
	}
	bundle, st, alive, err := p.build(opts, b.opts)
	if !alive {
		p.stop()
		p = nil
	}
	b.release(p)
	return bundle, st, err
}

// buildState builds in this process.
func buildState(opts BuildOptions) (*Bundle, state, error) {
	bundle, s, err := build(opts)
	if err != nil {
		return nil, state{}, err
	}
	return bundle, state{Root: s.jail.dir, Files: s.files, Dirs: s.dirs}, nil
}

// holds reports whether everything is as it was read.
func (st state) holds(configDir string) bool {
	root, err := ProjectRoot(configDir)
	if err != nil || root != st.Root {
		return false
	}
	j, err := openJail(root)
	if err != nil {
		return false
	}
	defer j.Close()
	for rel, sum := range st.Dirs {
		if now, ok := j.list(rel); !ok || now != sum {
			return false
		}
	}
	for rel, old := range st.Files {
		if !old.holds(j, rel) {
			return false
		}
	}
	return true
}

// holds compares a file. Packages change by being installed anew, so their size
// and time are enough; the author's files are compared by content, since an
// editor may write twice within the file system's idea of an instant.
func (old stamp) holds(j *jail, rel string) bool {
	if strings.Contains("/"+rel, "/node_modules/") {
		info, err := j.root.Stat(rel)
		return err == nil && info.Size() == old.Size && info.ModTime().Equal(old.Mod)
	}
	data, _, err := j.read(rel, old.Size)
	return err == nil && sha256.Sum256(data) == old.Sum
}

// key identifies options, the contents of inline modules included.
func (o BuildOptions) key() [32]byte {
	h := sha256.New()
	part := func(parts ...string) {
		for _, p := range parts {
			var n [8]byte
			binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
			h.Write(n[:])
			h.Write([]byte(p))
		}
	}
	part(o.Root, o.Main, o.Within, string([]byte{btoi(o.Dev)}))
	part(o.Private...)
	var n [8]byte
	for _, v := range []int64{o.MaxBytes, int64(o.MaxFiles), int64(len(o.Private)), int64(len(o.Modules))} {
		binary.LittleEndian.PutUint64(n[:], uint64(v))
		h.Write(n[:])
	}
	for _, m := range o.Modules {
		part(m.Name, string([]byte{byte(m.Type)}), m.File, string(m.Source))
	}
	return [32]byte(h.Sum(nil))
}

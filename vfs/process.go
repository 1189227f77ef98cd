package vfs

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// The stack of a goroutine is what endless nesting in the source fills first.
	processStack = 256 << 20
	// An idle process is kept for as long, for the next build.
	processLinger = 5 * time.Second
)

// request asks a process for a build.
type request struct {
	Options BuildOptions
	Memory  int64 // bytes that the process may take
}

// reply is what became of it. Err is set for failures that are not the worker's
// code.
type reply struct {
	Bundle *wireBundle
	State  state
	Build  *BuildError
	Err    string
}

// wireBundle is a Bundle on its way between processes.
type wireBundle struct {
	Bundle  Bundle
	Given   bool
	Packed  map[string][]byte
	Display map[string]string
}

// Serve is the other end of a Builder that has a Command: it builds what comes
// in on r and writes the bundles to w, until r ends. It bounds the stack and the
// memory of the process that calls it, so that process should do nothing else.
func Serve(r io.Reader, w io.Writer) error {
	debug.SetMaxStack(processStack)
	done := make(chan struct{})
	defer close(done)
	var limit atomic.Int64
	go watchMemory(&limit, done)
	in, out := gob.NewDecoder(r), gob.NewEncoder(w)
	for {
		var q request
		if err := in.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read build request: %w", err)
		}
		limit.Store(q.Memory)
		if err := out.Encode(answer(q)); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
	}
}

func answer(q request) reply {
	bundle, st, err := buildState(q.Options)
	var be *BuildError
	switch {
	case errors.As(err, &be):
		return reply{Build: be}
	case err != nil:
		return reply{Err: err.Error()}
	}
	return reply{State: st, Bundle: &wireBundle{Bundle: *bundle, Given: bundle.given, Packed: bundle.packed, Display: bundle.display}}
}

// watchMemory ends the process when it takes too much: what a build reads may
// have no end.
func watchMemory(limit *atomic.Int64, done <-chan struct{}) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			metrics.Read(sample)
			taken := int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
			if most := limit.Load(); most > 0 && taken > most {
				fmt.Fprintln(os.Stderr, "build: out of memory")
				os.Exit(3)
			}
		}
	}
}

// process is a running Serve.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *gob.Decoder
	enc  *gob.Encoder
	once sync.Once
}

// acquire takes an idle process or starts one.
func (b *Builder) acquire() (*process, error) {
	b.mu.Lock()
	if b.linger != nil {
		b.linger.Stop()
	}
	if n := len(b.idle); n > 0 {
		p := b.idle[n-1]
		b.idle = b.idle[:n-1]
		b.mu.Unlock()
		return p, nil
	}
	b.mu.Unlock()
	cmd := b.opts.Command()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start build process: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start build process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start build process: %w", err)
	}
	return &process{cmd: cmd, in: in, out: gob.NewDecoder(out), enc: gob.NewEncoder(in)}, nil
}

// release keeps a process for the next build, for a while; p is nil when it has
// ended.
func (b *Builder) release(p *process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p != nil {
		b.idle = append(b.idle, p)
	}
	if b.linger == nil {
		b.linger = time.AfterFunc(processLinger, b.retire)
		return
	}
	b.linger.Reset(processLinger)
}

// retire ends the idle processes: between reloads their memory is better used
// elsewhere.
func (b *Builder) retire() {
	b.mu.Lock()
	idle := b.idle
	b.idle = nil
	b.mu.Unlock()
	for _, p := range idle {
		p.stop()
	}
}

// stop ends the process and waits for it.
func (p *process) stop() {
	p.once.Do(func() {
		p.in.Close()
		// Serve holds nothing that has to be saved.
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
}

// build has the process make one bundle. alive reports whether it can make
// another.
func (p *process) build(opts BuildOptions, limits BuilderOptions) (_ *Bundle, _ state, alive bool, err error) {
	late := make(chan struct{})
	timer := time.AfterFunc(limits.Timeout, func() {
		close(late)
		_ = p.cmd.Process.Kill()
	})
	defer timer.Stop()
	var r reply
	if err = p.enc.Encode(request{opts, limits.Memory}); err == nil {
		err = p.out.Decode(&r)
	}
	if err != nil {
		return nil, state{}, false, p.gaveUp(opts, limits.Timeout, late)
	}
	switch {
	case r.Build != nil:
		return nil, state{}, true, r.Build
	case r.Err != "":
		return nil, state{}, true, errors.New(r.Err)
	}
	bundle := r.Bundle.Bundle
	bundle.given, bundle.packed, bundle.display = r.Bundle.Given, r.Bundle.Packed, r.Bundle.Display
	bundle.reindex()
	return &bundle, r.State, true, nil
}

// gaveUp is the error of a build that ended its process.
func (p *process) gaveUp(opts BuildOptions, timeout time.Duration, late <-chan struct{}) error {
	m := Message{Text: fmt.Sprintf("build %q: the bundler gave up", opts.Main), Hint: "the source nests too deeply, or takes too much memory to bundle"}
	select {
	case <-late:
		m.Text = fmt.Sprintf("build %q: the bundler took longer than %v", opts.Main, timeout)
		m.Hint = "the source nests too deeply, or a computed import matches too many files"
	default:
	}
	e := &BuildError{Messages: []Message{m}}
	// Nothing is known of what was read: the folder is where a change may mend it.
	e.Dirs = []string{opts.Root, filepath.Join(opts.Root, filepath.Dir(opts.Main))}
	return e
}

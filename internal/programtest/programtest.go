// Package programtest runs the program in tests: a test binary that is started
// with a variable set is the program, so that what is tested is what was
// compiled with the test.
package programtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/edge-runtime/edge/cli"
)

const variable = "EDGE_TEST_IS_PROGRAM"

// Patience is how long tests wait for what has to happen, on the slowest
// machine.
const Patience = 30 * time.Second

// Main is for TestMain: in a child of a test it is the program and does not
// return.
func Main(m *testing.M) {
	if os.Getenv(variable) != "" {
		os.Exit(cli.Main(os.Args[1:], cli.BuiltinKinds()...))
	}
	os.Exit(m.Run())
}

// Command returns the program with arguments.
func Command(ctx context.Context, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err) // there is always one on the systems that tests run on
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), variable+"=1")
	return cmd
}

// Process is a running program.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error

	mu      sync.Mutex
	lines   []string
	changed chan struct{} // closed when a line comes
}

// Start starts the program in a folder, with more environment. It is ended with
// the context.
func Start(ctx context.Context, dir string, env []string, args ...string) (*Process, error) {
	p := &Process{cmd: Command(ctx, args...), done: make(chan struct{}), changed: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(p.cmd.Env, env...)
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start program: %w", err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s := bufio.NewScanner(out)
		s.Buffer(nil, 16<<20)
		for s.Scan() {
			p.mu.Lock()
			p.lines = append(p.lines, s.Text())
			close(p.changed)
			p.changed = make(chan struct{})
			p.mu.Unlock()
		}
	}()
	go func() {
		p.err = p.cmd.Wait()
		_ = in.Close() // it never fails
		<-read
		close(p.done)
	}()
	return p, nil
}

// Output returns what the program has written.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n") + "\n"
}

// WaitFor waits for the n-th line (from 1) that matches a pattern.
func (p *Process) WaitFor(pattern string, n int) (string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	timeout := time.NewTimer(Patience)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		found, lines, changed := 0, slices.Clone(p.lines), p.changed
		p.mu.Unlock()
		for _, line := range lines {
			if re.MatchString(line) {
				if found++; found == n {
					return line, nil
				}
			}
		}
		select {
		case <-changed:
		case <-p.done:
			if p.lineCount() == len(lines) {
				return "", fmt.Errorf("the program ended (%v) and wrote no line like %q but:\n%s", p.err, pattern, p.Output())
			}
		case <-timeout.C:
			return "", fmt.Errorf("no line like %q came:\n%s", pattern, p.Output())
		}
	}
}

func (p *Process) lineCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// URL waits until the program listens on a socket and returns its URL, which
// ends with a slash. The program logs JSON.
func (p *Process) URL(socket string) (string, error) {
	line, err := p.WaitFor(fmt.Sprintf(`"msg":"listening","socket":%q`, socket), 1)
	if err != nil {
		return "", err
	}
	var record struct{ URL string }
	if err := json.Unmarshal([]byte(line), &record); err != nil {
		return "", fmt.Errorf("read log line %q: %w", line, err)
	}
	return record.URL, nil
}

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Wait waits for the end and returns the exit code, -1 after a signal.
func (p *Process) Wait() (int, error) {
	select {
	case <-p.done:
	case <-time.After(Patience):
		return 0, fmt.Errorf("the program did not end:\n%s", p.Output())
	}
	var ee *exec.ExitError
	switch {
	case p.err == nil:
		return 0, nil
	case errors.As(p.err, &ee):
		return ee.ExitCode(), nil
	}
	return 0, p.err
}

// Kill ends the program and waits for it.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

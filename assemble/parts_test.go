package assemble

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

func TestUndoRunsNewestFirst(t *testing.T) {
	t.Parallel()
	var u undoList
	var ran []int
	broken := errors.New("broken")
	for i := range 3 {
		u.add(func() error {
			ran = append(ran, i)
			if i == 1 {
				return broken
			}
			return nil
		})
	}
	if err := u.run(); !errors.Is(err, broken) {
		t.Errorf("undo reports %v, want %v", err, broken)
	}
	if !slices.Equal(ran, []int{2, 1, 0}) {
		t.Errorf("undone in the order %v, want the newest first", ran)
	}
	if err := u.run(); err != nil || len(ran) != 3 {
		t.Error("undone twice")
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]string{
		"http://a.example/":             {"a.example", "/"},
		"http://a.example:8080/x/y?z=1": {"a.example", "/x/y"},
		"http://[::1]:80/x":             {"[::1]", "/x"},
		"http://[::1]/":                 {"[::1]", "/"},
		"http://a.example":              {"a.example", "/"},
		"http://a.example?q":            {"a.example", ""},
	} {
		if host, path := target(url); host != want[0] || path != want[1] {
			t.Errorf("target of %q is %q, %q, want %q", url, host, path, want)
		}
	}
}

func TestListenProblems(t *testing.T) {
	t.Parallel()
	a := New(Options{})
	defer a.builder.Close()
	wrap := func(errno syscall.Errno) error { return &net.OpError{Op: "listen", Err: errno} }
	for _, tt := range []struct {
		address string
		err     error
		want    string
	}{
		{"127.0.0.1:80", wrap(syscall.EACCES), "permission denied (ports below 1024"},
		{"127.0.0.1:8080", wrap(syscall.EADDRINUSE), "another port, such as 127.0.0.1:8081;"},
		{":65535", wrap(syscall.EADDRINUSE), "another port, such as :0;"},
		{"10.9.8.7:1", wrap(syscall.EADDRNOTAVAIL), "the address is not available (the machine has no such address"},
		{"x", wrap(syscall.EINVAL), "listen on x: invalid argument"},
		{"x", errors.New("odd"), "listen on x: odd"},
	} {
		if got := a.listenProblem(tt.address, tt.err); !strings.Contains(got, tt.want) {
			t.Errorf("listening on %s: %q lacks %q", tt.address, got, tt.want)
		}
	}
}

func TestListenerPassesFromLeaseToLease(t *testing.T) {
	t.Parallel()
	real, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	shared := share(real)
	// A client that comes before anybody accepts waits.
	early, err := net.Dial("tcp", real.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	first := shared.lease()
	if first.Addr() != real.Addr() {
		t.Errorf("a lease has the address %v, want %v", first.Addr(), real.Addr())
	}
	conn, err := first.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	blocked := make(chan error, 1)
	go func() {
		_, err := first.Accept()
		blocked <- err
	}()
	second := shared.lease()
	_ = first.Close()
	_ = first.Close() // harmless
	if err := <-blocked; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a lease that ended accepts: %v", err)
	}
	late, err := net.Dial("tcp", real.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if conn, err = second.Accept(); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if err := shared.close(); err != nil {
		t.Error(err)
	}
	if err := shared.close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := second.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener accepts: %v", err)
	}
}

// pausing is a body whose Reads wait.
type pausing struct {
	pauses []time.Duration
	closed chan struct{}
}

func (p *pausing) Read(b []byte) (int, error) {
	if len(p.pauses) == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(p.pauses[0]):
	case <-p.closed:
		return 0, errors.New("closed")
	}
	p.pauses = p.pauses[1:]
	return copy(b, "x"), nil
}

func (p *pausing) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func TestIdleLimit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pauses []time.Duration
		want   string
		ends   outcome.Outcome
	}{
		{"steady", []time.Duration{9 * time.Second, 9 * time.Second, 9 * time.Second}, "xxx", outcome.OK},
		{"standing still", []time.Duration{time.Second, 11 * time.Second}, "x", outcome.IdleTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := idleLimit(fetch.FetcherFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
					return &fetch.Response{Status: 200, Body: fetch.StreamBody(&pausing{pauses: tt.pauses, closed: make(chan struct{})}, -1)}, nil
				}), 10*time.Second)
				resp, err := f.Fetch(t.Context(), &fetch.Request{})
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body.Reader)
				if string(got) != tt.want || outcome.Of(err) != tt.ends {
					t.Errorf("read %q and %v, want %q and %s", got, err, tt.want, tt.ends)
				}
				// Between two Reads the consumer may take its time.
				time.Sleep(time.Hour)
				if err := resp.Body.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestGenerationStaysOpenWhileInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &generation{idle: make(chan struct{}, 1), units: map[string]*unit{}}
		for range 2 {
			if !g.enter() {
				t.Fatal("cannot enter")
			}
		}
		drained := make(chan struct{})
		go func() {
			g.drain(t.Context(), nil)
			close(drained)
		}()
		g.exit()
		synctest.Wait()
		if !g.enter() {
			t.Error("a generation that drains cannot be entered by those it waits for")
		}
		g.exit()
		g.exit()
		<-drained
		if g.enter() {
			t.Error("entered a closed generation")
		}
	})
}

func TestGenerationHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &generation{idle: make(chan struct{}, 1)}
		g.enter()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		g.drain(ctx, nil)
		if g.enter() {
			t.Error("entered a closed generation")
		}
		g.exit() // late, and harmless
		if g.enter() {
			t.Error("entered a closed generation")
		}
	})
}

func TestLateBinding(t *testing.T) {
	t.Parallel()
	answer := func(status int) *unit {
		return &unit{fetcher: func(string) (fetch.Fetcher, error) {
			return fetch.FetcherFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
				return &fetch.Response{Status: status}, nil
			}), nil
		}}
	}
	first := &generation{idle: make(chan struct{}, 1), units: map[string]*unit{"s": answer(201)}}
	second := &generation{idle: make(chan struct{}, 1), units: map[string]*unit{"s": answer(202)}}
	r := &resolver{}
	f := r.late("s", "")
	ask := func() (int, error) {
		resp, err := f.Fetch(t.Context(), &fetch.Request{URL: "http://s/"})
		if err != nil {
			return 0, err
		}
		return resp.Status, nil
	}
	if _, err := ask(); outcome.Of(err) != outcome.LoadShed {
		t.Errorf("before there is a generation: %v", err)
	}
	r.gen.Store(first)
	if got, err := ask(); got != 201 || err != nil {
		t.Errorf("answers %d, %v, want 201", got, err)
	}
	r.gen.Store(second)
	if got, err := ask(); got != 202 || err != nil {
		t.Errorf("answers %d, %v after a reload, want 202", got, err)
	}
	second.active.Add(closedBit)
	if _, err := ask(); outcome.Of(err) != outcome.LoadShed {
		t.Errorf("of a closed generation: %v", err)
	}
	if _, err := first.service("gone", ""); outcome.Of(err) != outcome.NotFound {
		t.Errorf("a service that is gone: %v", err)
	}
}

func TestHiddenFiles(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{".": false, "a": false, ".env": true, "a/.b": true, ".well-known": false, "a/.well-known": true, ".well-known/x": false} {
		if got := hidden(path); got != want {
			t.Errorf("hidden(%q) = %v", path, got)
		}
	}
}

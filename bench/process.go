package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// process is a server under load.
type process struct {
	cmd  *exec.Cmd
	addr string
	log  *bytes.Buffer
}

// freeAddr returns an address that nobody listens on right now.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// start runs a command that will listen on addr, and waits until it does.
func start(ctx context.Context, addr string, name string, args ...string) (*process, error) {
	p := &process{addr: addr, log: &bytes.Buffer{}, cmd: exec.CommandContext(ctx, name, args...)}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			return p, c.Close()
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("%s does not listen on %s: %s", name, addr, p.log), p.stop())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// rss returns the resident memory in bytes; peak is the highest it was.
func (p *process) rss() (now, peak int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	field := func(name string) int64 {
		_, rest, _ := strings.Cut(string(data), name+":")
		kb, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		n, _ := strconv.ParseInt(kb, 10, 64)
		return n << 10
	}
	return field("VmRSS"), field("VmHWM"), nil
}

// startEdge writes files (name, content, ...) into a folder and serves its
// config.cue, in which ADDR stands for the address.
func startEdge(ctx context.Context, o *options, files map[string]string, flags ...string) (*process, error) {
	dir, err := os.MkdirTemp(o.dir, "")
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	for name, content := range files {
		content = strings.ReplaceAll(content, "ADDR", addr)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	args := append([]string{"serve", filepath.Join(dir, "config.cue"), "--log-level", "error"}, flags...)
	return start(ctx, addr, o.edge, args...)
}

// startReference runs this program as the bare fasthttp handler or the proxy.
func startReference(ctx context.Context, what, backend string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	return start(ctx, addr, self, "-serve", what+"="+addr, "-backend", backend)
}

// serveReference is the other side of startReference.
func serveReference(spec, backend string) error {
	what, addr, _ := strings.Cut(spec, "=")
	switch what {
	case "fasthttp":
		return fasthttp.ListenAndServe(addr, func(c *fasthttp.RequestCtx) {
			c.SetContentType("text/plain")
			c.SetBodyString("Hello World")
		})
	case "proxy":
		u, err := url.Parse("http://" + backend)
		if err != nil {
			return err
		}
		return http.ListenAndServe(addr, httputil.NewSingleHostReverseProxy(u))
	case "backend":
		return http.ListenAndServe(addr, http.HandlerFunc(largeBody))
	}
	return fmt.Errorf("nothing to serve is named %q", what)
}

// largeBody sends as many MiB as ?mb= says.
func largeBody(w http.ResponseWriter, r *http.Request) {
	mb, _ := strconv.Atoi(r.URL.Query().Get("mb"))
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	w.Header().Set("Content-Length", strconv.Itoa(mb<<20))
	for range mb << 20 / len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

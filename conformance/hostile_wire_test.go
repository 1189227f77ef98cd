package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/edge-runtime/edge/isolate/outcome"
)

// dial connects to the server. The connection ends with the test's patience.
func (v *victim) dial(t *testing.T, socket string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", v.sockets[socket])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the test may have closed it
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// send sends bytes and returns the first answer, whose body is read.
func (v *victim) send(t *testing.T, text string) *http.Response {
	t.Helper()
	c := v.dial(t, "http")
	go func() { _, _ = io.WriteString(c, text) }() // the server may answer before it has all
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(resp); err != nil {
		t.Fatal(err)
	}
	return resp
}

// testWire looks at what responses with a dishonest head are on the wire: framed
// well, with nothing of the next response in them.
func (s *suite) testWire(t *testing.T) {
	v := s.victim
	var list struct{ All []string }
	if err := json.Unmarshal([]byte(v.ask(t, s.headers, "/list").body), &list); err != nil {
		t.Fatal(err)
	}
	for _, name := range list.All {
		t.Run(name, func(t *testing.T) {
			c := v.dial(t, "http")
			get := func(path string) string {
				return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, s.headers.host())
			}
			if _, err := io.WriteString(c, get("/"+name)+get("/ok")); err != nil {
				t.Fatal(err)
			}
			var wire bytes.Buffer
			br := bufio.NewReader(io.TeeReader(c, &wire))
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatalf("%v: %q", err, clip(wire.String()))
			}
			body, err := readAll(resp)
			if err != nil {
				t.Fatalf("%v: %q", err, clip(wire.String()))
			}
			checkDishonest(t, name, resp, body)
			next, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatalf("the response behind it: %v: %q", err, clip(wire.String()))
			}
			if body, err := readAll(next); err != nil || body != "ok" || next.StatusCode != 200 {
				t.Errorf("the response behind it: got %d %q (%v)", next.StatusCode, body, err)
			}
		})
	}
}

func checkDishonest(t *testing.T, name string, resp *http.Response, body string) {
	t.Helper()
	want, status := "hello", 200
	switch name {
	case "no_content_with_length":
		want, status = "", 204
	case "not_modified_with_length":
		want, status = "", 304
	case "status_text":
		status = 299
	case "chunked_and_length":
		want = "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
	}
	if resp.StatusCode != status || body != want {
		t.Errorf("got %d %q, want %d %q", resp.StatusCode, clip(body), status, want)
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "X-Injected") {
			t.Errorf("the head has %s", name)
		}
	}
	if o := resp.Header.Get("Edge-Outcome"); o != "" {
		t.Errorf("a worker forged the outcome %q", o)
	}
	if n := len(resp.Header.Values("Content-Length")); n > 1 || len(resp.TransferEncoding) > 0 && n > 0 {
		t.Errorf("the body is framed more than once: %v %v", resp.Header, resp.TransferEncoding)
	}
	if resp.Close {
		t.Error("a worker closed the connection")
	}
}

// The uploads: more than a tenant may hold, and more than a socket lets in.
const uploadBytes = 300 << 20

// zeros is that many bytes, and counts what was read of them.
type zeros struct {
	left int64
	read atomic.Int64
}

func (z *zeros) Read(p []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), z.left)
	clear(p[:n])
	z.left -= n
	z.read.Add(n)
	return int(n), nil
}

func (s *suite) testUploads(t *testing.T) {
	v := s.victim
	for _, tt := range []struct {
		path, socket string
		chunked      bool
		want         []outcome.Outcome
		body         string
		flat         bool // memory stays flat
	}{
		{"/count", "http", false, []outcome.Outcome{outcome.BodyTooLarge}, "", true},
		{"/count", "http", true, []outcome.Outcome{outcome.BodyTooLarge}, "", true},
		{"/ok", "http", false, []outcome.Outcome{outcome.BodyTooLarge}, "", true},
		{"/whole", "http", true, []outcome.Outcome{outcome.BodyTooLarge, outcome.Exception, outcome.MemoryExceeded}, "", false},
		{"/count", "big", false, []outcome.Outcome{outcome.OK}, strconv.Itoa(uploadBytes), true},
		{"/count", "big", true, []outcome.Outcome{outcome.OK}, strconv.Itoa(uploadBytes), true},
		{"/echo", "big", true, []outcome.Outcome{outcome.OK}, strings.Repeat("\x00", 10), true},
		{"/first", "big", true, []outcome.Outcome{outcome.OK}, "some", true},
		{"/ignore", "big", false, []outcome.Outcome{outcome.OK}, "ignored", true},
		{"/whole", "big", false, []outcome.Outcome{outcome.Exception, outcome.MemoryExceeded}, "", false},
		{"/text", "big", true, []outcome.Outcome{outcome.Exception, outcome.MemoryExceeded}, "", false},
		{"/clone", "big", true, []outcome.Outcome{outcome.Exception, outcome.MemoryExceeded, outcome.Fatal}, "", false},
	} {
		t.Run(fmt.Sprintf("%s on %s chunked %t", tt.path[1:], tt.socket, tt.chunked), func(t *testing.T) {
			before := v.usage(t).rss
			peak, stop := v.peak(t)
			body := &zeros{left: uploadBytes}
			a := v.upload(t, tt.socket, s.uploads.host(), tt.path, body, tt.chunked)
			stop()
			a.checkFailure(t, v.dir, tt.want...)
			if a.outcome() == outcome.OK && !strings.HasPrefix(a.body, tt.body) {
				t.Errorf("got %q, want %q", clip(a.body), tt.body)
			}
			grown := (peak.Load() - before) >> 20
			t.Logf("%d MiB were read, the process grew by %d MiB", body.read.Load()>>20, grown)
			if tt.flat && grown > 100 {
				t.Errorf("the process grew by %d MiB", grown)
			}
			v.healthy(t, s.uploads)
		})
	}
}

// upload sends a body and reads the answer meanwhile. Of a long answer the begin
// is kept; all of it is counted and has to be as long as what was sent.
func (v *victim) upload(t *testing.T, socket, host, path string, body *zeros, chunked bool) answer {
	t.Helper()
	c := v.dial(t, socket)
	want := body.left
	go func() {
		bw := bufio.NewWriterSize(c, 64<<10)
		fmt.Fprintf(bw, "POST %s HTTP/1.1\r\nHost: %s\r\n", path, host)
		if !chunked {
			fmt.Fprintf(bw, "Content-Length: %d\r\n\r\n", body.left)
			_, _ = io.Copy(bw, body) // the server may answer before it has all
			_ = bw.Flush()
			return
		}
		fmt.Fprint(bw, "Transfer-Encoding: chunked\r\n\r\n")
		for chunk := make([]byte, 32<<10); ; {
			n, err := body.Read(chunk)
			if err != nil {
				break
			}
			fmt.Fprintf(bw, "%x\r\n", n)
			_, _ = bw.Write(chunk[:n])
			if _, err := bw.WriteString("\r\n"); err != nil {
				return
			}
		}
		fmt.Fprint(bw, "0\r\n\r\n")
		_ = bw.Flush()
	}()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		v.alive(t)
		t.Fatal(err)
	}
	defer resp.Body.Close()
	head := make([]byte, 1000)
	n, err := io.ReadFull(resp.Body, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		t.Fatal(err)
	}
	rest, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if path == "/echo" && resp.StatusCode == 200 && int64(n)+rest != want {
		t.Errorf("%d bytes came back, want %d", int64(n)+rest, want)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(head[:n])}
}

// peak watches the memory of the process until stop is called.
func (v *victim) peak(t *testing.T) (peak *atomic.Int64, stop func()) {
	peak = new(atomic.Int64)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			peak.Store(max(peak.Load(), v.usage(t).rss))
			select {
			case <-quit:
				return
			case <-tick.C:
			}
		}
	}()
	return peak, func() {
		close(quit)
		<-done
	}
}

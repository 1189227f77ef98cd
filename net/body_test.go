package edgenet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// readAll answers with what it read of the body.
func readAll(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	b, err := req.Body.ReadAll(1 << 30)
	if err != nil {
		return nil, err
	}
	return &fetch.Response{Status: 200, Body: fetch.BytesBody(fmt.Appendf(nil, "%d %.20s", len(b), b))}, nil
}

func TestSmallBodiesAreInline(t *testing.T) {
	t.Parallel()
	kinds := make(chan string, 1)
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		switch {
		case req.Body == nil:
			kinds <- "none"
		case req.Body.Reader == nil:
			kinds <- fmt.Sprintf("inline %d", len(req.Body.Inline))
		default:
			kinds <- fmt.Sprintf("stream %d", req.Body.Size)
		}
		return readAll(ctx, req)
	})
	tests := []struct{ name, head, body, want string }{
		{"none", "POST / HTTP/1.1\nHost: h\n\n", "", "none"},
		{"empty", "POST / HTTP/1.1\nHost: h\nContent-Length: 0\n\n", "", "none"},
		{"small", "POST / HTTP/1.1\nHost: h\nContent-Length: 3\n\n", "abc", "inline 3"},
		{"GET with a body", "GET / HTTP/1.1\nHost: h\nContent-Length: 3\n\n", "abc", "inline 3"},
		{"64 KiB", "POST / HTTP/1.1\nHost: h\nContent-Length: 65536\n\n", strings.Repeat("x", 65536), "inline 65536"},
		{"more", "POST / HTTP/1.1\nHost: h\nContent-Length: 65537\n\n", strings.Repeat("x", 65537), "stream 65537"},
		{"chunked", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n", "3\nabc\n2;ext=1\nde\n0\n\n", "stream -1"},
		{"empty chunked", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n", "0\n\n", "stream -1"},
		{"trailers are dropped", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\nTrailer: X-T\n\n", "1\na\n0\nX-T: 1\n\n", "stream -1"},
	}
	c := ts.dial() // one after another on one connection: each ends where the next begins
	for _, tt := range tests {
		c.send(tt.head + tt.body)
		if resp, body := c.get("GET"); resp.StatusCode != 200 {
			t.Errorf("%s: response is %d %q", tt.name, resp.StatusCode, body)
		}
		if got := <-kinds; got != tt.want {
			t.Errorf("%s: body is %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestUploadIsHeldBackByItsReader(t *testing.T) {
	t.Parallel()
	const size = 256 << 20 // more than any socket buffer
	begin := make(chan struct{})
	ts := serve(t, func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		<-begin
		n, err := io.Copy(io.Discard, req.Body.Reader)
		return &fetch.Response{Status: 200, Body: fetch.BytesBody(fmt.Append(nil, n))}, err
	}, func(c *ServerConfig) { c.MaxBodyBytes = 1 << 30 })
	c := ts.dial()
	c.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nContent-Length: %d\n\n", size))
	// The client fills the buffers and then stands still.
	sent := int64(0)
	buf := make([]byte, 1<<20)
	for {
		if err := c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, err := c.Write(buf)
		sent += int64(n)
		if err != nil {
			break
		}
		if sent > size/2 {
			t.Fatal("an upload that nobody reads was taken")
		}
	}
	close(begin)
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(c, io.LimitReader(zeros{}, size-sent)); err != nil {
		t.Fatal(err)
	}
	if _, body := c.get("POST"); body != fmt.Sprint(size) {
		t.Errorf("service read %s bytes", body)
	}
}

func TestBodyLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, send string
		status     int
		outcome    outcome.Outcome
		called     bool
	}{
		{"length over the limit", "POST / HTTP/1.1\nHost: h\nContent-Length: 200001\n\nx", 413, outcome.BodyTooLarge, false},
		{"length over the limit, client waits", "POST / HTTP/1.1\nHost: h\nContent-Length: 200001\nExpect: 100-continue\n\n", 413, outcome.BodyTooLarge, false},
		{"chunks over the limit", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n30d41\n" + strings.Repeat("x", 200001) + "\n0\n\n", 413, outcome.BodyTooLarge, true},
		{"bad chunk", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\nzz\nabc\n", 400, outcome.BadRequest, true},
		{"chunk without its end", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n3\nabcdef", 400, outcome.BadRequest, true},
		{"small body that does not come", "POST / HTTP/1.1\nHost: h\nContent-Length: 10\n\nabc", 408, outcome.ReadTimeout, false},
		{"medium body that stops", "POST / HTTP/1.1\nHost: h\nContent-Length: 60000\n\n" + strings.Repeat("x", 30000), 408, outcome.ReadTimeout, false},
		{"large body that stops", "POST / HTTP/1.1\nHost: h\nContent-Length: 100000\n\n" + strings.Repeat("x", 30000), 408, outcome.ReadTimeout, true},
		{"chunked body that stops", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n3\nab", 408, outcome.ReadTimeout, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			called := make(chan struct{}, 1)
			ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				called <- struct{}{}
				if _, err := readAll(ctx, req); err != nil {
					return nil, errors.New("the worker threw") // the reason is the body's all the same
				}
				return readAll(ctx, req)
			}, func(c *ServerConfig) { c.MaxBodyBytes, c.BodyTimeout = 200000, 50*time.Millisecond })
			c := ts.dial()
			c.send(tt.send)
			resp, body := c.get("POST")
			if resp.StatusCode != tt.status || resp.Header.Get("Edge-Outcome") != string(tt.outcome) || !resp.Close {
				t.Errorf("response is %d %v %s, want %d %s", resp.StatusCode, resp.Header, body, tt.status, tt.outcome)
			}
			if rec := ts.record(); rec.Outcome != tt.outcome {
				t.Errorf("record is %+v", rec)
			}
			if (len(called) == 1) != tt.called {
				t.Errorf("service was called: %v, want %v", len(called) == 1, tt.called)
			}
		})
	}
}

func TestDrippingUploadRunsOutOfTime(t *testing.T) {
	t.Parallel()
	ts := serve(t, readAll, func(c *ServerConfig) { c.BodyTimeout, c.MinBodyRate = 100*time.Millisecond, 1000 })
	c := ts.dial()
	c.send("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n")
	got := make(chan string, 1)
	go func() {
		resp, _ := c.get("POST")
		got <- resp.Header.Get("Edge-Outcome")
	}()
	tick := time.NewTicker(20 * time.Millisecond) // each drip is well within the time for one read
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		select {
		case o := <-got:
			if o != "read_timeout" {
				t.Errorf("outcome is %s", o)
			}
			return
		case <-tick.C:
			_, _ = io.WriteString(c, "1\r\nx\r\n") // fails once the server has enough
		case <-deadline:
			t.Fatal("the drip goes on")
		}
	}
}

func TestEarlyReplyToALargeUpload(t *testing.T) {
	t.Parallel()
	for _, framing := range []string{"Content-Length: 300000000", "Transfer-Encoding: chunked"} {
		t.Run(framing, func(t *testing.T) {
			t.Parallel()
			bodies := make(chan *fetch.Body, 1)
			ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				bodies <- req.Body
				return text("no, thank you")(ctx, req)
			}, func(c *ServerConfig) { c.MaxBodyBytes, c.LingerTimeout = 1<<30, 300*time.Millisecond })
			c := ts.dial()
			c.send("POST / HTTP/1.1\nHost: h\n" + framing + "\n\n")
			if framing[0] == 'T' {
				c.send("11e1a300\n")
			}
			stopped := make(chan int64, 1)
			go func() {
				n, _ := io.Copy(c, io.LimitReader(zeros{}, 300000000)) // the server cuts it
				stopped <- n
			}()
			resp, body := c.get("POST")
			if resp.StatusCode != 200 || body != "no, thank you" {
				t.Errorf("response is %d %q", resp.StatusCode, body)
			}
			await(t, stopped, "the end of the upload")
			if rec := ts.record(); rec.Outcome != outcome.OK || rec.BytesIn != 0 {
				t.Errorf("record is %+v", rec)
			}
			// Whoever kept the body finds it closed.
			if n, err := (await(t, bodies, "the body")).Reader.Read(make([]byte, 8)); n != 0 || err == nil {
				t.Errorf("late read gives %d, %v", n, err)
			}
		})
	}
}

func TestSmallRestOfABodyKeepsTheConnection(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		if req.Method == "POST" {
			if _, err := io.ReadFull(req.Body.Reader, make([]byte, 10)); err != nil {
				return nil, err
			}
			_ = req.Body.Close()
			if _, err := req.Body.Reader.Read(make([]byte, 1)); err == nil {
				return nil, errors.New("a closed body can be read")
			}
		}
		return text(req.Method)(ctx, req)
	})
	c := ts.dial()
	c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 100000\n\n" + strings.Repeat("GET / HTTP/1.1.", 6666) + "GET / HTTP")
	if resp, body := c.get("POST"); body != "POST" {
		t.Fatalf("response is %d %q", resp.StatusCode, body)
	}
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	if resp, body := c.get("GET"); body != "GET" {
		t.Fatalf("response on the same connection is %d %q", resp.StatusCode, body)
	}
}

func TestExpectContinue(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		if _, ok := req.Header.Get("expect"); ok {
			return nil, errors.New("the service sees Expect")
		}
		if strings.HasSuffix(req.URL, "/refuse") {
			return &fetch.Response{Status: 403, Body: fetch.StreamBody(io.NopCloser(strings.NewReader("no")), -1)}, nil
		}
		if req.Body == nil {
			return text("no body")(ctx, req)
		}
		return readAll(ctx, req)
	})
	const head = " HTTP/1.1\nHost: h\nExpect: 100-continue\n"
	t.Run("sent when the body is read", func(t *testing.T) {
		t.Parallel()
		for framing, send := range map[string]string{
			"Content-Length: 3\n\n":          "abc",
			"Content-Length: 100000\n\n":     strings.Repeat("a", 100000),
			"Transfer-Encoding: chunked\n\n": "3\nabc\n0\n\n",
		} {
			c := ts.dial()
			c.send("POST /" + head + framing)
			if resp := c.response("POST"); resp.StatusCode != 100 {
				t.Fatalf("%q: first answer is %d", framing, resp.StatusCode)
			}
			c.send(send)
			resp, body := c.get("POST")
			if resp.StatusCode != 200 || resp.Close {
				t.Errorf("%q: answer is %d %q, close %v", framing, resp.StatusCode, body, resp.Close)
			}
			c.send("POST /" + head + "Content-Length: 0\n\n")
			if resp, body := c.get("POST"); resp.StatusCode != 200 {
				t.Errorf("%q: next answer is %d %q", framing, resp.StatusCode, body)
			}
		}
	})
	t.Run("not sent when the service answers without", func(t *testing.T) {
		t.Parallel()
		c := ts.dial()
		c.send("POST /refuse" + head + "Content-Length: 3\n\n")
		resp, body := c.get("POST")
		if resp.StatusCode != 403 || body != "no" || !resp.Close {
			t.Errorf("answer is %d %q", resp.StatusCode, body)
		}
		c.send("abc")
	})
	t.Run("body does not come", func(t *testing.T) {
		t.Parallel()
		ts := serve(t, readAll, func(c *ServerConfig) { c.BodyTimeout = 50 * time.Millisecond })
		c := ts.dial()
		c.send("POST /" + head + "Content-Length: 3\n\n")
		if resp := c.response("POST"); resp.StatusCode != 100 {
			t.Fatalf("first answer is %d", resp.StatusCode)
		}
		if resp, body := c.get("POST"); resp.StatusCode != 408 {
			t.Errorf("answer is %d %q", resp.StatusCode, body)
		}
		if rec := ts.record(); rec.Outcome != outcome.ReadTimeout || rec.Method != "POST" {
			t.Errorf("record is %+v", rec)
		}
		ts.noRecord()
	})
	t.Run("client leaves instead", func(t *testing.T) {
		t.Parallel()
		ts := serve(t, readAll)
		c := ts.dial()
		c.send("POST /" + head + "Content-Length: 3\n\n")
		if resp := c.response("POST"); resp.StatusCode != 100 {
			t.Fatalf("first answer is %d", resp.StatusCode)
		}
		_ = c.Close()
		if rec := ts.record(); rec.Outcome != outcome.Canceled && rec.Outcome != outcome.BadRequest {
			t.Errorf("record is %+v", rec)
		}
	})
}

func TestTruncatedUploadIsCanceled(t *testing.T) {
	t.Parallel()
	for _, send := range []string{
		"POST / HTTP/1.1\nHost: h\nContent-Length: 100000\n\n" + strings.Repeat("x", 20000),
		"POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n5\nab",
	} {
		errs := make(chan error, 1)
		ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			_, err := req.Body.ReadAll(1 << 20)
			errs <- err
			return nil, err
		})
		c := ts.dial()
		c.send(send)
		_ = c.CloseWrite()
		if err := await(t, errs, "the end of the body"); outcome.Of(err) != outcome.Canceled {
			t.Errorf("%.60q: read ends with %v", send, err)
		}
		if rec := ts.record(); rec.Outcome != outcome.Canceled {
			t.Errorf("%.60q: record is %+v", send, rec)
		}
	}
}

func TestBodyMayBeReadWhileTheResponseStreams(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Status: 200, Body: req.Body}, nil // an echo
	})
	c := ts.dial()
	c.send("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n")
	resp := c.response("POST")
	buf := make([]byte, 100)
	for _, s := range []string{"one", "two", "three"} {
		c.send(fmt.Sprintf("%x\n%s\n", len(s), s))
		if n, err := io.ReadFull(resp.Body, buf[:len(s)]); string(buf[:n]) != s {
			t.Fatalf("echo of %q is %q, %v", s, buf[:n], err)
		}
	}
	c.send("0\n\n")
	if rest, err := io.ReadAll(resp.Body); len(rest) != 0 || err != nil {
		t.Errorf("echo ends with %q, %v", rest, err)
	}
	if rec := ts.record(); rec.BytesIn != 11 || rec.BytesOut != 11 {
		t.Errorf("record is %+v", rec)
	}
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	if resp, _ := c.get("GET"); resp.StatusCode != 200 {
		t.Errorf("next response is %d", resp.StatusCode)
	}
}

func TestReaderThatOutlivesItsRequestIsEnded(t *testing.T) {
	t.Parallel()
	late := make(chan error, 1)
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		reading := make(chan struct{})
		go func() {
			close(reading)
			_, err := req.Body.Reader.Read(make([]byte, 100))
			late <- err
		}()
		<-reading
		return text("done")(ctx, req)
	}, func(c *ServerConfig) { c.LingerTimeout = 50 * time.Millisecond })
	c := ts.dial()
	c.send("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n")
	if _, body := c.get("POST"); body != "done" {
		t.Errorf("response is %q", body)
	}
	if err := await(t, late, "the late reader"); !errors.Is(err, errBodyClosed) {
		t.Errorf("late reader got %v", err)
	}
	var ne net.Error
	if _, err := c.rest(); errors.As(err, &ne) && ne.Timeout() {
		t.Errorf("the connection stays open: %v", err)
	}
}

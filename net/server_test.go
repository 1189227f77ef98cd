package edgenet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

func TestRequestsReachTheServiceAndTheLog(t *testing.T) {
	t.Parallel()
	requests := make(chan fetch.Request, 1)
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		requests <- fetch.Request{Method: req.Method, URL: req.URL, Header: req.Header.Clone(), ID: req.ID, ClientAddr: req.ClientAddr, Body: req.Body}
		req.Trace.AddCPU(time.Millisecond)
		req.Trace.SetCold()
		return text("hello")(ctx, req)
	})
	c := ts.dial()
	ids := map[string]bool{}
	for range 3 {
		c.send("GET /a/../b?c=d HTTP/1.1\nHost: Example.com:80\nX-Custom: 1\nConnection: keep-alive\n\n")
		resp, body := c.get("GET")
		if resp.StatusCode != 200 || body != "hello" || resp.ContentLength != 5 {
			t.Errorf("response is %d %q", resp.StatusCode, body)
		}
		if resp.Header.Get("Date") == "" || resp.Header.Get("Content-Type") != "text/plain" || resp.Header.Get("Server") != "" {
			t.Errorf("header is %v", resp.Header)
		}
		got := await(t, requests, "the request")
		want := fetch.Request{
			Method: "GET", URL: "http://example.com/b?c=d", Header: fetch.Header("host\nExample.com:80\nx-custom\n1\n"),
			ID: got.ID, ClientAddr: c.LocalAddr().String(),
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(fetch.Trace{})); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		if len(got.ID) != 16 || ids[got.ID] {
			t.Errorf("request id is %q", got.ID)
		}
		ids[got.ID] = true
		rec := ts.record()
		if rec.Wall <= 0 || rec.Time.IsZero() {
			t.Errorf("record has time %v and wall %v", rec.Time, rec.Wall)
		}
		wantRec := AccessRecord{
			Time: rec.Time, Wall: rec.Wall, Socket: "main", ClientAddr: got.ClientAddr, RequestID: got.ID,
			Method: "GET", Host: "example.com", Path: "/b", Service: "test", Status: 200, Outcome: outcome.OK,
			CPU: time.Millisecond, Cold: true, BytesOut: 5,
		}
		if diff := cmp.Diff(wantRec, rec); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	}
	ts.noRecord()
}

func TestResponses(t *testing.T) {
	t.Parallel()
	stream := func(s string, size int64) *fetch.Body {
		return fetch.StreamBody(io.NopCloser(strings.NewReader(s)), size)
	}
	tests := []struct {
		name, method string
		resp         fetch.Response
		status       int
		length       int64 // -1: chunked
		body         string
		bytes        int64 // in the record
	}{
		{"in memory", "GET", fetch.Response{Status: 200, Body: fetch.BytesBody([]byte("abc"))}, 200, 3, "abc", 3},
		{"no body", "GET", fetch.Response{Status: 200}, 200, 0, "", 0},
		{"larger than the buffer", "GET", fetch.Response{Status: 200, Body: fetch.BytesBody([]byte(strings.Repeat("x", 100000)))}, 200, 100000, strings.Repeat("x", 100000), 100000},
		{"stream", "GET", fetch.Response{Status: 200, Body: stream("abc", -1)}, 200, -1, "abc", 3},
		{"empty stream", "GET", fetch.Response{Status: 200, Body: stream("", -1)}, 200, -1, "", 0},
		{"stream of many pieces", "GET", fetch.Response{Status: 200, Body: stream(strings.Repeat("y", 100000), -1)}, 200, -1, strings.Repeat("y", 100000), 100000},
		{"stream of known size", "GET", fetch.Response{Status: 206, Body: stream("abcd", 4)}, 206, 4, "abcd", 4},
		{"status of its own", "GET", fetch.Response{Status: 599, StatusText: "Mine", Body: fetch.BytesBody([]byte("x"))}, 599, 1, "x", 1},
		{"no content", "GET", fetch.Response{Status: 204, Body: stream("dropped", -1)}, 204, 0, "", 0},
		{"not modified", "GET", fetch.Response{Status: 304}, 304, 0, "", 0},
		{"reset content", "GET", fetch.Response{Status: 205, Body: fetch.BytesBody([]byte("dropped"))}, 205, 0, "", 0},
		{"HEAD of a known size", "HEAD", fetch.Response{Status: 200, Body: fetch.BytesBody([]byte("abc"))}, 200, 3, "", 0},
		{"HEAD of a stream", "HEAD", fetch.Response{Status: 200, Body: stream("abc", -1)}, 200, -1, "", 0},
		{"HEAD with a length of its own", "HEAD", fetch.Response{Status: 200, Header: fetch.Header("content-length\n77\n")}, 200, 77, "", 0},
		{"length that lies", "GET", fetch.Response{Status: 200, Header: fetch.Header("content-length\n77\n"), Body: fetch.BytesBody([]byte("abc"))}, 200, 3, "abc", 3},
		{"POST", "POST", fetch.Response{Status: 201, Body: fetch.BytesBody([]byte("made"))}, 201, 4, "made", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ts := serve(t, func(context.Context, *fetch.Request) (*fetch.Response, error) {
				resp := tt.resp
				return &resp, nil
			})
			c := ts.dial()
			c.send(tt.method + " / HTTP/1.1\nHost: h\n\n")
			resp, body := c.get(tt.method)
			length := resp.ContentLength
			if resp.StatusCode == 304 || resp.StatusCode == 204 {
				if v := resp.Header.Get("Content-Length"); v != "" || len(resp.TransferEncoding) > 0 {
					t.Errorf("status %d has framing: %q %v", resp.StatusCode, v, resp.TransferEncoding)
				}
				length = 0
			}
			if resp.StatusCode != tt.status || body != tt.body || length != tt.length {
				t.Errorf("response is %d, length %d, body of %d bytes, want %d, %d, %d", resp.StatusCode, length, len(body), tt.status, tt.length, len(tt.body))
			}
			if tt.resp.StatusText != "" && resp.Status != fmt.Sprint(tt.status, " ", tt.resp.StatusText) {
				t.Errorf("status line is %q", resp.Status)
			}
			if rec := ts.record(); rec.BytesOut != tt.bytes || rec.Outcome != outcome.OK || rec.Status != tt.status {
				t.Errorf("record is %+v, want %d bytes", rec, tt.bytes)
			}
			// The connection goes on.
			c.send("GET / HTTP/1.1\nHost: h\nConnection: close\n\n")
			if resp := c.response("GET"); resp.StatusCode != tt.status || !resp.Close {
				t.Errorf("second response is %d, close %v", resp.StatusCode, resp.Close)
			}
		})
	}
}

func TestFailuresOfTheRuntime(t *testing.T) {
	t.Parallel()
	var nobody fetch.Response
	tests := []struct {
		name    string
		fetch   func() (*fetch.Response, error)
		status  int
		outcome outcome.Outcome
		message string
		retry   string
	}{
		{"failure", func() (*fetch.Response, error) {
			return nil, &outcome.Failure{Outcome: outcome.QueueFull, Msg: "too many requests wait", RetryAfter: 1500 * time.Millisecond, Err: errTest}
		}, 503, outcome.QueueFull, "too many requests wait", "2"},
		{"wrapped failure", func() (*fetch.Response, error) {
			return nil, fmt.Errorf("at home: %w", outcome.Failf(outcome.CPUExceeded, "the CPU limit of 50ms is used up"))
		}, 503, outcome.CPUExceeded, "the CPU limit of 50ms is used up", ""},
		{"internal error", func() (*fetch.Response, error) { return nil, errTest }, 500, outcome.Exception, "internal error", ""},
		{"error for scripts", func() (*fetch.Response, error) { return nil, op.NotGranted("network", "services.a") }, 502, outcome.BadGateway, op.NotGranted("network", "services.a").Msg, ""},
		{"panic", func() (*fetch.Response, error) { panic(errTest) }, 500, outcome.Exception, "internal error", ""},
		{"no response", func() (*fetch.Response, error) { return nil, nil }, 500, outcome.NoResponse, "the service gave no response", ""},
		{"status that HTTP lacks", func() (*fetch.Response, error) { return &nobody, nil }, 500, outcome.Exception, "the service answered with the status 0, which cannot be sent", ""},
		{"informational status", func() (*fetch.Response, error) { return &fetch.Response{Status: 103}, nil }, 500, outcome.Exception, "the service answered with the status 103, which cannot be sent", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ts := serve(t, func(context.Context, *fetch.Request) (*fetch.Response, error) { return tt.fetch() })
			c := ts.dial()
			c.send("GET / HTTP/1.1\nHost: h\n\n")
			resp, body := c.get("GET")
			rec := ts.record()
			var got struct{ Outcome, Message, RequestID string }
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("body %q: %v", body, err)
			}
			if resp.StatusCode != tt.status || got.Outcome != string(tt.outcome) || got.Message != tt.message || got.RequestID != rec.RequestID {
				t.Errorf("response is %d %s, want %d %s %q with id %s", resp.StatusCode, body, tt.status, tt.outcome, tt.message, rec.RequestID)
			}
			if resp.Header.Get("Edge-Outcome") != string(tt.outcome) || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Retry-After") != tt.retry {
				t.Errorf("header is %v", resp.Header)
			}
			if strings.Contains(fmt.Sprint(resp.Header, body), "secret") {
				t.Errorf("the cause is public: %s", body)
			}
			if rec.Outcome != tt.outcome || rec.Status != tt.status {
				t.Errorf("record is %+v", rec)
			}
			c.send("GET / HTTP/1.1\nHost: h\n\n")
			if resp := c.response("GET"); resp.StatusCode != tt.status {
				t.Errorf("the connection did not go on: %d", resp.StatusCode)
			}
		})
	}
}

func TestServiceOverridesOutcomeOfItsResponse(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		req.Trace.SetOutcome(string(outcome.Exception), errTest)
		req.Trace.SetService("inner")
		resp, err := text("from the origin")(ctx, req)
		resp.Header.Add("edge-outcome", "ok")
		return resp, err
	})
	c := ts.dial()
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	if resp, _ := c.get("GET"); resp.StatusCode != 200 || resp.Header.Get("Edge-Outcome") != "" {
		t.Errorf("response is %v", resp)
	}
	if rec := ts.record(); rec.Outcome != outcome.Exception || !errors.Is(rec.Err, errTest) || rec.Status != 200 || rec.Service != "inner" {
		t.Errorf("record is %+v", rec)
	}
}

func TestErrorPageReplacesJSON(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, errTest }, func(c *ServerConfig) {
		c.ErrorPage = func(info *RequestInfo, err error) (string, []byte) {
			if !strings.Contains(info.Accept, "text/html") {
				return "", nil
			}
			return "text/html; charset=utf-8", fmt.Appendf(nil, "<h1>%s %s %d %v</h1>", info.Method, info.URL, info.Status, errors.Is(err, errTest))
		}
	})
	c := ts.dial()
	c.send("GET /x HTTP/1.1\nHost: h\nAccept: text/html\n\nGET /x HTTP/1.1\nHost: h\n\n")
	if resp, body := c.get("GET"); body != "<h1>GET http://h/x 500 true</h1>" || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("page is %q, %v", body, resp.Header)
	}
	if resp, body := c.get("GET"); resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("body for a program is %q, %v", body, resp.Header)
	}
}

func TestNoRoute(t *testing.T) {
	t.Parallel()
	ts := serve(t, text("x"))
	ts.SetHandler(nil)
	c := ts.dial()
	c.send("GET /where HTTP/1.1\nHost: h\n\n")
	if resp, body := c.get("GET"); resp.StatusCode != 404 || resp.Header.Get("Edge-Outcome") != "not_found" || !strings.Contains(body, "no route leads to h/where") {
		t.Errorf("response is %d %s", resp.StatusCode, body)
	}
	if rec := ts.record(); rec.Outcome != outcome.NotFound || rec.Path != "/where" || rec.Service != "" {
		t.Errorf("record is %+v", rec)
	}
}

func TestSetHandlerLeavesRequestsInProgress(t *testing.T) {
	t.Parallel()
	started, finish := make(chan struct{}), make(chan struct{})
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		close(started)
		<-finish
		return text("old")(ctx, req)
	})
	c := ts.dial()
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	await(t, started, "the first request")
	router, err := NewRouter([]Route{{Fetcher: text("new")}})
	if err != nil {
		t.Fatal(err)
	}
	ts.SetHandler(router)
	other := ts.dial()
	other.send("GET / HTTP/1.1\nHost: h\n\n")
	if _, body := other.get("GET"); body != "new" {
		t.Errorf("new request got %q", body)
	}
	close(finish)
	if _, body := c.get("GET"); body != "old" {
		t.Errorf("old request got %q", body)
	}
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	if _, body := c.get("GET"); body != "new" {
		t.Errorf("next request of the old connection got %q", body)
	}
}

func TestRequestsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	short := func(c *ServerConfig) { c.MaxHeaderBytes, c.HeaderTimeout = 4096, 30*time.Millisecond }
	tests := []struct {
		name, send string
		status     int
		outcome    outcome.Outcome
	}{
		{"header too large", "GET / HTTP/1.1\nHost: h\nX: " + strings.Repeat("x", 5000) + "\n\n", 431, outcome.HeaderTooLarge},
		{"target too large", "GET /" + strings.Repeat("x", 5000) + " HTTP/1.1\nHost: h\n\n", 431, outcome.HeaderTooLarge},
		{"slow header", "GET / HTTP/1.1\nHost: h\nX: ", 408, outcome.ReadTimeout},
		{"no HTTP", "hello\n\n", 400, outcome.BadRequest},
		{"no host", "GET / HTTP/1.1\n\n", 400, outcome.BadRequest},
		{"two hosts", "GET / HTTP/1.1\nHost: a\nHost: b\n\n", 400, outcome.BadRequest},
		{"bad host", "GET / HTTP/1.1\nHost: a b\n\n", 400, outcome.BadRequest},
		{"bad target", "GET ftp://h/ HTTP/1.1\nHost: h\n\n", 400, outcome.BadRequest},
		{"header name with a space", "GET / HTTP/1.1\nHost: h\nX Y: z\n\n", 400, outcome.BadRequest},
		{"two lengths", "POST / HTTP/1.1\nHost: h\nContent-Length: 1\nContent-Length: 2\n\nab", 400, outcome.BadRequest},
		{"unknown transfer coding", "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: gzip, chunked\n\n0\n\n", 400, outcome.BadRequest},
		{"CONNECT", "CONNECT h:443 HTTP/1.1\nHost: h:443\n\n", 400, outcome.BadRequest},
		{"TRACE", "TRACE / HTTP/1.1\nHost: h\n\n", 400, outcome.BadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ts := serve(t, text("x"), short)
			c := ts.dial()
			c.send(tt.send)
			resp, body := c.get("GET")
			if resp.StatusCode != tt.status || resp.Header.Get("Edge-Outcome") != string(tt.outcome) || !resp.Close {
				t.Errorf("response is %d %v %s, want %d", resp.StatusCode, resp.Header, body, tt.status)
			}
			if rec := ts.record(); rec.Outcome != tt.outcome || rec.Status != tt.status {
				t.Errorf("record is %+v", rec)
			}
			if err := c.CloseWrite(); err != nil && !errors.Is(err, io.EOF) {
				t.Log(err)
			}
			c.closed()
			ts.noRecord()
		})
	}
}

func TestConnectionsThatAskNothingGetNothing(t *testing.T) {
	t.Parallel()
	ts := serve(t, text("x"), func(c *ServerConfig) { c.HeaderTimeout = 20 * time.Millisecond; c.IdleTimeout = 20 * time.Millisecond })
	ts.dial().closed()

	idle := ts.dial()
	idle.send("GET / HTTP/1.1\nHost: h\n\n")
	idle.get("GET")
	ts.record()
	idle.closed()
	ts.noRecord()
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) { return text(req.URL)(ctx, req) })
	c := ts.dial()
	var all strings.Builder
	for i := range 20 {
		fmt.Fprintf(&all, "GET /%d HTTP/1.1\nHost: h\n\n", i)
	}
	c.send(all.String())
	for i := range 20 {
		if _, body := c.get("GET"); body != fmt.Sprintf("http://h/%d", i) {
			t.Fatalf("response %d is %q", i, body)
		}
	}
}

func TestHTTP10(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		if strings.HasSuffix(req.URL, "/stream") {
			return &fetch.Response{Status: 200, Header: fetch.Header("x-a\nb\n"), Body: fetch.StreamBody(io.NopCloser(strings.NewReader("streamed")), -1)}, nil
		}
		return text(req.URL)(ctx, req)
	})
	c := ts.dial()
	c.send("GET /a HTTP/1.0\nConnection: keep-alive\n\n")
	if resp, body := c.get("GET"); body != "http://"+ts.addr+"/a" || resp.Header.Get("Connection") != "keep-alive" {
		t.Errorf("response without Host is %q, %v", body, resp.Header)
	}
	c.send("GET /stream HTTP/1.0\nConnection: keep-alive\n\n")
	all, err := c.rest()
	head, body, _ := strings.Cut(all, "\r\n\r\n")
	if err != nil || body != "streamed" || !strings.HasPrefix(head, "HTTP/1.0 200 OK\r\n") || strings.Contains(head, "chunked") || !strings.Contains(head, "X-A: b") {
		t.Errorf("stream is %q, %v", all, err)
	}
	ts.record()
	if rec := ts.record(); rec.BytesOut != int64(len("streamed")) || rec.Outcome != outcome.OK {
		t.Errorf("record is %+v", rec)
	}
}

func TestOverloadedServerShedsConnections(t *testing.T) {
	t.Parallel()
	ts := serve(t, text("x"), func(c *ServerConfig) { c.MaxConns = 1 })
	first := ts.dial()
	first.send("GET / HTTP/1.1\nHost: h\n\n")
	first.get("GET")
	ts.record()

	second := ts.dial()
	second.send("GET / HTTP/1.1\nHost: h\n\n")
	resp, _ := second.get("GET")
	if resp.StatusCode != 503 || resp.Header.Get("Edge-Outcome") != "load_shed" || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("response is %d %v", resp.StatusCode, resp.Header)
	}
	if rec := ts.record(); rec.Outcome != outcome.LoadShed || rec.ClientAddr != second.LocalAddr().String() {
		t.Errorf("record is %+v", rec)
	}
	_ = second.Close()
	first.send("GET / HTTP/1.1\nHost: h\n\n")
	if resp, _ := first.get("GET"); resp.StatusCode != 200 {
		t.Errorf("the first connection got %d", resp.StatusCode)
	}
}

func TestOrdinaryClient(t *testing.T) {
	t.Parallel()
	ts := serve(t, func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		b, err := req.Body.ReadAll(1 << 20)
		return &fetch.Response{Status: 200, Header: fetch.Header("set-cookie\na=1\nset-cookie\nb=2\n"), Body: fetch.StreamBody(io.NopCloser(strings.NewReader(req.Method+string(b))), -1)}, err
	})
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr, Timeout: patience}
	for _, size := range []int{0, 1, 8 << 10, 8<<10 + 1, 64 << 10, 64<<10 + 1, 1 << 20} {
		sent := strings.Repeat("z", size)
		resp, err := client.Post("http://"+ts.addr+"/", "text/plain", strings.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err != nil || string(got) != "POST"+sent || len(resp.Cookies()) != 2 {
			t.Errorf("%d bytes: got %d, %v, cookies %v", size, len(got), err, resp.Cookies())
		}
		_ = resp.Body.Close()
		if rec := ts.record(); rec.BytesIn != int64(size) {
			t.Errorf("record of %d bytes says %d", size, rec.BytesIn)
		}
	}
}

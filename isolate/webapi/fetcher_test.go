package webapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/isolate/webapi/webapitest"
	"github.com/edge-runtime/edge/net/fetch"
)

func newRequest(method, url string, body *fetch.Body) *fetch.Request {
	req := &fetch.Request{Method: method, URL: url, Body: body, ID: "r1", ClientAddr: "192.0.2.1:99"}
	req.Header.Add("Host", "worker.example")
	req.Header.Add("X-Latin", "caf\xe9")
	return req
}

func readBody(t *testing.T, resp *fetch.Response) string {
	t.Helper()
	b, err := resp.Body.ReadAll(1 << 20)
	if err != nil {
		t.Errorf("reading the body: %v", err)
	}
	return string(b)
}

func TestFetcherSendsTheRequestAsAnEvent(t *testing.T) {
	for _, inline := range []bool{true, false} {
		w := newFakeInstance(t, func(s *fakeScript) {
			var got []string
			for _, v := range s.Args {
				switch {
				case v.IsString():
					got = append(got, v.Text())
				case v.Kind() == op.KindBytes:
					got = append(got, "bytes "+string(v.Raw()))
				default:
					got = append(got, "-")
				}
			}
			if n := s.Args[4].Int()*1000 + s.Args[6].Int(); n != 1003 {
				t.Errorf("body kind and size are %d, want 1 and 3", n)
			}
			s.respond(201, strings.Join(got, "|"))
			s.done()
		})
		w.inline = inline
		f := NewFetcher(w, "admin", FetcherOptions{Service: "shop"})
		req := newRequest("POST", "http://worker.example/p?q", fetch.BytesBody([]byte("abc")))
		req.Trace = &fetch.Trace{}
		resp, err := f.Fetch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want := "admin|POST|http://worker.example/p?q|host\nworker.example\nx-latin\ncaf\u00e9\n|-|bytes abc|-|{\"clientAddr\":\"192.0.2.1:99\"}"
		if got := readBody(t, resp); resp.Status != 201 || got != want {
			t.Errorf("response is %d %q, want 201 %q", resp.Status, got, want)
		}
		if got := req.Trace.Report().Service; got != "shop" {
			t.Errorf("service is %q, want shop", got)
		}
	}
}

func TestFetcherStreamsTheRequestBody(t *testing.T) {
	for _, moves := range []int{0, 1} {
		w := newFakeInstance(t, func(s *fakeScript) {
			if s.Args[4].Int() != 2 || s.Args[6].Int() != -1 {
				t.Errorf("body kind and size are %d and %d, want 2 and -1", s.Args[4].Int(), s.Args[6].Int())
			}
			v, err := s.call("op_body_read_all", s.Args[5])
			if err != nil {
				t.Errorf("reading the request: %v", err)
			}
			s.respond(200, "got "+string(v.Raw()))
			s.done()
		})
		w.moves = moves
		rd, wr := io.Pipe()
		go func() {
			_, _ = io.WriteString(wr, "streamed")
			_ = wr.Close()
		}()
		resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("POST", "http://w/", fetch.StreamBody(rd, -1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := readBody(t, resp); got != "got streamed" {
			t.Errorf("response is %q", got)
		}
	}
}

func TestFetcherClosesARequestBodyThatNobodyRead(t *testing.T) {
	w := newFakeInstance(t, func(s *fakeScript) {
		s.respond(200, "")
		s.done()
	})
	rd, wr := io.Pipe()
	if _, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("POST", "http://w/", fetch.StreamBody(rd, -1))); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(wr, "x"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing the request body gave %v, want a closed pipe", err)
	}
}

func TestFetcherPassesTheRequestBodyBack(t *testing.T) {
	large := bytes.Repeat([]byte("x"), inlineRequestBody+1)
	w := newFakeInstance(t, func(s *fakeScript) {
		s.post("op_fetch_respond", op.Int(200), op.String("OK"), op.String("a\nb\n"), op.Int(bodyHandle), s.Args[5], s.Args[6])
		s.done()
	})
	resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("POST", "http://w/", fetch.BytesBody(large)))
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := resp.Header.Get("a"); v != "b" || resp.StatusText != "OK" || resp.Body.Size != int64(len(large)) {
		t.Errorf("response is %+v", resp)
	}
	if got := readBody(t, resp); got != string(large) {
		t.Errorf("body of %d bytes, want %d", len(got), len(large))
	}
}

func TestFetcherSendsEachKindOfResponseBody(t *testing.T) {
	utf16, _, _ := op.Decode([]byte{byte(op.KindUTF16), 2, 0, 0, 0, 0xe9, 0, 0x3d, 0xd8})
	for _, tc := range []struct {
		name string
		kind int64
		v    op.Value
		want string
	}{
		{"none", bodyNone, op.Undefined, ""},
		{"Latin-1 text becomes UTF-8", bodyText, op.ByteString([]byte("caf\xe9")), "caf\u00e9"},
		{"a lone surrogate is replaced", bodyText, utf16, "\u00e9\ufffd"},
		{"bytes", bodyBytes, op.Bytes([]byte{0, 255}), "\x00\xff"},
	} {
		w := newFakeInstance(t, func(s *fakeScript) {
			s.post("op_fetch_respond", op.Int(200), op.String(""), op.String(""), op.Int(tc.kind), tc.v, op.Int(-1))
			s.done()
		})
		w.inline = true
		resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("GET", "http://w/", nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := readBody(t, resp); got != tc.want {
			t.Errorf("%s: body is %q, want %q", tc.name, got, tc.want)
		}
		if (resp.Body == nil) != (tc.kind == bodyNone) {
			t.Errorf("%s: body is %v", tc.name, resp.Body)
		}
	}
}

func TestFetcherKeepsTheInvocationUntilTheStreamIsRead(t *testing.T) {
	w := newFakeInstance(t, func(s *fakeScript) {
		h, err := s.call("op_body_open")
		if err != nil {
			t.Error(err)
		}
		closed := s.start("op_body_closed", h)
		s.post("op_fetch_respond", op.Int(200), op.String(""), op.String(""), op.Int(bodyStream), h, op.Int(-1))
		s.post("op_body_push", h, op.Bytes([]byte("one ")))
		s.post("op_body_push", h, op.Bytes([]byte("two")))
		s.post("op_body_end", h)
		if _, err := closed(); err != nil {
			t.Errorf("the pump ended with %v", err)
		}
		s.done()
	})
	resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("GET", "http://w/", nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := readBody(t, resp); got != "one two" {
		t.Errorf("body is %q", got)
	}
}

func TestFetcherEndsAStreamWithTheInvocation(t *testing.T) {
	responded := make(chan struct{})
	w := newFakeInstance(t, func(s *fakeScript) {
		h, _ := s.call("op_body_open")
		closed := s.start("op_body_closed", h)
		s.post("op_fetch_respond", op.Int(200), op.String(""), op.String(""), op.Int(bodyStream), h, op.Int(-1))
		s.post("op_body_push", h, op.Bytes([]byte("part")))
		<-responded
		s.post("op_invocation_fail", op.String("RangeError"), op.String("late"), op.String("RangeError: late"))
		_, _ = closed()
	})
	resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("GET", "http://w/", nil))
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body.Reader, p); err != nil || string(p) != "part" {
		t.Fatalf("read %q, %v", p, err)
	}
	close(responded)
	_, err = resp.Body.Reader.Read(p)
	if outcome.Of(err) != outcome.Exception || !strings.Contains(err.Error(), "RangeError: late") {
		t.Errorf("the body ended with %v, want the exception", err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

func TestFetcherTellsFailures(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script func(s *fakeScript)
		want   outcome.Outcome
		text   string
	}{
		{"exception", func(s *fakeScript) {
			s.post("op_invocation_fail", op.String("TypeError"), op.String("no"), op.String("TypeError: no\n    at x"))
		}, outcome.Exception, "TypeError: no"},
		{"ended without a response", func(s *fakeScript) { s.done() }, outcome.NoResponse, "without a response"},
		{"limit", func(s *fakeScript) { s.inv.finish(outcome.Failf(outcome.CPUExceeded, "too slow")) }, outcome.CPUExceeded, "too slow"},
		{"bad handle", func(s *fakeScript) {
			s.post("op_fetch_respond", op.Int(200), op.String(""), op.String(""), op.Int(bodyHandle), op.Int(77), op.Int(0))
		}, outcome.Exception, "bad resource handle 77"},
		{"bad kind", func(s *fakeScript) {
			s.post("op_fetch_respond", op.Int(200), op.String(""), op.String(""), op.Int(9), op.Int(77), op.Int(0))
		}, outcome.Exception, "bad body kind 9"},
	} {
		for _, inline := range []bool{true, false} {
			w := newFakeInstance(t, tc.script)
			w.inline = inline
			_, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("GET", "http://w/", nil))
			if outcome.Of(err) != tc.want || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: %v, want %s with %q", tc.name, err, tc.want, tc.text)
			}
		}
	}
}

func TestFetcherRefusesLoops(t *testing.T) {
	w := newFakeInstance(t, func(*fakeScript) { t.Error("the worker ran") })
	rd, wr := io.Pipe()
	req := newRequest("POST", "http://w/", fetch.StreamBody(rd, -1))
	req.Hops = 17
	_, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), req)
	if outcome.Of(err) != outcome.LoopDetected {
		t.Errorf("ended with %v", err)
	}
	if _, err := wr.Write([]byte("x")); err == nil {
		t.Error("the request body is still open")
	}
}

func TestFetcherCancelsWhenTheClientLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newFakeInstance(t, func(s *fakeScript) {
		cancel()
		<-s.inv.ctx.Done()
		s.respond(200, "too late")
		s.done()
	})
	rd, wr := io.Pipe()
	_, err := NewFetcher(w, "", FetcherOptions{}).Fetch(ctx, newRequest("POST", "http://w/", fetch.StreamBody(rd, -1)))
	if outcome.Of(err) != outcome.Canceled || !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	w.running.Wait()
	if len(w.emitted) != 1 || w.emitted[0] != "abort 1" {
		t.Errorf("events are %q, want one abort", w.emitted)
	}
	if _, err := wr.Write([]byte("x")); err == nil {
		t.Error("the request body is still open")
	}
}

func TestFetcherLetsWaitUntilOutliveTheClient(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	w := newFakeInstance(t, func(s *fakeScript) {
		s.respond(200, "ok")
		<-left
		if err := s.inv.ctx.Err(); err != nil {
			t.Errorf("the invocation's context ended: %v", err)
		}
		s.done()
	})
	resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(ctx, newRequest("GET", "http://w/", nil))
	if err != nil || readBody(t, resp) != "ok" {
		t.Errorf("response is %v, %v", resp, err)
	}
	cancel()
	close(left)
}

func TestFetcherAbortsAStreamWhenTheClientLeaves(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newFakeInstance(t, func(s *fakeScript) {
		h, _ := s.call("op_body_open")
		closed := s.start("op_body_closed", h)
		s.post("op_fetch_respond", op.Int(200), op.String(""), op.String(""), op.Int(bodyStream), h, op.Int(-1))
		if _, err := closed(); err == nil {
			t.Error("the pump was not told")
		}
		s.done()
	})
	resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(ctx, newRequest("GET", "http://w/", nil))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := resp.Body.Reader.Read(make([]byte, 1)); outcome.Of(err) != outcome.Canceled {
		t.Errorf("the body ended with %v", err)
	}
	w.running.Wait()
	if len(w.emitted) != 1 {
		t.Errorf("events are %q, want one abort", w.emitted)
	}
}

// answerer is an Abandoner that notes the error.
type answerer struct{ got chan error }

func (a answerer) Abandon(err error) bool {
	a.got <- err
	return true
}

func TestFetcherAbandonsARequestWhoseGoroutineIsStuck(t *testing.T) {
	stuck := make(chan struct{})
	w := newFakeInstance(t, func(s *fakeScript) {
		go s.inv.finish(outcome.Failf(outcome.Fatal, "gave up"))
		<-stuck
	})
	w.inline = true
	a := answerer{make(chan error, 1)}
	ended := make(chan error)
	go func() {
		_, err := NewFetcher(w, "", FetcherOptions{}).Fetch(fetch.WithAbandoner(t.Context(), a), newRequest("GET", "http://w/", nil))
		ended <- err
	}()
	if err := <-a.got; outcome.Of(err) != outcome.Fatal {
		t.Errorf("abandoned with %v", err)
	}
	close(stuck)
	if err := <-ended; outcome.Of(err) != outcome.Fatal {
		t.Errorf("Fetch returned %v", err)
	}
}

func TestPassThroughOnException(t *testing.T) {
	w := newFakeInstance(t, func(s *fakeScript) {
		if _, err := s.call("op_fetch_pass_through", op.String("Error"), op.String("oops"), op.String("Error: oops")); err != nil {
			t.Error(err)
		}
		s.done()
	})
	f := NewFetcher(w, "", FetcherOptions{})
	_, err := f.Fetch(t.Context(), newRequest("GET", "http://w/stream?n=3", nil))
	if outcome.Of(err) != outcome.Exception || !strings.Contains(err.Error(), "oops") {
		t.Errorf("without an outbound service it ended with %v", err)
	}
	w.grants["outbound"] = webapitest.Origin()
	resp, err := f.Fetch(t.Context(), newRequest("GET", "http://w/stream?n=3", nil))
	if err != nil {
		t.Fatal(err)
	}
	if got := readBody(t, resp); got != "012" {
		t.Errorf("body is %q", got)
	}
	if len(w.logs) != 1 || w.logs[0] != "error: Error: oops" {
		t.Errorf("log is %q", w.logs)
	}
	if _, err := f.Fetch(t.Context(), newRequest("GET", "http://w/fail", nil)); outcome.Of(err) != outcome.BadGateway {
		t.Errorf("a failing outbound service gave %v", err)
	}
	resp, err = f.Fetch(t.Context(), newRequest("POST", "http://w/echo", fetch.BytesBody(bytes.Repeat([]byte("y"), inlineRequestBody+1))))
	if err != nil {
		t.Fatal(err)
	}
	if got := readBody(t, resp); !strings.Contains(got, "yyy") {
		t.Errorf("the request's body did not pass: %.80q", got)
	}
}

func TestBootDone(t *testing.T) {
	w := newFakeInstance(t, nil)
	s := &fakeScript{w: w}
	s.post("op_boot_done", op.Bool(true), op.String(""), op.String(""), op.String(""))
	s.post("op_boot_done", op.Bool(false), op.String("TypeError"), op.String("bad"), op.String(strings.Repeat("x", maxScriptText+1)))
	if len(w.booted) != 2 || w.booted[0] != nil || w.booted[1].Error() != "TypeError: bad" || len(w.booted[1].Stack) != maxScriptText {
		t.Errorf("boots are %v", w.booted)
	}
	// What comes after an invocation has ended is dropped.
	s.post("op_invocation_done")
	s.post("op_invocation_fail", op.String(""), op.String(""), op.String(""))
	s.post("op_fetch_pass_through", op.String(""), op.String(""), op.String(""))
	s.respond(200, "")
}

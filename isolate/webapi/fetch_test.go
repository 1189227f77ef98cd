package webapi

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/isolate/webapi/webapitest"
	"github.com/edge-runtime/edge/net/fetch"
)

// fetched is a result of op_fetch.
type fetched struct {
	status, kind, size int64
	header             fetch.Header
	body               op.Value
}

func asFetched(v op.Value) fetched {
	e := v.Elements()
	return fetched{status: e[0].Int(), header: headerOf(e[2]), kind: e[3].Int(), body: e[4], size: e[5].Int()}
}

// text reads the body of a result.
func (r fetched) text(s *fakeScript) (string, error) {
	switch r.kind {
	case bodyNone:
		return "", nil
	case bodyBytes:
		return string(r.body.Raw()), nil
	}
	var all []byte
	for {
		v, err := s.call("op_body_read", r.body, op.Int(1<<16))
		if err != nil || v.Kind() == op.KindNull {
			return string(all), err
		}
		all = append(all, v.Raw()...)
	}
}

// runScript runs a script in an event, with an outbound service.
func runScript(t *testing.T, outbound fetch.Fetcher, script func(s *fakeScript)) {
	t.Helper()
	w := newFakeInstance(t, func(s *fakeScript) {
		script(s)
		s.respond(200, "")
		s.done()
	})
	if outbound != nil {
		w.grants["outbound"] = outbound
	}
	w.fields = map[string]string{"outbound": "services.shop.worker.globalOutbound"}
	req := newRequest("GET", "http://w/", nil)
	req.Hops = 3
	if _, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), req); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
}

func TestFetchWithoutAGrantNamesTheField(t *testing.T) {
	runScript(t, nil, func(s *fakeScript) {
		_, err := s.fetch("http://origin.example/echo", false)
		e := op.Public(err)
		if e.Class != op.TypeError || e.Code != "ERR_NOT_GRANTED" || !strings.Contains(e.Msg, "set services.shop.worker.globalOutbound in") {
			t.Errorf("rejected with %+v", e)
		}
		s.w.fields = nil
		if _, err := s.fetch("http://origin.example/echo", false); !strings.Contains(err.Error(), "set globalOutbound in") {
			t.Errorf("rejected with %v", err)
		}
		if s.inv.taken != 0 {
			t.Errorf("%d subrequests were counted", s.inv.taken)
		}
	})
}

func TestFetchOutsideOfARequestIsRefused(t *testing.T) {
	w := newFakeInstance(t, nil)
	w.grants["outbound"] = webapitest.Origin()
	if _, err := (&fakeScript{w: w}).fetch("http://origin.example/echo", false); op.Public(err).Class != op.TypeError {
		t.Errorf("rejected with %v", err)
	}
}

func TestFetchCountsSubrequests(t *testing.T) {
	runScript(t, webapitest.Origin(), func(s *fakeScript) {
		for range 2 {
			if _, err := s.fetch("http://origin.example/status/204", false); err != nil {
				t.Error(err)
			}
		}
		if s.inv.taken != 2 {
			t.Errorf("%d subrequests were counted, want 2", s.inv.taken)
		}
		s.inv.refuse = op.Errorf(op.PlainError, "too many subrequests")
		if _, err := s.fetch("http://origin.example/status/204", false); err == nil || err.Error() != "too many subrequests" {
			t.Errorf("over the limit it gave %v", err)
		}
	})
}

func TestFetchSendsWhatAUserAgentSends(t *testing.T) {
	var got *fetch.Request
	record := fetch.FetcherFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		got = req
		return &fetch.Response{Status: 204}, nil
	})
	for _, tc := range []struct {
		name, header, want string
		handle             bool
	}{
		{name: "defaults", want: "accept: */*|user-agent: edge|accept-encoding: gzip, deflate, br, zstd"},
		{name: "own values stay, framing goes", header: "accept\na/b\ncontent-length\n5\nuser-agent\nme\ntransfer-encoding\nchunked\naccept-encoding\nbr\n",
			want: "accept: a/b|user-agent: me|accept-encoding: br"},
		{name: "ranges are not encoded", header: "range\nbytes=0-1\n", want: "range: bytes=0-1|accept: */*|user-agent: edge|accept-encoding: identity"},
		{name: "a service binding gets the host", header: "host\nold.example\nx\ncaf\xe9\n", want: "x: caf\xe9|host: o:81", handle: true},
	} {
		runScript(t, record, func(s *fakeScript) {
			handle := op.Int(0)
			if tc.handle {
				h := s.w.table.Add(record)
				defer s.w.table.Take(h)
				handle = op.Int(int64(h))
			}
			_, err := s.call("op_fetch", handle, op.Int(0), op.String("PUT"), op.String("http://o:81/p?q"), op.ByteString([]byte(tc.header)), op.Bool(false),
				op.Int(bodyText), op.String("text"), op.Int(-1))
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
				return
			}
			var lines []string
			for n, v := range got.Header.All() {
				lines = append(lines, string(n)+": "+string(v))
			}
			if joined := strings.Join(lines, "|"); joined != tc.want {
				t.Errorf("%s: headers are %s, want %s", tc.name, joined, tc.want)
			}
			hops := 4
			if tc.handle {
				hops = 3 // the binding counts
			}
			if got.Method != "PUT" || string(got.Body.Inline) != "text" || got.ID != "r1" || got.Hops != hops {
				t.Errorf("%s: request is %+v", tc.name, got)
			}
		})
	}
}

func TestFetchRefusesAHandleThatIsNoFetcher(t *testing.T) {
	runScript(t, webapitest.Origin(), func(s *fakeScript) {
		if _, err := s.call("op_fetch", op.Int(99), op.Int(0)); op.Public(err).Class != op.TypeError {
			t.Errorf("rejected with %v", err)
		}
	})
}

func TestFetchDecodesContentCodings(t *testing.T) {
	for _, coding := range []string{"gzip", "deflate", "raw", "br", "zstd", "both"} {
		runScript(t, webapitest.Origin(), func(s *fakeScript) {
			v, err := s.fetch("http://o/encoded/"+coding, false)
			if err != nil {
				t.Errorf("%s: %v", coding, err)
				return
			}
			r := asFetched(v)
			if _, has := r.header.Get("content-encoding"); has || r.size != -1 || r.header.Len() != 0 {
				t.Errorf("%s: headers are %q, size %d", coding, r.header, r.size)
			}
			if got, err := r.text(s); err != nil || got != webapitest.Plain {
				t.Errorf("%s: body is %q, %v", coding, got, err)
			}
		})
	}
	runScript(t, webapitest.Origin(), func(s *fakeScript) {
		v, _ := s.fetch("http://o/encoded/unknown", false)
		if r := asFetched(v); string(r.body.Raw()) != webapitest.Plain || len(r.header.Values("content-encoding")) != 1 {
			t.Errorf("an unknown coding: %+v", r)
		}
		v, _ = s.fetch("http://o/encoded/broken", false)
		if _, err := asFetched(v).text(s); op.Public(err).Class != op.TypeError {
			t.Errorf("a broken body: %v", err)
		}
	})
}

func TestFetchPassesAnEncodedBodyThrough(t *testing.T) {
	for _, tc := range []struct{ accept, set, want string }{
		{"gzip, br", "", "gzip"},
		{"br;q=1.0, GZIP;q=0.5", "", "gzip"},
		{"*", "", "gzip"},
		{"br", "", ""},
		{"gzip;q=0, *", "", ""},
		{"gzip;q=0.0", "", ""},
		{"", "", ""},
		{"gzip", "br", "br"},
	} {
		w := newFakeInstance(t, func(s *fakeScript) {
			v, err := s.fetch("http://o/encoded/gzip", false)
			if err != nil {
				t.Error(err)
			}
			r := asFetched(v)
			header := string(r.header)
			if tc.set != "" {
				header += "content-encoding\n" + tc.set + "\n"
			}
			s.post("op_fetch_respond", op.Int(200), op.String(""), op.String(header), op.Int(bodyHandle), r.body, op.Int(r.size))
			s.done()
		})
		w.grants["outbound"] = webapitest.Origin()
		req := newRequest("GET", "http://w/", nil)
		req.Header.Add("accept-encoding", tc.accept)
		resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		coding, _ := resp.Header.Get("content-encoding")
		got := readBody(t, resp)
		if coding != tc.want || (got == webapitest.Plain) == (tc.want == "gzip") {
			t.Errorf("accepting %q: coding is %q, want %q; body %q", tc.accept, coding, tc.want, got)
		}
	}
}

func TestFetchGivesEachKindOfBody(t *testing.T) {
	runScript(t, webapitest.Origin(), func(s *fakeScript) {
		for _, tc := range []struct {
			path         string
			manual       bool
			status, kind int64
			want         string
		}{
			{"/status/200", false, 200, bodyBytes, "status 200"},
			{"/large", false, 200, bodyHandle, strings.Repeat("x", 100_000)},
			{"/stream?n=11", false, 200, bodyHandle, "012345678910"},
			{"/headers", false, 200, bodyNone, ""},
			{"/status/302?location=/x", false, 302, bodyNone, ""},
			{"/status/302?location=/x", true, 302, bodyBytes, "status 302"},
			{"/status/302", false, 302, bodyBytes, "status 302"},
		} {
			v, err := s.fetch("http://o"+tc.path, tc.manual)
			if err != nil {
				t.Errorf("%s: %v", tc.path, err)
				continue
			}
			r := asFetched(v)
			got, err := r.text(s)
			if err != nil || r.status != tc.status || r.kind != tc.kind || got != tc.want {
				t.Errorf("%s: %d, kind %d, %d bytes, %v", tc.path, r.status, r.kind, len(got), err)
			}
		}
		v, _ := s.fetch("http://o/broken", false)
		if got, err := asFetched(v).text(s); got != "0" || op.Public(err).Class != op.TypeError {
			t.Errorf("a broken body: %q, %v", got, err)
		}
	})
}

func TestFetchReleasesBodiesThatNobodyRead(t *testing.T) {
	closed := make(chan struct{})
	runScript(t, fetch.FetcherFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Status: 200, Body: fetch.StreamBody(&closeNotifier{closed: closed}, -1)}, nil
	}), func(s *fakeScript) {
		if _, err := s.fetch("http://o/", false); err != nil {
			t.Error(err)
		}
	})
	<-closed
}

type closeNotifier struct{ closed chan struct{} }

func (c *closeNotifier) Read([]byte) (int, error) { <-c.closed; return 0, io.EOF }
func (c *closeNotifier) Close() error             { close(c.closed); return nil }

func TestFetchTellsErrors(t *testing.T) {
	secret := errors.New("dial 10.0.0.7: refused")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{outcome.Failf(outcome.BadGateway, "no route"), "fetch failed: no route"},
		{op.Errorf(op.TypeError, "10.0.0.1 is denied"), "10.0.0.1 is denied"},
		{secret, "fetch failed"},
	} {
		runScript(t, fetch.FetcherFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, tc.err }), func(s *fakeScript) {
			_, err := s.fetch("http://o/", false)
			if e := op.Public(err); e.Class != op.TypeError || e.Msg != tc.want {
				t.Errorf("%v became %+v", tc.err, e)
			}
			if !errors.Is(err, tc.err) {
				t.Errorf("%v lost its cause: %v", tc.err, err)
			}
		})
	}
}

func TestFetchAbort(t *testing.T) {
	runScript(t, webapitest.Origin(), func(s *fakeScript) {
		start := func(path string, token int64) func() (op.Value, error) {
			return s.start("op_fetch", op.Int(0), op.Int(token), op.String("GET"), op.String("http://o"+path), op.String(""), op.Bool(false), op.Int(bodyNone))
		}
		hanging, other := start("/hang", 7), start("/hang", 8)
		s.post("op_fetch_abort", op.Int(7))
		if _, err := hanging(); op.Public(err).Name != "AbortError" {
			t.Errorf("an aborted fetch gave %v", err)
		}
		s.post("op_fetch_abort", op.Int(7)) // nothing is left of it
		s.post("op_fetch_abort", op.Int(8))
		if _, err := other(); op.Public(err).Name != "AbortError" {
			t.Errorf("an aborted fetch gave %v", err)
		}
	})
}

func TestFetchEndsWithItsInvocation(t *testing.T) {
	w := newFakeInstance(t, func(s *fakeScript) {
		hanging := s.start("op_fetch", op.Int(0), op.Int(0), op.String("GET"), op.String("http://o/hang"), op.String(""), op.Bool(false), op.Int(bodyNone))
		s.post("op_invocation_fail", op.String("Error"), op.String("x"), op.String(""))
		if _, err := hanging(); op.Public(err).Name != "AbortError" {
			t.Errorf("the fetch ended with %v", err)
		}
	})
	w.grants["outbound"] = webapitest.Origin()
	if _, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("GET", "http://w/", nil)); err == nil {
		t.Error("the worker did not fail")
	}
}

func TestFetchIsAbandonedWhenTheServiceIsStuck(t *testing.T) {
	stuck := make(chan struct{})
	done := make(chan struct{})
	var outer answerer
	outer.got = make(chan error, 1)
	w := newFakeInstance(t, func(s *fakeScript) {
		_, err := s.fetch("http://o/", false)
		if e := op.Public(err); e.Msg != "fetch failed: gave up" {
			t.Errorf("rejected with %v", err)
		}
		close(stuck)
		<-done
		s.respond(200, "ok")
		s.done()
	})
	w.grants["outbound"] = fetch.FetcherFunc(func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
		defer close(done)
		if !fetch.Abandon(ctx, outcome.Failf(outcome.Fatal, "gave up")) {
			t.Error("the fetch was not abandoned")
		}
		if fetch.Abandon(ctx, outcome.Failf(outcome.Fatal, "again")) {
			t.Error("the fetch was abandoned twice")
		}
		<-stuck
		return &fetch.Response{Status: 200, Body: fetch.StreamBody(io.NopCloser(strings.NewReader("late")), -1)}, nil
	})
	resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(fetch.WithAbandoner(t.Context(), outer), newRequest("GET", "http://w/", nil))
	if err != nil || readBody(t, resp) != "ok" {
		t.Errorf("the outer request got %v, %v", resp, err)
	}
	if len(outer.got) != 0 {
		t.Errorf("the outer request was abandoned with %v", <-outer.got)
	}
}

func TestFetchSendsABodyOn(t *testing.T) {
	w := newFakeInstance(t, func(s *fakeScript) {
		v, err := s.call("op_fetch", op.Int(0), op.Int(0), op.String("POST"), op.String("http://o/echo"), op.String(""), op.Bool(false),
			op.Int(bodyHandle), s.Args[5], s.Args[6])
		if err != nil {
			t.Error(err)
		}
		text, _ := asFetched(v).text(s)
		if _, err := s.call("op_fetch", op.Int(0), op.Int(0), op.String("POST"), op.String("http://o/echo"), op.String(""), op.Bool(false),
			op.Int(bodyHandle), s.Args[5], s.Args[6]); err == nil {
			t.Error("the body was sent twice")
		}
		s.respond(200, text)
		s.done()
	})
	w.grants["outbound"] = webapitest.Origin()
	body := fetch.StreamBody(io.NopCloser(strings.NewReader("streamed")), -1)
	resp, err := NewFetcher(w, "", FetcherOptions{}).Fetch(t.Context(), newRequest("POST", "http://w/", body))
	if err != nil {
		t.Fatal(err)
	}
	if got := readBody(t, resp); !strings.Contains(got, `"body":"streamed"`) {
		t.Errorf("the origin got %s", got)
	}
}

func TestContentCodings(t *testing.T) {
	for _, tc := range []struct {
		values []string
		want   []string
	}{
		{[]string{"gzip"}, []string{"gzip"}},
		{[]string{"X-GZIP , Br"}, []string{"gzip", "br"}},
		{[]string{"identity"}, nil},
		{[]string{"gzip", "zstd"}, []string{"gzip", "zstd"}},
		{[]string{"gzip, rot13"}, nil},
		{nil, nil},
	} {
		var h fetch.Header
		for _, v := range tc.values {
			h.Add("content-encoding", v)
		}
		if got := contentCodings(h); !slices.Equal(got, tc.want) {
			t.Errorf("%q is %q, want %q", tc.values, got, tc.want)
		}
	}
}

func TestDecodedBodyOfNothing(t *testing.T) {
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		resp := &fetch.Response{Body: fetch.BytesBody(nil)}
		resp.Header.Add("content-encoding", coding)
		decode(resp)
		b, err := resp.Body.ReadAll(10)
		if len(b) != 0 || (err != nil && coding != "br") {
			t.Errorf("%s: %q, %v", coding, b, err)
		}
	}
	d := &decodedBody{raw: fetch.StreamBody(io.NopCloser(strings.NewReader("x")), 1), codings: []string{"gzip"}}
	if raw := d.takeRaw(); raw == nil {
		t.Error("the raw body could not be taken")
	}
	if n, err := d.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("reading what was taken gave %d, %v", n, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

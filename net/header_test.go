package edgenet

import (
	"bufio"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fasthttp"

	"github.com/edge-runtime/edge/net/fetch"
)

func parseHeader(t *testing.T, raw string) *fasthttp.RequestHeader {
	t.Helper()
	var h fasthttp.RequestHeader
	if err := h.Read(bufio.NewReader(strings.NewReader(raw))); err != nil {
		t.Fatal(err)
	}
	return &h
}

func TestRequestHeader(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raw, authority, want string }{
		{"order, duplicates and lower case", "Host: h\r\nX-B: 2\r\nx-a: 1\r\nX-B: 3\r\n", "", "host\nh\nx-b\n2\nx-a\n1\nx-b\n3\n"},
		{"cookies untouched", "Host: h\r\nCookie: a=b;c=d;  e\r\n", "", "host\nh\ncookie\na=b;c=d;  e\n"},
		{"hop-by-hop removed", "Host: h\r\nConnection: keep-alive\r\nKeep-Alive: x\r\nTE: trailers\r\nUpgrade: h2c\r\nProxy-Connection: x\r\nTrailer: x-t\r\nA: b\r\n", "", "host\nh\na\nb\n"},
		{"nominated by Connection", "Host: h\r\nX-Hop: 1\r\nConnection: close, X-Hop\r\nX-Stay: 2\r\nx-hop: 3\r\n", "", "host\nh\nx-stay\n2\n"},
		{"Connection cannot remove Host", "Host: h\r\nConnection: host, content-length\r\nContent-Length: 0\r\n", "", "host\nh\ncontent-length\n0\n"},
		{"expect removed", "Host: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n", "", "host\nh\ncontent-length\n3\n"},
		{"length of a chunked body removed", "Host: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n", "", "host\nh\n"},
		{"folded value joined", "Host: h\r\nX-Fold: a\r\n b\r\n", "", "host\nh\nx-fold\na b\n"},
		{"empty value", "Host: h\r\nX-E:\r\n", "", "host\nh\nx-e\n\n"},
		{"Latin-1", "Host: h\r\nX-L: \xe9\r\n", "", "host\nh\nx-l\n\xe9\n"},
		{"authority of an absolute target", "Host: h\r\nA: b\r\n", "other:81", "host\nother:81\na\nb\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var authority []byte
			if tt.authority != "" {
				authority = []byte(tt.authority)
			}
			h := parseHeader(t, "POST / HTTP/1.1\r\n"+tt.raw+"\r\n")
			got, err := appendRequestHeader([]byte("kept"), h, authority)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("kept"+tt.want, string(got)); diff != "" {
				t.Errorf("header block (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestHeaderRefusesNameWithSpace(t *testing.T) {
	t.Parallel()
	h := parseHeader(t, "GET / HTTP/1.1\r\nHost: h\r\nX Y: 1\r\n\r\n")
	if got, err := appendRequestHeader(nil, h, nil); err == nil {
		t.Errorf("header block = %q, want an error", got)
	}
}

func TestResponseHeader(t *testing.T) {
	t.Parallel()
	list := fetch.Header("content-type\ntext/plain\nset-cookie\na=1; Path=/\nset-cookie\nb=2\n" +
		"connection\nclose\ntransfer-encoding\nchunked\ncontent-length\n99\nedge-outcome\nok\n" +
		"x-bad\na\rb\nx-bad\na\x00b\nbad name\nx\nx-two\n1\nx-two\n2\ncontent-encoding\ngzip\ncontent-encoding\nbr\nserver\nmine\n")
	var h fasthttp.ResponseHeader
	h.SetNoDefaultContentType(true)
	setResponseHeader(&h, list)
	got := h.String()
	want := "HTTP/1.1 200 OK\r\nServer: mine\r\nContent-Type: text/plain\r\nContent-Encoding: gzip, br\r\n" +
		"X-Two: 1\r\nX-Two: 2\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\n\r\n"
	lines := strings.SplitAfter(got, "\r\n")
	got = ""
	for _, line := range lines {
		if !strings.HasPrefix(line, "Date:") {
			got += line
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response header (-want +got):\n%s", diff)
	}
}

func FuzzRequestHeader(f *testing.F) {
	f.Add("Host: h\r\nConnection: a, b\r\nA: 1\r\n")
	f.Add("Host: h\r\nX: a\r\n\tb\r\n")
	f.Fuzz(func(t *testing.T, raw string) {
		var h fasthttp.RequestHeader
		if err := h.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\n" + raw + "\r\n"))); err != nil {
			return
		}
		got, err := appendRequestHeader(nil, &h, nil)
		if err != nil {
			return
		}
		n := 0
		for name, value := range fetch.Header(got).All() {
			n += len(name) + len(value) + 2
			if !fetch.ValidName(string(name)) || !fetch.ValidValue(string(value)) {
				t.Fatalf("entry %q: %q is not valid", name, value)
			}
			if hopByHop(string(name)) {
				t.Fatalf("hop-by-hop header %q is left", name)
			}
		}
		if n != len(got) {
			t.Fatalf("block %q is malformed", got)
		}
	})
}

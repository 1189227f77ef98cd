package edgenet

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

func parseHead(text, method string, budget int) (*responseHead, error) {
	r := headReader{br: bufio.NewReaderSize(strings.NewReader(text), 64), budget: budget}
	return r.read(method)
}

func TestResponseHead(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	long := strings.Repeat("v", 300)
	tests := []struct {
		name, method, text string
		want               string // status, text, framing, header list; or the error
	}{
		{"a length", "GET", ok + "Content-Length: 5\r\n\r\n", "200 OK length=5 | content-length=5"},
		{"chunks", "GET", ok + "Transfer-Encoding: Chunked\r\n\r\n", "200 OK chunked |"},
		{"neither", "GET", ok + "\r\n", "200 OK length=-1 close |"},
		{"order, duplicates, capitals", "GET", ok + "X-B: 1\r\nx-a: 2\r\nX-b: 3\r\nContent-Length: 0\r\n\r\n", "200 OK length=0 | x-b=1 x-a=2 x-b=3 content-length=0"},
		{"bare line feeds", "GET", "HTTP/1.1 200 OK\nA: b\nContent-Length: 1\n\n", "200 OK length=1 | a=b content-length=1"},
		{"no reason", "GET", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n", "200  length=1 | content-length=1"},
		{"an empty reason", "GET", "HTTP/1.1 404 \r\nContent-Length: 1\r\n\r\n", "404  length=1 | content-length=1"},
		{"a long reason", "GET", "HTTP/1.1 200 All is \xfc well\r\nContent-Length: 1\r\n\r\n", "200 All is \xfc well length=1 | content-length=1"},
		{"a later minor version", "GET", "HTTP/1.3 200 OK\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 | content-length=1"},
		{"HTTP/1.0 closes", "GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 close | content-length=1"},
		{"close", "GET", ok + "Connection: foo, Close\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 close | content-length=1"},
		{"nominated fields go", "GET", ok + "Connection: x-a\r\nX-A: 1\r\nX-B: 2\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 | x-b=2 content-length=1"},
		{"a length cannot be nominated", "GET", ok + "Connection: content-length\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 | content-length=1"},
		{"hop-by-hop fields go", "GET", ok + "Upgrade: h2c\r\nTrailer: x\r\nProxy-Authenticate: Basic\r\nTE: x\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 | content-length=1"},
		{"keep-alive", "GET", ok + "Keep-Alive: max=5, timeout=10\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 keep=9s | content-length=1"},
		{"a short keep-alive", "GET", ok + "Keep-Alive: timeout=1\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 keep=500ms | content-length=1"},
		{"a folded value", "GET", ok + "A: b\r\n  c\r\n\t d \r\nContent-Length: 1\r\n\r\n", "200 OK length=1 | a=b c d content-length=1"},
		{"space before the colon goes", "GET", ok + "Content-Length : 1\r\n\r\n", "200 OK length=1 | content-length=1"},
		{"space around the value goes", "GET", ok + "A:\t b \t\r\nContent-Length:1\r\n\r\n", "200 OK length=1 | a=b content-length=1"},
		{"controls in a value stay", "GET", ok + "A: b\x01c\x7f\xff\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 | a=b\x01c\x7f\xff content-length=1"},
		{"a line longer than the buffer", "GET", ok + "A: " + long + "\r\nContent-Length: 1\r\n\r\n", "200 OK length=1 | a=" + long + " content-length=1"},
		{"the same length twice", "GET", ok + "Content-Length: 5\r\nContent-Length: 5, 5\r\n\r\n", "200 OK length=5 | content-length=5"},
		{"chunks win over a length and end the connection", "GET", ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "200 OK chunked close |"},
		{"HEAD has no body", "HEAD", ok + "Content-Length: 5\r\n\r\n", "200 OK length=0 | content-length=5"},
		{"HEAD of chunks", "HEAD", ok + "Transfer-Encoding: chunked\r\n\r\n", "200 OK length=0 |"},
		{"HEAD of nothing", "HEAD", ok + "\r\n", "200 OK length=0 |"},
		{"204 has no body", "GET", "HTTP/1.1 204 No Content\r\n\r\n", "204 No Content length=0 |"},
		{"304 has no body", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304 Not Modified length=0 | content-length=9"},
		{"an interim response", "GET", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", "103 Early Hints length=0 | link=x"},

		{"an SSH server", "GET", "SSH-2.0-OpenSSH_9.2p1\r\n\r\n", errNoHTTP.Error()},
		{"HTTP/2", "GET", "HTTP/2.0 200 OK\r\n\r\n", errNoHTTP.Error()},
		{"HTTP/0.9", "GET", "<html>\r\n\r\n", errNoHTTP.Error()},
		{"a short status", "GET", "HTTP/1.1 20 OK\r\n\r\n", errNoHTTP.Error()},
		{"a long status", "GET", "HTTP/1.1 2000\r\n\r\n", errNoHTTP.Error()},
		{"a signed status", "GET", "HTTP/1.1 +20 OK\r\n\r\n", errNoHTTP.Error()},
		{"an empty line first", "GET", "\r\n" + ok + "\r\n", errNoHTTP.Error()},
		{"a NUL in the reason", "GET", "HTTP/1.1 200 O\x00K\r\n\r\n", errNoHTTP.Error()},
		{"a CR in the reason", "GET", "HTTP/1.1 200 O\rK\r\n\r\n", errNoHTTP.Error()},
		{"a field without a colon", "GET", ok + "what\r\n\r\n", errField.Error()},
		{"a field without a name", "GET", ok + ": x\r\n\r\n", errField.Error()},
		{"a space in a name", "GET", ok + "a b: x\r\n\r\n", errField.Error()},
		{"a NUL in a value", "GET", ok + "a: x\x00\r\n\r\n", errField.Error()},
		{"a CR in a value", "GET", ok + "a: x\ry\r\n\r\n", errField.Error()},
		{"two CRs", "GET", ok + "a: x\r\r\n\r\n", errField.Error()},
		{"a CR in a folded line", "GET", ok + "a: x\r\n y\rz\r\n\r\n", errField.Error()},
		{"a fold before the first field", "GET", ok + " a: x\r\n\r\n", errField.Error()},
		{"two lengths", "GET", ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", errLength.Error()},
		{"two lengths in one", "GET", ok + "Content-Length: 5, 6\r\n\r\n", errLength.Error()},
		{"a negative length", "GET", ok + "Content-Length: -5\r\n\r\n", errLength.Error()},
		{"a signed length", "GET", ok + "Content-Length: +5\r\n\r\n", errLength.Error()},
		{"an empty length", "GET", ok + "Content-Length:\r\n\r\n", errLength.Error()},
		{"a hexadecimal length", "GET", ok + "Content-Length: 0x5\r\n\r\n", errLength.Error()},
		{"a length with an underscore", "GET", ok + "Content-Length: 1_0\r\n\r\n", errLength.Error()},
		{"a huge length", "GET", ok + "Content-Length: 9223372036854775808\r\n\r\n", errLength.Error()},
		{"an unknown encoding", "GET", ok + "Transfer-Encoding: gzip\r\n\r\n", errEncoding.Error()},
		{"two encodings", "GET", ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", errEncoding.Error()},
		{"chunked twice", "GET", ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", errEncoding.Error()},
		{"chunks over HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", errEncoding.Error()},
		{"a huge field", "GET", ok + "A: " + strings.Repeat("x", 5000) + "\r\n\r\n", errHeadTooLarge.Error()},
		{"many fields", "GET", ok + strings.Repeat("A: b\r\n", 1000) + "\r\n", errHeadTooLarge.Error()},
		{"a line that does not end", "GET", strings.Repeat("x", 5000), errHeadTooLarge.Error()},
		{"no end", "GET", ok + "A: b\r\n", io.ErrUnexpectedEOF.Error()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, err := parseHead(tt.text, tt.method, 4096)
			if got := showHead(h, err); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func showHead(h *responseHead, err error) string {
	if err != nil {
		return err.Error()
	}
	s := fmt.Sprintf("%d %s", h.status, h.text)
	if h.chunked {
		s += " chunked"
	} else {
		s += fmt.Sprintf(" length=%d", h.length)
	}
	if h.keep != 0 {
		s += " keep=" + h.keep.String()
	}
	if h.close {
		s += " close"
	}
	s += " |"
	for n, v := range h.header.All() {
		s += fmt.Sprintf(" %s=%s", n, v)
	}
	return s
}

func TestHeadsShareOneBudget(t *testing.T) {
	t.Parallel()
	r := headReader{br: bufio.NewReader(strings.NewReader(strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100))), budget: 1000}
	n := 0
	for ; ; n++ {
		if _, err := r.read("GET"); err != nil {
			if err != errHeadTooLarge {
				t.Errorf("error is %v, want %v", err, errHeadTooLarge)
			}
			break
		}
	}
	if n != 40 {
		t.Errorf("%d interim responses were read, want 40", n)
	}
}

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"": 0, "max=5": 0, "timeout=": 0, "timeout=x": 0, "timeout=-5": 0, "timeout=5": 4 * time.Second,
		"Timeout=\"20\", max=7": 19 * time.Second, "timeout=0": time.Millisecond, "timeout=99999999999": 0,
	} {
		if got := keepAlive(value); got != want {
			t.Errorf("%q keeps %v, want %v", value, got, want)
		}
	}
}

func FuzzResponseHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: a\r\nA: b\r\n c\r\n\r\nhello"))
	f.Add([]byte("HTTP/1.1 200\nTransfer-Encoding: chunked\nContent-Length: 5, 5\n\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 304 x\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		br := bufio.NewReaderSize(bytes.NewReader(raw), 16)
		r := headReader{br: br, budget: 1 << 10}
		h, err := r.read("GET")
		if err != nil {
			return
		}
		var again fetch.Header
		for n, v := range h.header.All() {
			if !again.Add(string(n), string(v)) || hopByHop(string(n)) {
				t.Fatalf("%q gives the field %q: %q", raw, n, v)
			}
		}
		if !bytes.Equal(again, h.header) {
			t.Fatalf("%q gives the list %q", raw, h.header)
		}
		// What net/http frames in another way must not be kept alive.
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), &http.Request{Method: "GET"})
		if err != nil || h.close || h.status < 200 {
			return
		}
		if !h.chunked && theirs.ContentLength != h.length || h.chunked != (theirs.ContentLength == -1) {
			t.Errorf("%q: length is %d (chunked %v), net/http says %d", raw, h.length, h.chunked, theirs.ContentLength)
		}
	})
}

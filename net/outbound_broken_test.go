package edgenet

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/net/fetch"
)

func TestHalfBrokenServers(t *testing.T) {
	t.Parallel()
	const (
		ok     = "HTTP/1.1 200 OK\r\n"
		chunks = ok + "Transfer-Encoding: chunked\r\n\r\n"
		fetchF = "fetch from ADDR: "
		readF  = "read the response from ADDR: "
		closed = "the server closed the connection"
	)
	tests := []struct {
		name, response string
		method         string // GET by default
		want           string // "status body" or the text of the error
		reused         bool   // the next request takes the same connection
	}{
		{name: "a length", response: ok + "Content-Length: 5\r\n\r\nhello", want: "200 hello", reused: true},
		{name: "an empty body", response: ok + "Content-Length: 0\r\n\r\n", want: "200 ", reused: true},
		{name: "chunks", response: chunks + "3\r\nhel\r\n2;ext=1\r\nlo\r\n0\r\nTrailer: x\r\n\r\n", want: "200 hello", reused: true},
		{name: "no chunks", response: chunks + "0\r\n\r\n", want: "200 ", reused: true},
		{name: "until the end of the connection", response: ok + "\r\nhello", want: "200 hello"},
		{name: "HTTP/1.0", response: "HTTP/1.0 200 OK\r\n\r\nhello", want: "200 hello"},
		{name: "HEAD", method: "HEAD", response: ok + "Content-Length: 5\r\n\r\n", want: "200 ", reused: true},
		{name: "HEAD with a body that must not be", method: "HEAD", response: ok + "Content-Length: 5\r\n\r\nhello", want: "200 "},
		{name: "204", response: "HTTP/1.1 204 No Content\r\n\r\n", want: "204 ", reused: true},
		{name: "204 with a body that must not be", response: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", want: "204 "},
		{name: "205", response: "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", want: "205 ", reused: true},
		{name: "205 with a body that must not be", response: "HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello", want: "205 "},
		{name: "205 that does not end", response: "HTTP/1.1 205 Reset Content\r\n\r\n", want: "205 "},
		{name: "304", response: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", want: "304 ", reused: true},
		{name: "a redirect", response: "HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 1\r\n\r\nx", want: "301 x", reused: true},
		{name: "the highest status", response: "HTTP/1.1 599 X\r\nContent-Length: 0\r\n\r\n", want: "599 ", reused: true},
		{name: "100 before the response", response: "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello", want: "200 hello", reused: true},
		{name: "hints before the response", response: "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello", want: "200 hello", reused: true},
		{name: "close", response: ok + "Connection: close\r\nContent-Length: 5\r\n\r\nhello", want: "200 hello"},
		{name: "bytes after the response", response: ok + "Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n", want: "200 hello"},
		{name: "bytes after the chunks", response: chunks + "5\r\nhello\r\n0\r\n\r\nmore", want: "200 hello"},
		{name: "a length and chunks", response: ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", want: "200 hello"},

		{name: "nothing", response: "", want: fetchF + closed + " without a response"},
		{name: "half a head", response: ok + "Content-Le", want: fetchF + closed + " without a response"},
		{name: "an interim response only", response: "HTTP/1.1 100 Continue\r\n\r\n", want: fetchF + closed + " without a response"},
		{name: "half a body", response: ok + "Content-Length: 5\r\n\r\nhel", want: readF + closed},
		{name: "no body", response: ok + "Content-Length: 5\r\n\r\n", want: readF + closed},
		{name: "no last chunk", response: chunks + "5\r\nhello\r\n", want: readF + closed},
		{name: "half a chunk", response: chunks + "5\r\nhel", want: readF + closed},
		{name: "half a chunk's length", response: chunks + "5", want: readF + closed},
		{name: "no trailers' end", response: chunks + "5\r\nhello\r\n0\r\n", want: readF + closed},
		{name: "half a trailer", response: chunks + "5\r\nhello\r\n0\r\nA: b", want: readF + closed},
		{name: "a chunk's length that is no number", response: chunks + "hello\r\nhello\r\n0\r\n\r\n", want: readF + "the response's chunks are not valid"},
		{name: "a negative chunk", response: chunks + "-5\r\nhello\r\n0\r\n\r\n", want: readF + "the response's chunks are not valid"},
		{name: "a chunk's length that is too large", response: chunks + "11111111111111111\r\nhello\r\n0\r\n\r\n", want: readF + "the response's chunks are not valid"},
		{name: "a chunk longer than its length", response: chunks + "2\r\nhello\r\n0\r\n\r\n", want: readF + "the response's chunks are not valid"},
		{name: "a bare line feed after a chunk's length", response: chunks + "5\nhello\r\n0\r\n\r\n", want: readF + "the response's chunks are not valid"},
		{name: "a chunk's length that does not end", response: chunks + strings.Repeat("1", 10_000), want: readF + "the response's chunks are not valid"},
		{name: "extensions without measure", response: chunks + strings.Repeat("1;"+strings.Repeat("x", 1000)+"\r\na\r\n", 100), want: readF + "the response's chunks are not valid"},
		{name: "trailers without measure", response: chunks + "0\r\n" + strings.Repeat("A: b\r\n", 50_000) + "\r\n", want: readF + "the response's headers are too large"},
		{name: "a huge field", response: ok + "A: " + strings.Repeat("x", 200<<10) + "\r\n\r\n", want: fetchF + "the response's headers are too large"},
		{name: "many fields", response: ok + strings.Repeat("A: b\r\n", 50_000) + "\r\n", want: fetchF + "the response's headers are too large"},
		{name: "a line that does not end", response: strings.Repeat("x", 200<<10), want: fetchF + "the response's headers are too large"},
		{name: "a flood of interim responses", response: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 50_000), want: fetchF + "the response's headers are too large"},
		{name: "another protocol", response: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", want: fetchF + "the server switched to another protocol unasked"},
		{name: "a status that is too low", response: "HTTP/1.1 099 X\r\n\r\n", want: fetchF + "the response has the status 99 (there are 200 to 599)"},
		{name: "a status that is too high", response: "HTTP/1.1 600 X\r\n\r\n", want: fetchF + "the response has the status 600 (there are 200 to 599)"},
		{name: "not HTTP", response: "220 mail.example ESMTP\r\n", want: fetchF + "the server's answer is not HTTP/1.1"},
		{name: "TLS where HTTP was asked for", response: "\x15\x03\x01\x00\x02\x02\x16\n", want: fetchF + "the server's answer is not HTTP/1.1"},
		{name: "a header that is not valid", response: ok + "A B: c\r\n\r\n", want: fetchF + "the response has a header that is not valid"},
		{name: "two lengths", response: ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", want: fetchF + "the response has a content-length that is not valid"},
		{name: "an encoding that is not known", response: ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", want: fetchF + "the response has a transfer-encoding that is not known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := servePeer(t, func(c *peerConn) {
				for i := 0; ; i++ {
					if _, _, err := c.request(); err != nil {
						return
					}
					if c.n > 1 || i > 0 {
						c.say(okResponse)
						continue
					}
					c.say("%s", tt.response)
					if !tt.reused {
						// What the client sends from now on is not read, what it did not take
						// yet still arrives.
						_ = c.Conn.(*net.TCPConn).CloseWrite()
						c.untilClosed()
						return
					}
				}
			})
			method := tt.method
			if method == "" {
				method = "GET"
			}
			n := reach(t)
			var got string
			resp, body, err := roundTrip(n, &fetch.Request{Method: method, URL: p.url})
			if err != nil {
				got = scriptText(t, err)
			} else {
				got = fmt.Sprintf("%d %s", resp.Status, body)
				if (resp.Body == nil) != (method == "HEAD" || nullBody(resp.Status)) {
					t.Errorf("body is %v", resp.Body)
				}
			}
			if want := strings.ReplaceAll(tt.want, "ADDR", p.addr); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			fine(t, n, p.url)
			if got := p.connections() == 1; got != tt.reused {
				t.Errorf("the connection was reused: %v, want %v", got, tt.reused)
			}
		})
	}
}

func TestTinyReads(t *testing.T) {
	t.Parallel()
	p := servePeer(t, func(c *peerConn) {
		for {
			req, _, err := c.request()
			if err != nil {
				return
			}
			if req.URL.Path == "/chunked" {
				c.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
				for _, s := range []string{"3\r", "\nabc\r\n", "2\r\nd", "e\r", "\n0\r\n", "\r", "\n"} {
					c.say("%s", s)
				}
			} else {
				c.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
				c.say("ab")
				c.say("cde")
			}
		}
	})
	n := reach(t)
	for _, path := range []string{"/length", "/chunked", "/length", "/chunked"} {
		resp, err := n.Fetch(t.Context(), &fetch.Request{Method: "GET", URL: p.url + path})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Reader != nil {
			var got []byte
			var one [1]byte
			for {
				k, err := resp.Body.Reader.Read(one[:])
				got = append(got, one[:k]...)
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := resp.Body.Reader.Read(nil); err != nil && err != io.EOF {
					t.Fatal(err)
				}
			}
			if string(got) != "abcde" {
				t.Errorf("%s: got %q", path, got)
			}
			if k, err := resp.Body.Reader.Read(one[:]); k != 0 || err != io.EOF {
				t.Errorf("after the end: %d, %v", k, err)
			}
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := p.connections(); got != 1 {
		t.Errorf("%d connections were made, want 1", got)
	}
}

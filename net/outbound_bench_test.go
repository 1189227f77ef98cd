package edgenet

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/net/fetch"
)

// BenchmarkFetch measures requests one after another on a loopback connection,
// beside net/http's client on the same server.
func BenchmarkFetch(b *testing.B) {
	small := servePeer(b, func(c *peerConn) { answerFast(c, okResponse) })
	const size = 16 << 20
	large := servePeer(b, func(c *peerConn) {
		answerFast(c, "HTTP/1.1 200 OK\r\nContent-Length: 16777216\r\n\r\n"+strings.Repeat("x", size))
	})
	var h fetch.Header
	h.Add("accept", "*/*")
	h.Add("user-agent", "edge")
	buf := make([]byte, 32<<10)
	for _, bench := range []struct {
		name string
		peer *peer
		size int64
	}{{"small", small, 2}, {"16MiB", large, size}} {
		b.Run(bench.name+"/edge", func(b *testing.B) {
			n := reach(b)
			b.SetBytes(bench.size)
			b.ReportAllocs()
			for b.Loop() {
				resp, err := n.Fetch(b.Context(), &fetch.Request{Method: "GET", URL: bench.peer.url + "/", Header: h})
				if err != nil {
					b.Fatal(err)
				}
				if resp.Body.Reader != nil {
					if k, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body.Reader, buf); err != nil || k != bench.size {
						b.Fatal(k, err)
					}
				}
				_ = resp.Body.Close()
			}
		})
		b.Run(bench.name+"/net-http", func(b *testing.B) {
			transport := &http.Transport{DisableCompression: true}
			defer transport.CloseIdleConnections()
			b.SetBytes(bench.size)
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), "GET", bench.peer.url+"/", nil)
				if err != nil {
					b.Fatal(err)
				}
				for name, value := range h.All() {
					req.Header.Add(string(name), string(value))
				}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				if k, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, buf); err != nil || k != bench.size {
					b.Fatal(k, err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}

// answerFast serves a response to each request without looking at it.
func answerFast(c *peerConn, response string) {
	br := bufio.NewReader(c)
	answer := []byte(response)
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) == 2 {
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	}
}

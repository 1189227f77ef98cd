//go:build cgo

package assemble_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestNoRequestFailsAcrossReloads reloads 100 times, each time with another
// change, while clients ask as fast as they can, with and without keep-alive,
// through service bindings and for long streams.
func TestNoRequestFailsAcrossReloads(t *testing.T) {
	s := newSite(t, nil)
	change := func(n int) {
		s.write("w.js", fmt.Sprintf(`
const own = %d;
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/chain") {
      // Across an await, so that a reload may fall between.
      await new Promise((r) => setTimeout(r, 1));
      return new Response("w" + own + " " + await (await env.NEXT.fetch("http://next/")).text());
    }
    if (pathname === "/stream") {
      let i = 0;
      return new Response(new ReadableStream({
        async pull(c) {
          if (i === 50) return c.close();
          await new Promise((r) => setTimeout(r, 2));
          c.enqueue(new TextEncoder().encode(i++ + "\n"));
        },
      }));
    }
    if (request.method === "POST") return new Response(await request.text());
    return new Response("w");
  },
};`, n))
		s.write("next.js", fmt.Sprintf("const own = %d; export default { fetch: () => new Response(\"n\" + own) };", n))
		// Another service, another limit of the socket, another socket.
		extra := ""
		if n%3 == 1 {
			extra = "services: extra: worker: main: \"same.js\"\n"
		}
		if n%5 == 2 {
			extra += "sockets: http: http: bodySize: \"" + fmt.Sprint(n) + "MiB\"\n"
		}
		if n%7 == 3 {
			extra += "sockets: other: {address: \"127.0.0.1:0\", service: \"same\"}\n"
		}
		s.write("config.cue", `
admin: address: "off"
services: {
	w: worker: {main: "w.js", bindings: {NEXT: service: "next", N: text: "`+fmt.Sprint(n)+`"}}
	next: worker: main: "next.js"
	same: worker: {main: "same.js", bindings: NEXT: service: "next"}
}
sockets: http: {address: "127.0.0.1:0", routes: [{path: "/same", service: "same"}, {service: "w"}]}
`+extra)
	}
	s.write("same.js", `export default { fetch: async (r, env) => new Response("same " + (await (await env.NEXT.fetch("http://next/")).text()).slice(0, 1)) };`)
	change(0)
	s.load()
	base := s.base

	var stop atomic.Bool
	var asked atomic.Int64
	var clients sync.WaitGroup
	client := func(ask func(*http.Client) error, keepAlive bool) {
		c := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: !keepAlive}}
		clients.Go(func() {
			for !stop.Load() {
				if err := ask(c); err != nil {
					t.Error(err)
					return
				}
				asked.Add(1)
			}
		})
	}
	expect := func(path string, ok func(string) bool) func(*http.Client) error {
		return func(c *http.Client) error {
			got, err := get(c, base+path)
			if err != nil || !ok(got) {
				return fmt.Errorf("%s answers %q, %v", path, got, err)
			}
			return nil
		}
	}
	sameGeneration := func(got string) bool {
		var w, n int
		_, err := fmt.Sscanf(got, "w%d n%d", &w, &n)
		return err == nil && w == n
	}
	for _, keepAlive := range []bool{true, false} {
		client(expect("/", func(got string) bool { return got == "w" }), keepAlive)
		client(expect("/same", func(got string) bool { return got == "same n" }), keepAlive)
		client(expect("/chain", sameGeneration), keepAlive)
		client(expect("/stream", func(got string) bool { return strings.Count(got, "\n") == 50 }), keepAlive)
		client(func(c *http.Client) error {
			body := strings.Repeat("x", 100_000)
			resp, err := c.Post(base+"/", "text/plain", strings.NewReader(body))
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != body {
				return fmt.Errorf("POST answers %d, %d bytes, %v", resp.StatusCode, len(got), err)
			}
			return nil
		}, keepAlive)
	}
	for n := 1; n <= 100 && !t.Failed(); n++ {
		change(n)
		s.load()
		if n%10 == 0 {
			// Every so often the clients get to see the generation.
			before := asked.Load()
			s.until(func() bool { return asked.Load() > before+20 || t.Failed() })
		}
	}
	stop.Store(true)
	clients.Wait()
	t.Logf("%d requests across 100 reloads", asked.Load())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.access {
		if r.Outcome != "ok" {
			t.Errorf("%s %s ended with %s, %v", r.Method, r.Path, r.Outcome, r.Err)
		}
	}
}

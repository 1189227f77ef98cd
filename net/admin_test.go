package edgenet

import (
	"errors"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/net/fetch"
)

func TestAdmin(t *testing.T) {
	t.Parallel()
	waiting := errors.New("the first generation is being built")
	tests := []struct {
		name, method, url, client string
		opts                      AdminOptions
		status                    int
		body                      string
	}{
		{"live", "GET", "http://127.0.0.1:9090/healthz", "127.0.0.1:5", AdminOptions{Ready: func() error { return waiting }}, 200, "ok\n"},
		{"ready", "GET", "http://localhost:9090/readyz?verbose", "[::1]:5", AdminOptions{Ready: func() error { return nil }}, 200, "ok\n"},
		{"ready by default", "HEAD", "http://[::1]/readyz", "127.0.0.1:5", AdminOptions{}, 200, "ok\n"},
		{"not ready", "GET", "http://127.0.0.1/readyz", "127.0.0.1:5", AdminOptions{Ready: func() error { return waiting }}, 503, "not ready: the first generation is being built\n"},
		{"other path", "GET", "http://127.0.0.1/", "127.0.0.1:5", AdminOptions{}, 404, "there are /healthz and /readyz\n"},
		{"other method", "POST", "http://127.0.0.1/healthz", "127.0.0.1:5", AdminOptions{}, 405, "GET it\n"},
		{"page", "POST", "http://127.0.0.1/metrics", "127.0.0.1:5", AdminOptions{Pages: map[string]fetch.Fetcher{"/metrics": text("metrics")}}, 200, "metrics"},
		{"mapped loopback", "GET", "http://127.0.0.1/healthz", "[::ffff:127.0.0.1]:5", AdminOptions{}, 200, "ok\n"},
		{"peer elsewhere", "GET", "http://127.0.0.1/healthz", "192.0.2.1:5", AdminOptions{}, 403, "the admin listener serves this machine only\n"},
		{"rebound name", "GET", "http://evil.example/healthz", "127.0.0.1:5", AdminOptions{}, 403, "the admin listener serves this machine only\n"},
		{"peer elsewhere, allowed", "GET", "http://admin.example/healthz", "192.0.2.1:5", AdminOptions{AllowRemote: true}, 200, "ok\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, err := NewAdmin(tt.opts).Fetch(t.Context(), &fetch.Request{Method: tt.method, URL: tt.url, ClientAddr: tt.client})
			if err != nil {
				t.Fatal(err)
			}
			if body, err := resp.Body.ReadAll(1000); resp.Status != tt.status || string(body) != tt.body || err != nil {
				t.Errorf("response is %d %q, %v, want %d %q", resp.Status, body, err, tt.status, tt.body)
			}
		})
	}
}

func TestAdminOverHTTP(t *testing.T) {
	t.Parallel()
	ts := serve(t, NewAdmin(AdminOptions{}).Fetch)
	c := ts.dial()
	c.send("GET /healthz HTTP/1.1\nHost: " + ts.addr + "\n\n")
	if resp, body := c.get("GET"); resp.StatusCode != 200 || body != "ok\n" {
		t.Errorf("response is %d %q", resp.StatusCode, body)
	}
}

func TestCheckAdminAddr(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:9090":   "",
		"[::1]:9090":       "",
		"localhost:0":      "",
		"127.8.8.8:1":      "",
		":9090":            "reachable from other machines",
		"0.0.0.0:9090":     "reachable from other machines",
		"192.0.2.1:9090":   "reachable from other machines",
		"admin.example:80": "reachable from other machines",
		"127.0.0.1":        "is not host:port",
	} {
		err := CheckAdminAddr(addr, false)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", addr, err, want)
		}
		if err := CheckAdminAddr(addr, true); err != nil && want != "is not host:port" {
			t.Errorf("%q, remote: %v", addr, err)
		}
	}
}

package edgenet

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/edge-runtime/edge/net/fetch"
)

// AdminOptions configures the service of the admin listener.
type AdminOptions struct {
	// Ready returns nil when the server takes requests, else what it waits for,
	// in words that may be shown. Nil is always ready.
	Ready func() error
	// AllowRemote serves peers that are not on this machine.
	AllowRemote bool
	// Pages are further paths, such as "/metrics".
	Pages map[string]fetch.Fetcher
}

// NewAdmin returns the service of the admin listener: /healthz answers as long
// as the process lives, /readyz when it is ready to serve. It refuses peers
// beyond the loopback interface, in case the listener is not bound to it, and
// names that only a rebound DNS entry would lead here.
func NewAdmin(opts AdminOptions) fetch.Fetcher {
	return fetch.FetcherFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		_ = req.Body.Close() // nothing here takes one
		if !opts.AllowRemote && (!loopback(req.ClientAddr) || !localName(req.URL)) {
			return adminText(http.StatusForbidden, "the admin listener serves this machine only"), nil
		}
		path, _ := urlPath(req.URL)
		if page := opts.Pages[path]; page != nil {
			return page.Fetch(ctx, req)
		}
		if path != "/healthz" && path != "/readyz" {
			return adminText(http.StatusNotFound, "there are /healthz and /readyz"), nil
		}
		if req.Method != "GET" && req.Method != "HEAD" {
			resp := adminText(http.StatusMethodNotAllowed, "GET it")
			resp.Header.Add("allow", "GET, HEAD")
			return resp, nil
		}
		if path == "/readyz" && opts.Ready != nil {
			if err := opts.Ready(); err != nil {
				return adminText(http.StatusServiceUnavailable, "not ready: "+err.Error()), nil
			}
		}
		return adminText(http.StatusOK, "ok"), nil
	})
}

// CheckAdminAddr refuses to bind the admin listener to an address that other
// machines reach, unless remote is set.
func CheckAdminAddr(addr string, remote bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("admin address %q is not host:port: %w", addr, err)
	}
	ip, err := netip.ParseAddr(host)
	if remote || host == "localhost" || err == nil && ip.Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("admin address %q is reachable from other machines: use 127.0.0.1 or allow remote access", addr)
}

// loopback reports whether an "ip:port" is of this machine. A peer without
// address came over a Unix socket.
func loopback(addr string) bool {
	ap, err := netip.ParseAddrPort(addr)
	return addr == "" || addr == "@" || err == nil && ap.Addr().Unmap().IsLoopback()
}

// localName reports whether a URL names this machine by its address or as
// localhost.
func localName(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func adminText(status int, text string) *fetch.Response {
	resp := &fetch.Response{Status: status, Body: fetch.BytesBody([]byte(text + "\n"))}
	resp.Header.Add("content-type", "text/plain; charset=utf-8")
	resp.Header.Add("cache-control", "no-store")
	return resp
}

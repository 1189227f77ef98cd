package edgenet

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/net/fetch"
)

// origin is a server as a URL names it, and what connections are kept for.
type origin struct {
	host string // canonical
	port uint16
	tls  bool
}

// label is the origin in error texts: "api.example.com:443".
func (o origin) label() string { return net.JoinHostPort(o.host, strconv.Itoa(int(o.port))) }

// splitURL cuts a serialised URL into its origin, its authority without
// credentials, and what a request line asks for. Credentials are dropped: the
// Fetch standard does not send them.
//
// https://fetch.spec.whatwg.org/#http-network-or-cache-fetch
func splitURL(url string) (to origin, authority, target string, err error) {
	rest, ok := strings.CutPrefix(url, "http://")
	to.port = 80
	if !ok {
		if rest, ok = strings.CutPrefix(url, "https://"); !ok {
			scheme, _, found := strings.Cut(url, ":")
			if !found {
				return origin{}, "", "", badURL(url)
			}
			return origin{}, "", "", op.Errorf(op.TypeError, "the scheme %q cannot be fetched (only http and https can)", scheme)
		}
		to.port, to.tls = 443, true
	}
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest, target = rest[:i], rest[i:]
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	authority = rest[strings.LastIndexByte(rest, '@')+1:]
	host, port, ok := cutPort(authority)
	if !ok || !validHost(host) || !visible(target) {
		return origin{}, "", "", badURL(url)
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return origin{}, "", "", badURL(url)
		}
		to.port = uint16(n)
	}
	to.host = canonicalHost(host)
	return to, authority, target, nil
}

func badURL(url string) error {
	return op.Errorf(op.TypeError, "%q is not a valid http URL", url)
}

// cutPort splits "host:port" and "[address]:port".
func cutPort(authority string) (host, port string, ok bool) {
	end := strings.LastIndexByte(authority, ']') + 1
	if i := strings.IndexByte(authority[end:], ':'); i >= 0 {
		return authority[:end+i], authority[end+i+1:], true
	}
	return authority, "", end == 0 || end == len(authority)
}

// validHost reports whether a host may stand in a Host header and go to a
// resolver: a bracketed IPv6 address without a zone, or visible ASCII without
// the code points that no host has.
//
// https://url.spec.whatwg.org/#forbidden-host-code-point
func validHost(host string) bool {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		return ok && err == nil && a.Is6() && a.Zone() == ""
	}
	return host != "" && host != "." && len(host) <= 254 && visible(host) && !strings.ContainsAny(host, "#/:<>?@[\\]^|%")
}

// visible reports whether s is visible ASCII, without spaces.
func visible(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// checkMethod refuses what is no method, and CONNECT, which asks for a tunnel.
func checkMethod(method string) error {
	if !fetch.ValidName(method) || method == "CONNECT" {
		return op.Errorf(op.TypeError, "the method %q cannot be sent", method)
	}
	return nil
}

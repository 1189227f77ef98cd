package edgenet

import (
	"bytes"
	"errors"
	"net/netip"
	"strconv"
	"strings"
)

// target is the place of a URL's parts in the buffer it was appended to: the
// host without its port, and the path without the query.
type target struct {
	urlLo, urlHi   int
	hostLo, hostHi int
	pathLo, pathHi int
	// authority ends the host with its port, which starts at hostLo.
	authority int
}

var (
	errTargetForm = errors.New("the request target is neither a path nor an absolute http URL")
	errHost       = errors.New("the host is not valid")
)

// appendURL appends the serialised URL of a request to dst: what the URL
// standard makes of scheme, host and the target of the request line, so that a
// service and the router see the same path and no dot segment passes a route.
// An absolute target takes the place of the Host header (RFC 9112, 3.2.2).
//
// https://url.spec.whatwg.org/#url-serializing
func appendURL(dst []byte, scheme string, host, raw []byte) ([]byte, target, error) {
	path := raw
	switch {
	case len(raw) > 0 && raw[0] == '/':
	case len(raw) == 1 && raw[0] == '*':
		path = nil
	default:
		s, rest, ok := bytes.Cut(raw, []byte("://"))
		if !ok || !strings.EqualFold(string(s), "http") && !strings.EqualFold(string(s), "https") {
			return dst, target{}, errTargetForm
		}
		end := bytes.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		host, path = rest[:end], rest[end:]
	}
	t := target{urlLo: len(dst)}
	dst = append(dst, scheme...)
	dst = append(dst, "://"...)
	t.hostLo = len(dst)
	dst, port, err := appendHost(dst, host)
	if err != nil {
		return dst[:t.urlLo], target{}, err
	}
	t.hostHi = len(dst)
	if dst, err = appendPort(dst, scheme, port); err != nil {
		return dst[:t.urlLo], target{}, err
	}
	t.authority, t.pathLo = len(dst), len(dst)
	path, query, hasQuery := cutQuery(path)
	dst = appendPath(dst, path)
	t.pathHi = len(dst)
	if hasQuery {
		dst = appendEncoded(append(dst, '?'), query, encodeQuery)
	}
	t.urlHi = len(dst)
	return dst, t, nil
}

// cutQuery splits a path from its query and drops the fragment.
func cutQuery(b []byte) (path, query []byte, ok bool) {
	if i := bytes.IndexByte(b, '#'); i >= 0 {
		b = b[:i]
	}
	return bytes.Cut(b, []byte{'?'})
}

// appendHost appends the host in lower case and returns the text of its port.
// It takes names, IPv4 and bracketed IPv6 addresses; user names, escapes and
// non-ASCII bytes are refused.
func appendHost(dst, host []byte) (out, port []byte, err error) {
	if len(host) > 0 && host[0] == '[' {
		end := bytes.IndexByte(host, ']')
		if end < 0 {
			return dst, nil, errHost
		}
		ip, err := netip.ParseAddr(string(host[1:end]))
		if err != nil || !ip.Is6() || ip.Zone() != "" {
			return dst, nil, errHost
		}
		dst = append(ip.AppendTo(append(dst, '[')), ']')
		rest := host[end+1:]
		if len(rest) == 0 {
			return dst, nil, nil
		}
		if rest[0] != ':' {
			return dst, nil, errHost
		}
		return dst, rest[1:], nil
	}
	name, port, _ := bytes.Cut(host, []byte{':'})
	if len(name) == 0 || len(name) > 253+1 {
		return dst, nil, errHost
	}
	lo := len(dst)
	dst = append(dst, name...)
	for i, c := range dst[lo:] {
		lower := lowerHost[c]
		if lower == 0 {
			return dst, nil, errHost
		}
		dst[lo+i] = lower
	}
	return dst, port, nil
}

// lowerHost gives each byte of a host name in lower case, 0 for others.
var lowerHost = func() (t [256]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-32] = c, c
	}
	for _, c := range []byte("0123456789-._") {
		t[c] = c
	}
	return t
}()

// appendPort appends ":port" unless it is the scheme's own or empty.
func appendPort(dst []byte, scheme string, port []byte) ([]byte, error) {
	if len(port) == 0 {
		return dst, nil
	}
	n := 0
	for _, c := range port {
		if c < '0' || c > '9' {
			return dst, errHost
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return dst, errHost
		}
	}
	if scheme == "http" && n == 80 || scheme == "https" && n == 443 {
		return dst, nil
	}
	return strconv.AppendInt(append(dst, ':'), int64(n), 10), nil
}

// The classes of bytes in a request target. Each set holds what must be
// percent-encoded; pathSpecial may change what a path means.
const (
	encodePath = 1 << iota
	encodeQuery
	pathSpecial
)

var targetBytes = func() (t [256]uint8) {
	for c := range 256 {
		if c <= ' ' || c >= 0x7f {
			t[c] = encodePath | encodeQuery
		}
	}
	for _, c := range `"#<>` {
		t[c] |= encodePath | encodeQuery
	}
	for _, c := range "?^`{}" {
		t[c] |= encodePath
	}
	t['\''] |= encodeQuery
	t['.'] |= pathSpecial
	t['%'] |= pathSpecial
	t['\\'] |= pathSpecial
	return t
}()

// appendPath appends the path as the URL standard serialises it: dot segments
// resolved, also where they are escaped, backslashes turned, bytes encoded.
//
// https://url.spec.whatwg.org/#path-state
func appendPath(dst, path []byte) []byte {
	if plainPath(path) {
		return append(dst, path...)
	}
	base := len(dst)
	if len(path) > 0 && (path[0] == '/' || path[0] == '\\') {
		path = path[1:]
	}
	for {
		end := bytes.IndexAny(path, `/\`)
		last := end < 0
		seg := path
		if !last {
			seg = path[:end]
		}
		switch dots(seg) {
		case 1:
			if last {
				dst = append(dst, '/')
			}
		case 2:
			if i := bytes.LastIndexByte(dst[base:], '/'); i >= 0 {
				dst = dst[:base+i]
			}
			if last {
				dst = append(dst, '/')
			}
		default:
			dst = appendEncoded(append(dst, '/'), seg, encodePath)
		}
		if last {
			return dst
		}
		path = path[end+1:]
	}
}

// plainPath reports whether a path stays as it is.
func plainPath(path []byte) bool {
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	for i, c := range path {
		switch class := targetBytes[c]; {
		case class == 0 || class == encodeQuery:
		case c == '.' && path[i-1] != '/':
		case c == '%' && (i+2 >= len(path) || path[i+1] != '2' || path[i+2]|0x20 != 'e'):
		default:
			return false
		}
	}
	return true
}

// dots returns 1 for a single-dot segment, 2 for a double-dot one, else 0.
//
// https://url.spec.whatwg.org/#single-dot-path-segment
func dots(seg []byte) int {
	n := 0
	for len(seg) > 0 {
		switch {
		case seg[0] == '.':
			seg = seg[1:]
		case len(seg) >= 3 && seg[0] == '%' && seg[1] == '2' && seg[2]|0x20 == 'e':
			seg = seg[3:]
		default:
			return 0
		}
		if n++; n > 2 {
			return 0
		}
	}
	return n
}

// appendEncoded appends b with the bytes of a class percent-encoded.
func appendEncoded(dst, b []byte, class uint8) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range b {
		if targetBytes[c]&class != 0 {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

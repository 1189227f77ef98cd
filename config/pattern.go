package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A patternError is what is wrong with a text and, in Hint, what would have
// worked.
type patternError struct{ Msg, Hint string }

func (e *patternError) Error() string { return e.Msg }

func badPattern(hint, format string, args ...any) error {
	return &patternError{Msg: fmt.Sprintf(format, args...), Hint: hint}
}

const (
	listenHint = `such as "127.0.0.1:8080", "[::1]:8080", or "*:8080" for every address of the machine`
	dialHint   = `such as "10.0.0.7:8080", "[2001:db8::7]:8080" or "backend.example.com:8080"`
	hostHint   = `such as "api.example.com:443", "*.example.com:443", "*:443" or "api.example.com:*"`
	routeHint  = `such as "shop.example.com" or "*.example.com"`
	ruleHint   = `valid: "public", "private", "local", "203.0.113.7", "10.0.0.0/8", "2001:db8::/32"`
)

// parseListenAddress returns "host:port" with an empty host for "*" and for
// none.
func parseListenAddress(s string) (string, error) {
	host, port, err := splitHostPort(s, "address", listenHint)
	if err != nil {
		return "", err
	}
	if port == "" {
		return "", badPattern(listenHint, "bad address %q: the port is missing", s)
	}
	n, err := parsePort(s, port, "address", listenHint)
	if err != nil {
		return "", err
	}
	if host == "*" || host == "" {
		return ":" + strconv.Itoa(int(n)), nil
	}
	if host, err = parseHost(s, host, "address", listenHint); err != nil {
		return "", err
	}
	return joinHostPort(host, n), nil
}

// parseDialAddress returns "host:port" of a server; defaultPort takes the place
// of a missing port.
func parseDialAddress(s string, defaultPort uint16) (string, error) {
	host, port, err := splitHostPort(s, "address", dialHint)
	if err != nil {
		return "", err
	}
	n := defaultPort
	if port != "" {
		if n, err = parsePort(s, port, "address", dialHint); err != nil {
			return "", err
		}
	}
	if n == 0 {
		return "", badPattern(dialHint, "bad address %q: port 0 is no port of a server", s)
	}
	if host, err = parseHost(s, host, "address", dialHint); err != nil {
		return "", err
	}
	return joinHostPort(host, n), nil
}

// parseAddressRule parses an element of a network's allow or deny.
func parseAddressRule(s string) (AddressRule, error) {
	switch w := AddressWord(s); w {
	case Public, Private, Local:
		return AddressRule{Word: w}, nil
	}
	if ip, bits, ok := strings.Cut(s, "/"); ok {
		addr, err := netip.ParseAddr(ip)
		if err != nil || addr.Zone() != "" {
			return AddressRule{}, badPattern(ruleHint, "bad CIDR %q: %q is no IP address", s, ip)
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return AddressRule{}, badPattern(ruleHint, "bad CIDR %q: the length %q is not 0 to %d", s, bits, addr.BitLen())
		}
		if p.Masked() != p {
			return AddressRule{}, badPattern(fmt.Sprintf("did you mean %q or %q?", p.Masked(), netip.PrefixFrom(addr, addr.BitLen())),
				"bad CIDR %q: the address has bits beyond its length", s)
		}
		return AddressRule{Prefix: unmap(p)}, nil
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		hint := ruleHint
		if near := nearest(s, []string{"public", "private", "local"}); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		} else if validName(strings.ToLower(strings.TrimPrefix(s, "*."))) {
			hint = "allow and deny judge addresses; names go into hosts"
		}
		return AddressRule{}, badPattern(hint, "bad address rule %q: neither an IP address, a CIDR nor a word", s)
	}
	return AddressRule{Prefix: unmap(netip.PrefixFrom(addr, addr.BitLen()))}, nil
}

// unmap turns an IPv4-mapped prefix into the IPv4 prefix that it stands for, so
// that one form is compared.
func unmap(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// parseHostPattern parses an element of a network's hosts.
func parseHostPattern(s string) (HostPattern, error) {
	host, port, err := splitHostPort(s, "host", hostHint)
	if err != nil {
		return HostPattern{}, err
	}
	var p HostPattern
	switch port {
	case "":
		p.Ports = []uint16{80, 443}
	case "*":
	default:
		n, err := parsePort(s, port, "host", hostHint)
		if err != nil {
			return HostPattern{}, err
		}
		if n == 0 {
			return HostPattern{}, badPattern(hostHint, "bad host %q: port 0 is no port of a server", s)
		}
		p.Ports = []uint16{n}
	}
	if host == "*" {
		return p, nil
	}
	p.Host, p.Subdomains, err = parseWildcard(s, host, hostHint)
	return p, err
}

// parseRouteHost parses the host of a route: "" for "*".
func parseRouteHost(s string) (string, error) {
	if s == "*" {
		return "", nil
	}
	if strings.Contains(s, "://") || strings.Contains(s, "/") {
		return "", badPattern(routeHint, "bad host %q: only the name is matched here, no scheme and no path", s)
	}
	bare := s
	if inner, ok := strings.CutPrefix(s, "["); ok {
		bare, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return "", badPattern(routeHint, "bad host %q: no port is matched here", s)
		}
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 && strings.Count(s, ":") == 1 {
		return "", badPattern(fmt.Sprintf("did you mean %q?", s[:i]), "bad host %q: no port is matched here", s)
	}
	host, sub, err := parseWildcard(s, bare, routeHint)
	if err != nil {
		return "", err
	}
	if sub {
		return "*." + host, nil
	}
	return host, nil
}

// parseRoutePath parses the path of a route: a prefix of whole segments. "/" and
// "/*" are "", "/api/*" is "/api/".
func parseRoutePath(s string) (string, error) {
	const hint = `such as "/api" for "/api" and what is below, or "/api/" for what is below only`
	if !strings.HasPrefix(s, "/") {
		return "", badPattern(hint, "bad path %q: it does not begin with a slash", s)
	}
	path := s
	if strings.HasSuffix(s, "/*") {
		path = strings.TrimSuffix(s, "*")
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '*':
			return "", badPattern(hint, "bad path %q: a path is a prefix, \"*\" may only be its last segment", s)
		case c == '?' || c == '#':
			return "", badPattern(hint, "bad path %q: only the path is matched, no query and no fragment", s)
		case c <= ' ' || c >= 0x7f || c == '\\':
			return "", badPattern("write it the way it stands in a URL, percent-encoded", "bad path %q: it has a character that no URL's path has", s)
		}
	}
	if strings.Contains(path, "//") || strings.Contains(path+"/", "/./") || strings.Contains(path+"/", "/../") {
		return "", badPattern(hint, "bad path %q: a segment is empty, \".\" or \"..\"", s)
	}
	if path == "/" {
		return "", nil
	}
	return path, nil
}

// parseWildcard parses a host that may begin with "*.".
func parseWildcard(whole, host, hint string) (name string, subdomains bool, err error) {
	rest, subdomains := strings.CutPrefix(host, "*.")
	if strings.Contains(rest, "*") {
		return "", false, badPattern(hint, "bad host %q: \"*\" may only be the first label", whole)
	}
	name, err = parseHost(whole, rest, "host", hint)
	if err == nil && subdomains {
		if _, ipErr := netip.ParseAddr(name); ipErr == nil {
			return "", false, badPattern(hint, "bad host %q: there are no names below an address", whole)
		}
	}
	return name, subdomains, err
}

// splitHostPort cuts "host:port"; brackets around an IPv6 address are removed,
// and the port is empty when there is none.
func splitHostPort(s, what, hint string) (host, port string, err error) {
	switch {
	case s == "":
		return "", "", badPattern(hint, "bad %s %q: it is empty", what, s)
	case strings.Contains(s, "://"):
		_, rest, _ := strings.Cut(s, "://")
		rest, _, _ = strings.Cut(rest, "/")
		return "", "", badPattern(fmt.Sprintf("did you mean %q?", rest), "bad %s %q: it is a URL", what, s)
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", badPattern(hint, "bad %s %q: \"]\" is missing", what, s)
		}
		host, port = s[1:end], s[end+1:]
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return "", "", badPattern(hint, "bad %s %q: %q is no IPv6 address", what, s, host)
		}
		if port == "" {
			return host, "", nil
		}
		if port, ok := strings.CutPrefix(port, ":"); ok && port != "" {
			return host, port, nil
		}
		return "", "", badPattern(hint, "bad %s %q: after \"]\" comes \":\" and a port", what, s)
	case strings.Count(s, ":") > 1:
		if _, err := netip.ParseAddr(s); err == nil {
			return "", "", badPattern(fmt.Sprintf("did you mean \"[%s]\" and a port?", s), "bad %s %q: an IPv6 address stands in brackets", what, s)
		}
		return "", "", badPattern(hint, "bad %s %q: it has more than one colon", what, s)
	}
	host, port, found := strings.Cut(s, ":")
	if found && port == "" {
		return "", "", badPattern(hint, "bad %s %q: the port is missing", what, s)
	}
	return host, port, nil
}

func parsePort(whole, port, what, hint string) (uint16, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || port[0] == '+' {
		return 0, badPattern(hint, "bad %s %q: %q is no port, a port is 0 to 65535", what, whole, port)
	}
	return uint16(n), nil
}

// parseHost returns a name in lower case or an address in its shortest form.
func parseHost(whole, host, what, hint string) (string, error) {
	if host == "" {
		return "", badPattern(hint, "bad %s %q: the host is missing", what, whole)
	}
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() == "" {
		return a.Unmap().String(), nil
	}
	for i := 0; i < len(host); i++ {
		if host[i] >= 0x80 {
			return "", badPattern(`write names in their ASCII form, such as "xn--bcher-kva.example"`, "bad %s %q: the name is not ASCII", what, whole)
		}
	}
	name := strings.ToLower(host)
	if last := name[strings.LastIndexByte(name, '.')+1:]; last != "" && strings.Trim(last, "0123456789") == "" {
		return "", badPattern(hint, "bad %s %q: %q is no IPv4 address", what, whole, host)
	}
	if !validName(name) {
		return "", badPattern(hint, "bad %s %q: %q is no host name", what, whole, host)
	}
	return name, nil
}

// validName reports whether s, in lower case, is a DNS name: labels of letters,
// digits, "-" and "_" (which real names hold), no dot at the end.
func validName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := 0; i < len(label); i++ {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

func joinHostPort(host string, port uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

package edgenet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// AddressRule matches resolved addresses: by Word, or by Prefix when Word is
// empty.
type AddressRule struct {
	Word   AddressWord
	Prefix netip.Prefix
}

// HostPattern matches a host and a port as they were asked for.
type HostPattern struct {
	// Host is a name in ASCII or an address without brackets. Empty matches every
	// host.
	Host string
	// Subdomains makes the pattern match the names below Host, at any depth, and
	// not Host itself. No address is below a name.
	Subdomains bool
	// Ports are the ports that match; nil: every port.
	Ports []uint16
}

// verdict is what a policy says about an address.
type verdict uint8

const (
	granted verdict = iota
	notAllowed
	denied
)

// addressRules is a list of rules in the form in which they are compared.
type addressRules struct {
	words    []AddressWord
	prefixes []netip.Prefix
}

func newAddressRules(rules []AddressRule) (addressRules, error) {
	var out addressRules
	var errs []error
	for _, r := range rules {
		switch {
		case r.Word != "":
			if r.Word != Public && r.Word != Private && r.Word != Local {
				errs = append(errs, fmt.Errorf("unknown address word %q (there are public, private and local)", r.Word))
			}
			out.words = append(out.words, r.Word)
		case !r.Prefix.IsValid():
			errs = append(errs, errors.New("an address rule has neither a word nor a valid prefix"))
		default:
			p := r.Prefix.Masked()
			if p.Addr().Is4In6() && p.Bits() >= 96 {
				p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
			}
			out.prefixes = append(out.prefixes, p)
		}
	}
	return out, errors.Join(errs...)
}

// match reports whether a rule matches a canonical address.
func (r addressRules) match(a netip.Addr) bool {
	if len(r.words) > 0 && slices.Contains(r.words, WordOf(a)) {
		return true
	}
	for _, p := range r.prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// addressPolicy decides which addresses may be connected to.
type addressPolicy struct{ allow, deny addressRules }

// judge applies the policy to an address and to the IPv4 addresses inside it. A
// rule that denies any of them denies the address; to be granted, the address
// and all IPv4 addresses in it must be allowed. An address of the well-known
// NAT64 prefix is only another way to write its IPv4 address and needs no rule
// of its own.
func (p *addressPolicy) judge(a netip.Addr) verdict {
	if !a.IsValid() {
		return notAllowed
	}
	a = canonical(a)
	var buf [4]embedded
	inner := appendEmbedded(buf[:0], a)
	if p.deny.match(a) {
		return denied
	}
	for _, e := range inner {
		if p.deny.match(e.addr) {
			return denied
		}
	}
	if !nat64.Contains(a) && !p.allow.match(a) {
		return notAllowed
	}
	for _, e := range inner {
		if !e.maybe && !p.allow.match(e.addr) {
			return notAllowed
		}
	}
	return granted
}

// hostPolicy decides which hosts and ports may be asked for. Without patterns it
// grants all.
type hostPolicy []HostPattern

func newHostPolicy(patterns []HostPattern) (hostPolicy, error) {
	var out hostPolicy
	var errs []error
	for _, p := range patterns {
		p.Host = canonicalHost(p.Host)
		_, err := netip.ParseAddr(p.Host)
		switch {
		case p.Subdomains && (p.Host == "" || err == nil):
			errs = append(errs, fmt.Errorf("host pattern %q: there are no names below it", "*."+p.Host))
		case strings.ContainsAny(p.Host, "*/@ ") || err != nil && strings.ContainsAny(p.Host, ":[]"):
			errs = append(errs, fmt.Errorf("host pattern %q is neither a name nor an address", p.Host))
		case slices.Contains(p.Ports, 0):
			errs = append(errs, fmt.Errorf("host pattern %q: port 0 is no port of a server", p.Host))
		}
		p.Ports = slices.Clone(p.Ports)
		out = append(out, p)
	}
	return out, errors.Join(errs...)
}

// grants reports whether a canonical host may be asked for at a port.
func (h hostPolicy) grants(host string, port uint16) bool {
	if len(h) == 0 {
		return true
	}
	for _, p := range h {
		if p.matches(host) && (p.Ports == nil || slices.Contains(p.Ports, port)) {
			return true
		}
	}
	return false
}

func (p HostPattern) matches(host string) bool {
	switch {
	case p.Host == "":
		return true
	case !p.Subdomains:
		return host == p.Host
	}
	rest, ok := strings.CutSuffix(host, p.Host)
	if !ok || len(rest) < 2 || rest[len(rest)-1] != '.' {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err != nil
}

// canonicalHost returns the form in which hosts are compared: lower case,
// without the dot that ends a complete name, addresses without brackets in
// their shortest form.
func canonicalHost(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			host = inner
		}
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	// An address has a colon or ends with a digit.
	if n := len(host); n > 0 && (host[n-1] >= '0' && host[n-1] <= '9' || strings.IndexByte(host, ':') >= 0) {
		if a, err := netip.ParseAddr(host); err == nil {
			return canonical(a).String()
		}
	}
	return host
}

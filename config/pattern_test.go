package config

import (
	"errors"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

func TestParseListenAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"*:8080": ":8080", ":8080": ":8080", "127.0.0.1:0": "127.0.0.1:0", "[0:0::1]:80": "[::1]:80", "LocalHost:1": "localhost:1",
		"[::ffff:127.0.0.1]:80": "127.0.0.1:80", "*:00080": ":80",
	} {
		if got, err := parseListenAddress(in); got != want || err != nil {
			t.Errorf("parseListenAddress(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestParseDialAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"10.0.0.7": "10.0.0.7:443", "a.example:8080": "a.example:8080", "[2001:DB8::7]": "[2001:db8::7]:443", "a_b.example": "a_b.example:443",
	} {
		if got, err := parseDialAddress(in, 443); got != want || err != nil {
			t.Errorf("parseDialAddress(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestParseAddressRule(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]AddressRule{
		"public": {Word: Public}, "private": {Word: Private}, "local": {Word: Local},
		"10.0.0.0/8":          {Prefix: netip.MustParsePrefix("10.0.0.0/8")},
		"10.1.2.3":            {Prefix: netip.MustParsePrefix("10.1.2.3/32")},
		"2001:db8::/32":       {Prefix: netip.MustParsePrefix("2001:db8::/32")},
		"::ffff:10.0.0.0/104": {Prefix: netip.MustParsePrefix("10.0.0.0/8")},
		"::ffff:10.0.0.1":     {Prefix: netip.MustParsePrefix("10.0.0.1/32")},
		"0.0.0.0/0":           {Prefix: netip.MustParsePrefix("0.0.0.0/0")},
		"::/0":                {Prefix: netip.MustParsePrefix("::/0")},
	} {
		if got, err := parseAddressRule(in); got != want || err != nil {
			t.Errorf("parseAddressRule(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
}

func TestParseHostPattern(t *testing.T) {
	t.Parallel()
	web := []uint16{80, 443}
	for in, want := range map[string]HostPattern{
		"API.example.com:443": {Host: "api.example.com", Ports: []uint16{443}}, "api.example.com": {Host: "api.example.com", Ports: web},
		"*.example.com:*": {Host: "example.com", Subdomains: true}, "*": {Ports: web}, "*:*": {}, "*:8443": {Ports: []uint16{8443}},
		"10.0.0.1:80": {Host: "10.0.0.1", Ports: []uint16{80}}, "[::1]:80": {Host: "::1", Ports: []uint16{80}}, "[::1]": {Host: "::1", Ports: web},
		"localhost:1": {Host: "localhost", Ports: []uint16{1}},
	} {
		if got, err := parseHostPattern(in); !reflect.DeepEqual(got, want) || err != nil {
			t.Errorf("parseHostPattern(%q) = %+v, %v, want %+v", in, got, err, want)
		}
	}
}

func TestParseRoutePatterns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"*": "", "Shop.example.com": "shop.example.com", "*.Example.com": "*.example.com", "127.0.0.1": "127.0.0.1", "[::1]": "::1", "localhost": "localhost",
	} {
		if got, err := parseRouteHost(in); got != want || err != nil {
			t.Errorf("parseRouteHost(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{"/": "", "/*": "", "/api": "/api", "/api/": "/api/", "/api/*": "/api/", "/a%20b/c": "/a%20b/c", "/.well-known/x": "/.well-known/x"} {
		if got, err := parseRoutePath(in); got != want || err != nil {
			t.Errorf("parseRoutePath(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b Route
		want bool
	}{
		{Route{}, Route{Host: "a.example", Path: "/x"}, true},
		{Route{Host: "a.example"}, Route{}, false},
		{Route{Host: "*.example"}, Route{Host: "a.example"}, true},
		{Route{Host: "*.example"}, Route{Host: "example"}, false},
		{Route{Host: "*.example"}, Route{Host: "aexample"}, false},
		{Route{Host: "*.example"}, Route{Host: "*.a.example"}, true},
		{Route{Host: "*.a.example"}, Route{Host: "*.example"}, false},
		{Route{Path: "/api"}, Route{Path: "/api/"}, true},
		{Route{Path: "/api/"}, Route{Path: "/api"}, false},
		{Route{Path: "/api"}, Route{Path: "/apis"}, false},
		{Route{Path: "/api/"}, Route{Path: "/api/v1"}, true},
		{Route{Path: "/api"}, Route{Host: "a.example", Path: "/api/v1"}, true},
	} {
		if got := c.a.covers(c.b); got != c.want {
			t.Errorf("%q covers %q: got %v, want %v", c.a.Host+c.a.Path, c.b.Host+c.b.Path, got, c.want)
		}
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{":80", "127.0.0.1:80", true}, {"127.0.0.1:80", "127.0.0.2:80", false}, {":80", ":81", false}, {":0", ":0", false},
		{"0.0.0.0:80", "127.0.0.1:80", true}, {"0.0.0.0:80", "[::1]:80", false}, {"[::]:80", "127.0.0.1:80", true}, {"localhost:80", "localhost:80", true},
	} {
		if got := overlap(c.a, c.b); got != c.want {
			t.Errorf("overlap(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
		if got := overlap(c.b, c.a); got != c.want {
			t.Errorf("overlap(%q, %q) = %v, want %v", c.b, c.a, got, c.want)
		}
	}
}

// FuzzPatterns checks that parsers do not panic, that what they accept they
// accept again and unchanged, and that what they refuse comes with a hint.
func FuzzPatterns(f *testing.F) {
	for _, s := range []string{
		"*:8080", "[::1]:80", "a.example", "*.a.example:443", "10.0.0.0/8", "public", "/api/*", "", "[", "]:", "::", "a:b:c", "http://a/", "*.*", "/..", "[::1", "1.2.3", "\xff", "*.:1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		refused := func(err error) bool {
			var pe *patternError
			if err != nil && (!errors.As(err, &pe) || pe.Hint == "") {
				t.Errorf("%q is refused with %v, which has no hint", s, err)
			}
			return err != nil
		}
		same := func(parse func(string) (string, error)) {
			got, err := parse(s)
			if refused(err) || got == "" {
				return
			}
			if strings.Count(got, ":") > 1 && !strings.HasPrefix(got, "[") {
				got = "[" + got + "]" // a route's IPv6 address is kept without brackets
			}
			if again, err := parse(got); err != nil || strings.Trim(again, "[]") != strings.Trim(got, "[]") {
				t.Errorf("%q becomes %q, which becomes %q, %v", s, got, again, err)
			}
		}
		same(parseListenAddress)
		same(func(s string) (string, error) { return parseDialAddress(s, 80) })
		same(parseRouteHost)
		same(parseRoutePath)
		if addr, err := parseDialAddress(s, 80); err == nil {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				t.Errorf("%q becomes %q: %v", s, addr, err)
			}
		}
		if r, err := parseAddressRule(s); !refused(err) && (r.Word == "") != r.Prefix.IsValid() {
			t.Errorf("%q becomes the rule %+v, want a word or a prefix", s, r)
		}
		_, err := parseHostPattern(s)
		refused(err)
	})
}

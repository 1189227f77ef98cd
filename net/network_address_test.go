package edgenet

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// The addresses of each word, the edges of each block among them.
var addressesOf = map[AddressWord]string{
	Public: `1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
		168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0
		192.0.1.255 192.0.3.0 192.31.196.1 192.52.193.1 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0
		192.175.48.1 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
		2000:: 2000::1 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1 2003::1 2606:4700::1111
		2620:4f:8000::1 2a00:1450::1 3ffe:: 3fff:1000:: 3fff:ffff::1 64:ff9b::8.8.8.8 64:ff9b::1.1.1.1 ::ffff:8.8.8.8`,
	Private: `10.0.0.0 10.0.0.1 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 172.16.0.0 172.20.1.2
		172.31.255.255 192.168.0.0 192.168.1.1 192.168.255.255 fc00:: fc00::1 fd00:ec2::254 fd20:ce::254
		fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fec0::1 feff:ffff::1 64:ff9b::10.0.0.1 64:ff9b::192.168.1.1
		64:ff9b::100.64.0.1 ::ffff:10.0.0.1 ::ffff:172.16.0.1 ::ffff:192.168.0.1`,
	Local: `0.0.0.0 127.0.0.0 127.0.0.1 127.1.2.3 127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255
		168.63.129.16 :: ::1 fe80:: fe80::1 fe80::1%eth0 fe80::1%25 febf:ffff::1 ::ffff:127.0.0.1 ::ffff:0.0.0.0
		::ffff:169.254.169.254 ::ffff:127.0.0.1%eth0 64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 64:ff9b::0.0.0.0`,
	reserved: `0.0.0.1 0.1.2.3 0.255.255.255 192.0.0.0 192.0.0.1 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.192 192.0.0.255
		192.0.2.0 192.0.2.255 192.88.99.0 192.88.99.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.7 224.0.0.1
		239.255.255.255 240.0.0.1 255.255.255.254 255.255.255.255 ::2 ::8.8.8.8 ::127.0.0.1 ::10.0.0.1
		::ffff:0:8.8.8.8 64:ff9b:1::8.8.8.8 64:ff9b:1:ffff::1 64:ff9b:2::1 100::1 100:0:0:1::1 200::1 1fff::1
		2001::1 2001:1::1 2001:2::1 2001:3::1 2001:10::1 2001:20::1 2001:1ff::1 2001:db8::1 2001:db8:ffff::1
		2002::1 2002:808:808::1 2002:7f00:1::1 3fff::1 3fff:fff::1 4000::1 5f00::1 8000::1 fbff::1 fe00::1 fe7f::1
		ff00:: ff02::1 ff02::1%eth0 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff`,
}

func TestWordOf(t *testing.T) {
	t.Parallel()
	for want, list := range addressesOf {
		for text := range strings.FieldsSeq(list) {
			if got := WordOf(netip.MustParseAddr(text)); got != want {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
		}
	}
}

// disguises are the ways in which an IPv6 address can hold an IPv4 address.
var disguises = map[string]func(v4 [4]byte) netip.Addr{
	"mapped": func(v [4]byte) netip.Addr { return netip.AddrFrom16(netip.AddrFrom4(v).As16()) },
	"mapped, with a zone": func(v [4]byte) netip.Addr {
		return netip.AddrFrom16(netip.AddrFrom4(v).As16()).WithZone("eth0")
	},
	"compatible":        suffixed("::"),
	"translated":        suffixed("::ffff:0:0:0"),
	"NAT64":             suffixed("64:ff9b::"),
	"local NAT64 /96":   suffixed("64:ff9b:1:abcd::"),
	"local NAT64 /48":   placed("64:ff9b:1::", 6, 7, 9, 10),
	"local NAT64 /56":   placed("64:ff9b:1:7700::", 7, 9, 10, 11),
	"local NAT64 /64":   placed("64:ff9b:1:7777::", 9, 10, 11, 12),
	"6to4":              placed("2002::1", 2, 3, 4, 5),
	"6to4, with a host": placed("2002:0:0:1:2:3:4:5", 2, 3, 4, 5),
	"Teredo server":     placed("2001::ffff:ffff:f7f7:f7f7", 4, 5, 6, 7),
	"Teredo client": func(v [4]byte) netip.Addr {
		return placed("2001:0:808:808::", 12, 13, 14, 15)([4]byte{^v[0], ^v[1], ^v[2], ^v[3]})
	},
	"ISATAP":                   suffixed("2606:4700::5efe:0:0"),
	"ISATAP, globally unique":  suffixed("2606:4700::200:5efe:0:0"),
	"ISATAP below link-local":  suffixed("fe80::5efe:0:0"),
	"ISATAP below NAT64 local": suffixed("64:ff9b:1::5efe:0:0"),
}

func suffixed(prefix string) func([4]byte) netip.Addr { return placed(prefix, 12, 13, 14, 15) }

func placed(base string, at ...int) func([4]byte) netip.Addr {
	b := netip.MustParseAddr(base).As16()
	return func(v [4]byte) netip.Addr {
		out := b
		for i, pos := range at {
			out[pos] = v[i]
		}
		return netip.AddrFrom16(out)
	}
}

func rules(t testing.TB, texts ...string) addressRules {
	t.Helper()
	r, err := newAddressRules(addressRuleList(texts...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func addressRuleList(texts ...string) (list []AddressRule) {
	for _, s := range texts {
		if p, err := netip.ParsePrefix(s); err == nil {
			list = append(list, AddressRule{Prefix: p})
		} else if a, err := netip.ParseAddr(s); err == nil {
			list = append(list, AddressRule{Prefix: netip.PrefixFrom(a, a.BitLen())})
		} else {
			list = append(list, AddressRule{Word: AddressWord(s)})
		}
	}
	return list
}

// ownAddress reports whether a is one of the two addresses that look as if they
// held an IPv4 address and do not.
func ownAddress(a netip.Addr) bool {
	return a == netip.IPv6Unspecified() || a == netip.IPv6Loopback()
}

// unpublic are the IPv4 addresses that "public" leaves out.
func unpublic() (list []netip.Addr) {
	for word, texts := range addressesOf {
		for text := range strings.FieldsSeq(texts) {
			if a := netip.MustParseAddr(text); a.Is4() && word != Public {
				list = append(list, a)
			}
		}
	}
	return list
}

func TestNoDisguiseMakesAnAddressPublic(t *testing.T) {
	t.Parallel()
	policies := map[string]addressPolicy{
		"public":                        {allow: rules(t, "public")},
		"public and all of IPv6":        {allow: rules(t, "public", "::/0")},
		"public and each disguise":      {allow: rules(t, "public", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")},
		"everything but what is hidden": {allow: rules(t, "0.0.0.0/0", "::/0"), deny: rules(t, "private", "local", "0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3")},
	}
	n := 0
	for _, a := range unpublic() {
		for form, disguise := range disguises {
			dressed := disguise(a.As4())
			for name, p := range policies {
				n++
				if v := p.judge(dressed); v == granted && !ownAddress(dressed) {
					t.Errorf("%s grants %s, which holds %s (%s)", name, dressed, a, form)
				}
			}
		}
	}
	if n < 1500 {
		t.Errorf("only %d combinations were tried", n)
	}
}

func TestDenyReachesIntoEveryDisguise(t *testing.T) {
	t.Parallel()
	target := netip.MustParseAddr("93.184.216.34")
	p := addressPolicy{allow: rules(t, "public", "private", "local", "0.0.0.0/0", "::/0"), deny: rules(t, "93.184.216.0/24")}
	for form, disguise := range disguises {
		if v := p.judge(disguise(target.As4())); v != denied {
			t.Errorf("%s: verdict is %d, want denied", form, v)
		}
		if v := p.judge(disguise([4]byte{93, 184, 217, 34})); v != granted {
			t.Errorf("%s: verdict on the neighbour is %d, want granted", form, v)
		}
	}
	// A translator that ignores what follows the address is denied as well.
	sloppy := netip.MustParseAddr("64:ff9b:1:5db8:d8:2200:8:808")
	if v := p.judge(sloppy); v != denied {
		t.Errorf("%s: verdict is %d, want denied", sloppy, v)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	list := func(s string) []string { return strings.Fields(s) }
	tests := []struct {
		name             string
		allow, deny      string
		granted, refused string
		denied           string
	}{
		{name: "nothing is allowed", refused: "8.8.8.8 127.0.0.1 2606:4700::1111 10.0.0.1"},
		{name: "a deny alone allows nothing", deny: "private", refused: "8.8.8.8", denied: "10.0.0.1"},
		{name: "public", allow: "public", granted: "8.8.8.8 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2606:4700::1111 2606:4700::1111%eth0",
			refused: "10.0.0.1 127.0.0.1 ::1 169.254.169.254 fe80::1 fd00::1 224.0.0.1 255.255.255.255 0.0.0.0 :: 2002:808:808::1 2001:0:808:808::f7f7:f7f7 ::8.8.8.8 64:ff9b:1::8.8.8.8 ff02::1"},
		{name: "private", allow: "private", granted: "10.0.0.1 fd00::1 100.64.0.1 64:ff9b::10.0.0.1", refused: "8.8.8.8 127.0.0.1 169.254.1.1 fe80::1"},
		{name: "local", allow: "local", granted: "127.0.0.1 ::1 0.0.0.0 :: 169.254.169.254 fe80::1%eth0 ::ffff:127.0.0.1", refused: "8.8.8.8 10.0.0.1 ::127.0.0.1"},
		{name: "deny wins over a wider allow", allow: "public", deny: "8.8.0.0/16", granted: "8.9.0.1", denied: "8.8.8.8 ::ffff:8.8.8.8 64:ff9b::8.8.8.8"},
		{name: "deny wins over a narrower allow", allow: "10.1.2.3", deny: "private", denied: "10.1.2.3"},
		{name: "one address", allow: "10.1.2.3", granted: "10.1.2.3 ::ffff:10.1.2.3 64:ff9b::10.1.2.3", refused: "10.1.2.4 ::10.1.2.3"},
		{name: "a mapped prefix is its IPv4 prefix", allow: "::ffff:10.0.0.0/104", granted: "10.1.2.3 ::ffff:10.1.2.3", refused: "11.0.0.1"},
		{name: "all of IPv6 is not IPv4", allow: "::/0", granted: "2606:4700::1 ::1 fe80::1", refused: "8.8.8.8 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1"},
		{name: "all of IPv4 is not IPv6", allow: "0.0.0.0/0", granted: "8.8.8.8 127.0.0.1 64:ff9b::127.0.0.1", refused: "::1 2606:4700::1 ::8.8.8.8"},
		{name: "everything, without what is local", allow: "0.0.0.0/0 ::/0", deny: "local", granted: "10.0.0.1 8.8.8.8", denied: "127.0.0.1 0.0.0.0 :: ::1 fe80::1%lo ::127.0.0.1 2002:7f00:1::1 64:ff9b::169.254.169.254"},
		{name: "a local NAT64 prefix", allow: "64:ff9b:1::/96 public", granted: "64:ff9b:1::8.8.8.8", refused: "64:ff9b:1::10.0.0.1 64:ff9b:1:1::8.8.8.8"},
		{name: "a zone opens nothing", allow: "public", refused: "fe80::1%eth0 ::1%lo"},
		{name: "a prefix with bits beyond its length", allow: "10.9.8.7/8", granted: "10.0.0.1", refused: "11.0.0.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := addressPolicy{allow: rules(t, list(tt.allow)...), deny: rules(t, list(tt.deny)...)}
			for want, texts := range map[verdict]string{granted: tt.granted, notAllowed: tt.refused, denied: tt.denied} {
				for _, text := range list(texts) {
					if got := p.judge(netip.MustParseAddr(text)); got != want {
						t.Errorf("verdict on %s is %d, want %d", text, got, want)
					}
				}
			}
			if p.judge(netip.Addr{}) != notAllowed {
				t.Error("no address at all was granted")
			}
		})
	}
}

func TestNewAddressRulesRefuses(t *testing.T) {
	t.Parallel()
	_, err := newAddressRules([]AddressRule{{Word: "pubic"}, {}, {Word: reserved}})
	for _, want := range []string{`"pubic" (there are public, private and local)`, "neither a word nor a valid prefix", `"reserved"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to name %s", err, want)
		}
	}
}

func TestHostPolicy(t *testing.T) {
	t.Parallel()
	api := HostPattern{Host: "api.example.com", Ports: []uint16{443}}
	below := HostPattern{Host: "example.com", Subdomains: true, Ports: []uint16{80, 443}}
	anyHost := HostPattern{Ports: []uint16{8443}}
	anyPort := HostPattern{Host: "db.example.org"}
	four := HostPattern{Host: "10.0.0.7", Ports: []uint16{80}}
	six := HostPattern{Host: "2001:DB8::7", Ports: []uint16{80}}
	tests := []struct {
		patterns []HostPattern
		url      string
		want     bool
	}{
		{nil, "http://anything.example:1234", true},
		{[]HostPattern{api}, "https://api.example.com", true},
		{[]HostPattern{api}, "https://API.Example.COM", true},
		{[]HostPattern{api}, "https://api.example.com.", true},
		{[]HostPattern{{Host: "API.example.com.", Ports: []uint16{443}}}, "https://api.example.com", true},
		{[]HostPattern{api}, "http://api.example.com:443", true},
		{[]HostPattern{api}, "http://api.example.com", false},
		{[]HostPattern{api}, "https://api.example.com:8443", false},
		{[]HostPattern{api}, "https://example.com", false},
		{[]HostPattern{api}, "https://x.api.example.com", false},
		{[]HostPattern{api}, "https://xapi.example.com", false},
		{[]HostPattern{api}, "https://api.example.com.evil.org", false},
		{[]HostPattern{api}, "https://api.example.com@evil.org", false},
		{[]HostPattern{api}, "https://evil.org#@api.example.com", false},
		{[]HostPattern{api}, "https://evil.org?@api.example.com", false},
		{[]HostPattern{api}, "https://evil.org/@api.example.com", false},
		{[]HostPattern{api}, "https://user:password@api.example.com", true},
		{[]HostPattern{below}, "https://a.example.com", true},
		{[]HostPattern{below}, "http://a.b.example.com.", true},
		{[]HostPattern{below}, "https://example.com", false},
		{[]HostPattern{below}, "https://.example.com", false},
		{[]HostPattern{below}, "https://badexample.com", false},
		{[]HostPattern{below}, "https://a.example.com:444", false},
		{[]HostPattern{anyHost}, "https://whatever.org:8443", true},
		{[]HostPattern{anyHost}, "http://[::1]:8443", true},
		{[]HostPattern{anyHost}, "https://whatever.org", false},
		{[]HostPattern{anyPort}, "http://db.example.org:5432", true},
		{[]HostPattern{four}, "http://10.0.0.7", true},
		{[]HostPattern{four}, "http://[::ffff:10.0.0.7]", true},
		{[]HostPattern{four}, "http://[::ffff:a00:7]", true},
		{[]HostPattern{four}, "http://10.0.0.70", false},
		{[]HostPattern{six}, "http://[2001:db8::7]", true},
		{[]HostPattern{six}, "http://[2001:db8:0:0:0:0:0:7]", true},
		{[]HostPattern{six}, "http://[2001:db8::8]", false},
		{[]HostPattern{{Host: "7", Subdomains: true}}, "http://10.0.0.7", false},
		{[]HostPattern{{Host: "7", Subdomains: true}}, "http://a.7", true},
		{[]HostPattern{{Host: "a", Ports: []uint16{}}}, "http://a", false},
		{[]HostPattern{api, anyPort}, "http://db.example.org", true},
	}
	for _, tt := range tests {
		h, err := newHostPolicy(tt.patterns)
		if err != nil {
			t.Errorf("%+v: %v", tt.patterns, err)
			continue
		}
		to, _, _, err := splitURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if got := h.grants(to.host, to.port); got != tt.want {
			t.Errorf("%+v grants %s: %v, want %v", tt.patterns, tt.url, got, tt.want)
		}
	}
}

func TestNewHostPolicyRefuses(t *testing.T) {
	t.Parallel()
	for _, p := range []HostPattern{
		{Subdomains: true}, {Host: "10.0.0.1", Subdomains: true}, {Host: "*.example.com"}, {Host: "example.com:80"},
		{Host: "[::1"}, {Host: "a/b"}, {Host: "a", Ports: []uint16{0}}, {Host: "user@a"},
	} {
		if _, err := newHostPolicy([]HostPattern{p}); err == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}

func FuzzAddressPolicy(f *testing.F) {
	for _, texts := range addressesOf {
		for text := range strings.FieldsSeq(texts) {
			b := netip.MustParseAddr(text).As16()
			f.Add(b[:])
		}
	}
	public := addressPolicy{allow: rules(f, "public", "::/0")}
	everything := addressPolicy{allow: rules(f, "0.0.0.0/0", "::/0"), deny: rules(f, "private", "local")}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < 16 {
			return
		}
		a := netip.AddrFrom16([16]byte(raw[:16]))
		word := WordOf(a)
		if word != WordOf(a.WithZone("eth0")) || word != WordOf(a.Unmap()) {
			t.Errorf("%s changes its word with its form", a)
		}
		if public.judge(a) == granted && a.Unmap().Is4() && word != Public {
			t.Errorf("%s is %s and was granted as public", a, word)
		}
		for _, e := range appendEmbedded(nil, canonical(a)) {
			if w := WordOf(e.addr); everything.judge(a) == granted && (w == Private || w == Local) {
				t.Errorf("%s holds %s, which is %s, and was granted", a, e.addr, w)
			}
			if public.judge(a) == granted && !e.maybe && WordOf(e.addr) != Public {
				t.Errorf("%s holds %s and was granted as public", a, e.addr)
			}
		}
		if everything.judge(a) == granted && (word == Private || word == Local) {
			t.Errorf("%s is %s and was granted", a, word)
		}
		for name, disguise := range disguises {
			v4 := netip.AddrFrom4([4]byte(raw[:4]))
			dressed := disguise(v4.As4())
			if public.judge(dressed) == granted && WordOf(v4) != Public && !ownAddress(dressed) {
				t.Errorf("%s of %s was granted as public", name, v4)
			}
		}
	})
}

func FuzzHostPolicy(f *testing.F) {
	f.Add("api.example.com", "api.example.com", true, uint16(443))
	f.Add("a.example.com.", "EXAMPLE.com", true, uint16(80))
	f.Add("[::ffff:10.0.0.1]", "10.0.0.1", false, uint16(80))
	f.Add("10.0.0.1", "0.1", true, uint16(80))
	f.Fuzz(func(t *testing.T, host, pattern string, subdomains bool, port uint16) {
		h, err := newHostPolicy([]HostPattern{{Host: pattern, Subdomains: subdomains, Ports: []uint16{443}}})
		if err != nil {
			return
		}
		to, _, _, err := splitURL(fmt.Sprintf("https://%s:%d/", host, port))
		if err != nil {
			return
		}
		if !h.grants(to.host, to.port) {
			return
		}
		if to.port != 443 {
			t.Errorf("%q grants the port %d", pattern, to.port)
		}
		want := canonicalHost(pattern)
		_, isAddr := netip.ParseAddr(to.host)
		switch {
		case want == "":
		case subdomains && (!strings.HasSuffix(to.host, "."+want) || isAddr == nil):
			t.Errorf("%q grants %q, which is not below it", pattern, to.host)
		case !subdomains && to.host != want:
			t.Errorf("%q grants %q", pattern, to.host)
		}
	})
}

package edgenet

import "net/netip"

// AddressWord names a set of IP addresses. The sets do not overlap, and together
// they do not cover everything: an address in none of them is reserved, and only
// a prefix that holds it can allow it.
type AddressWord string

// The words, defined by the IANA special-purpose address registries
// (https://www.iana.org/assignments/iana-ipv4-special-registry and
// https://www.iana.org/assignments/iana-ipv6-special-registry).
const (
	// Public is every unicast address that the registries do not set apart: for
	// IPv6 what is left of 2000::/3. Two blocks stay out although parts of them
	// are called globally reachable, because those parts are anycast addresses
	// of the nearest network device: 192.0.0.0/24 and 2001::/23.
	Public AddressWord = "public"
	// Private is RFC 1918 (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16), the shared
	// space of carriers (100.64.0.0/10), unique local (fc00::/7) and the old
	// site-local (fec0::/10) addresses.
	Private AddressWord = "private"
	// Local is what never leaves the link: loopback (127.0.0.0/8, ::1), the
	// unspecified address, which reaches the loopback too (0.0.0.0, ::),
	// link-local (169.254.0.0/16 with the metadata servers of clouds, fe80::/10),
	// and 168.63.129.16, which Azure's platform answers from every machine.
	Local AddressWord = "local"
	// reserved is the rest: documentation, benchmarks, multicast, broadcast,
	// transition mechanisms, unassigned space.
	reserved AddressWord = "reserved"
)

type specialPrefix struct {
	prefix netip.Prefix
	word   AddressWord
}

// The first prefix that holds an address decides.
var special4 = []specialPrefix{
	{netip.MustParsePrefix("0.0.0.0/32"), Local},
	{netip.MustParsePrefix("0.0.0.0/8"), reserved},       // this network
	{netip.MustParsePrefix("10.0.0.0/8"), Private},       // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), Private},    // RFC 6598
	{netip.MustParsePrefix("127.0.0.0/8"), Local},        // loopback
	{netip.MustParsePrefix("168.63.129.16/32"), Local},   // Azure's platform
	{netip.MustParsePrefix("169.254.0.0/16"), Local},     // link-local
	{netip.MustParsePrefix("172.16.0.0/12"), Private},    // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), reserved},    // IETF protocol assignments
	{netip.MustParsePrefix("192.0.2.0/24"), reserved},    // documentation
	{netip.MustParsePrefix("192.88.99.0/24"), reserved},  // 6to4 relays, deprecated
	{netip.MustParsePrefix("192.168.0.0/16"), Private},   // RFC 1918
	{netip.MustParsePrefix("198.18.0.0/15"), reserved},   // benchmarks
	{netip.MustParsePrefix("198.51.100.0/24"), reserved}, // documentation
	{netip.MustParsePrefix("203.0.113.0/24"), reserved},  // documentation
	{netip.MustParsePrefix("224.0.0.0/4"), reserved},     // multicast
	{netip.MustParsePrefix("240.0.0.0/4"), reserved},     // future use, broadcast
	{netip.MustParsePrefix("0.0.0.0/0"), Public},         // everything else
}

var special6 = []specialPrefix{
	{netip.MustParsePrefix("::/128"), Local},           // unspecified
	{netip.MustParsePrefix("::1/128"), Local},          // loopback
	{netip.MustParsePrefix("2001::/23"), reserved},     // IETF protocol assignments, Teredo
	{netip.MustParsePrefix("2001:db8::/32"), reserved}, // documentation
	{netip.MustParsePrefix("2002::/16"), reserved},     // 6to4
	{netip.MustParsePrefix("3fff::/20"), reserved},     // documentation
	{netip.MustParsePrefix("2000::/3"), Public},        // global unicast
	{netip.MustParsePrefix("fc00::/7"), Private},       // unique local
	{netip.MustParsePrefix("fec0::/10"), Private},      // site-local, deprecated
	{netip.MustParsePrefix("fe80::/10"), Local},        // link-local
	{netip.MustParsePrefix("::/0"), reserved},          // everything else
}

var (
	nat64         = netip.MustParsePrefix("64:ff9b::/96")    // RFC 6052
	nat64Local    = netip.MustParsePrefix("64:ff9b:1::/48")  // RFC 8215
	sixToFour     = netip.MustParsePrefix("2002::/16")       // RFC 3056
	teredo        = netip.MustParsePrefix("2001::/32")       // RFC 4380
	v4Compatible  = netip.MustParsePrefix("::/96")           // RFC 4291, 2.5.5.1
	v4Translated  = netip.MustParsePrefix("::ffff:0:0:0/96") // RFC 2765
	isatapGlobal  = [4]byte{0x02, 0x00, 0x5e, 0xfe}          // RFC 5214
	isatapPrivate = [4]byte{0x00, 0x00, 0x5e, 0xfe}
)

// WordOf returns the set that an address belongs to, "reserved" when it belongs
// to none. An IPv4-mapped address and one of the well-known NAT64 prefix belong
// where their IPv4 address does; a zone changes nothing.
func WordOf(a netip.Addr) AddressWord {
	a = canonical(a)
	if nat64.Contains(a) {
		a = v4At(a, 12, 13, 14, 15)
	}
	table := special6
	if a.Is4() {
		table = special4
	}
	for _, s := range table {
		if s.prefix.Contains(a) {
			return s.word
		}
	}
	return reserved
}

// canonical returns the form of an address that rules are compared with: IPv4
// where it is IPv4-mapped, without a zone.
func canonical(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// embedded is an IPv4 address inside an IPv6 address, to which a translator or
// a tunnel would send.
type embedded struct {
	addr netip.Addr
	// maybe says that other readings of the same IPv6 address are more likely:
	// enough to deny, too little to ask that it be allowed.
	maybe bool
}

// appendEmbedded appends the IPv4 addresses inside a, which is canonical.
func appendEmbedded(dst []embedded, a netip.Addr) []embedded {
	if !a.Is6() {
		return dst
	}
	b := a.As16()
	add := func(i, j, k, l int) { dst = append(dst, embedded{addr: v4At(a, i, j, k, l)}) }
	switch {
	case nat64.Contains(a), v4Translated.Contains(a):
		add(12, 13, 14, 15)
	case v4Compatible.Contains(a):
		if WordOf(a) == reserved { // not :: and ::1
			add(12, 13, 14, 15)
		}
	case nat64Local.Contains(a):
		dst = appendLocalNAT64(dst, a)
	case sixToFour.Contains(a):
		add(2, 3, 4, 5)
	case teredo.Contains(a):
		add(4, 5, 6, 7)
		dst = append(dst, embedded{addr: netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})})
	}
	if iid := [4]byte(b[8:12]); iid == isatapGlobal || iid == isatapPrivate {
		add(12, 13, 14, 15)
	}
	return dst
}

// appendLocalNAT64 appends what an address of 64:ff9b:1::/48 may stand for. The
// operator picks the length of the prefix, which decides where the IPv4 address
// lies; behind it comes zero (RFC 6052, 2.2).
func appendLocalNAT64(dst []embedded, a netip.Addr) []embedded {
	b := a.As16()
	dst = append(dst, embedded{addr: v4At(a, 12, 13, 14, 15)})
	for _, at := range [...][4]int{{6, 7, 9, 10}, {7, 9, 10, 11}, {9, 10, 11, 12}} {
		e := embedded{addr: v4At(a, at[0], at[1], at[2], at[3]), maybe: b[8] != 0}
		for _, c := range b[at[3]+1:] {
			e.maybe = e.maybe || c != 0
		}
		if e.addr != netip.IPv4Unspecified() {
			dst = append(dst, e)
		}
	}
	return dst
}

func v4At(a netip.Addr, i, j, k, l int) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]})
}

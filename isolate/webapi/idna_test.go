package webapi

import (
	"strings"
	"testing"
)

func TestDomainToASCII(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, domain, want string
	}{
		{"umlaut", "münchen.de", "xn--mnchen-3ya.de"},
		{"upper case and full width are mapped", "ＭÜNCHEN。DE", "xn--mnchen-3ya.de"},
		{"sharp s is kept, not made ss", "straße.de", "xn--strae-oqa.de"},
		{"final sigma is kept", "βόλος.com", "xn--nxasmm1c.com"},
		{"punycode is kept", "xn--mnchen-3ya.de", "xn--mnchen-3ya.de"},
		{"punycode is lower-cased", "XN--MNCHEN-3YA.de", "xn--mnchen-3ya.de"},
		{"soft hyphens vanish", "a\u00adb", "ab"},
		{"hyphens may stand anywhere", "-ä-.a--ä", "xn-----via.xn--a---sla"},
		{"underscores and other ASCII pass", "a_b!.ä", "a_b!.xn--4ca"},
		{"emoji", "☃.net", "xn--n3h.net"},
		{"a joiner where the script wants it", "क्\u200dष", "xn--11b2ezcw70k"},
		{"right to left", "מדינה.il", "xn--7dbcosm.il"},
		{"labels may be long", strings.Repeat("ä", 100), "xn--4ca" + strings.Repeat("a", 99)},
		{"empty labels pass", "ä..b", "xn--4ca..b"},
		{"only what is ignored", "\u00ad", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := DomainToASCII(c.domain)
			if err != nil || got != c.want {
				t.Errorf("DomainToASCII(%q) = %q, %v; want %q", c.domain, got, err, c.want)
			}
		})
	}
}

func TestDomainToASCIIRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, domain string
	}{
		{"punycode that decodes to nothing", "xn--"},
		{"punycode that does not decode", "xn--a"},
		{"punycode that decodes to nothing, in full width", "a.ＸＮ－－。b"},
		{"punycode of what must be mapped", "xn--a-6da"},
		{"punycode of plain ASCII", "xn--ab-"},
		{"replacement character", "\ufffd"},
		{"ill-formed UTF-8", "\xff.de"},
		{"joiner where no script wants it", "a\u200db"},
		{"mixed direction", "0א.a"},
		{"label that starts with a mark", "\u0300a"},
		{"private use", "\ue000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, err := DomainToASCII(c.domain); err == nil {
				t.Errorf("DomainToASCII(%q) = %q, want an error", c.domain, got)
			}
		})
	}
}

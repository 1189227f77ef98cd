package webapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// toASCII is Unicode ToASCII with the parameters that the URL Standard gives
// when beStrict is false. MapForLookup comes first: it sets more than is
// wanted, and the options behind it take that back.
var toASCII = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.CheckHyphens(false),
	idna.CheckJoiners(true),
	idna.BidiRule(),
	idna.StrictDomainName(false),
	idna.VerifyDNSLength(false),
)

var (
	errIllFormed = errors.New("it is not well-formed UTF-8")
	errNoCode    = errors.New(`a label is "xn--" without anything behind it`)
)

// DomainToASCII runs the URL Standard's domain to ASCII with beStrict false,
// except for the check for forbidden domain code points, which the URL parser
// does on every domain. https://url.spec.whatwg.org/#concept-domain-to-ascii
func DomainToASCII(domain string) (string, error) {
	if !utf8.ValidString(domain) {
		return "", fmt.Errorf("convert domain %q to ASCII: %w", domain, errIllFormed)
	}
	if hasEmptyCode(domain) {
		return "", fmt.Errorf("convert domain %q to ASCII: %w", domain, errNoCode)
	}
	ascii, err := toASCII.ToASCII(domain)
	if err != nil {
		return "", fmt.Errorf("convert domain %q to ASCII: %w", domain, err)
	}
	return ascii, nil
}

// hasEmptyCode reports whether a label of domain is "xn--" after mapping, which
// idna takes for an empty label and UTS #46 for an error.
func hasEmptyCode(domain string) bool {
	mapped := strings.ReplaceAll(strings.ToLower(norm.NFKC.String(domain)), "\u3002", ".")
	return slices.Contains(strings.Split(mapped, "."), "xn--")
}

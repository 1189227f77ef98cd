package edgenet

import (
	"net/http"
	"strings"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

// precondition evaluates the conditions of a GET or HEAD request on a
// representation: it returns 0 to go on, 304 or 412. etag is strong; a zero
// modified time is unknown.
//
// RFC 9110, 13.2.2.
func precondition(h fetch.Header, etag string, modified time.Time) int {
	if list, ok := headerValues(h, "if-match"); ok {
		if !etagListed(list, etag, true) {
			return http.StatusPreconditionFailed
		}
	} else if t, ok := headerTime(h, "if-unmodified-since"); ok && !modified.IsZero() && modified.After(t) {
		return http.StatusPreconditionFailed
	}
	if list, ok := headerValues(h, "if-none-match"); ok {
		if etagListed(list, etag, false) {
			return http.StatusNotModified
		}
	} else if t, ok := headerTime(h, "if-modified-since"); ok && !modified.IsZero() && !modified.After(t) {
		return http.StatusNotModified
	}
	return 0
}

// rangeApplies reports whether an If-Range condition, if there is one, lets the
// Range header count: it must name this very representation.
//
// RFC 9110, 13.1.5.
func rangeApplies(h fetch.Header, etag string, modified time.Time) bool {
	v, ok := h.Get("if-range")
	if !ok {
		return true
	}
	if strings.HasPrefix(v, `"`) || strings.HasPrefix(v, "W/") {
		return v == etag
	}
	t, err := http.ParseTime(v)
	return err == nil && !modified.IsZero() && modified.Equal(t)
}

// headerValues returns the values of a list header as one list.
func headerValues(h fetch.Header, name string) (string, bool) {
	vs := h.Values(name)
	return strings.Join(vs, ","), len(vs) > 0
}

// headerTime returns the date in a header. A date that cannot be read counts as
// absent.
func headerTime(h fetch.Header, name string) (time.Time, bool) {
	v, ok := h.Get(name)
	if !ok {
		return time.Time{}, false
	}
	t, err := http.ParseTime(v)
	return t, err == nil
}

// etagListed reports whether a list of entity tags holds etag or is "*". With
// strong set, weak tags match nothing.
//
// RFC 9110, 8.8.3.2.
func etagListed(list, etag string, strong bool) bool {
	for {
		list = strings.TrimLeft(list, " \t,")
		if list == "" {
			return false
		}
		if list[0] == '*' {
			return true
		}
		tag := list
		weak := strings.HasPrefix(tag, "W/")
		if weak {
			tag = tag[2:]
		}
		if tag == "" || tag[0] != '"' {
			return false
		}
		end := strings.IndexByte(tag[1:], '"')
		if end < 0 {
			return false
		}
		list, tag = tag[end+2:], tag[:end+2]
		if tag == etag && !(weak && strong) {
			return true
		}
	}
}

// acceptedCoding picks the content coding that a request's Accept-Encoding likes
// best among those offered, in the order of preference, "" for none.
//
// RFC 9110, 12.5.3.
func acceptedCoding(h fetch.Header, offered ...string) string {
	list, ok := headerValues(h, "accept-encoding")
	if !ok {
		return ""
	}
	best, bestQ := "", 0
	identity := qualityOf(list, "identity", false)
	for _, coding := range offered {
		if q := qualityOf(list, coding, true); q > bestQ {
			best, bestQ = coding, q
		}
	}
	if bestQ < identity {
		return ""
	}
	return best
}

// qualityOf returns the weight, in thousandths, that an Accept-Encoding list
// gives to a coding, 0 when it refuses it or, without wildcard, says nothing.
func qualityOf(list, coding string, wildcard bool) int {
	star := 0
	for item := range strings.SplitSeq(list, ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.TrimSpace(name)
		q := 1000
		if key, v, ok := strings.Cut(params, "="); ok && strings.EqualFold(strings.TrimSpace(key), "q") {
			q = thousandths(strings.TrimSpace(v))
		}
		switch {
		case strings.EqualFold(name, coding), coding == "gzip" && strings.EqualFold(name, "x-gzip"):
			return q
		case name == "*" && wildcard:
			star = q
		}
	}
	return star
}

// thousandths reads a weight such as "0.8"; what is none counts as 0.
func thousandths(s string) int {
	whole, frac, _ := strings.Cut(s, ".")
	if whole != "0" && whole != "1" || len(frac) > 3 {
		return 0
	}
	n, ok := parseDigits((whole + frac + "000")[:4])
	if !ok || n > 1000 {
		return 0
	}
	return int(n)
}

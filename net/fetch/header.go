package fetch

import (
	"bytes"
	"iter"
)

// Header is a header list in one block of Latin-1 bytes: "name\nvalue\n" for
// each entry, names in lower case, in the order they came, duplicates kept. The
// block crosses into JavaScript as one string that is searched lazily, which is
// why it is no map. The zero value is empty.
//
// https://fetch.spec.whatwg.org/#concept-header-list
type Header []byte

// Add appends an entry. The name is lower-cased and the value stripped of
// leading and trailing whitespace; what is no valid name or value (an empty
// name, a NUL, CR or LF) is left out and reported.
func (h *Header) Add(name, value string) bool {
	if !ValidName(name) {
		return false
	}
	value = trimOWS(value)
	if !ValidValue(value) {
		return false
	}
	b := *h
	for i := 0; i < len(name); i++ {
		b = append(b, lower(name[i]))
	}
	b = append(b, '\n')
	b = append(b, value...)
	*h = append(b, '\n')
	return true
}

// AddRaw appends an entry that an HTTP parser has validated, without copying it
// into a string first.
func (h *Header) AddRaw(name, value []byte) {
	b := *h
	for _, c := range name {
		b = append(b, lower(c))
	}
	b = append(b, '\n')
	b = append(b, value...)
	*h = append(b, '\n')
}

// All yields the entries in order. The slices borrow the block.
func (h Header) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for len(h) > 0 {
			i := bytes.IndexByte(h, '\n')
			if i < 0 {
				return
			}
			j := bytes.IndexByte(h[i+1:], '\n')
			if j < 0 {
				return
			}
			j += i + 1
			if !yield(h[:i:i], h[i+1:j:j]) {
				return
			}
			h = h[j+1:]
		}
	}
}

// Get returns the first value of a name given in lower case, and whether there
// is one.
func (h Header) Get(name string) (string, bool) {
	for n, v := range h.All() {
		if string(n) == name {
			return string(v), true
		}
	}
	return "", false
}

// Values returns all values of a name given in lower case, in order.
func (h Header) Values(name string) []string {
	var vs []string
	for n, v := range h.All() {
		if string(n) == name {
			vs = append(vs, string(v))
		}
	}
	return vs
}

// Set replaces all entries of a name, given in lower case, by one at the end.
func (h *Header) Set(name, value string) bool {
	if !ValidName(name) || !ValidValue(trimOWS(value)) {
		return false
	}
	h.Del(name)
	return h.Add(name, value)
}

// Del removes all entries of a name given in lower case.
func (h *Header) Del(name string) {
	if _, ok := h.Get(name); !ok {
		return
	}
	var out Header
	for n, v := range h.All() {
		if string(n) != name {
			out.AddRaw(n, v)
		}
	}
	*h = out
}

// Len returns the number of entries.
func (h Header) Len() int {
	n := 0
	for range h.All() {
		n++
	}
	return n
}

// Clone returns a copy in memory of its own.
func (h Header) Clone() Header { return append(Header(nil), h...) }

// ValidName reports whether s is a header name: one or more token bytes.
//
// https://fetch.spec.whatwg.org/#header-name
func ValidName(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !tokenByte[s[i]] {
			return false
		}
	}
	return true
}

// ValidValue reports whether s holds none of NUL, CR and LF.
//
// https://fetch.spec.whatwg.org/#header-value
func ValidValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == 0 || c == '\r' || c == '\n' {
			return false
		}
	}
	return true
}

var tokenByte = func() (t [256]bool) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-32] = true, true
	}
	for c := byte('0'); c <= '9'; c++ {
		t[c] = true
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		t[c] = true
	}
	return t
}()

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 32
	}
	return c
}

func trimOWS(s string) string {
	for len(s) > 0 && ows(s[0]) {
		s = s[1:]
	}
	for len(s) > 0 && ows(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func ows(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

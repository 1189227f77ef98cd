package edgenet

import (
	"bytes"
	"errors"

	"github.com/valyala/fasthttp"

	"github.com/edge-runtime/edge/net/fetch"
)

// outcomeHeader names the outcome of a response that the runtime made. What a
// service sets under this name is left out, so that it can be believed.
const outcomeHeader = "edge-outcome"

var errHeaderName = errors.New("a header name is not valid")

// appendRequestHeader appends the header list of a request to dst in the form
// of fetch.Header, in the order of the wire, without what belongs to the
// connection. authority takes the place of the Host header's value when it is
// not nil.
func appendRequestHeader(dst []byte, h *fasthttp.RequestHeader, authority []byte) ([]byte, error) {
	list := headerList{b: dst, base: len(dst), authority: authority, chunked: h.ContentLength() == -1}
	if list.addLines(h.RawHeaders()) {
		return list.end()
	}
	list.b, list.connection, list.err = list.b[:list.base], nil, nil
	for name, value := range h.AllInOrder() {
		list.add(name, value)
	}
	return list.end()
}

// headerList builds the header list of a request.
type headerList struct {
	b          []byte
	base       int
	authority  []byte
	chunked    bool
	connection []byte
	err        error
}

// addLines adds the lines of a header block that fasthttp has parsed. It reports
// false for what it leaves to fasthttp: values that go on in the next line.
func (l *headerList) addLines(block []byte) bool {
	for len(block) > 0 {
		end := bytes.IndexByte(block, '\n')
		if end < 0 {
			return false
		}
		line := block[:end]
		block = block[end+1:]
		if end > 0 && line[end-1] == '\r' {
			line = line[:end-1]
		}
		if len(line) == 0 {
			return true
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 0 || line[0] == ' ' || line[0] == '\t' {
			return false
		}
		l.add(line[:colon], trimBlanks(line[colon+1:]))
	}
	return true
}

// trimBlanks removes spaces and tabs at both ends.
func trimBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// add adds an entry, unless it belongs to the connection.
func (l *headerList) add(name, value []byte) {
	lo := len(l.b)
	l.b = append(l.b, name...)
	for i, c := range l.b[lo:] {
		lower := lowerToken[c]
		if lower == 0 {
			l.err = errHeaderName
			return
		}
		l.b[lo+i] = lower
	}
	switch key := string(l.b[lo:]); {
	case key == "":
		l.err = errHeaderName
		return
	case key == "connection":
		l.connection = append(append(l.connection, value...), ',')
		l.b = l.b[:lo]
		return
	case hopByHop(key) || key == "expect" || l.chunked && key == "content-length":
		l.b = l.b[:lo]
		return
	case key == "host" && l.authority != nil:
		value = l.authority
	}
	l.b = append(l.b, '\n')
	l.b = append(l.b, value...)
	l.b = append(l.b, '\n')
}

// end returns the list.
func (l *headerList) end() ([]byte, error) {
	if l.err != nil {
		return l.b[:l.base], l.err
	}
	return dropNominated(l.b, l.base, l.connection), nil
}

// dropNominated removes the entries that a Connection header names from the
// list that starts at base.
func dropNominated(dst []byte, base int, connection []byte) []byte {
	for token := range bytes.SplitSeq(connection, []byte{','}) {
		token = bytes.ToLower(bytes.TrimSpace(token))
		switch string(token) {
		case "", "close", "keep-alive", "upgrade", "host", "content-length", "content-type":
			continue
		}
		list := fetch.Header(dst[base:])
		list.Del(string(token))
		dst = append(dst[:base], list...)
	}
	return dst
}

// hopByHop reports whether a header, named in lower case, belongs to one
// connection (RFC 9110, 7.6.1).
func hopByHop(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
		"te", "trailer", "transfer-encoding", "upgrade", "http2-settings":
		return true
	}
	return false
}

// setResponseHeader gives a service's header list to fasthttp. What belongs to
// the connection, what net decides itself, and entries that HTTP cannot carry
// are left out.
func setResponseHeader(dst *fasthttp.ResponseHeader, list fetch.Header) {
	for name, value := range list.All() {
		key := string(name)
		if hopByHop(key) || key == "content-length" || key == outcomeHeader || !validToken(name) || !validFieldValue(value) {
			continue
		}
		switch key {
		case "content-type":
			dst.SetContentTypeBytes(value)
			continue
		case "content-encoding":
			if before := dst.ContentEncoding(); len(before) > 0 {
				dst.SetContentEncodingBytes(append(append(bytes.Clone(before), ", "...), value...))
				continue
			}
		}
		dst.AddBytesKV(name, value)
	}
}

// validToken is fetch.ValidName over bytes.
func validToken(b []byte) bool {
	for _, c := range b {
		if lowerToken[c] == 0 {
			return false
		}
	}
	return len(b) > 0
}

// validFieldValue reports whether HTTP can carry a header value: no control
// characters but tabs.
func validFieldValue(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// lowerToken gives each byte of a header name in lower case, 0 for others.
var lowerToken = func() (t [256]byte) {
	for c := range 256 {
		if fetch.ValidName(string([]byte{byte(c)})) {
			t[c] = byte(c)
			if c >= 'A' && c <= 'Z' {
				t[c] += 'a' - 'A'
			}
		}
	}
	return t
}()

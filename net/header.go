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
	base := len(dst)
	var connection []byte
	chunked := h.ContentLength() == -1
	for name, value := range h.AllInOrder() {
		if !validToken(name) {
			return dst[:base], errHeaderName
		}
		lo := len(dst)
		for _, c := range name {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
		}
		switch key := string(dst[lo:]); {
		case key == "connection":
			connection = append(append(connection, value...), ',')
			dst = dst[:lo]
			continue
		case hopByHop(key) || key == "expect" || chunked && key == "content-length":
			dst = dst[:lo]
			continue
		case key == "host" && authority != nil:
			value = authority
		}
		dst = append(dst, '\n')
		dst = append(dst, value...)
		dst = append(dst, '\n')
	}
	return dropNominated(dst, base, connection), nil
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
		if key == "content-encoding" {
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
		if !tokenBytes[c] {
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

var tokenBytes = func() (t [256]bool) {
	for c := range 256 {
		t[c] = fetch.ValidName(string([]byte{byte(c)}))
	}
	return t
}()

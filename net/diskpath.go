package edgenet

import (
	"fmt"
	"net/http"
	"strings"
	"unsafe"

	"github.com/edge-runtime/edge/net/fetch"
)

// urlPath returns the path of an absolute URL, and its query with the question
// mark.
func urlPath(url string) (path, query string) {
	_, rest, _ := strings.Cut(url, "://")
	i := strings.IndexByte(rest, '/')
	if i < 0 {
		return "/", ""
	}
	path, _, _ = strings.Cut(rest[i:], "#")
	if q := strings.IndexByte(path, '?'); q >= 0 {
		path, query = path[:q], path[q:]
	}
	return path, query
}

// decodePath decodes the escapes of a URL path, once. It refuses bad escapes,
// slashes and NULs that come out of escapes, empty segments, and dot segments: no
// two paths mean the same file.
func decodePath(raw string) (string, bool) {
	if raw == "" || raw[0] != '/' {
		return "", false
	}
	b := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '%' {
			if i+2 >= len(raw) {
				return "", false
			}
			hi, lo := unhex(raw[i+1]), unhex(raw[i+2])
			if hi > 15 || lo > 15 {
				return "", false
			}
			if c = hi<<4 | lo; c == '/' {
				return "", false
			}
			i += 2
		}
		if c == 0 {
			return "", false
		}
		b = append(b, c)
	}
	name := string(b)
	segments := strings.Split(name[1:], "/")
	for i, seg := range segments {
		if seg == "." || seg == ".." || seg == "" && i < len(segments)-1 {
			return "", false
		}
	}
	return name, true
}

// unhex returns the value of a hexadecimal digit, more than 15 for others.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 255
}

// plainResponse returns a response whose body is its status in words.
func plainResponse(status int) *fetch.Response {
	resp := &fetch.Response{Status: status, Body: fetch.BytesBody(fmt.Appendf(nil, "%d %s\n", status, http.StatusText(status)))}
	resp.Header.Add("content-type", "text/plain; charset=utf-8")
	return resp
}

// newBoundary returns a multipart boundary that no content foresees.
func newBoundary() string {
	var b [2 * idLen]byte
	putID(b[:idLen])
	putID(b[idLen:])
	return string(b[:])
}

// viewString returns b as a string without a copy; b is never written again.
func viewString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

package edgenet

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

// HeaderEdit sets a header in the place of all of its name, or removes them.
type HeaderEdit struct {
	Name   string // lower case
	Value  string
	Remove bool
}

// appendRequestHead appends the head of a call's request: its header list in its
// order, without what belongs to a connection, with the edits at the end.
func appendRequestHead(dst []byte, c *call) []byte {
	dst = append(dst, c.method...)
	dst = append(dst, ' ')
	dst = append(dst, c.target...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, c.host...)
	dst = append(dst, "\r\n"...)
	nominated := strings.Join(c.req.Header.Values("connection"), ",")
	for name, value := range c.req.Header.All() {
		key := string(name)
		switch key {
		case "host", "content-length", "expect", loopHeader:
			continue
		}
		if hopByHop(key) || nominated != "" && names(nominated, key) || edited(c.edits, key) {
			continue
		}
		dst = appendField(dst, name, value)
	}
	for _, e := range c.edits {
		if !e.Remove && e.Name != "host" {
			dst = appendField(dst, []byte(e.Name), []byte(e.Value))
		}
	}
	dst = appendLoop(dst, c.req)
	switch body := c.req.Body; {
	case body != nil && size(body) < 0:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	case body != nil:
		dst = append(dst, "Content-Length: "...)
		dst = append(strconv.AppendInt(dst, size(body), 10), "\r\n"...)
	case c.method == "POST" || c.method == "PUT" || c.method == "PATCH":
		dst = append(dst, "Content-Length: 0\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// size returns the length of a body, -1 when it is unknown.
func size(b *fetch.Body) int64 {
	if b.Reader == nil {
		return int64(len(b.Inline))
	}
	return b.Size
}

// appendField appends a header field. Names get their usual capitals, which some
// old servers ask for.
func appendField(dst, name, value []byte) []byte {
	upper := true
	for _, c := range name {
		if upper && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper = c == '-'
		dst = append(dst, c)
	}
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// names reports whether a Connection header nominates a field as its own. What
// frames or routes a message cannot be nominated away.
func names(connection, key string) bool {
	switch key {
	case "host", "content-length", "content-type":
		return false
	}
	for token := range strings.SplitSeq(connection, ",") {
		if strings.EqualFold(strings.Trim(token, " \t"), key) {
			return true
		}
	}
	return false
}

func edited(edits []HeaderEdit, key string) bool {
	for _, e := range edits {
		if e.Name == key {
			return true
		}
	}
	return false
}

// responseHead is the head of a response.
type responseHead struct {
	status int
	text   string
	header fetch.Header // without what belongs to the connection
	// chunked and length say how the body is framed; a length of -1 without
	// chunks: it ends with the connection.
	chunked bool
	length  int64
	// close says that the connection serves no other call, keep how long the
	// server keeps it when it said so.
	close bool
	keep  time.Duration
}

// headReader reads heads within a budget of bytes.
type headReader struct {
	br     *bufio.Reader
	budget int
	long   []byte // a line that is longer than the buffer
}

var (
	errHeadTooLarge = protocolError("the response's headers are too large")
	errNoResponse   = protocolError("the server closed the connection without a response")
	errNoHTTP       = protocolError("the server's answer is not HTTP/1.1")
	errField        = protocolError("the response has a header that is not valid")
	errLength       = protocolError("the response has a content-length that is not valid")
	errChunks       = protocolError("the response's chunks are not valid")
	errEncoding     = protocolError("the response has a transfer-encoding that is not known")
)

// line returns the next line without its end, borrowed until the next call.
func (r *headReader) line() ([]byte, error) {
	r.long = r.long[:0]
	for {
		b, err := r.br.ReadSlice('\n')
		if r.budget -= len(b); r.budget < 0 {
			return nil, errHeadTooLarge
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			r.long = append(r.long, b...)
			continue
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		if len(r.long) > 0 {
			r.long = append(r.long, b...)
			b = r.long
		}
		b = b[:len(b)-1]
		return bytes.TrimSuffix(b, []byte{'\r'}), nil
	}
}

// read reads one head, which may be that of an interim response.
func (r *headReader) read(method string) (*responseHead, error) {
	line, err := r.line()
	if err != nil {
		return nil, err
	}
	h := &responseHead{length: -1, header: make(fetch.Header, 0, 512)}
	minor, err := h.parseStatus(line)
	if err != nil {
		return nil, err
	}
	f := fields{minor: minor}
	if err := r.fields(func(name, value []byte) error { return f.add(h, name, value) }); err != nil {
		return nil, err
	}
	return h, f.finish(h, method)
}

// parseStatus parses a status line and returns the minor version.
func (h *responseHead) parseStatus(line []byte) (minor byte, err error) {
	const prefix = "HTTP/1."
	if len(line) < len("HTTP/1.1 200") || string(line[:len(prefix)]) != prefix || line[8] != ' ' || line[7] < '0' || line[7] > '9' {
		return 0, errNoHTTP
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return 0, errNoHTTP
		}
		h.status = h.status*10 + int(c-'0')
	}
	text := line[12:]
	if len(text) > 0 && text[0] != ' ' || !fetch.ValidValue(string(text)) {
		return 0, errNoHTTP
	}
	if h.text = http.StatusText(h.status); h.text != string(bytes.Trim(text, " \t")) {
		h.text = string(bytes.Trim(text, " \t"))
	}
	return line[7], nil
}

// fields reads the lines up to the empty one and yields each field. A line that
// is folded is unfolded (RFC 9112, 5.2).
func (r *headReader) fields(add func(name, value []byte) error) error {
	var name, value []byte
	flush := func() error {
		if name == nil {
			return nil
		}
		return add(name, bytes.Trim(value, " \t"))
	}
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			if name == nil {
				return errField
			}
			value = append(append(value, ' '), bytes.Trim(line, " \t")...)
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		n, v, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			return errField
		}
		// Whitespace before the colon is removed (RFC 9112, 5.1).
		name = append(name[:0], bytes.TrimRight(n, " \t")...)
		value = append(value[:0], v...)
		if !validToken(name) || !fetch.ValidValue(string(value)) {
			return errField
		}
	}
}

// fields gathers what the fields of a head say about its framing.
type fields struct {
	minor      byte
	connection []byte
	encodings  int
	length     int64
	lengths    int
}

func (f *fields) add(h *responseHead, name, value []byte) error {
	if !fetch.ValidValue(string(value)) {
		return errField
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			name[i] = c + 'a' - 'A'
		}
	}
	switch string(name) {
	case "connection":
		f.connection = append(append(f.connection, value...), ',')
		return nil
	case "keep-alive":
		h.keep = keepAlive(string(value))
		return nil
	case "transfer-encoding":
		f.encodings++
		h.chunked = strings.EqualFold(string(value), "chunked")
		return nil
	case "content-length":
		return f.addLength(h, string(value))
	}
	if !hopByHop(string(name)) {
		h.header.AddRaw(name, value)
	}
	return nil
}

// addLength takes one Content-Length field: one number, or the same several
// times.
func (f *fields) addLength(h *responseHead, value string) error {
	for v := range strings.SplitSeq(value, ",") {
		v = strings.Trim(v, " \t")
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || v[0] < '0' || v[0] > '9' || f.lengths > 0 && n != f.length {
			return errLength
		}
		f.length = n
		f.lengths++
	}
	if _, there := h.header.Get("content-length"); !there {
		h.header = append(h.header, "content-length\n"...)
		h.header = append(strconv.AppendInt(h.header, f.length, 10), '\n')
	}
	return nil
}

// finish decides the framing (RFC 9112, 6.3) and whether the connection is kept.
func (f *fields) finish(h *responseHead, method string) error {
	connection := string(f.connection)
	h.close = f.minor == '0' || names(connection, "close")
	h.header = fetch.Header(dropNominated(h.header, 0, f.connection))
	if method == "HEAD" || h.status < 200 || h.status == 204 || h.status == 304 {
		h.chunked, h.length = false, 0
		return nil
	}
	switch {
	case f.encodings > 1, f.encodings == 1 && (!h.chunked || f.minor == '0'):
		return errEncoding
	case h.chunked:
		if f.lengths > 0 {
			// Someone between the server and here may see another body.
			h.close = true
			h.header.Del("content-length")
		}
	case f.lengths > 0:
		h.length = f.length
	default:
		h.close = true
	}
	return nil
}

// keepAlive returns for how long a Keep-Alive header lets a connection be idle:
// a second less than it promises, or half of that, so that no request meets its
// end.
func keepAlive(value string) time.Duration {
	for param := range strings.SplitSeq(value, ",") {
		name, v, _ := strings.Cut(strings.Trim(param, " \t"), "=")
		if !strings.EqualFold(name, "timeout") {
			continue
		}
		if n, err := strconv.ParseUint(strings.Trim(v, `"`), 10, 31); err == nil {
			promised := time.Duration(n) * time.Second
			return max(promised-time.Second, promised/2, time.Millisecond)
		}
	}
	return 0
}

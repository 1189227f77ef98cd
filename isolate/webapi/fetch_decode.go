package webapi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/edge-runtime/edge/net/fetch"
)

// acceptEncoding is what fetch asks for when the script does not.
const acceptEncoding = "gzip, deflate, br, zstd"

// maxZstdWindow is the window that every decoder has to support, and no more:
// https://www.rfc-editor.org/rfc/rfc9659
const maxZstdWindow = 8 << 20

// decode makes the body of a response decoded, when its Content-Encoding can be
// undone, and removes the headers that tell of the encoded one.
//
// https://fetch.spec.whatwg.org/#handle-content-codings
func decode(resp *fetch.Response) {
	if resp.Body == nil {
		return
	}
	codings := contentCodings(resp.Header)
	if len(codings) == 0 {
		return
	}
	raw := resp.Body
	if raw.Reader == nil {
		raw = fetch.StreamBody(io.NopCloser(bytes.NewReader(raw.Inline)), raw.Size)
	}
	resp.Body = fetch.StreamBody(&decodedBody{raw: raw, codings: codings}, -1)
	resp.Header.Del("content-encoding")
	resp.Header.Del("content-length")
}

// contentCodings returns the codings of a header list in the order they were
// applied; nil when there is none, or one that is not known.
func contentCodings(h fetch.Header) []string {
	var codings []string
	for _, v := range h.Values("content-encoding") {
		for c := range strings.SplitSeq(v, ",") {
			switch c = strings.ToLower(strings.Trim(c, " \t")); c {
			case "x-gzip":
				codings = append(codings, "gzip")
			case "gzip", "deflate", "br", "zstd":
				codings = append(codings, c)
			case "identity", "":
			default:
				return nil
			}
		}
	}
	return codings
}

// keepEncoding undoes decode for a response that passes a fetched body on
// without a look at it, when the client of the exchange accepts it encoded.
func keepEncoding(ex *exchange, resp *fetch.Response) {
	if resp.Body == nil {
		return
	}
	d, ok := resp.Body.Reader.(*decodedBody)
	if !ok {
		return
	}
	if _, set := resp.Header.Get("content-encoding"); set || !accepts(ex.req.Header, d.codings) {
		return
	}
	if raw := d.takeRaw(); raw != nil {
		resp.Body = raw
		resp.Header.Add("content-encoding", strings.Join(d.codings, ", "))
	}
}

// accepts reports whether the client that sent h accepts all codings. A weight
// of 0 refuses one.
func accepts(h fetch.Header, codings []string) bool {
	accepted := map[string]bool{}
	for _, v := range h.Values("accept-encoding") {
		for c := range strings.SplitSeq(v, ",") {
			name, params, _ := strings.Cut(c, ";")
			weight := strings.Trim(strings.TrimPrefix(strings.ReplaceAll(params, " ", ""), "q="), "0.")
			refused := strings.Contains(params, "q=") && weight == ""
			accepted[strings.ToLower(strings.Trim(name, " \t"))] = !refused
		}
	}
	for _, c := range codings {
		yes, listed := accepted[c]
		if !listed {
			yes = accepted["*"]
		}
		if !yes {
			return false
		}
	}
	return true
}

// decodedBody decodes a body as it is read. The decoders are made by the first
// Read, so that a body which is passed on is not touched.
type decodedBody struct {
	raw     *fetch.Body
	codings []string

	mu     sync.Mutex // guards begun, taken and closed
	begun  bool
	taken  bool
	closed bool

	// r and closers belong to the goroutine that reads.
	r       io.Reader
	closers []func()
	err     error
}

// takeRaw returns the encoded body, nil when decoding has begun. The decoded one
// is empty from then on.
func (d *decodedBody) takeRaw() *fetch.Body {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun || d.closed {
		return nil
	}
	d.taken = true
	return d.raw
}

// Read reads decoded bytes.
func (d *decodedBody) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	if d.r == nil {
		d.mu.Lock()
		d.begun = true
		taken := d.taken || d.closed
		d.mu.Unlock()
		if taken {
			return 0, io.EOF
		}
		d.r = d.open()
	}
	n, err := d.r.Read(p)
	if err != nil {
		d.err = err
		if err != io.EOF {
			d.err = fmt.Errorf("decode response body (%s): %w", strings.Join(d.codings, ", "), err)
		}
		for _, c := range d.closers {
			c()
		}
	}
	return n, d.err
}

// Close closes the encoded body, which ends a Read.
func (d *decodedBody) Close() error {
	d.mu.Lock()
	taken := d.taken
	d.closed = true
	d.mu.Unlock()
	if taken {
		return nil
	}
	return d.raw.Close()
}

// open chains the decoders, the coding that was applied last first.
func (d *decodedBody) open() io.Reader {
	var r io.Reader = d.raw.Reader
	for i := len(d.codings) - 1; i >= 0; i-- {
		var err error
		if r, err = d.decoder(d.codings[i], r); err != nil {
			return failingReader{err}
		}
	}
	return r
}

func (d *decodedBody) decoder(coding string, r io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip":
		z, err := gzip.NewReader(r)
		if errors.Is(err, io.EOF) {
			return failingReader{io.EOF}, nil // an empty body is an empty body
		}
		return z, err
	case "deflate":
		return inflate(r)
	case "br":
		return brotli.NewReader(r), nil
	case "zstd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		d.closers = append(d.closers, z.Close)
		return z, nil
	}
	return nil, fmt.Errorf("unknown coding %q", coding)
}

// inflate reads the zlib format, or a bare deflate stream, which some servers
// send under the same name.
func inflate(r io.Reader) (io.Reader, error) {
	br := bufio.NewReader(r)
	head, err := br.Peek(2)
	if len(head) == 0 && err == io.EOF {
		return failingReader{io.EOF}, nil
	}
	if len(head) == 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(br)
	}
	return flate.NewReader(br), nil
}

// failingReader fails every Read.
type failingReader struct{ err error }

// Read returns the error.
func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

package edgenet

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

// DiskOptions configures a Disk.
type DiskOptions struct {
	// CleanURLs serves about.html as /about and redirects /about.html there.
	CleanURLs bool
	// CacheControl is sent with every file; by default clients may keep a copy
	// and ask each time whether it is still the one.
	CacheControl string
	// MaxBytes bounds the sum of the files. 1 GiB.
	MaxBytes int64
	// Index is the file that answers for its directory. "index.html".
	Index string
	// NoIndex makes directories answer 404.
	NoIndex bool
	// Dotfiles serves what begins with a dot, too.
	Dotfiles bool
}

// Disk serves the files of a tree from memory: GET and HEAD with strong ETags,
// conditions and ranges. A directory is served by its index.html, what is missing
// by the nearest 404.html. A file name.br or name.gz beside name is sent in its
// place to clients that accept the coding.
//
// Requests are looked up in a map that is made once, so no path can leave the
// tree. Names that begin with a dot are not in it, but for /.well-known.
type Disk struct {
	cleanURLs bool
	index     string               // "" for none
	files     map[string]*diskFile // by decoded URL path
	indexed   map[string]bool      // directories with an index, without the slash at the end
}

// diskFile is a file with its codings, the plain one first.
type diskFile struct {
	variants []variant
	modified time.Time
}

// variant is one representation of a file.
type variant struct {
	coding string // "" is plain
	etag   string
	body   []byte
	header fetch.Header // of a 200, without the length
	kept   fetch.Header // of a 304
}

// NewDisk reads the whole tree.
func NewDisk(fsys fs.FS, opts DiskOptions) (*Disk, error) {
	if opts.CacheControl == "" {
		opts.CacheControl = "public, max-age=0, must-revalidate"
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 1 << 30
	}
	if opts.Index == "" {
		opts.Index = "index.html"
	}
	if opts.NoIndex {
		opts.Index = ""
	}
	d := &Disk{cleanURLs: opts.CleanURLs, index: opts.Index, files: map[string]*diskFile{}, indexed: map[string]bool{}}
	contents := map[string][]byte{}
	modified := map[string]time.Time{}
	left := opts.MaxBytes
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !opts.Dotfiles && hidden(name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if left -= info.Size(); left < 0 {
			return fmt.Errorf("%w: more than %d bytes", errTreeTooLarge, opts.MaxBytes)
		}
		contents[name], err = fs.ReadFile(fsys, name)
		modified[name] = info.ModTime()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read files to serve: %w", err)
	}
	now := time.Now()
	for name, body := range contents {
		mod := modified[name]
		if mod.After(now) {
			mod = now // RFC 9110, 8.8.2.1
		}
		f := &diskFile{modified: mod.UTC().Truncate(time.Second)}
		if mod.IsZero() {
			f.modified = time.Time{}
		}
		codings := map[string][]byte{}
		for _, c := range precompressed {
			if b, ok := contents[name+c.suffix]; ok && len(b) < len(body) {
				codings[c.coding] = b
			}
		}
		f.add("", body, name, body, len(codings) > 0, opts.CacheControl)
		for _, c := range precompressed {
			if b, ok := codings[c.coding]; ok {
				f.add(c.coding, b, name, body, true, opts.CacheControl)
			}
		}
		d.files["/"+name] = f
		if path.Base(name) == d.index {
			d.indexed[strings.TrimSuffix("/"+name, "/"+d.index)] = true
		}
	}
	return d, nil
}

var errTreeTooLarge = errors.New("the tree is too large to serve from memory")

// precompressed lists the codings of sibling files, the preferred first.
var precompressed = []struct{ coding, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// hidden reports whether a path of the tree has a name that begins with a dot.
// /.well-known is public by its purpose (RFC 8615).
func hidden(name string) bool {
	for i, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") && name != "." && !(i == 0 && part == ".well-known") {
			return true
		}
	}
	return false
}

// add adds a representation; plain is the file's content without coding.
func (f *diskFile) add(coding string, body []byte, name string, plain []byte, varies bool, cacheControl string) {
	sum := sha256.Sum256(body)
	v := variant{coding: coding, body: body, etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`}
	v.kept.Add("etag", v.etag)
	v.kept.Add("cache-control", cacheControl)
	if !f.modified.IsZero() {
		v.kept.Add("last-modified", f.modified.Format(http.TimeFormat))
	}
	if varies {
		v.kept.Add("vary", "accept-encoding")
	}
	v.header = v.kept.Clone()
	v.header.Add("content-type", mediaType(name, plain))
	v.header.Add("accept-ranges", "bytes")
	if coding != "" {
		v.header.Add("content-encoding", coding)
	}
	f.variants = append(f.variants, v)
}

// pick returns the representation for a request.
func (f *diskFile) pick(h fetch.Header) *variant {
	if len(f.variants) > 1 {
		offered := make([]string, 0, len(precompressed))
		for _, v := range f.variants[1:] {
			offered = append(offered, v.coding)
		}
		coding := acceptedCoding(h, offered...)
		for i := range f.variants {
			if f.variants[i].coding == coding {
				return &f.variants[i]
			}
		}
	}
	return &f.variants[0]
}

// Fetch implements fetch.Fetcher.
func (d *Disk) Fetch(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	_ = req.Body.Close() // files take no body
	if req.Method != "GET" && req.Method != "HEAD" {
		resp := plainResponse(http.StatusMethodNotAllowed)
		resp.Header.Add("allow", "GET, HEAD")
		return resp, nil
	}
	raw, query := urlPath(req.URL)
	name, ok := decodePath(raw)
	if !ok {
		return d.notFound("/", req), nil
	}
	f, redirect := d.lookup(name, raw)
	switch {
	case redirect != "":
		resp := plainResponse(http.StatusMovedPermanently)
		resp.Header.Add("location", redirect+query)
		return resp, nil
	case f == nil:
		return d.notFound(name, req), nil
	}
	return f.serve(req), nil
}

// lookup finds the file for a decoded path, or the path, in the form of the
// request, to which it is redirected.
func (d *Disk) lookup(name, raw string) (f *diskFile, redirect string) {
	if dir, ok := strings.CutSuffix(name, "/"); ok {
		if d.index == "" {
			return nil, ""
		}
		return d.files[dir+"/"+d.index], ""
	}
	if f := d.files[name]; f != nil {
		if d.cleanURLs {
			if dir, ok := strings.CutSuffix(raw, "/"+d.index); ok && d.index != "" {
				return nil, dir + "/"
			}
			if page, ok := strings.CutSuffix(raw, ".html"); ok && d.files[strings.TrimSuffix(name, ".html")] == nil {
				return nil, page
			}
		}
		return f, ""
	}
	if d.cleanURLs {
		if f := d.files[name+".html"]; f != nil {
			return f, ""
		}
	}
	if d.indexed[name] {
		return nil, raw + "/"
	}
	return nil, ""
}

// notFound answers with the nearest 404.html above name.
func (d *Disk) notFound(name string, req *fetch.Request) *fetch.Response {
	for dir := name; ; {
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			return plainResponse(http.StatusNotFound)
		}
		dir = dir[:i]
		if f := d.files[dir+"/404.html"]; f != nil {
			v := f.pick(req.Header)
			resp := &fetch.Response{Status: http.StatusNotFound, Body: fetch.BytesBody(v.body)}
			for name, value := range v.header.All() {
				if key := string(name); strings.HasPrefix(key, "content-") || key == "vary" {
					resp.Header.AddRaw(name, value)
				}
			}
			resp.Header.Add("cache-control", "no-cache")
			return resp
		}
	}
}

// serve answers with the file, or with what the request's conditions and ranges
// make of it.
func (f *diskFile) serve(req *fetch.Request) *fetch.Response {
	v := f.pick(req.Header)
	switch status := precondition(req.Header, v.etag, f.modified); status {
	case http.StatusNotModified:
		return &fetch.Response{Status: status, Header: v.kept[:len(v.kept):len(v.kept)]}
	case http.StatusPreconditionFailed:
		return plainResponse(status)
	}
	header := v.header[:len(v.header):len(v.header)] // shared: whoever adds gets a copy
	size := int64(len(v.body))
	if set, ok := req.Header.Get("range"); ok && req.Method == "GET" && rangeApplies(req.Header, v.etag, f.modified) {
		if ranges, ok := parseRange(set, size); ok {
			return v.part(header, ranges)
		}
	}
	return &fetch.Response{Status: http.StatusOK, Header: header, Body: fetch.BytesBody(v.body)}
}

// part answers with ranges of the representation.
func (v *variant) part(header fetch.Header, ranges []byteRange) *fetch.Response {
	size := len(v.body)
	switch len(ranges) {
	case 0:
		resp := plainResponse(http.StatusRequestedRangeNotSatisfiable)
		resp.Header.Add("content-range", fmt.Sprintf("bytes */%d", size))
		return resp
	case 1:
		r := ranges[0]
		header.Add("content-range", r.contentRange(size))
		return &fetch.Response{Status: http.StatusPartialContent, Header: header, Body: fetch.BytesBody(v.body[r.start : r.start+r.length])}
	}
	contentType, _ := header.Get("content-type")
	boundary := newBoundary()
	var readers []io.Reader
	total := int64(0)
	text := func(s string) {
		readers = append(readers, strings.NewReader(s))
		total += int64(len(s))
	}
	for i, r := range ranges {
		if i > 0 {
			text("\r\n")
		}
		text("--" + boundary + "\r\nContent-Type: " + contentType + "\r\nContent-Range: " + r.contentRange(size) + "\r\n\r\n")
		text(viewString(v.body[r.start : r.start+r.length]))
	}
	text("\r\n--" + boundary + "--\r\n")
	header.Set("content-type", "multipart/byteranges; boundary="+boundary)
	return &fetch.Response{Status: http.StatusPartialContent, Header: header, Body: fetch.StreamBody(io.NopCloser(io.MultiReader(readers...)), total)}
}

// contentRange returns the Content-Range of r.
func (r byteRange) contentRange(size int) string {
	return fmt.Sprintf("bytes %d-%d/%d", r.start, r.start+r.length-1, size)
}

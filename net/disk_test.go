package edgenet

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/edge-runtime/edge/net/fetch"
)

var diskTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func file(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s), ModTime: diskTime} }

// site is the tree that the tests serve.
func site() fstest.MapFS {
	return fstest.MapFS{
		"index.html":               file("<p>home"),
		"about.html":               file("<p>about"),
		"404.html":                 file("<p>lost"),
		"docs/index.html":          file("<p>docs"),
		"docs/404.html":            file("<p>lost docs"),
		"docs/a b.txt":             file("a b"),
		"docs/caf\u00e9.txt":       file("accent"),
		"docs/100%.txt":            file("percent"),
		"empty/readme.md":          file("# no index"),
		"digits.txt":               file("0123456789"),
		"nothing.txt":              file(""),
		"app.js":                   file(strings.Repeat("let x = 1;", 20)),
		"app.js.br":                file("brotli"),
		"app.js.gz":                file("gzipped!"),
		"large.css.gz":             file("not a sibling of anything"),
		"latin.txt":                file("caf\xe9"),
		"noext":                    file("\x89PNG\x0d\x0a\x1a\x0a"),
		"undated.txt":              {Data: []byte("x")},
		".env":                     file("SECRET=1"),
		".git/config":              file("secret"),
		"docs/.hidden":             file("secret"),
		".well-known/security.txt": file("Contact: x"),
	}
}

func newDisk(t testing.TB, opts DiskOptions) *Disk {
	t.Helper()
	d, err := NewDisk(site(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ask sends a request to a Disk; header is "name: value" lines.
func ask(t testing.TB, d *Disk, method, path, header string) (*fetch.Response, string) {
	t.Helper()
	req := &fetch.Request{Method: method, URL: "http://site.example" + path}
	for line := range strings.Lines(header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		req.Header.Add(name, value)
	}
	resp, err := d.Fetch(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := resp.Body.ReadAll(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func value(resp *fetch.Response, name string) string {
	return strings.Join(resp.Header.Values(name), " | ")
}

func TestDiskFindsFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path             string
		clean            bool
		status           int
		body, to, mediaT string
	}{
		{"/", false, 200, "<p>home", "", "text/html; charset=utf-8"},
		{"/index.html", false, 200, "<p>home", "", "text/html; charset=utf-8"},
		{"/?q=1", false, 200, "<p>home", "", ""},
		{"/docs/", false, 200, "<p>docs", "", ""},
		{"/docs", false, 301, "", "/docs/", ""},
		{"/docs?a=b&c", false, 301, "", "/docs/?a=b&c", ""},
		{"/docs/a%20b.txt", false, 200, "a b", "", "text/plain; charset=utf-8"},
		{"/docs/caf%C3%A9.txt", false, 200, "accent", "", ""},
		{"/docs/100%25.txt", false, 200, "percent", "", ""},
		{"/latin.txt", false, 200, "caf\xe9", "", "text/plain"},
		{"/noext", false, 200, "\x89PNG\x0d\x0a\x1a\x0a", "", "image/png"},
		{"/.well-known/security.txt", false, 200, "Contact: x", "", ""},
		{"/about", false, 404, "<p>lost", "", "text/html; charset=utf-8"},
		{"/about.html", false, 200, "<p>about", "", ""},
		{"/about", true, 200, "<p>about", "", "text/html; charset=utf-8"},
		{"/about.html?x", true, 301, "", "/about?x", ""},
		{"/index.html", true, 301, "", "/", ""},
		{"/docs/index.html", true, 301, "", "/docs/", ""},
		{"/docs", true, 301, "", "/docs/", ""},
		{"/about/", true, 404, "<p>lost", "", ""},
		{"/missing", false, 404, "<p>lost", "", ""},
		{"/docs/missing", false, 404, "<p>lost docs", "", ""},
		{"/docs/deep/missing", false, 404, "<p>lost docs", "", ""},
		{"/empty", false, 404, "<p>lost", "", ""},
		{"/empty/", false, 404, "<p>lost", "", ""},
		{"/.env", false, 404, "<p>lost", "", ""},
		{"/%2eenv", false, 404, "<p>lost", "", ""},
		{"/.git/config", false, 404, "<p>lost", "", ""},
		{"/docs/.hidden", false, 404, "<p>lost docs", "", ""},
		{"/docs/../.env", false, 404, "<p>lost", "", ""},
		{"/docs/..%2f.env", false, 404, "<p>lost", "", ""},
		{"/docs%2findex.html", false, 404, "<p>lost", "", ""},
		{"/%2e%2e/%2e%2e/etc/passwd", false, 404, "<p>lost", "", ""},
		{"/..\\..\\etc\\passwd", false, 404, "<p>lost", "", ""},
		{"//docs", false, 404, "<p>lost", "", ""},
		{"//evil.example/..", false, 404, "<p>lost", "", ""},
		{"/docs//index.html", false, 404, "<p>lost", "", ""},
		{"/digits.txt/", false, 404, "<p>lost", "", ""},
		{"/digits.txt%00.html", false, 404, "<p>lost", "", ""},
		{"/digits.txt%", false, 404, "<p>lost", "", ""},
		{"/digits.txt%zz", false, 404, "<p>lost", "", ""},
		{"/DIGITS.txt", false, 404, "<p>lost", "", ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.path, " clean ", tt.clean), func(t *testing.T) {
			t.Parallel()
			d := newDisk(t, DiskOptions{CleanURLs: tt.clean})
			resp, body := ask(t, d, "GET", tt.path, "")
			if resp.Status != tt.status || value(resp, "location") != tt.to {
				t.Errorf("response is %d to %q, want %d to %q", resp.Status, value(resp, "location"), tt.status, tt.to)
			}
			if tt.to == "" && body != tt.body {
				t.Errorf("body is %q, want %q", body, tt.body)
			}
			if tt.mediaT != "" && value(resp, "content-type") != tt.mediaT {
				t.Errorf("content-type is %q, want %q", value(resp, "content-type"), tt.mediaT)
			}
			if strings.Contains(strings.ToLower(body), "secret") {
				t.Errorf("a hidden file is served: %q", body)
			}
		})
	}
}

func TestDiskHeaders(t *testing.T) {
	t.Parallel()
	d := newDisk(t, DiskOptions{})
	resp, _ := ask(t, d, "GET", "/digits.txt", "")
	etag := value(resp, "etag")
	if len(etag) != 24 || etag[0] != '"' {
		t.Errorf("etag is %s", etag)
	}
	want := "etag\n" + etag + "\ncache-control\npublic, max-age=0, must-revalidate\nlast-modified\nWed, 04 Mar 2026 05:06:07 GMT\n" +
		"content-type\ntext/plain; charset=utf-8\naccept-ranges\nbytes\n"
	if diff := cmp.Diff(want, string(resp.Header)); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	resp.Header.Set("etag", "mine")
	resp.Header.Add("x", "y")
	if again, _ := ask(t, d, "GET", "/digits.txt", ""); string(again.Header) != want {
		t.Error("a caller changed the header of later responses")
	}
	if other, _ := ask(t, d, "GET", "/docs/a%20b.txt", ""); value(other, "etag") == etag {
		t.Error("two contents have one etag")
	}
	if undated, _ := ask(t, d, "GET", "/undated.txt", "if-modified-since: Wed, 04 Mar 2026 05:06:07 GMT"); undated.Status != 200 || value(undated, "last-modified") != "" {
		t.Errorf("undated file: %d, %q", undated.Status, value(undated, "last-modified"))
	}
	if own, _ := ask(t, newDisk(t, DiskOptions{CacheControl: "no-store"}), "GET", "/", ""); value(own, "cache-control") != "no-store" {
		t.Errorf("cache-control is %q", value(own, "cache-control"))
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		if resp, _ := ask(t, d, method, "/", ""); resp.Status != 405 || value(resp, "allow") != "GET, HEAD" {
			t.Errorf("%s: %d, allow %q", method, resp.Status, value(resp, "allow"))
		}
	}
	if resp, _ := ask(t, d, "HEAD", "/digits.txt", "range: bytes=0-1"); resp.Status != 200 || resp.Body.Size != 10 {
		t.Errorf("HEAD: %d, size %d", resp.Status, resp.Body.Size)
	}
}

func TestDiskConditions(t *testing.T) {
	t.Parallel()
	d := newDisk(t, DiskOptions{})
	resp, _ := ask(t, d, "GET", "/digits.txt", "")
	etag := value(resp, "etag")
	const same, before, after = "Wed, 04 Mar 2026 05:06:07 GMT", "Wed, 04 Mar 2026 05:06:06 GMT", "Wed, 04 Mar 2026 05:06:08 GMT"
	tests := []struct {
		name, header string
		status       int
	}{
		{"none match, same", "if-none-match: " + etag, 304},
		{"none match, weak", "if-none-match: W/" + etag, 304},
		{"none match, in a list", `if-none-match: "a,b", W/"c", ` + etag, 304},
		{"none match, second line", "if-none-match: \"a\"\nif-none-match: " + etag, 304},
		{"none match, star", "if-none-match: *", 304},
		{"none match, other", `if-none-match: "a"`, 200},
		{"none match, garbage", "if-none-match: a" + etag, 200},
		{"none match wins over modified since", "if-none-match: \"a\"\nif-modified-since: " + after, 200},
		{"modified since, same second", "if-modified-since: " + same, 304},
		{"modified since, later", "if-modified-since: " + after, 304},
		{"modified since, earlier", "if-modified-since: " + before, 200},
		{"modified since, garbage", "if-modified-since: yesterday", 200},
		{"match, same", "if-match: " + etag, 200},
		{"match, star", "if-match: *", 200},
		{"match, weak", "if-match: W/" + etag, 412},
		{"match, other", `if-match: "a"`, 412},
		{"match wins over unmodified since", "if-match: " + etag + "\nif-unmodified-since: " + before, 200},
		{"unmodified since, same", "if-unmodified-since: " + same, 200},
		{"unmodified since, earlier", "if-unmodified-since: " + before, 412},
		{"match, then none match", "if-match: " + etag + "\nif-none-match: " + etag, 304},
		{"range, if-range etag", "range: bytes=0-1\nif-range: " + etag, 206},
		{"range, if-range other etag", "range: bytes=0-1\nif-range: \"a\"", 200},
		{"range, if-range weak etag", "range: bytes=0-1\nif-range: W/" + etag, 200},
		{"range, if-range date", "range: bytes=0-1\nif-range: " + same, 206},
		{"range, if-range later date", "range: bytes=0-1\nif-range: " + after, 200},
		{"range of what has not changed", "range: bytes=0-1\nif-none-match: " + etag, 304},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body := ask(t, d, "GET", "/digits.txt", tt.header)
			if resp.Status != tt.status {
				t.Errorf("status is %d, want %d", resp.Status, tt.status)
			}
			if tt.status == 304 && (body != "" || value(resp, "etag") != etag || value(resp, "cache-control") == "" || value(resp, "content-type") != "") {
				t.Errorf("304 has body %q and header %q", body, resp.Header)
			}
		})
	}
}

func TestDiskRanges(t *testing.T) {
	t.Parallel()
	d := newDisk(t, DiskOptions{})
	tests := []struct {
		set          string
		status       int
		body, ranged string
	}{
		{"bytes=0-3", 206, "0123", "bytes 0-3/10"},
		{"bytes=4-", 206, "456789", "bytes 4-9/10"},
		{"bytes=-3", 206, "789", "bytes 7-9/10"},
		{"bytes=-99", 206, "0123456789", "bytes 0-9/10"},
		{"bytes=5-99", 206, "56789", "bytes 5-9/10"},
		{"Bytes = 1-1", 206, "1", "bytes 1-1/10"},
		{"bytes=0-18446744073709551616", 206, "0123456789", "bytes 0-9/10"},
		{"bytes=,2-3,", 206, "23", "bytes 2-3/10"},
		{"bytes=20-30,2-3", 206, "23", "bytes 2-3/10"},
		{"bytes=10-", 416, "", "bytes */10"},
		{"bytes=-0", 416, "", "bytes */10"},
		{"bytes=20-30", 416, "", "bytes */10"},
		{"bytes=3-1", 200, "0123456789", ""},
		{"bytes=a-b", 200, "0123456789", ""},
		{"bytes=1", 200, "0123456789", ""},
		{"bytes=--1", 200, "0123456789", ""},
		{"bytes=", 200, "0123456789", ""},
		{"lines=0-1", 200, "0123456789", ""},
		{"bytes=0-7,0-7", 200, "0123456789", ""},
		{"bytes=" + strings.Repeat("0-0,", 40), 200, "0123456789", ""},
	}
	for _, tt := range tests {
		t.Run(tt.set, func(t *testing.T) {
			t.Parallel()
			resp, body := ask(t, d, "GET", "/digits.txt", "range: "+tt.set)
			if resp.Status != tt.status || value(resp, "content-range") != tt.ranged {
				t.Errorf("response is %d %q, want %d %q", resp.Status, value(resp, "content-range"), tt.status, tt.ranged)
			}
			if tt.status != 416 && body != tt.body {
				t.Errorf("body is %q, want %q", body, tt.body)
			}
		})
	}
	if resp, _ := ask(t, d, "GET", "/nothing.txt", "range: bytes=0-"); resp.Status != 416 || value(resp, "content-range") != "bytes */0" {
		t.Errorf("range of an empty file: %d %q", resp.Status, value(resp, "content-range"))
	}
}

func TestDiskRangesInParts(t *testing.T) {
	t.Parallel()
	d := newDisk(t, DiskOptions{})
	req := &fetch.Request{Method: "GET", URL: "http://h/digits.txt", Header: fetch.Header("range\nbytes=0-1, 4-5,-1\n")}
	resp, err := d.Fetch(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	kind, params, err := mime.ParseMediaType(value(resp, "content-type"))
	if resp.Status != 206 || kind != "multipart/byteranges" || err != nil {
		t.Fatalf("response is %d %q", resp.Status, resp.Header)
	}
	body, err := resp.Body.ReadAll(1 << 20)
	if err != nil || int64(len(body)) != resp.Body.Size {
		t.Fatalf("body of %d bytes, size %d, %v", len(body), resp.Body.Size, err)
	}
	var got []string
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s", p.Header.Get("Content-Range"), p.Header.Get("Content-Type"), content))
	}
	const plain = " text/plain; charset=utf-8 "
	want := []string{"bytes 0-1/10" + plain + "01", "bytes 4-5/10" + plain + "45", "bytes 9-9/10" + plain + "9"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestDiskPrecompressed(t *testing.T) {
	t.Parallel()
	d := newDisk(t, DiskOptions{})
	plain := strings.Repeat("let x = 1;", 20)
	etags := map[string]bool{}
	tests := []struct{ accept, coding, body string }{
		{"", "", plain},
		{"accept-encoding: gzip, deflate, br", "br", "brotli"},
		{"accept-encoding: gzip", "gzip", "gzipped!"},
		{"accept-encoding: x-gzip", "gzip", "gzipped!"},
		{"accept-encoding: br;q=0.5, gzip;q=0.9", "gzip", "gzipped!"},
		{"accept-encoding: br; Q=0, gzip;q=0", "", plain},
		{"accept-encoding: *", "br", "brotli"},
		{"accept-encoding: *;q=0", "", plain},
		{"accept-encoding: identity, br;q=0.5", "", plain},
		{"accept-encoding: br;q=nonsense", "", plain},
		{"accept-encoding: gzip\naccept-encoding: br", "br", "brotli"},
		{"accept-encoding: zstd", "", plain},
	}
	for _, tt := range tests {
		resp, body := ask(t, d, "GET", "/app.js", tt.accept)
		if value(resp, "content-encoding") != tt.coding || body != tt.body {
			t.Errorf("%q: coding %q, body %.10q, want %q", tt.accept, value(resp, "content-encoding"), body, tt.coding)
		}
		if value(resp, "vary") != "accept-encoding" || value(resp, "content-type") != "text/javascript; charset=utf-8" {
			t.Errorf("%q: header is %q", tt.accept, resp.Header)
		}
		etags[value(resp, "etag")] = true
	}
	if len(etags) != 3 {
		t.Errorf("three representations have %d etags", len(etags))
	}
	br, _ := ask(t, d, "GET", "/app.js", "accept-encoding: br")
	if again, _ := ask(t, d, "GET", "/app.js", "accept-encoding: br\nif-none-match: "+value(br, "etag")); again.Status != 304 || value(again, "vary") == "" {
		t.Errorf("condition on a coding: %d %q", again.Status, again.Header)
	}
	if part, body := ask(t, d, "GET", "/app.js", "accept-encoding: br\nrange: bytes=0-1"); part.Status != 206 || body != "br" {
		t.Errorf("range of a coding: %d %q", part.Status, body)
	}
	if own, body := ask(t, d, "GET", "/app.js.br", ""); own.Status != 200 || body != "brotli" || value(own, "content-encoding") != "" {
		t.Errorf("the sibling itself: %d %q", own.Status, body)
	}
}

func TestDiskWithoutPages(t *testing.T) {
	t.Parallel()
	d, err := NewDisk(fstest.MapFS{}, DiskOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/x", "/x/"} {
		if resp, body := ask(t, d, "GET", path, ""); resp.Status != 404 || body != "404 Not Found\n" {
			t.Errorf("%s: %d %q", path, resp.Status, body)
		}
	}
}

func TestNewDiskReportsMistakes(t *testing.T) {
	t.Parallel()
	if _, err := NewDisk(site(), DiskOptions{MaxBytes: 20}); err == nil || !strings.Contains(err.Error(), "too large to serve from memory: more than 20 bytes") {
		t.Errorf("error is %v", err)
	}
	if _, err := NewDisk(brokenFS{}, DiskOptions{}); err == nil || !strings.Contains(err.Error(), "read files to serve:") {
		t.Errorf("error is %v", err)
	}
}

type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, errTest }

func TestDiskOverHTTP(t *testing.T) {
	t.Parallel()
	ts := serve(t, newDisk(t, DiskOptions{}).Fetch)
	tr := &http.Transport{DisableCompression: true}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr, Timeout: patience}
	for path, want := range map[string]int{"/": 200, "/docs": 200, "/../../.env": 404, "/missing": 404} {
		resp, err := client.Get("http://" + ts.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	c := ts.dial()
	c.send("GET /digits.txt HTTP/1.1\nHost: h\nRange: bytes=0-1,4-5\n\n")
	if resp, body := c.get("GET"); resp.StatusCode != 206 || resp.ContentLength != int64(len(body)) {
		t.Errorf("parts: %d, length %d of %d", resp.StatusCode, resp.ContentLength, len(body))
	}
	c.send("HEAD /digits.txt HTTP/1.1\nHost: h\n\n")
	if resp, _ := c.get("HEAD"); resp.ContentLength != 10 {
		t.Errorf("HEAD: length %d", resp.ContentLength)
	}
}

func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"bytes=0-1", "bytes=-1,2-", "bytes=9223372036854775807-", "x=1-2", "bytes=1-1,1-1"} {
		f.Add(s, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		ranges, ok := parseRange(header, size)
		if !ok && len(ranges) > 0 {
			t.Fatalf("%q: ranges of an ignored header", header)
		}
		total := int64(0)
		for _, r := range ranges {
			if r.start < 0 || r.length <= 0 || r.start+r.length > size {
				t.Fatalf("%q of %d: range %+v lies outside", header, size, r)
			}
			total += r.length
		}
		if len(ranges) > maxRanges || len(ranges) > 1 && total > size {
			t.Fatalf("%q of %d: %d ranges of %d bytes", header, size, len(ranges), total)
		}
	})
}

func FuzzDiskPath(f *testing.F) {
	for _, s := range []string{"/", "/a%2fb", "/%2e%2e/x", "/docs/../.env", "//x", "/%", "/a?b#c", "/\x00"} {
		f.Add(s)
	}
	d := newDisk(f, DiskOptions{CleanURLs: true})
	f.Fuzz(func(t *testing.T, path string) {
		if name, ok := decodePath(path); ok {
			for i, seg := range strings.Split(name, "/") {
				if seg == "." || seg == ".." || strings.ContainsRune(seg, 0) || i == 0 && seg != "" {
					t.Fatalf("decodePath(%q) = %q", path, name)
				}
			}
		}
		resp, body := ask(t, d, "GET", path, "")
		if strings.Contains(strings.ToLower(body), "secret") {
			t.Fatalf("%q serves a hidden file", path)
		}
		if to := value(resp, "location"); to != "" && (to[0] != '/' || strings.HasPrefix(to, "//") || strings.HasPrefix(to, `/\`)) {
			t.Fatalf("%q redirects to %q", path, to)
		}
	})
}

func FuzzConditions(f *testing.F) {
	f.Add(`"a", W/"b"`, "gzip;q=0.5, *")
	f.Fuzz(func(t *testing.T, tags, accept string) {
		_ = etagListed(tags, `"x"`, true)
		if etagListed(tags, `"x"`, true) && !etagListed(tags, `"x"`, false) {
			t.Fatalf("%q matches strongly, not weakly", tags)
		}
		for _, coding := range []string{"br", "gzip"} {
			if q := qualityOf(accept, coding, true); q < 0 || q > 1000 {
				t.Fatalf("%q gives %s the weight %d", accept, coding, q)
			}
		}
	})
}

func TestDiskIndexAndDotfiles(t *testing.T) {
	status := func(opts DiskOptions, path string) int {
		resp, err := newDisk(t, opts).Fetch(t.Context(), &fetch.Request{Method: "GET", URL: "http://site.example" + path})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status
	}
	for _, tt := range []struct {
		opts DiskOptions
		path string
		want int
	}{
		{DiskOptions{}, "/docs/", 200},
		{DiskOptions{Index: "readme.md"}, "/empty/", 200},
		{DiskOptions{Index: "readme.md"}, "/empty", 301},
		{DiskOptions{Index: "readme.md"}, "/docs/", 404},
		{DiskOptions{NoIndex: true}, "/docs/", 404},
		{DiskOptions{NoIndex: true}, "/docs", 404},
		{DiskOptions{NoIndex: true, CleanURLs: true}, "/docs/index.html", 301},
		{DiskOptions{}, "/.env", 404},
		{DiskOptions{Dotfiles: true}, "/.env", 200},
		{DiskOptions{Dotfiles: true}, "/docs/.hidden", 200},
	} {
		if got := status(tt.opts, tt.path); got != tt.want {
			t.Errorf("%+v: %s answers %d, want %d", tt.opts, tt.path, got, tt.want)
		}
	}
}

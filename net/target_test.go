package edgenet

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
)

func TestAppendURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, scheme, host, raw, want string }{
		{"plain", "http", "example.com", "/a/b?c=d", "http://example.com/a/b?c=d"},
		{"root", "http", "example.com", "/", "http://example.com/"},
		{"host in lower case", "http", "EXAMPLE.com:8080", "/", "http://example.com:8080/"},
		{"port of the scheme", "http", "example.com:80", "/", "http://example.com/"},
		{"port of the other scheme", "https", "example.com:80", "/", "https://example.com:80/"},
		{"port with leading zeros", "https", "example.com:00443", "/", "https://example.com/"},
		{"empty port", "http", "example.com:", "/", "http://example.com/"},
		{"IPv4", "http", "127.0.0.1:1", "/", "http://127.0.0.1:1/"},
		{"IPv6", "http", "[::1]:8080", "/", "http://[::1]:8080/"},
		{"IPv6 is compressed", "http", "[2001:DB8:0:0:0:0:0:1]", "/", "http://[2001:db8::1]/"},
		{"fragment dropped", "http", "h", "/a#b?c", "http://h/a"},
		{"fragment after the query", "http", "h", "/a?b#c", "http://h/a?b"},
		{"empty query stays", "http", "h", "/a?", "http://h/a?"},
		{"dot segments", "http", "h", "/a/./b/../c", "http://h/a/c"},
		{"dot segment at the end", "http", "h", "/a/b/..", "http://h/a/"},
		{"single dot at the end", "http", "h", "/a/.", "http://h/a/"},
		{"above the root", "http", "h", "/../../etc/passwd", "http://h/etc/passwd"},
		{"escaped dots", "http", "h", "/a/%2e%2E/b/.%2e/c", "http://h/c"},
		{"three dots are a name", "http", "h", "/.../a", "http://h/.../a"},
		{"dot files stay", "http", "h", "/.well-known/x", "http://h/.well-known/x"},
		{"backslashes", "http", "h", `/a\..\b`, "http://h/b"},
		{"two slashes at the start", "http", "h", "//evil.example/x", "http://h//evil.example/x"},
		{"encoded slash stays", "http", "h", "/a%2f..%2fb", "http://h/a%2f..%2fb"},
		{"bytes to encode", "http", "h", "/a\"<>`{}^\xff", "http://h/a%22%3C%3E%60%7B%7D%5E%FF"},
		{"query bytes to encode", "http", "h", "/?a'\"<>`\xff", "http://h/?a%27%22%3C%3E`%FF"},
		{"lone percent stays", "http", "h", "/100%", "http://h/100%"},
		{"absolute target wins over Host", "http", "h", "http://Other:81/x?y", "http://other:81/x?y"},
		{"absolute target without path", "http", "h", "http://other", "http://other/"},
		{"absolute target with query only", "http", "h", "http://other?x", "http://other/?x"},
		{"asterisk", "http", "h", "*", "http://h/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, tg, err := appendURL([]byte("x"), tt.scheme, []byte(tt.host), []byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			if string(got[tg.urlLo:tg.urlHi]) != tt.want || got[0] != 'x' {
				t.Errorf("appendURL = %q, want %q", got[1:], tt.want)
			}
			u, err := url.Parse(tt.want)
			if err != nil && !strings.Contains(tt.want, "100%") {
				t.Fatal(err)
			}
			if err == nil && string(got[tg.hostLo:tg.hostHi]) != u.Hostname() && string(got[tg.hostLo:tg.hostHi]) != "["+u.Hostname()+"]" {
				t.Errorf("host = %q, want %q", got[tg.hostLo:tg.hostHi], u.Hostname())
			}
			if err == nil && string(got[tg.pathLo:tg.pathHi]) != u.EscapedPath() {
				t.Errorf("path = %q, want %q", got[tg.pathLo:tg.pathHi], u.EscapedPath())
			}
		})
	}
}

func TestAppendURLRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, host, raw string }{
		{"no host", "", "/"},
		{"user name", "user@h", "/"},
		{"user name in an absolute target", "h", "http://user@h/"},
		{"escape", "a%41", "/"},
		{"space", "a b", "/"},
		{"slash", "a/b", "/"},
		{"not ASCII", "b\xfccher.example", "/"},
		{"port too large", "h:65536", "/"},
		{"port no number", "h:8a", "/"},
		{"two ports", "h:80:80", "/"},
		{"unclosed bracket", "[::1", "/"},
		{"zone", "[fe80::1%25eth0]", "/"},
		{"IPv4 in brackets", "[127.0.0.1]", "/"},
		{"text after bracket", "[::1]x", "/"},
		{"authority form", "h", "h:443"},
		{"relative", "h", "a/b"},
		{"other scheme", "h", "ftp://h/"},
		{"empty", "h", ""},
		{"name too long", strings.Repeat("a", 255), "/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, _, err := appendURL([]byte("x"), "http", []byte(tt.host), []byte(tt.raw)); err == nil {
				t.Errorf("appendURL = %q, want an error", got)
			} else if string(got) != "x" {
				t.Errorf("buffer is %q after an error, want it as it was", got)
			}
		})
	}
}

func FuzzAppendURL(f *testing.F) {
	for _, s := range []string{"/", "/a/../b?c#d", `/\..%2e/`, "http://x/y", "*", "//", "/%2", "/%2e"} {
		f.Add([]byte("Host:80"), []byte(s))
	}
	f.Add([]byte("[::1]:1"), []byte("/"))
	f.Fuzz(func(t *testing.T, host, raw []byte) {
		got, tg, err := appendURL(nil, "http", host, raw)
		if err != nil {
			return
		}
		path := got[tg.pathLo:tg.pathHi]
		if len(path) == 0 || path[0] != '/' {
			t.Fatalf("path %q of %q does not start with a slash", path, raw)
		}
		for seg := range bytes.SplitSeq(path[1:], []byte{'/'}) {
			if dots(seg) != 0 {
				t.Fatalf("path %q of %q holds a dot segment", path, raw)
			}
		}
		for _, c := range got {
			if c <= ' ' || c >= 0x7f || c == '#' {
				t.Fatalf("url %q of %q holds byte %#x", got, raw, c)
			}
		}
		if bytes.IndexByte(path, '\\') >= 0 {
			t.Fatalf("path %q of %q holds a backslash", path, raw)
		}
		again, tg2, err := appendURL(nil, "http", got[tg.hostLo:tg.authority], got[tg.authority:])
		if err != nil || string(again) != string(got) || tg2 != tg {
			t.Fatalf("serialising %q again gives %q, %v", got, again, err)
		}
	})
}

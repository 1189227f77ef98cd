package edgenet

import (
	"strings"
	"testing"
)

func TestRouterPicksTheFirstThatMatches(t *testing.T) {
	t.Parallel()
	r, err := NewRouter([]Route{
		{Host: "shop.example.com", Path: "/api/v2", Service: "shop-api-2"},
		{Host: "shop.example.com", Path: "/api/*", Service: "shop-api"},
		{Host: "Shop.example.com", Path: "/", Service: "shop"},
		{Host: "admin.example.com", Path: "/only", Service: "admin"},
		{Path: "/everywhere", Service: "everywhere"},
		{Host: "*.eu.example.com", Service: "wild-eu"},
		{Host: "*.example.com", Path: "/static/", Service: "wild-static"},
		{Host: "*.example.com", Service: "wild"},
		{Host: "late.example.com", Service: "never"},
		{Host: "[::1]", Service: "six"},
		{Path: "/api", Service: "any-api"},
		{Service: "any"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ host, path, want string }{
		{"other.org", "/", "any"},
		{"other.org", "/api", "any-api"},
		{"other.org", "/api/x", "any-api"},
		{"other.org", "/apix", "any"},
		{"other.org", "/everywhere/x", "everywhere"},
		{"example.com", "/", "any"},
		{"a.example.com", "/", "wild"},
		{"a.b.example.com", "/", "wild"},
		{"a.eu.example.com", "/", "wild-eu"},
		{"a.eu.example.com", "/everywhere", "everywhere"},
		{"a.example.com", "/static/x", "wild-static"},
		{"a.example.com", "/static/", "wild-static"},
		{"a.example.com", "/static", "wild"},
		{"shop.example.com", "/", "shop"},
		{"shop.example.com", "/everywhere", "shop"},
		{"shop.example.com.", "/", "shop"},
		{"shop.example.com", "/api", "shop"},
		{"shop.example.com", "/api/x", "shop-api"},
		{"shop.example.com", "/api/v2/x", "shop-api-2"},
		{"shop.example.com", "/api/v20", "shop-api"},
		{"admin.example.com", "/only", "admin"},
		{"admin.example.com", "/else", "wild"},
		{"late.example.com", "/", "wild"},
		{"[::1]", "/", "six"},
		{"", "/", "any"},
	}
	for _, tt := range tests {
		t.Run(tt.host+tt.path, func(t *testing.T) {
			t.Parallel()
			if got := r.Match(tt.host, tt.path); got == nil || got.Service != tt.want {
				t.Errorf("Match = %+v, want %q", got, tt.want)
			}
		})
	}
}

func TestRouterWithoutRouteMatchesNothing(t *testing.T) {
	t.Parallel()
	r, err := NewRouter([]Route{{Host: "a.example", Path: "/x", Service: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]string{{"a.example", "/"}, {"b.example", "/x"}, {"x.a.example", "/x"}} {
		if got := r.Match(at[0], at[1]); got != nil {
			t.Errorf("Match(%q) = %+v, want none", at, got)
		}
	}
}

func TestNewRouterReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := NewRouter([]Route{
		{Host: "a b", Service: "1"},
		{Host: "a.*.example", Service: "2"},
		{Host: "*..", Service: "2"},
		{Host: "example.com:8080", Service: "3"},
		{Path: "api", Service: "4"},
		{Path: "/a*b", Service: "5"},
		{Path: "/a/../b", Service: "6"},
		{Host: "dup.example", Path: "/x", Service: "7"},
		{Host: "DUP.example.", Path: "/x", Service: "8"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`route host "a b" is not valid`,
		`route host "a.*.example" is not valid`,
		`route host "*.." is not valid`,
		`route host "example.com:8080" has a port`,
		`route path "api" does not start with a slash`,
		`route path "/a*b" holds one of`,
		`route path "/a/../b" is never the path of a request: write "/b"`,
		`route host "DUP.example." path "/x" leads to "7" and to "8"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
}

func FuzzHostPattern(f *testing.F) {
	for _, s := range []string{"*", "*.a.b", "A.b.", "[::1]", "a:80", "*.*", "."} {
		f.Add(s, "x.a.b", "/p/q")
	}
	f.Fuzz(func(t *testing.T, pattern, host, path string) {
		r, err := NewRouter([]Route{{Host: pattern, Path: path}})
		if err != nil {
			return
		}
		route := r.Match(host, path)
		if route == nil {
			return
		}
		bare := strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(pattern, "*.")), ".")
		if pattern != "" && pattern != "*" && pattern[0] != '[' && !strings.HasSuffix(strings.TrimSuffix(host, "."), bare) {
			t.Fatalf("pattern %q took host %q", pattern, host)
		}
	})
}

func BenchmarkRouterMatch(b *testing.B) {
	r, err := NewRouter([]Route{{Host: "shop.example.com", Service: "shop"}, {Host: "*.example.com"}, {}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r.Match("shop.example.com", "/cart/1") == nil {
			b.Fatal("no match")
		}
	}
}

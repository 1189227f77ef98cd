package config

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSuggest(t *testing.T) {
	t.Parallel()
	names := []string{"worker", "network", "external", "disk", "drainTimeout"}
	for name, want := range map[string]string{
		"wroker": `did you mean "worker"?`, "WORKER": `did you mean "worker"?`, "disc": `did you mean "disk"?`, "drain": `did you mean "drainTimeout"?`,
		"kv": "there are: disk, drainTimeout, external, network, worker", "": "there are: disk, drainTimeout, external, network, worker",
	} {
		if got := suggest(name, names, "there are"); got != want {
			t.Errorf("suggest(%q) = %q, want %q", name, got, want)
		}
	}
	if got := suggest("x", nil, "there are"); got != "" {
		t.Errorf("without names the hint is %q, want none", got)
	}
	if got := nearest("pre", []string{"prefix", "preview"}); got != "" {
		t.Errorf("a beginning of two names suggests %q, want neither", got)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"main", "mian", 1}, {"main", "man", 1}, {"main", "domain", 2}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(0, 8, 16).Draw(t, "a"), rapid.StringN(0, 8, 16).Draw(t, "b")
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("distance(%q, %q) = %d, the other way %d", a, b, d, distance(b, a))
		}
	})
}

package config

import (
	"slices"
	"testing"
)

func TestMistakeString(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Mistake{
		"a.cue:3:5: services.x: is 5 (say so)": {File: "a.cue", Line: 3, Col: 5, Path: "services.x", Msg: "is 5", Hint: "say so"},
		"a.cue: no such file":                  {File: "a.cue", Msg: "no such file"},
		"a.cue:1:2: missing ','":               {File: "a.cue", Line: 1, Col: 2, Msg: "missing ','"},
	} {
		if got := m.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSortMistakes(t *testing.T) {
	t.Parallel()
	a1, a2, a10, b := Mistake{File: "a", Line: 1}, Mistake{File: "a", Line: 2}, Mistake{File: "a", Line: 10}, Mistake{File: "b"}
	got := sortMistakes([]Mistake{b, a10, a2, a1, a2})
	if want := []Mistake{a1, a2, a10, b}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

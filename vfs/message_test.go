package vfs

import (
	"strings"
	"testing"
)

func TestFrameShowsThePlace(t *testing.T) {
	t.Parallel()
	m := Message{File: "src/a.ts", Line: 12, Col: 5, Length: 3, Text: `Unexpected "x"`, LineText: "let x = ;", Hint: "remove it"}
	want := "error: Unexpected \"x\"\n  at src/a.ts:12:5\n> 12 | let x = ;\n     |     ^~~\n  hint: remove it\n"
	if got := m.Frame(false); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := m.Frame(true); !strings.Contains(got, ansiRed+"error: "+ansiReset) || !strings.Contains(got, ansiRed+"^~~"+ansiReset) {
		t.Errorf("got %q", got)
	}
	if got, want := m.String(), `src/a.ts:12:5: Unexpected "x" (remove it)`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFrameWithoutAPlace(t *testing.T) {
	t.Parallel()
	e := &BuildError{Messages: []Message{{Text: "one"}, {File: "a.js", Text: "two", Hint: "h"}}}
	if got, want := e.Frame(false), "error: one\n\nerror: two\n  at a.js\n  hint: h\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := e.Error(), "one\na.js: two (h)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFrameOfLongLines(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("a", 5000) + "HERE" + strings.Repeat("b", 5000)
	got := Message{File: "a", Line: 1, Col: 5001, Length: 4, Text: "t", LineText: line}.Frame(false)
	lines := strings.Split(got, "\n")
	source, under := lines[2], lines[3]
	if len(source) > 200 || !strings.Contains(source, "HERE") {
		t.Fatalf("got %q", source)
	}
	if at := strings.Index(source, "HERE"); strings.Index(under, "^") != at || !strings.HasSuffix(under, "^~~~") {
		t.Errorf("the caret is not under HERE:\n%s\n%s", source, under)
	}
}

func TestFrameKeepsTheTerminal(t *testing.T) {
	t.Parallel()
	got := Message{File: "a\x1b[2J", Line: 1, Col: 2, Text: "t\x1b]0;x\a", LineText: "\t\x1b[31m\u202ered\u0085\xff", Hint: "\r\n"}.Frame(false)
	for _, bad := range []string{"\x1b", "\a", "\r", "\u202e", "\u0085", "\xff"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is in %q", bad, got)
		}
	}
	if !strings.Contains(got, "> 1 |  ") {
		t.Errorf("the tab is no space in %q", got)
	}
}

func TestColumnsCountUTF16(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line         string
		offset, want int
	}{{"abc", 0, 1}, {"abc", 2, 3}, {"é☃x", 5, 3}, {"😀x", 4, 3}, {"abc", 99, 4}, {"abc", -1, 1}} {
		if got := utf16Col(tt.line, tt.offset); got != tt.want {
			t.Errorf("%q at %d: got %d, want %d", tt.line, tt.offset, got, tt.want)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add("let x = ;", 5, 3)
	f.Add("\x1b\xff😀", -1, 1<<30)
	f.Fuzz(func(t *testing.T, line string, col, length int) {
		got := Message{File: "a", Line: 1, Col: col, Length: length, Text: line, LineText: line}.Frame(false)
		if strings.ContainsAny(got, "\x1b\r\x00") || len(got) > 20*len(line)+2000 {
			t.Errorf("got %q", got)
		}
	})
}

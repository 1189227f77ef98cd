package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mistake is one thing that is wrong with a configuration.
type Mistake struct {
	// File is the file as the user named it: relative when the configuration's
	// path was. Line and Col count from 1; 0 when there is no position.
	File string
	Line int
	Col  int
	// Path is the config path, such as "services.shop.worker.main"; empty for a
	// mistake that is not about a field, such as a syntax error.
	Path string
	// Msg says what is wrong, Hint what would have worked; Hint may be empty.
	Msg  string
	Hint string
}

// String returns "file:line:col: path: msg (hint)", without what is missing.
func (m Mistake) String() string {
	var b strings.Builder
	b.WriteString(m.File)
	if m.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", m.Line, m.Col)
	}
	if m.Path != "" {
		b.WriteString(": " + m.Path)
	}
	b.WriteString(": " + m.Msg)
	if m.Hint != "" {
		b.WriteString(" (" + m.Hint + ")")
	}
	return b.String()
}

// Error is every mistake of a configuration.
type Error struct {
	// Mistakes are sorted by file, line and column. Never empty.
	Mistakes []Mistake
	// Files are the files that were read, absolute: what to watch until the
	// mistakes are mended.
	Files []string
}

// Error returns one line per mistake.
func (e *Error) Error() string {
	lines := make([]string, len(e.Mistakes))
	for i, m := range e.Mistakes {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// sortMistakes orders mistakes by position and drops repetitions.
func sortMistakes(ms []Mistake) []Mistake {
	slices.SortStableFunc(ms, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Msg, b.Msg))
	})
	return slices.Compact(ms)
}

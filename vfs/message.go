package vfs

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Message is one mistake or warning, with where it is and what would have
// worked.
type Message struct {
	File     string // relative to the project root, with slashes; empty without a place
	Line     int    // from 1; 0 without a place
	Col      int    // from 1, in UTF-16 units like a JavaScript stack
	Length   int    // UTF-16 units to underline, at least 0
	Text     string // what is wrong, such as `import "npm:zod": ...`
	LineText string // the source line
	Hint     string // what would have worked; may be empty
	Warning  bool   // it is no mistake by itself
}

// String renders the message on one line: file:line:col: text (hint).
func (m Message) String() string {
	var b strings.Builder
	if m.File != "" {
		b.WriteString(m.File)
		if m.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", m.Line, m.Col)
		}
		b.WriteString(": ")
	}
	b.WriteString(m.Text)
	if m.Hint != "" {
		b.WriteString(" (" + m.Hint + ")")
	}
	return b.String()
}

// BuildError is everything that is wrong with a worker's code.
type BuildError struct {
	Messages []Message
	Warnings []Message
	// Files and Dirs are what the attempt looked at, as absolute host paths: a
	// change in one of them may mend it.
	Files, Dirs []string
}

// Error lists every message, one a line.
func (e *BuildError) Error() string {
	lines := make([]string, len(e.Messages))
	for i, m := range e.Messages {
		lines[i] = m.String()
	}
	return strings.Join(lines, "\n")
}

// Frame renders the messages with their source lines, with ANSI colours when
// color is set.
func (e *BuildError) Frame(color bool) string {
	var b strings.Builder
	for i, m := range e.Messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.Frame(color))
	}
	return b.String()
}

// The escape sequences of a frame.
const (
	ansiReset  = "\x1b[0m"
	ansiBold   = "\x1b[1m"
	ansiDim    = "\x1b[2m"
	ansiRed    = "\x1b[31m"
	ansiYellow = "\x1b[33m"
	ansiCyan   = "\x1b[36m"
)

func paint(s, code string, color bool) string {
	if !color || s == "" {
		return s
	}
	return code + s + ansiReset
}

// Frame renders the message with its source line and a caret under the place.
func (m Message) Frame(color bool) string {
	var b strings.Builder
	label := paint("error: ", ansiRed, color)
	if m.Warning {
		label = paint("warning: ", ansiYellow, color)
	}
	b.WriteString(label + paint(printable(m.Text), ansiBold, color) + "\n")
	if m.File != "" {
		place := printable(m.File)
		if m.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", place, m.Line, m.Col)
		}
		b.WriteString("  " + paint("at "+place, ansiCyan, color) + "\n")
	}
	if m.Line > 0 && m.LineText != "" {
		b.WriteString(frameLines([]string{m.LineText}, m.Line, m.Line, m.Col, m.Length, color))
	}
	if m.Hint != "" {
		b.WriteString("  " + paint("hint: ", ansiCyan, color) + printable(m.Hint) + "\n")
	}
	return b.String()
}

// The width of a frame's source lines: a minified line is cut around its place.
const frameWidth = 120

// frameLines renders consecutive source lines, the first of which is number
// first, and points at col of line at with a caret (and length-1 tildes).
func frameLines(lines []string, first, at, col, length int, color bool) string {
	digits := len(fmt.Sprint(first + len(lines) - 1))
	var b strings.Builder
	for i, text := range lines {
		n := first + i
		mark, units := "  ", 0
		if n == at {
			mark, units = paint("> ", ansiRed, color), col
		}
		shown, caret := clip(text, units)
		b.WriteString(mark + paint(fmt.Sprintf("%*d | ", digits, n), ansiDim, color) + shown + "\n")
		if n == at {
			under := "^" + strings.Repeat("~", max(0, min(length, runeLen(shown)-caret)-1))
			b.WriteString("  " + paint(strings.Repeat(" ", digits)+" | ", ansiDim, color) +
				strings.Repeat(" ", caret) + paint(under, ansiRed, color) + "\n")
		}
	}
	return b.String()
}

func runeLen(s string) int { return utf8.RuneCountInString(s) }

// clip makes one source line fit to print: control characters become spaces,
// and of a long line the part around the 1-based UTF-16 column col is kept. It
// returns the rune offset of col in what is shown.
func clip(text string, col int) (string, int) {
	runes := []rune(printable(text))
	at, units := 0, 1
	for at < len(runes) && units < col {
		units += utf16Len(runes[at])
		at++
	}
	if len(runes) <= frameWidth {
		return string(runes), at
	}
	from := max(0, min(at-frameWidth/3, len(runes)-frameWidth))
	to := from + frameWidth
	shown := string(runes[from:to])
	at -= from
	if from > 0 {
		shown, at = "..."+shown, at+3
	}
	if to < len(runes) {
		shown += "..."
	}
	return shown, at
}

// printable replaces what could steer a terminal: source text is the tenant's.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError:
			return '\ufffd'
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f:
			return '\ufffd' // bidirectional controls reorder what is read
		}
		return r
	}, s)
}

func utf16Len(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// utf16Col turns a byte offset in a line into a 1-based column of UTF-16 units.
func utf16Col(line string, offset int) int {
	col := 1
	for _, r := range line[:max(0, min(offset, len(line)))] {
		col += utf16Len(r)
	}
	return col
}

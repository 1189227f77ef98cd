package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
)

// The colours, as ANSI escapes.
const (
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// clock is how people read the time of a line.
const clock = "15:04:05.000"

func paint(code, text string, color bool) string {
	if !color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (o *output) paint(code, text string) string { return paint(code, text, o.color) }

// duration shows a time with two or three digits.
func duration(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// printable keeps what a client sends from steering a terminal.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// harmless does the same for the text of a worker, which may have lines and
// colours.
func harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return '?'
	}, s)
}

func indent(s string) string {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(s, "\n", "\n    ") + "\n"
}

// textHandler writes log records for people: time, level when it matters,
// message, attributes; values of several lines follow as a block.
type textHandler struct {
	w     io.Writer
	level slog.Level
	color bool
	attrs []slog.Attr
	group string
}

// Enabled implements slog.Handler.
func (h *textHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle implements slog.Handler.
func (h *textHandler) Handle(_ context.Context, r slog.Record) error {
	var b, blocks bytes.Buffer
	b.WriteString(paint(dim, r.Time.Format(clock), h.color))
	switch {
	case r.Level >= slog.LevelError:
		b.WriteString(" " + paint(red, "error", h.color))
	case r.Level >= slog.LevelWarn:
		b.WriteString(" " + paint(yellow, "warning", h.color))
	case r.Level < slog.LevelInfo:
		b.WriteString(" " + paint(dim, "debug", h.color))
	}
	b.WriteString(" " + r.Message)
	show := func(a slog.Attr) {
		v := a.Value.Resolve().String()
		if strings.Contains(v, "\n") {
			blocks.WriteString(indent(harmless(v)))
			return
		}
		if v = printable(v); strings.ContainsAny(v, " \"=") {
			v = fmt.Sprintf("%q", v)
		}
		fmt.Fprintf(&b, " %s%s", paint(dim, h.group+a.Key+"=", h.color), v)
	}
	for _, a := range h.attrs {
		show(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		show(a)
		return true
	})
	b.WriteByte('\n')
	b.Write(blocks.Bytes())
	_, err := h.w.Write(b.Bytes())
	return err
}

// WithAttrs implements slog.Handler.
func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(c.attrs[:len(c.attrs):len(c.attrs)], attrs...)
	return &c
}

// WithGroup implements slog.Handler.
func (h *textHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.group += name + "."
	return &c
}

// maxPending bounds the lines that wait for a slow reader.
const maxPending = 4 << 20

// lineWriter writes in the background, many lines at once when they come fast,
// so that no request waits for whoever reads the log. What a reader does not keep
// up with is dropped, whole lines, and counted.
type lineWriter struct {
	mu      sync.Mutex
	pending []byte
	dropped int
	closed  bool
	wake    chan struct{}
	done    chan struct{}
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.loop(w)
	return l
}

// Write takes one or more whole lines.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	if len(l.pending)+len(p) > maxPending {
		l.dropped++
	} else {
		l.pending = append(l.pending, p...)
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

// WriteString is Write.
func (l *lineWriter) WriteString(s string) { _, _ = l.Write([]byte(s)) } // it cannot fail

func (l *lineWriter) loop(w io.Writer) {
	defer close(l.done)
	var spare []byte
	for range l.wake {
		for {
			l.mu.Lock()
			lines, dropped, closed := l.pending, l.dropped, l.closed
			l.pending, l.dropped = spare[:0], 0
			l.mu.Unlock()
			if dropped > 0 {
				lines = fmt.Appendf(lines, "{\"level\":\"WARN\",\"msg\":\"log lines were dropped: the reader is too slow\",\"lines\":%d}\n", dropped)
			}
			if len(lines) == 0 {
				if closed {
					return
				}
				break
			}
			// There is nowhere to report that the log cannot be written.
			_, _ = w.Write(lines)
			spare = lines
		}
	}
}

// close writes what is left, within a moment.
func (l *lineWriter) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	select {
	case <-l.done:
	case <-time.After(time.Second): // nobody reads
	}
}

package assemble

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/vfs"
)

// Problem is one thing that keeps a configuration from being served, although
// the configuration itself has no mistake.
type Problem struct {
	Service string
	Field   string // config path, such as "services.shop.worker.main"
	Text    string
	frame   func(color bool) string // may be nil
}

// String returns the problem without its source lines.
func (p Problem) String() string {
	if p.Field == "" {
		return p.Text
	}
	return p.Field + ": " + p.Text
}

// Render returns the problem with the lines of source that it is about.
func (p Problem) Render(color bool) string {
	if p.frame != nil {
		if frame := strings.TrimRight(p.frame(color), "\n"); frame != "" {
			return p.Field + ": " + frame
		}
	}
	return p.String()
}

// Error is everything that keeps a configuration from being served.
type Error struct{ Problems []Problem }

// Error returns one problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Render returns all problems with their source lines.
func (e *Error) Render(color bool) string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = p.Render(color)
	}
	return strings.Join(parts, "\n")
}

func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	sortProblems(problems)
	return &Error{Problems: problems}
}

func buildProblem(s *config.Service, err error) Problem {
	p := Problem{Service: s.Name, Field: s.Field + ".worker.main", Text: err.Error()}
	var be *vfs.BuildError
	if errors.As(err, &be) {
		p.frame = be.Frame
	}
	return p
}

// problem words the failure of a worker to start.
func (w *worker) problem(err error) Problem {
	p := Problem{Service: w.name, Field: w.field, Text: err.Error()}
	var f *outcome.Failure
	if errors.As(err, &f) {
		p.Text = f.Msg
	}
	if x := w.explain(err); x.Stack != "" {
		p.Text += ": " + x.Stack
		p.frame = func(color bool) string {
			return "the worker did not start: " + x.Render(color)
		}
	} else if f != nil && f.Err != nil {
		p.Text += ": " + f.Err.Error()
	}
	return p
}

// Explanation is an exception of a worker in terms of its author's files.
type Explanation struct {
	// Message is the exception's name and message, Stack that with its frames.
	Message, Stack string
	// File, Line and Col are where it was thrown, as far as the author's own files
	// are concerned; File is empty when that is not known.
	File      string
	Line, Col int
	bundle    *vfs.Bundle
}

// Frame returns the lines of source around the place, empty when there are none.
func (x Explanation) Frame(color bool) string {
	if x.File == "" {
		return ""
	}
	return x.bundle.Frame(x.File, x.Line, x.Col, color)
}

// Render returns the stack with the lines of source.
func (x Explanation) Render(color bool) string {
	frame := strings.TrimRight(x.Frame(color), "\n")
	if frame == "" {
		return x.Stack
	}
	head, frames, _ := strings.Cut(x.Stack, "\n    at ")
	if frames != "" {
		frames = "\n    at " + frames
	}
	return head + "\n" + frame + frames
}

// Explain says where in a worker's source an error of a request came from. The
// Explanation is empty when the service is no worker or the error no exception.
func (a *App) Explain(service string, err error) Explanation {
	g := a.cur.Load()
	if g == nil || !g.enter() {
		return Explanation{}
	}
	defer g.exit()
	u := g.units[service]
	if u == nil || u.worker == nil {
		return Explanation{}
	}
	return u.worker.explain(err)
}

// placeRE matches a place in a stack whose file names are mapped.
var placeRE = regexp.MustCompile(`(?m)^\s+at (?:.*\()?([^()\s][^()]*?):(\d+):(\d+)\)?$`)

// runtimeFrameRE matches frames of the web platform's own code, in which the
// author of a worker cannot mend anything.
var runtimeFrameRE = regexp.MustCompile(`(?m)\n\s+at (?:.*\()?edge:[a-z_]+:\d+:\d+\)?$`)

// loggedPlaceRE matches the lines of a console text that are frames in modules,
// loggedRuntimeRE those of runtimeFrameRE. An error's properties may follow.
var (
	loggedPlaceRE   = regexp.MustCompile(`(?m)^\s+at (?:.*\()?file:///.*:\d+\)?(?: \{)?$`)
	loggedRuntimeRE = regexp.MustCompile(`(?m)\n\s+at (?:.*\()?edge:[a-z_]+:\d+:\d+\)?( \{)?$`)
)

// console hands console output on with the stacks in it in terms of the author's
// files, as those of exceptions are.
func (w *worker) console(next func(isolate.ConsoleRecord)) func(isolate.ConsoleRecord) {
	if next == nil {
		return nil
	}
	return func(r isolate.ConsoleRecord) {
		if strings.Contains(r.Text, "\n    ") && strings.Contains(r.Text, " at ") {
			r.Text = loggedRuntimeRE.ReplaceAllString(r.Text, "$1")
			r.Text = loggedPlaceRE.ReplaceAllStringFunc(r.Text, w.bundle.MapStack)
		}
		next(r)
	}
}

func (w *worker) explain(err error) Explanation {
	var se *op.ScriptError
	if !errors.As(err, &se) {
		return Explanation{}
	}
	x := Explanation{Message: se.Error(), Stack: strings.TrimRight(se.Stack, "\n"), bundle: w.bundle}
	if x.Stack == "" {
		x.Stack = x.Message
	}
	x.Stack = runtimeFrameRE.ReplaceAllString(x.Stack, "")
	for _, m := range placeRE.FindAllStringSubmatch(x.Stack, -1) {
		if _, ok := w.bundle.Source(m[1]); !ok || strings.Contains(m[1], "node_modules/") && x.File == "" && hasOwn(x.Stack, w.bundle) {
			continue
		}
		x.File = m[1]
		x.Line, _ = strconv.Atoi(m[2]) // digits only
		x.Col, _ = strconv.Atoi(m[3])
		break
	}
	return x
}

// hasOwn reports whether a stack leads through a file that is no package's.
func hasOwn(stack string, b *vfs.Bundle) bool {
	for _, m := range placeRE.FindAllStringSubmatch(stack, -1) {
		if _, ok := b.Source(m[1]); ok && !strings.Contains(m[1], "node_modules/") {
			return true
		}
	}
	return false
}

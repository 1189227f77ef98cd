// Package op is the contract between JavaScript and Go: ops, their calls,
// extensions, typed errors and resource handles. Web standards, bindings and
// engines all speak it. It imports the standard library only and never an
// engine, HTTP or the configuration.
package op

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Mode says how an op is called.
type Mode uint8

const (
	// Post queues the call and returns undefined at once; the function runs
	// after the slice, in the order of the calls, on the goroutine that ran it.
	Post Mode = iota
	// Async queues the call and returns a promise; the function runs after the
	// slice and settles it with Resolve or Reject, then or later.
	Async
	// Sync calls the function on the isolate's thread, inside JavaScript. It
	// must be short, must not block and must not touch the instance's mailbox.
	Sync
)

// Op is one function that JavaScript can call in Go, imported there as
// import { op_url_idna } from "edge:ops".
type Op struct {
	// Name is op_<standard or kind>_<verb>, unique in the process.
	Name string
	Mode Mode
	// Func does the work. A returned error throws (Sync), rejects (Async) or is
	// logged (Post). A panic is recovered, logged and becomes an internal error.
	Func func(c *Call) error
}

// Extension is one JavaScript module of the runtime with the ops that it uses:
// a web standard or the facade of a binding kind. It is baked into the start-up
// snapshot, so it holds no state of any tenant: state hangs on a Host.
type Extension struct {
	// Name is the module's name: "url" is imported as "edge:url".
	Name string
	// Source is the module's text, ASCII. What it imports ("edge:<name>") is
	// what it depends on.
	Source string
	Ops    []Op
}

var importRE = regexp.MustCompile(`(?m)^\s*(?:import|export)\s[^;"']*?from\s+"edge:([^"]+)"|^\s*import\s+"edge:([^"]+)"`)

// Deps returns the names that the module's import and export-from statements
// give, sorted, "ops" left out.
func (x Extension) Deps() []string {
	var deps []string
	for _, m := range importRE.FindAllStringSubmatch(x.Source, -1) {
		name := m[1] + m[2]
		if name != "ops" && !slices.Contains(deps, name) {
			deps = append(deps, name)
		}
	}
	sort.Strings(deps)
	return deps
}

// Sort returns the extensions in an order in which each comes after those it
// imports, by name where that leaves a choice, so that the order never depends
// on the caller's. It refuses duplicate names and ops, imports of what is not
// there, cycles, and text that is not ASCII. The order numbers the ops.
func Sort(exts []Extension) ([]Extension, error) {
	byName := map[string]Extension{}
	opOwner := map[string]string{}
	var errs []error
	for _, x := range exts {
		if _, dup := byName[x.Name]; dup {
			errs = append(errs, fmt.Errorf("sort extensions: two extensions are named %q", x.Name))
		}
		byName[x.Name] = x
		for _, o := range x.Ops {
			if prev, dup := opOwner[o.Name]; dup {
				errs = append(errs, fmt.Errorf("sort extensions: op %q is declared by %q and %q", o.Name, prev, x.Name))
			}
			opOwner[o.Name] = x.Name
			if o.Func == nil {
				errs = append(errs, fmt.Errorf("sort extensions: op %q of %q has no function", o.Name, x.Name))
			}
		}
		for i := 0; i < len(x.Source); i++ {
			if x.Source[i] >= 0x80 {
				line := 1 + strings.Count(x.Source[:i], "\n")
				errs = append(errs, fmt.Errorf("sort extensions: %s.js:%d: not ASCII", x.Name, line))
				break
			}
		}
	}
	names := make([]string, 0, len(byName))
	for n := range byName {
		names = append(names, n)
	}
	sort.Strings(names)
	var out []Extension
	state := map[string]int{} // 1 on the path, 2 placed
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		switch state[name] {
		case 1:
			i := slices.Index(path, name)
			errs = append(errs, fmt.Errorf("sort extensions: import cycle: %s", strings.Join(append(path[i:], name), " -> ")))
			return
		case 2:
			return
		}
		x, ok := byName[name]
		if !ok {
			errs = append(errs, fmt.Errorf("sort extensions: %s imports %q, which no extension provides (there are %s)",
				path[len(path)-1], "edge:"+name, strings.Join(names, ", ")))
			return
		}
		state[name] = 1
		for _, d := range x.Deps() {
			visit(d, append(slices.Clone(path), name))
		}
		state[name] = 2
		out = append(out, x)
	}
	for _, n := range names {
		visit(n, []string{n}[:0])
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// Host is the instance that an op runs for, as far as ops may see it. All
// methods may be called from any goroutine.
type Host interface {
	// Settle delivers the result of an Async call. The Call does it; ops use
	// Resolve and Reject.
	Settle(call uint32, invocation uint32, v Value, err error)
	// Emit calls the JavaScript handler that was registered under name with
	// native_on, on behalf of an invocation (0: of none).
	Emit(handler string, invocation uint32, args ...Value)
	// Resources holds the instance's handles; closed with the instance.
	Resources() *Table
	// Context ends when the instance is closed.
	Context() context.Context
	// Booted says that the worker's main module was evaluated (nil) or failed.
	Booted(err *ScriptError)
	// Log records one line of console output.
	Log(level string, invocation uint32, text string)
	// SetTimer asks for Emit("timer", invocation) after the delay in ms; a later
	// call replaces it, a negative delay clears it. The event is of no invocation
	// when that one has ended by then.
	SetTimer(ms float64, invocation uint32)
	// Grant returns what the owner of the worker attached under a key, such as
	// the outbound fetcher; nil when there is none.
	Grant(key string) any
}

// Invocation is one event that a worker handles, as ops see it. All methods may
// be called from any goroutine.
type Invocation interface {
	ID() uint32
	// Context ends when the invocation has ended or its client has left.
	Context() context.Context
	// State is what the caller of the worker attached.
	State() any
	// Responded stops the first-byte clock.
	Responded()
	// Fail ends the invocation with an error that its script threw.
	Fail(err *ScriptError)
	// Done ends it: the handler, its response body and waitUntil are finished.
	Done()
	// Take counts n against a limit ("subrequests", ...). The error is an
	// *Error for the script.
	Take(limit string, n int64) error
}

// ScriptError is an exception that user code threw, as the script saw it:
// unmapped stack, at most 16 KiB of text.
type ScriptError struct {
	Name    string
	Message string
	Stack   string // name, message and frames, the way Error.prototype.stack shows them
}

// Error returns name and message.
func (e *ScriptError) Error() string {
	if e.Name == "" {
		return e.Message
	}
	return e.Name + ": " + e.Message
}

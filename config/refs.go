package config

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/edge-runtime/edge/bindings"
)

// use is one place where a service names another.
type use struct {
	from, to string
	at       node
}

// binding reads one binding and checks what its kind says it refers to.
func (l *loader) binding(service string, n node) (Binding, bool) {
	u, ok := n.only("a binding")
	if !ok {
		return Binding{}, false
	}
	b := Binding{Kind: u.name(), Field: n.path()}
	if n.name() == "" || n.name() == "__proto__" {
		n.mistakeAt(n.v.Pos(), fmt.Sprintf("%q cannot be a name in env", n.name()), `such as "GREETING"`)
	}
	raw, err := u.v.MarshalJSON()
	if err != nil {
		return b, true // checkValue reports what has no value
	}
	b.Raw = json.RawMessage(raw)
	kind, err := l.opts.Kinds.Get(b.Kind)
	if err != nil || kind.References == nil || u.broken() {
		return b, true
	}
	refs, err := kind.References(b.Raw)
	if err != nil {
		u.mistake(err.Error(), "")
		return b, true
	}
	for _, r := range refs {
		l.reference(service, n, r)
	}
	return b, true
}

// broken reports whether a mistake was found in the value, so that no code of a
// binding kind gets to see what its schema forbids.
func (n node) broken() bool {
	path := n.path()
	return slices.ContainsFunc(n.l.mistakes, func(m Mistake) bool {
		rest, inside := strings.CutPrefix(m.Path, path)
		return inside && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

func (l *loader) reference(service string, binding node, r bindings.Reference) {
	at := binding
	if p := cue.ParsePath(r.Path); p.Err() == nil {
		if v := binding.v.LookupPath(p); v.Exists() {
			at = node{l: l, v: v, schema: binding.schema}
		}
	}
	switch r.Type {
	case bindings.Service:
		l.use(service, r.Name, at)
	case bindings.File:
		at.watched()
	case bindings.Environment:
		if _, ok := l.opts.LookupEnv(r.Name); !ok {
			at.mistake(fmt.Sprintf("environment variable %q is not set", r.Name), l.envHint(r.Name))
		}
	}
}

// envHint names a variable that is set under a similar name, never a value.
func (l *loader) envHint(name string) string {
	var names []string
	for _, kv := range os.Environ() {
		n, _, _ := strings.Cut(kv, "=")
		if _, ok := l.opts.LookupEnv(n); ok {
			names = append(names, n)
		}
	}
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Sprintf("set it before the server starts: %s=... edge serve", name)
}

// use notes that a service refers to another and checks that there is one.
func (l *loader) use(from, to string, at node) {
	if l.known(to, at) {
		l.uses = append(l.uses, use{from: from, to: to, at: at})
	}
}

// known checks that there is a service of a name.
func (l *loader) known(name string, at node) bool {
	if _, ok := slices.BinarySearch(l.services, name); ok {
		return true
	}
	if s, err := at.v.String(); err == nil && s == name {
		at.mistake(fmt.Sprintf("unknown service %q", name), suggest(name, l.services, "there are"))
	} else if at.v.IncompleteKind() == cue.StructKind {
		at.mistake(fmt.Sprintf("unknown service %q", name), suggest(name, l.services, "there are"))
	}
	return false
}

// checkCycles reports services that reach themselves through bindings and
// globalOutbound, once for each reference that closes a circle.
func (l *loader) checkCycles() {
	out := map[string][]use{}
	for _, u := range l.uses {
		out[u.from] = append(out[u.from], u)
	}
	const onPath, done = 1, 2
	state := map[string]int{}
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		state[name] = onPath
		path = append(path, name)
		for _, u := range out[name] {
			switch state[u.to] {
			case onPath:
				circle := append(slices.Clone(path[slices.Index(path, u.to):]), u.to)
				u.at.mistake("services refer to themselves in a circle: "+strings.Join(circle, " -> "), "leave one of these references out")
			case 0:
				visit(u.to, path)
			}
		}
		state[name] = done
	}
	for _, name := range l.services {
		if state[name] == 0 {
			visit(name, nil)
		}
	}
}

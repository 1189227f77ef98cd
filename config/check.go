package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// checkValue compares a value with its schema, field by field. CUE's own
// validation stops at the first kind of mistake, leaves unknown and missing
// fields out when there is another one, and explains a disjunction by each of
// its alternatives; this walk names each mistake once.
func (l *loader) checkValue(n node) {
	kind := n.v.IncompleteKind()
	it, fieldsErr := n.v.Fields()
	switch {
	case kind == cue.BottomKind && fieldsErr != nil:
		l.cueMistakes(n)
		return
	case kind == cue.BottomKind:
		kind = cue.StructKind // one with a mistake inside
	}
	n.schema = n.schema.narrow(kind)
	switch {
	case n.schema.kind&kind == 0:
		hint := n.example()
		if kind == cue.BytesKind && n.schema.kind&cue.StringKind != 0 {
			hint = "text stands in double quotes, single ones are for bytes"
		}
		if hint == "" && n.schema.kind == cue.StructKind {
			hint = list(n.schema.names(), "with one of")
		}
		n.mistake(fmt.Sprintf("is %s, should be %s", describe(n.v, kind), kindNames(n.schema.kind)), hint)
	case kind == cue.StructKind && fieldsErr == nil && (n.schema.anything() || n.schema.kind == cue.StructKind):
		l.checkStruct(n, it)
	case kind == cue.ListKind && (n.schema.anything() || n.schema.kind == cue.ListKind):
		l.checkList(n)
	default:
		l.checkLeaf(n)
	}
}

func (l *loader) checkStruct(n node, it *cue.Iterator) {
	names := n.schema.names()
	have := map[string]bool{}
	for it.Next() {
		name := it.Selector().Unquoted()
		have[name] = true
		c := node{l: l, v: it.Value(), schema: n.schema.child(name)}
		if c.schema == nil {
			c.mistakeAt(c.v.Pos(), "unknown field", unknownFieldHint(n.schema, name, names))
			continue
		}
		l.checkValue(c)
	}
	for _, f := range n.schema.declared() {
		if !f.required || have[f.name] {
			continue
		}
		hint := ""
		if ex := f.spec.example(); ex != "" {
			hint = fmt.Sprintf("add %s: %s", f.name, ex)
		}
		path := cue.MakePath(append(n.v.Path().Selectors(), cue.Str(f.name))...)
		l.addAt(n.v.Pos(), path.String(), "is missing", hint)
	}
}

func (l *loader) checkList(n node) {
	sub := n.schema.elements()
	it, err := n.v.List()
	if err != nil || sub == nil {
		l.checkLeaf(n)
		return
	}
	for it.Next() {
		l.checkValue(node{l: l, v: it.Value(), schema: sub})
	}
}

// checkLeaf checks a value that is compared as a whole.
func (l *loader) checkLeaf(n node) {
	if err := n.v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		if n.v.Err() == nil && !n.v.IsConcrete() {
			n.mistake(fmt.Sprintf("has no value yet, only the constraint %v", n.v), n.example())
			return
		}
		l.cueMistakes(n)
		return
	}
	if err := n.schema.value.Unify(n.v).Validate(cue.Concrete(true), cue.Final()); err != nil {
		if alts := n.schema.choices(); alts != nil {
			hint := "valid: " + strings.Join(alts, ", ")
			n.mistake(fmt.Sprintf("is %v", n.v), hint)
			return
		}
		for _, e := range cueerrors.Errors(err) {
			msg, ok := cueMessage(e)
			if s, err := n.v.String(); err == nil && s == "" && strings.Contains(msg, `!=""`) {
				msg = "is empty"
			}
			if ok {
				n.mistake(msg, n.example())
			}
		}
		return
	}
	l.checkQuantity(n)
}

// checkQuantity checks a duration, a size or a number against the bounds that
// its attribute states.
func (l *loader) checkQuantity(n node) {
	for _, q := range quantities {
		if !n.schema.has(q.attr) {
			continue
		}
		text := fmt.Sprint(n.v)
		if s, err := n.v.String(); err == nil {
			text = s
		}
		got, err := q.parse(text)
		if err != nil {
			n.mistake(err.Error(), n.example())
			return
		}
		low, high, hasLow, hasHigh := bounds(n.schema, q)
		if hasLow && got < low || hasHigh && got > high {
			n.mistake(fmt.Sprintf("%s is out of bounds", text), boundsHint(n.schema, q.attr))
		}
	}
}

// quantity is a kind of number that an attribute of the schema announces.
type quantity struct {
	attr  string
	hint  string
	parse func(s string) (int64, error)
}

var quantities = []quantity{
	{attr: "duration", hint: durationHint, parse: func(s string) (int64, error) {
		d, err := ParseDuration(s)
		return int64(d), err
	}},
	{attr: "size", hint: sizeHint, parse: ParseSize},
	{attr: "int", parse: func(s string) (int64, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("bad number %s: it is no 64-bit integer", s)
		}
		return n, nil
	}},
}

func bounds(s *spec, q quantity) (low, high int64, hasLow, hasHigh bool) {
	if t, ok := s.attribute(q.attr, "min"); ok {
		if n, err := q.parse(t); err == nil {
			low, hasLow = n, true
		}
	}
	if t, ok := s.attribute(q.attr, "max"); ok {
		if n, err := q.parse(t); err == nil {
			high, hasHigh = n, true
		}
	}
	return low, high, hasLow, hasHigh
}

// boundsHint says what a quantity may be.
func boundsHint(s *spec, attr string) string {
	var parts []string
	if low, ok := s.attribute(attr, "min"); ok {
		parts = append(parts, "at least "+low)
	}
	if high, ok := s.attribute(attr, "max"); ok {
		parts = append(parts, "at most "+high)
	}
	return strings.Join(parts, ", ")
}

// cueMistakes adds what CUE says about a value that is wrong in itself.
func (l *loader) cueMistakes(n node) {
	err := n.v.Validate(cue.Concrete(true), cue.Final())
	for _, e := range cueerrors.Errors(err) {
		msg, ok := cueMessage(e)
		if !ok {
			continue
		}
		pos, hint := l.userPos(e), ""
		var others []string
		for _, p := range e.InputPositions() {
			if p.IsValid() && p != pos {
				others = append(others, fmt.Sprintf("%s:%d:%d", l.shown(p.Filename()), p.Line(), p.Column()))
			}
		}
		if len(others) > 0 {
			hint = "the other place is " + strings.Join(others, ", ")
		}
		if !pos.IsValid() {
			pos = n.v.Pos()
		}
		l.addAt(pos, n.path(), msg, hint)
	}
}

// checkRest has CUE validate the whole configuration and adds what the walk did
// not see: constraints between fields, in the schema of a binding kind or in the
// user's own definitions, and expressions that are no field's value.
func (l *loader) checkRest(user cue.Value) {
	errs := append(cueerrors.Errors(user.Validate(cue.Concrete(true))),
		cueerrors.Errors(l.schema.value.Unify(user).Validate(cue.Concrete(true), cue.Final()))...)
	found := map[string]bool{}
	for _, m := range l.mistakes {
		found[m.Path] = true
	}
	for _, e := range errs {
		path := userPath(e)
		msg, ok := cueMessage(e)
		if !ok || related(path, found) {
			continue
		}
		pos := l.userPos(e)
		if !pos.IsValid() {
			pos = nearestPos(user, path)
		}
		if constraint, ok := strings.CutPrefix(msg, "incomplete "); ok {
			_, constraint, _ = strings.Cut(constraint, ": ")
			msg = "has no value yet, only the constraint " + constraint
		}
		l.addAt(pos, path, msg, "")
	}
}

// nearestPos returns where the longest part of a path that the user wrote
// stands.
func nearestPos(user cue.Value, path string) token.Pos {
	for path != "" {
		if p := cue.ParsePath(path); p.Err() == nil {
			if v := user.LookupPath(p); v.Exists() {
				return v.Pos()
			}
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return token.NoPos
}

var positionRE = regexp.MustCompile(`^\S+:[0-9]+:[0-9]+: `)

// cueMessage returns an error's text without its path; not ok for the headings
// that CUE puts above the alternatives of a disjunction.
func cueMessage(e cueerrors.Error) (msg string, ok bool) {
	format, args := e.Msg()
	msg = fmt.Sprintf(format, args...)
	if cause := errors.Unwrap(e); cause != nil {
		text := positionRE.ReplaceAllString(cause.Error(), "")
		msg += ": " + strings.TrimPrefix(text, strings.Join(e.Path(), ".")+": ")
	}
	return msg, !strings.Contains(format, "empty disjunction")
}

// related reports whether a mistake was found at the path, above or below it.
func related(whole string, found map[string]bool) bool {
	for f := range found {
		if f == whole || strings.HasPrefix(f, whole+".") || strings.HasPrefix(whole, f+".") || strings.HasPrefix(f, whole+"[") {
			return true
		}
	}
	return false
}

// unknownFieldHint says what an unknown field was meant to be: another one of
// the same struct, or one of a struct inside it.
func unknownFieldHint(s *spec, name string, names []string) string {
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	for _, f := range s.declared() {
		for _, inner := range f.spec.declared() {
			if inner.name == name {
				return fmt.Sprintf("it belongs into %s: %s: {%s: ...}", f.name, f.name, name)
			}
		}
	}
	return suggest(name, names, "fields here")
}

// describe names a value in a sentence.
func describe(v cue.Value, kind cue.Kind) string {
	switch kind {
	case cue.StructKind, cue.ListKind, cue.NullKind:
		return kindNames(kind)
	}
	return fmt.Sprint(v)
}

// kindNames names kinds the way people who do not know CUE do.
func kindNames(k cue.Kind) string {
	var names []string
	for _, e := range []struct {
		kind cue.Kind
		name string
	}{
		{cue.StringKind, "a string"}, {cue.BoolKind, "true or false"}, {cue.NumberKind, "a number"}, {cue.IntKind, "a whole number"},
		{cue.FloatKind, "a number"}, {cue.BytesKind, "bytes"}, {cue.ListKind, "a list"}, {cue.StructKind, "a struct"}, {cue.NullKind, "null"},
	} {
		if k&e.kind == e.kind {
			names = append(names, e.name)
			k &^= e.kind
		}
	}
	return strings.Join(names, " or ")
}

package config

import (
	_ "embed" // the schema
	"fmt"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/parser"

	"github.com/edge-runtime/edge/bindings"
)

// Schema is schema.cue: the manual of the configuration, without the fields
// that binding kinds add to #Binding.
//
//go:embed schema.cue
var Schema string

// newSchema unifies schema.cue with the fragments of the binding kinds and
// returns #Config. All are files of one package, so #Binding stays closed.
func newSchema(ctx *cue.Context, kinds bindings.Set) (*spec, error) {
	inst := build.NewContext().NewInstance("", nil)
	if err := addFile(inst, "schema.cue", Schema); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	for _, name := range kinds.Names() {
		k, err := kinds.Get(name)
		if err != nil {
			return nil, err
		}
		if err := addFile(inst, name+"/schema.cue", k.Schema); err != nil {
			return nil, fmt.Errorf("parse schema of binding kind %q: %w", name, err)
		}
	}
	if err := inst.Complete(); err != nil {
		return nil, fmt.Errorf("resolve imports of schema: %w", err)
	}
	v := ctx.BuildInstance(inst)
	if err := v.Err(); err != nil {
		return nil, fmt.Errorf("evaluate schema: %w", err)
	}
	binding := newSpec(v.LookupPath(cue.ParsePath("#Binding")))
	for _, name := range kinds.Names() {
		if !slices.Contains(binding.names(), name) {
			return nil, fmt.Errorf("use schema of binding kind %q: it does not add a field %s to #Binding", name, name)
		}
	}
	return newSpec(v.LookupPath(cue.ParsePath("#Config"))), nil
}

func addFile(inst *build.Instance, name, text string) error {
	file, err := parser.ParseFile(name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	return inst.AddSyntax(file)
}

// spec is what the schema says about one value. Its parts are looked up in CUE
// once, since a configuration of many tenants asks for the same ones over and
// over. The nil spec says nothing.
type spec struct {
	value  cue.Value
	kind   cue.Kind
	fields []field
	byName map[string]*spec
	// pattern is for the fields of every name, element for the elements of a
	// list; nil where there is none.
	pattern, element *spec
	// alternatives are those of a disjunction.
	alternatives []*spec
	opened       bool
}

// field is a field that a struct of the schema declares.
type field struct {
	name     string
	required bool
	spec     *spec
}

func newSpec(v cue.Value) *spec { return &spec{value: v, kind: v.IncompleteKind()} }

// open looks up the parts of a spec.
func (s *spec) open() {
	if s.opened {
		return
	}
	s.opened = true
	if s.anything() {
		s.pattern, s.element = s, s
		return
	}
	s.byName = map[string]*spec{}
	if it, err := s.value.Fields(cue.Optional(true)); err == nil {
		for it.Next() {
			sel := it.Selector()
			f := field{name: sel.Unquoted(), required: sel.ConstraintType() == cue.RequiredConstraint, spec: newSpec(it.Value())}
			s.fields = append(s.fields, f)
			s.byName[f.name] = f.spec
		}
	}
	if v := s.value.LookupPath(cue.MakePath(cue.AnyString)); v.Exists() {
		s.pattern = newSpec(v)
	}
	if v := s.value.LookupPath(cue.MakePath(cue.AnyIndex)); v.Exists() {
		s.element = newSpec(v)
	}
	if op, args := s.value.Expr(); op == cue.OrOp {
		for _, a := range args {
			s.alternatives = append(s.alternatives, newSpec(a))
		}
	}
}

// anything reports whether the schema of a value is "_".
func (s *spec) anything() bool { return s.kind == cue.TopKind }

// child returns the spec of a field, nil when there may be none of that name.
func (s *spec) child(name string) *spec {
	if s == nil {
		return nil
	}
	s.open()
	if f := s.byName[name]; f != nil {
		return f
	}
	return s.pattern
}

// elements returns the spec of a list's elements, nil when it has none.
func (s *spec) elements() *spec {
	if s == nil {
		return nil
	}
	s.open()
	return s.element
}

// declared returns the fields that a struct declares, in their order.
func (s *spec) declared() []field {
	if s == nil {
		return nil
	}
	s.open()
	return s.fields
}

func (s *spec) names() []string {
	var names []string
	for _, f := range s.declared() {
		names = append(names, f.name)
	}
	return names
}

// narrow returns the alternative of a disjunction that a value of the given kind
// can only mean, so that a mistake in it is not blamed on the others too.
func (s *spec) narrow(kind cue.Kind) *spec {
	s.open()
	var fit *spec
	for _, a := range s.alternatives {
		if a.kind&kind == 0 {
			continue
		}
		if fit != nil {
			return s
		}
		fit = a
	}
	if fit != nil {
		return fit.narrow(kind)
	}
	return s
}

// choices returns the values of a disjunction of scalars, as CUE writes them;
// nil for every other schema.
func (s *spec) choices() []string {
	if s == nil {
		return nil
	}
	s.open()
	var out []string
	for _, a := range s.alternatives {
		if !a.value.IsConcrete() || a.kind&(cue.StructKind|cue.ListKind) != 0 {
			return nil
		}
		out = append(out, fmt.Sprint(a.value))
	}
	return out
}

// attribute returns the value of key in an attribute of a field, such as
// default in @duration(default=1s).
func (s *spec) attribute(name, key string) (string, bool) {
	if !s.has(name) {
		return "", false
	}
	a := s.value.Attribute(name)
	v, found, err := a.Lookup(0, key)
	return v, found && err == nil
}

// has reports whether a field has an attribute.
func (s *spec) has(name string) bool {
	if s == nil {
		return false
	}
	a := s.value.Attribute(name)
	return a.Err() == nil
}

// example returns the text of @example as CUE would write it.
func (s *spec) example() string {
	if !s.has("example") {
		return ""
	}
	a := s.value.Attribute("example")
	return a.Contents()
}

// valueNode returns the expression behind a value when it is written in one
// place.
func valueNode(v cue.Value) ast.Node {
	switch n := v.Source().(type) {
	case *ast.Field:
		return n.Value
	default:
		return n
	}
}

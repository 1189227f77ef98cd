package config

import (
	_ "embed" // the schema
	"fmt"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"

	"github.com/edge-runtime/edge/bindings"
)

// Schema is schema.cue: the manual of the configuration, without the fields
// that binding kinds add to #Binding.
//
//go:embed schema.cue
var Schema string

// schema is the schema of one build of edge.
type schema struct {
	root cue.Value // #Config
}

// newSchema unifies schema.cue with the fragments of the binding kinds. All are
// files of one package, so #Binding stays closed.
func newSchema(ctx *cue.Context, kinds bindings.Set) (*schema, error) {
	inst := build.NewContext().NewInstance("", nil)
	if err := inst.AddFile("schema.cue", Schema); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	for _, name := range kinds.Names() {
		k, err := kinds.Get(name)
		if err != nil {
			return nil, err
		}
		if err := inst.AddFile(name+"/schema.cue", k.Schema); err != nil {
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
	binding := v.LookupPath(cue.ParsePath("#Binding"))
	for _, name := range kinds.Names() {
		if !binding.LookupPath(cue.MakePath(cue.Str(name).Optional())).Exists() {
			return nil, fmt.Errorf("use schema of binding kind %q: it does not add #Binding: %s?: ...", name, name)
		}
	}
	return &schema{root: v.LookupPath(cue.ParsePath("#Config"))}, nil
}

// field is a field that a struct of the schema declares.
type field struct {
	name     string
	required bool
	value    cue.Value
}

// fields returns the declared fields of a struct in their order.
func fields(s cue.Value) []field {
	var fs []field
	it, err := s.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		sel := it.Selector()
		fs = append(fs, field{name: sel.Unquoted(), required: sel.ConstraintType() == cue.RequiredConstraint, value: it.Value()})
	}
	return fs
}

// child returns what the schema says about a field of a struct: a declared one,
// or the pattern for every name.
func child(s cue.Value, name string) (cue.Value, bool) {
	if anything(s) {
		return s, true
	}
	for _, f := range fields(s) {
		if f.name == name {
			return f.value, true
		}
	}
	v := s.LookupPath(cue.MakePath(cue.AnyString))
	return v, v.Exists()
}

// element returns what the schema says about the elements of a list.
func element(s cue.Value) (cue.Value, bool) {
	if anything(s) {
		return s, true
	}
	v := s.LookupPath(cue.MakePath(cue.AnyIndex))
	return v, v.Exists()
}

// anything reports whether the schema of a value is "_".
func anything(s cue.Value) bool { return s.IncompleteKind() == cue.TopKind }

func fieldNames(s cue.Value) []string {
	var names []string
	for _, f := range fields(s) {
		names = append(names, f.name)
	}
	return names
}

// narrow returns the alternative of a disjunction that a value of the given kind
// can only mean, so that a mistake in it is not blamed on the others too.
func narrow(s cue.Value, kind cue.Kind) cue.Value {
	op, args := s.Expr()
	if op != cue.OrOp {
		return s
	}
	fits := slices.DeleteFunc(args, func(a cue.Value) bool { return a.IncompleteKind()&kind == 0 })
	if len(fits) == 1 {
		return narrow(fits[0], kind)
	}
	return s
}

// alternatives returns the values of a disjunction of scalars, as CUE writes
// them; nil for every other schema.
func alternatives(s cue.Value) []string {
	op, args := s.Expr()
	if op != cue.OrOp {
		return nil
	}
	var out []string
	for _, a := range args {
		if !a.IsConcrete() || a.IncompleteKind()&(cue.StructKind|cue.ListKind) != 0 {
			return nil
		}
		out = append(out, fmt.Sprint(a))
	}
	return out
}

// attribute returns the value of key in an attribute of a field, such as
// default in @duration(default=1s).
func attribute(s cue.Value, name, key string) (string, bool) {
	a := s.Attribute(name)
	if a.Err() != nil {
		return "", false
	}
	v, found, err := a.Lookup(0, key)
	return v, found && err == nil
}

func hasAttribute(s cue.Value, name string) bool {
	a := s.Attribute(name)
	return a.Err() == nil
}

// example returns the text of @example as CUE would write it.
func example(s cue.Value) string {
	a := s.Attribute("example")
	if a.Err() != nil {
		return ""
	}
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

package config

import (
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/parser"
)

// TestSchemaIsAManual checks that every field and every definition is
// explained.
func TestSchemaIsAManual(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile("schema.cue", Schema, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Walk(file, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		name, _, err := ast.LabelName(f.Label)
		if err != nil {
			return true // a pattern
		}
		commented := false
		for _, g := range ast.Comments(f) {
			commented = commented || g.Doc
		}
		// What these hold is explained where they are used.
		within := name == "#Config" || name == "#Worker" || name == "#HTTPOptions" || name == "#TLS" || name == "#Route" || name == "#SocketHTTP" || name == "#Admin" || name == "#Server"
		if !commented && !within {
			t.Errorf("%v: field %s has no comment", f.Pos(), name)
		}
		return true
	}, nil)
}

// TestSchemaQuantities checks the attributes that the loader takes defaults and
// bounds from.
func TestSchemaQuantities(t *testing.T) {
	t.Parallel()
	root, err := newSchema(cuecontext.New(), testKinds(t))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	var walk func(path string, s *spec, depth int)
	walk = func(path string, s *spec, depth int) {
		if s == nil || depth > 8 || s.anything() {
			return
		}
		for _, q := range quantities {
			if !s.has(q.attr) {
				continue
			}
			count++
			low, high, hasLow, hasHigh := bounds(s, q)
			def, ok := s.attribute(q.attr, "default")
			n, err := q.parse(def)
			if !ok || err != nil || !hasLow || !hasHigh || n < low || n > high {
				t.Errorf("%s: default %q is %d (%v), bounds %d (%v) to %d (%v), want all three in order", path, def, n, err, low, hasLow, high, hasHigh)
			}
		}
		for _, f := range s.declared() {
			walk(path+"."+f.name, f.spec, depth+1)
		}
		walk(path+".*", s.pattern, depth+1)
		walk(path+"[]", s.element, depth+1)
	}
	walk("", root, 0)
	if count < 20 {
		t.Errorf("only %d quantities were found", count)
	}
}

// TestSchemaExamples checks that what @example shows is of the field's type.
func TestSchemaExamples(t *testing.T) {
	t.Parallel()
	ctx := cuecontext.New()
	root, err := newSchema(ctx, testKinds(t))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, s *spec, depth int)
	walk = func(path string, s *spec, depth int) {
		if s == nil || depth > 8 || s.anything() {
			return
		}
		if ex := s.example(); ex != "" {
			if err := s.value.Unify(ctx.CompileString(ex)).Validate(cue.Concrete(true)); err != nil {
				t.Errorf("%s: the example %s does not fit: %v", path, ex, err)
			}
		}
		for _, f := range s.declared() {
			walk(path+"."+f.name, f.spec, depth+1)
		}
		walk(path+".*", s.pattern, depth+1)
	}
	walk("", root, 0)
}

// TestSchemaHasNoDefaultsInCUE holds the rule that defaults are attributes or
// Go: a CUE default turns one mistake into three.
func TestSchemaHasNoDefaultsInCUE(t *testing.T) {
	t.Parallel()
	for i, line := range strings.Split(Schema, "\n") {
		code, _, _ := strings.Cut(line, "//")
		if strings.Contains(code, ": *") || strings.Contains(code, "| *") {
			t.Errorf("schema.cue:%d has a default: %s", i+1, line)
		}
	}
}

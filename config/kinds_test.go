package config

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"cuelang.org/go/cue/cuecontext"

	"github.com/edge-runtime/edge/bindings"
)

func openNothing(context.Context, json.RawMessage, bindings.Env) (bindings.Binding, error) {
	return bindings.Binding{}, nil
}

// refer returns a References for a value that is a name, or a struct with one.
func refer(typ bindings.ReferenceType, path string) func(json.RawMessage) ([]bindings.Reference, error) {
	return func(raw json.RawMessage) ([]bindings.Reference, error) {
		var name string
		if err := json.Unmarshal(raw, &name); err == nil {
			return []bindings.Reference{{Type: typ, Name: name, Path: path}}, nil
		}
		var long struct{ Name string }
		err := json.Unmarshal(raw, &long)
		return []bindings.Reference{{Type: typ, Name: long.Name, Path: path + ".name"}}, err
	}
}

// testKinds returns binding kinds that refer to everything a binding can refer
// to and whose schemas use what schemas can hold, so that the tests here depend
// on no real kind.
func testKinds(t testing.TB) bindings.Set {
	t.Helper()
	kind := func(name, field string, refs func(json.RawMessage) ([]bindings.Reference, error)) bindings.Kind {
		return bindings.Kind{Name: name, Schema: "package config\n#Binding: " + name + "?: " + field, References: refs, Open: openNothing}
	}
	cache := kind("cache", `{
		path!: string & !=""
		mode?: "fast" | "safe"
		ttl?: string @duration(default=1m, min=1s, max=1h)
		labels?: [...strings.MaxRunes(3)]
		low?: int
		high?: int
		if low != _|_ if high != _|_ {_ordered: true & (low <= high)}
		extra?: {known?: int, ...}
	}`, nil)
	cache.Schema = strings.Replace(cache.Schema, "\n", "\nimport \"strings\"\n", 1)
	set, err := bindings.NewSet(
		kind("text", "string", nil),
		kind("json", "_", nil),
		kind("file", "string", refer(bindings.File, "file")),
		kind("variable", "string", refer(bindings.Environment, "variable")),
		kind("service", "string | {name!: string, entrypoint?: string}", refer(bindings.Service, "service")),
		cache,
	)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestBrokenSchemaOfAKind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, want string }{
		"syntax":         {"package config\n#Binding: {", "parse schema of binding kind"},
		"another field":  {"package config\n#Binding: other?: int", `does not add a field mine to #Binding`},
		"conflict":       {"package config\n#Binding: mine?: 1 & 2\nx: 1 & 2", "evaluate schema"},
		"unknown import": {"package config\nimport \"nope\"\n#Binding: mine?: nope.x", "schema"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := bindings.NewSet(bindings.Kind{Name: "mine", Schema: c.schema, Open: openNothing})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := newSchema(cuecontext.New(), set); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
}

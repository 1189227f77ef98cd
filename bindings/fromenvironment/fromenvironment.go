// Package fromenvironment is the binding kind fromEnvironment: a string from an
// environment variable of the server, read when the configuration is loaded.
package fromenvironment

import (
	"context"
	_ "embed" // the schema
	"encoding/json"
	"fmt"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/isolate/op"
)

//go:embed schema.cue
var schema string

// Kind returns the kind.
func Kind() bindings.Kind {
	return bindings.Kind{Name: "fromEnvironment", Schema: schema, References: references, Open: open}
}

func references(raw json.RawMessage) ([]bindings.Reference, error) {
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return nil, fmt.Errorf("read the name of the variable: %w", err)
	}
	return []bindings.Reference{{Type: bindings.Environment, Name: name, Path: "fromEnvironment"}}, nil
}

func open(_ context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
	refs, err := references(raw)
	if err != nil {
		return bindings.Binding{}, fmt.Errorf("open %s: %w", env.Field, err)
	}
	value, ok := env.LookupEnv(refs[0].Name)
	if !ok {
		return bindings.Binding{}, fmt.Errorf("open %s: environment variable %q is not set", env.Field, refs[0].Name)
	}
	return bindings.Binding{Value: op.String(value)}, nil
}

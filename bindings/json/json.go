// Package json is the binding kind json: any value that JSON has. Each isolate
// gets a copy of its own.
package json

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
	return bindings.Kind{Name: "json", Schema: schema, Open: open}
}

func open(_ context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
	if !json.Valid(raw) {
		return bindings.Binding{}, fmt.Errorf("open %s: not JSON", env.Field)
	}
	return bindings.Binding{Value: op.JSON(raw)}, nil
}

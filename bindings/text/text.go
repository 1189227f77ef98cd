// Package text is the binding kind text: a string.
package text

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
	return bindings.Kind{Name: "text", Schema: schema, Open: open}
}

func open(_ context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return bindings.Binding{}, fmt.Errorf("open %s: %w", env.Field, err)
	}
	return bindings.Binding{Value: op.String(text)}, nil
}

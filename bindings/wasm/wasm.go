// Package wasm is the binding kind wasm: a WebAssembly.Module from a file.
package wasm

import (
	"bytes"
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
	return bindings.Kind{Name: "wasm", Schema: schema, References: references, Open: open}
}

// preamble is the magic number and the version that every binary module begins
// with: https://webassembly.github.io/spec/core/binary/modules.html
var preamble = []byte("\x00asm\x01\x00\x00\x00")

func references(raw json.RawMessage) ([]bindings.Reference, error) {
	var path string
	if err := json.Unmarshal(raw, &path); err != nil {
		return nil, fmt.Errorf("read the path of the module: %w", err)
	}
	return []bindings.Reference{{Type: bindings.File, Name: path, Path: "wasm"}}, nil
}

func open(_ context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
	refs, err := references(raw)
	if err != nil {
		return bindings.Binding{}, fmt.Errorf("open %s: %w", env.Field, err)
	}
	module, err := env.ReadFile(refs[0].Name)
	if err != nil {
		return bindings.Binding{}, fmt.Errorf("open %s: %w", env.Field, err)
	}
	if !bytes.HasPrefix(module, preamble) {
		hint := "it does not begin with the bytes of one"
		if bytes.HasPrefix(bytes.TrimSpace(module), []byte("(")) {
			hint = "it looks like the text format: translate it to the binary format first"
		}
		return bindings.Binding{}, fmt.Errorf("open %s: %q is no WebAssembly module: %s", env.Field, refs[0].Name, hint)
	}
	return bindings.Binding{Value: op.Wasm(module)}, nil
}

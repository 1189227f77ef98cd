// Package data is the binding kind data: an ArrayBuffer, from a file or from
// base64. Each isolate gets a copy of its own.
package data

import (
	"context"
	_ "embed" // the schema and the facade
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/isolate/op"
)

//go:embed schema.cue
var schema string

//go:embed data.js
var facade string

// Kind returns the kind.
func Kind() bindings.Kind {
	return bindings.Kind{
		Name: "data", Schema: schema, References: references, Open: open,
		Extensions: []op.Extension{{Name: "data", Source: facade}},
	}
}

// source is where the bytes come from: exactly one of the two.
type source struct {
	File   *string `json:"file"`
	Base64 *string `json:"base64"`
}

func decode(raw json.RawMessage) (source, error) {
	var s source
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("read the source of the data: %w", err)
	}
	if (s.File == nil) == (s.Base64 == nil) {
		return s, errors.New("give file or base64, one of them")
	}
	return s, nil
}

func references(raw json.RawMessage) ([]bindings.Reference, error) {
	s, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if s.File != nil {
		return []bindings.Reference{{Type: bindings.File, Name: *s.File, Path: "data.file"}}, nil
	}
	_, err = decodeBase64(*s.Base64)
	return nil, err
}

func open(_ context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
	s, err := decode(raw)
	var data []byte
	switch {
	case err != nil:
	case s.File != nil:
		data, err = env.ReadFile(*s.File)
	default:
		data, err = decodeBase64(*s.Base64)
	}
	if err != nil {
		return bindings.Binding{}, fmt.Errorf("open %s: %w", env.Field, err)
	}
	return bindings.Binding{Value: op.Bytes(data), Facade: "data"}, nil
}

func decodeBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("decode base64: %w (the standard alphabet, with padding)", err)
	}
	return b, nil
}

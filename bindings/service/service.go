// Package service is the binding kind service: another service of the
// configuration, called in the process, without a socket. Bodies stream.
package service

import (
	"context"
	_ "embed" // the schema and the facade
	"encoding/json"
	"fmt"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

//go:embed schema.cue
var schema string

//go:embed service.js
var facade string

// Kind returns the kind.
func Kind() bindings.Kind {
	return bindings.Kind{
		Name: "service", Schema: schema, References: references, Open: open,
		Extensions: []op.Extension{{Name: "service", Source: facade}},
	}
}

// designator names a service and, of a worker, an export.
type designator struct {
	Name       string `json:"name"`
	Entrypoint string `json:"entrypoint"`
}

// decode reads either form of the value. short says that it was the name alone.
func decode(raw json.RawMessage) (d designator, short bool, err error) {
	if err := json.Unmarshal(raw, &d.Name); err == nil {
		return d, true, nil
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, false, fmt.Errorf("read the name of the service: %w", err)
	}
	return d, false, nil
}

func references(raw json.RawMessage) ([]bindings.Reference, error) {
	d, short, err := decode(raw)
	if err != nil {
		return nil, err
	}
	path := "service.name"
	if short {
		path = "service"
	}
	return []bindings.Reference{{Type: bindings.Service, Name: d.Name, Path: path}}, nil
}

func open(_ context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
	d, _, err := decode(raw)
	if err != nil {
		return bindings.Binding{}, fmt.Errorf("open %s: %w", env.Field, err)
	}
	f, err := env.Service(d.Name, d.Entrypoint)
	if err != nil {
		return bindings.Binding{}, fmt.Errorf("open %s: %w", env.Field, err)
	}
	return bindings.Binding{Value: op.String(env.Field), Facade: "service", Resource: hop(f)}, nil
}

// hop returns a Fetcher that counts the passage and refuses the one too many.
func hop(next fetch.Fetcher) fetch.Fetcher {
	return fetch.FetcherFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		if req.Hops >= fetch.MaxHops {
			_ = req.Body.Close() // the refusal says more
			return nil, outcome.Failf(outcome.LoopDetected, "the request passed through %d services", fetch.MaxHops)
		}
		passed := *req
		passed.Hops++
		return next.Fetch(ctx, &passed)
	})
}

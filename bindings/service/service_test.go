package service

import (
	"context"
	"errors"
	"testing"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/bindings/bindingtest"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

const field = "services.worker.worker.bindings.BOUND"

func TestService(t *testing.T) {
	prices := fetch.FetcherFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Status: 200 + req.Hops}, nil
	})
	services := map[string]fetch.Fetcher{"prices": prices, "a.b": prices}
	answers := func(t *testing.T, b bindings.Binding) {
		req := &fetch.Request{Hops: 3}
		res, err := b.Resource.(fetch.Fetcher).Fetch(t.Context(), req)
		if err != nil || res.Status != 204 {
			t.Errorf("the resource answers %+v, %v, want what the service answers after one more hop", res, err)
		}
		if req.Hops != 3 {
			t.Errorf("the caller's request has %d hops now, want it untouched", req.Hops)
		}
	}
	bindingtest.Run(t, Kind(), []bindingtest.Case{
		{Name: "a name", CUE: `service: "prices"`, Services: services, Want: op.String(field), Check: answers},
		{Name: "a name with a dot", CUE: `service: "a.b"`, Services: services, Want: op.String(field), Check: answers},
		{Name: "name and entrypoint", CUE: `service: {name: "prices", entrypoint: "Admin"}`, Services: services, Want: op.String(field), Check: answers},
		{Name: "an unknown service", CUE: `service: "prizes"`, Services: services, Mistake: field + `.service: unknown service "prizes" (did you mean "prices"?)`},
		{Name: "an unknown service, long form", CUE: `service: name: "prizes"`, Services: services, Mistake: field + `.service.name: unknown service "prizes"`},
		{Name: "itself", CUE: `service: "worker"`, Services: services, Mistake: "worker -> worker"},
		{Name: "no name", CUE: `service: entrypoint: "A"`, Services: services, Mistake: field + `.service.name: is missing (add name: "prices")`},
		{Name: "an empty entrypoint", CUE: `service: {name: "prices", entrypoint: ""}`, Services: services, Mistake: "is empty"},
		{Name: "a number", CUE: `service: 1`, Services: services, Mistake: "is 1, should be a string or a struct"},
	})
}

func TestOpenPassesTheEntrypoint(t *testing.T) {
	var got string
	env := bindings.Env{Service: func(name, entrypoint string) (fetch.Fetcher, error) {
		got = name + "#" + entrypoint
		return nil, errors.New("later")
	}}
	for raw, want := range map[string]string{`"a"`: "a#", `{"name":"a","entrypoint":"B"}`: "a#B"} {
		if _, err := open(t.Context(), []byte(raw), env); err == nil || got != want {
			t.Errorf("open %s asked for %q, %v, want %q and its error", raw, got, err, want)
		}
	}
}

func TestHopLimit(t *testing.T) {
	calls := 0
	var f fetch.Fetcher
	f = hop(fetch.FetcherFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
		calls++
		return f.Fetch(ctx, req)
	}))
	_, err := f.Fetch(t.Context(), &fetch.Request{})
	if got := outcome.Of(err); got != outcome.LoopDetected {
		t.Errorf("a service that calls itself ends with %v (%v), want %v", got, err, outcome.LoopDetected)
	}
	if calls != fetch.MaxHops {
		t.Errorf("the service was called %d times, want %d", calls, fetch.MaxHops)
	}
}

// Package bindings is the contract that each kind of binding fulfils: Kind, Set
// and what a kind is opened with. It names no kind.
package bindings

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/net/fetch"
)

// Kind is one kind of binding: a folder with Go, a JavaScript facade if it needs
// one, a CUE fragment and tests.
type Kind struct {
	// Name is the field in the configuration: bindings: CACHE: <name>: ...
	Name string
	// Schema is a CUE file of package config that adds the field to #Binding, such
	// as "package config\n#Binding: kv?: path: string & !=\"\"".
	Schema string
	// Extensions are the JavaScript modules and ops of the kind; none for plain
	// values.
	Extensions []op.Extension
	// References lists what a decoded binding refers to, so that the loader can
	// check it with its position. raw is the field's value as JSON. nil: nothing.
	References func(raw json.RawMessage) ([]Reference, error)
	// Open makes the binding of one worker. Called once per configured binding;
	// the result is shared by all isolates of the worker.
	Open func(ctx context.Context, raw json.RawMessage, env Env) (Binding, error)
}

// ReferenceType says what a Reference points at.
type ReferenceType uint8

// The things a binding can point at.
const (
	Service     ReferenceType = iota // the name of a service
	File                             // a path relative to the configuration's folder
	Environment                      // an environment variable
)

// Reference is something outside of a binding that it needs.
type Reference struct {
	Type ReferenceType
	Name string
	// Path is where it stands inside the binding's value, such as "service" or
	// "data.file"; the loader reports mistakes there.
	Path string
}

// Env is what a binding is opened with.
type Env struct {
	// Field is the binding's config path, for errors and for refusals.
	Field string
	// ReadFile reads a file relative to the configuration's folder and has it
	// watched.
	ReadFile func(path string) ([]byte, error)
	// LookupEnv reads the environment of the process.
	LookupEnv func(name string) (string, bool)
	// Service returns a service by name. It may be called while services are
	// being built: the Fetcher works once the generation runs. entrypoint names an
	// export of a worker, empty for the default.
	Service func(name, entrypoint string) (fetch.Fetcher, error)
}

// Binding is an opened binding.
type Binding struct {
	// Value is env.NAME in a worker. With Facade it is the argument of the facade.
	Value op.Value
	// Facade is the name of the extension whose export "create" makes env.NAME; it
	// is called as create(value, handle). Empty: env.NAME is Value.
	Facade string
	// Resource, with Facade, is put into each isolate's resource table; handle is
	// its number. It must be safe for many goroutines, and is not closed with an
	// isolate.
	Resource any
	// Close releases the binding when its last worker is gone. May be nil.
	Close func() error
}

// Set is the kinds of one program, by name.
type Set struct{ kinds map[string]Kind }

// NewSet returns a set of kinds. Two kinds of one name are an error.
func NewSet(kinds ...Kind) (Set, error) {
	s := Set{kinds: map[string]Kind{}}
	for _, k := range kinds {
		if _, dup := s.kinds[k.Name]; dup {
			return Set{}, fmt.Errorf("add binding kind %q: there is one already", k.Name)
		}
		if k.Name == "" || k.Open == nil || k.Schema == "" {
			return Set{}, fmt.Errorf("add binding kind %q: Name, Schema and Open are needed", k.Name)
		}
		s.kinds[k.Name] = k
	}
	return s, nil
}

// Names returns the names of the kinds, sorted.
func (s Set) Names() []string {
	names := make([]string, 0, len(s.kinds))
	for n := range s.kinds {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Get returns a kind by name.
func (s Set) Get(name string) (Kind, error) {
	k, ok := s.kinds[name]
	if !ok {
		return Kind{}, fmt.Errorf("unknown binding kind %q (this build has %v)", name, s.Names())
	}
	return k, nil
}

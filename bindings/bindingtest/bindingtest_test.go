package bindingtest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/bindings"
	"github.com/edge-runtime/edge/isolate/op"
)

const (
	brokenVariable = "EDGE_BINDINGTEST_BROKEN"
	schema         = "package config\n#Binding: {\n\t// A string.\n\tmine?: string\n}\n"
)

// sound is a kind that the suite has nothing to say against: a string from a
// file, shown through a facade.
func sound() bindings.Kind {
	name := func(raw json.RawMessage) (string, error) {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	return bindings.Kind{
		Name: "mine", Schema: schema,
		Extensions: []op.Extension{{
			Name:   "mine",
			Source: "export function create(value) { return value; }\nregisterFacade(\"mine\", create);\n",
			Ops:    []op.Op{{Name: "op_mine_read", Func: func(*op.Call) error { return nil }}},
		}},
		References: func(raw json.RawMessage) ([]bindings.Reference, error) {
			s, err := name(raw)
			return []bindings.Reference{{Type: bindings.File, Name: s, Path: "mine"}}, err
		},
		Open: func(_ context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
			s, err := name(raw)
			if err != nil {
				return bindings.Binding{}, err
			}
			data, err := env.ReadFile(s)
			if err != nil {
				return bindings.Binding{}, err
			}
			return bindings.Binding{Value: op.Bytes(data), Facade: "mine", Close: func() error { return nil }}, nil
		},
	}
}

func soundCases() []Case {
	files := map[string]string{"x": "y"}
	return []Case{
		{Name: "good", CUE: `mine: "x"`, Files: files, Want: op.Bytes([]byte("y"))},
		{Name: "bad", CUE: `mine: "z"`, Files: files, Mistake: "no such file"},
	}
}

// broken are kinds with one fault each, and what the suite says of them.
var broken = map[string]struct {
	fault func(k *bindings.Kind, cases *[]Case)
	want  string
}{
	"opened schema": {func(k *bindings.Kind, _ *[]Case) {
		k.Schema = strings.Replace(k.Schema, "mine?: string", "mine?: string\n\t...", 1)
	}, "has opened #Binding"},
	"no manual":      {func(k *bindings.Kind, _ *[]Case) { k.Schema = "package config\n#Binding: mine?: string" }, "no comment"},
	"name":           {func(k *bindings.Kind, _ *[]Case) { k.Name = "my-kind" }, "camel case"},
	"no bad case":    {func(_ *bindings.Kind, c *[]Case) { *c = (*c)[:1] }, "a kind needs both"},
	"not ASCII":      {func(k *bindings.Kind, _ *[]Case) { k.Extensions[0].Source += "// \u20ac" }, "not ASCII"},
	"foreign op":     {func(k *bindings.Kind, _ *[]Case) { k.Extensions[0].Ops[0].Name = "op_url_parse" }, `want a name that begins with "op_mine_"`},
	"no create":      {func(k *bindings.Kind, _ *[]Case) { k.Extensions[0].Source = `registerFacade("mine", create)` }, "does not export create"},
	"not registered": {func(k *bindings.Kind, _ *[]Case) { k.Extensions[0].Source = "export function create() {}" }, "does not register itself"},
	"no such facade": {func(k *bindings.Kind, _ *[]Case) { k.Extensions = nil }, "which is no extension of the kind"},
	"no references":  {func(k *bindings.Kind, _ *[]Case) { k.References = nil }, "which References does not list"},
	"wrong path": {func(k *bindings.Kind, _ *[]Case) {
		list := k.References
		k.References = func(raw json.RawMessage) ([]bindings.Reference, error) {
			refs, err := list(raw)
			refs[0].Path = "file"
			return refs, err
		}
	}, `want one that begins with "mine"`},
	"panic": {func(k *bindings.Kind, _ *[]Case) {
		k.References = func(raw json.RawMessage) ([]bindings.Reference, error) {
			return []bindings.Reference{{Name: string(raw[1:]), Path: "mine"}}, nil
		}
	}, "it panics"},
	"close fails": {func(k *bindings.Kind, _ *[]Case) {
		open := k.Open
		k.Open = func(ctx context.Context, raw json.RawMessage, env bindings.Env) (bindings.Binding, error) {
			b, err := open(ctx, raw, env)
			b.Close = func() error { return errors.New("stuck") }
			return b, err
		}
	}, "close binding: stuck"},
	"another value": {func(_ *bindings.Kind, c *[]Case) { (*c)[0].Want = op.String("y") }, "the value crosses as"},
	"no mistake":    {func(_ *bindings.Kind, c *[]Case) { (*c)[1].CUE = `mine: "x"` }, "the loader reports <nil>"},
}

func TestSuitePassesASoundKind(t *testing.T) {
	if os.Getenv(brokenVariable) == "" {
		Run(t, sound(), soundCases())
	}
}

// TestSuiteFindsFaults runs this test's binary again for each broken kind,
// since a suite that fails fails its test.
func TestSuiteFindsFaults(t *testing.T) {
	if name := os.Getenv(brokenVariable); name != "" {
		kind, cases := sound(), soundCases()
		broken[name].fault(&kind, &cases)
		Run(t, kind, cases)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestSuiteFindsFaults$")
			cmd.Env = append(os.Environ(), brokenVariable+"="+name)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), b.want) {
				t.Errorf("the suite ended with %v and said:\n%s\nwant it to fail with %q", err, out, b.want)
			}
		})
	}
}

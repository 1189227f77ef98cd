package config

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/edge-runtime/edge/bindings"
)

// testKinds returns binding kinds that refer to everything a binding can refer
// to, so that the tests here depend on no real kind.
func testKinds(t testing.TB) bindings.Set {
	t.Helper()
	open := func(context.Context, json.RawMessage, bindings.Env) (bindings.Binding, error) {
		return bindings.Binding{}, nil
	}
	refer := func(typ bindings.ReferenceType, path string) func(json.RawMessage) ([]bindings.Reference, error) {
		return func(raw json.RawMessage) ([]bindings.Reference, error) {
			var name string
			if err := json.Unmarshal(raw, &name); err != nil {
				var s struct{ Name string }
				if err := json.Unmarshal(raw, &s); err != nil {
					return nil, err
				}
				return []bindings.Reference{{Type: typ, Name: s.Name, Path: path + ".name"}}, nil
			}
			return []bindings.Reference{{Type: typ, Name: name, Path: path}}, nil
		}
	}
	set, err := bindings.NewSet(
		bindings.Kind{Name: "text", Schema: "package config\n#Binding: text?: string", Open: open},
		bindings.Kind{Name: "json", Schema: "package config\n#Binding: json?: _", Open: open},
		bindings.Kind{Name: "file", Schema: "package config\n#Binding: file?: string", Open: open, References: refer(bindings.File, "file")},
		bindings.Kind{Name: "variable", Schema: "package config\n#Binding: variable?: string", Open: open, References: refer(bindings.Environment, "variable")},
		bindings.Kind{Name: "service", Schema: "package config\n#Binding: service?: string | {name!: string, entrypoint?: string}", Open: open, References: refer(bindings.Service, "service")},
		bindings.Kind{Name: "cache", Schema: "package config\nimport \"strings\"\n#Binding: cache?: {path!: string & !=\"\", mode?: \"fast\" | \"safe\", ttl?: string @duration(default=1m, min=1s, max=1h), labels?: [...strings.MaxRunes(3)], low?: int, high?: int, if low != _|_ {high?: >=low}}", Open: open},
	)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestScratch(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"shop.ts", "prices.js", "ca.pem"} {
		os.WriteFile(filepath.Join(dir, f), nil, 0o600)
	}
	os.Mkdir(filepath.Join(dir, "public"), 0o700)
	data, err := os.ReadFile(os.Getenv("SCRATCH"))
	if err != nil { t.Skip() }
	os.WriteFile(filepath.Join(dir, "config.cue"), data, 0o600)
	t.Chdir(dir)
	cfg, err := Load("config.cue", Options{Kinds: testKinds(t), LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Log("\n" + err.Error())
		return
	}
	j, _ := json.MarshalIndent(cfg, "", " ")
	t.Log(string(j))
}

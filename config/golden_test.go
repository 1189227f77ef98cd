package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what the loader reports into testdata/mistakes")

// TestMistakes loads the configuration in each testdata/mistakes/*.txtar and
// compares what is reported with the file's section "want". The comment on top
// says what the case is about; its lines "load: a.cue b.cue" and "env: A=1" say
// what is loaded (config.cue without one) and what the environment holds.
func TestMistakes(t *testing.T) {
	for _, path := range goldens(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := report(t, ar)
			i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == "want" })
			if *update {
				if i < 0 {
					ar.Files, i = append(ar.Files, txtar.File{Name: "want"}), len(ar.Files)
				}
				ar.Files[i].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(ar), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if i < 0 {
				t.Fatalf("%s has no section want: run the test with -update and read what it wrote", path)
			}
			if diff := cmp.Diff(string(ar.Files[i].Data), got); diff != "" {
				t.Errorf("the report differs (-want +got); -update writes it:\n%s", diff)
			}
		})
	}
}

// goldens lists the golden files. Anything else in their folder is an orphan:
// no test would read it.
func goldens(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("testdata/mistakes")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".txtar" {
			t.Errorf("testdata/mistakes/%s belongs to no test", e.Name())
			continue
		}
		paths = append(paths, filepath.Join("testdata", "mistakes", e.Name()))
	}
	return paths
}

// TestEveryPromisedMistakeIsPinned holds the list of the mistakes that the
// loader promises to explain.
func TestEveryPromisedMistakeIsPinned(t *testing.T) {
	have := map[string]bool{}
	for _, p := range goldens(t) {
		have[strings.TrimSuffix(filepath.Base(p), ".txtar")] = true
	}
	for _, name := range []string{
		"unknown_fields", "unknown_services", "cycles", "missing_files", "bad_durations", "bad_sizes",
		"bad_addresses", "bad_networks", "bad_routes", "same_address", "unset_variables", "syntax", "everything_at_once",
	} {
		if !have[name] {
			t.Errorf("testdata/mistakes/%s.txtar is missing", name)
		}
	}
}

// report returns the mistakes of an archive's configuration, one per line.
func report(t *testing.T, ar *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range ar.Files {
		if f.Name != "want" {
			writeFile(t, filepath.Join(dir, f.Name), string(f.Data))
		}
	}
	load, env := []string{"config.cue"}, map[string]string{}
	for line := range strings.Lines(string(ar.Comment)) {
		if s, ok := strings.CutPrefix(line, "load:"); ok {
			load = strings.Fields(s)
		}
		if s, ok := strings.CutPrefix(line, "env:"); ok {
			for _, kv := range strings.Fields(s) {
				name, value, _ := strings.Cut(kv, "=")
				env[name] = value
			}
		}
	}
	for i := range load {
		load[i] = filepath.Join(dir, load[i])
	}
	_, err := Load(load[0], Options{Kinds: testKinds(t), LookupEnv: mapEnv(env), More: load[1:]})
	if err == nil {
		return "no mistakes\n"
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Load returned %T (%v), want *Error", err, err)
	}
	return strings.ReplaceAll(e.Error(), dir+string(filepath.Separator), "") + "\n"
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mapEnv(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

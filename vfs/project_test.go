package vfs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProjectRootIsTheNearestPackage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		dir   string
		want  string
	}{
		{"its own package.json", map[string]string{"package.json": "{}", "a/package.json": "{}"}, "a", "a"},
		{"one above", map[string]string{"package.json": "{}", "a/b/x": ""}, "a/b", "."},
		{"its own node_modules", map[string]string{"package.json": "{}", "a/node_modules/x": ""}, "a", "a"},
		{"a folder named package.json is none", map[string]string{"package.json": "{}", "a/package.json/x": ""}, "a", "."},
		{"a member of a workspace", map[string]string{"package.json": `{"workspaces":["apps/*"]}`, "apps/x/package.json": "{}"}, "apps/x", "."},
		{"a member of a workspace in the long form", map[string]string{"package.json": `{"workspaces":{"packages":["./apps/**"]}}`, "apps/x/y/package.json": "{}"}, "apps/x/y", "."},
		{"not a member", map[string]string{"package.json": `{"workspaces":["apps/*"]}`, "tools/x/package.json": "{}"}, "tools/x", "tools/x"},
		{"a member for pnpm", map[string]string{"pnpm-workspace.yaml": "packages: ['apps/*']", "apps/x/package.json": "{}"}, "apps/x", "."},
		{"a broken package.json above", map[string]string{"package.json": `{"workspaces":`, "apps/x/package.json": "{}"}, "apps/x", "apps/x"},
		{"strange workspaces above", map[string]string{"package.json": `{"workspaces":7}`, "apps/x/package.json": "{}"}, "apps/x", "apps/x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := lay(t, tt.files)
			got, err := ProjectRoot(filepath.Join(dir, tt.dir))
			if err != nil || got != filepath.Join(dir, tt.want) {
				t.Errorf("got %q, %v, want %q", got, err, filepath.Join(dir, tt.want))
			}
		})
	}
	if _, err := ProjectRoot(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there: got no error")
	}
}

func TestWorkspacePackagesAreBundled(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{
		"package.json": `{"workspaces":["apps/*","libs/*"]}`, "node_modules/lib": "->../libs/lib", "node_modules/dep/index.js": `module.exports = "hoisted"`,
		"libs/lib/package.json": `{"name":"lib","main":"src/i.ts"}`, "libs/lib/src/i.ts": `export const lib: string = "the lib"`,
		"apps/x/package.json": "{}", "apps/x/edge/main.ts": `import { lib } from "lib"; import dep from "dep"; export default lib + dep`,
	})
	b, err := Build(BuildOptions{Root: filepath.Join(dir, "apps/x/edge"), Main: "main.ts"})
	if err != nil {
		t.Fatal(err)
	}
	if got := code(t, b); !strings.Contains(got, "the lib") || !strings.Contains(got, "hoisted") {
		t.Errorf("got:\n%s", got)
	}
	if b.Main != "apps/x/edge/main.js" {
		t.Errorf("got main %q", b.Main)
	}
}

func TestRootMayBeALink(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"a.js": `import "./b.js"`, "b.js": ""})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	b, err := Build(BuildOptions{Root: link, Main: "a.js"})
	if err != nil || b.Main != "a.js" || b.Root != dir {
		t.Errorf("got %+v, %v", b, err)
	}
}

func TestPlainJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a": 1}`:                          `{"a":1}`,
		"\xef\xbb\xbf{\"a\":1,}":            `{"a":1}`,
		"{ // c\n\"a\": /* x */ [1, 2, ],}": `{"a":[1,2]}`,
		`{"a//b": "/* no */ , }", }`:        `{"a//b":"/* no */ , }"}`,
		`{"a": "\",}", /* , */ }`:           `{"a":"\",}"}`,
	} {
		out := plainJSON([]byte(in))
		if len(out) != len(in) {
			t.Errorf("%q: the length changed", in)
		}
		var value any
		if err := json.Unmarshal(out, &value); err != nil {
			t.Errorf("%q: got %q: %v", in, out, err)
			continue
		}
		if got, _ := json.Marshal(value); string(got) != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestConfigsThatExtendInACircleEnd(t *testing.T) {
	t.Parallel()
	mustBuild(t, "a.ts", map[string]string{"a.ts": "", "tsconfig.json": `{"extends":"./b.json"}`, "b.json": `{"extends":["./tsconfig.json","./b.json"]}`})
	b := mustBuild(t, "a.ts", map[string]string{"a.ts": "", "tsconfig.json": `{"extends":["./none","not-installed","./b.json"]}`, "b.json": `{}`})
	if len(b.Warnings) != 2 || !strings.Contains(b.Warnings[0].String(), `tsconfig.json: extends "`) {
		t.Errorf("got warnings %v", b.Warnings)
	}
}

func FuzzPlainJSON(f *testing.F) {
	for _, s := range []string{`{"a":1,}`, "/*", "//", `"\`, ",]", "{/* */}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := plainJSON([]byte(s)); len(got) != len(s) {
			t.Errorf("%q: got %q", s, got)
		}
		if json.Valid([]byte(s)) && !json.Valid(plainJSON([]byte(s))) {
			t.Errorf("%q is JSON and becomes %q", s, plainJSON([]byte(s)))
		}
	})
}

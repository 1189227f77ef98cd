package vfs

import (
	"path"
	"strings"
	"testing"
)

func TestRelativeSpecifierIsTheWayBack(t *testing.T) {
	t.Parallel()
	tests := []struct{ from, to, want string }{
		{"a.js", "b.wasm", "./b.wasm"},
		{"src/a.js", "b.wasm", "../b.wasm"},
		{"src/a.js", "src/b.wasm", "./b.wasm"},
		{"src/a.js", "src/x/b.wasm", "./x/b.wasm"},
		{"src/x/a.js", "src/y/b.wasm", "../y/b.wasm"},
		{"a/b/c/d.js", "a/x", "../../x"},
		{"a.js", "a/b/c", "./a/b/c"},
		{"ab/a.js", "a/b", "../a/b"},
	}
	for _, tt := range tests {
		got := relativeSpecifier(tt.from, tt.to)
		if got != tt.want {
			t.Errorf("from %q to %q: got %q, want %q", tt.from, tt.to, got, tt.want)
		}
		if back, ok := joinKey(tt.from, got); !ok || back != tt.to {
			t.Errorf("from %q by %q: got %q, want %q", tt.from, got, back, tt.to)
		}
	}
}

func TestPackageNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"zod": "zod", "zod@3.1/mini": "zod", "zod/mini": "zod", "@a/b": "@a/b", "@a/b@^1/c/d": "@a/b", "@a": "", "@a/": "@a/", "": "",
	} {
		if got := packageName(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestMissingNamesTheRemedy(t *testing.T) {
	t.Parallel()
	for specifier, want := range map[string]string{
		"crypto":          `import "crypto": this build offers no Node.js modules (use the global crypto)`,
		"fs/promises":     "no Node.js modules",
		"crypto-js":       `package "crypto-js" is not installed (run "npm install crypto-js")`,
		"@scope/pkg/deep": `package "@scope/pkg" is not installed`,
		"@/lib/x":         "is not installed",
		"#internal":       `add it to "imports" in package.json`,
		"virtual:thing":   "virtual: specifiers are unknown here",
		"./x":             "no such file",
	} {
		if got := missing(specifier).Error(); !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q in it", specifier, got, want)
		}
	}
}

func TestLongSpecifiersAreCut(t *testing.T) {
	t.Parallel()
	_, err := classify("data:text/javascript," + strings.Repeat("x", 1<<20))
	if err == nil || len(err.Error()) > 500 {
		t.Errorf("got an error of %d bytes", len(err.Error()))
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"./b.js", "../a.js", "npm:x", "b.js", "edge:workers", "./lib/../b.js", "file:///a", "./%2e%2e/x", "..", "/", "\\x", "c:/x", "./\x00"} {
		f.Add(s, "lib/a.js", "")
	}
	f.Add("./d.json", "file:///b.js", "json")
	b := &Bundle{Main: "b.js", given: true, Modules: []Module{{Key: "b.js"}, {Key: "lib/a.js"}, {Key: "d.json", Type: JSON}}}
	b.seal(nil)
	f.Fuzz(func(t *testing.T, specifier, referrer, attr string) {
		key, err := b.Resolve(specifier, referrer, attr)
		if err != nil {
			if key != "" {
				t.Errorf("got key %q with error %v", key, err)
			}
			if _, ok := err.(*RefusedError); !ok {
				t.Errorf("got error %T", err)
			}
			return
		}
		if _, ok := b.Module(key); !ok && key != RuntimeKey {
			t.Errorf("%q from %q leads to %q, which is no module", specifier, referrer, key)
		}
		if kind, refused := classify(specifier); refused != nil {
			t.Errorf("%q is refused and leads to %q", specifier, key)
		} else if kind == relative && path.IsAbs(key) {
			t.Errorf("%q leads to %q", specifier, key)
		}
	})
}

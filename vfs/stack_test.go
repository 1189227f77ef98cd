package vfs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// thrower is a worker whose places are known.
var thrower = map[string]string{
	"src/shop.ts": `import { total } from "./lib/price";
interface Item { price: number }

export default {
	async fetch(req: Request): Promise<Response> {
		const items: Item[] = [];
		return Response.json(total(items));
	},
};
`,
	"src/lib/price.ts": `export function total(items: { price: number }[]): number {
	const label: string = "☃ 😀"; if (items.length === 0) throw new RangeError("nothing in " + label);
	return 0;
}
`,
}

func TestMapStackNamesTheAuthorsLines(t *testing.T) {
	t.Parallel()
	b := mustBuild(t, "src/shop.ts", thrower)
	source := code(t, b)
	throwAt, callAt := lineOf(t, source, "new RangeError"), lineOf(t, source, "total(items))")
	tests := []struct{ name, stack, want string }{
		{"function", "RangeError: nothing\n    at total (file:///src/shop.js:" + throwAt + ")", "RangeError: nothing\n    at total (src/lib/price.ts:2:62)"},
		{"async method", "    at async Object.fetch (file:///src/shop.js:" + callAt + ")\n    at <anonymous>", "    at async Object.fetch (src/shop.ts:7:24)\n    at <anonymous>"},
		{"no function", "at file:///src/shop.js:" + throwAt, "at src/lib/price.ts:2:62"},
		{"new and alias", "at new X [as y] (file:///src/shop.js:" + throwAt + ")", "at new X [as y] (src/lib/price.ts:2:62)"},
		{"eval inside", "at eval (eval at f (file:///src/shop.js:" + throwAt + "), <anonymous>:1:1)", "at eval (eval at f (src/lib/price.ts:2:62), <anonymous>:1:1)"},
		{"two on a line", "file:///src/shop.js:" + throwAt + " file:///src/shop.js:" + callAt, "src/lib/price.ts:2:62 src/shop.ts:7:24"},
		{"line only", "file:///src/shop.js:" + strings.Split(throwAt, ":")[0], "src/lib/price.ts:2"},
		{"the runtime's own code", "at fetch (edge:fetch:10:3)", "at fetch (edge:fetch:10:3)"},
		{"another module", "at x (file:///src/shop.jsx:1:2)", "at x (file:///src/shop.jsx:1:2)"},
		{"another module with the same end", "at x (file:///lib/src/shop.js:1:2)", "at x (file:///lib/src/shop.js:1:2)"},
		{"a place that is not there", "at x (file:///src/shop.js:99999:1)", "at x (src/shop.js:99999:1)"},
		{"a number that is none", "at x (file:///src/shop.js:99999999999999999999:1)", "at x (file:///src/shop.js:99999999999999999999:1)"},
		{"line zero", "at x (file:///src/shop.js:0:0)", "at x (src/shop.js:0:0)"},
		{"no place", "see file:///src/shop.js for more", "see file:///src/shop.js for more"},
		{"a message that ends in a URL", "Error: file:///", "Error: file:///"},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		if got := b.MapStack(tt.stack); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPositionAndFrame(t *testing.T) {
	t.Parallel()
	b := mustBuild(t, "src/shop.ts", thrower)
	var line, col int
	fmt.Sscanf(lineOf(t, code(t, b), "new RangeError"), "%d:%d", &line, &col)
	file, l, c, ok := b.Position("src/shop.js", line, col)
	if !ok || file != "src/lib/price.ts" || l != 2 || c != 62 {
		t.Fatalf("got %q %d %d %v", file, l, c, ok)
	}
	for _, bad := range [][2]int{{0, 0}, {-1, -1}, {1 << 30, 1}, {line, -5}, {line, 0}} {
		if file, _, _, ok := b.Position("src/shop.js", bad[0], bad[1]); ok {
			t.Errorf("%v: got %q", bad, file)
		}
	}
	if _, _, _, ok := b.Position("none.js", 1, 1); ok {
		t.Error("a module that is not there has a position")
	}
	want := "" +
		"  1 | export function total(items: { price: number }[]): number {\n" +
		"> 2 |  const label: string = \"☃ 😀\"; if (items.length === 0) throw new RangeError(\"nothing in \" + label);\n" +
		"    | " + strings.Repeat(" ", 60) + "^\n" +
		"  3 |  return 0;\n" +
		"  4 | }\n"
	// The caret is one to the left of the UTF-16 column: one character takes two.
	if got := b.Frame(file, l, c, false); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := b.Frame(file, l, c, true); !strings.Contains(got, "\x1b[31m^\x1b[0m") {
		t.Errorf("no colour in:\n%q", got)
	}
	for _, bad := range []string{b.Frame("none.ts", 1, 1, false), b.Frame(file, 0, 1, false), b.Frame(file, 100, 1, false)} {
		if bad != "" {
			t.Errorf("got frame %q", bad)
		}
	}
	if b.Frame(file, 2, 1<<30, false) == "" || b.Frame(file, 2, -1, false) == "" {
		t.Error("a column beside the line gives no frame")
	}
	if source, ok := b.Source("src/shop.ts"); !ok || source != thrower["src/shop.ts"] {
		t.Errorf("got source %q, %v", source, ok)
	}
	if source, ok := b.Source("src/none.ts"); ok {
		t.Errorf("got source %q", source)
	}
}

func TestMapsAreDecodedOnceByMany(t *testing.T) {
	t.Parallel()
	b := mustBuild(t, "src/shop.ts", thrower)
	stack := "at total (file:///src/shop.js:" + lineOf(t, code(t, b), "new RangeError") + ")"
	if b.maps["src/shop.js"].m != nil {
		t.Error("the map is decoded before it is used")
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got := b.MapStack(stack); got != "at total (src/lib/price.ts:2:62)" {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
}

func TestMapStackOfMuchText(t *testing.T) {
	t.Parallel()
	b := mustBuild(t, "src/shop.ts", thrower)
	many := strings.Repeat("file:///", 200_000)
	if got := b.MapStack(many); got != many {
		t.Error("the text changed")
	}
}

func TestDecodeMapRefuses(t *testing.T) {
	t.Parallel()
	for name, mappings := range map[string]string{
		"a foreign character": "AA?A", "an open number": "g", "too many fields": "AAAAAA", "two fields": "AA", "a negative column": "D",
		"a source that is not there": "ACAA", "a negative source": "ADAA", "a negative line": "AADA", "a huge number": "gggggggggggggE", "a negative original column": "AAAD",
	} {
		data, _ := json.Marshal(mapFile{Version: 3, Sources: []string{"a"}, Mappings: mappings})
		if _, err := decodeMap(data); !errors.Is(err, errMap) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := decodeMap([]byte("{")); !errors.Is(err, errMap) {
		t.Errorf("broken JSON: got %v", err)
	}
	b := &Bundle{Modules: []Module{{Key: "a.js"}}}
	b.seal(map[string][]byte{"a.js": []byte("nonsense")})
	if got := b.MapStack("at x (file:///a.js:1:2)"); got != "at x (a.js:1:2)" {
		t.Errorf("with a broken map: got %q", got)
	}
}

func TestLookupTakesTheSegmentBefore(t *testing.T) {
	t.Parallel()
	// Line 1: columns 2 and 6 of the source's line 3; column 8 has no source. Line 3: column 0.
	data, _ := json.Marshal(mapFile{Version: 3, Sources: []string{"a.ts"}, Mappings: "EAEE,IAAI,E;;AAAA"})
	m, err := decodeMap(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		line, col int
		ok        bool
		want      segment
	}{
		{0, 0, false, segment{}}, {0, 1, false, segment{}},
		{0, 2, true, segment{2, 0, 2, 2}}, {0, 5, true, segment{2, 0, 2, 2}}, {0, 6, true, segment{6, 0, 2, 6}},
		{0, 8, false, segment{}}, {0, 100, false, segment{}}, {1, 0, false, segment{}}, {2, 50, true, segment{0, 0, 2, 6}}, {3, 0, false, segment{}},
	} {
		if got, ok := m.lookup(tt.line, tt.col); ok != tt.ok || got != tt.want {
			t.Errorf("%d:%d: got %v %v, want %v %v", tt.line, tt.col, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzMapStack(f *testing.F) {
	b := mustBuild(f, "src/shop.ts", thrower)
	for _, s := range []string{"at total (file:///src/shop.js:3:9)", "file:///src/shop.js:1", "file:///src/shop.js:1:", "file:///file:///src/shop.js:1:1:1", "file:///src/shop.js:-1:-1", "\xff file:///src/shop.js:000000001:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stack string) {
		got := b.MapStack(stack)
		if strings.Contains(got, b.Root) {
			t.Errorf("the host's folder is in %q", got)
		}
		if !strings.Contains(stack, moduleURL) && got != stack {
			t.Errorf("got %q for %q", got, stack)
		}
	})
}

func FuzzDecodeMap(f *testing.F) {
	for _, s := range []string{"AAAA;AACA,CAAC", "EAEE,IAAI,E;;AAAA", "", ";;;", "gggggggggB"} {
		f.Add(s, 1, 1)
	}
	f.Fuzz(func(t *testing.T, mappings string, line, col int) {
		data, err := json.Marshal(mapFile{Version: 3, Sources: []string{"a", "b"}, Mappings: mappings})
		if err != nil {
			return
		}
		m, err := decodeMap(data)
		if err != nil {
			return
		}
		if seg, ok := m.lookup(line, col); ok && (int(seg.source) >= len(m.sources) || seg.line < 0 || seg.origCol < 0) {
			t.Errorf("got %v", seg)
		}
	})
}

func BenchmarkMapStack(b *testing.B) {
	bundle := mustBuild(b, "src/shop.ts", thrower)
	place := "    at total (file:///src/shop.js:" + lineOf(b, code(b, bundle), "new RangeError") + ")\n"
	stack := "Error: x\n" + strings.Repeat(place, 10)
	b.ReportAllocs()
	for b.Loop() {
		bundle.MapStack(stack)
	}
}

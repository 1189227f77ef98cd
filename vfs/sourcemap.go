package vfs

import (
	"encoding/json"
	"errors"
	"math"
	"sort"
	"strings"
	"sync"
)

// lazyMap is a source map that is decoded when it is first needed.
type lazyMap struct {
	once sync.Once
	m    *sourceMap // nil when the map is broken
}

// sourceMap is a decoded source map: segments in the order of generated places.
type sourceMap struct {
	sources []string
	lines   []int32 // index of each generated line's first segment, and the end
	segs    []segment
}

// segment maps a generated column to an original place, all from 0. source is
// -1 where the code has no original.
type segment struct{ col, source, line, origCol int32 }

// mapFile is the JSON of a source map.
type mapFile struct {
	Version        int       `json:"version"`
	SourceRoot     string    `json:"sourceRoot"`
	Sources        []string  `json:"sources"`
	SourcesContent []*string `json:"sourcesContent"`
	Mappings       string    `json:"mappings"`
}

var errMap = errors.New("decode source map: broken")

// decodeMap decodes the places of a source map.
func decodeMap(data []byte) (*sourceMap, error) {
	var f mapFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, errMap
	}
	m := &sourceMap{sources: f.Sources}
	m.segs = make([]segment, 0, strings.Count(f.Mappings, ",")+strings.Count(f.Mappings, ";")+1)
	m.lines = append(make([]int32, 0, strings.Count(f.Mappings, ";")+2), 0)
	var col, source, line, origCol int64
	for i := 0; i < len(f.Mappings); {
		switch f.Mappings[i] {
		case ';':
			m.lines = append(m.lines, int32(len(m.segs)))
			col = 0
			i++
			continue
		case ',':
			i++
			continue
		}
		var fields [5]int64
		n := 0
		for i < len(f.Mappings) && f.Mappings[i] != ',' && f.Mappings[i] != ';' {
			if n == len(fields) {
				return nil, errMap
			}
			value, next, ok := decodeVLQ(f.Mappings, i)
			if !ok {
				return nil, errMap
			}
			fields[n], i = value, next
			n++
		}
		col += fields[0]
		seg := segment{source: -1}
		if n >= 4 {
			source += fields[1]
			line += fields[2]
			origCol += fields[3]
			if source < 0 || source >= int64(len(f.Sources)) || !fits(line) || !fits(origCol) {
				return nil, errMap
			}
			seg = segment{source: int32(source), line: int32(line), origCol: int32(origCol)}
		} else if n != 1 {
			return nil, errMap
		}
		if !fits(col) {
			return nil, errMap
		}
		seg.col = int32(col)
		m.segs = append(m.segs, seg)
	}
	m.lines = append(m.lines, int32(len(m.segs)))
	return m, nil
}

func fits(n int64) bool { return n >= 0 && n < math.MaxInt32 }

// decodeVLQ reads one base64 VLQ number.
func decodeVLQ(s string, i int) (value int64, next int, ok bool) {
	var bits uint64
	for shift := 0; i < len(s) && shift < 60; shift += 5 {
		digit := vlqDigits[s[i]]
		if digit < 0 {
			return 0, i, false
		}
		i++
		bits |= uint64(digit&31) << shift
		if digit&32 == 0 {
			value = int64(bits >> 1)
			if bits&1 != 0 {
				value = -value
			}
			return value, i, true
		}
	}
	return 0, i, false
}

var vlqDigits = func() (table [256]int8) {
	for i := range table {
		table[i] = -1
	}
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		table[c] = int8(i)
	}
	return table
}()

// lookup finds the original place of a generated one, all from 0.
func (m *sourceMap) lookup(line, col int) (segment, bool) {
	if line < 0 || line+1 >= len(m.lines) || col < 0 || col >= math.MaxInt32 {
		return segment{}, false
	}
	segs := m.segs[m.lines[line]:m.lines[line+1]]
	i := sort.Search(len(segs), func(i int) bool { return segs[i].col > int32(col) }) - 1
	if i < 0 || segs[i].source < 0 {
		return segment{}, false
	}
	return segs[i], true
}

// sourceMap returns the decoded map of a module, nil when there is none.
func (b *Bundle) sourceMap(key string) *sourceMap {
	lazy := b.maps[key]
	if lazy == nil {
		return nil
	}
	lazy.once.Do(func() {
		if m, err := decodeMap(b.Map(key)); err == nil {
			lazy.m = m
		}
	})
	return lazy.m
}

// shown is how a source of a map is shown: a path below the root.
func (b *Bundle) shown(source string) string {
	if display, ok := b.display[source]; ok {
		return display
	}
	return source
}

// Position finds the original place of line and col, both from 1, of a module.
// It reports false when the module has no source map or the place is code of
// the bundler's own.
func (b *Bundle) Position(key string, line, col int) (file string, origLine, origCol int, ok bool) {
	m := b.sourceMap(key)
	if m == nil {
		return "", 0, 0, false
	}
	seg, ok := m.lookup(line-1, col-1)
	if !ok {
		return "", 0, 0, false
	}
	return b.shown(m.sources[seg.source]), int(seg.line) + 1, int(seg.origCol) + 1, true
}

// The number of source lines that a frame shows around the one it is about.
const frameContext = 2

// Frame renders the source around a place of an original file, as Position and
// MapStack name it, with ANSI colours when color is set. It is empty when the
// file is not part of the bundle.
func (b *Bundle) Frame(file string, line, col int, color bool) string {
	text, ok := b.Source(file)
	if !ok || line < 1 {
		return ""
	}
	lines := strings.Split(text, "\n")
	if line > len(lines) {
		return ""
	}
	first := max(1, line-frameContext)
	last := min(len(lines), line+frameContext)
	window := make([]string, 0, last-first+1)
	for _, l := range lines[first-1 : last] {
		window = append(window, strings.TrimSuffix(l, "\r"))
	}
	return frameLines(window, first, line, max(1, col), 1, color)
}

// Source returns the text of an original file, as Position names it.
func (b *Bundle) Source(file string) (string, bool) {
	for _, key := range b.mapOrder {
		if b.packed[key] == nil {
			continue
		}
		if len(b.maps) > 1 && b.shown(key) != file {
			continue // module by module: a map has one source
		}
		var f mapFile
		if json.Unmarshal(b.Map(key), &f) != nil {
			continue
		}
		for i, source := range f.Sources {
			if b.shown(source) == file && i < len(f.SourcesContent) && f.SourcesContent[i] != nil {
				return strings.TrimSuffix(*f.SourcesContent[i], "\n//# sourceMappingURL=none:"), true
			}
		}
	}
	return "", false
}

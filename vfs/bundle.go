package vfs

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// ModuleType says how a module's bytes become a module.
type ModuleType uint8

// The types of modules, numbered like isolate.ModuleType.
const (
	ESModule ModuleType = iota
	JSON                // default export: the parsed value
	Text                // default export: a string
	Data                // default export: an ArrayBuffer
	Wasm                // default export: a WebAssembly.Module
)

// String names the type as the configuration does.
func (t ModuleType) String() string {
	switch t {
	case ESModule:
		return "esModule"
	case JSON:
		return "json"
	case Text:
		return "text"
	case Data:
		return "data"
	case Wasm:
		return "wasm"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Module is one module of a bundle.
type Module struct {
	Key    string // canonical path inside the bundle, such as "src/shop.js"
	Type   ModuleType
	Source []byte // not to be changed
}

// Bundle is a worker's code, ready for an engine. It does not change once made
// and may be used by any number of goroutines.
type Bundle struct {
	Main     string // key of the main module
	Modules  []Module
	Hash     [32]byte // of modules, source maps and how they resolve
	Warnings []Message
	// Root is the project's folder on the host, to which the paths of messages
	// and stacks are relative.
	Root string
	// Files and Dirs are what was read and where files were looked for, as
	// absolute host paths: a change in one of them may change the bundle.
	Files, Dirs []string

	given    bool // module by module, so that a name alone resolves too
	index    map[string]int
	packed   map[string][]byte // compressed source maps by key
	maps     map[string]*lazyMap
	display  map[string]string // how to show a source of a map, where that differs
	mapOrder []string          // keys, longest first
}

// Module returns a module by its key.
func (b *Bundle) Module(key string) (Module, bool) {
	i, ok := b.index[key]
	if !ok {
		return Module{}, false
	}
	return b.Modules[i], true
}

// Map returns the source map of a module as JSON, nil when it has none.
func (b *Bundle) Map(key string) []byte {
	packed := b.packed[key]
	if packed == nil {
		return nil
	}
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil
	}
	return data
}

// Size returns the number of bytes of all modules.
func (b *Bundle) Size() int64 {
	var n int64
	for _, m := range b.Modules {
		n += int64(len(m.Source))
	}
	return n
}

// Compressors are large: builds share them.
var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

func compress(data []byte) []byte {
	var out bytes.Buffer
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(&out)
	w.Write(data) // a bytes.Buffer takes everything
	w.Close()
	return bytes.Clone(out.Bytes())
}

// seal computes the indexes and the hash. maps holds the source maps by key.
func (b *Bundle) seal(maps map[string][]byte) {
	slices.SortFunc(b.Modules, func(x, y Module) int { return strings.Compare(x.Key, y.Key) })
	b.packed = make(map[string][]byte, len(maps))
	for key, m := range maps {
		b.packed[key] = compress(m)
	}
	h := sha256.New()
	part := func(data []byte) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(data)))
		h.Write(n[:])
		h.Write(data)
	}
	part([]byte(b.Main))
	part([]byte{btoi(b.given)})
	for _, m := range b.Modules {
		part([]byte(m.Key))
		part([]byte{byte(m.Type)})
		part(m.Source)
		part(maps[m.Key])
	}
	h.Sum(b.Hash[:0])
	b.reindex()
}

// reindex derives what is not handed from one process to another.
func (b *Bundle) reindex() {
	b.index = make(map[string]int, len(b.Modules))
	b.maps = make(map[string]*lazyMap, len(b.packed))
	b.mapOrder = b.mapOrder[:0]
	for i, m := range b.Modules {
		b.index[m.Key] = i
		b.mapOrder = append(b.mapOrder, m.Key)
		if b.packed[m.Key] != nil {
			b.maps[m.Key] = &lazyMap{}
		}
	}
	slices.SortStableFunc(b.mapOrder, func(x, y string) int { return len(y) - len(x) })
}

func btoi(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Resolve maps what a module imports to the key of a module, for static and
// dynamic imports alike. referrer is the importing module's key, with or
// without the engine's "file:///" before it; attrType is the import's "type"
// attribute. The errors are *RefusedError and may be shown to scripts. The
// runtime's own module answers to RuntimeKey.
func (b *Bundle) Resolve(specifier, referrer, attrType string) (string, error) {
	kind, refused := classify(specifier)
	if refused != nil {
		return "", refused
	}
	if kind == provided {
		if attrType != "" {
			return "", &RefusedError{Specifier: specifier, Why: fmt.Sprintf("it is code, not of type %q", clipSpecifier(attrType))}
		}
		return RuntimeKey, nil
	}
	if b.given {
		if _, ok := b.index[specifier]; ok {
			return b.typed(specifier, specifier, attrType)
		}
	}
	if kind == bare {
		if b.given {
			return "", &RefusedError{Specifier: specifier, Why: "the worker has no such module", Hint: b.offer()}
		}
		return "", b.computed(specifier)
	}
	key, ok := joinKey(strings.TrimPrefix(referrer, moduleURL), specifier)
	if !ok {
		return "", &RefusedError{Specifier: specifier, Why: "the path leaves the worker's modules"}
	}
	if _, ok := b.index[key]; !ok {
		if b.given {
			return "", &RefusedError{Specifier: specifier, Why: "the worker has no such module", Hint: b.offer()}
		}
		return "", b.computed(specifier)
	}
	return b.typed(key, specifier, attrType)
}

// computed is the error of an import that was not bundled: its specifier was
// not in the source, or it was refused when the bundle was made.
func (b *Bundle) computed(specifier string) error {
	e := missing(specifier)
	if e.Why == "no such file" {
		e.Why = "it is not in the bundle"
	}
	e.Hint = strings.Join(slices.DeleteFunc([]string{e.Hint, "only a constant specifier is bundled"}, func(s string) bool { return s == "" }), "; ")
	return e
}

// typed checks a module against the import's "type" attribute.
func (b *Bundle) typed(key, specifier, attrType string) (string, error) {
	m := b.Modules[b.index[key]]
	fits := attrType == ""
	switch attrType {
	case "json":
		fits = m.Type == JSON
	case "text":
		fits = m.Type == Text
	case "bytes":
		fits = m.Type == Data
		if bytesKey := key + bytesSuffix; fits {
			if _, ok := b.index[bytesKey]; ok {
				key = bytesKey
			}
		}
	}
	if !fits {
		return "", &RefusedError{Specifier: specifier, Why: fmt.Sprintf("it is of type %s, not %q", m.Type, clipSpecifier(attrType))}
	}
	return key, nil
}

// bytesSuffix marks the module that hands on a Data module as an Uint8Array.
const bytesSuffix = "?as-bytes"

// offer lists some modules for an error.
func (b *Bundle) offer() string {
	var keys []string
	for _, m := range b.Modules {
		if !strings.HasSuffix(m.Key, bytesSuffix) {
			keys = append(keys, fmt.Sprintf("%q", m.Key))
		}
	}
	const most = 5
	if len(keys) > most {
		keys = append(keys[:most], "...")
	}
	return "it has " + strings.Join(keys, ", ")
}

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// node is one value of the user's configuration beside what the schema says
// about it. Reading through nodes is lenient: what is missing or of the wrong
// type gives a default or nothing, since checkValue has reported it, so that
// the rest can be checked in the same run.
type node struct {
	l      *loader
	v      cue.Value
	schema *spec // nil where the schema says nothing
}

// path returns the node's config path.
func (n node) path() string { return n.v.Path().String() }

// pos returns where the value is written.
func (n node) pos() token.Pos {
	if src := valueNode(n.v); src != nil {
		if _, isStruct := src.(*ast.StructLit); !isStruct && src.Pos().IsValid() {
			return src.Pos()
		}
	}
	return n.v.Pos()
}

// mistake adds a mistake about the value.
func (n node) mistake(msg, hint string) { n.mistakeAt(n.pos(), msg, hint) }

// mistakeAt adds a mistake about the value that is shown elsewhere.
func (n node) mistakeAt(pos token.Pos, msg, hint string) { n.l.addAt(pos, n.path(), msg, hint) }

// bad adds a mistake from an error of a parser.
func (n node) bad(err error) {
	var pe *patternError
	if errors.As(err, &pe) {
		n.mistake(pe.Msg, pe.Hint)
		return
	}
	n.mistake(err.Error(), "")
}

// example returns the hint that the schema gives for a value.
func (n node) example() string {
	for _, q := range quantities {
		if !n.schema.has(q.attr) {
			continue
		}
		if q.hint == "" {
			return boundsHint(n.schema, q.attr)
		}
		return q.hint
	}
	if alts := n.schema.choices(); alts != nil {
		return "valid: " + strings.Join(alts, ", ")
	}
	if ex := n.schema.example(); ex != "" {
		return "such as " + ex
	}
	return ""
}

// field returns a field, ok when the user gave it.
func (n node) field(name string) (node, bool) {
	v := n.v.LookupPath(cue.MakePath(cue.Str(name)))
	return node{l: n.l, v: v, schema: n.schema.child(name)}, v.Exists()
}

// fields returns the fields that the user gave, in their order.
func (n node) fields() []node {
	it, err := n.v.Fields()
	if err != nil {
		return nil
	}
	var ns []node
	for it.Next() {
		ns = append(ns, node{l: n.l, v: it.Value(), schema: n.schema.child(it.Selector().Unquoted())})
	}
	return ns
}

// elements returns the elements of a list.
func (n node) elements() []node {
	it, err := n.v.List()
	if err != nil {
		return nil
	}
	var ns []node
	for it.Next() {
		ns = append(ns, node{l: n.l, v: it.Value(), schema: n.schema.elements()})
	}
	return ns
}

// name returns the last label of the node's path.
func (n node) name() string {
	sels := n.v.Path().Selectors()
	if len(sels) == 0 {
		return ""
	}
	last := sels[len(sels)-1]
	if last.LabelType() == cue.StringLabel {
		return last.Unquoted()
	}
	return last.String()
}

// only returns the one field of a union. None and several are mistakes; what
// says what the fields are.
func (n node) only(what string) (node, bool) {
	names := n.schema.names()
	var known []node
	given := n.fields()
	for _, f := range given {
		for _, name := range names {
			if f.name() == name {
				known = append(known, f)
			}
		}
	}
	switch {
	case len(known) == 1:
		return known[0], true
	case len(known) > 1:
		var both []string
		for _, f := range known {
			both = append(both, f.name())
		}
		known[1].mistakeAt(known[1].v.Pos(), fmt.Sprintf("%s is one thing, this is %s", what, strings.Join(both, " and ")), "keep one, or give each a name of its own")
	case len(given) == 0 && n.v.IncompleteKind() == cue.StructKind:
		n.mistake(fmt.Sprintf("%s is empty", what), list(names, "give it one of"))
	}
	return node{}, false
}

// text returns a string field, or def.
func (n node) text(name, def string) string {
	f, ok := n.field(name)
	if !ok {
		return def
	}
	s, err := f.v.String()
	if err != nil {
		return def
	}
	return s
}

// flag returns a boolean field, or def.
func (n node) flag(name string, def bool) bool {
	f, ok := n.field(name)
	if !ok {
		return def
	}
	b, err := f.v.Bool()
	if err != nil {
		return def
	}
	return b
}

// quantity returns a field whose schema has an attribute attr, with the default
// that the attribute states.
func (n node) quantity(name, attr string) int64 {
	f, ok := n.field(name)
	for _, q := range quantities {
		if q.attr != attr {
			continue
		}
		if ok {
			text := fmt.Sprint(f.v)
			if s, err := f.v.String(); err == nil {
				text = s
			}
			if v, err := q.parse(text); err == nil {
				return v
			}
		}
		def, _ := f.schema.attribute(attr, "default")
		v, _ := q.parse(def) // a test parses every default
		return v
	}
	return 0
}

func (n node) duration(name string) time.Duration { return time.Duration(n.quantity(name, "duration")) }
func (n node) size(name string) int64             { return n.quantity(name, "size") }
func (n node) number(name string) int             { return int(n.quantity(name, "int")) }

// file checks that the value, a path, is a readable file and returns it
// absolute.
func (n node) file() string {
	rel, err := n.v.String()
	if err != nil {
		return ""
	}
	abs := n.l.absolute(rel)
	switch info, err := os.Stat(abs); {
	case rel == "":
		n.mistake("the path is empty", n.example())
	case err != nil:
		n.mistake(fmt.Sprintf("file %q: %v", rel, plainError(err)), nearFile(abs))
	case info.IsDir():
		n.mistake(fmt.Sprintf("file %q: is a folder", rel), "name a file in it")
	default:
		if err := readable(abs); err != nil {
			n.mistake(fmt.Sprintf("file %q: %v", rel, plainError(err)), "")
		}
	}
	return abs
}

// watched is file, for what is read with the configuration.
func (n node) watched() string {
	abs := n.file()
	if abs != "" {
		n.l.files[abs] = true
	}
	return abs
}

// folder checks that the value, a path, is a folder and returns it absolute.
func (n node) folder() string {
	rel, err := n.v.String()
	if err != nil {
		return ""
	}
	abs := n.l.absolute(rel)
	switch info, err := os.Stat(abs); {
	case rel == "":
		n.mistake("the path is empty", n.example())
	case err != nil:
		n.mistake(fmt.Sprintf("folder %q: %v", rel, strings.ReplaceAll(plainError(err).Error(), "file", "folder")), nearFile(abs))
	case !info.IsDir():
		n.mistake(fmt.Sprintf("folder %q: is a file", rel), fmt.Sprintf("name its folder: %s", strconv.Quote(filepath.Dir(rel))))
	default:
		if err := readable(abs); err != nil {
			n.mistake(fmt.Sprintf("folder %q: %v", rel, plainError(err)), "")
		}
	}
	return abs
}

func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func (l *loader) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(l.dir, path)
}

// nearFile returns the hint for a path that does not exist: what lies beside it
// under a similar name, or how far the path does exist.
func nearFile(path string) string {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return fmt.Sprintf("there is no folder %q", filepath.Base(dir))
	}
	var names []string
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	for _, e := range entries {
		if strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())) == stem {
			return fmt.Sprintf("did you mean %q?", e.Name())
		}
		names = append(names, e.Name())
	}
	if near := nearest(base, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "paths are relative to the configuration's folder"
}

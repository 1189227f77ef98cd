package vfs

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// The compiler options that change what JavaScript a TypeScript file becomes.
// Everything else in a tsconfig.json is for editors and type checkers.
var compilerOptions = []string{
	"alwaysStrict", "baseUrl", "experimentalDecorators", "emitDecoratorMetadata",
	"jsx", "jsxFactory", "jsxFragmentFactory", "jsxImportSource", "paths", "strict",
	"target", "useDefineForClassFields", "verbatimModuleSyntax", "preserveValueImports",
	"importsNotUsedAsValues",
}

// pathsDir is where "paths" was found: its targets are relative to that folder
// when there is no baseUrl.
const pathsDir = "folder of paths"

// tsconfig reads the nearest tsconfig.json at or above dir and what it extends,
// through the jail, and returns one flat file whose paths are relative to the
// project root. esbuild would find and read these files itself, but would follow
// them anywhere on the host.
func (s *session) tsconfig(dir string) string {
	for d := dir; ; d = path.Dir(d) {
		file := path.Join(d, "tsconfig.json")
		s.lookedFor(file)
		_, err := s.jail.root.Lstat(filepath.FromSlash(file))
		if err == nil {
			options := map[string]any{}
			s.extendConfig(file, options, nil)
			if dir, ok := options[pathsDir].(string); ok && options["baseUrl"] == nil {
				options["paths"] = pathsFromRoot(dir, options["paths"])
			}
			delete(options, pathsDir)
			// JSX has to become JavaScript here, whatever the file leaves to a later tool.
			switch options["jsx"] {
			case "preserve", "react-native", "react-jsxdev":
				options["jsx"] = "react-jsx"
			}
			flat, err := json.Marshal(map[string]any{"compilerOptions": options})
			if err != nil {
				return "{}"
			}
			return string(flat)
		}
		if d == "." {
			return "{}"
		}
	}
}

// extendConfig lays the options of file, and below them those of the files that
// it extends, into options. Options that are there already stay.
func (s *session) extendConfig(file string, options map[string]any, above []string) {
	for _, f := range above {
		if f == file {
			return
		}
	}
	data, err := s.read(file)
	if err != nil {
		s.fail(Message{File: file, Text: "read tsconfig.json: " + err.Error()})
		return
	}
	var config struct {
		Extends         json.RawMessage `json:"extends"`
		CompilerOptions map[string]any  `json:"compilerOptions"`
	}
	plain := plainJSON(data)
	if err := json.Unmarshal(plain, &config); err != nil {
		s.fail(jsonMessage(file, plain, err))
		return
	}
	for _, name := range compilerOptions {
		value, ok := config.CompilerOptions[name]
		if _, taken := options[name]; !ok || taken {
			continue
		}
		switch name {
		case "baseUrl":
			if dir, ok := value.(string); ok {
				value = fromRoot(path.Dir(file), dir)
			}
		case "paths":
			options[pathsDir] = path.Dir(file)
		}
		options[name] = value
	}
	var list []string
	if json.Unmarshal(config.Extends, &list) != nil {
		var one string
		if json.Unmarshal(config.Extends, &one) == nil && one != "" {
			list = []string{one}
		}
	}
	// The last of several wins, and what is there already stays.
	for i := len(list) - 1; i >= 0; i-- {
		if base, ok := s.findConfig(file, list[i]); ok {
			s.extendConfig(base, options, append(above, file))
		}
	}
}

// findConfig resolves an "extends" of file.
func (s *session) findConfig(file, extends string) (string, bool) {
	kind, refused := classify(extends)
	if refused != nil {
		s.fail(Message{File: file, Text: "extends " + refused.text(), Hint: refused.Hint})
		return "", false
	}
	var tries []string
	if kind == relative {
		joined := path.Join(path.Dir(file), extends)
		if joined == ".." || strings.HasPrefix(joined, "../") {
			s.fail(Message{File: file, Text: `extends "` + clipSpecifier(extends) + `": ` + outsideText, Hint: outsideHint})
			return "", false
		}
		tries = []string{joined, joined + ".json", path.Join(joined, "tsconfig.json")}
	} else {
		for d := path.Dir(file); ; d = path.Dir(d) {
			pkg := path.Join(d, "node_modules", extends)
			tries = append(tries, pkg, pkg+".json", path.Join(pkg, "tsconfig.json"))
			if d == "." {
				break
			}
		}
	}
	for _, try := range tries {
		s.lookedFor(try)
		info, err := s.jail.root.Stat(filepath.FromSlash(try))
		if err == nil && !info.IsDir() {
			return try, true
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotDir) && kind == relative {
			s.fail(Message{File: file, Text: `extends "` + clipSpecifier(extends) + `": ` + plainError(err).Error()})
			return "", false
		}
	}
	s.warn(Message{File: file, Text: `extends "` + clipSpecifier(extends) + `": no such file`})
	return "", false
}

// fromRoot turns a path relative to dir into one relative to the project root.
func fromRoot(dir, p string) string {
	return "./" + path.Join(dir, p)
}

// pathsFromRoot does the same for the targets of "paths".
func pathsFromRoot(base string, value any) any {
	paths, ok := value.(map[string]any)
	if !ok {
		return value
	}
	out := make(map[string]any, len(paths))
	for alias, targets := range paths {
		list, ok := targets.([]any)
		if !ok {
			continue
		}
		moved := make([]any, 0, len(list))
		for _, target := range list {
			if t, ok := target.(string); ok {
				moved = append(moved, fromRoot(base, t))
			}
		}
		out[alias] = moved
	}
	return out
}

// plainJSON blanks the comments and trailing commas of a tsconfig.json, keeping
// every byte's place.
func plainJSON(src []byte) []byte {
	out := append([]byte(nil), src...)
	if len(out) >= 3 && out[0] == 0xef && out[1] == 0xbb && out[2] == 0xbf {
		copy(out, "   ")
	}
	comma := -1 // place of a comma after which nothing was seen
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := len(out)
			if n := strings.Index(string(out[i+2:]), "*/"); n >= 0 {
				end = i + 2 + n + 2
			}
			for ; i < end; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		default:
			comma = -1
		}
	}
	return out
}

// jsonMessage places an error of encoding/json.
func jsonMessage(file string, src []byte, err error) Message {
	m := Message{File: file, Text: "parse JSON: " + err.Error()}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset - 1
	case errors.As(err, &kind):
		offset = kind.Offset - 1
	}
	if offset >= 0 {
		m.Line, m.Col, m.LineText = placeOf(src, int(offset))
	}
	return m
}

// placeOf turns a byte offset into a line and a column, both from 1.
func placeOf(src []byte, offset int) (line, col int, text string) {
	offset = max(0, min(offset, len(src)))
	before := string(src[:offset])
	line = strings.Count(before, "\n") + 1
	start := strings.LastIndexByte(before, '\n') + 1
	text, _, _ = strings.Cut(string(src[start:]), "\n")
	text = strings.TrimSuffix(text, "\r")
	return line, utf16Col(text, offset-start), text
}

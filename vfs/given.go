package vfs

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// nsGiven holds the modules that are given one by one while their imports are
// checked.
const nsGiven = "given"

// given is one such module while a bundle is made.
type given struct {
	Module
	display string // how messages show it
	loader  api.Loader
}

// buildGiven takes the modules of the options into b, one by one, and returns
// the source maps.
func (s *session) buildGiven(b *Bundle) map[string][]byte {
	b.given = true
	list := s.collectGiven()
	if len(list) == 0 || len(s.messages) > 0 {
		return nil
	}
	b.Main = list[0].Key
	if s.opts.Main != "" {
		b.Main = path.Clean(s.opts.Main)
	}
	byKey := make(map[string]*given, len(list))
	for _, g := range list {
		byKey[g.Key] = g
	}
	main := byKey[b.Main]
	switch {
	case main == nil:
		s.fail(Message{Text: fmt.Sprintf("find main module %q: no module has that name", s.opts.Main)})
		return nil
	case main.Type != ESModule:
		s.fail(Message{Text: fmt.Sprintf("find main module %q: it is of type %s", b.Main, main.Type), Hint: "the main module is an esModule"})
		return nil
	}
	tsconfig := s.tsconfig(s.base)
	asBytes := s.checkImports(list, byKey, tsconfig)
	maps := s.transformGiven(list, tsconfig)
	b.display = map[string]string{}
	for _, g := range list {
		b.Modules = append(b.Modules, g.Module)
		if g.display != g.Key {
			b.display[g.Key] = g.display
		}
	}
	for key := range asBytes {
		source := fmt.Sprintf("import b from %s; export default new Uint8Array(b);", quote(key))
		b.Modules = append(b.Modules, Module{Key: key + bytesSuffix, Type: ESModule, Source: []byte(source)})
	}
	return maps
}

// collectGiven reads the modules and checks their names and contents.
func (s *session) collectGiven() []*given {
	var list []*given
	seen := map[string]bool{}
	if len(s.opts.Modules) > s.opts.MaxFiles {
		s.fail(Message{Text: fmt.Sprintf("the worker has more than %d modules", s.opts.MaxFiles)})
		return nil
	}
	for _, spec := range s.opts.Modules {
		bad := func(why, hint string) {
			s.fail(Message{Text: fmt.Sprintf("read module %q: %s", clipSpecifier(spec.Name), why), Hint: hint})
		}
		key := path.Clean(spec.Name)
		if kind, refused := classify(spec.Name); refused != nil || kind == provided || key == "." || key == ".." || strings.HasPrefix(key, "../") {
			bad("the name is not a relative path", `name it like "lib/a.js"`)
			continue
		}
		if seen[key] {
			bad("the name is taken", "")
			continue
		}
		seen[key] = true
		g := &given{Module: Module{Key: key, Type: spec.Type, Source: spec.Source}, display: key}
		name := spec.Name
		if spec.File != "" {
			data, rel, why, hint := s.readGiven(spec)
			if why != "" {
				bad(why, hint)
				continue
			}
			g.Source, g.display, name = data, rel, rel
		}
		if !s.checkGiven(g, name) {
			continue
		}
		list = append(list, g)
	}
	return list
}

// readGiven reads the file of a module.
func (s *session) readGiven(spec ModuleSpec) (data []byte, rel, why, hint string) {
	if filepath.IsAbs(spec.File) {
		return nil, "", "absolute paths are refused", "give it relative to the config"
	}
	rel = path.Join(s.base, filepath.ToSlash(spec.File))
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return nil, "", outsideText, outsideHint
	}
	s.lookedFor(rel)
	real, err := s.jail.real(filepath.Join(s.jail.dir, filepath.FromSlash(rel)))
	if err == errOutside {
		return nil, "", outsideText, outsideHint
	}
	if err != nil {
		return nil, "", fmt.Sprintf("read file %q: %v", rel, plainError(err)), ""
	}
	if _, refused := s.admit(filepath.Join(s.jail.dir, filepath.FromSlash(real)), spec.Type == ESModule || spec.Type == Wasm); refused != nil {
		return nil, "", refused.Why, refused.Hint
	}
	data, err = s.read(real)
	if err != nil {
		return nil, "", fmt.Sprintf("read file %q: %v", rel, err), ""
	}
	return data, real, "", ""
}

// checkGiven checks the contents against the type.
func (s *session) checkGiven(g *given, name string) bool {
	switch g.Type {
	case ESModule:
		loader, ok := loaders[path.Ext(name)]
		if !ok || !isScript(loader) {
			loader = api.LoaderJS
		}
		g.loader = loader
	case JSON:
		var value any
		if err := json.Unmarshal(g.Source, &value); err != nil {
			s.fail(jsonMessage(g.display, g.Source, err))
			return false
		}
	case Text:
		if !utf8.Valid(g.Source) {
			s.fail(Message{File: g.display, Text: "read text: it is not UTF-8", Hint: "give it as data"})
			return false
		}
	case Data, Wasm:
	default:
		s.fail(Message{File: g.display, Text: "read module: " + g.Type.String() + " is unknown"})
		return false
	}
	return true
}

// checkImports resolves every import among the modules and refuses what leads
// nowhere. It returns the Data modules that are imported as bytes.
func (s *session) checkImports(list []*given, byKey map[string]*given, tsconfig string) map[string]bool {
	asBytes := map[string]bool{}
	check := &Bundle{given: true, index: map[string]int{}}
	for i, g := range list {
		check.Modules = append(check.Modules, g.Module)
		check.index[g.Key] = i
	}
	opts := s.bundleOptions()
	opts.TsconfigRaw = tsconfig
	opts.TreeShaking = api.TreeShakingFalse
	opts.Sourcemap = api.SourceMapNone
	for i, g := range list {
		if g.Type == ESModule {
			opts.EntryPointsAdvanced = append(opts.EntryPointsAdvanced, api.EntryPoint{InputPath: g.Key, OutputPath: fmt.Sprint("m", i)})
		}
	}
	opts.Plugins = []api.Plugin{{Name: "vfs", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			if a.Kind == api.ResolveEntryPoint {
				return api.OnResolveResult{Path: a.Path, Namespace: nsGiven}, nil
			}
			attr, refused := importType(a.Path, a.With)
			var key string
			if refused == nil {
				var err error
				if key, err = check.Resolve(a.Path, a.Importer, attr); err != nil {
					refused = err.(*RefusedError)
				}
			}
			if refused == nil {
				if attr == "bytes" {
					s.mu.Lock()
					asBytes[key] = true
					s.mu.Unlock()
				}
				return api.OnResolveResult{Path: a.Path, External: true}, nil
			}
			if !lazy(a.Kind) {
				return api.OnResolveResult{Errors: []api.Message{{Text: refused.text(), Detail: refused}}}, nil
			}
			return api.OnResolveResult{Path: a.Path, External: true,
				Warnings: []api.Message{{Text: refused.text() + "; this throws when it is reached", Detail: refused}}}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			g := byKey[a.Path]
			if a.Namespace != nsGiven || g == nil {
				return api.OnLoadResult{Errors: []api.Message{{Text: "the specifier is refused"}}}, nil
			}
			source := string(g.Source)
			return api.OnLoadResult{Contents: &source, Loader: g.loader, ResolveDir: s.nowhere()}, nil
		})
	}}}
	r := api.Build(opts)
	for _, m := range r.Errors {
		s.placeGiven(m.Location, byKey)
		if m.Detail == nil && strings.HasPrefix(m.Text, "Could not resolve ") {
			continue // a computed import, which is looked up when it runs
		}
		s.fail(s.fromAPI(m))
	}
	for _, m := range r.Warnings {
		s.placeGiven(m.Location, byKey)
		s.warn(s.fromAPI(m))
	}
	return asBytes
}

// placeGiven makes a location show the file of a module.
func (s *session) placeGiven(l *api.Location, byKey map[string]*given) {
	if l == nil {
		return
	}
	key, ok := strings.CutPrefix(l.File, nsGiven+":")
	if g := byKey[key]; ok && g != nil {
		l.File, l.Namespace = g.display, "file"
	}
}

// nowhere is a folder that does not exist, far below the root, so that patterns
// of computed imports match nothing on the host.
func (s *session) nowhere() string {
	name := ".no-such-folder"
	for {
		if _, err := s.jail.root.Lstat(name); err != nil {
			return filepath.Join(s.jail.dir, name+strings.Repeat("/none", 64))
		}
		name += "-"
	}
}

// transformGiven turns each module of code into what the engine runs.
func (s *session) transformGiven(list []*given, tsconfig string) map[string][]byte {
	maps := map[string][]byte{}
	if len(s.messages) > 0 {
		return maps
	}
	base := s.bundleOptions()
	for _, g := range list {
		if g.Type != ESModule {
			continue
		}
		source := string(g.Source)
		r := api.Transform(source, api.TransformOptions{
			Target: base.Target, Supported: base.Supported, Format: api.FormatESModule, Platform: api.PlatformNeutral,
			JSX: base.JSX, Charset: base.Charset, LegalComments: base.LegalComments, Define: base.Define,
			Sourcemap: api.SourceMapExternal, SourcesContent: base.SourcesContent, LogLevel: api.LogLevelSilent,
			Loader: g.loader, Sourcefile: g.Key, TsconfigRaw: tsconfig,
		})
		for _, m := range r.Errors {
			if m.Location != nil {
				m.Location.File, m.Location.Namespace = g.display, "file"
			}
			s.fail(s.fromAPI(m))
		}
		g.Source = r.Code
		maps[g.Key] = r.Map
	}
	return maps
}

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// BuildOptions says what to make a bundle from.
type BuildOptions struct {
	// Root is the folder that paths are relative to: that of the config.
	Root string
	// Main is the entry point, bundled with everything that it imports. With
	// Modules it is the name of the main one; empty means the first.
	Main string
	// Modules are given one by one and not bundled.
	Modules []ModuleSpec
	// Within, when set, is the only folder, relative to Root, that the worker's
	// own code may import from; packages still come from node_modules.
	Within string
	// Private are host files that no code may import, such as the config's own.
	Private []string
	// Dev defines process.env.NODE_ENV as "development" instead of "production".
	Dev bool
	// MaxBytes bounds the files read and the modules made, each together; 0 means
	// DefaultBuildBytes. MaxFiles bounds their number; 0 means DefaultBuildFiles.
	MaxBytes int64
	MaxFiles int
}

// ModuleSpec is one module of a worker that is not bundled.
type ModuleSpec struct {
	Name   string // its path in the bundle, such as "lib/a.js"
	Type   ModuleType
	File   string // relative to Root; when empty, Source is the module
	Source []byte
}

// The defaults of BuildOptions.
const (
	DefaultBuildBytes = 64 << 20
	DefaultBuildFiles = 20_000
)

// Build makes a bundle. What is wrong with the worker's code comes back as a
// *BuildError, all at once.
//
// The bundler recurses over the source and reads what the host's file system
// holds, so code of strangers is better built by a Builder with a Command.
func Build(opts BuildOptions) (*Bundle, error) {
	b, _, err := build(opts)
	return b, err
}

// build also returns the session, for a cache to tell whether it still holds.
func build(opts BuildOptions) (*Bundle, *session, error) {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = DefaultBuildBytes
	}
	if opts.MaxFiles <= 0 {
		opts.MaxFiles = DefaultBuildFiles
	}
	s, err := newSession(opts)
	if err != nil {
		return nil, nil, err
	}
	defer s.jail.Close()
	b := &Bundle{Root: s.jail.dir}
	var maps map[string][]byte
	if len(opts.Modules) > 0 {
		maps = s.buildGiven(b)
	} else {
		maps = s.buildMain(b)
	}
	b.Files, b.Dirs = s.watched()
	s.messages, s.warnings = sortMessages(s.messages), sortMessages(s.warnings)
	if size := b.Size(); len(s.messages) == 0 && size > opts.MaxBytes {
		s.messages = append(s.messages, Message{Text: fmt.Sprintf("the worker's modules take %d bytes, more than %s", size, sizeText(opts.MaxBytes))})
	}
	if len(s.messages) > 0 {
		return nil, s, &BuildError{Messages: s.messages, Warnings: s.warnings, Files: b.Files, Dirs: b.Dirs}
	}
	b.Warnings = s.warnings
	b.seal(maps)
	return b, s, nil
}

// buildMain bundles Main into b and returns the source maps.
func (s *session) buildMain(b *Bundle) map[string][]byte {
	entry, ok := s.entry(s.opts.Main)
	if !ok {
		return nil
	}
	s.mainKey = strings.TrimSuffix(entry, path.Ext(entry)) + ".js"
	tsconfig := s.tsconfig(path.Dir(entry))
	if m := s.guard(path.Dir(entry)); m != nil {
		s.fail(*m)
	}
	if len(s.messages) > 0 {
		return nil
	}
	opts := s.bundleOptions()
	opts.TsconfigRaw = tsconfig
	opts.EntryPointsAdvanced = []api.EntryPoint{{InputPath: filepath.Join(s.jail.dir, filepath.FromSlash(entry)), OutputPath: "main"}}
	r := api.Build(opts)
	s.take(r.Errors, r.Warnings)
	if len(s.messages) > 0 {
		return nil
	}
	maps := map[string][]byte{}
	b.Main = s.mainKey
	for _, f := range r.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			maps[s.mainKey] = f.Contents
			continue
		}
		b.Modules = append(b.Modules, Module{Key: s.mainKey, Type: ESModule, Source: f.Contents})
	}
	for key, m := range s.assets {
		// What tree shaking dropped is not kept in memory.
		if code := b.Modules[0].Source; strings.Contains(string(code), path.Base(key)) {
			m.Source = slices.Clip(m.Source)
			b.Modules = append(b.Modules, m)
		}
	}
	return maps
}

// entry finds Main below the project root.
func (s *session) entry(name string) (string, bool) {
	bad := func(why, hint string) (string, bool) {
		s.fail(Message{Text: fmt.Sprintf("read main %q: %s", name, why), Hint: hint})
		return "", false
	}
	if name == "" {
		return bad("the name is empty", "name the file that exports the handlers")
	}
	if filepath.IsAbs(name) {
		return bad("absolute paths are refused", "give it relative to the config")
	}
	rel := path.Join(s.base, filepath.ToSlash(name))
	if rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return bad(outsideText, outsideHint)
	}
	s.lookedFor(rel)
	if loader, ok := loaderOf(rel, ""); !ok || !isScript(loader) {
		return bad(fmt.Sprintf("files of type %q hold no code", path.Ext(rel)), "main is a .js, .mjs, .cjs, .jsx, .ts, .mts, .cts or .tsx file")
	}
	real, err := s.jail.real(filepath.Join(s.jail.dir, filepath.FromSlash(rel)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad("no such file", s.similar(rel))
	case err == errOutside:
		return bad(outsideText, outsideHint)
	case err != nil:
		return bad(plainError(err).Error(), "")
	}
	if _, refused := s.admit(filepath.Join(s.jail.dir, filepath.FromSlash(real)), true); refused != nil {
		return bad(refused.Why, refused.Hint)
	}
	if info, err := s.jail.root.Stat(filepath.FromSlash(real)); err == nil && info.IsDir() {
		return bad("is a folder", "name a file in it")
	}
	return real, true
}

// similar names a file that the author may have meant: the same name with
// another ending.
func (s *session) similar(rel string) string {
	dir, err := s.jail.root.Open(filepath.FromSlash(path.Dir(rel)))
	if err != nil {
		return ""
	}
	defer dir.Close()
	names, err := dir.Readdirnames(1000)
	if err != nil {
		return ""
	}
	slices.Sort(names)
	stem := strings.TrimSuffix(path.Base(rel), path.Ext(rel))
	for _, n := range names {
		if loader, ok := loaderOf(n, ""); ok && isScript(loader) && strings.EqualFold(strings.TrimSuffix(n, path.Ext(n)), stem) {
			return fmt.Sprintf("the folder has %q", n)
		}
	}
	return ""
}

// conditions are the keys of "exports" that the runtime answers to. esbuild adds
// "import" or "require" by the kind of import, "browser" and "default".
var conditions = []string{"edge", "edge-light", "workerd", "worker", "browser", "module"}

// extensions are tried after a specifier that names no file.
var extensions = []string{".tsx", ".ts", ".mts", ".jsx", ".js", ".mjs", ".cjs", ".cts", ".json"}

// bundleOptions are the options that every bundle shares.
func (s *session) bundleOptions() api.BuildOptions {
	mode := `"production"`
	if s.opts.Dev {
		mode = `"development"`
	}
	return api.BuildOptions{
		AbsWorkingDir: s.jail.dir,
		Outdir:        s.jail.dir,
		Bundle:        true,
		Format:        api.FormatESModule,
		// What the engine lacks of later years, decorators above all, is lowered.
		Target:            api.ES2022,
		Supported:         supported,
		Platform:          api.PlatformBrowser,
		Conditions:        conditions,
		MainFields:        []string{"browser", "module", "main"},
		ResolveExtensions: extensions,
		JSX:               api.JSXAutomatic,
		TreeShaking:       api.TreeShakingTrue,
		// One character over 0xff would make the engine keep the source twice as wide.
		Charset:        api.CharsetASCII,
		LegalComments:  api.LegalCommentsNone,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentInclude,
		Define:         map[string]string{"process.env.NODE_ENV": mode},
		LogLevel:       api.LogLevelSilent,
		LogOverride:    map[string]api.LogLevel{"unsupported-source-map-comment": api.LogLevelSilent},
		Plugins:        []api.Plugin{s.plugin()},
	}
}

// supported names what the engine has although it is younger than the target.
var supported = map[string]bool{"import-attributes": true, "regexp-set-notation": true, "regexp-match-indices": true}

// take converts the messages of esbuild.
func (s *session) take(errs, warnings []api.Message) {
	for _, m := range errs {
		s.fail(s.fromAPI(m))
	}
	for _, m := range warnings {
		s.warn(s.fromAPI(m))
	}
}

// fromAPI converts a message of esbuild and drops what would show the host.
func (s *session) fromAPI(m api.Message) Message {
	out := Message{Text: m.Text}
	if l := m.Location; l != nil {
		if file := s.displayFile(l.Namespace, l.File); file != "" {
			out.File, out.Line, out.LineText = file, l.Line, l.LineText
			out.Col = utf16Col(l.LineText, l.Column)
			out.Length = utf16Col(l.LineText, l.Column+l.Length) - out.Col
		}
	}
	if own, ok := m.Detail.(Message); ok {
		return own
	}
	if e, ok := m.Detail.(*RefusedError); ok {
		if written, ok := writtenSpecifier(m.Location); ok && e.fromFile {
			shown := *e
			shown.Specifier = written
			out.Text = shown.text()
		}
		out.Hint = e.Hint
		return out
	}
	if specifier, ok := unresolved(m.Text); ok {
		e := s.missingFrom(path.Dir(out.File), specifier)
		if in := "/" + out.File; isNode(specifier) && strings.Contains(in, "/node_modules/") {
			e = needsNode(e, in)
		}
		out.Text, out.Hint = e.text(), e.Hint
		return out
	}
	for _, n := range m.Notes {
		if n.Location == nil && out.Hint == "" {
			out.Hint = n.Text
		}
	}
	out.Text = strings.ReplaceAll(out.Text, s.jail.dir+string(filepath.Separator), "")
	out.Hint = strings.ReplaceAll(out.Hint, s.jail.dir+string(filepath.Separator), "")
	return out
}

// writtenSpecifier reads the string that a location points at.
func writtenSpecifier(l *api.Location) (string, bool) {
	if l == nil || l.Column+l.Length > len(l.LineText) || l.Length < 2 {
		return "", false
	}
	text := l.LineText[l.Column : l.Column+l.Length]
	if q := text[0]; (q != '"' && q != '\'' && q != '`') || text[len(text)-1] != q {
		return "", false
	}
	return text[1 : len(text)-1], true
}

// displayFile turns the file of an esbuild location into a path below the root,
// or into nothing.
func (s *session) displayFile(namespace, file string) string {
	file = filepath.ToSlash(file)
	if namespace != "" && namespace != "file" {
		return ""
	}
	if filepath.IsAbs(file) || file == ".." || strings.HasPrefix(file, "../") || strings.Contains(file, ":") && strings.HasPrefix(file, nsRefused) {
		return ""
	}
	return file
}

// unresolved takes the specifier out of esbuild's error for one that it finds
// nothing for. esbuild gives its errors no other mark.
func unresolved(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, "Could not resolve ")
	if !ok {
		return "", false
	}
	var specifier string
	if _, err := fmt.Sscanf(rest, "%q", &specifier); err != nil {
		return "", false
	}
	return specifier, true
}

// toAPI hands a message through esbuild unchanged.
func toAPI(m Message) api.Message {
	return api.Message{Text: m.Text, Detail: m}
}

// sortMessages orders by place and drops what was said twice.
func sortMessages(list []Message) []Message {
	slices.SortStableFunc(list, func(a, b Message) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
	return slices.Compact(list)
}

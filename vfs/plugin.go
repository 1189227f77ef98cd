package vfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// The namespaces of modules that are made here.
const (
	nsRefused = "refused" // throws why an import leads nowhere
	nsWrap    = "wrap"    // hands on a module that stays outside of the bundle
	nsEmpty   = "empty"   // a module that its package turns off
)

// passThrough marks the look-ups that the plugin itself hands to esbuild.
type passThrough struct{}

type resolveKey struct {
	dir, specifier string
	kind           api.ResolveKind
}

type resolveAnswer struct {
	rel     string // relative to the root
	off     bool   // turned off by its package
	refused *RefusedError
}

// plugin puts the resolver and the jail between esbuild and the host.
func (s *session) plugin() api.Plugin {
	return api.Plugin{Name: "vfs", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			return s.onResolve(b, a), nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: ".*"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			return s.onLoad(a), nil
		})
	}}
}

// lazy reports whether an import happens when its place is reached, so that the
// script can catch its failure.
func lazy(kind api.ResolveKind) bool {
	return kind == api.ResolveJSRequireCall || kind == api.ResolveJSDynamicImport || kind == api.ResolveJSRequireResolve
}

func (s *session) onResolve(b api.PluginBuild, a api.OnResolveArgs) api.OnResolveResult {
	if _, ok := a.PluginData.(passThrough); ok || a.Kind == api.ResolveEntryPoint {
		return api.OnResolveResult{}
	}
	if a.Namespace == nsWrap {
		return api.OnResolveResult{Path: a.Path, External: true}
	}
	kind, refused := classify(a.Path)
	if refused != nil && !s.replaced(a) {
		return s.refuse(a, refused)
	}
	if kind == provided {
		if a.Kind == api.ResolveJSRequireCall {
			return wrap(a.Path, fmt.Sprintf("export * from %q", a.Path))
		}
		return api.OnResolveResult{Path: a.Path, External: true}
	}
	attr, refused := importType(a.Path, a.With)
	if refused != nil {
		return s.refuse(a, refused)
	}
	if m := s.guardTarget(a, kind); m != nil {
		return api.OnResolveResult{Errors: []api.Message{toAPI(*m)}}
	}
	typ, asset := assetType(a.Path, attr)
	if !asset && !lazy(a.Kind) && !s.scoped(a) {
		return api.OnResolveResult{} // esbuild resolves it, and onLoad judges the file
	}
	specifier := a.Path
	if asset {
		specifier = strings.TrimSuffix(specifier, "?module")
	}
	answer := s.resolve(b, a, specifier)
	switch {
	case answer.refused != nil:
		return s.refuse(a, answer.refused)
	case answer.off:
		return api.OnResolveResult{Path: a.Path, Namespace: nsEmpty, SideEffects: api.SideEffectsFalse}
	case asset:
		return s.asset(a, answer.rel, typ, attr)
	}
	return api.OnResolveResult{}
}

// replaced reports whether the importing package maps a specifier that would be
// refused, such as "node:fs", to something of its own.
func (s *session) replaced(a api.OnResolveArgs) bool {
	if !strings.HasPrefix(a.Path, "node:") {
		return false
	}
	_, p := s.scopeOf(a)
	if p == nil {
		return false
	}
	return p.off[a.Path] || p.off[strings.TrimPrefix(a.Path, "node:")]
}

func (s *session) scopeOf(a api.OnResolveArgs) (string, *pkg) {
	rel, ok := s.jail.rel(a.ResolveDir)
	if !ok || a.ResolveDir == "" {
		return "", nil
	}
	return s.scope(rel)
}

// scoped reports whether the importer's package turns modules off. esbuild
// tells a plugin nothing of that, so such imports are looked up here.
func (s *session) scoped(a api.OnResolveArgs) bool {
	_, p := s.scopeOf(a)
	return p != nil && p.off != nil
}

// resolve asks esbuild where a specifier leads, and judges the answer.
func (s *session) resolve(b api.PluginBuild, a api.OnResolveArgs, specifier string) resolveAnswer {
	if _, p := s.scopeOf(a); p != nil && (p.off[specifier] || p.off[strings.TrimPrefix(specifier, "node:")]) {
		return resolveAnswer{off: true}
	}
	key := resolveKey{a.ResolveDir, specifier, a.Kind}
	s.mu.Lock()
	answer, known := s.resolved[key]
	s.mu.Unlock()
	if known {
		return answer
	}
	r := b.Resolve(specifier, api.ResolveOptions{
		Importer: a.Importer, Namespace: a.Namespace, ResolveDir: a.ResolveDir,
		Kind: a.Kind, With: a.With, PluginData: passThrough{},
	})
	answer = s.judge(specifier, a, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resolved[key] = answer
	return answer
}

func (s *session) judge(specifier string, a api.OnResolveArgs, r api.ResolveResult) resolveAnswer {
	if len(r.Errors) > 0 || r.External || r.Path == "" || r.Namespace == "dataurl" {
		dir, _ := s.jail.rel(a.ResolveDir)
		return resolveAnswer{refused: s.missingFrom(dir, specifier)}
	}
	if r.Namespace != "file" {
		return resolveAnswer{off: true}
	}
	rel, refused := s.admit(r.Path, true)
	if refused != nil {
		refused.Specifier = specifier
		return resolveAnswer{refused: refused}
	}
	return resolveAnswer{rel: rel, off: s.turnedOff(rel)}
}

// missing is the error of a specifier that esbuild finds nothing for.
func missing(specifier string) *RefusedError {
	if kind, refused := classify(specifier); refused != nil {
		return refused
	} else if kind == bare {
		return refuseMissing(specifier)
	}
	return &RefusedError{Specifier: specifier, Why: "no such file"}
}

// missingFrom is missing, with what a look around dir, relative to the root,
// adds to it.
func (s *session) missingFrom(dir, specifier string) *RefusedError {
	e := missing(specifier)
	kind, refused := classify(specifier)
	if refused != nil || isNode(specifier) || dir == "" {
		return e
	}
	if kind == relative {
		e.Hint = s.similar(path.Join(dir, specifier))
		return e
	}
	for _, end := range append([]string{""}, extensions...) {
		info, err := s.jail.root.Stat(filepath.FromSlash(path.Join(dir, specifier+end)))
		if err == nil && info.Mode().IsRegular() {
			e.Hint = fmt.Sprintf("for the file beside it write %q", "./"+specifier)
			return e
		}
	}
	name := packageName(specifier)
	for d := dir; name != "" && name[0] != '.'; d = path.Dir(d) {
		if s.watchDir(path.Join(d, "node_modules", name)) {
			e.Why = fmt.Sprintf("package %q is installed and has no such entry for this runtime", name)
			e.Hint = `see "exports" and "main" in its package.json`
			break
		}
		if d == "." {
			break
		}
	}
	return e
}

// guardTarget looks at the folders that esbuild will read a package.json in
// when it follows a specifier, and has them watched.
func (s *session) guardTarget(a api.OnResolveArgs, kind specifierKind) *Message {
	dir, ok := s.jail.rel(a.ResolveDir)
	if !ok || a.ResolveDir == "" {
		return nil
	}
	if m := s.guard(dir); m != nil {
		return m
	}
	if kind == relative {
		target := path.Join(dir, a.Path)
		if strings.HasPrefix(target, "..") {
			return nil
		}
		s.lookedFor(target)
		return s.guard(target)
	}
	for d := dir; ; d = path.Dir(d) {
		modules := path.Join(d, "node_modules")
		if path.Base(d) != "node_modules" && s.watchDir(modules) {
			target := path.Join(modules, a.Path)
			if !strings.HasPrefix(target, modules+"/") {
				return nil
			}
			if m := s.guard(target); m != nil {
				return m
			}
		}
		if d == "." {
			s.watchDir(d) // where npm would make node_modules
			return nil
		}
	}
}

// refuse turns an import down: at once when it is static, and else when the
// script reaches it, since packages probe for what they can do without.
func (s *session) refuse(a api.OnResolveArgs, e *RefusedError) api.OnResolveResult {
	inPackage := strings.Contains(filepath.ToSlash(a.Importer), "/node_modules/")
	if inPackage && isNode(a.Path) {
		e = needsNode(e, a.Importer)
	}
	if !lazy(a.Kind) {
		return api.OnResolveResult{Errors: []api.Message{{Text: e.text(), Detail: e}}}
	}
	result := api.OnResolveResult{}
	switch a.Kind {
	case api.ResolveJSRequireResolve:
		return api.OnResolveResult{Path: a.Path, External: true}
	case api.ResolveJSRequireCall:
		result.Namespace, result.PluginData = nsRefused, refusal{e, "MODULE_NOT_FOUND"}
		result.Path = "require " + clipSpecifier(a.Path)
	default:
		result.Namespace, result.PluginData = nsRefused, refusal{e, "ERR_MODULE_NOT_FOUND"}
		result.Path = "import " + clipSpecifier(a.Path)
	}
	if !inPackage {
		result.Warnings = []api.Message{{Text: e.text() + "; this throws when it is reached", Detail: e}}
	}
	return result
}

// needsNode makes the hint of a refused Node.js module one about the package that
// asks for it: its user cannot change its code.
func needsNode(e *RefusedError, importer string) *RefusedError {
	importer = filepath.ToSlash(importer)
	name := packageName(importer[strings.LastIndex(importer, "/node_modules/")+len("/node_modules/"):])
	return &RefusedError{Specifier: e.Specifier, Why: e.Why,
		Hint: fmt.Sprintf("package %q needs Node.js: look for an entry of it for browsers, or for a package written for the web platform", name)}
}

type refusal struct {
	err  *RefusedError
	code string
}

func wrap(name, source string) api.OnResolveResult {
	return api.OnResolveResult{Path: name, Namespace: nsWrap, PluginData: source}
}

// importType reads the "type" attribute of an import.
func importType(specifier string, with map[string]string) (string, *RefusedError) {
	for key, value := range with {
		if key != "type" {
			return "", &RefusedError{Specifier: specifier, Why: fmt.Sprintf("the import attribute %q is unknown", key), Hint: `only "type" is supported`}
		}
		if value != "json" && value != "text" && value != "bytes" {
			return "", &RefusedError{Specifier: specifier, Why: fmt.Sprintf("the import type %q is unknown", value), Hint: `supported are "json", "text" and "bytes"`}
		}
	}
	return with["type"], nil
}

// assetType reports whether an import stays a module of its own, by its name and
// its "type" attribute.
func assetType(specifier, attr string) (ModuleType, bool) {
	if attr == "bytes" {
		return Data, true
	}
	if attr != "" {
		return 0, false
	}
	switch path.Ext(strings.TrimSuffix(specifier, "?module")) {
	case ".wasm":
		return Wasm, true
	case ".bin", ".dat":
		return Data, true
	}
	return 0, false
}

// asset takes a file in as a module of its own.
func (s *session) asset(a api.OnResolveArgs, rel string, typ ModuleType, attr string) api.OnResolveResult {
	_, refused := s.admit(filepath.Join(s.jail.dir, filepath.FromSlash(rel)), false)
	if refused != nil {
		refused.Specifier = a.Path
		return s.refuse(a, refused)
	}
	key := rel
	if named, _ := assetType(rel, ""); typ == Data && named != Data {
		key += "?bytes" // the same file may be imported as code too
	}
	s.mu.Lock()
	_, known := s.assets[key]
	s.mu.Unlock()
	if !known {
		data, err := s.read(rel)
		if err != nil {
			return s.refuse(a, &RefusedError{Specifier: a.Path, Why: err.Error()})
		}
		s.mu.Lock()
		s.assets[key] = Module{Key: key, Type: typ, Source: data}
		s.mu.Unlock()
	}
	specifier := relativeSpecifier(s.mainKey, key)
	switch {
	case attr == "bytes":
		return wrap(key+" as bytes", fmt.Sprintf("import b from %s; export default new Uint8Array(b)", quote(specifier)))
	case a.Kind == api.ResolveJSRequireCall:
		return wrap(key, fmt.Sprintf("export { default } from %s", quote(specifier)))
	}
	return api.OnResolveResult{Path: specifier, External: true, SideEffects: api.SideEffectsFalse}
}

// quote writes a JavaScript string.
func quote(s string) string {
	q, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(q)
}

func (s *session) onLoad(a api.OnLoadArgs) api.OnLoadResult {
	text := func(source string, loader api.Loader) api.OnLoadResult {
		return api.OnLoadResult{Contents: &source, Loader: loader}
	}
	switch a.Namespace {
	case "":
		return api.OnLoadResult{} // a module that the package turns off
	case nsEmpty:
		return text("", api.LoaderEmpty)
	case nsWrap:
		source, _ := a.PluginData.(string)
		return text(source, api.LoaderJS)
	case nsRefused:
		r, ok := a.PluginData.(refusal)
		if !ok {
			break
		}
		return text(fmt.Sprintf("throw Object.assign(new Error(%s), { code: %q });", quote(r.err.Error()), r.code), api.LoaderJS)
	case "file":
		return s.loadFile(a)
	}
	return api.OnLoadResult{Errors: []api.Message{{Text: (&RefusedError{Specifier: a.Path, Why: "the specifier is refused"}).text()}}}
}

func (s *session) loadFile(a api.OnLoadArgs) api.OnLoadResult {
	refuse := func(e *RefusedError) api.OnLoadResult {
		// fromAPI puts what the importer wrote in its place.
		e.Specifier = path.Base(filepath.ToSlash(a.Path))
		e.fromFile = true
		return api.OnLoadResult{Errors: []api.Message{{Text: e.text(), Detail: e}}}
	}
	loader, known := loaderOf(a.Path, a.With["type"])
	code := known && (isScript(loader))
	rel, refused := s.admit(a.Path, code)
	if refused != nil {
		return refuse(refused)
	}
	if !known {
		return refuse(&RefusedError{Why: fmt.Sprintf("files of type %q are unknown", path.Ext(rel)),
			Hint: `import it with { type: "text" } or { type: "bytes" }`})
	}
	if m := s.guard(path.Dir(rel)); m != nil {
		return api.OnLoadResult{Errors: []api.Message{toAPI(*m)}}
	}
	data, err := s.read(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(&RefusedError{Why: "no such file", Hint: s.similar(rel)}) // esbuild takes "A.js" for "a.js"
	}
	if err != nil {
		return refuse(&RefusedError{Why: err.Error()})
	}
	contents := string(data)
	if code && bytes.Contains(data, []byte("sourceMappingURL")) {
		// esbuild would follow the comment to any file of the host. The last comment
		// counts, and one with an unknown scheme is ignored.
		contents += "\n//# sourceMappingURL=none:"
	}
	return api.OnLoadResult{Contents: &contents, Loader: loader}
}

// loaders says what a file becomes, by the end of its name.
var loaders = map[string]api.Loader{
	".js": api.LoaderJS, ".mjs": api.LoaderJS, ".cjs": api.LoaderJS, ".jsx": api.LoaderJSX,
	".ts": api.LoaderTS, ".mts": api.LoaderTS, ".cts": api.LoaderTS, ".tsx": api.LoaderTSX,
	".json": api.LoaderJSON,
	".txt":  api.LoaderText, ".html": api.LoaderText, ".sql": api.LoaderText, ".md": api.LoaderText, ".css": api.LoaderText,
}

func loaderOf(name, attr string) (api.Loader, bool) {
	switch attr {
	case "json":
		return api.LoaderJSON, true
	case "text":
		return api.LoaderText, true
	}
	loader, ok := loaders[path.Ext(filepath.ToSlash(name))]
	return loader, ok
}

func isScript(l api.Loader) bool {
	return l == api.LoaderJS || l == api.LoaderJSX || l == api.LoaderTS || l == api.LoaderTSX
}

package vfs

import (
	"fmt"
	"path"
	"strings"
)

// RuntimeKey is the key under which the engine offers the runtime's own module.
// "edge:workers" and "cloudflare:workers" both lead to it.
const RuntimeKey = "edge:workers"

// isRuntime reports whether the runtime itself provides a specifier.
func isRuntime(specifier string) bool {
	return specifier == "edge:workers" || specifier == "cloudflare:workers"
}

// RefusedError says why a specifier leads nowhere. Its text names nothing of the
// host, so scripts may see it.
type RefusedError struct {
	Specifier string
	Why       string // the cause
	Hint      string // what would have worked; may be empty

	fromFile bool // Specifier is a file's name and not what the importer wrote
}

// Error returns the cause, and in brackets what would have worked.
func (e *RefusedError) Error() string {
	if e.Hint == "" {
		return e.text()
	}
	return e.text() + " (" + e.Hint + ")"
}

func (e *RefusedError) text() string {
	return fmt.Sprintf("import %q: %s", clipSpecifier(e.Specifier), e.Why)
}

// clipSpecifier keeps an error readable when a whole program is in a data: URL.
func clipSpecifier(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "..."
	}
	return s
}

// specifierKind says how a specifier is to be looked up.
type specifierKind uint8

const (
	relative specifierKind = iota // ./x, ../x
	bare                          // a package, a #import or a path alias
	provided                      // by the runtime
)

// classify is the first half of the resolver, shared by the bundler and by
// Bundle.Resolve: it looks at nothing but the text, and refuses by name what no
// look-up may reach.
func classify(specifier string) (specifierKind, *RefusedError) {
	refuse := func(why, hint string) (specifierKind, *RefusedError) {
		return 0, &RefusedError{Specifier: specifier, Why: why, Hint: hint}
	}
	switch {
	case isRuntime(specifier):
		return provided, nil
	case specifier == "":
		return refuse("the specifier is empty", "")
	case strings.IndexByte(specifier, 0) >= 0:
		return refuse("the specifier holds a NUL character", "")
	case specifier == "." || specifier == ".." || strings.HasPrefix(specifier, "./") || strings.HasPrefix(specifier, "../"):
		return relative, nil
	case strings.HasPrefix(specifier, "//"):
		return refuse("code is not fetched from the network", "download it into the project and import it by a relative path")
	case specifier[0] == '/' || specifier[0] == '\\' || isDrivePath(specifier):
		return refuse("absolute paths are refused", `import by a path that starts with "./" or "../"`)
	}
	scheme, rest, ok := strings.Cut(specifier, ":")
	if !ok || !isScheme(scheme) {
		return bare, nil
	}
	switch strings.ToLower(scheme) {
	case "npm":
		name := packageName(strings.TrimPrefix(rest, "/"))
		return refuse("npm: specifiers are not fetched", fmt.Sprintf("run \"npm install %s\" and import %q", name, name))
	case "jsr":
		name := packageName(strings.TrimPrefix(rest, "/"))
		return refuse("jsr: specifiers are not fetched", fmt.Sprintf("run \"npx jsr add %s\" and import %q", name, name))
	case "http", "https", "ws", "wss", "ftp":
		return refuse("code is not fetched from the network", "download it into the project and import it by a relative path")
	case "data", "blob":
		return refuse(strings.ToLower(scheme)+": specifiers are refused", "put the code into a file and import it by a relative path")
	case "file":
		return refuse("file: specifiers are refused", `import by a path that starts with "./" or "../"`)
	case "node":
		return refuseNode(specifier)
	case "edge", "cloudflare", "workerd":
		return refuse("this runtime has no such module", `it offers "edge:workers" and "cloudflare:workers"`)
	case "bun", "deno", "workers", "electron":
		return refuse(strings.ToLower(scheme)+": modules belong to another runtime", "use a package written for the web platform")
	}
	return bare, nil
}

// refuseNode refuses a Node.js module, with the web platform's counterpart.
func refuseNode(specifier string) (specifierKind, *RefusedError) {
	hint := "use a package written for the web platform"
	if web := nodeModules[nodeName(specifier)]; web != "" {
		hint = "use " + web
	}
	return 0, &RefusedError{Specifier: specifier, Why: "this build offers no Node.js modules", Hint: hint}
}

// nodeName is the module's first segment: "fs" of "node:fs/promises".
func nodeName(specifier string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(specifier, "node:"), "/")
	return name
}

// isNode reports whether a bare specifier names a module of Node.js.
func isNode(specifier string) bool {
	_, ok := nodeModules[nodeName(specifier)]
	return ok
}

// nodeModules are the modules of Node.js that go without a prefix, with what the
// web platform has in their place.
var nodeModules = map[string]string{
	"assert": "", "async_hooks": "", "buffer": "Uint8Array, TextEncoder and TextDecoder",
	"child_process": "", "cluster": "", "console": "the global console", "constants": "",
	"crypto": "the global crypto", "dgram": "", "diagnostics_channel": "", "dns": "",
	"domain": "", "events": "EventTarget", "fs": "an import of the file, with { type: \"text\" }",
	"http": "fetch", "http2": "fetch", "https": "fetch", "inspector": "", "module": "",
	"net": "", "os": "", "path": "", "perf_hooks": "the global performance", "process": "",
	"punycode": "", "querystring": "URLSearchParams", "readline": "", "repl": "",
	"stream":         "ReadableStream, WritableStream and TransformStream",
	"string_decoder": "TextDecoderStream", "sys": "", "timers": "the global setTimeout",
	"tls": "", "trace_events": "", "tty": "", "url": "the globals URL and URLSearchParams",
	"util": "", "v8": "", "vm": "", "wasi": "", "worker_threads": "",
	"zlib": "CompressionStream and DecompressionStream",
}

// refuseMissing is the error of a bare specifier that no package answers.
func refuseMissing(specifier string) *RefusedError {
	if isNode(specifier) {
		_, err := refuseNode(specifier)
		return err
	}
	e := &RefusedError{Specifier: specifier}
	switch scheme, _, ok := strings.Cut(specifier, ":"); {
	case ok && isScheme(scheme):
		e.Why = fmt.Sprintf("%s: specifiers are unknown here", scheme)
	case strings.HasPrefix(specifier, "#"):
		e.Why, e.Hint = "no such entry", `add it to "imports" in package.json`
	default:
		name := packageName(specifier)
		e.Why, e.Hint = fmt.Sprintf("package %q is not installed", name), fmt.Sprintf("run \"npm install %s\"", name)
	}
	return e
}

// packageName is the installable part of a specifier: "@a/b" of "@a/b@1/c".
func packageName(s string) string {
	parts := strings.SplitN(s, "/", 3)
	name := parts[0]
	if strings.HasPrefix(s, "@") && len(parts) > 1 {
		scope := name
		name, _, _ = strings.Cut(parts[1], "@")
		return clipSpecifier(scope + "/" + name)
	}
	name, _, _ = strings.Cut(name, "@")
	return clipSpecifier(name)
}

// isScheme reports whether s is the scheme of a URL. One letter is a drive.
func isScheme(s string) bool {
	if len(s) < 2 {
		return false
	}
	for i := range len(s) {
		c := s[i] | 0x20
		switch {
		case c >= 'a' && c <= 'z':
		case i > 0 && (s[i] >= '0' && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		default:
			return false
		}
	}
	return true
}

func isDrivePath(s string) bool {
	c := s[0] | 0x20
	return len(s) >= 3 && c >= 'a' && c <= 'z' && s[1] == ':' && (s[2] == '/' || s[2] == '\\')
}

// joinKey resolves a relative specifier against the key of the module that
// holds it. It reports false when the result leaves the bundle.
func joinKey(referrer, specifier string) (string, bool) {
	key := path.Join(path.Dir(referrer), specifier)
	if key == "." || key == ".." || strings.HasPrefix(key, "../") || strings.HasPrefix(key, "/") {
		return "", false
	}
	return key, true
}

// relativeSpecifier is the specifier that leads from one key to another.
func relativeSpecifier(from, to string) string {
	dir := strings.Split(path.Dir(from), "/")
	if dir[0] == "." {
		dir = nil
	}
	target := strings.Split(to, "/")
	common := 0
	for common < len(dir) && common < len(target)-1 && dir[common] == target[common] {
		common++
	}
	up := strings.Repeat("../", len(dir)-common)
	if up == "" {
		up = "./"
	}
	return up + strings.Join(target[common:], "/")
}

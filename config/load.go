package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"

	"github.com/edge-runtime/edge/bindings"
)

// Options are what Load needs besides the file.
type Options struct {
	// Kinds are the binding kinds of this build.
	Kinds bindings.Set
	// LookupEnv reads the environment; nil: that of the process.
	LookupEnv func(name string) (string, bool)
	// More are further files of the same package, unified with the first.
	More []string
}

// Load reads a configuration. The error is an *Error with every mistake, unless
// the schema of a binding kind is broken. Nothing but files is read: imports
// are those of CUE itself and of the module that the file lies in.
func Load(path string, opts Options) (*Config, error) {
	l, err := newLoader(path, opts)
	if err != nil {
		return nil, err
	}
	user, ok := l.build(append([]string{path}, opts.More...))
	if !ok {
		return nil, l.failed()
	}
	root := node{l: l, v: user, schema: l.schema}
	l.checkValue(root)
	l.checkRest(user)
	cfg := l.decode(root)
	if len(l.mistakes) > 0 {
		return nil, l.failed()
	}
	cfg.Path, cfg.Dir, cfg.Files = l.path, l.dir, l.sortedFiles()
	return cfg, nil
}

// loader is one call of Load.
type loader struct {
	opts     Options
	ctx      *cue.Context
	schema   *spec  // #Config
	path     string // absolute
	dir      string // absolute
	shownDir string // dir, as the user named it
	mistakes []Mistake
	files    map[string]bool // absolute
	services []string        // names of all services, for hints
	uses     []use           // what services refer to
}

func newLoader(path string, opts Options) (*loader, error) {
	if opts.LookupEnv == nil {
		opts.LookupEnv = os.LookupEnv
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	l := &loader{
		opts: opts, ctx: cuecontext.New(), path: abs, dir: filepath.Dir(abs),
		shownDir: filepath.Dir(path), files: map[string]bool{},
	}
	l.schema, err = newSchema(l.ctx, opts.Kinds)
	return l, err
}

// build parses and evaluates the user's files, ok when there is a value whose
// fields can be looked at.
func (l *loader) build(paths []string) (v cue.Value, ok bool) {
	var abs []string
	for _, p := range paths {
		a, err := filepath.Abs(p)
		if err == nil {
			err = l.parse(a, p)
		}
		if err != nil {
			l.add(Mistake{File: p, Msg: err.Error(), Hint: fileHint(p, err)})
			continue
		}
		abs = append(abs, a)
	}
	if len(l.mistakes) > 0 {
		return cue.Value{}, false
	}
	insts := load.Instances(abs, &load.Config{Dir: l.dir, Registry: offline{}, Env: []string{}})
	if mod := l.moduleFile(); mod != "" {
		l.files[mod] = true
	}
	for _, inst := range insts {
		l.addFiles(inst, map[*build.Instance]bool{})
		if inst.Err != nil {
			l.cueErrors(inst.Err)
		}
	}
	if len(l.mistakes) > 0 {
		return cue.Value{}, false
	}
	v = l.ctx.BuildInstance(insts[0])
	if k := v.IncompleteKind(); k != cue.StructKind {
		if err := v.Err(); err != nil {
			l.cueErrors(err)
		}
		// A struct with a mistake inside has fields to look at, anything else not.
		if it, err := v.Fields(); err != nil || !it.Next() {
			if len(l.mistakes) == 0 {
				l.add(Mistake{File: l.shown(l.path), Line: 1, Col: 1, Msg: "not a configuration: it is no struct", Hint: "begin with services: and sockets:"})
			}
			return v, false
		}
		l.mistakes = nil // each is found again where it stands
	}
	return v, true
}

// parse looks for syntax errors in one file, all of them, and for the mistakes
// that the CUE loader words for programmers.
func (l *loader) parse(abs, shown string) error {
	l.files[abs] = true
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return plainError(err)
	case info.IsDir():
		return errors.New("is a folder")
	case filepath.Ext(abs) != ".cue":
		return errors.New("is no CUE file: its name does not end in .cue")
	}
	data, err := os.ReadFile(abs)
	if err != nil {
		return plainError(err)
	}
	_, err = parser.ParseFile(abs, data, parser.AllErrors)
	for _, e := range cueerrors.Errors(err) {
		msg, _ := cueMessage(e)
		l.addAt(e.Position(), "", msg, slip(lineOf(string(data), e.Position().Line())))
	}
	return nil
}

// fileHint says what to load instead of a path that is no CUE file.
func fileHint(path string, err error) string {
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		found, _ := filepath.Glob(filepath.Join(path, "*.cue")) // the pattern is well-formed
		if len(found) > 0 {
			return "name the file: " + found[0]
		}
		return "name a file"
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nearFile(path)
	}
	return ""
}

// addFiles notes the files of an instance and of what it imports.
func (l *loader) addFiles(inst *build.Instance, seen map[*build.Instance]bool) {
	if seen[inst] {
		return
	}
	seen[inst] = true
	for _, f := range inst.BuildFiles {
		if filepath.IsAbs(f.Filename) {
			l.files[f.Filename] = true
		}
	}
	for _, dep := range inst.Imports {
		l.addFiles(dep, seen)
	}
}

func (l *loader) sortedFiles() []string {
	files := make([]string, 0, len(l.files))
	for f := range l.files {
		files = append(files, f)
	}
	slices.Sort(files)
	return files
}

func (l *loader) failed() error {
	return &Error{Mistakes: sortMistakes(l.mistakes), Files: l.sortedFiles()}
}

func (l *loader) add(m Mistake) { l.mistakes = append(l.mistakes, m) }

// addAt adds a mistake at a position of the user's files.
func (l *loader) addAt(pos token.Pos, path, msg, hint string) {
	m := Mistake{File: l.shown(l.path), Path: path, Msg: msg, Hint: hint}
	if pos.IsValid() && filepath.IsAbs(pos.Filename()) {
		l.files[pos.Filename()] = true
		m.File, m.Line, m.Col = l.shown(pos.Filename()), pos.Line(), pos.Column()
	}
	l.add(m)
}

// shown returns an absolute file name the way the user named the configuration.
func (l *loader) shown(file string) string {
	if rel, err := filepath.Rel(l.dir, file); err == nil {
		return filepath.Join(l.shownDir, rel)
	}
	return file
}

var noPackageRE = regexp.MustCompile(`cannot find package ("[^"]*")`)

// cueErrors adds errors in CUE's own words.
func (l *loader) cueErrors(err error) {
	for _, e := range cueerrors.Errors(err) {
		// What is wrong inside an imported file is shown there.
		var inner cueerrors.Error
		if errors.As(errors.Unwrap(e), &inner) && l.userPos(inner).IsValid() && l.userPos(inner) != l.userPos(e) {
			l.cueErrors(inner)
			continue
		}
		msg, _ := cueMessage(e)
		msg, hint := l.explain(msg)
		pos := l.userPos(e)
		if mod := l.moduleFile(); !pos.IsValid() && mod != "" && strings.Contains(msg, "module.cue") {
			l.add(Mistake{File: l.shown(mod), Msg: msg, Hint: hint})
			continue
		}
		l.addAt(pos, userPath(e), msg, hint)
	}
}

// explain words what CUE says about imports and packages for people who use
// CUE for this alone, and keeps the host's paths out.
func (l *loader) explain(msg string) (text, hint string) {
	switch m := noPackageRE.FindStringSubmatch(msg); {
	case m != nil:
		return fmt.Sprintf("no package %s in the module of the configuration", m[1]),
			"nothing is fetched: copy the package into the module, or into its cue.mod/pkg"
	case strings.Contains(msg, "no cue.mod/module.cue"):
		return "imports are not available: there is no module around the configuration",
			`write cue.mod/module.cue beside it: module: "example.com/config@v0", language: version: "v0.11.0"`
	case undefinedRE.MatchString(msg):
		hint = "text stands in double quotes"
	case strings.HasPrefix(msg, "found packages "):
		hint = "files that are named together are of one package"
	}
	msg = strings.ReplaceAll(msg, fmt.Sprintf(" in %q", l.dir), "")
	msg = strings.ReplaceAll(msg, l.dir+string(filepath.Separator), "")
	return strings.TrimPrefix(msg, ": "), hint
}

// moduleFile returns the module file that the configuration lies under, or "".
func (l *loader) moduleFile() string {
	for dir := l.dir; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, "cue.mod", "module.cue")
		if _, err := os.Stat(file); err == nil {
			return file
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// userPos returns the first position of an error that lies in a user's file.
func (l *loader) userPos(e cueerrors.Error) token.Pos {
	for _, p := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
		if p.IsValid() && filepath.IsAbs(p.Filename()) {
			return p
		}
	}
	return token.NoPos
}

// userPath returns an error's config path, without the definition of the schema
// that it was found in.
func userPath(e cueerrors.Error) string {
	var b strings.Builder
	for i, label := range e.Path() {
		switch _, err := strconv.Atoi(label); {
		case i == 0 && strings.HasPrefix(label, "#"):
		case err == nil:
			b.WriteString("[" + label + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(label)
		}
	}
	return b.String()
}

// plainError returns the cause of a file error without the path, which is shown
// beside it anyway.
func plainError(err error) error {
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errNoFile
	case errors.As(err, &pe):
		return pe.Err
	}
	return err
}

var errNoFile = noFile{}

type noFile struct{}

func (noFile) Error() string        { return "no such file" }
func (noFile) Is(target error) bool { return target == fs.ErrNotExist }

// offline is a CUE registry that has nothing, so that no import reaches for the
// network.
type offline struct{}

var errOffline = errors.New("nothing is fetched")

func (offline) ModFile(context.Context, module.Version) (*modfile.File, error) {
	return nil, errOffline
}

func (offline) Fetch(context.Context, module.Version) (module.SourceLoc, error) {
	return module.SourceLoc{}, errOffline
}

func (offline) ModuleVersions(context.Context, string) ([]string, error) {
	return nil, errOffline
}

package vfs

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// session is one build: what it may read, what it has read, and what is wrong.
// esbuild calls into it from many goroutines.
type session struct {
	opts    BuildOptions
	jail    *jail  // the project root
	base    string // folder of the config, relative to the root
	mainKey string
	private map[string]bool // relative paths that no code may import

	mu       sync.Mutex
	bytes    int64
	files    map[string]stamp    // by path relative to the root
	dirs     map[string][32]byte // to watch, relative to the root, with what they list
	absent   map[string]bool     // folders that are not there
	packages map[string]*pkg     // by folder; nil where there is no package.json
	assets   map[string]Module
	resolved map[resolveKey]resolveAnswer
	messages []Message
	warnings []Message
}

// stamp identifies the state in which a file was read.
type stamp struct {
	Mod  time.Time
	Size int64
	Sum  [32]byte
}

// pkg is what the bundler has to know of a package.json beyond what esbuild
// reads from it.
type pkg struct {
	browser bool            // it has a map of replacements for browsers
	off     map[string]bool // the keys that the map turns off
	err     *Message        // why esbuild must not read it
}

// The texts shared by the refusals of files.
const (
	outsideText = "the path leaves the project"
	outsideHint = "import only files below the folder that holds package.json, node_modules or the config"
)

// maxPackageJSON bounds a package.json.
const maxPackageJSON = 8 << 20

func newSession(opts BuildOptions) (*session, error) {
	root, err := ProjectRoot(opts.Root)
	if err != nil {
		return nil, err
	}
	base, err := filepath.Abs(opts.Root)
	if err == nil {
		base, err = filepath.EvalSymlinks(base)
	}
	if err != nil {
		return nil, fmt.Errorf("find project: %w", err)
	}
	j, err := openJail(root)
	if err != nil {
		return nil, fmt.Errorf("find project: %w", err)
	}
	rel, ok := j.rel(base)
	if !ok {
		j.Close()
		return nil, errors.New("find project: the folder has moved")
	}
	s := &session{
		opts: opts, jail: j, base: rel,
		private: map[string]bool{}, files: map[string]stamp{}, dirs: map[string][32]byte{}, absent: map[string]bool{},
		packages: map[string]*pkg{}, assets: map[string]Module{}, resolved: map[resolveKey]resolveAnswer{},
	}
	for _, p := range opts.Private {
		if abs, err := filepath.Abs(p); err == nil {
			if rel, err := j.real(abs); err == nil {
				s.private[rel] = true
			}
		}
	}
	return s, nil
}

func (s *session) fail(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m)
}

func (s *session) warn(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Warning = true
	s.warnings = append(s.warnings, m)
}

// read reads a file of the project, within the limits, and notes it for
// watching.
func (s *session) read(rel string) ([]byte, error) {
	s.watchDir(path.Dir(rel))
	tooLarge := fmt.Errorf("the worker's files are larger than %s together", sizeText(s.opts.MaxBytes))
	s.mu.Lock()
	left := s.opts.MaxBytes - s.bytes
	_, again := s.files[rel]
	if !again && len(s.files) >= s.opts.MaxFiles {
		s.mu.Unlock()
		return nil, fmt.Errorf("the worker has more than %d files", s.opts.MaxFiles)
	}
	if !again {
		s.files[rel] = stamp{} // counted before others look
	}
	s.mu.Unlock()
	data, info, err := s.jail.read(rel, left)
	if err != nil {
		var large *tooLargeError
		if errors.As(err, &large) {
			err = tooLarge
		}
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[rel] == (stamp{}) {
		s.bytes += int64(len(data))
	}
	if s.bytes > s.opts.MaxBytes {
		return nil, tooLarge
	}
	s.files[rel] = stamp{Mod: info.ModTime(), Size: info.Size(), Sum: sha256.Sum256(data)}
	return data, nil
}

// lookedFor notes a path that may not be there: its folder, or the nearest one
// that is, is watched for its arrival.
func (s *session) lookedFor(rel string) {
	for d := path.Dir(rel); !strings.HasPrefix(d, ".."); d = path.Dir(d) {
		if s.watchDir(d) || d == "." {
			return
		}
	}
}

// watchDir notes a folder and what it lists. It reports false, and notes
// nothing, when rel is no folder.
func (s *session) watchDir(rel string) bool {
	s.mu.Lock()
	_, known := s.dirs[rel]
	absent := s.absent[rel]
	s.mu.Unlock()
	if known || absent {
		return known
	}
	sum, ok := s.jail.list(rel)
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		s.dirs[rel] = sum
	} else {
		s.absent[rel] = true
	}
	return ok
}

// watched returns the absolute paths of what the build looked at, sorted.
func (s *session) watched() (files, dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rel := range s.files {
		files = append(files, filepath.Join(s.jail.dir, filepath.FromSlash(rel)))
	}
	for rel := range s.dirs {
		dirs = append(dirs, filepath.Join(s.jail.dir, filepath.FromSlash(rel)))
	}
	slices.Sort(files)
	slices.Sort(dirs)
	return files, dirs
}

// admit decides whether code may import a host file, and returns its path
// relative to the root. code is false for what is taken in as text or data.
func (s *session) admit(abs string, code bool) (string, *RefusedError) {
	rel, ok := s.jail.rel(abs)
	if !ok {
		return "", &RefusedError{Why: outsideText, Hint: outsideHint}
	}
	segments := strings.Split(rel, "/")
	inPackage := slices.Index(segments[:len(segments)-1], "node_modules") >= 0
	if s.opts.Within != "" && !inPackage {
		within := path.Join(s.base, filepath.ToSlash(s.opts.Within))
		if _, ok := relIn("/"+within, "/"+rel); !ok {
			return "", &RefusedError{Why: "the path leaves the worker's folder", Hint: fmt.Sprintf("import only files below %q", within)}
		}
	}
	if s.private[rel] {
		return "", &RefusedError{Why: "the file is not for workers", Hint: "hand values over as bindings"}
	}
	for i, segment := range segments {
		if segment == "node_modules" {
			break
		}
		if segment[0] == '.' && segment != "." && (i == len(segments)-1 || !code) {
			return "", &RefusedError{Why: "hidden files are not part of a worker", Hint: "hand values over as bindings, or rename it"}
		}
	}
	return rel, nil
}

// pkgAt looks at the package.json of one folder, once. esbuild reads it without
// asking, so what would hang it or lead it out of the project is found first.
func (s *session) pkgAt(dir string) *pkg {
	s.mu.Lock()
	p, known := s.packages[dir]
	s.mu.Unlock()
	if known {
		return p
	}
	s.watchDir(dir)
	p = s.loadPkg(path.Join(dir, "package.json"))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packages[dir] = p
	return p
}

func (s *session) loadPkg(file string) *pkg {
	bad := func(why string) *pkg {
		return &pkg{err: &Message{File: file, Text: "read package.json: " + why}}
	}
	info, err := s.jail.root.Stat(filepath.FromSlash(file))
	switch {
	case errors.Is(err, fs.ErrNotExist) || info != nil && info.IsDir():
		if _, err := s.jail.root.Lstat(filepath.FromSlash(file)); err == nil && info == nil {
			return bad("the symbolic link leads nowhere")
		}
		return nil
	case err != nil:
		if info, lerr := s.jail.root.Lstat(filepath.FromSlash(file)); lerr != nil || info.Mode()&fs.ModeSymlink == 0 {
			return nil // esbuild finds nothing there either
		}
		return bad(plainError(err).Error())
	case !info.Mode().IsRegular():
		return bad("is a " + kindOf(info.Mode()) + ", not a regular file")
	case info.Size() > maxPackageJSON:
		return bad("is larger than " + sizeText(maxPackageJSON))
	}
	data, err := s.read(file)
	if err != nil {
		return bad(err.Error())
	}
	p := &pkg{}
	var fields struct {
		Browser map[string]any `json:"browser"`
	}
	// A "browser" that is a string does not fit and leaves the map empty.
	_ = json.Unmarshal(data, &fields)
	p.browser = fields.Browser != nil
	for key, value := range fields.Browser {
		if value == false {
			if p.off == nil {
				p.off = map[string]bool{}
			}
			p.off[key] = true
		}
	}
	return p
}

// guard looks at the package.json files of dir and of every folder above it, up
// to the root.
func (s *session) guard(dir string) *Message {
	for ; ; dir = path.Dir(dir) {
		if p := s.pkgAt(dir); p != nil && p.err != nil {
			return p.err
		}
		if dir == "." {
			return nil
		}
	}
}

// scope finds the nearest folder at or above dir whose package.json replaces
// modules for browsers.
func (s *session) scope(dir string) (string, *pkg) {
	for ; ; dir = path.Dir(dir) {
		if p := s.pkgAt(dir); p != nil && p.browser {
			return dir, p
		}
		if dir == "." {
			return "", nil
		}
	}
}

// turnedOff reports whether the package around a file turns it off.
func (s *session) turnedOff(rel string) bool {
	dir, p := s.scope(path.Dir(rel))
	if p == nil || p.off == nil {
		return false
	}
	in, ok := relIn("/"+dir, "/"+rel)
	if !ok {
		return false
	}
	// Keys name files with or without their ending, or the folder of an index.
	stem := strings.TrimSuffix(in, path.Ext(in))
	keys := []string{in, stem}
	if path.Base(stem) == "index" {
		keys = append(keys, path.Dir(in))
	}
	for _, ext := range extensions {
		keys = append(keys, in+ext, in+"/index"+ext)
	}
	for _, key := range keys {
		if p.off["./"+key] || p.off[key] {
			return true
		}
	}
	return false
}

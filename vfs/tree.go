package vfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Tree is a read-only tree of files in memory. It never changes once made, so
// any number of goroutines may share it and what it hands out. It implements
// fs.FS, fs.ReadDirFS, fs.ReadFileFS and fs.StatFS.
type Tree struct {
	nodes map[string]*node // by slash-separated path; "." is the root
	hash  [32]byte
	files int
	size  int64
}

// node is a file or a directory.
type node struct {
	name    string // base name
	mode    fs.FileMode
	mod     time.Time
	data    []byte
	sum     [32]byte
	entries []fs.DirEntry // of a directory, sorted by name
}

// NewTree makes a tree from contents by path. Directories are implied.
func NewTree(files map[string][]byte) (*Tree, error) {
	t := newTree()
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := t.add(name, files[name], 0o444, time.Time{}); err != nil {
			return nil, err
		}
	}
	t.seal()
	return t, nil
}

func newTree() *Tree {
	return &Tree{nodes: map[string]*node{".": {name: ".", mode: fs.ModeDir | 0o555}}}
}

// add puts a file into a tree that is being made. The tree keeps data.
func (t *Tree) add(name string, data []byte, mode fs.FileMode, mod time.Time) error {
	if !fs.ValidPath(name) || name == "." {
		return fmt.Errorf("add file %q: not a relative path with slashes", name)
	}
	if t.nodes[name] != nil {
		return fmt.Errorf("add file %q: the name is taken", name)
	}
	if err := t.addDir(path.Dir(name), mod); err != nil {
		return fmt.Errorf("add file %q: %w", name, err)
	}
	t.nodes[name] = &node{name: path.Base(name), mode: mode.Perm() &^ 0o222, mod: mod, data: data, sum: sha256.Sum256(data)}
	t.files++
	t.size += int64(len(data))
	return nil
}

// addDir makes sure that a directory and those above it are there.
func (t *Tree) addDir(name string, mod time.Time) error {
	for ; name != "."; name = path.Dir(name) {
		switch n := t.nodes[name]; {
		case n == nil:
			t.nodes[name] = &node{name: path.Base(name), mode: fs.ModeDir | 0o555, mod: mod}
		case !n.mode.IsDir():
			return fmt.Errorf("%q is a file", name)
		default:
			return nil
		}
	}
	return nil
}

// seal computes the listings and the hash; the tree is immutable from here on.
func (t *Tree) seal() {
	names := make([]string, 0, len(t.nodes))
	for name := range t.nodes {
		if name != "." {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	h := sha256.New()
	var size [8]byte
	for _, name := range names {
		n, dir := t.nodes[name], t.nodes[path.Dir(name)]
		dir.entries = append(dir.entries, fs.FileInfoToDirEntry(n))
		if n.mode.IsDir() {
			continue
		}
		binary.LittleEndian.PutUint64(size[:], uint64(len(name)))
		h.Write(size[:])
		io.WriteString(h, name)
		h.Write(n.sum[:])
	}
	for _, n := range t.nodes {
		slices.SortFunc(n.entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	h.Sum(t.hash[:0])
}

// Hash identifies the names and contents of all files. Times and modes do not
// count, nor do empty directories.
func (t *Tree) Hash() [32]byte { return t.hash }

// Len returns the number of files.
func (t *Tree) Len() int { return t.files }

// Size returns the sum of the files' lengths.
func (t *Tree) Size() int64 { return t.size }

// Bytes returns a file's contents without a copy, for readers that promise not
// to write to them, and the SHA-256 of the contents. It reports false when name
// is no file.
func (t *Tree) Bytes(name string) (data []byte, sum [32]byte, ok bool) {
	n := t.nodes[name]
	if n == nil || n.mode.IsDir() {
		return nil, sum, false
	}
	return n.data, n.sum, true
}

func (t *Tree) lookup(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	n := t.nodes[name]
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

// Open opens a file or a directory. Files are io.Seeker and io.ReaderAt too.
func (t *Tree) Open(name string) (fs.File, error) {
	n, err := t.lookup("open", name)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return &openDir{node: n, path: name}, nil
	}
	return &openFile{node: n, path: name, Reader: *bytes.NewReader(n.data)}, nil
}

// ReadFile returns a copy of a file's contents.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	n, err := t.lookup("read", name)
	if err != nil {
		return nil, err
	}
	if n.mode.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errIsDir}
	}
	return append([]byte{}, n.data...), nil
}

// ReadDir lists a directory in the order of names.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := t.lookup("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errNotDir}
	}
	return slices.Clone(n.entries), nil
}

// Stat describes a file or a directory.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	n, err := t.lookup("stat", name)
	if err != nil {
		return nil, err
	}
	return n, nil
}

func (n *node) Name() string       { return n.name }
func (n *node) Size() int64        { return int64(len(n.data)) }
func (n *node) Mode() fs.FileMode  { return n.mode }
func (n *node) ModTime() time.Time { return n.mod }
func (n *node) IsDir() bool        { return n.mode.IsDir() }
func (n *node) Sys() any           { return nil }

// openFile reads a file.
type openFile struct {
	*node
	path   string
	closed bool
	bytes.Reader
}

var (
	errIsDir  = errors.New("is a directory")
	errNotDir = errors.New("is not a directory")
)

func (f *openFile) Stat() (fs.FileInfo, error) { return f.node, nil }

func (f *openFile) Size() int64 { return f.node.Size() }

func (f *openFile) Read(p []byte) (int, error) {
	if f.closed {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrClosed}
	}
	return f.Reader.Read(p)
}

func (f *openFile) Close() error {
	if f.closed {
		return &fs.PathError{Op: "close", Path: f.path, Err: fs.ErrClosed}
	}
	f.closed = true
	return nil
}

// openDir lists a directory.
type openDir struct {
	*node
	path string
	next int
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.node, nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errIsDir}
}

func (d *openDir) Close() error { return nil }

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	left := d.entries[d.next:]
	if n > 0 {
		if len(left) == 0 {
			return nil, io.EOF
		}
		left = left[:min(n, len(left))]
	}
	d.next += len(left)
	return slices.Clone(left), nil
}

var (
	_ fs.ReadDirFS   = (*Tree)(nil)
	_ fs.ReadFileFS  = (*Tree)(nil)
	_ fs.StatFS      = (*Tree)(nil)
	_ fs.ReadDirFile = (*openDir)(nil)
	_ io.ReadSeeker  = (*openFile)(nil)
	_ io.ReaderAt    = (*openFile)(nil)
)

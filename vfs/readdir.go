package vfs

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
)

// ReadOptions bounds what ReadDir takes in. Zero values take the defaults.
type ReadOptions struct {
	MaxBytes int64 // sum of all files; default 256 MiB
	MaxFiles int   // files and directories; default 50,000
	// Skip leaves out a file, or a directory with all below it, by its path
	// relative to the root. Nil keeps everything.
	Skip func(path string, dir bool) bool
}

// The defaults of ReadOptions.
const (
	DefaultTreeBytes = 256 << 20
	DefaultTreeFiles = 50_000
)

// ReadDir reads a host directory into a tree, once. Symbolic links are followed
// inside root; one that leaves it, loops or dangles is refused by name, as are
// devices, pipes and sockets.
func ReadDir(root string, opts ReadOptions) (*Tree, error) {
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = DefaultTreeBytes
	}
	if opts.MaxFiles <= 0 {
		opts.MaxFiles = DefaultTreeFiles
	}
	j, err := openJail(root)
	if err != nil {
		return nil, fmt.Errorf("read folder: %w", err)
	}
	defer j.Close()
	r := &dirReader{jail: j, opts: opts, tree: newTree()}
	if err := r.walk(".", ".", nil); err != nil {
		return nil, err
	}
	r.tree.seal()
	return r.tree, nil
}

type dirReader struct {
	jail  *jail
	opts  ReadOptions
	tree  *Tree
	count int
}

// walk reads the directory at real, which appears in the tree as name. above
// are the real directories that it is inside of, by which a loop is noticed.
func (r *dirReader) walk(name, real string, above []string) error {
	if slices.Contains(above, real) {
		return fmt.Errorf("read %q: the symbolic link loops", name)
	}
	above = append(slices.Clip(above), real)
	dir, err := r.jail.root.Open(filepath.FromSlash(real))
	if err != nil {
		return fmt.Errorf("read %q: %w", name, plainError(err))
	}
	entries, err := dir.ReadDir(-1)
	dir.Close()
	if err != nil {
		return fmt.Errorf("read %q: %w", name, plainError(err))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		if a.Name() < b.Name() {
			return -1
		}
		return 1
	})
	for _, e := range entries {
		if err := r.entry(path.Join(name, e.Name()), path.Join(real, e.Name()), e, above); err != nil {
			return err
		}
	}
	return nil
}

func (r *dirReader) entry(name, real string, e fs.DirEntry, above []string) error {
	mode := e.Type()
	var mod fs.FileInfo
	if mode&fs.ModeSymlink != 0 {
		target, err := r.jail.real(filepath.Join(r.jail.dir, filepath.FromSlash(real)))
		if err != nil {
			return fmt.Errorf("read %q: the symbolic link %w", name, linkError(err))
		}
		info, err := r.jail.root.Lstat(filepath.FromSlash(target))
		if err != nil {
			return fmt.Errorf("read %q: %w", name, plainError(err))
		}
		real, mode, mod = target, info.Mode().Type(), info
	}
	if r.opts.Skip != nil && r.opts.Skip(name, mode.IsDir()) {
		return nil
	}
	if r.count++; r.count > r.opts.MaxFiles {
		return fmt.Errorf("read %q: more than %d files and folders", name, r.opts.MaxFiles)
	}
	switch {
	case mode.IsDir():
		if mod == nil {
			mod, _ = e.Info()
		}
		if err := r.addDir(name, mod); err != nil {
			return err
		}
		return r.walk(name, real, above)
	case !mode.IsRegular():
		return fmt.Errorf("read %q: is a %s, not a regular file", name, kindOf(mode))
	}
	data, info, err := r.jail.read(real, r.opts.MaxBytes-r.tree.size)
	if err != nil {
		if _, ok := err.(*tooLargeError); ok {
			err = fmt.Errorf("the folder is larger than %s", sizeText(r.opts.MaxBytes))
		}
		return fmt.Errorf("read %q: %w", name, err)
	}
	return r.tree.add(name, data[:len(data):len(data)], info.Mode(), info.ModTime())
}

func (r *dirReader) addDir(name string, info fs.FileInfo) error {
	if info == nil {
		return fmt.Errorf("read %q: it is gone", name)
	}
	return r.tree.addDir(name, info.ModTime())
}

// linkError says what is wrong with a link, without where it leads.
func linkError(err error) error {
	if err == errOutside {
		return err
	}
	return fmt.Errorf("cannot be followed: %w", plainError(err))
}

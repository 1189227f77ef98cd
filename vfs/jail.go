package vfs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// jail reads regular files below one folder of the host and no others, however
// symbolic links are laid and whatever changes between a check and an open.
type jail struct {
	dir  string // absolute, without symbolic links
	root *os.Root
}

// errOutside is why a path is refused.
var errOutside = errors.New("leaves the folder")

func openJail(dir string) (*jail, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &jail{dir: abs, root: root}, nil
}

func (j *jail) Close() error { return j.root.Close() }

// rel returns the slash-separated path of an absolute host path below the jail.
// It looks at the text only.
func (j *jail) rel(abs string) (string, bool) {
	return relIn(j.dir, abs)
}

func relIn(dir, abs string) (string, bool) {
	rel, err := filepath.Rel(dir, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// real follows symbolic links and returns where an absolute path leads, below
// the jail.
func (j *jail) real(abs string) (rel string, err error) {
	target, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", err
	}
	rel, ok := j.rel(target)
	if !ok {
		return "", errOutside
	}
	return rel, nil
}

// read returns a regular file's contents and its FileInfo. limit bounds the
// length. Errors name no host path.
func (j *jail) read(rel string, limit int64) ([]byte, fs.FileInfo, error) {
	// Without O_NONBLOCK opening a named pipe would wait for its writer.
	f, err := j.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, plainError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, plainError(err)
	}
	switch {
	case info.IsDir():
		return nil, nil, errIsDir
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("is a %s, not a regular file", kindOf(info.Mode()))
	case info.Size() > limit:
		return nil, nil, &tooLargeError{limit}
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > limit:
			return nil, nil, &tooLargeError{limit}
		case err == io.EOF:
			return data, info, nil
		case err != nil:
			return nil, nil, plainError(err)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// list identifies the names in a folder. It reports false when rel is none.
func (j *jail) list(rel string) (sum [32]byte, ok bool) {
	info, err := j.root.Stat(filepath.FromSlash(rel))
	if err != nil || !info.IsDir() {
		return sum, false
	}
	f, err := j.root.Open(filepath.FromSlash(rel))
	if err != nil {
		return sum, false
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return sum, false
	}
	slices.Sort(names)
	return sha256.Sum256([]byte(strings.Join(names, "\x00"))), true
}

// tooLargeError reports a limit on bytes.
type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string { return fmt.Sprintf("is larger than %s", sizeText(e.limit)) }

// plainError drops the operation and the path of an error.
func plainError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	}
	return "special file"
}

func sizeText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

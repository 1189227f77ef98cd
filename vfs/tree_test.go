package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

func TestTreeIsAFileSystem(t *testing.T) {
	t.Parallel()
	tree, err := NewTree(map[string][]byte{
		"index.html": []byte("<p>hi"), "a/b/c.txt": []byte("c"), "a/b.txt": {}, "a/z.bin": {0, 1, 2}, "a.b/x": []byte("x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(tree, "index.html", "a/b/c.txt", "a/b.txt", "a/z.bin", "a.b/x"); err != nil {
		t.Fatal(err)
	}
	if tree.Len() != 5 || tree.Size() != 10 {
		t.Errorf("got %d files of %d bytes, want 5 of 10", tree.Len(), tree.Size())
	}
}

func TestTreeGivesOutNothingThatChangesIt(t *testing.T) {
	t.Parallel()
	tree, err := NewTree(map[string][]byte{"a": []byte("abc"), "d/x": nil, "d/y": nil})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := tree.ReadFile("a")
	data[0] = 'X'
	list, _ := tree.ReadDir("d")
	list[0] = list[1]
	if again, _ := tree.ReadFile("a"); string(again) != "abc" {
		t.Errorf("got %q after a write to what was read", again)
	}
	if again, _ := tree.ReadDir("d"); again[0].Name() != "x" {
		t.Errorf("got %q after a write to a listing", again[0].Name())
	}
	if info, _ := tree.Stat("a"); info.Mode()&0o222 != 0 {
		t.Errorf("got mode %v, want it read-only", info.Mode())
	}
	f, _ := tree.Open("a")
	f.Close()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read after close: got %v", err)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("close after close: got %v", err)
	}
}

func TestTreeSeeks(t *testing.T) {
	t.Parallel()
	tree, _ := NewTree(map[string][]byte{"a": []byte("0123456789")})
	f, _ := tree.Open("a")
	s := f.(io.ReadSeeker)
	if _, err := s.Seek(-3, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(s); string(rest) != "789" {
		t.Errorf("got %q, want 789", rest)
	}
	data, sum, ok := tree.Bytes("a")
	if !ok || string(data) != "0123456789" || sum == [32]byte{} {
		t.Errorf("Bytes: got %q, %v", data, ok)
	}
	if _, _, ok := tree.Bytes("."); ok {
		t.Error("Bytes of a folder: got ok")
	}
}

func TestTreeHashFollowsNamesAndContents(t *testing.T) {
	t.Parallel()
	hash := func(files map[string][]byte) [32]byte {
		tree, err := NewTree(files)
		if err != nil {
			t.Fatal(err)
		}
		return tree.Hash()
	}
	base := hash(map[string][]byte{"a": []byte("1"), "b/c": []byte("2")})
	if base != hash(map[string][]byte{"b/c": []byte("2"), "a": []byte("1")}) {
		t.Error("the order of a map changes the hash")
	}
	for name, other := range map[string]map[string][]byte{
		"content": {"a": []byte("2"), "b/c": []byte("2")},
		"name":    {"a": []byte("1"), "b/d": []byte("2")},
		"missing": {"a": []byte("1")},
		"swapped": {"a": []byte("2"), "b/c": []byte("1")},
	} {
		if hash(other) == base {
			t.Errorf("%s: the hash is the same", name)
		}
	}
}

func TestNewTreeRefusesNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "/a", "../a", "a/../b", "a//b", "a/", "./a"} {
		if _, err := NewTree(map[string][]byte{name: nil}); err == nil {
			t.Errorf("%q: got no error", name)
		}
	}
	if _, err := NewTree(map[string][]byte{"a": nil, "a/b": nil}); err == nil {
		t.Error("a file that is a folder too: got no error")
	}
}

// lay makes files below a new folder. A value that starts with "->" is a
// symbolic link.
func lay(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	layIn(t, dir, files)
	return dir
}

func layIn(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "->"); ok {
			if err := os.Symlink(target, file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadDirTakesAFolder(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{
		"index.html": "hi", "css/a.css": "a", "css/deep/b.css": "b",
		"link.html": "->index.html", "styles": "->css",
	})
	layIn(t, dir, map[string]string{"abs.html": "->" + filepath.Join(dir, "index.html")})
	tree, err := ReadDir(dir, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(tree, "index.html", "css/deep/b.css", "link.html", "styles/a.css", "abs.html"); err != nil {
		t.Error(err)
	}
	os.WriteFile(filepath.Join(dir, "index.html"), []byte("changed"), 0o644)
	if data, _ := tree.ReadFile("link.html"); string(data) != "hi" {
		t.Errorf("got %q after the host's file changed", data)
	}
}

func TestReadDirSkips(t *testing.T) {
	t.Parallel()
	dir := lay(t, map[string]string{"a": "1", ".git/config": "2", "x/.env": "3", "evil": "->/etc/hostname"})
	_, err := ReadDir(dir, ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), `"evil"`) {
		t.Errorf("got %v", err)
	}
	os.Remove(filepath.Join(dir, "evil"))
	tree, err := ReadDir(dir, ReadOptions{Skip: func(p string, dir bool) bool { return strings.Contains("/"+p, "/.") }})
	if err != nil {
		t.Fatal(err)
	}
	if tree.Len() != 1 {
		t.Errorf("got %d files, want 1", tree.Len())
	}
}

func TestReadDirRefuses(t *testing.T) {
	t.Parallel()
	outside := lay(t, map[string]string{"secret": "s"})
	tests := []struct {
		name  string
		files map[string]string
		make  func(dir string) error
		opts  ReadOptions
		want  string
	}{
		{name: "link out by an absolute path", files: map[string]string{"l": "->" + outside + "/secret"}, want: `read "l": the symbolic link leaves the folder`},
		{name: "link out by dots", files: map[string]string{"a/l": "->../../../../../../../../etc/hostname"}, want: `read "a/l": the symbolic link leaves the folder`},
		{name: "link to a folder outside", files: map[string]string{"l": "->" + outside}, want: `read "l": the symbolic link leaves the folder`},
		{name: "link through a link", files: map[string]string{"a": "->b", "b": "->" + outside + "/secret"}, want: "leaves the folder"},
		{name: "link that dangles", files: map[string]string{"l": "->nothing"}, want: `read "l": the symbolic link cannot be followed: no such file or directory`},
		{name: "link to itself", files: map[string]string{"l": "->l"}, want: `read "l": the symbolic link cannot be followed`},
		{name: "link to a folder above", files: map[string]string{"a/b/l": "->../.."}, want: "the symbolic link loops"},
		{name: "link to its own folder", files: map[string]string{"a/l": "->."}, want: `read "a/l": the symbolic link loops`},
		{name: "pipe", make: func(d string) error { return syscall.Mkfifo(d+"/pipe", 0o600) }, want: `read "pipe": is a named pipe`},
		{name: "link to a device", files: map[string]string{"zero": "->/dev/zero"}, want: `read "zero": the symbolic link leaves the folder`},
		{name: "too many bytes", files: map[string]string{"a": "12345", "b": "67890"}, opts: ReadOptions{MaxBytes: 9}, want: `read "b": the folder is larger than 9 bytes`},
		{name: "too many files", files: map[string]string{"a": "", "b/c": ""}, opts: ReadOptions{MaxFiles: 2}, want: "more than 2 files and folders"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := lay(t, tt.files)
			if tt.make != nil {
				if err := tt.make(dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := ReadDir(dir, tt.opts)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error(), outside) {
				t.Errorf("the error shows a path of the host: %v", err)
			}
		})
	}
	if _, err := ReadDir(filepath.Join(outside, "none"), ReadOptions{}); err == nil {
		t.Error("a folder that is not there: got no error")
	}
}

func TestReadDirOfManyLinksEnds(t *testing.T) {
	t.Parallel()
	// Each level doubles what the next one holds: the count of files ends it.
	files := map[string]string{"d0/f": "x"}
	for i := 1; i < 40; i++ {
		files[fmt.Sprintf("d%d/a", i)] = fmt.Sprintf("->../d%d", i-1)
		files[fmt.Sprintf("d%d/b", i)] = fmt.Sprintf("->../d%d", i-1)
	}
	_, err := ReadDir(lay(t, files), ReadOptions{MaxFiles: 5000})
	if err == nil || !strings.Contains(err.Error(), "more than 5000") {
		t.Errorf("got %v", err)
	}
}

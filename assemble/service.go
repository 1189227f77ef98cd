package assemble

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/edge-runtime/edge/config"
	edgenet "github.com/edge-runtime/edge/net"
	"github.com/edge-runtime/edge/net/fetch"
	"github.com/edge-runtime/edge/vfs"
)

// newService makes a service that is no worker.
func newService(s *config.Service, tree *vfs.Tree) (*unit, error) {
	switch {
	case s.Disk != nil:
		d, err := edgenet.NewDisk(tree, edgenet.DiskOptions{MaxBytes: s.Disk.MaxSize})
		if err != nil {
			return nil, err
		}
		return only(d, s, nil), nil
	}
	return nil, fmt.Errorf("make service %q: unknown kind", s.Name)
}

// only is a service without entrypoints.
func only(f fetch.Fetcher, s *config.Service, close func() error) *unit {
	return &unit{
		fetcher: func(entrypoint string) (fetch.Fetcher, error) {
			if entrypoint != "" {
				return nil, fmt.Errorf("find entrypoint %q of %s: only workers have entrypoints", entrypoint, s.Field)
			}
			return f, nil
		},
		close: close,
	}
}

// readFolder reads a disk service's files and returns the folders that were
// looked at.
func readFolder(d *config.Disk) (*vfs.Tree, []string, error) {
	dirs := []string{d.Path}
	tree, err := vfs.ReadDir(d.Path, vfs.ReadOptions{MaxBytes: d.MaxSize, Skip: func(path string, dir bool) bool {
		if !d.AllowDotfiles && hidden(path) {
			return true
		}
		if dir {
			dirs = append(dirs, filepath.Join(d.Path, path))
		}
		return false
	}})
	return tree, dirs, err
}

// hidden reports whether a path's last name begins with a dot. /.well-known is
// public by its purpose (RFC 8615).
func hidden(path string) bool {
	return strings.HasPrefix(filepath.Base(path), ".") && path != "." && path != ".well-known"
}

var _ fs.FS = (*vfs.Tree)(nil)

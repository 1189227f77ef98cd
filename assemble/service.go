package assemble

import (
	"fmt"
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
		d, err := edgenet.NewDisk(tree, edgenet.DiskOptions{
			MaxBytes: s.Disk.MaxSize, Index: s.Disk.Index, NoIndex: s.Disk.Index == "", Dotfiles: s.Disk.AllowDotfiles,
		})
		if err != nil {
			return nil, err
		}
		return only(d, s, nil), nil
	case s.Network != nil:
		n, err := edgenet.NewNetwork(networkConfig(s))
		if err != nil {
			return nil, err
		}
		return only(n, s, n.Close), nil
	case s.External != nil:
		x, err := edgenet.NewExternal(externalConfig(s))
		if err != nil {
			return nil, err
		}
		return only(x, s, x.Close), nil
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

func networkConfig(s *config.Service) edgenet.NetworkConfig {
	c := edgenet.NetworkConfig{Service: s.Name, Field: s.Field + ".network", TLS: edgenet.TLS(s.Network.TLS)}
	for _, r := range s.Network.Allow {
		c.Allow = append(c.Allow, edgenet.AddressRule{Word: edgenet.AddressWord(r.Word), Prefix: r.Prefix})
	}
	for _, r := range s.Network.Deny {
		c.Deny = append(c.Deny, edgenet.AddressRule{Word: edgenet.AddressWord(r.Word), Prefix: r.Prefix})
	}
	for _, h := range s.Network.Hosts {
		c.Hosts = append(c.Hosts, edgenet.HostPattern(h))
	}
	return c
}

func externalConfig(s *config.Service) edgenet.ExternalConfig {
	c := edgenet.ExternalConfig{Service: s.Name, Address: s.External.Address}
	for _, e := range s.External.HTTP.InjectRequestHeaders {
		c.InjectRequestHeaders = append(c.InjectRequestHeaders, edgenet.HeaderEdit(e))
	}
	for _, e := range s.External.HTTP.InjectResponseHeaders {
		c.InjectResponseHeaders = append(c.InjectResponseHeaders, edgenet.HeaderEdit(e))
	}
	if s.External.TLS != nil {
		t := edgenet.TLS(*s.External.TLS)
		c.TLS = &t
	}
	return c
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

package vfs

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ProjectRoot returns the folder that bounds what a worker's code may import:
// the nearest one at or above dir that holds a package.json or a node_modules
// folder, or the workspace that this one is a member of. Without either it is
// dir itself. The path is absolute and free of symbolic links.
func ProjectRoot(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find project: %w", err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", fmt.Errorf("find project: %w", err)
	}
	nearest := ""
	for d := abs; ; d = filepath.Dir(d) {
		if nearest == "" && isProject(d) {
			nearest = d
		}
		if nearest != "" && d != nearest && isMember(d, nearest) {
			return d, nil
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	if nearest == "" {
		return abs, nil
	}
	return nearest, nil
}

func isProject(dir string) bool {
	if info, err := os.Stat(filepath.Join(dir, "package.json")); err == nil && info.Mode().IsRegular() {
		return true
	}
	info, err := os.Stat(filepath.Join(dir, "node_modules"))
	return err == nil && info.IsDir()
}

// isMember reports whether the workspace at dir lists the package at pkg. A pnpm
// workspace is taken at its word, since its list is YAML.
func isMember(dir, pkg string) bool {
	if info, err := os.Stat(filepath.Join(dir, "pnpm-workspace.yaml")); err == nil && info.Mode().IsRegular() {
		return true
	}
	info, err := os.Stat(filepath.Join(dir, "package.json"))
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return false
	}
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return false
	}
	var file struct {
		Workspaces json.RawMessage `json:"workspaces"`
	}
	if json.Unmarshal(data, &file) != nil || file.Workspaces == nil {
		return false
	}
	var globs []string
	if json.Unmarshal(file.Workspaces, &globs) != nil {
		var long struct {
			Packages []string `json:"packages"`
		}
		if json.Unmarshal(file.Workspaces, &long) != nil {
			return false
		}
		globs = long.Packages
	}
	rel, ok := relIn(dir, pkg)
	if !ok {
		return false
	}
	for _, glob := range globs {
		if matchGlob(strings.Split(path.Clean(glob), "/"), strings.Split(rel, "/")) {
			return true
		}
	}
	return false
}

// matchGlob matches path segments; "**" stands for any number of them.
func matchGlob(glob, segments []string) bool {
	if len(glob) == 0 {
		return len(segments) == 0
	}
	if glob[0] == "**" {
		return matchGlob(glob[1:], segments) || len(segments) > 0 && matchGlob(glob, segments[1:])
	}
	if len(segments) == 0 {
		return false
	}
	ok, err := path.Match(glob[0], segments[0])
	return err == nil && ok && matchGlob(glob[1:], segments[1:])
}

// Command headers links V8's headers into isolate/v8/include. They come with
// the module that rogchap.com/v8go is replaced by; the link is not committed.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "link V8 headers:", err)
		os.Exit(1)
	}
}

// run works in the folder of the go:generate line, isolate/v8.
func run() error {
	if _, err := exec.LookPath("g++"); err != nil {
		return fmt.Errorf("no C++ compiler: install one (apt-get install g++)")
	}
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "rogchap.com/v8go")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list -m rogchap.com/v8go: %w (the module proxy must be reachable once)", err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return fmt.Errorf("rogchap.com/v8go is not downloaded: run go mod download rogchap.com/v8go")
	}
	include := filepath.Join(dir, "deps", "include")
	if _, err := os.Stat(filepath.Join(include, "v8.h")); err != nil {
		return fmt.Errorf("%s has no v8.h: go.mod must keep the replace line for rogchap.com/v8go", include)
	}
	if old, err := os.Readlink("include"); err == nil && old == include {
		return nil
	}
	if err := os.RemoveAll("include"); err != nil {
		return err
	}
	return os.Symlink(include, "include")
}

// Package webapi is the web platform that workers see, written from the
// standards: one JavaScript file per standard, baked into the start-up snapshot,
// and beside it a Go file of the same name with its ops. It holds the Fetcher of
// workers too, which turns requests into events. It knows no engine, no sockets
// and no binding kind.
package webapi

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/edge-runtime/edge/isolate/op"
)

//go:embed *.js
var sources embed.FS

// DirVariable is the environment variable that names a folder from which the
// JavaScript of the web platform is read in place of the embedded copy, for
// those who work on it.
const DirVariable = "EDGE_WEBAPI_DIR"

// Extensions returns the modules of the web platform: one for each JavaScript
// file of this folder, with the ops of the Go file beside it.
func Extensions() ([]op.Extension, error) {
	var dir fs.FS = sources
	if path := os.Getenv(DirVariable); path != "" {
		dir = os.DirFS(path)
	}
	names, err := fs.Glob(dir, "*.js")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("read the web platform: no .js files in the folder that %s names (%v)", DirVariable, err)
	}
	exts := make([]op.Extension, 0, len(names))
	for _, name := range names {
		source, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read the web platform: %w", err)
		}
		x := op.Extension{Name: strings.TrimSuffix(name, ".js"), Source: string(source)}
		if ops := standardOps[x.Name]; ops != nil {
			x.Ops = ops()
		}
		exts = append(exts, x)
	}
	return exts, nil
}

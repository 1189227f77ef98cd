package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/edge-runtime/edge/isolate/v8"
)

// Version is set by the linker for releases; other builds show their commit.
var Version = ""

type versionCommand struct{}

// Run prints the version of the program and of its engine.
func (versionCommand) Run(p *program) error {
	fmt.Fprintf(p.stdout, "edge %s (V8 %s, %s, %s/%s)\n", version(), v8.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

func version() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision + modified
}

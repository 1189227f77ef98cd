package cli

import (
	"os"
	"os/exec"

	"github.com/edge-runtime/edge/vfs"
)

type buildCommand struct{}

// Run bundles for the process that started this one, until that closes the
// standard input.
func (buildCommand) Run(p *program) error { return vfs.Serve(p.stdin, p.stdout) }

// buildProcess makes a process of this program that bundles. Hostile source can
// end such a process and nothing else.
func buildProcess() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.Command(self, buildName)
	cmd.Stderr = nil
	detach(cmd)
	return cmd
}

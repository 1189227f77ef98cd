//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// detach keeps the terminal's signals from a build process: on Ctrl-C the server
// drains, and ends its builds itself.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

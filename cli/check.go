package cli

import (
	"fmt"

	"github.com/edge-runtime/edge/assemble"
)

type checkCommand struct {
	Config string `arg:"" help:"The configuration, a CUE file." env:"EDGE_CONFIG" placeholder:"config.cue"`
}

// Run prints every mistake, one a line, or that there is none.
func (c *checkCommand) Run(p *program) error {
	report, err := assemble.Check(c.Config, assemble.Options{Kinds: p.kinds, BuildCommand: buildProcess})
	if err != nil {
		text, n := mistakes(err, colored(p.stderr))
		fmt.Fprintln(p.stderr, text)
		fmt.Fprintf(p.stderr, "%s: %s\n", c.Config, plural(n, "mistake"))
		return errReported
	}
	for _, w := range report.Warnings {
		fmt.Fprintln(p.stderr, "warning: "+w)
	}
	fmt.Fprintf(p.stdout, "%s: no mistakes (%s, %s)\n", c.Config, plural(report.Services, "service"), plural(report.Workers, "worker"))
	return nil
}

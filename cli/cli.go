// Package cli is the program's command line: one file per command, flags, exit
// codes and what a terminal shows. There is one way to start a server, which
// serve and dev share.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/edge-runtime/edge/bindings"
)

// The exit codes.
const (
	ExitOK     = 0 // it worked
	ExitFailed = 1 // mistakes were found, or the command failed
	ExitUsage  = 2 // the command line is wrong
)

const description = `Runs JavaScript and TypeScript workers in V8 isolates, as a CUE file declares them.

Exit codes: 0 it worked, 1 mistakes were found or the command failed, 2 the command line is wrong.`

// commands is the command line.
type commands struct {
	Serve   serveCommand   `cmd:"" help:"Serve a configuration. SIGHUP reloads it."`
	Dev     devCommand     `cmd:"" help:"Serve a configuration, reload it when a file changes, show errors with their source."`
	Check   checkCommand   `cmd:"" help:"Report every mistake of a configuration and of its workers' code."`
	Version versionCommand `cmd:"" help:"Print the version."`
	Build   buildCommand   `cmd:"" name:"bundle-for-parent" hidden:"" help:"Bundle workers for another process of this program."`
}

// program is what the commands share.
type program struct {
	kinds  bindings.Set
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// buildName is the hidden command that bundles, see vfs.Builder; the tag of
// commands.Build says the same.
const buildName = "bundle-for-parent"

// Main runs the program with the arguments behind its name and returns its exit
// code. kinds are the binding kinds that configurations may use.
func Main(args []string, kinds ...bindings.Kind) int {
	set, err := bindings.NewSet(kinds...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "edge:", err)
		return ExitFailed
	}
	p := &program{kinds: set, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	return p.run(args)
}

// exited is how kong's --help ends the parsing.
type exited int

func (p *program) run(args []string) (code int) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exited:
			code = int(e)
		default:
			panic(e)
		}
	}()
	var c commands
	parser, err := kong.New(&c, kong.Name("edge"), kong.Description(description), kong.Writers(p.stdout, p.stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(p.stderr, "edge:", err)
		return ExitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		p.usage(err)
		return ExitUsage
	}
	if err := ctx.Run(p); err != nil {
		if !errors.Is(err, errReported) {
			fmt.Fprintln(p.stderr, "edge:", err)
		}
		return ExitFailed
	}
	return ExitOK
}

// usage says what is wrong with the command line and how to find out what works.
func (p *program) usage(err error) {
	fmt.Fprintln(p.stderr, "edge:", err)
	var pe *kong.ParseError
	help := "edge --help"
	if errors.As(err, &pe) && pe.Context != nil && pe.Context.Selected() != nil {
		help = "edge " + pe.Context.Selected().Name + " --help"
	}
	fmt.Fprintf(p.stderr, "Run %q to see what there is.\n", help)
}

// errReported ends a command whose errors have been printed.
var errReported = errors.New("reported")

// isTerminal reports whether w is a terminal that shows colours.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colored reports whether output to w may be coloured: https://no-color.org
func colored(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

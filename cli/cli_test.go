package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/bindings"
)

// run runs the program with arguments.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	kinds, err := bindings.NewSet(BuiltinKinds()...)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	p := &program{kinds: kinds, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	code = p.run(args)
	return out.String(), errs.String(), code
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{}, ExitOK, "Serve a configuration", ""},
		{[]string{"--help"}, ExitOK, "Exit codes: 0 it worked, 1 mistakes were found or the command failed, 2 the\ncommand line is wrong.", ""},
		{[]string{"check", "--help"}, ExitOK, "Report every mistake", ""},
		{[]string{"version"}, ExitOK, "edge ", ""},
		{[]string{"nothing"}, ExitUsage, "", `Run "edge --help"`},
		{[]string{"dev", "--nothing"}, ExitUsage, "", `Run "edge dev --help"`},
		{[]string{"serve", "--log-level=loud", "c.cue"}, ExitUsage, "", `"debug","info","warn","error"`},
		{[]string{"serve", "--drain-timeout=soon", "c.cue"}, ExitUsage, "", "drain-timeout"},
		{[]string{"check", "no-such-file.cue"}, ExitFailed, "", "no-such-file.cue: no such file"},
		{[]string{buildName}, ExitOK, "", ""},
	} {
		stdout, stderr, code := run(t, tt.args...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("edge %s ended with %d, %q and %q; want %d, %q and %q", strings.Join(tt.args, " "), code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
		}
	}
}

func TestHelpHidesWhatIsInternal(t *testing.T) {
	if stdout, _, _ := run(t, "--help"); strings.Contains(stdout, buildName) {
		t.Errorf("the help shows %s", buildName)
	}
}

func TestBuiltinKindsAreKinds(t *testing.T) {
	dirs, err := filepath.Glob("../bindings/*/schema.cue")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(BuiltinKinds()); n != len(dirs) {
		t.Errorf("there are %d kinds and %d folders with a schema", n, len(dirs))
	}
	for _, k := range BuiltinKinds() {
		if _, err := os.Stat(filepath.Join("../bindings", strings.ToLower(k.Name))); err != nil {
			t.Errorf("the kind %s is no folder of its name", k.Name)
		}
	}
}

package v8

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// V8's options hold for a process, so tests of one that is not the default run
// again in a process of their own.
const childOptions = "EDGE_V8_TEST_OPTIONS"

// engineOptions are the options of the tests' engine in this process.
func engineOptions() Options {
	var o Options
	for f := range strings.FieldsSeq(os.Getenv(childOptions)) {
		switch f {
		case "park":
		case "jump":
			o.JumpOnFatal = true
		case "traps":
			o.WasmTraps = true
		default:
			o.Flags = append(o.Flags, f)
		}
	}
	return o
}

// inChild reports whether this process has these options; if not, it runs the
// test in one that does.
func inChild(t *testing.T, options string) bool {
	t.Helper()
	if os.Getenv(childOptions) == options {
		return true
	}
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.timeout=10m"}
	for _, a := range os.Args[1:] {
		if strings.HasPrefix(a, "-soak") || strings.HasPrefix(a, "-test.short") {
			args = append(args, a)
		}
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childOptions+"="+options)
	out, err := cmd.CombinedOutput()
	t.Logf("with %q: %s", options, out)
	if err != nil {
		t.Errorf("with %q: %v", options, err)
	}
	return false
}

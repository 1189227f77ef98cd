package webapi

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/edge-runtime/edge/isolate/op"
)

// maxLogBytes bounds the text of one console call. A worker that prints a body
// by accident shall not fill the log with it.
const maxLogBytes = 64 << 10

// logLevels are the levels that console.js speaks.
var logLevels = []string{"debug", "log", "info", "warn", "error"}

// consoleOps returns the op of console.js, which report.js uses as well.
func consoleOps() []op.Op {
	return []op.Op{{
		Name: "op_log",
		Mode: op.Post,
		// op_log(level, text): one console call.
		Func: func(c *op.Call) error {
			level := c.Text(0)
			if !slices.Contains(logLevels, level) {
				return fmt.Errorf("log console call: unknown level %q (there are %v)", level, logLevels)
			}
			c.Host().Log(level, c.InvocationID(), clipLog(c.Text(1)))
			return nil
		},
	}}
}

// clipLog cuts text to maxLogBytes, never inside a character, and says so.
func clipLog(text string) string {
	if len(text) <= maxLogBytes {
		return text
	}
	end := maxLogBytes
	for end > maxLogBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s... %d more bytes", text[:end], len(text)-end)
}

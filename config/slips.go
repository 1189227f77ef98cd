package config

import (
	"fmt"
	"regexp"
	"strings"
)

// slips are what people write who know JSON or YAML better than CUE. Each is
// recognised in the line of a syntax error and explained, since CUE's parser
// names the next token that it did not expect.
var slips = []struct {
	re   *regexp.Regexp // the first group is what was meant
	hint string
}{
	{regexp.MustCompile(`(?:^|[{,\s])([A-Za-z_]\w*(?:-\w+)+)\s*:`), "a name with a dash stands in quotes: %q"},
	{regexp.MustCompile(`[:\[,\s]([0-9]+(?:\.[0-9]+)?(?:us|ms|s|m|h|B|[kKMGT]i?B))\b`), "a number with a unit stands in quotes: %q"},
	{regexp.MustCompile(`:\s*(\*?:[0-9]+|\*:[0-9]+|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+(?::[0-9]+)?)`), "an address stands in quotes: %q"},
	{regexp.MustCompile(`:\s*((?:\./|\.\./|/)[^\s"{},]+)`), "a path stands in quotes: %q"},
}

// slip returns the hint for the syntax error in a line, or "". quoted text is
// left out of account, and so are comments.
func slip(line string) string {
	line = quotedRE.ReplaceAllString(line, `""`)
	line, _, _ = strings.Cut(line, "//")
	for _, s := range slips {
		if m := s.re.FindStringSubmatch(line); m != nil {
			return fmt.Sprintf(s.hint, m[1])
		}
	}
	return ""
}

var quotedRE = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

var undefinedRE = regexp.MustCompile(`^reference "([^"]+)" not found`)

// lineOf returns one line of a text, counted from 1, or "".
func lineOf(text string, number int) string {
	for l := range strings.Lines(text) {
		if number--; number == 0 {
			return strings.TrimRight(l, "\r\n")
		}
	}
	return ""
}

package config

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// hints of the two kinds of quantity, shown with every mistake in one.
const (
	durationHint = `write a number and a unit: "50ms", "1.5s", "10m", "1h"`
	sizeHint     = `write a number and a unit: "512B", "64KiB", "128MiB", "1GiB"`
)

var quantityRE = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)$`)

var durationUnits = map[string]int64{
	"us": int64(time.Microsecond), "ms": int64(time.Millisecond), "s": int64(time.Second),
	"m": int64(time.Minute), "h": int64(time.Hour),
}

var sizeUnits = map[string]int64{
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// ParseDuration parses a number with one unit: us, ms, s, m or h. Unlike
// time.ParseDuration it takes no sign and no sum of several.
func ParseDuration(s string) (time.Duration, error) {
	n, err := parseQuantity(s, durationUnits, "duration", "us, ms, s, m, h")
	return time.Duration(n), err
}

// ParseSize parses a number of bytes with one unit: B, KiB, MiB, GiB, TiB or
// the decimal kB, MB, GB, TB.
func ParseSize(s string) (int64, error) {
	return parseQuantity(s, sizeUnits, "size", "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB")
}

// parseQuantity returns a number times its unit, exactly or not at all: a part
// of a nanosecond or of a byte is a mistake.
func parseQuantity(s string, units map[string]int64, what, unitNames string) (int64, error) {
	m := quantityRE.FindStringSubmatch(s)
	if m == nil {
		switch {
		case s == "":
			return 0, fmt.Errorf("bad %s %q: it is empty", what, s)
		case strings.HasPrefix(s, "-"):
			return 0, fmt.Errorf("bad %s %q: it is negative", what, s)
		case strings.Trim(s, "0123456789.") == "":
			return 0, fmt.Errorf("bad %s %q: the unit is missing", what, s)
		}
		return 0, fmt.Errorf("bad %s %q: not a number and one unit", what, s)
	}
	unit, ok := units[m[2]]
	if !ok {
		for name := range units {
			if strings.EqualFold(name, m[2]) && name != "KB" {
				return 0, fmt.Errorf("bad %s %q: unknown unit %q, did you mean %q?", what, s, m[2], name)
			}
		}
		return 0, fmt.Errorf("bad %s %q: unknown unit %q, the units are %s", what, s, m[2], unitNames)
	}
	r, ok := new(big.Rat).SetString(m[1])
	if !ok {
		return 0, fmt.Errorf("bad %s %q: not a number and one unit", what, s)
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	if !r.IsInt() {
		return 0, fmt.Errorf("bad %s %q: it is no whole number of %s", what, s, map[string]string{"duration": "nanoseconds", "size": "bytes"}[what])
	}
	if !r.Num().IsInt64() {
		return 0, fmt.Errorf("bad %s %q: it is too large", what, s)
	}
	return r.Num().Int64(), nil
}

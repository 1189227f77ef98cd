package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"50ms": 50 * time.Millisecond, "1.5s": 1500 * time.Millisecond, "10m": 10 * time.Minute, "1h": time.Hour, "0s": 0,
		"7us": 7 * time.Microsecond, "1 s": time.Second, "007ms": 7 * time.Millisecond, "0.000000001s": 1,
	} {
		if got, err := ParseDuration(in); got != want || err != nil {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "it is empty", "5": "the unit is missing", "-5s": "it is negative", "+5s": "not a number and one unit", "1m30s": "not a number and one unit",
		"5 S": `did you mean "s"?`, "5 days": "the units are us, ms, s, m, h", "s": "not a number", ".5s": "not a number", "5.s": "not a number",
		"1e3s": "not a number", "0.1us ": "not a number", "2562048h": "too large", "0.0000001us": "no whole number of nanoseconds", "\u0665s": "not a number",
	} {
		if got, err := ParseDuration(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseDuration(%q) = %v, %v, want an error with %q", in, got, err, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{
		"0B": 0, "512B": 512, "64KiB": 64 << 10, "1.5MiB": 3 << 19, "2GiB": 2 << 30, "1TiB": 1 << 40, "1kB": 1000, "1KB": 1000, "3MB": 3e6, "1GB": 1e9,
		"128 MiB": 128 << 20,
	} {
		if got, err := ParseSize(in); got != want || err != nil {
			t.Errorf("ParseSize(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"": "it is empty", "128": "the unit is missing", "128M": "the units are", "128mib": `did you mean "MiB"?`, "0.5B": "no whole number of bytes",
		"99999999TiB": "too large", "-1B": "negative", "one": "not a number",
	} {
		if got, err := ParseSize(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSize(%q) = %v, %v, want an error with %q", in, got, err, want)
		}
	}
}

// TestQuantitiesAgreeWithTheLanguage compares with time.ParseDuration and plain
// multiplication for what both take.
func TestQuantitiesAgreeWithTheLanguage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(0, 2_000_000).Draw(t, "whole")
		unit := rapid.SampledFrom([]string{"us", "ms", "s", "m", "h"}).Draw(t, "unit")
		s := fmt.Sprintf("%d.%d%s", whole, rapid.IntRange(0, 9).Draw(t, "tenth"), unit)
		want, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("parse %s: %v", s, err)
		}
		if got, err := ParseDuration(s); got != want || err != nil {
			t.Fatalf("ParseDuration(%q) = %v, %v, want %v", s, got, err, want)
		}
		shift := rapid.SampledFrom([]int{0, 10, 20, 30, 40}).Draw(t, "shift")
		s = fmt.Sprintf("%d%s", whole, map[int]string{0: "B", 10: "KiB", 20: "MiB", 30: "GiB", 40: "TiB"}[shift])
		if got, err := ParseSize(s); got != whole<<shift || err != nil {
			t.Fatalf("ParseSize(%q) = %v, %v, want %v", s, got, err, whole<<shift)
		}
	})
}

func FuzzQuantities(f *testing.F) {
	for _, s := range []string{"50ms", "1.5s", "128MiB", "", "-1s", "9999999999999999999h", "1.s", "1 KiB", "\x00s", "1e9s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err == nil {
			if d < 0 {
				t.Errorf("ParseDuration(%q) = %v, which is negative", s, d)
			}
			if same, err := time.ParseDuration(strings.Replace(s, " ", "", 1)); err == nil && same != d {
				t.Errorf("ParseDuration(%q) = %v, want %v", s, d, same)
			}
		} else if !strings.Contains(err.Error(), "duration") {
			t.Errorf("ParseDuration(%q): the error %q does not say what is wrong", s, err)
		}
		if n, err := ParseSize(s); err == nil && n < 0 {
			t.Errorf("ParseSize(%q) = %v, which is negative", s, n)
		}
	})
}

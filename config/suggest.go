package config

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed bounds the names that a hint lists: a configuration can have
// thousands of services.
const maxListed = 12

// suggest returns the hint for a name that is none of names: the nearest one
// when one is near, else a list of them. what says what they are, such as
// "fields here".
func suggest(name string, names []string, what string) string {
	if near := nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return list(names, what)
}

// list returns "what: a, b, c", or "" without names.
func list(names []string, what string) string {
	if len(names) == 0 {
		return ""
	}
	names = slices.Sorted(slices.Values(names))
	more := ""
	if len(names) > maxListed {
		more = fmt.Sprintf(" and %d more", len(names)-maxListed)
		names = names[:maxListed]
	}
	return fmt.Sprintf("%s: %s%s", what, strings.Join(names, ", "), more)
}

// nearest returns the name with the smallest edit distance, the first by
// alphabet among equals; when none is near enough to be a slip, the only one
// that begins with name or that name begins with; else "".
func nearest(name string, names []string) string {
	best, bestDist := "", 1+max(1, len(name)/3)
	for _, n := range slices.Sorted(slices.Values(names)) {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if d < bestDist {
			best, bestDist = n, d
		}
	}
	if best != "" || len(name) < 3 {
		return best
	}
	for _, n := range names {
		if len(n) >= 3 && (strings.HasPrefix(n, name) || strings.HasPrefix(name, n)) {
			if best != "" {
				return ""
			}
			best = n
		}
	}
	return best
}

// distance counts the bytes to insert, delete, replace or swap with their
// neighbour that make b of a (optimal string alignment).
func distance(a, b string) int {
	prev2, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}

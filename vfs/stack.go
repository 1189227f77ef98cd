package vfs

import (
	"strconv"
	"strings"
)

// moduleURL is what the engine puts before a module's key.
const moduleURL = "file:///"

// MapStack rewrites the places of a JavaScript stack, such as
// "at total (file:///src/shop.js:10:5)", into those of the files that the
// author wrote, relative to the project root. Function names and everything
// else stay.
func (b *Bundle) MapStack(stack string) string {
	at := strings.Index(stack, moduleURL)
	if at < 0 {
		return stack
	}
	var out strings.Builder
	out.Grow(len(stack))
	for at >= 0 {
		out.WriteString(stack[:at])
		stack = stack[at:]
		place, used := b.mapPlace(stack[len(moduleURL):])
		if used == 0 {
			out.WriteString(moduleURL)
			stack = stack[len(moduleURL):]
		} else {
			out.WriteString(place)
			stack = stack[len(moduleURL)+used:]
		}
		at = strings.Index(stack, moduleURL)
	}
	out.WriteString(stack)
	return out.String()
}

// mapPlace reads "key:line:col" or "key:line" off the front of s and returns the
// original place and the number of bytes read, 0 when s holds no such thing.
func (b *Bundle) mapPlace(s string) (string, int) {
	for _, key := range b.mapOrder {
		rest, ok := strings.CutPrefix(s, key)
		if !ok || rest == "" || rest[0] != ':' {
			continue
		}
		line, n := leadingInt(rest[1:])
		if n == 0 {
			continue
		}
		used := len(key) + 1 + n
		col, m := 1, 0
		if tail := rest[1+n:]; len(tail) > 1 && tail[0] == ':' {
			if col, m = leadingInt(tail[1:]); m > 0 {
				used += 1 + m
			}
		}
		if file, l, c, ok := b.Position(key, line, max(col, 1)); ok {
			if m == 0 {
				return file + ":" + strconv.Itoa(l), used
			}
			return file + ":" + strconv.Itoa(l) + ":" + strconv.Itoa(c), used
		}
		return b.shown(key) + s[len(key):used], used
	}
	return "", 0
}

// leadingInt reads the decimal number at the front of s and its length. Numbers
// that no source position reaches are none.
func leadingInt(s string) (value, n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		if n == 9 {
			return 0, 0
		}
		value = value*10 + int(s[n]-'0')
		n++
	}
	return value, n
}

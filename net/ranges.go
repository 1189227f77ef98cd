package edgenet

import "strings"

// byteRange is a part of a representation.
type byteRange struct{ start, length int64 }

// maxRanges bounds the parts of one response; who asks for more gets the whole.
const maxRanges = 32

// parseRange reads a Range header for a representation of size bytes. ok is
// false when the header is to be ignored: another unit, bad syntax, or ranges
// that together ask for more than the whole. Without any range that lies inside,
// the list is empty and the answer is 416.
//
// RFC 9110, 14.1.2 and 14.2.
func parseRange(header string, size int64) (ranges []byteRange, ok bool) {
	unit, set, found := strings.Cut(header, "=")
	if !found || !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		return nil, false
	}
	total, specs := int64(0), 0
	for spec := range strings.SplitSeq(set, ",") {
		spec = strings.Trim(spec, " \t")
		if spec == "" {
			continue
		}
		if specs++; specs > maxRanges {
			return nil, false
		}
		r, ok := parseRangeSpec(spec, size)
		if !ok {
			return nil, false
		}
		if r.length > 0 {
			total += r.length
			ranges = append(ranges, r)
		}
	}
	if specs == 0 || len(ranges) > 1 && total > size {
		return nil, false
	}
	return ranges, true
}

// parseRangeSpec reads one range; its length is 0 when it lies outside.
func parseRangeSpec(spec string, size int64) (byteRange, bool) {
	first, last, found := strings.Cut(spec, "-")
	if !found {
		return byteRange{}, false
	}
	if first == "" {
		n, ok := parseDigits(last)
		n = min(n, size)
		return byteRange{size - n, n}, ok
	}
	start, ok := parseDigits(first)
	if !ok {
		return byteRange{}, false
	}
	end := size - 1
	if last != "" {
		n, ok := parseDigits(last)
		if !ok || n < start {
			return byteRange{}, false
		}
		end = min(n, end)
	}
	if start >= size {
		return byteRange{}, true
	}
	return byteRange{start, end - start + 1}, true
}

// parseDigits reads a number of digits only. What is too large for an int64 is
// its largest value.
func parseDigits(s string) (int64, bool) {
	const most = int64(^uint64(0) >> 1)
	if s == "" {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		c := s[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > (most-int64(c-'0'))/10 {
			n = most
			continue
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

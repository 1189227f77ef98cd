package webapi

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
)

var (
	indexGB18030 = sync.OnceValue(func() index {
		x := makeIndex(simplifiedchinese.GB18030, 126*190, func(pointer int) []byte {
			trail := byte(pointer % 190)
			if trail < 0x3f {
				trail += 0x40
			} else {
				trail += 0x41
			}
			return []byte{byte(pointer/190) + 0x81, trail}
		})
		for _, run := range gb18030Private {
			for i := range run.count {
				x[gb18030Pointer(run.lead, run.trail)+i] = run.first + rune(i)
			}
		}
		for pointer, r := range gb18030Changes {
			x[pointer] = r
		}
		return x
	})
	// The four-byte sequences of the Basic Multilingual Plane.
	indexGB18030Ranges = sync.OnceValue(func() index {
		return makeIndex(simplifiedchinese.GB18030, 39420, func(pointer int) []byte {
			return []byte{byte(pointer/12600) + 0x81, byte(pointer/1260%10) + 0x30, byte(pointer/10%126) + 0x81, byte(pointer%10) + 0x30}
		})
	})
)

// gb18030Pointer returns the pointer of a two-byte sequence.
func gb18030Pointer(lead, trail byte) int {
	offset := 0x41
	if trail < 0x7f {
		offset = 0x40
	}
	return (int(lead)-0x81)*190 + int(trail) - offset
}

// gb18030Private are the runs of pointers that stand for private use, which
// the library leaves out.
var gb18030Private = []struct {
	lead, trail byte
	count       int
	first       rune
}{
	{0xa1, 0x40, 96, 0xe4c6}, {0xa2, 0x40, 96, 0xe526}, {0xa3, 0x40, 95, 0xe586}, {0xa4, 0x40, 96, 0xe5e6},
	{0xa5, 0x40, 96, 0xe646}, {0xa6, 0x40, 96, 0xe6a6}, {0xa7, 0x40, 96, 0xe706}, {0xa2, 0xab, 6, 0xe766},
	{0xa2, 0xe4, 1, 0xe76d}, {0xa2, 0xef, 2, 0xe76e}, {0xa2, 0xfd, 2, 0xe770}, {0xa4, 0xf4, 11, 0xe772},
	{0xa5, 0xf7, 8, 0xe77d}, {0xa6, 0xb9, 8, 0xe785}, {0xa6, 0xf6, 9, 0xe797}, {0xa7, 0xc2, 15, 0xe7a0},
	{0xa7, 0xf2, 13, 0xe7af}, {0xa8, 0x96, 11, 0xe7bc}, {0xa8, 0xc1, 4, 0xe7c9}, {0xa8, 0xea, 21, 0xe7cd},
	{0xa9, 0x58, 1, 0xe7e2}, {0xa9, 0x5b, 1, 0xe7e3}, {0xa9, 0x5d, 3, 0xe7e4}, {0xa9, 0x97, 13, 0xe7f4},
	{0xa9, 0xf0, 15, 0xe801}, {0xaa, 0xa1, 94, 0xe000}, {0xab, 0xa1, 94, 0xe05e}, {0xac, 0xa1, 94, 0xe0bc},
	{0xad, 0xa1, 94, 0xe11a}, {0xae, 0xa1, 94, 0xe178}, {0xaf, 0xa1, 94, 0xe1d6}, {0xd7, 0xfa, 5, 0xe810},
	{0xf8, 0xa1, 94, 0xe234}, {0xf9, 0xa1, 94, 0xe292}, {0xfa, 0xa1, 94, 0xe2f0}, {0xfb, 0xa1, 94, 0xe34e},
	{0xfc, 0xa1, 94, 0xe3ac}, {0xfd, 0xa1, 94, 0xe40a}, {0xfe, 0x51, 3, 0xe816}, {0xfe, 0x6c, 1, 0xe831},
	{0xfe, 0x76, 1, 0xe83b}, {0xfe, 0x91, 1, 0xe855}, {0xfe, 0xa1, 94, 0xe468},
}

// gb18030Changes are the code points that the 2022 edition gives to pointers
// which stood for private use before.
var gb18030Changes = map[int]rune{
	gb18030Pointer(0xa6, 0xd9): 0xfe10, gb18030Pointer(0xa6, 0xda): 0xfe12, gb18030Pointer(0xa6, 0xdb): 0xfe11,
	gb18030Pointer(0xa6, 0xdc): 0xfe13, gb18030Pointer(0xa6, 0xdd): 0xfe14, gb18030Pointer(0xa6, 0xde): 0xfe15,
	gb18030Pointer(0xa6, 0xdf): 0xfe16, gb18030Pointer(0xa6, 0xec): 0xfe17, gb18030Pointer(0xa6, 0xed): 0xfe18,
	gb18030Pointer(0xa6, 0xf3): 0xfe19, gb18030Pointer(0xa8, 0xbc): 0x1e3f, gb18030Pointer(0xfe, 0x59): 0x9fb4,
	gb18030Pointer(0xfe, 0x61): 0x9fb5, gb18030Pointer(0xfe, 0x66): 0x9fb6, gb18030Pointer(0xfe, 0x67): 0x9fb7,
	gb18030Pointer(0xfe, 0x6d): 0x9fb8, gb18030Pointer(0xfe, 0x7e): 0x9fb9, gb18030Pointer(0xfe, 0x90): 0x9fba,
	gb18030Pointer(0xfe, 0xa0): 0x9fbb,
}

// https://encoding.spec.whatwg.org/#gb18030-decoder
func decodeGB18030(src []byte, _ *int) (r, second rune, n int) {
	lead := src[0]
	switch {
	case lead < 0x80:
		return rune(lead), noRune, 1
	case lead == 0x80:
		return 0x20ac, noRune, 1
	case lead == 0xff:
		return runeError, noRune, 1
	case len(src) == 1:
		return 0, 0, 0
	case within(src[1], 0x30, 0x39):
		return decodeGB18030Four(src)
	case within(src[1], 0x40, 0x7e), within(src[1], 0x80, 0xfe):
		return pair(indexGB18030().at(gb18030Pointer(lead, src[1])), src, 2)
	}
	return pair(runeError, src, 2)
}

// decodeGB18030Four decodes a four-byte sequence, whose second byte was seen.
// Of a malformed one only the first byte is consumed.
func decodeGB18030Four(src []byte) (r, second rune, n int) {
	if len(src) == 2 {
		return 0, 0, 0
	}
	if !within(src[2], 0x81, 0xfe) {
		return runeError, noRune, 1
	}
	if len(src) == 3 {
		return 0, 0, 0
	}
	if !within(src[3], 0x30, 0x39) {
		return runeError, noRune, 1
	}
	pointer := ((int(src[0])-0x81)*10+int(src[1])-0x30)*1260 + (int(src[2])-0x81)*10 + int(src[3]) - 0x30
	switch {
	case pointer == 7457:
		r = 0xe7c7
	case pointer >= 189000 && pointer <= 1237575:
		r = rune(pointer - 189000 + 0x10000)
	default:
		// U+FFFD is in this index like any other character.
		if r = indexGB18030Ranges().at(pointer); pointer == gb18030Replacement {
			r = utf8.RuneError
		}
	}
	return r, noRune, 4
}

// gb18030Replacement is the pointer of U+FFFD, which makeIndex leaves out.
const gb18030Replacement = 39417

package webapi

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/traditionalchinese"
)

// multiByteDecoders are the algorithms of the Encoding Standard, which say what
// becomes of every malformed sequence. The libraries give the indexes.
var multiByteDecoders = map[string]legacyStep{
	"gbk":         decodeGB18030,
	"gb18030":     decodeGB18030,
	"big5":        decodeBig5,
	"euc-jp":      decodeEUCJP,
	"iso-2022-jp": decodeISO2022JP,
	"shift_jis":   decodeShiftJIS,
	"euc-kr":      decodeEUCKR,
}

const escape = 0x1b

// index is an index of the Encoding Standard: code points by pointer, 0 for
// none. https://encoding.spec.whatwg.org/#indexes
type index []rune

// at returns the code point of a pointer, runeError when there is none.
func (x index) at(pointer int) rune {
	if pointer >= 0 && pointer < len(x) && x[pointer] != 0 {
		return x[pointer]
	}
	return runeError
}

// makeIndex asks a library's decoder for the code point of every pointer;
// sequence gives the bytes that it stands for.
func makeIndex(enc encoding.Encoding, size int, sequence func(pointer int) []byte) index {
	x := make(index, size)
	decoder := enc.NewDecoder()
	for pointer := range x {
		out, err := decoder.Bytes(sequence(pointer))
		if r, n := utf8.DecodeRune(out); err == nil && r != utf8.RuneError && n == len(out) {
			x[pointer] = r
		}
	}
	return x
}

// The indexes take milliseconds to make, so each is made when it is first used.
var (
	indexBig5 = sync.OnceValue(func() index {
		return makeIndex(traditionalchinese.Big5, 126*157, func(pointer int) []byte {
			trail := byte(pointer % 157)
			if trail < 0x3f {
				trail += 0x40
			} else {
				trail += 0x62
			}
			return []byte{byte(pointer/157) + 0x81, trail}
		})
	})
	indexEUCKR = sync.OnceValue(func() index {
		return makeIndex(korean.EUCKR, 126*190, func(pointer int) []byte {
			return []byte{byte(pointer/190) + 0x81, byte(pointer%190) + 0x41}
		})
	})
	// Shift_JIS reaches more rows of JIS X 0208 than EUC-JP does.
	indexJIS0208 = sync.OnceValue(func() index {
		return makeIndex(japanese.ShiftJIS, 60*188, func(pointer int) []byte {
			lead, trail := byte(pointer/188), byte(pointer%188)
			if lead < 0x1f {
				lead += 0x81
			} else {
				lead += 0xc1
			}
			if trail < 0x3f {
				trail += 0x40
			} else {
				trail += 0x41
			}
			return []byte{lead, trail}
		})
	})
	indexJIS0212 = sync.OnceValue(func() index {
		return makeIndex(japanese.EUCJP, 94*94, func(pointer int) []byte {
			return []byte{0x8f, byte(pointer/94) + 0xa1, byte(pointer%94) + 0xa1}
		})
	})
)

func within(b, low, high byte) bool { return b >= low && b <= high }

// pair returns what a sequence of two or more bytes decodes to. A trail byte
// that is ASCII is not part of a malformed sequence.
func pair(r rune, src []byte, n int) (rune, rune, int) {
	if r == runeError && src[n-1] < 0x80 {
		n--
	}
	return r, noRune, n
}

// https://encoding.spec.whatwg.org/#big5-decoder
func decodeBig5(src []byte, _ *int) (r, second rune, n int) {
	lead := src[0]
	switch {
	case lead < 0x80:
		return rune(lead), noRune, 1
	case !within(lead, 0x81, 0xfe):
		return runeError, noRune, 1
	case len(src) == 1:
		return 0, 0, 0
	}
	offset := 0x62
	if src[1] < 0x7f {
		offset = 0x40
	}
	if !within(src[1], 0x40, 0x7e) && !within(src[1], 0xa1, 0xfe) {
		return pair(runeError, src, 2)
	}
	pointer := (int(lead)-0x81)*157 + int(src[1]) - offset
	switch pointer {
	case 1133:
		return 0x00ca, 0x0304, 2
	case 1135:
		return 0x00ca, 0x030c, 2
	case 1164:
		return 0x00ea, 0x0304, 2
	case 1166:
		return 0x00ea, 0x030c, 2
	}
	return pair(indexBig5().at(pointer), src, 2)
}

// https://encoding.spec.whatwg.org/#euc-jp-decoder
func decodeEUCJP(src []byte, _ *int) (r, second rune, n int) {
	lead := src[0]
	switch {
	case lead < 0x80:
		return rune(lead), noRune, 1
	case lead != 0x8e && lead != 0x8f && !within(lead, 0xa1, 0xfe):
		return runeError, noRune, 1
	case len(src) == 1:
		return 0, 0, 0
	case lead == 0x8e && within(src[1], 0xa1, 0xdf):
		return 0xff61 - 0xa1 + rune(src[1]), noRune, 2
	case lead == 0x8f && within(src[1], 0xa1, 0xfe):
		if len(src) == 2 {
			return 0, 0, 0
		}
		if !within(src[2], 0xa1, 0xfe) {
			return pair(runeError, src, 3)
		}
		return pair(indexJIS0212().at((int(src[1])-0xa1)*94+int(src[2])-0xa1), src, 3)
	case within(lead, 0xa1, 0xfe) && within(src[1], 0xa1, 0xfe):
		return pair(indexJIS0208().at((int(lead)-0xa1)*94+int(src[1])-0xa1), src, 2)
	}
	return pair(runeError, src, 2)
}

// https://encoding.spec.whatwg.org/#shift_jis-decoder
func decodeShiftJIS(src []byte, _ *int) (r, second rune, n int) {
	lead := src[0]
	switch {
	case lead <= 0x80:
		return rune(lead), noRune, 1
	case within(lead, 0xa1, 0xdf):
		return 0xff61 - 0xa1 + rune(lead), noRune, 1
	case lead == 0xa0 || lead > 0xfc:
		return runeError, noRune, 1
	case len(src) == 1:
		return 0, 0, 0
	case !within(src[1], 0x40, 0x7e) && !within(src[1], 0x80, 0xfc):
		return pair(runeError, src, 2)
	}
	offset, leadOffset := 0x41, 0xc1
	if src[1] < 0x7f {
		offset = 0x40
	}
	if lead < 0xa0 {
		leadOffset = 0x81
	}
	pointer := (int(lead)-leadOffset)*188 + int(src[1]) - offset
	if pointer >= 8836 && pointer <= 10715 {
		return rune(0xe000 - 8836 + pointer), noRune, 2
	}
	return pair(indexJIS0208().at(pointer), src, 2)
}

// https://encoding.spec.whatwg.org/#euc-kr-decoder
func decodeEUCKR(src []byte, _ *int) (r, second rune, n int) {
	lead := src[0]
	switch {
	case lead < 0x80:
		return rune(lead), noRune, 1
	case !within(lead, 0x81, 0xfe):
		return runeError, noRune, 1
	case len(src) == 1:
		return 0, 0, 0
	case !within(src[1], 0x41, 0xfe):
		return pair(runeError, src, 2)
	}
	return pair(indexEUCKR().at((int(lead)-0x81)*190+int(src[1])-0x41), src, 2)
}

// What the state of the ISO-2022-JP decoder holds: the character set, and
// whether the last thing read was an escape sequence.
const (
	jisASCII = iota
	jisRoman
	jisKatakana
	jis0208
	jisSetMask    = 3
	jisOutputFlag = 4
)

// https://encoding.spec.whatwg.org/#iso-2022-jp-decoder
func decodeISO2022JP(src []byte, state *int) (r, second rune, n int) {
	b := src[0]
	if b == escape {
		return decodeJISEscape(src, state)
	}
	set := *state & jisSetMask
	if set == jis0208 && within(b, 0x21, 0x7e) && len(src) == 1 {
		return 0, 0, 0
	}
	*state = set
	switch {
	case b == 0x0e, b == 0x0f, b >= 0x80:
		return runeError, noRune, 1
	case set == jisRoman && b == 0x5c:
		return 0xa5, noRune, 1
	case set == jisRoman && b == 0x7e:
		return 0x203e, noRune, 1
	case set == jisASCII, set == jisRoman:
		return rune(b), noRune, 1
	case set == jisKatakana && within(b, 0x21, 0x5f):
		return 0xff61 - 0x21 + rune(b), noRune, 1
	case set == jisKatakana, !within(b, 0x21, 0x7e), src[1] == escape:
		return runeError, noRune, 1
	case !within(src[1], 0x21, 0x7e):
		return runeError, noRune, 2
	}
	return indexJIS0208().at((int(b)-0x21)*94 + int(src[1]) - 0x21), noRune, 2
}

// decodeJISEscape reads an escape sequence. Two in a row, with nothing between
// them, are an error.
func decodeJISEscape(src []byte, state *int) (r, second rune, n int) {
	if len(src) == 1 || (len(src) == 2 && (src[1] == 0x24 || src[1] == 0x28)) {
		return 0, 0, 0
	}
	set := -1
	switch string(src[1:min(3, len(src))]) {
	case "(B":
		set = jisASCII
	case "(J":
		set = jisRoman
	case "(I":
		set = jisKatakana
	case "$@", "$B":
		set = jis0208
	}
	if set < 0 {
		*state &= jisSetMask
		return runeError, noRune, 1
	}
	r = noRune
	if *state&jisOutputFlag != 0 {
		r = runeError
	}
	*state = set | jisOutputFlag
	return r, noRune, 3
}

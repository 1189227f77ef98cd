package webapi

import (
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/edge-runtime/edge/isolate/op"
)

// encodingLabels holds every label of the Encoding Standard by its encoding's
// lower-case name. https://encoding.spec.whatwg.org/#names-and-labels
var encodingLabels = map[string]string{
	"utf-8":          "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
	"ibm866":         "866 cp866 csibm866 ibm866",
	"iso-8859-2":     "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
	"iso-8859-3":     "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
	"iso-8859-4":     "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
	"iso-8859-5":     "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
	"iso-8859-6":     "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
	"iso-8859-7":     "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
	"iso-8859-8":     "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual",
	"iso-8859-8-i":   "csiso88598i iso-8859-8-i logical",
	"iso-8859-10":    "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
	"iso-8859-13":    "iso-8859-13 iso8859-13 iso885913",
	"iso-8859-14":    "iso-8859-14 iso8859-14 iso885914",
	"iso-8859-15":    "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
	"iso-8859-16":    "iso-8859-16",
	"koi8-r":         "cskoi8r koi koi8 koi8-r koi8_r",
	"koi8-u":         "koi8-ru koi8-u",
	"macintosh":      "csmacintosh mac macintosh x-mac-roman",
	"windows-874":    "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
	"windows-1250":   "cp1250 windows-1250 x-cp1250",
	"windows-1251":   "cp1251 windows-1251 x-cp1251",
	"windows-1252":   "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
	"windows-1253":   "cp1253 windows-1253 x-cp1253",
	"windows-1254":   "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
	"windows-1255":   "cp1255 windows-1255 x-cp1255",
	"windows-1256":   "cp1256 windows-1256 x-cp1256",
	"windows-1257":   "cp1257 windows-1257 x-cp1257",
	"windows-1258":   "cp1258 windows-1258 x-cp1258",
	"x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
	"gbk":            "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
	"gb18030":        "gb18030",
	"big5":           "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
	"euc-jp":         "cseucpkdfmtjapanese euc-jp x-euc-jp",
	"iso-2022-jp":    "csiso2022jp iso-2022-jp",
	"shift_jis":      "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
	"euc-kr":         "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
	"replacement":    "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
	"utf-16be":       "unicodefffe utf-16be",
	"utf-16le":       "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
	"x-user-defined": "x-user-defined",
}

var encodingByLabel = sync.OnceValue(func() map[string]string {
	byLabel := map[string]string{}
	for name, labels := range encodingLabels {
		for label := range strings.FieldsSeq(labels) {
			byLabel[label] = name
		}
	}
	return byLabel
})

// encodingOf returns the lower-case name of the encoding that a label stands
// for, "" when there is none. https://encoding.spec.whatwg.org/#concept-encoding-get
func encodingOf(label string) string {
	// ASCII case only: U+212A would become "k" otherwise.
	lower := func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return encodingByLabel()[strings.Map(lower, strings.Trim(label, "\t\n\f\r "))]
}

// legacyStep decodes the front of src, which is not empty: a character, or two,
// and how many bytes made it. The character is runeError for bytes that make
// none; n is 0 when src may be the start of something longer. state belongs to
// the decoder.
type legacyStep func(src []byte, state *int) (r, second rune, n int)

// What a legacyStep returns in place of a character.
const (
	noRune    rune = -1 // the bytes were an escape sequence, or there is no second
	runeError rune = -2
)

var singleByteEncodings = map[string]*charmap.Charmap{
	"ibm866":         charmap.CodePage866,
	"iso-8859-2":     charmap.ISO8859_2,
	"iso-8859-3":     charmap.ISO8859_3,
	"iso-8859-4":     charmap.ISO8859_4,
	"iso-8859-5":     charmap.ISO8859_5,
	"iso-8859-6":     charmap.ISO8859_6,
	"iso-8859-7":     charmap.ISO8859_7,
	"iso-8859-8":     charmap.ISO8859_8,
	"iso-8859-8-i":   charmap.ISO8859_8,
	"iso-8859-10":    charmap.ISO8859_10,
	"iso-8859-13":    charmap.ISO8859_13,
	"iso-8859-14":    charmap.ISO8859_14,
	"iso-8859-15":    charmap.ISO8859_15,
	"iso-8859-16":    charmap.ISO8859_16,
	"koi8-r":         charmap.KOI8R,
	"koi8-u":         charmap.KOI8U,
	"macintosh":      charmap.Macintosh,
	"windows-874":    charmap.Windows874,
	"windows-1250":   charmap.Windows1250,
	"windows-1251":   charmap.Windows1251,
	"windows-1252":   charmap.Windows1252,
	"windows-1253":   charmap.Windows1253,
	"windows-1254":   charmap.Windows1254,
	"windows-1255":   charmap.Windows1255,
	"windows-1256":   charmap.Windows1256,
	"windows-1257":   charmap.Windows1257,
	"windows-1258":   charmap.Windows1258,
	"x-mac-cyrillic": charmap.MacintoshCyrillic,
	"x-user-defined": charmap.XUserDefined,
}

// legacyDecoder returns the decoder of a legacy encoding, nil when there is
// none of that name.
func legacyDecoder(name string) legacyStep {
	if table := singleByteEncodings[name]; table != nil {
		// https://encoding.spec.whatwg.org/#single-byte-decoder
		return func(src []byte, _ *int) (r, second rune, n int) {
			r = table.DecodeByte(src[0])
			switch {
			case r != utf8.RuneError:
				return r, noRune, 1
			case src[0] < 0xa0:
				// The standard's indexes have the C1 controls in these gaps.
				return rune(src[0]), noRune, 1
			}
			return runeError, noRune, 1
		}
	}
	return multiByteDecoders[name]
}

// decodeLegacy decodes src and appends UTF-8 to dst. With stream set it leaves
// an incomplete character at the end alone, and returns its length. Unless
// fatal is set errors become U+FFFD; ok is false after a fatal one.
func decodeLegacy(dst, src []byte, step legacyStep, state *int, stream, fatal bool) (out []byte, rest int, ok bool) {
	for len(src) > 0 {
		r, second, n := step(src, state)
		if n == 0 {
			if stream {
				return dst, len(src), true
			}
			// The end of the input makes one error of all that is incomplete,
			// but an escape sequence only loses its first byte.
			r, second, n = runeError, noRune, len(src)
			if src[0] == escape {
				n = 1
			}
		}
		if r == runeError {
			if fatal {
				return dst, 0, false
			}
			r = utf8.RuneError
		}
		if r != noRune {
			dst = utf8.AppendRune(dst, r)
		}
		if second != noRune {
			dst = utf8.AppendRune(dst, second)
		}
		src = src[n:]
	}
	return dst, 0, true
}

// encodingOps are the ops of encoding.js.
func encodingOps() []op.Op {
	return []op.Op{
		{Name: "op_encoding_name", Mode: op.Sync, Func: opEncodingName},
		{Name: "op_encoding_decode", Mode: op.Sync, Func: opEncodingDecode},
	}
}

// opEncodingName gives the encoding of (label), "" when there is none.
func opEncodingName(c *op.Call) error {
	c.Return(op.String(encodingOf(c.Text(0))))
	return nil
}

// opEncodingDecode decodes (encoding, bytes, fatal, stream, state) and gives
// [text, number of bytes left over, state]. The caller puts what is left over
// before the next bytes; state starts at 0.
func opEncodingDecode(c *op.Call) error {
	name := c.Text(0)
	step := legacyDecoder(name)
	if step == nil {
		return op.Errorf(op.RangeError, "The encoding %q has no decoder", name)
	}
	state := int(c.Int(4))
	out, rest, ok := decodeLegacy(nil, c.Bytes(1), step, &state, c.Arg(3).Truth(), c.Arg(2).Truth())
	if !ok {
		return op.Errorf(op.TypeError, "The encoded data was not valid for encoding %s", name)
	}
	c.Return(op.List(op.String(string(out)), op.Int(int64(rest)), op.Int(int64(state))))
	return nil
}

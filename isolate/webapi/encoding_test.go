package webapi

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/edge-runtime/edge/isolate/op"
)

func TestEveryEncodingHasItsOwnLabelAndADecoder(t *testing.T) {
	t.Parallel()
	labels := 0
	for name, list := range encodingLabels {
		if !strings.Contains(" "+list+" ", " "+name+" ") {
			t.Errorf("%q is no label of itself", name)
		}
		for label := range strings.FieldsSeq(list) {
			labels++
			if got := encodingOf("\t " + strings.ToUpper(label) + "\n"); got != name {
				t.Errorf("encodingOf(%q) = %q, want %q", label, got, name)
			}
		}
		native := name == "utf-8" || name == "utf-16le" || name == "utf-16be" || name == "replacement"
		if (legacyDecoder(name) == nil) != native {
			t.Errorf("legacyDecoder(%q) is nil: %v, want %v", name, !native, native)
		}
	}
	if got, want := labels, len(encodingByLabel()); got != want {
		t.Errorf("%d labels, %d of them different", got, want)
	}
}

// The sizes of the standard's indexes.
func TestIndexesAreWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		index index
		want  int
	}{
		// Four pointers of Big5 make two code points each, outside of its index.
		{"big5", indexBig5(), 18590},
		{"euc-kr", indexEUCKR(), 17048},
		{"jis0212", indexJIS0212(), 6067},
		{"gb18030", indexGB18030(), 23940},
	} {
		got := 0
		for _, r := range c.index {
			if r != 0 {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: %d code points, want %d", c.name, got, c.want)
		}
	}
}

func TestSingleByteDecoders(t *testing.T) {
	t.Parallel()
	gaps := map[string]int{
		"iso-8859-3": 7, "iso-8859-6": 45, "iso-8859-7": 3, "iso-8859-8": 36, "iso-8859-8-i": 36,
		"windows-1253": 3, "windows-1255": 10, "windows-1257": 2, "windows-874": 8,
	}
	for name := range singleByteEncodings {
		step := legacyDecoder(name)
		got := 0
		for b := range 256 {
			r, second, n := step([]byte{byte(b)}, new(int))
			if n != 1 || second != noRune {
				t.Errorf("%s: byte %#x: %d bytes, second %d", name, b, n, second)
			}
			if r == runeError {
				got++
			} else if b < 0x80 && r != rune(b) {
				t.Errorf("%s: byte %#x is %q, want ASCII", name, b, r)
			}
		}
		if got != gaps[name] {
			t.Errorf("%s has %d bytes without a character, want %d", name, got, gaps[name])
		}
	}
}

func TestDecodeLegacy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, encoding, in, want string
	}{
		{"a pair", "gbk", "\xc4\xe3\xba\xc3", "你好"},
		{"euro of gbk", "gbk", "\x80", "€"},
		{"private use", "gb18030", "\xaa\xa1\xfe\x51\xa1\x40", "\ue000\ue816\ue4c6"},
		{"2022 edition", "gb18030", "\xa6\xd9\xfe\xa0\xa8\xbc", "\ufe10\u9fbb\u1e3f"},
		{"four bytes", "gb18030", "\x81\x30\x81\x30\x84\x31\xa4\x36\x81\x35\xf4\x37", "\u0080\ufffc\ue7c7"},
		{"four bytes, supplementary", "gb18030", "\x90\x30\x81\x30\xe3\x32\x9a\x35", "\U00010000\U0010ffff"},
		{"four bytes, beyond the last", "gb18030", "\xe3\x32\x9a\x36", "\ufffd"},
		{"four bytes, broken off: only the first is lost", "gb18030", "\x81\x30\x81A\x81\x30", "\ufffd0丄\ufffd"},
		{"ASCII trail survives", "gb18030", "\x81\x3a", "\ufffd:"},
		{"big5", "big5", "\xa4\xa4\xa4\xe5", "中文"},
		{"big5 makes two", "big5", "\x88\x62\x88\x64\x88\xa3\x88\xa5", "Ê̄Ê̌ê̄ê̌"},
		{"big5, ASCII trail survives", "big5", "\x81\x3a\xa4\x40", "\ufffd:一"},
		{"big5, pointer without a character", "big5", "\x81\x40\x81\xfe", "\ufffd@\ufffd"},
		{"euc-kr", "euc-kr", "\xb0\xa1\x81\x41\xfe\xff", "가갂\ufffd"},
		{"euc-jp", "euc-jp", "\xa4\xa2\x8e\xb1\x8f\xb0\xa1\xad\xa1", "あｱ丂①"},
		{"euc-jp, broken", "euc-jp", "\x8e\x41\x8f\xa1\x41\xa1\xff\x8f", "\ufffdA\ufffdA\ufffd\ufffd"},
		{"shift_jis", "shift_jis", "\x82\xa0\xb1\x80\x87\x40\xf0\x40", "あｱ\u0080①\ue000"},
		{"shift_jis, broken", "shift_jis", "\x82\x3f\xa0\xfd\x82\xfd\x81", "\ufffd?\ufffd\ufffd\ufffd\ufffd"},
		{"iso-2022-jp", "iso-2022-jp", "a\x1b$B$\"\x1b(J\\~\x1b(I1\x1b(Bb", "aあ¥‾ｱb"},
		{"iso-2022-jp, two escapes in a row", "iso-2022-jp", "\x1b(J\x1b(B", "\ufffd"},
		{"iso-2022-jp, unknown escape", "iso-2022-jp", "\x1b(Xa\x1b", "\ufffd(Xa\ufffd"},
		{"iso-2022-jp, escape broken off", "iso-2022-jp", "\x1b$", "\ufffd$"},
		{"iso-2022-jp, shifts", "iso-2022-jp", "\x0e\x0f\x80", "\ufffd\ufffd\ufffd"},
		{"iso-2022-jp, broken pair", "iso-2022-jp", "\x1b$B$\x1b(BA\x1b$B$ $", "\ufffdA\ufffd\ufffd"},
		{"windows-1252", "windows-1252", "\x80\x81\xe9", "€\u0081é"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			step := legacyDecoder(c.encoding)
			state := 0
			whole, rest, ok := decodeLegacy(nil, []byte(c.in), step, &state, false, false)
			if string(whole) != c.want || rest != 0 || !ok {
				t.Errorf("decodeLegacy(%q) = %q, %d, %v; want %q", c.in, whole, rest, ok, c.want)
			}
			if got := decodeBytewise(step, c.in); got != c.want {
				t.Errorf("byte by byte: got %q, want %q", got, c.want)
			}
			_, _, ok = decodeLegacy(nil, []byte(c.in), step, new(int), false, true)
			if fails := strings.Contains(c.want, "\ufffd"); ok == fails {
				t.Errorf("fatal: ok is %v, want %v", ok, !fails)
			}
		})
	}
}

// decodeBytewise feeds a decoder one byte at a time, as encoding.js does.
func decodeBytewise(step legacyStep, in string) string {
	var out, pending []byte
	state := 0
	for i := range len(in) {
		pending = append(pending, in[i])
		var rest int
		out, rest, _ = decodeLegacy(out, pending, step, &state, true, false)
		pending = pending[len(pending)-rest:]
	}
	out, _, _ = decodeLegacy(out, pending, step, &state, false, false)
	return string(out)
}

func FuzzDecodeLegacy(f *testing.F) {
	f.Add("\x1b$B$\x1b(BA\x81\x30\x81")
	f.Add("\x8f\xa1\x41\xff\x80")
	f.Fuzz(func(t *testing.T, in string) {
		for name := range encodingLabels {
			step := legacyDecoder(name)
			if step == nil {
				continue
			}
			whole, _, _ := decodeLegacy(nil, []byte(in), step, new(int), false, false)
			if !utf8.Valid(whole) {
				t.Errorf("%s: %q decodes to ill-formed %q", name, in, whole)
			}
			if got := decodeBytewise(step, in); got != string(whole) {
				t.Errorf("%s: %q decodes to %q byte by byte, to %q at once", name, in, got, whole)
			}
		}
	})
}

func TestEncodingOps(t *testing.T) {
	t.Parallel()
	call := func(fn func(*op.Call) error, args ...op.Value) (string, error) {
		c := op.NewCall(nil, nil, 0, 0, args)
		if err := fn(c); err != nil {
			return "", err
		}
		text := ""
		for _, v := range append(c.Result().Elements(), c.Result()) {
			text += fmt.Sprintf("%s %v ", v.Text(), v.Int())
		}
		return strings.TrimSpace(text), nil
	}
	if got, err := call(opEncodingName, op.String("Latin1")); got != "windows-1252 0" || err != nil {
		t.Errorf("op_encoding_name: got %q, %v", got, err)
	}
	args := []op.Value{op.String("gbk"), op.Bytes([]byte("\xc4\xe3\xc4")), op.Bool(false), op.Bool(true), op.Int(0)}
	if got, err := call(opEncodingDecode, args...); got != "你 0  1  0  0" || err != nil {
		t.Errorf("op_encoding_decode: got %q, %v", got, err)
	}
	args[2], args[3] = op.Bool(true), op.Bool(false)
	if _, err := call(opEncodingDecode, args...); op.Public(err).Class != op.TypeError {
		t.Errorf("op_encoding_decode, fatal: got %v, want a TypeError", err)
	}
	args[0] = op.String("utf-8")
	if _, err := call(opEncodingDecode, args...); op.Public(err).Class != op.RangeError {
		t.Errorf("op_encoding_decode of utf-8: got %v, want a RangeError", err)
	}
}

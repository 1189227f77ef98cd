package op

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Kind is the tag of one encoded value. The numbers are the wire format that
// the engine's shim speaks; isolate/v8 asserts them in C++.
type Kind uint8

// The kinds of value that cross the boundary. Everything JavaScript can pass
// that is none of these is a TypeError at the call.
const (
	KindUndefined Kind = iota
	KindNull
	KindFalse
	KindTrue
	KindInt32   // 4 bytes, little endian
	KindFloat64 // 8 bytes, IEEE 754, little endian
	KindLatin1  // u32 length, one byte per UTF-16 code unit below 256
	KindUTF16   // u32 length in code units, 2 bytes each, little endian; leaves JavaScript only
	KindUTF8    // u32 length in bytes; enters JavaScript only
	KindBytes   // u32 length; enters as a Uint8Array over a buffer of its own
	KindList    // u32 count, then that many values; an Array in JavaScript
	KindJSON    // u32 length, UTF-8 JSON text; enters JavaScript only, parsed there
	KindWasm    // u32 length, a binary module; enters JavaScript only, as a WebAssembly.Module
)

// Value is one value on its way across the boundary. A Value that was decoded
// from a Call's arguments borrows the engine's memory: it is good until the
// op's function returns, and what is kept longer must be copied. A Value made
// in Go borrows what it was made from until it has been encoded.
type Value struct {
	kind Kind
	num  uint64
	data []byte
}

// Undefined is the JavaScript value undefined.
var Undefined = Value{kind: KindUndefined}

// Null is the JavaScript value null.
var Null = Value{kind: KindNull}

// Bool returns true or false.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindTrue}
	}
	return Value{kind: KindFalse}
}

// Int returns a Number. Integers outside the 32-bit range become doubles, so
// they are exact up to 2^53.
func Int(n int64) Value {
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		return Value{kind: KindInt32, num: uint64(uint32(int32(n)))}
	}
	return Float(float64(n))
}

// Float returns a Number.
func Float(f float64) Value { return Value{kind: KindFloat64, num: math.Float64bits(f)} }

// String returns a JavaScript string from UTF-8 text; each invalid byte becomes
// U+FFFD.
func String(s string) Value {
	data := unsafe.Slice(unsafe.StringData(s), len(s))
	if isASCII(data) {
		return Value{kind: KindLatin1, data: data}
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
		data = unsafe.Slice(unsafe.StringData(s), len(s))
	}
	return Value{kind: KindUTF8, data: data}
}

// ByteString returns a JavaScript string with one code unit per byte, which is
// how the Fetch standard shows header values to scripts (isomorphic decode).
func ByteString(b []byte) Value { return Value{kind: KindLatin1, data: b} }

// Bytes returns a Uint8Array over a fresh ArrayBuffer with a copy of b.
func Bytes(b []byte) Value { return Value{kind: KindBytes, data: b} }

// JSON returns what JSON.parse makes of text.
func JSON(text []byte) Value { return Value{kind: KindJSON, data: text} }

// Wasm returns a WebAssembly.Module compiled from a binary module.
func Wasm(module []byte) Value { return Value{kind: KindWasm, data: module} }

// List returns an Array. The elements are encoded at once, so they may be
// reused afterwards.
func List(vs ...Value) Value {
	var data []byte
	for _, v := range vs {
		data = v.Append(data)
	}
	return Value{kind: KindList, num: uint64(len(vs)), data: data}
}

// Kind returns the value's tag.
func (v Value) Kind() Kind { return v.kind }

// IsNullish reports whether v is undefined or null.
func (v Value) IsNullish() bool { return v.kind == KindUndefined || v.kind == KindNull }

// Truth returns v as a boolean; everything but true is false.
func (v Value) Truth() bool { return v.kind == KindTrue }

// Number returns v as a double, NaN when it is no number.
func (v Value) Number() float64 {
	switch v.kind {
	case KindInt32:
		return float64(int32(uint32(v.num)))
	case KindFloat64:
		return math.Float64frombits(v.num)
	}
	return math.NaN()
}

// Int returns v as an integer, truncated; 0 when it is no number.
func (v Value) Int() int64 {
	switch v.kind {
	case KindInt32:
		return int64(int32(uint32(v.num)))
	case KindFloat64:
		f := math.Float64frombits(v.num)
		switch {
		case f != f:
			return 0
		case f >= math.MaxInt64:
			return math.MaxInt64
		case f <= math.MinInt64:
			return math.MinInt64
		}
		return int64(f)
	}
	return 0
}

// IsString reports whether v is a string.
func (v Value) IsString() bool {
	return v.kind == KindLatin1 || v.kind == KindUTF16 || v.kind == KindUTF8
}

// Text returns a string value as UTF-8 in memory of its own; lone surrogates
// become U+FFFD. Other kinds give "".
func (v Value) Text() string { return string(v.AppendText(nil)) }

// AppendText appends what Text returns.
func (v Value) AppendText(dst []byte) []byte {
	switch v.kind {
	case KindUTF8:
		return append(dst, v.data...)
	case KindLatin1:
		if isASCII(v.data) {
			return append(dst, v.data...)
		}
		for _, c := range v.data {
			dst = utf8.AppendRune(dst, rune(c))
		}
	case KindUTF16:
		for i := 0; i+1 < len(v.data); i += 2 {
			r := rune(binary.LittleEndian.Uint16(v.data[i:]))
			if utf16.IsSurrogate(r) {
				low := rune(0)
				if i+3 < len(v.data) {
					low = rune(binary.LittleEndian.Uint16(v.data[i+2:]))
				}
				r = utf16.DecodeRune(r, low)
				if r != utf8.RuneError {
					i += 2
				}
			}
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// Raw returns the borrowed bytes of a Bytes or Wasm value or of a one-byte string
// (isomorphic encode); nil for a string with a code unit above 255 and for
// every other kind.
func (v Value) Raw() []byte {
	if v.kind == KindBytes || v.kind == KindLatin1 || v.kind == KindWasm {
		return v.data
	}
	return nil
}

// Elements decodes a List; nil for every other kind.
func (v Value) Elements() []Value {
	if v.kind != KindList {
		return nil
	}
	vs := make([]Value, 0, v.num)
	rest := v.data
	for range v.num {
		var e Value
		var err error
		if e, rest, err = Decode(rest); err != nil {
			return vs
		}
		vs = append(vs, e)
	}
	return vs
}

// Append appends the wire form of v.
func (v Value) Append(dst []byte) []byte {
	dst = append(dst, byte(v.kind))
	switch v.kind {
	case KindInt32:
		return binary.LittleEndian.AppendUint32(dst, uint32(v.num))
	case KindFloat64:
		return binary.LittleEndian.AppendUint64(dst, v.num)
	case KindList:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v.num))
		return append(dst, v.data...)
	case KindLatin1, KindUTF8, KindBytes, KindJSON, KindWasm:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v.data)))
		return append(dst, v.data...)
	case KindUTF16:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v.data)/2))
		return append(dst, v.data...)
	}
	return dst
}

// Decode takes one value off the front of src and returns it, borrowing src,
// and what follows it.
func Decode(src []byte) (Value, []byte, error) {
	if len(src) == 0 {
		return Value{}, nil, errTruncated
	}
	v := Value{kind: Kind(src[0])}
	src = src[1:]
	switch v.kind {
	case KindUndefined, KindNull, KindFalse, KindTrue:
		return v, src, nil
	case KindInt32:
		if len(src) < 4 {
			return Value{}, nil, errTruncated
		}
		v.num = uint64(binary.LittleEndian.Uint32(src))
		return v, src[4:], nil
	case KindFloat64:
		if len(src) < 8 {
			return Value{}, nil, errTruncated
		}
		v.num = binary.LittleEndian.Uint64(src)
		return v, src[8:], nil
	case KindLatin1, KindUTF8, KindBytes, KindJSON, KindWasm, KindUTF16:
		if len(src) < 4 {
			return Value{}, nil, errTruncated
		}
		n := uint64(binary.LittleEndian.Uint32(src))
		if v.kind == KindUTF16 {
			n *= 2
		}
		src = src[4:]
		if uint64(len(src)) < n {
			return Value{}, nil, errTruncated
		}
		v.data = src[:n:n]
		return v, src[n:], nil
	case KindList:
		if len(src) < 4 {
			return Value{}, nil, errTruncated
		}
		v.num = uint64(binary.LittleEndian.Uint32(src))
		body := src[4:]
		rest := body
		for range v.num {
			var err error
			if _, rest, err = Decode(rest); err != nil {
				return Value{}, nil, err
			}
		}
		v.data = body[: len(body)-len(rest) : len(body)-len(rest)]
		return v, rest, nil
	}
	return Value{}, nil, fmt.Errorf("decode value: unknown tag %d", v.kind)
}

var errTruncated = fmt.Errorf("decode value: truncated")

// isASCII reports whether b has no byte above 127, eight bytes at a time.
func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

package isolate

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
)

// event is one decoded event of a Batch.
type event struct {
	kind          byte
	invocation, a uint32
	args          []op.Value
}

// nextEvent takes one event off the front of src, the way an engine does.
func nextEvent(src []byte) (event, []byte, error) {
	if len(src) < 11 {
		return event{}, nil, errors.New("truncated")
	}
	e := event{kind: src[0], invocation: binary.LittleEndian.Uint32(src[1:]), a: binary.LittleEndian.Uint32(src[5:])}
	argc := int(binary.LittleEndian.Uint16(src[9:]))
	src = src[11:]
	for range argc {
		v, rest, err := op.Decode(src)
		if err != nil {
			return event{}, nil, err
		}
		e.args, src = append(e.args, v), rest
	}
	return e, src, nil
}

func TestBatch(t *testing.T) {
	var b Batch
	b.Call(3, 1, op.String("a"), op.Int(2))
	b.Resolve(9, 2, op.Bool(true))
	b.Reject(10, 3, op.NotGranted("fetch()", "services.x"))
	b.Reject(11, 3, errors.New("secret"))
	b.Reject(12, 3, context.Canceled)
	if b.Len() != 5 {
		t.Errorf("Len = %d", b.Len())
	}
	src := b.Bytes()
	var got []event
	for len(src) > 0 {
		e, rest, err := nextEvent(src)
		if err != nil {
			t.Fatal(err)
		}
		got, src = append(got, e), rest
	}
	if e := got[0]; e.kind != eventCall || e.a != 3 || e.invocation != 1 || e.args[0].Text() != "a" || e.args[1].Int() != 2 {
		t.Errorf("call = %+v", e)
	}
	if e := got[1]; e.kind != eventResolve || e.a != 9 || e.invocation != 2 || !e.args[0].Truth() {
		t.Errorf("resolve = %+v", e)
	}
	for i, want := range []struct {
		class     op.Class
		name, msg string
		code      string
	}{
		{op.TypeError, "", "fetch() is not granted: set services.x in the configuration to allow it", "ERR_NOT_GRANTED"},
		{op.PlainError, "", "internal error", ""},
		{op.DOMException, "AbortError", "The operation was aborted", ""},
	} {
		e := got[2+i]
		if e.kind != eventReject || op.Class(e.args[0].Int()) != want.class || e.args[1].Text() != want.name ||
			e.args[2].Text() != want.msg || e.args[3].Text() != want.code {
			t.Errorf("reject %d = %+v, want %+v", i, e, want)
		}
	}
	b.Reset()
	if b.Len() != 0 || len(b.Bytes()) != 0 {
		t.Error("Reset left something")
	}
}

func appendCommand(dst []byte, opNumber uint16, invocation, promise uint32, args ...op.Value) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, opNumber)
	dst = binary.LittleEndian.AppendUint32(dst, invocation)
	dst = binary.LittleEndian.AppendUint32(dst, promise)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(args)))
	var body []byte
	for _, v := range args {
		body = v.Append(body)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)))
	return append(dst, body...)
}

func TestNextCommand(t *testing.T) {
	src := appendCommand(nil, 5, 6, 7, op.String("x"), op.Null)
	src = appendCommand(src, 8, 9, 0)
	c, rest, err := NextCommand(src, nil)
	if err != nil || c.Op != 5 || c.Invocation != 6 || c.Promise != 7 || len(c.Args) != 2 || c.Args[0].Text() != "x" {
		t.Fatalf("first = %+v, %v", c, err)
	}
	c, rest, err = NextCommand(rest, c.Args)
	if err != nil || c.Op != 8 || c.Promise != 0 || len(c.Args) != 0 || len(rest) != 0 {
		t.Fatalf("second = %+v, %v", c, err)
	}
	first := appendCommand(nil, 5, 6, 7, op.String("x"), op.Null)
	for n := range first {
		if _, _, err := NextCommand(first[:n], nil); err == nil {
			t.Errorf("%d of %d bytes were decoded", n, len(first))
		}
	}
}

func FuzzNextCommand(f *testing.F) {
	f.Add(appendCommand(nil, 5, 6, 7, op.String("x"), op.List(op.Int(1))))
	f.Fuzz(func(t *testing.T, src []byte) {
		for len(src) > 0 {
			_, rest, err := NextCommand(src, nil)
			if err != nil {
				return
			}
			if len(rest) >= len(src) {
				t.Fatal("no progress")
			}
			src = rest
		}
	})
}

package isolate

import (
	"encoding/binary"
	"errors"

	"github.com/edge-runtime/edge/isolate/op"
)

// The wire format between Go and an engine. Both directions are little endian
// and unaligned.
//
//	event   = u8 kind | u32 invocation | u32 a | u16 argc | values
//	          kind 1 call:    a = handler number
//	          kind 2 resolve: a = promise id, argc = 1
//	          kind 3 reject:  a = promise id, values = class, name, message, code
//	command = u16 op | u32 invocation | u32 promise id | u16 argc | u32 length of values | values
const (
	eventCall    = 1
	eventResolve = 2
	eventReject  = 3
)

// Batch is a list of events for Isolate.Slice.
type Batch struct {
	buf []byte
	n   int
}

// Reset empties the batch and keeps its memory, unless it has grown large.
func (b *Batch) Reset() {
	if cap(b.buf) > 1<<20 {
		b.buf = nil
	}
	b.buf, b.n = b.buf[:0], 0
}

// Len returns the number of events.
func (b *Batch) Len() int { return b.n }

// Bytes returns the encoded events.
func (b *Batch) Bytes() []byte { return b.buf }

func (b *Batch) head(kind byte, invocation, a uint32, argc int) {
	b.buf = append(b.buf, kind)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, invocation)
	b.buf = binary.LittleEndian.AppendUint32(b.buf, a)
	b.buf = binary.LittleEndian.AppendUint16(b.buf, uint16(argc))
	b.n++
}

// Call adds the call of a JavaScript handler.
func (b *Batch) Call(handler uint16, invocation uint32, args ...op.Value) {
	b.head(eventCall, invocation, uint32(handler), len(args))
	for _, v := range args {
		b.buf = v.Append(b.buf)
	}
}

// Resolve adds the fulfilment of a promise.
func (b *Batch) Resolve(id, invocation uint32, v op.Value) {
	b.head(eventResolve, invocation, id, 1)
	b.buf = v.Append(b.buf)
}

// Reject adds the rejection of a promise with what op.Public shows of err.
func (b *Batch) Reject(id, invocation uint32, err error) {
	e := op.Public(err)
	b.head(eventReject, invocation, id, 4)
	b.buf = op.Int(int64(e.Class)).Append(b.buf)
	b.buf = op.String(e.Name).Append(b.buf)
	b.buf = op.String(e.Msg).Append(b.buf)
	b.buf = op.String(e.Code).Append(b.buf)
}

// Command is one call of a Post or Async op that a slice left behind.
type Command struct {
	Op         uint16
	Invocation uint32
	Promise    uint32 // 0 for a Post op
	Args       []op.Value
}

var errCommand = errors.New("decode command: truncated")

// NextCommand takes one command off the front of src. Its arguments borrow src;
// they are appended to args[:0], which may be nil.
func NextCommand(src []byte, args []op.Value) (Command, []byte, error) {
	if len(src) < 16 {
		return Command{}, nil, errCommand
	}
	c := Command{
		Op:         binary.LittleEndian.Uint16(src),
		Invocation: binary.LittleEndian.Uint32(src[2:]),
		Promise:    binary.LittleEndian.Uint32(src[6:]),
	}
	argc := int(binary.LittleEndian.Uint16(src[10:]))
	n := uint64(binary.LittleEndian.Uint32(src[12:]))
	src = src[16:]
	if uint64(len(src)) < n {
		return Command{}, nil, errCommand
	}
	body := src[:n:n]
	args = args[:0]
	for range argc {
		v, rest, err := op.Decode(body)
		if err != nil {
			return Command{}, nil, err
		}
		args, body = append(args, v), rest
	}
	c.Args = args
	return c, src[n:], nil
}

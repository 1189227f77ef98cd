package isolate

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/edge-runtime/edge/isolate/op"
)

// Whatever is filled in, cut into windows, withdrawn and dropped: events leave in
// order, once, and with their own bytes.
func TestMailboxKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m mailbox
		type event struct {
			id    uint32
			start *Invocation
		}
		var want []event
		id := uint32(0)
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if m.left() != len(want) {
					t.Fatalf("left = %d, want %d", m.left(), len(want))
				}
			},
			"call": func(t *rapid.T) {
				id++
				e := event{id: id}
				if rapid.Bool().Draw(t, "start") {
					e.start = &Invocation{id: id}
				}
				m.call(1, id, e.start, []op.Value{op.String(rapid.String().Draw(t, "arg"))})
				want = append(want, e)
			},
			"settle": func(t *rapid.T) {
				id++
				var err error
				if rapid.Bool().Draw(t, "rejects") {
					err = errors.New("secret")
				}
				m.settle(7, id, op.Int(int64(id)), err)
				want = append(want, event{id: id})
			},
			"deliver": func(t *rapid.T) {
				n := rapid.IntRange(1, 5).Draw(t, "n")
				got := ids(t, m.window(n))
				n = min(n, len(want))
				for i, e := range want[:n] {
					if got[i] != e.id {
						t.Fatalf("window = %v, want %v", got, want[:n])
					}
				}
				if len(got) != n {
					t.Fatalf("window has %d events, want %d", len(got), n)
				}
				n = rapid.IntRange(0, n).Draw(t, "delivered") // a slice may be cut short
				m.advance(n)
				want = want[n:]
			},
			"withdraw": func(t *rapid.T) {
				starts := m.withdraw()
				want = slices.DeleteFunc(want, func(e event) bool {
					if e.start == nil {
						return false
					}
					if len(starts) == 0 || starts[0] != e.start {
						t.Fatalf("withdrew %v", starts)
					}
					starts = starts[1:]
					return true
				})
				if len(starts) > 0 {
					t.Fatalf("withdrew %d too many", len(starts))
				}
			},
			"drop odd ones": func(t *rapid.T) {
				m.keep(func(k mark) bool { return k.invocation%2 == 0 })
				want = slices.DeleteFunc(want, func(e event) bool { return e.id%2 != 0 })
			},
		})
	})
}

// ids decodes the invocation of each event.
func ids(t *rapid.T, batch []byte) []uint32 {
	var out []uint32
	for len(batch) > 0 {
		e, rest, err := nextEvent(batch)
		if err != nil {
			t.Fatal(err)
		}
		out, batch = append(out, e.invocation), rest
	}
	return out
}

func TestMailboxLetsLargeMemoryGo(t *testing.T) {
	var m mailbox
	m.call(1, 1, nil, []op.Value{op.Bytes(make([]byte, 2<<20))})
	for range 5000 {
		m.call(1, 1, nil, nil)
	}
	m.advance(m.left())
	if cap(m.batch.buf) != 0 || cap(m.marks) != 0 {
		t.Errorf("kept %d bytes and %d marks", cap(m.batch.buf), cap(m.marks))
	}
	m.call(1, 1, nil, nil)
	m.advance(1)
	if cap(m.batch.buf) == 0 {
		t.Error("small memory is not kept")
	}
}

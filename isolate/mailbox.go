package isolate

import "github.com/edge-runtime/edge/isolate/op"

// mailbox is an encoded list of events with their borders, so that a window of
// it can be delivered and the rest later. Each instance has two: one is filled
// under Instance.mu while whoever owns the isolate empties the other.
type mailbox struct {
	batch Batch
	marks []mark
	next  int // the first event that was not delivered
}

// mark says where an event ends and whose it is.
type mark struct {
	end        int
	invocation uint32
	start      *Invocation // set when the event is the invocation's first
	shared     bool        // other invocations need the event as well
}

func (m *mailbox) mark(id uint32, start *Invocation) {
	m.marks = append(m.marks, mark{end: len(m.batch.buf), invocation: id, start: start})
}

func (m *mailbox) call(handler uint16, id uint32, start *Invocation, args []op.Value) {
	m.batch.Call(handler, id, args...)
	m.mark(id, start)
}

func (m *mailbox) settle(promise, id uint32, v op.Value, err error) {
	if err != nil {
		m.batch.Reject(promise, id, err)
	} else {
		m.batch.Resolve(promise, id, v)
	}
	m.mark(id, nil)
}

// left returns the number of events that were not delivered.
func (m *mailbox) left() int { return len(m.marks) - m.next }

// window returns the bytes of the next n events, or of all when there are fewer.
func (m *mailbox) window(n int) []byte {
	if m.left() == 0 {
		return nil
	}
	last := min(m.next+n, len(m.marks)) - 1
	return m.batch.buf[m.offset():m.marks[last].end]
}

func (m *mailbox) offset() int {
	if m.next == 0 {
		return 0
	}
	return m.marks[m.next-1].end
}

// advance drops the first n events, which were delivered.
func (m *mailbox) advance(n int) {
	if m.next += n; m.next >= len(m.marks) {
		m.reset()
	}
}

// withdraw takes the first events of invocations out of what is left and
// returns the invocations: their JavaScript has not seen them.
func (m *mailbox) withdraw() []*Invocation {
	var starts []*Invocation
	m.keep(func(k mark) bool {
		if k.start != nil {
			starts = append(starts, k.start)
		}
		return k.start == nil
	})
	return starts
}

// keep drops what is left and does not match.
func (m *mailbox) keep(match func(mark) bool) {
	var kept mailbox
	from := m.offset()
	for _, k := range m.marks[m.next:] {
		if match(k) {
			kept.batch.buf = append(kept.batch.buf, m.batch.buf[from:k.end]...)
			kept.batch.n++
			kept.marks = append(kept.marks, k)
			kept.marks[len(kept.marks)-1].end = len(kept.batch.buf)
		}
		from = k.end
	}
	*m = kept
}

func (m *mailbox) reset() {
	clear(m.marks)
	if cap(m.marks) > 4096 {
		m.marks = nil
	}
	m.batch.Reset()
	m.marks, m.next = m.marks[:0], 0
}

package isolate

import (
	"sync"
	"sync/atomic"
)

// scheduler decides which instances run slices. A runner needs a core token, and
// there are as many as cores. Instances that find none wait in one queue, each
// once, however many events it has, and run one slice when their turn comes. A
// token whose runner is in a long slice is lent to another (see watchdog), so
// that the longest that a quiet tenant waits for busy ones is a few milliseconds.
type scheduler struct {
	r       *Runtime
	free    atomic.Int64 // tokens nobody holds
	lent    atomic.Int64 // runners whose token was given to another
	maxLent int64
	queued  atomic.Int64 // instances in the queue
	slots   []atomic.Pointer[slot]

	mu    sync.Mutex // guards queue; a leaf
	queue []*Instance
	first int
}

func newScheduler(r *Runtime, cores, maxLent int) *scheduler {
	s := &scheduler{r: r, maxLent: int64(maxLent), slots: make([]atomic.Pointer[slot], cores+maxLent)}
	s.free.Store(int64(cores))
	for i := range s.slots {
		s.slots[i].Store(&slot{r: r})
	}
	return s
}

// start runs an instance, which the caller made active, on another goroutine.
func (s *scheduler) start(in *Instance) {
	if s.queued.Load() == 0 {
		if sl := s.acquire(); sl != nil {
			s.spawn(sl, in)
			return
		}
	}
	s.push(in)
	s.dispatch()
}

// runHere runs an instance, which the caller made active, on this goroutine when
// a core is free and nobody waits for one; else the instance waits. The goroutine
// leaves once own is answered, or the instance has started when own is nil. The
// result says whether it was lost.
func (s *scheduler) runHere(in *Instance, own *Invocation) (threadLost bool) {
	if s.queued.Load() == 0 {
		if sl := s.acquire(); sl != nil {
			return s.run(sl, in, own, false)
		}
	}
	s.push(in)
	s.dispatch()
	return false
}

func (s *scheduler) spawn(sl *slot, in *Instance) {
	s.r.spawn(func() bool { return s.run(sl, in, nil, true) })
}

// guestTurns bounds what a caller's goroutine does for others once its own event
// is answered. Turns are bounded by sliceTarget, and cheaper than waking another
// goroutine when events are short.
const guestTurns = 4

// run is a runner: it runs turns of in, and of others if it is a task, until
// nothing is left or somebody else should go on.
func (s *scheduler) run(sl *slot, in *Instance, own *Invocation, task bool) (threadLost bool) {
	sl.task = task
	for extra := 0; in != nil; {
		sl.inst.Store(in)
		in.slot.Store(sl)
		more, threadLost := in.turn(sl)
		if threadLost {
			return true
		}
		if !sl.token.Load() && !s.takeBack(sl) {
			if more {
				s.push(in)
			}
			break
		}
		switch {
		case !task && !more:
			in = nil
		case !task:
			if s.queued.Load() > 0 || (served(in, own) && (extra >= guestTurns || in.average > sliceTarget/guestTurns)) {
				s.push(in)
				in = nil
			} else if served(in, own) {
				extra++
			}
		case s.queued.Load() > 0:
			if more {
				s.push(in)
			}
			in = s.pop()
		case !more:
			in = nil
		}
	}
	s.release(sl)
	return false
}

// served reports whether a caller's goroutine has what it came for.
func served(in *Instance, own *Invocation) bool {
	if own != nil {
		return own.answered()
	}
	return isClosed(in.booted)
}

// acquire takes a token and a slot for it; nil when no core is free.
func (s *scheduler) acquire() *slot {
	if !s.takeToken() {
		return nil
	}
	// There are as many slots as tokens that can be out, lent ones included.
	for i := 0; ; i++ {
		sl := s.slots[i%len(s.slots)].Load()
		if !sl.used.Load() && sl.used.CompareAndSwap(false, true) {
			sl.token.Store(true)
			return sl
		}
	}
}

func (s *scheduler) takeToken() bool {
	for {
		n := s.free.Load()
		if n <= 0 {
			return false
		}
		if s.free.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// takeBack gets a token for a runner that lost its own, if one is free and nobody
// waits.
func (s *scheduler) takeBack(sl *slot) bool {
	if s.queued.Load() > 0 || !s.takeToken() {
		return false
	}
	s.lent.Add(-1)
	sl.token.Store(true)
	return true
}

// release ends a runner.
func (s *scheduler) release(sl *slot) {
	had := sl.token.Swap(false)
	sl.inst.Store(nil)
	sl.used.Store(false)
	s.giveBack(had)
}

// giveBack returns a runner's token, or forgets that it was lent.
func (s *scheduler) giveBack(had bool) {
	if had {
		s.free.Add(1)
	} else {
		s.lent.Add(-1)
	}
	if s.queued.Load() > 0 {
		s.dispatch()
	}
}

// lend gives the token of a runner in a long slice to one that waits.
func (s *scheduler) lend(sl *slot) {
	if s.queued.Load() == 0 || s.lent.Load() >= s.maxLent || !sl.token.CompareAndSwap(true, false) {
		return
	}
	s.lent.Add(1)
	s.free.Add(1)
	s.dispatch()
}

// detach replaces the slot of a runner that does not come back.
func (s *scheduler) detach(sl *slot) {
	for i := range s.slots {
		if s.slots[i].CompareAndSwap(sl, &slot{r: s.r}) {
			break
		}
	}
	s.giveBack(sl.token.Swap(false))
	if sl.task {
		s.r.tasks.done()
	}
}

// dispatch starts runners as long as there are tokens and instances that wait.
func (s *scheduler) dispatch() {
	for s.queued.Load() > 0 {
		sl := s.acquire()
		if sl == nil {
			return
		}
		in := s.pop()
		if in == nil {
			s.release(sl)
			return
		}
		s.spawn(sl, in)
	}
}

func (s *scheduler) push(in *Instance) {
	s.mu.Lock()
	s.queue = append(s.queue, in)
	s.queued.Add(1)
	s.mu.Unlock()
}

func (s *scheduler) pop() *Instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == len(s.queue) {
		return nil
	}
	in := s.queue[s.first]
	s.queue[s.first] = nil
	if s.first++; s.first == len(s.queue) {
		s.queue, s.first = s.queue[:0], 0
	}
	s.queued.Add(-1)
	return in
}

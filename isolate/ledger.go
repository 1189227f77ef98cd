package isolate

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/edge-runtime/edge/isolate/outcome"
)

// ledger estimates what the isolates of the process share: the engine's cage of
// addresses and the kernel's memory mappings. Running out of either is fatal for
// whoever asks next, so room is made, then refused, then taken, well before.
type ledger struct {
	r           *Runtime
	maxCage     int64
	maxMappings int64
	cage        atomic.Int64 // sum over the isolates that are open
	relieving   atomic.Bool
}

const (
	freshCage      = 1 << 20 // what an isolate takes before it ran anything
	mappingsPerIso = 16

	// Shares of the cage, in percent: from where idle instances go, new isolates
	// are refused, and the largest instance is ended.
	evictShare, refuseShare, endShare = 60, 75, 85
	// mappingShare leaves mappings to the rest of the process.
	mappingShare = 60
)

// estimate returns what an isolate takes of the cage: large objects lie in slots
// of up to twice their size.
func estimate(m *Memory) int64 {
	return max(m.HeapTotal+m.LargeObjects, freshCage)
}

// update takes note of what a slice left. Called by the instance's owner.
func (l *ledger) update(in *Instance, m *Memory) {
	e := estimate(m)
	if d := e - in.cage.Load(); d != 0 {
		in.cage.Store(e)
		l.cage.Add(d)
	}
	if l.above(endShare) && l.relieving.CompareAndSwap(false, true) {
		l.r.spawn(l.relieve)
	}
}

func (l *ledger) above(percent int64) bool { return l.cage.Load() > l.maxCage/100*percent }

func (l *ledger) mappings(isolates int) int64 {
	return int64(isolates) * mappingsPerIso
}

// full reports whether one more isolate would be too much.
func (l *ledger) full(isolates int) bool {
	return l.above(refuseShare) || l.mappings(isolates+1) > l.maxMappings/100*mappingShare
}

// relieve makes room in a cage that is nearly full: idle instances first, then
// the largest.
func (l *ledger) relieve() (threadLost bool) {
	defer l.relieving.Store(false)
	for l.above(endShare) && l.r.evictIdle() {
	}
	if !l.above(endShare) {
		return false
	}
	ins := slices.DeleteFunc(l.r.open(), func(in *Instance) bool { return in.ending.Load() })
	going := int64(0)
	for _, in := range l.r.open() {
		if in.ending.Load() {
			going += in.cage.Load()
		}
	}
	if len(ins) == 0 || l.cage.Load()-going <= l.maxCage/100*endShare {
		return false
	}
	in := slices.MaxFunc(ins, func(a, b *Instance) int { return cmp.Compare(a.cage.Load(), b.cage.Load()) })
	l.r.log.Warn("memory of the process is nearly used up: the largest instance ends", "worker", in.name(), "bytes", in.cage.Load())
	in.end(outcome.Failf(outcome.MemoryExceeded, "the process ran out of room for isolates and this worker held the most"))
	return false
}

// forget takes an isolate out that was closed.
func (l *ledger) forget(in *Instance) {
	l.cage.Add(-in.cage.Swap(0))
}

// admit reserves room for one isolate, for which it closes the least recently
// used idle instances, then warm isolates. One for the pool may not replace
// another one there.
func (r *Runtime) admit(in *Instance, forPool bool) *outcome.Failure {
	if r.ledger.above(evictShare) {
		r.evictIdle()
	}
	for {
		r.mu.Lock()
		if n := len(r.isolates); n < r.cfg.MaxIsolates && !r.ledger.full(n) {
			r.isolates[in] = struct{}{}
			r.mu.Unlock()
			in.cage.Store(freshCage)
			r.ledger.cage.Add(freshCage)
			return nil
		}
		r.mu.Unlock()
		if !r.evictIdle() && (forPool || !r.pool.drop()) {
			return shedFailure("the process has no room for another worker (%d isolates are in use)", r.cfg.MaxIsolates)
		}
	}
}

// evictIdle closes the instance that was idle for longest and reports whether
// there was one.
func (r *Runtime) evictIdle() bool {
	ins := r.open()
	slices.SortFunc(ins, func(a, b *Instance) int { return cmp.Compare(a.lastUsed.Load(), b.lastUsed.Load()) })
	for _, in := range ins {
		if in.claimIdle() {
			in.disposeIn(false)
			return true
		}
	}
	return false
}

// open returns the instances of workers.
func (r *Runtime) open() []*Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	ins := make([]*Instance, 0, len(r.isolates))
	for in := range r.isolates {
		if in.bound() {
			ins = append(ins, in)
		}
	}
	return ins
}

// remove forgets an isolate that was closed.
func (r *Runtime) remove(in *Instance) {
	r.mu.Lock()
	_, ok := r.isolates[in]
	delete(r.isolates, in)
	r.mu.Unlock()
	if ok {
		r.ledger.forget(in)
		r.checkEmpty()
	}
}

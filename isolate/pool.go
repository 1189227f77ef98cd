package isolate

import (
	"slices"
	"sync"
	"time"
)

// pool keeps isolates with a ready context, in classes by their limits, so that
// a cold start does not wait for one. One goroutine at a time refills it.
type pool struct {
	r      *Runtime
	target int // for each class
	total  int // for all

	mu      sync.Mutex // a leaf
	classes []*class   // most recently wanted last
	filling *Instance  // being made
	running bool       // the goroutine that fills
	closed  bool
}

// class is the warm isolates of one set of limits.
type class struct {
	params Params
	users  int // workers
	warm   []*Instance
}

// poolClasses bounds the warm isolates, in multiples of one class's.
const poolClasses = 4

func newPool(r *Runtime, target int) *pool {
	return &pool{r: r, target: target, total: target * poolClasses}
}

// want says that a worker with these limits is deployed.
func (p *pool) want(params Params) {
	p.mu.Lock()
	c := p.classLocked(params)
	if c == nil {
		c = &class{params: params}
		p.classes = append(p.classes, c)
	}
	c.users++
	p.mu.Unlock()
	p.fill()
}

// unwant says that a worker is gone. Once for each worker.
func (p *pool) unwant(w *Worker) {
	w.mu.Lock()
	again := w.unwanted
	w.unwanted = true
	w.mu.Unlock()
	if again {
		return
	}
	p.mu.Lock()
	var unused []*Instance
	if c := p.classLocked(w.limits.params()); c != nil {
		if c.users--; c.users == 0 {
			unused = c.warm
			p.classes = slices.DeleteFunc(p.classes, func(o *class) bool { return o == c })
		}
	}
	p.mu.Unlock()
	p.discard(unused)
}

func (p *pool) classLocked(params Params) *class {
	for _, c := range p.classes {
		if c.params == params {
			return c
		}
	}
	return nil
}

// take returns a warm instance, nil when there is none, and has it replaced.
func (p *pool) take(params Params) *Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classLocked(params)
	if c == nil || len(c.warm) == 0 {
		return nil
	}
	in := c.warm[len(c.warm)-1]
	c.warm = c.warm[:len(c.warm)-1]
	p.fillLocked()
	return in
}

// size returns the number of warm isolates.
func (p *pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sizeLocked()
}

func (p *pool) sizeLocked() int {
	n := 0
	for _, c := range p.classes {
		n += len(c.warm)
	}
	return n
}

// drop closes one warm isolate to make room, and reports whether there was one.
func (p *pool) drop() bool {
	p.mu.Lock()
	var in *Instance
	for _, c := range p.classes {
		if n := len(c.warm); n > 0 {
			in, c.warm = c.warm[n-1], c.warm[:n-1]
			break
		}
	}
	p.mu.Unlock()
	if in == nil {
		return false
	}
	in.discard()
	in.disposeIn(false)
	return true
}

// fill starts the goroutine that refills the pool, if something is missing.
func (p *pool) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fillLocked()
}

func (p *pool) fillLocked() {
	if !p.running && p.missingLocked() != nil {
		p.running = true
		p.r.spawn(p.work)
	}
}

// missingLocked returns the class that most lacks an isolate.
func (p *pool) missingLocked() *class {
	if p.closed || p.sizeLocked() >= p.total {
		return nil
	}
	var least *class
	for _, c := range p.classes {
		if len(c.warm) < p.target && (least == nil || len(c.warm) <= len(least.warm)) {
			least = c
		}
	}
	return least
}

// work makes isolates until none is missing or there is no room.
func (p *pool) work() (threadLost bool) {
	for {
		p.mu.Lock()
		c := p.missingLocked()
		if c == nil {
			p.running, p.filling = false, nil
			p.mu.Unlock()
			return false
		}
		in := p.r.newInstance(c.params)
		p.filling = in
		p.mu.Unlock()
		f, threadLost := in.create(true)
		if threadLost {
			return true
		}
		p.mu.Lock()
		p.filling = nil
		keep := f == nil && !p.closed && slices.Contains(p.classes, c)
		switch {
		case keep:
			c.warm = append(c.warm, in)
		default:
			p.running = false
		}
		p.mu.Unlock()
		if keep {
			continue
		}
		if f == nil {
			in.discard()
			return in.dispose()
		}
		in.release()
		if f.Err != nil {
			p.r.log.Error("fill pool", "err", f.Err)
		}
		return false
	}
}

// refillDelay lets a process breathe whose engine gave up while it made an
// isolate.
const refillDelay = time.Second

// lost forgets an instance of the pool whose isolate was given up.
func (p *pool) lost(in *Instance) {
	p.mu.Lock()
	for _, c := range p.classes {
		c.warm = slices.DeleteFunc(c.warm, func(o *Instance) bool { return o == in })
	}
	again := p.filling == in
	if again {
		p.filling, p.running = nil, false
	}
	p.mu.Unlock()
	if again {
		time.AfterFunc(refillDelay, p.fill)
	}
}

// close gives all warm isolates up.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var all []*Instance
	for _, c := range p.classes {
		all = append(all, c.warm...)
		c.warm = nil
	}
	p.mu.Unlock()
	p.discard(all)
}

func (p *pool) discard(ins []*Instance) {
	for _, in := range ins {
		in.discard()
		p.r.spawn(in.dispose)
	}
}

// discard makes an instance that no worker has the caller's to dispose of.
func (in *Instance) discard() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.state != lost {
		in.state = closed
	}
	in.active, in.retired = true, true
}

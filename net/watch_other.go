//go:build !linux

package edgenet

import (
	"sync"
	"time"
)

// watchInterval is how often requests in progress are looked at.
const watchInterval = 250 * time.Millisecond

// watcher tells connections that their peer has left, which fasthttp does not
// notice while a handler runs. Here it looks at the connections with a request
// in progress from time to time; a peer that left bytes unread is not noticed.
type watcher struct {
	stop, done chan struct{}

	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newWatcher() (*watcher, error) {
	w := &watcher{stop: make(chan struct{}), done: make(chan struct{}), conns: map[*conn]struct{}{}}
	go w.run()
	return w, nil
}

func (w *watcher) add(c *conn) {
	w.mu.Lock()
	w.conns[c] = struct{}{}
	w.mu.Unlock()
}

func (w *watcher) remove(c *conn) {
	w.mu.Lock()
	delete(w.conns, c)
	w.mu.Unlock()
}

// close ends the watcher and waits for its goroutine.
func (w *watcher) close() {
	close(w.stop)
	<-w.done
}

func (w *watcher) run() {
	defer close(w.done)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		conns := make([]*conn, 0, len(w.conns))
		for c := range w.conns {
			if c.ex.Load() != nil && !c.gone.Load() {
				conns = append(conns, c)
			}
		}
		w.mu.Unlock()
		for _, c := range conns {
			if gone, broken := peek(c); gone {
				c.peerLeft(broken)
			}
		}
	}
}

package edgenet

import (
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// watcher tells connections that their peer has left, which fasthttp does not
// notice while a handler runs. One epoll instance serves all connections of a
// server: each is added once, edge-triggered and for the end of the stream only,
// so that traffic wakes nobody and a request costs nothing. The instance's own
// descriptor waits in Go's poller, so no thread is held.
type watcher struct {
	file *os.File
	epfd int
	done chan struct{}

	mu    sync.Mutex
	next  uint64
	conns map[uint64]*conn
}

func newWatcher() (*watcher, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("make epoll non-blocking: %w", err)
	}
	w := &watcher{file: os.NewFile(uintptr(fd), "epoll"), epfd: fd, done: make(chan struct{}), conns: map[uint64]*conn{}}
	raw, err := w.file.SyscallConn()
	if err != nil {
		_ = w.file.Close()
		return nil, fmt.Errorf("reach epoll: %w", err)
	}
	go w.run(raw)
	return w, nil
}

// add starts watching c. A connection without a descriptor is not watched.
func (w *watcher) add(c *conn) {
	raw := rawOf(c.Conn)
	if raw == nil {
		return
	}
	w.mu.Lock()
	w.next++
	c.watch = w.next
	w.conns[c.watch] = c
	w.mu.Unlock()
	event := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(uint32(c.watch)), Pad: int32(uint32(c.watch >> 32))}
	// A connection that cannot be watched is served all the same.
	_ = raw.Control(func(fd uintptr) { _ = unix.EpollCtl(w.epfd, unix.EPOLL_CTL_ADD, int(fd), &event) })
}

// remove forgets c, whose descriptor is about to be closed, which takes it out
// of the epoll instance.
func (w *watcher) remove(c *conn) {
	w.mu.Lock()
	delete(w.conns, c.watch)
	w.mu.Unlock()
}

// close ends the watcher and waits for its goroutine.
func (w *watcher) close() {
	_ = w.file.Close() // wakes run
	<-w.done
}

func (w *watcher) run(raw syscall.RawConn) {
	defer close(w.done)
	events := make([]unix.EpollEvent, 128)
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			var err error
			if n, err = unix.EpollWait(int(fd), events, 0); err != nil {
				n = 0
			}
			return n > 0
		})
		if err != nil {
			return
		}
		for _, e := range events[:n] {
			id := uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
			w.mu.Lock()
			c := w.conns[id]
			w.mu.Unlock()
			if c != nil {
				c.peerLeft(e.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0)
			}
		}
	}
}

// inputWaits reports whether bytes of c wait to be read.
func inputWaits(c *conn) bool {
	raw := rawOf(c.Conn)
	if raw == nil {
		return false
	}
	waits := false
	_ = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		waits = err == nil && n > 0
	})
	return waits
}

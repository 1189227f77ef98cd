//go:build unix

package edgenet

import (
	"errors"
	"syscall"
)

// pending reports whether input of a connection waits to be read, and whether
// the peer has ended it, without taking bytes from it. A connection without a
// descriptor shows neither.
func pending(raw syscall.RawConn) (waits, gone bool) {
	if raw == nil {
		return false, false
	}
	n := 0
	var err error
	ctl := raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	switch {
	case ctl != nil:
		return false, true
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return false, false
	}
	return err == nil && n > 0, err != nil || n == 0
}

//go:build unix

package edgenet

import (
	"errors"
	"net"
	"syscall"
)

// pending reports whether input of c waits to be read, and whether the peer has
// ended the connection, without taking bytes from it. A connection without a
// descriptor shows neither.
func pending(c net.Conn) (waits, gone bool) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false, false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false, true
	}
	n := 0
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

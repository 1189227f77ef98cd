//go:build unix && !linux

package edgenet

import (
	"errors"

	"golang.org/x/sys/unix"
)

// peek reports whether the peer of c ended its sending side, or broke the
// connection, without taking bytes from it.
func peek(c *conn) (gone, broken bool) {
	n, err := peekByte(c)
	return n == 0 && err == nil || errors.Is(err, unix.ECONNRESET), err != nil
}

// inputWaits reports whether bytes of c wait to be read.
func inputWaits(c *conn) bool {
	n, err := peekByte(c)
	return err == nil && n > 0
}

func peekByte(c *conn) (n int, err error) {
	err = unix.EAGAIN
	if raw := rawOf(c.Conn); raw != nil {
		_ = raw.Control(func(fd uintptr) {
			var b [1]byte
			n, _, err = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		})
	}
	return n, err
}

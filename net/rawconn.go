package edgenet

import (
	"net"
	"syscall"
)

// rawOf returns the access to the descriptor below c, through a TLS connection
// if need be, or nil.
func rawOf(c net.Conn) syscall.RawConn {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = over.NetConn()
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

//go:build !unix

package edgenet

import "syscall"

// pending sees nothing on systems without MSG_PEEK: there an idle connection
// whose server has left is noticed when it is used, and the request repeated
// where that is safe.
func pending(syscall.RawConn) (waits, gone bool) { return false, false }

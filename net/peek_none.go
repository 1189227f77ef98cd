//go:build !unix

package edgenet

// peek and inputWaits see nothing on systems without MSG_PEEK: there a client
// that left is noticed when a write fails.
func peek(*conn) (gone, broken bool) { return false, false }

func inputWaits(*conn) bool { return false }

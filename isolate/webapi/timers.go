package webapi

import "github.com/edge-runtime/edge/isolate/op"

// timersOps returns the op of timers.js: all timers of an instance live in one
// heap in JavaScript, and Go only wakes it for the earliest.
func timersOps() []op.Op {
	return []op.Op{{
		Name: "op_timer_set",
		Mode: op.Post,
		// op_timer_set(ms, invocation): emit "timer" after ms; a later call replaces
		// it, and a negative delay clears it.
		Func: func(c *op.Call) error {
			c.Host().SetTimer(c.Arg(0).Number(), uint32(c.Int(1)))
			return nil
		},
	}}
}

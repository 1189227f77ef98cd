// Package isolate owns tenants: workers, their instances, mailboxes and slices,
// the pool of warm isolates, limits, the watchdog and outcomes. It reaches
// engines through the Engine interface and never sees HTTP or the
// configuration.
//
// # The life of an event
//
// Worker.Invoke puts an Invocation into the queue of the worker's current
// Instance. An instance is active when somebody owns its isolate: a runner (one
// goroutine with a core token, see scheduler), a queued runner, or maintenance.
// Whoever makes an inactive instance active either runs it or hands it to the
// scheduler. A turn of a runner takes a window of events out of the mailbox, runs
// one slice, and executes the commands that the slice left behind, on the same
// goroutine. Events of invocations that start are encoded when their slice is
// about to run, so that an instance in retirement passes them on unseen.
//
// # Ends
//
// Each invocation ends once, in Invocation.finish. A limit that is met while
// JavaScript runs is decided by the watchdog, which answers the client first and
// terminates second. The instance is then retired: it takes no new invocations
// and is closed when its last one ends. Retired instances of one worker are few:
// beyond maxRetired the oldest is ended.
//
// # Lock order
//
// Worker.mu, slot.mu, Instance.mu, Invocation.mu, in this order. Leaves, under
// which nothing else is locked: Runtime.mu, scheduler.mu, pool.mu. No lock is held
// while an op, Attach, OnFail, Console or an engine's method runs, except slot.mu
// around Probe and Terminate, which an engine answers without waiting: it keeps
// the slice from ending, and so the isolate from being closed, meanwhile.
package isolate

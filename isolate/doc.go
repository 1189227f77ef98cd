// Package isolate owns tenants: workers, their instances, mailboxes and slices,
// the pool of warm isolates, limits, the watchdog and outcomes. It reaches
// engines through the Engine interface and never sees HTTP or the
// configuration.
package isolate

package enginefake

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
)

// Ctx is what a Handler has of its isolate, while it runs.
type Ctx struct {
	iso        *fakeIsolate
	invocation uint32
}

// Then is called with the result of an Async call, in an event of its own.
type Then func(c *Ctx, v op.Value, err *op.Error)

// Invocation returns the number of the invocation on whose behalf the code runs.
func (c *Ctx) Invocation() uint32 { return c.invocation }

// Post queues a call of a Post op.
func (c *Ctx) Post(name string, args ...op.Value) { c.command(name, 0, args) }

// Async queues a call of an Async op. then may be nil.
func (c *Ctx) Async(name string, then Then, args ...op.Value) {
	f := c.iso
	f.promises++
	if then != nil {
		f.then[f.promises] = then
	}
	c.command(name, f.promises, args)
}

// Sync calls a Sync op.
func (c *Ctx) Sync(name string, args ...op.Value) (op.Value, error) {
	return c.iso.host.SyncOp(c.number(name), c.invocation, args)
}

func (c *Ctx) number(name string) uint16 {
	n, ok := c.iso.e.byName[name]
	if !ok {
		panic(fmt.Sprintf("enginefake: no op is named %q", name))
	}
	return n
}

func (c *Ctx) command(name string, promise uint32, args []op.Value) {
	c.checkTerm()
	b := c.iso.commands
	b = binary.LittleEndian.AppendUint16(b, c.number(name))
	b = binary.LittleEndian.AppendUint32(b, c.invocation)
	b = binary.LittleEndian.AppendUint32(b, promise)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(args)))
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, v := range args {
		b = v.Append(b)
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	c.iso.commands = b
}

// Booted says that the main module was evaluated.
func (c *Ctx) Booted() { c.Post("op_fake_booted") }

// BootFailed says that the main module threw.
func (c *Ctx) BootFailed(msg string) { c.Post("op_fake_booted", op.String(msg)) }

// Respond says that the invocation has responded.
func (c *Ctx) Respond() { c.Post("op_fake_responded") }

// Done ends the invocation.
func (c *Ctx) Done() { c.Post("op_fake_done") }

// Throw ends the invocation with an exception.
func (c *Ctx) Throw(msg string) { c.Post("op_fake_throw", op.String(msg)) }

// Log writes to the console.
func (c *Ctx) Log(level, text string) { c.Post("op_fake_log", op.String(level), op.String(text)) }

// SetTimer asks for the "timer" event.
func (c *Ctx) SetTimer(d time.Duration) {
	c.Post("op_fake_timer", op.Float(float64(d)/float64(time.Millisecond)))
}

// ClearTimer takes SetTimer back.
func (c *Ctx) ClearTimer() { c.Post("op_fake_timer", op.Int(-1)) }

// Charge lets CPU time pass in no time at all.
func (c *Ctx) Charge(d time.Duration) {
	f := c.iso
	f.mu.Lock()
	f.eventCPU += int64(d)
	f.sliceCPU += int64(d)
	f.mu.Unlock()
}

// Burn uses CPU time, unless the isolate is terminated before.
func (c *Ctx) Burn(d time.Duration) { c.burn(time.After(d), true) }

// Spin uses CPU time until the isolate is terminated.
func (c *Ctx) Spin() { c.burn(nil, true) }

// Stall uses CPU time without obeying terminations, as some builtins do, until
// the channel is closed or d has passed.
func (c *Ctx) Stall(until <-chan struct{}, d time.Duration) {
	t := make(chan time.Time)
	stop := make(chan struct{})
	go func() {
		defer close(t)
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-until:
		case <-timer.C:
		case <-stop:
		}
	}()
	defer close(stop)
	c.burn(t, false)
	c.checkTerm()
}

func (c *Ctx) burn(end <-chan time.Time, obey bool) {
	f := c.iso
	var term chan struct{}
	if obey {
		term = f.term
	}
	began := time.Now()
	f.mu.Lock()
	f.burning = began
	f.mu.Unlock()
	cut := false
	select {
	case <-end:
	case <-term:
		cut = true
	}
	f.mu.Lock()
	f.burning = time.Time{}
	f.mu.Unlock()
	c.Charge(time.Since(began))
	if cut {
		panic(terminated{})
	}
}

// checkTerm obeys a termination.
func (c *Ctx) checkTerm() {
	select {
	case <-c.iso.term:
		panic(terminated{})
	default:
	}
}

// LoseJobs makes the slice report that promise jobs of others were dropped.
func (c *Ctx) LoseJobs() { c.iso.jobsLost = true }

// Background makes the slice report that the isolate has work of its own.
func (c *Ctx) Background() { c.iso.tasks = true }

// SetMemory sets what the isolate holds from now on.
func (c *Ctx) SetMemory(m isolate.Memory) {
	c.iso.mu.Lock()
	c.iso.memory = m
	c.iso.mu.Unlock()
}

// ExhaustHeap ends the script at the heap limit.
func (c *Ctx) ExhaustHeap() { panic(heapLimit{}) }

// GiveUp ends the slice as an engine does that contains its fatal errors.
func (c *Ctx) GiveUp() { panic(gaveUp{}) }

// Die makes the engine give the isolate up: the slice never returns, until the
// engine is closed.
func (c *Ctx) Die(message string) {
	c.iso.host.Fatal("enginefake", message)
	<-c.iso.e.released
	panic(dead{})
}

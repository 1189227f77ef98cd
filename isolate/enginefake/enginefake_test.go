package enginefake_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/enginefake"
	"github.com/edge-runtime/edge/isolate/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is an EngineHost that notes what it was told.
type host struct {
	fatal chan string
	e     *enginefake.Engine
}

func (h *host) SyncOp(index uint16, invocation uint32, args []op.Value) (op.Value, error) {
	var c op.Call
	c.Reset(nil, nil, invocation, args)
	err := h.e.Ops()[index].Func(&c)
	return c.Result(), err
}

func (h *host) Fatal(location, message string) { h.fatal <- location + ": " + message }

// open makes an isolate that runs a script.
func open(t *testing.T, s enginefake.Script, ops ...op.Op) (*enginefake.Engine, isolate.Isolate, *host) {
	t.Helper()
	e := enginefake.New(enginefake.Config{Ops: ops, Scripts: map[string]enginefake.Script{"s": s}})
	h := &host{fatal: make(chan string, 1), e: e}
	iso, err := e.New(isolate.Params{}, h)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.NewProgram(enginefake.Source("s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := iso.SetProgram(p); err != nil {
		t.Fatal(err)
	}
	return e, iso, h
}

// fetches is a batch of fetch events of invocations 1, 2, ...
func fetches(t *testing.T, e *enginefake.Engine, n int) []byte {
	t.Helper()
	h, ok := e.Handler("fetch")
	if !ok {
		t.Fatal("there is no handler fetch")
	}
	var b isolate.Batch
	for i := range n {
		b.Call(h, uint32(i+1), op.String("arg"))
	}
	return b.Bytes()
}

// names returns the ops of the commands.
func names(t *testing.T, e *enginefake.Engine, cmds []byte) string {
	t.Helper()
	var out []string
	for len(cmds) > 0 {
		c, rest, err := isolate.NextCommand(cmds, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, cmds = append(out, e.Ops()[c.Op].Name), rest
	}
	return strings.Join(out, " ")
}

func TestSliceDeliversAndCollects(t *testing.T) {
	double := op.Op{Name: "op_double", Mode: op.Sync, Func: func(c *op.Call) error {
		c.Return(op.Int(2 * c.Int(0)))
		return nil
	}}
	var settled []string
	e, iso, _ := open(t, enginefake.Script{"fetch": func(c *enginefake.Ctx, args []op.Value) {
		if v, err := c.Sync("op_double", op.Int(21)); err != nil || v.Int() != 42 || args[0].Text() != "arg" {
			t.Errorf("sync op = %v, %v", v, err)
		}
		c.Charge(time.Duration(c.Invocation()))
		c.Async("op_work", func(c *enginefake.Ctx, v op.Value, err *op.Error) {
			if err != nil {
				settled = append(settled, err.Msg)
			} else {
				settled = append(settled, v.Text())
			}
		})
		c.Respond()
	}}, double, op.Op{Name: "op_work", Mode: op.Async, Func: func(*op.Call) error { return nil }})
	res := iso.Slice(fetches(t, e, 2))
	if res.Status != isolate.StatusOK || res.Events != 2 || len(res.Times) != 2 || res.Times[1].Nanos != 2 || res.CPUNanos != 3 {
		t.Errorf("result = %+v", res)
	}
	if got := names(t, e, res.Commands); got != "op_work op_fake_responded op_work op_fake_responded" {
		t.Errorf("commands = %s", got)
	}
	var b isolate.Batch
	b.Resolve(1, 1, op.String("fine"))
	b.Reject(2, 2, op.Errorf(op.TypeError, "bad"))
	b.Resolve(2, 2, op.String("again"))
	if res = iso.Slice(b.Bytes()); res.Events != 3 || strings.Join(settled, " ") != "fine bad" {
		t.Errorf("settled = %q, %+v", settled, res)
	}
	if res = iso.Slice(nil); res.Events != 0 || res.Status != isolate.StatusOK {
		t.Errorf("an empty slice = %+v", res)
	}
	if err := iso.Close(); err != nil {
		t.Error(err)
	}
}

func TestTermination(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, iso, _ := open(t, enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {
			if c.Invocation() == 2 {
				c.LoseJobs()
				c.Spin()
			}
			c.Respond()
		}})
		time.AfterFunc(time.Second, func() {
			p := iso.Probe()
			if !p.Running || p.Invocation != 2 || p.EventNanos != int64(time.Second) || p.SliceNanos != p.EventNanos {
				t.Errorf("probe = %+v", p)
			}
			iso.Terminate()
		})
		res := iso.Slice(fetches(t, e, 3))
		if res.Status != isolate.StatusTerminated || res.Events != 2 || !res.JobsLost || res.Times[1].Nanos != int64(time.Second) {
			t.Errorf("result = %+v", res)
		}
		if got := names(t, e, res.Commands); got != "op_fake_responded" {
			t.Errorf("commands = %s", got)
		}
		if iso.Probe().Running {
			t.Error("a slice runs")
		}
		// One that comes between slices hits the next, and no further one.
		iso.Terminate()
		if res = iso.Slice(fetches(t, e, 1)); res.Status != isolate.StatusTerminated || res.Events != 1 {
			t.Errorf("result = %+v", res)
		}
		if res = iso.Slice(fetches(t, e, 1)); res.Status != isolate.StatusOK {
			t.Errorf("result = %+v", res)
		}
	})
}

func TestHeapLimitAndFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, iso, _ := open(t, enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {
			c.SetMemory(isolate.Memory{HeapUsed: 5})
			c.ExhaustHeap()
		}})
		if res := iso.Slice(fetches(t, e, 2)); res.Status != isolate.StatusHeapLimit || res.Events != 1 || res.Memory.HeapUsed != 5 {
			t.Errorf("result = %+v", res)
		}
		e, iso, h := open(t, enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) { c.Die("bang") }})
		returned := false
		go func() {
			iso.Slice(fetches(t, e, 1))
			returned = true
		}()
		if msg := <-h.fatal; msg != "enginefake: bang" {
			t.Errorf("fatal: %s", msg)
		}
		time.Sleep(time.Hour)
		if returned {
			t.Error("the slice returned")
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !returned {
			t.Error("the thread was not let go")
		}
	})
}

func TestStallDoesNotObey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, iso, _ := open(t, enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) { c.Stall(nil, time.Minute) }})
		time.AfterFunc(time.Second, iso.Terminate)
		began := time.Now()
		if res := iso.Slice(fetches(t, e, 1)); res.Status != isolate.StatusTerminated || time.Since(began) != time.Minute {
			t.Errorf("%+v after %v", res, time.Since(began))
		}
	})
}

func TestMisusePanics(t *testing.T) {
	e, iso, _ := open(t, enginefake.Script{"fetch": func(c *enginefake.Ctx, _ []op.Value) {}})
	if err := iso.Close(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"slice":     func() { iso.Slice(fetches(t, e, 1)) },
		"terminate": func() { iso.Terminate() },
		"probe":     func() { iso.Probe() },
		"idle":      func() { iso.Idle() },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("a closed isolate was used")
				}
			}()
			f()
		})
	}
}

func TestPrograms(t *testing.T) {
	e, _, h := open(t, enginefake.Script{})
	if _, err := e.NewProgram(enginefake.Source("other")); err == nil {
		t.Error("a program of no script was made")
	}
	if _, err := e.NewProgram(isolate.ProgramSource{Main: "x"}); err == nil {
		t.Error("a program without its main module was made")
	}
	p, err := e.NewProgram(enginefake.Source("s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err == nil {
		t.Error("a program was closed twice")
	}
	iso, err := e.New(isolate.Params{}, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := iso.SetProgram(p); err == nil {
		t.Error("a closed program was attached")
	}
}

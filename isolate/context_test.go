package isolate

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestInvocationContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &invocationContext{}
		if c.Err() != nil || c.Value(1) != nil {
			t.Error("a new context has ended or has values")
		}
		if _, ok := c.Deadline(); ok {
			t.Error("there is a deadline")
		}
		child, cancel := context.WithCancel(c)
		defer cancel()
		calls := 0
		context.AfterFunc(c, func() { calls++ })
		stop := context.AfterFunc(c, func() { calls += 100 })
		if !stop() || stop() {
			t.Error("stop is wrong")
		}
		done := c.Done()
		c.end(context.Canceled)
		c.end(context.DeadlineExceeded)
		<-done
		<-child.Done()
		<-c.Done()
		synctest.Wait()
		if calls != 1 || c.Err() != context.Canceled || child.Err() != context.Canceled {
			t.Errorf("%d calls, %v, %v", calls, c.Err(), child.Err())
		}
		context.AfterFunc(c, func() { calls++ })
		synctest.Wait()
		if calls != 2 {
			t.Error("AfterFunc of an ended context was not called")
		}
		ended := &invocationContext{}
		ended.end(context.Canceled)
		<-ended.Done()
	})
}

package webapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// bodyAnswer is what an Async op settled with.
type bodyAnswer struct {
	v   op.Value
	err error
}

// bodyHost is an instance that runs ops and waits for what they settle.
type bodyHost struct {
	table op.Table
	ctx   context.Context

	mu      sync.Mutex
	calls   uint32
	answers map[uint32]chan bodyAnswer
}

func newBodyHost(t *testing.T) *bodyHost {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &bodyHost{ctx: ctx, answers: map[uint32]chan bodyAnswer{}}
	t.Cleanup(func() {
		cancel()
		if err := h.table.Close(); err != nil {
			t.Errorf("close table: %v", err)
		}
	})
	return h
}

func (h *bodyHost) Settle(call, _ uint32, v op.Value, err error) {
	encoded := v.Append(nil) // as the engine does, before the value's memory is reused
	v, _, decodeErr := op.Decode(encoded)
	h.mu.Lock()
	ch := h.answers[call]
	h.mu.Unlock()
	ch <- bodyAnswer{v, errors.Join(err, decodeErr)}
}
func (h *bodyHost) Emit(string, uint32, ...op.Value) {}
func (h *bodyHost) Resources() *op.Table             { return &h.table }
func (h *bodyHost) Context() context.Context         { return h.ctx }
func (h *bodyHost) Booted(*op.ScriptError)           {}
func (h *bodyHost) Log(string, uint32, string)       {}
func (h *bodyHost) SetTimer(float64, uint32)         {}
func (h *bodyHost) Grant(string) any                 { return nil }

// call runs an op by name and returns where its bodyAnswer arrives, and, for a Sync
// op, its result.
func (h *bodyHost) call(t *testing.T, name string, args ...op.Value) (<-chan bodyAnswer, op.Value) {
	t.Helper()
	h.mu.Lock()
	h.calls++
	id := h.calls
	ch := make(chan bodyAnswer, 1)
	h.answers[id] = ch
	h.mu.Unlock()
	for _, o := range streamsHostOps() {
		if o.Name != name {
			continue
		}
		c := op.NewCall(h, nil, 0, id, args)
		if err := o.Func(c); err != nil {
			ch <- bodyAnswer{err: err}
		}
		return ch, c.Result()
	}
	t.Fatalf("no op is named %s", name)
	return nil, op.Undefined
}

// addReader stores a body as JavaScript gets one.
func (h *bodyHost) addReader(b *fetch.Body) (*BodyReader, op.Value) {
	r := NewBodyReader(b)
	return r, op.Int(int64(h.table.Add(r)))
}

// open makes a writer as JavaScript does.
func (h *bodyHost) open(t *testing.T) (*BodyWriter, op.Value) {
	t.Helper()
	_, handle := h.call(t, "op_body_open")
	w, ok := h.table.Get(uint32(handle.Int())).(*BodyWriter)
	if !ok {
		t.Fatalf("op_body_open returned %v, which is no writer", handle.Int())
	}
	return w, handle
}

// trackedReader is a reader that counts its closings.
type trackedReader struct {
	io.Reader
	mu     sync.Mutex
	closed int
}

func (c *trackedReader) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

func (c *trackedReader) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func trackedBody(s string) (*fetch.Body, *trackedReader) {
	c := &trackedReader{Reader: strings.NewReader(s)}
	return fetch.StreamBody(c, -1), c
}

func TestBodyReadDeliversChunksThenNull(t *testing.T) {
	t.Parallel()
	oneByte := &trackedReader{Reader: iotest.OneByteReader(strings.NewReader("abc"))}
	dataErr := &trackedReader{Reader: iotest.DataErrReader(strings.NewReader("abc"))}
	whole, _ := trackedBody("abc")
	tests := []struct {
		name  string
		body  *fetch.Body
		limit int64
		want  []string
	}{
		{"inline at once", fetch.BytesBody([]byte("abc")), bodyChunk, []string{"abc"}},
		{"inline in pieces", fetch.BytesBody([]byte("abcde")), 2, []string{"ab", "cd", "e"}},
		{"inline and empty", fetch.BytesBody(nil), bodyChunk, nil},
		{"no body at all", nil, bodyChunk, nil},
		{"stream", whole, bodyChunk, []string{"abc"}},
		{"stream byte by byte", fetch.StreamBody(oneByte, 3), bodyChunk, []string{"a", "b", "c"}},
		{"stream that ends with its last bytes", fetch.StreamBody(dataErr, 3), bodyChunk, []string{"abc"}},
		{"limit of zero means the default", fetch.BytesBody([]byte("abc")), 0, []string{"abc"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newBodyHost(t)
			_, handle := h.addReader(tt.body)
			for _, want := range tt.want {
				ch, _ := h.call(t, "op_body_read", handle, op.Int(tt.limit))
				a := <-ch
				if got := string(a.v.Raw()); a.err != nil || got != want {
					t.Fatalf("read gave %q, %v, want %q", got, a.err, want)
				}
			}
			ch, _ := h.call(t, "op_body_read", handle, op.Int(tt.limit))
			if a := <-ch; a.err != nil || a.v.Kind() != op.KindNull {
				t.Fatalf("read at the end gave kind %v, %v, want null", a.v.Kind(), a.err)
			}
			if n := h.table.Len(); n != 0 {
				t.Errorf("table holds %d handles after the end, want 0", n)
			}
		})
	}
}

func TestBodyReadErrorsComeAfterTheBytes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		err   error
		class op.Class
		want  string
	}{
		{"lost connection", errors.New("read tcp 10.0.0.7: reset"), op.TypeError, "The body could not be read: the connection was lost"},
		{"failure with an outcome", outcome.Failf(outcome.ReadTimeout, "the client was too slow"), op.TypeError, "The body could not be read: the client was too slow"},
		{"error for the script", op.Errorf(op.RangeError, "too long"), op.RangeError, "too long"},
		{"canceled", context.Canceled, op.DOMException, "The operation was aborted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newBodyHost(t)
			r := &trackedReader{Reader: io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(tt.err))}
			_, handle := h.addReader(fetch.StreamBody(r, -1))
			ch, _ := h.call(t, "op_body_read", handle, op.Int(10))
			if a := <-ch; a.err != nil || string(a.v.Raw()) != "ab" {
				t.Fatalf("first read gave %q, %v, want the bytes", a.v.Raw(), a.err)
			}
			ch, _ = h.call(t, "op_body_read", handle, op.Int(10))
			a := <-ch
			got := op.Public(a.err)
			if got.Class != tt.class || got.Msg != tt.want {
				t.Errorf("script gets class %v %q, want class %v %q", got.Class, got.Msg, tt.class, tt.want)
			}
			if !errors.Is(a.err, tt.err) {
				t.Errorf("error %v does not wrap %v for the log", a.err, tt.err)
			}
			if r.count() != 1 {
				t.Errorf("body closed %d times, want once", r.count())
			}
		})
	}
}

func TestBodyReadAll(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("0123456789abcdef"), (2*bodyWhole+100)/16)
	known := func(b []byte, size int64) *fetch.Body {
		return fetch.StreamBody(&trackedReader{Reader: iotest.HalfReader(bytes.NewReader(b))}, size)
	}
	tests := []struct {
		name  string
		body  *fetch.Body
		want  []byte
		parts int
	}{
		{"inline", fetch.BytesBody([]byte("abc")), []byte("abc"), 0},
		{"empty", known(nil, -1), nil, 0},
		{"short stream", known([]byte("abc"), -1), []byte("abc"), 0},
		{"long stream comes in parts", known(long, -1), long, 2},
		{"long stream of known size comes at once", known(long, int64(len(long))), long, 0},
		{"size that promises too little", known(long[:100], 10), long[:100], 0},
		{"size that promises too much", known(long[:100], 1000), long[:100], 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newBodyHost(t)
			_, handle := h.addReader(tt.body)
			var got []byte
			parts := 0
			for {
				ch, _ := h.call(t, "op_body_read_all", handle)
				a := <-ch
				if a.err != nil {
					t.Fatalf("read all: %v", a.err)
				}
				if a.v.Kind() == op.KindBytes {
					got = append(got, a.v.Raw()...)
					break
				}
				parts++
				got = append(got, a.v.Elements()[0].Raw()...)
			}
			if !bytes.Equal(got, tt.want) || parts != tt.parts {
				t.Errorf("got %d bytes after %d parts, want %d after %d", len(got), parts, len(tt.want), tt.parts)
			}
			if n := h.table.Len(); n != 0 {
				t.Errorf("table holds %d handles after the end, want 0", n)
			}
		})
	}
}

func TestBodyReadAllReportsTheError(t *testing.T) {
	t.Parallel()
	h := newBodyHost(t)
	_, handle := h.addReader(fetch.StreamBody(io.NopCloser(iotest.ErrReader(errors.New("reset"))), -1))
	ch, _ := h.call(t, "op_body_read_all", handle)
	if a := <-ch; a.err == nil || op.Public(a.err).Class != op.TypeError {
		t.Errorf("read all gave %v, want a TypeError", a.err)
	}
}

func TestBodyReaderTake(t *testing.T) {
	t.Parallel()
	t.Run("untouched body is passed on open", func(t *testing.T) {
		t.Parallel()
		b, c := trackedBody("abc")
		r := NewBodyReader(b)
		if got := r.Take(); got != b {
			t.Fatalf("Take gave %v, want the body", got)
		}
		if err := r.Close(); err != nil || c.count() != 0 {
			t.Errorf("Close after Take: %v, body closed %d times, want 0", err, c.count())
		}
		if got := r.Take(); got != nil {
			t.Errorf("second Take gave %v, want nil", got)
		}
	})
	t.Run("body that was read is not", func(t *testing.T) {
		t.Parallel()
		h := newBodyHost(t)
		r, handle := h.addReader(fetch.BytesBody([]byte("abc")))
		ch, _ := h.call(t, "op_body_read", handle, op.Int(1))
		<-ch
		if got := r.Take(); got != nil {
			t.Errorf("Take gave %v, want nil", got)
		}
	})
}

// blockingReader blocks until it is closed.
type blockingReader struct {
	reading chan struct{}
	closed  chan struct{}
	once    sync.Once
}

func (b *blockingReader) Read([]byte) (int, error) {
	close(b.reading)
	<-b.closed
	return 0, errors.New("use of closed connection")
}

func (b *blockingReader) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func TestBodyCancelEndsTheRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"op_body_read", "op_body_read_all"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newBodyHost(t)
			b := &blockingReader{reading: make(chan struct{}), closed: make(chan struct{})}
			_, handle := h.addReader(fetch.StreamBody(b, -1))
			ch, _ := h.call(t, name, handle, op.Int(10))
			<-b.reading
			busy, _ := h.call(t, name, handle, op.Int(10))
			if a := <-busy; a.err == nil {
				t.Error("a second read at the same time gave no error")
			}
			h.call(t, "op_body_cancel", handle)
			h.call(t, "op_body_cancel", handle) // harmless
			if a := <-ch; a.err == nil || op.Public(a.err).Name != "AbortError" {
				t.Errorf("read gave %v, want an AbortError", a.err)
			}
		})
	}
}

func TestBodyOpsRefuseUnknownHandles(t *testing.T) {
	t.Parallel()
	h := newBodyHost(t)
	for _, name := range []string{"op_body_read", "op_body_read_all", "op_body_write", "op_body_closed"} {
		ch, _ := h.call(t, name, op.Int(99))
		if a := <-ch; a.err == nil || op.Public(a.err).Class != op.TypeError {
			t.Errorf("%s gave %v, want a TypeError", name, a.err)
		}
	}
	for _, name := range []string{"op_body_cancel", "op_body_push", "op_body_end", "op_body_error"} {
		h.call(t, name, op.Int(99)) // posts to what is gone do nothing
	}
}

func TestBodyWriterPipesThrough(t *testing.T) {
	t.Parallel()
	h := newBodyHost(t)
	w, handle := h.open(t)
	closed, _ := h.call(t, "op_body_closed", handle)
	var want []byte
	for i := range 40 {
		chunk := bytes.Repeat([]byte{byte(i)}, 1+i*i*40)
		want = append(want, chunk...)
		h.call(t, "op_body_push", handle, op.Bytes(chunk))
	}
	h.call(t, "op_body_end", handle)
	got, err := w.Body().ReadAll(1 << 30)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("read %d bytes, %v, want %d", len(got), err, len(want))
	}
	if a := <-closed; a.err != nil {
		t.Errorf("closed gave %v, want nil", a.err)
	}
	if n := h.table.Len(); n != 0 {
		t.Errorf("table holds %d handles after the end, want 0", n)
	}
}

func TestBodyWriterHoldsTheWriterBack(t *testing.T) {
	t.Parallel()
	h := newBodyHost(t)
	w, handle := h.open(t)
	first, _ := h.call(t, "op_body_write", handle, op.Bytes(make([]byte, bodyMark-1)))
	if a := <-first; a.err != nil {
		t.Fatalf("write with room left: %v", a.err)
	}
	second, _ := h.call(t, "op_body_write", handle, op.Bytes(make([]byte, 10)))
	buf := make([]byte, bodyMark/2)
	if _, err := io.ReadFull(w.Body().Reader, buf[:bodyMark/2-100]); err != nil {
		t.Fatal(err)
	}
	select {
	case a := <-second:
		t.Fatalf("write settled with %v while the buffer was over half full", a.err)
	default:
	}
	if _, err := io.ReadFull(w.Body().Reader, buf[:200]); err != nil {
		t.Fatal(err)
	}
	if a := <-second; a.err != nil {
		t.Errorf("write gave %v, want room", a.err)
	}
}

func TestBodyWriterReaderWaits(t *testing.T) {
	t.Parallel()
	w, body := NewBodyWriter(context.Background())
	read := make(chan string)
	go func() {
		b, err := io.ReadAll(body.Reader)
		if err != nil {
			t.Error(err)
		}
		read <- string(b)
	}()
	w.Write([]byte("ab"), nil)
	w.Write(nil, nil)
	w.Write([]byte("c"), nil)
	w.End()
	w.End() // harmless
	if got := <-read; got != "abc" {
		t.Errorf("read %q, want abc", got)
	}
}

func TestBodyWriterEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// end is done after two bytes were written, one of which was read.
		end        func(w *BodyWriter, cancel func())
		wantRead   string // read after that
		wantErr    error
		wantClosed string // the class that the script gets, "" for success
	}{
		{"reader closes early", func(w *BodyWriter, _ func()) { _ = w.Body().Close() }, "", errBodyReaderLeft, "AbortError"},
		{"stream fails", func(w *BodyWriter, _ func()) { w.Abort(errBodyTest) }, "b", errBodyTest, "AbortError"},
		{"context ends", func(w *BodyWriter, cancel func()) { cancel() }, "", errBodyTest, "AbortError"},
		{"instance closes", func(w *BodyWriter, _ func()) { _ = w.Close() }, "", context.Canceled, "AbortError"},
		{"complete", func(w *BodyWriter, _ func()) { w.End() }, "b", nil, ""},
		{"complete, then the instance closes", func(w *BodyWriter, _ func()) { w.End(); _ = w.Close() }, "b", nil, ""},
		{"complete, then a late error", func(w *BodyWriter, _ func()) { w.End(); w.Abort(errBodyTest) }, "b", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			w, body := NewBodyWriter(ctx)
			closed := make(chan error, 1)
			w.OnClosed(func(err error) { closed <- err })
			w.Write([]byte("ab"), nil)
			if _, err := io.ReadFull(body.Reader, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			tt.end(w, func() { cancel(errBodyTest) })
			if tt.wantClosed != "" && tt.wantRead == "" {
				if err := <-closed; op.Public(err).Name != tt.wantClosed {
					t.Errorf("closed gave %v, want %s", err, tt.wantClosed)
				}
				closed <- errBodyTest
			}
			got, err := io.ReadAll(body.Reader)
			if string(got) != tt.wantRead || !errors.Is(err, tt.wantErr) {
				t.Errorf("read %q, %v, want %q, %v", got, err, tt.wantRead, tt.wantErr)
			}
			err = <-closed
			if (err == nil) != (tt.wantClosed == "") {
				t.Errorf("closed gave %v, want %q", err, tt.wantClosed)
			}
			late := make(chan error, 1)
			w.Write([]byte("x"), func(err error) { late <- err })
			if err := <-late; err == nil {
				t.Error("write after the end gave no error")
			}
			w.OnClosed(func(err error) { late <- err })
			if err := <-late; (err == nil) != (tt.wantClosed == "") {
				t.Errorf("closed, asked late, gave %v, want %q", err, tt.wantClosed)
			}
		})
	}
}

var errBodyTest = errors.New("test")

func TestBodyWriterReaderClosesAfterTheLastByte(t *testing.T) {
	t.Parallel()
	w, body := NewBodyWriter(context.Background())
	w.Write([]byte("abc"), nil)
	w.End()
	if _, err := io.ReadFull(body.Reader, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	// A reader that knows the length never meets io.EOF.
	if err := body.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	w.OnClosed(func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Errorf("closed gave %v, want nil", err)
	}
}

func TestBodyWriterRejectsWaitingWrites(t *testing.T) {
	t.Parallel()
	h := newBodyHost(t)
	w, handle := h.open(t)
	write, _ := h.call(t, "op_body_write", handle, op.Bytes(make([]byte, bodyMark)))
	if err := w.Body().Close(); err != nil {
		t.Fatal(err)
	}
	if a := <-write; a.err == nil || op.Public(a.err).Name != "AbortError" {
		t.Errorf("waiting write gave %v, want an AbortError", a.err)
	}
}

func TestBodyErrorIsAStreamAbort(t *testing.T) {
	t.Parallel()
	h := newBodyHost(t)
	w, handle := h.open(t)
	h.call(t, "op_body_push", handle, op.Bytes([]byte("ab")))
	h.call(t, "op_body_error", handle, op.String("TypeError: bad"))
	got, err := io.ReadAll(w.Body().Reader)
	if string(got) != "ab" || outcome.Of(err) != outcome.StreamAborted {
		t.Errorf("read %q, %v, want ab and stream_aborted", got, err)
	}
	if err == nil || !strings.Contains(err.Error(), "TypeError: bad") {
		t.Errorf("error %v does not hold the cause for the log", err)
	}
}

func TestBodyWriterOfAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, body := NewBodyWriter(ctx)
	if _, err := io.ReadAll(body.Reader); !errors.Is(err, context.Canceled) {
		t.Errorf("read gave %v, want context.Canceled", err)
	}
}

func TestBodyWriterManyWritersAndAReader(t *testing.T) {
	t.Parallel()
	w, body := NewBodyWriter(context.Background())
	const writers, writes, size = 4, 100, 3000
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			room := make(chan error, 1)
			for range writes {
				w.Write(bytes.Repeat([]byte{byte(i)}, size), func(err error) { room <- err })
				if err := <-room; err != nil {
					t.Error(err)
				}
			}
		})
	}
	counts := make([]int, writers)
	done := make(chan error)
	go func() {
		got, err := io.ReadAll(body.Reader)
		for _, c := range got {
			counts[c]++
		}
		done <- err
	}()
	wg.Wait()
	w.End()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for i, n := range counts {
		if n != writes*size {
			t.Errorf("writer %d: read %d bytes, want %d", i, n, writes*size)
		}
	}
}

// Serial, so that no other test's goroutines are met.
func TestBodiesLeaveNoGoroutines(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	h := newBodyHost(t)
	b := &blockingReader{reading: make(chan struct{}), closed: make(chan struct{})}
	_, handle := h.addReader(fetch.StreamBody(b, -1))
	canceled, _ := h.call(t, "op_body_read", handle, op.Int(10))
	<-b.reading
	h.call(t, "op_body_cancel", handle)
	<-canceled

	ctx, cancel := context.WithCancel(context.Background())
	_, body := NewBodyWriter(ctx)
	read := make(chan error)
	go func() {
		_, err := io.ReadAll(body.Reader)
		read <- err
	}()
	cancel()
	<-read

	w, body := NewBodyWriter(context.Background())
	w.End()
	if _, err := io.ReadAll(body.Reader); err != nil {
		t.Error(err)
	}
	w, _ = h.open(t)
	if err := h.table.Close(); err != nil { // as when the instance is closed
		t.Error(err)
	}
	if _, err := w.Body().Reader.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("read after the instance closed gave %v, want context.Canceled", err)
	}
}

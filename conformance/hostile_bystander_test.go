package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// bystanders are innocent tenants that are asked all the time while others are
// attacked: one that is warm, and some that start in the middle of it.
type bystanders struct {
	v    *victim
	warm tenant
	cold []tenant
	stop chan struct{}
	wg   sync.WaitGroup
	next atomic.Int64

	mu       sync.Mutex
	took     []time.Duration
	started  int
	failures []string
}

// watch begins to ask.
func (v *victim) watch(warm tenant, cold []tenant) *bystanders {
	b := &bystanders{v: v, warm: warm, cold: cold, stop: make(chan struct{})}
	for range 3 {
		b.wg.Go(func() { b.each(5*time.Millisecond, b.askWarm) })
	}
	b.wg.Go(func() { b.each(400*time.Millisecond, b.askCold) })
	return b
}

// each calls f at a pace that leaves the machine to the attackers.
func (b *bystanders) each(pace time.Duration, f func(*http.Client)) {
	client := b.v.newClient()
	defer client.CloseIdleConnections()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
			f(client)
		}
	}
}

func (b *bystanders) askWarm(client *http.Client) {
	start := time.Now()
	b.ask(client, b.warm)
	b.mu.Lock()
	b.took = append(b.took, time.Since(start))
	b.mu.Unlock()
}

func (b *bystanders) askCold(client *http.Client) {
	b.mu.Lock()
	i := b.started
	b.started++
	b.mu.Unlock()
	b.ask(client, b.cold[i%len(b.cold)])
}

// ask makes a request whose answer can be told from every other one.
func (b *bystanders) ask(client *http.Client, tt tenant) {
	n := b.next.Add(1)
	url := fmt.Sprintf("http://%s/?n=%d", tt.host(), n)
	want := fmt.Sprintf("%d:%d", n, 45*n)
	resp, err := client.Get(url)
	if err != nil {
		b.fail("%s: %v", tt.name, err)
		return
	}
	got, err := readAll(resp)
	if err != nil || resp.StatusCode != 200 || got != want {
		b.fail("%s: got %d %s %q (%v), want %q", tt.name, resp.StatusCode, resp.Header.Get("Edge-Outcome"), clip(got), err, want)
	}
}

func (b *bystanders) fail(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = append(b.failures, fmt.Sprintf(format, args...))
}

// finish stops asking and fails the test for each request that was lost.
func (b *bystanders) finish(t *testing.T) {
	t.Helper()
	close(b.stop)
	b.wg.Wait()
	for i, f := range b.failures {
		if i == 20 {
			t.Errorf("and %d more", len(b.failures)-20)
			break
		}
		t.Errorf("a bystander's request was lost: %s", f)
	}
	if len(b.took) == 0 {
		t.Fatal("no bystander was asked")
	}
	slices.Sort(b.took)
	at := func(p int) time.Duration { return b.took[(len(b.took)-1)*p/100].Round(10 * time.Microsecond) }
	t.Logf("bystanders: %d requests, p50 %v, p99 %v, worst %v; %d requests of tenants that started meanwhile",
		len(b.took), at(50), at(99), at(100), b.started)
}

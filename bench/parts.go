package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

const helloJS = `export default {
	fetch() { return new Response("Hello World", { headers: { "content-type": "text/plain" } }); },
};
`

const helloConfig = `services: hello: worker: main: "hello.js"
sockets: http: {address: "ADDR", service: "hello"}
admin: address: "off"
`

// hello compares one worker with a bare fasthttp handler.
func hello(ctx context.Context, o *options, t *table) error {
	bare, err := startReference(ctx, "fasthttp", "")
	if err != nil {
		return err
	}
	defer bare.stop()
	servers := []struct {
		name  string
		flags []string
	}{{"hello world, one worker, no access log", []string{"--access-log", "none"}}, {"the same with an access log line for each request", nil}}
	for _, s := range servers {
		edge, err := startEdge(ctx, o, map[string]string{"config.cue": helloConfig, "hello.js": helloJS}, s.flags...)
		if err != nil {
			return err
		}
		ratio, ra, rb, failed := compare(ctx, o, edge.addr, bare.addr, "/")
		if err := edge.stop(); err != nil {
			return err
		}
		t.row(s.name, fmt.Sprintf("%.0f req/s, %.2f of bare fasthttp (%.0f); %d failed", ra, ratio, rb, failed), ">= 0.75 of bare fasthttp")
	}
	return comparePeers(ctx, o, t)
}

// compare loads a and b in turn and returns the median ratio and rates.
func compare(ctx context.Context, o *options, a, b, path string) (ratio, rateA, rateB float64, failed int) {
	load(ctx, a, path, o.conns, o.length/2, nil, false) // warm
	load(ctx, b, path, o.conns, o.length/2, nil, false)
	var ratios, as, bs []float64
	for range o.rounds {
		ra := load(ctx, a, path, o.conns, o.length, nil, false)
		rb := load(ctx, b, path, o.conns, o.length, nil, false)
		failed += ra.failed + rb.failed
		as, bs, ratios = append(as, ra.rate), append(bs, rb.rate), append(ratios, ra.rate/rb.rate)
	}
	return median(ratios), median(as), median(bs), failed
}

// tenants returns the configuration of n workers by host, and their sources.
func tenants(n int, server string, source func(i int) string) map[string]string {
	files := map[string]string{}
	var services, routes strings.Builder
	for i := range n {
		fmt.Fprintf(&services, "services: t%d: worker: main: \"t%d.js\"\n", i, i)
		fmt.Fprintf(&routes, "{host: \"t%d.example.com\", service: \"t%d\"},\n", i, i)
		files[fmt.Sprintf("t%d.js", i)] = source(i)
	}
	files["config.cue"] = services.String() + "sockets: http: {address: \"ADDR\", routes: [" + routes.String() +
		"]}\nadmin: address: \"off\"\n" + server
	return files
}

const manyTenants = 500

// many compares 500 workers at random with one of them.
func many(ctx context.Context, o *options, t *table) error {
	edge, err := startEdge(ctx, o, tenants(manyTenants, "", func(int) string { return helloJS }), "--access-log", "none")
	if err != nil {
		return err
	}
	defer edge.stop()
	random := func(r *rand.Rand) string { return fmt.Sprintf("t%d.example.com", r.IntN(manyTenants)) }
	one := func(*rand.Rand) string { return "t0.example.com" }
	if err := loadAll(edge.addr); err != nil {
		return err
	}
	var ratios, rates []float64
	failed := 0
	for range o.rounds {
		a := load(ctx, edge.addr, "/", 100, o.length, random, false)
		b := load(ctx, edge.addr, "/", 100, o.length, one, false)
		failed += a.failed + b.failed
		ratios, rates = append(ratios, a.rate/b.rate), append(rates, a.rate)
	}
	t.row("500 workers, picked at random, 100 connections", fmt.Sprintf("%.0f req/s, %.2f of one worker; %d failed", median(rates), median(ratios), failed),
		">= 0.6 of one worker, no failure")
	return nil
}

// loadAll sends one request to each tenant.
func loadAll(addr string) error {
	client := &fasthttp.HostClient{Addr: addr}
	defer client.CloseIdleConnections()
	for i := range manyTenants {
		if _, status, err := once(client, addr, fmt.Sprintf("t%d.example.com", i)); err != nil || status != 200 {
			return fmt.Errorf("load worker %d: status %d: %w", i, status, err)
		}
	}
	return nil
}

// bundle returns a worker of about n bytes. All of its functions are in use, so
// that bundling drops none, and a twentieth runs at its start.
func bundle(n int) string {
	var b strings.Builder
	b.WriteString("const parts = [];\n")
	for i := 0; b.Len() < n-200; i++ {
		fmt.Fprintf(&b, "function part%d(a, b) { const o = { id: %d, sum: a + b, text: `${a}-${b}` }; for (const k in o) if (k === \"none\") return k; return o; }\n", i, i)
		fmt.Fprintf(&b, "parts.push(part%d);\n", i)
		if i%20 == 0 {
			fmt.Fprintf(&b, "part%d(%d, 1);\n", i, i)
		}
	}
	b.WriteString("export default { fetch() { return new Response(`Hello ${parts.length}`); } };\n")
	return b.String()
}

// cold measures the first byte of workers that are deployed and not loaded.
func cold(ctx context.Context, o *options, t *table) error {
	const n = 30
	for _, c := range []struct {
		size         int
		name, target string
	}{
		{1 << 10, "1 KB", "p50 <= 1 ms, p99 <= 5 ms"}, {10 << 10, "10 KB", "p50 <= 1 ms, p99 <= 5 ms"},
		{100 << 10, "100 KB", "p50 <= 3 ms"}, {1 << 20, "1 MB", "p50 <= 20 ms"},
	} {
		source := bundle(c.size)
		edge, err := startEdge(ctx, o, tenants(n, "server: {maxIsolates: 16, warmIsolates: 4}\n", func(int) string { return source }), "--access-log", "none")
		if err != nil {
			return err
		}
		client := &fasthttp.HostClient{Addr: edge.addr}
		var times []time.Duration
		for lap := range 8 {
			for i := range n {
				// What people measure is one start at a time: the pool of ready isolates
				// has refilled.
				time.Sleep(15 * time.Millisecond)
				took, status, err := once(client, edge.addr, fmt.Sprintf("t%d.example.com", i))
				if err != nil || status != 200 {
					return errors.Join(fmt.Errorf("cold start of %s: status %d: %w", c.name, status, err), edge.stop())
				}
				if lap > 0 {
					times = append(times, took)
				}
			}
		}
		if err := edge.stop(); err != nil {
			return err
		}
		t.row("cold start, "+c.name+", evicted before", fmt.Sprintf("first byte p50 %.2f ms, p99 %.2f ms (%d starts)",
			ms(quantile(times, 0.5)), ms(quantile(times, 0.99)), len(times)), c.target)
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// memory measures what a loaded, idle worker keeps.
func memory(ctx context.Context, o *options, t *table) error {
	edge, err := startEdge(ctx, o, tenants(manyTenants, "", func(int) string { return helloJS }), "--access-log", "none")
	if err != nil {
		return err
	}
	defer edge.stop()
	before, _, err := edge.rss()
	if err != nil {
		return err
	}
	const booted = 64 // are started with the configuration
	if err := loadAll(edge.addr); err != nil {
		return err
	}
	// Idle instances are collected in the background, 25 a second.
	select {
	case <-time.After(25 * time.Second):
	case <-ctx.Done():
	}
	after, _, err := edge.rss()
	if err != nil {
		return err
	}
	t.row("idle loaded worker", fmt.Sprintf("%.2f MB RSS (%d workers, %.0f MB in all)", float64(after-before)/(manyTenants-booted)/1e6, manyTenants, float64(after)/1e6), "<= 1.5 MB")
	return nil
}

// proxy compares a worker that passes a large body on with the reverse proxy of
// the standard library.
func proxy(ctx context.Context, o *options, t *table) error {
	backend, err := startReference(ctx, "backend", "")
	if err != nil {
		return err
	}
	defer backend.stop()
	reference, err := startReference(ctx, "proxy", backend.addr)
	if err != nil {
		return err
	}
	defer reference.stop()
	edge, err := startEdge(ctx, o, map[string]string{
		"config.cue": "services: {\n\tp: worker: {main: \"p.js\", globalOutbound: \"b\"}\n\tb: external: address: \"" + backend.addr + "\"\n}\n" +
			"sockets: http: {address: \"ADDR\", service: \"p\"}\nadmin: address: \"off\"\n",
		"p.js": "export default { fetch(request) { return fetch(request); } };\n",
	}, "--access-log", "none")
	if err != nil {
		return err
	}
	defer edge.stop()
	const mb = 1024
	var ratios []float64
	for range max(3, o.rounds/2) {
		a, err := download(ctx, edge.addr, mb)
		if err != nil {
			return err
		}
		b, err := download(ctx, reference.addr, mb)
		if err != nil {
			return err
		}
		ratios = append(ratios, b.Seconds()/a.Seconds())
	}
	_, peak, err := edge.rss()
	if err != nil {
		return err
	}
	t.row("proxying a 1 GB body", fmt.Sprintf("%.2f of a Go reverse proxy's speed, %.0f MB RSS at the peak", median(ratios), float64(peak)/1e6), ">= 0.8, flat memory")
	return nil
}

func download(ctx context.Context, addr string, mb int) (time.Duration, error) {
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("http://%s/?mb=%d", addr, mb), nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && n != int64(mb)<<20 {
		err = fmt.Errorf("got %d bytes of %d MiB", n, mb)
	}
	return time.Since(began), err
}

// neighbour measures a quiet tenant alone and beside tenants that spin, allocate
// and crash.
func neighbour(ctx context.Context, o *options, t *table) error {
	edge, err := startEdge(ctx, o, map[string]string{
		"config.cue": `services: {
	quiet: worker: main: "hello.js"
	spin: worker: {main: "spin.js", limits: cpu: "100ms"}
	grow: worker: {main: "grow.js", limits: cpu: "100ms"}
}
sockets: http: {address: "ADDR", routes: [
	{host: "spin.example.com", service: "spin"}, {host: "grow.example.com", service: "grow"}, {service: "quiet"},
]}
admin: address: "off"
`,
		"hello.js": helloJS,
		"spin.js":  "export default { fetch() { for (;;); } };\n",
		"grow.js":  "export default { fetch() { const a = []; for (;;) a.push(new Array(1000).fill(a.length)); } };\n",
	}, "--access-log", "none")
	if err != nil {
		return err
	}
	defer edge.stop()
	quiet := func() result { return load(ctx, edge.addr, "/", 4, o.length, nil, true) }
	quiet()
	var ratios, alones, besides []float64
	failed := 0
	for range o.rounds {
		alone := quiet()
		hostile, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			load(hostile, edge.addr, "/", 4, time.Hour, func(r *rand.Rand) string {
				return []string{"spin.example.com", "grow.example.com"}[r.IntN(2)]
			}, false)
		}()
		beside := quiet()
		cancel()
		<-ended
		a, b := quantile(alone.times, 0.99), quantile(beside.times, 0.99)
		failed += alone.failed + beside.failed
		alones, besides, ratios = append(alones, ms(a)), append(besides, ms(b)), append(ratios, float64(b)/float64(a))
	}
	t.row("a quiet tenant's p99 beside 4 clients of tenants that spin and allocate", fmt.Sprintf("%.2f ms alone, %.2f ms beside them: %.1f times; %d failed",
		median(alones), median(besides), median(ratios), failed), "<= 2 times, no failure")
	return nil
}

// reload reloads the configuration 100 times under load.
func reload(ctx context.Context, o *options, t *table) error {
	edge, err := startEdge(ctx, o, map[string]string{"config.cue": helloConfig, "hello.js": helloJS}, "--access-log", "none")
	if err != nil {
		return err
	}
	defer edge.stop()
	under, cancel := context.WithCancel(ctx)
	ended := make(chan result)
	go func() { ended <- load(under, edge.addr, "/", o.conns, time.Hour, nil, false) }()
	for range 100 {
		if err := edge.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			cancel()
			return err
		}
		time.Sleep(30 * time.Millisecond)
	}
	cancel()
	r := <-ended
	t.row("100 reloads under load", fmt.Sprintf("%d requests failed at %.0f req/s", r.failed, r.rate), "no failure")
	return nil
}

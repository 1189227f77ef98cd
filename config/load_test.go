package config

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// loadFiles writes files and loads config.cue among them.
func loadFiles(t testing.TB, files map[string]string) (*Config, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), text)
	}
	cfg, err := Load(filepath.Join(dir, "config.cue"), Options{Kinds: testKinds(t), LookupEnv: mapEnv(map[string]string{"KEY": "v"})})
	return cfg, dir, err
}

func mustLoad(t testing.TB, files map[string]string) (*Config, string) {
	t.Helper()
	cfg, dir, err := loadFiles(t, files)
	if err != nil {
		t.Fatal(err)
	}
	return cfg, dir
}

// defaultLimits is written out on purpose: a changed default in the schema has
// to be meant.
var defaultLimits = Limits{
	CPU: time.Second, StartupCPU: time.Second, StartupWall: 10 * time.Second, FirstByte: 30 * time.Second,
	Wall: 15 * time.Minute, Idle: time.Minute, Memory: 64 << 20, Buffers: 64 << 20,
	Concurrency: 1000, Queue: 1000, Subrequests: 100, LogBytes: 256 << 10,
}

var defaultHTTP = SocketHTTP{
	HeaderSize: 32 << 10, BodySize: 100 << 20, HeaderTimeout: 10 * time.Second, BodyTimeout: 5 * time.Minute,
	IdleTimeout: 75 * time.Second, MaxConnections: 100000,
}

func TestLoadEveryService(t *testing.T) {
	t.Parallel()
	got, dir := mustLoad(t, map[string]string{
		"config.cue": `
services: {
	shop: worker: {
		main:              "shop.ts"
		compatibilityDate: "2026-11-01"
		bindings: {
			GREETING: text: "hello"
			PRICES: service: {name: "prices", entrypoint: "Admin"}
			KEY: variable: "KEY"
			F: file: "data/x.bin"
		}
		limits: {cpu: "50ms", memory: "128MiB", wall: "30s", subrequests: 50}
		globalOutbound: "payments-only"
	}
	prices: worker: {main: "m.js", modules: {"t": text: "data/t.txt", "m.js": esModule: "shop.ts"}}
	"payments-only": network: {
		allow: ["public", "10.0.0.0/8", "::ffff:192.0.2.1"], deny: ["2001:db8::1"]
		hosts: ["API.stripe.com:443", "*.example.com", "*:8443", "[::1]:*"]
	}
	backend: external: {
		address: "backend.example.com"
		http: injectRequestHeaders: {"X-Edge": " 1 ", "a": null}
		tls: {trustBrowserCas: false, trustedCertificates: ["ca.pem"], certificateHost: "Internal", minVersion: "1.3"}
	}
	site: disk: path: "./public"
}
sockets: {
	http: {address: "*:8080", routes: [{host: "Shop.example.com", path: "/api/*", service: "shop", entrypoint: "Api"}, {host: "*", path: "/", service: "site"}]}
	other: {address: "[::1]:0", service: "backend", http: {bodySize: "1GiB", maxConnections: 5}}
}
limits: {cpu: "2s", queue: 0}
admin: address: "localhost:1234"
server: {maxIsolates: 10, warmIsolates: 0, drainTimeout: "0s", wasmTrapHandler: true}
`,
		"shop.ts": "", "data/x.bin": "", "data/t.txt": "", "ca.pem": "", "public/index.html": "",
	})
	shop := defaultLimits
	shop.CPU, shop.Memory, shop.Wall, shop.Subrequests, shop.Queue = 50*time.Millisecond, 128<<20, 30*time.Second, 50, 0
	prices := defaultLimits
	prices.CPU, prices.Queue = 2*time.Second, 0
	other := defaultHTTP
	other.BodySize, other.MaxConnections = 1<<30, 5
	at := func(name string) string { return filepath.Join(dir, name) }
	bindings := "services.shop.worker.bindings."
	want := &Config{
		Path: at("config.cue"), Dir: dir,
		Files: []string{at("ca.pem"), at("config.cue"), at("data/t.txt"), at("data/x.bin"), at("shop.ts")},
		Services: map[string]*Service{
			"shop": {Name: "shop", Field: "services.shop", Worker: &Worker{
				Main: at("shop.ts"), CompatibilityDate: "2026-11-01", Limits: shop, GlobalOutbound: "payments-only",
				Bindings: map[string]Binding{
					"GREETING": {Kind: "text", Raw: json.RawMessage(`"hello"`), Field: bindings + "GREETING"},
					"PRICES":   {Kind: "service", Raw: json.RawMessage(`{"name":"prices","entrypoint":"Admin"}`), Field: bindings + "PRICES"},
					"KEY":      {Kind: "variable", Raw: json.RawMessage(`"KEY"`), Field: bindings + "KEY"},
					"F":        {Kind: "file", Raw: json.RawMessage(`"data/x.bin"`), Field: bindings + "F"},
				},
			}},
			"prices": {Name: "prices", Field: "services.prices", Worker: &Worker{
				Main: "m.js", Limits: prices, Bindings: map[string]Binding{},
				Modules: []Module{{Name: "m.js", Type: ESModule, File: at("shop.ts")}, {Name: "t", Type: TextModule, File: at("data/t.txt")}},
			}},
			"payments-only": {Name: "payments-only", Field: `services."payments-only"`, Network: &Network{
				Allow: []AddressRule{{Word: Public}, {Prefix: netip.MustParsePrefix("10.0.0.0/8")}, {Prefix: netip.MustParsePrefix("192.0.2.1/32")}},
				Deny:  []AddressRule{{Prefix: netip.MustParsePrefix("2001:db8::1/128")}},
				Hosts: []HostPattern{
					{Host: "api.stripe.com", Ports: []uint16{443}}, {Host: "example.com", Subdomains: true, Ports: []uint16{80, 443}},
					{Ports: []uint16{8443}}, {Host: "::1"},
				},
				TLS: TLS{TrustBrowserCas: true, MinVersion: tls.VersionTLS12},
			}},
			"backend": {Name: "backend", Field: "services.backend", External: &External{
				Address: "backend.example.com:443",
				HTTP:    HTTPOptions{InjectRequestHeaders: []HeaderEdit{{Name: "a", Remove: true}, {Name: "x-edge", Value: "1"}}},
				TLS:     &TLS{TrustedCertificates: []string{at("ca.pem")}, CertificateHost: "internal", MinVersion: tls.VersionTLS13},
			}},
			"site": {Name: "site", Field: "services.site", Disk: &Disk{Path: at("public"), Index: "index.html", MaxSize: 256 << 20}},
		},
		Sockets: map[string]*Socket{
			"http": {Name: "http", Field: "sockets.http", Address: ":8080", HTTP: defaultHTTP, Routes: []Route{
				{Host: "shop.example.com", Path: "/api/", Service: "shop", Entrypoint: "Api", Field: "sockets.http.routes[0]"},
				{Service: "site", Field: "sockets.http.routes[1]"},
			}},
			"other": {Name: "other", Field: "sockets.other", Address: "[::1]:0", HTTP: other, Routes: []Route{
				{Service: "backend", Field: "sockets.other.service"},
			}},
		},
		Admin:  Admin{Address: "localhost:1234"},
		Server: Server{MaxIsolates: 10, WasmTrapHandler: true},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("the configuration differs (-want +got):\n%s", diff)
	}
}

func TestLoadDefaults(t *testing.T) {
	t.Parallel()
	got, dir := mustLoad(t, map[string]string{
		"config.cue": `
services: {a: worker: main: "a.js", n: network: {}, x: external: address: "10.0.0.7", d: disk: path: "."}
sockets: s: {address: ":0", service: "a"}`,
		"a.js": "",
	})
	if got.Services["a"].Worker.Limits != defaultLimits {
		t.Errorf("limits are %+v, want %+v", got.Services["a"].Worker.Limits, defaultLimits)
	}
	if got.Sockets["s"].HTTP != defaultHTTP {
		t.Errorf("limits of a socket are %+v, want %+v", got.Sockets["s"].HTTP, defaultHTTP)
	}
	if want := (Admin{Address: "127.0.0.1:9090", Default: true}); got.Admin != want {
		t.Errorf("admin is %+v, want %+v", got.Admin, want)
	}
	if want := (Server{MaxIsolates: 1000, WarmIsolates: 8, DrainTimeout: 10 * time.Second}); got.Server != want {
		t.Errorf("server is %+v, want %+v", got.Server, want)
	}
	if n := got.Services["n"].Network; len(n.Allow) != 1 || n.Allow[0].Word != Public || n.Hosts != nil || !n.TLS.TrustBrowserCas {
		t.Errorf("a network is %+v, want public addresses, any host, browsers' authorities", n)
	}
	if x := got.Services["x"].External; x.Address != "10.0.0.7:80" || x.TLS != nil {
		t.Errorf("an external is %+v, want port 80 without TLS", x)
	}
	if d := got.Services["d"].Disk; d.Path != dir || d.Index != "index.html" || d.AllowDotfiles {
		t.Errorf("a disk is %+v, want %s, index.html, no dotfiles", d, dir)
	}
}

func TestAdminCanBeOff(t *testing.T) {
	t.Parallel()
	got, _ := mustLoad(t, map[string]string{
		"config.cue": `
services: n: network: {}
sockets: s: {address: ":0", service: "n"}
admin: address: "off"`,
	})
	if got.Admin != (Admin{}) {
		t.Errorf("admin is %+v, want none", got.Admin)
	}
}

func TestLoadGeneratedTenants(t *testing.T) {
	t.Parallel()
	got, _ := mustLoad(t, manyTenants(500))
	if len(got.Services) != 500 || len(got.Sockets["s"].Routes) != 500 {
		t.Errorf("there are %d services and %d routes, want 500 of each", len(got.Services), len(got.Sockets["s"].Routes))
	}
}

func manyTenants(n int) map[string]string {
	return map[string]string{"a.js": "", "config.cue": fmt.Sprintf(`
import "list"
_ids: list.Range(0, %d, 1)
for i in _ids {
	services: "tenant\(i)": worker: {main: "a.js", bindings: {ID: text: "\(i)", N: json: i}, limits: {cpu: "50ms", memory: "16MiB"}}
}
sockets: s: {address: ":0", routes: [for i in _ids {{host: "tenant\(i).example.com", service: "tenant\(i)"}}]}`, n)}
}

func TestLoadImports(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"cue.mod/module.cue": "module: \"example.com/conf@v0\"\nlanguage: version: \"v0.11.0\"\n",
		"config.cue":         "package conf\nimport \"example.com/conf/tenants\"\nservices: tenants.#Services\nsockets: s: {address: \":0\", service: \"one\"}\n",
		"unrelated.cue":      "package conf\nsockets: broken: 5\n",
		"tenants/a.cue":      "package tenants\n#Services: one: worker: main: \"a.js\"\n",
		"tenants/b.cue":      "package tenants\n#Services: two: worker: main: \"a.js\"\n",
		"a.js":               "",
	}
	got, dir := mustLoad(t, files)
	if len(got.Services) != 2 {
		t.Errorf("there are %d services, want those of both files of the package", len(got.Services))
	}
	var names []string
	for _, f := range got.Files {
		rel, _ := filepath.Rel(dir, f) // both are absolute
		names = append(names, rel)
	}
	if diff := cmp.Diff([]string{"config.cue", "cue.mod/module.cue", "tenants/a.cue", "tenants/b.cue"}, names); diff != "" {
		t.Errorf("the files differ (-want +got):\n%s", diff)
	}
}

func TestLoadSeveralFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.cue"), "services: n: network: {}")
	writeFile(t, filepath.Join(dir, "sub", "b.cue"), `sockets: s: {address: ":0", service: "n"}`)
	cfg, err := Load(filepath.Join(dir, "a.cue"), Options{More: []string{filepath.Join(dir, "sub", "b.cue")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Services) != 1 || len(cfg.Sockets) != 1 || len(cfg.Files) != 2 {
		t.Errorf("got %d services, %d sockets, %d files, want 1, 1, 2", len(cfg.Services), len(cfg.Sockets), len(cfg.Files))
	}
}

func TestMistakesNameFilesAsTheUserDid(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "conf", "config.cue"), "x: 1")
	t.Chdir(dir)
	for path, want := range map[string]string{
		"conf/config.cue":   "conf/config.cue:1:1: x: unknown field",
		"./conf/config.cue": "conf/config.cue:1:1: x: unknown field",
		"../" + filepath.Base(dir) + "/conf/config.cue": "../" + filepath.Base(dir) + "/conf/config.cue:1:1: x: unknown field",
		filepath.Join(dir, "conf/config.cue"):           dir + "/conf/config.cue:1:1: x: unknown field",
	} {
		_, err := Load(path, Options{})
		if err == nil || !strings.Contains("\n"+err.Error(), "\n"+want) {
			t.Errorf("load %s: got %v, want a line that begins with %q", path, err, want)
		}
	}
}

func TestErrorNamesFilesToWatch(t *testing.T) {
	t.Parallel()
	_, dir, err := loadFiles(t, map[string]string{
		"cue.mod/module.cue": "module: \"example.com/conf@v0\"\nlanguage: version: \"v0.11.0\"\n",
		"config.cue":         "package conf\nimport \"example.com/conf/tenants\"\nservices: tenants.services\nsockets: s: {address: \":0\", service: \"one\"}\n",
		"tenants/a.cue":      "package tenants\nservices: one: worker: {main: \"a.js\", bindings: F: file: \"gone.bin\"}\n",
	})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	for _, name := range []string{"config.cue", "tenants/a.cue", "gone.bin"} {
		if !slices.Contains(e.Files, filepath.Join(dir, name)) {
			t.Errorf("%s is not watched while the configuration is broken; %v are", name, e.Files)
		}
	}
}

func TestLoadLeavesSecretsOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "config.cue"), `
services: x: worker: {main: "a.js", bindings: {A: variable: "KEYY", B: variable: "KEY"}}
sockets: s: {address: ":0", service: "x"}`)
	_, err := Load(filepath.Join(dir, "config.cue"), Options{Kinds: testKinds(t), LookupEnv: mapEnv(map[string]string{"KEY": "s3cret"})})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v, want mistakes without the value of a variable", err)
	}
}

func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		// Root reads everything; what it cannot open is a socket or a device that
		// refuses, which no portable test makes.
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "config.cue")
	writeFile(t, path, "x: 1")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, Options{}); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("got %v, want permission denied", err)
	}
}

func BenchmarkLoad500Tenants(b *testing.B) {
	dir := b.TempDir()
	for name, text := range manyTenants(500) {
		writeFile(b, filepath.Join(dir, name), text)
	}
	for b.Loop() {
		if _, err := Load(filepath.Join(dir, "config.cue"), Options{Kinds: testKinds(b)}); err != nil {
			b.Fatal(err)
		}
	}
}

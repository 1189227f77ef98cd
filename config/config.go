// Package config reads CUE files into a Config and reports every mistake at
// once, each with its file, line, column, config path and what would have
// worked. It opens no sockets, starts nothing and knows no binding kind: what a
// kind allows comes in as a schema fragment and a function that lists what a
// binding refers to.
//
// schema.cue is the manual; the names in it and here are the same.
package config

import (
	"encoding/json"
	"net/netip"
	"time"
)

// Config is a configuration without mistakes. All defaults are filled in; a
// missing value never means "unlimited".
type Config struct {
	// Path is the first file that was loaded, absolute.
	Path string
	// Dir is Path's folder. Paths in the configuration are relative to it; those
	// in this struct are absolute.
	Dir string
	// Files lists every file that the configuration was made from, imported CUE
	// packages, the module file and the data that bindings and services name by
	// path included: what to watch. Absolute, sorted. What a worker's bundle
	// holds is not known here.
	Files []string

	Services map[string]*Service
	Sockets  map[string]*Socket
	Admin    Admin
	Server   Server
}

// Service is one named service: exactly one of the pointers is set.
type Service struct {
	Name string
	// Field is the service's config path, such as "services.shop".
	Field string

	Worker   *Worker
	Network  *Network
	External *External
	Disk     *Disk
}

// Worker is code that handles requests in an isolate of its own.
type Worker struct {
	// Main is the file that is bundled with what it imports, absolute; with
	// Modules it is the name of one of them.
	Main string
	// Modules are given one by one instead of being bundled, sorted by name;
	// empty: Main is bundled.
	Modules []Module
	// CompatibilityDate is "2006-01-02", or empty for the newest behaviour.
	CompatibilityDate string
	// Bindings is env, by name.
	Bindings map[string]Binding
	Limits   Limits
	// GlobalOutbound is the service that fetch() goes through; empty: no network.
	GlobalOutbound string
}

// ModuleType is the field under which a module's file stands.
type ModuleType string

// The types of modules, named as in workerd.
const (
	ESModule   ModuleType = "esModule"
	JSONModule ModuleType = "json"
	TextModule ModuleType = "text"
	DataModule ModuleType = "data"
	WasmModule ModuleType = "wasm"
)

// Module is one module that is not bundled.
type Module struct {
	Name string // as imports name it
	Type ModuleType
	File string // absolute
}

// Binding is the undecoded configuration of one binding.
type Binding struct {
	// Kind names the binding kind, which is the field it stands under.
	Kind string
	// Raw is that field's value as JSON.
	Raw json.RawMessage
	// Field is the config path, such as "services.shop.worker.bindings.GREETING".
	Field string
}

// Limits bound what a worker may use. Each has an outcome of its own.
type Limits struct {
	CPU         time.Duration // CPU time of one request
	StartupCPU  time.Duration // CPU time of evaluating the main module
	StartupWall time.Duration // wall time of the same
	FirstByte   time.Duration // wall time until the response begins
	Wall        time.Duration // wall time of a request in total, waitUntil included
	Idle        time.Duration // wall time in which a body does not move
	Memory      int64         // bytes of JavaScript heap in one isolate
	Buffers     int64         // bytes of ArrayBuffers and Wasm memories in one isolate
	Concurrency int           // requests in one isolate at the same time
	Queue       int           // requests that wait for a place among those
	Subrequests int           // fetches and service calls of one request
	LogBytes    int64         // bytes of console output of one request
}

// Network is the way to servers that are named by the worker. A connection
// passes only when its resolved address is allowed and not denied, and the host
// and port that were asked for match Hosts.
type Network struct {
	Allow []AddressRule // never empty
	Deny  []AddressRule
	// Hosts are the names that may be asked for; empty: any.
	Hosts []HostPattern
	TLS   TLS
}

// AddressRule matches resolved addresses: either by Word or by Prefix.
type AddressRule struct {
	Word   AddressWord  // "" when Prefix is set
	Prefix netip.Prefix // masked
}

// AddressWord is a named set of addresses.
type AddressWord string

// The words that stand for sets of addresses.
const (
	Public  AddressWord = "public"  // neither private nor local nor otherwise reserved
	Private AddressWord = "private" // RFC 1918, RFC 6598, unique local
	Local   AddressWord = "local"   // loopback and link-local
)

// HostPattern matches a host and a port as they were asked for.
type HostPattern struct {
	// Host is a name in lower case (A-labels) or an address without brackets.
	// Empty matches every host.
	Host string
	// Subdomains makes the pattern match the names below Host, at any depth,
	// and not Host itself.
	Subdomains bool
	// Ports are the ports that match; nil: every port.
	Ports []uint16
}

// External is one fixed server.
type External struct {
	Address string // host:port
	HTTP    HTTPOptions
	// TLS is set when the server is spoken to with TLS.
	TLS *TLS
}

// HTTPOptions change what passes through.
type HTTPOptions struct {
	InjectRequestHeaders  []HeaderEdit
	InjectResponseHeaders []HeaderEdit
}

// HeaderEdit sets a header in place of all of its name, or removes them.
type HeaderEdit struct {
	Name   string // lower case
	Value  string
	Remove bool
}

// TLS says which servers are trusted.
type TLS struct {
	// TrustBrowserCas trusts the authorities that the operating system trusts.
	TrustBrowserCas bool
	// TrustedCertificates are PEM files of further authorities, absolute.
	TrustedCertificates []string
	// CertificateHost is the name that the certificate has to be for, empty for
	// the host that was asked for. External services only.
	CertificateHost string
	// MinVersion is tls.VersionTLS12 or tls.VersionTLS13.
	MinVersion uint16
}

// Disk serves the files of a folder, read into memory once.
type Disk struct {
	Path          string // absolute
	AllowDotfiles bool
	Index         string // the file that answers for a folder; empty: none
	MaxSize       int64  // bytes of all files together
}

// Socket is one listening address.
type Socket struct {
	Name  string
	Field string // such as "sockets.http"
	// Address is host:port, with an empty host for every address of the machine.
	Address string
	// Routes are tried in order. Never empty: a socket with one service has one
	// route that matches everything.
	Routes []Route
	HTTP   SocketHTTP
}

// Route sends what matches Host and Path to a service.
type Route struct {
	// Host is "shop.example.com", "*.example.com" for the names below it at any
	// depth, or empty for every host. Lower case, no port.
	Host string
	// Path is a prefix of whole segments: "/api" matches "/api" and what is below
	// "/api/"; "/api/" only what is below. Empty matches every path.
	Path       string
	Service    string
	Entrypoint string // a worker's export, empty for the default
	Field      string // such as "sockets.http.routes[0]"
}

// SocketHTTP bounds what a client may do.
type SocketHTTP struct {
	HeaderSize     int64         // bytes of a request's head
	BodySize       int64         // bytes of a request's body
	HeaderTimeout  time.Duration // to read a request's head
	BodyTimeout    time.Duration // to read a request's body
	IdleTimeout    time.Duration // of a connection between two requests
	MaxConnections int           // connections that are open at the same time
}

// Admin is the listener of /healthz and /readyz.
type Admin struct {
	// Address is host:port, empty when there is no such listener.
	Address string
	// Default reports that the configuration names no address. A default address
	// that is taken is no mistake: a free port of the loopback takes its place, so
	// that two servers run on one machine.
	Default bool
}

// Server holds what concerns the process as a whole.
type Server struct {
	MaxIsolates     int           // live isolates in the process
	WarmIsolates    int           // isolates kept ready for workers that start
	DrainTimeout    time.Duration // what requests get to finish at a reload or stop
	WasmTrapHandler bool          // fast bounds checks for trusted Wasm
}

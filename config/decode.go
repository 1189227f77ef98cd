package config

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"cuelang.org/go/cue"
)

// decode reads the whole configuration and checks what the schema cannot:
// references, files, patterns. It goes on after a mistake.
func (l *loader) decode(root node) *Config {
	cfg := &Config{Services: map[string]*Service{}, Sockets: map[string]*Socket{}}
	services, _ := root.field("services")
	for _, n := range services.fields() {
		l.services = append(l.services, n.name())
	}
	slices.Sort(l.services)
	common, _ := root.field("limits")
	for _, n := range services.fields() {
		cfg.Services[n.name()] = l.service(n, common)
	}
	if services.v.Exists() && len(l.services) == 0 && services.v.IncompleteKind() == cue.StructKind {
		services.mistake("there is no service", `such as services: hello: worker: main: "hello.js"`)
	}
	l.checkCycles()
	sockets, _ := root.field("sockets")
	for _, n := range sockets.fields() {
		cfg.Sockets[n.name()] = l.socket(n)
	}
	if sockets.v.Exists() && len(cfg.Sockets) == 0 && sockets.v.IncompleteKind() == cue.StructKind {
		sockets.mistake("there is no socket, nothing would listen", `such as sockets: http: {address: "127.0.0.1:8080", service: "hello"}`)
	}
	admin, given := root.field("admin")
	cfg.Admin = l.admin(admin, given)
	l.checkAddresses(root)
	server, _ := root.field("server")
	cfg.Server = Server{
		MaxIsolates: server.number("maxIsolates"), WarmIsolates: server.number("warmIsolates"),
		DrainTimeout: server.duration("drainTimeout"), WasmTrapHandler: server.flag("wasmTrapHandler", false),
	}
	return cfg
}

func (l *loader) service(n node, limits node) *Service {
	s := &Service{Name: n.name(), Field: n.path()}
	if s.Name == "" {
		n.mistake("the name of a service is empty", "")
	}
	u, ok := n.only("a service")
	if !ok {
		return s
	}
	switch u.name() {
	case "worker":
		s.Worker = l.worker(s.Name, u, limits)
	case "network":
		s.Network = l.network(u)
	case "external":
		s.External = l.external(u)
	case "disk":
		s.Disk = l.disk(u)
	}
	return s
}

func (l *loader) worker(name string, n node, common node) *Worker {
	w := &Worker{Bindings: map[string]Binding{}, CompatibilityDate: n.text("compatibilityDate", "")}
	modules, hasModules := n.field("modules")
	main, hasMain := n.field("main")
	if hasModules {
		w.Modules = l.modules(modules)
		w.Main = n.text("main", "")
		known := func(m Module) bool { return m.Name == w.Main && m.Type == ESModule }
		if hasMain && w.Main != "" && len(w.Modules) > 0 && !slices.ContainsFunc(w.Modules, known) {
			var names []string
			for _, m := range w.Modules {
				if m.Type == ESModule {
					names = append(names, m.Name)
				}
			}
			main.mistake(fmt.Sprintf("%q is no esModule of modules", w.Main), suggest(w.Main, names, "there are"))
		}
	} else if hasMain {
		w.Main = main.file()
	}
	if d, ok := n.field("compatibilityDate"); ok && w.CompatibilityDate != "" {
		if _, err := time.Parse(time.DateOnly, w.CompatibilityDate); err != nil {
			d.mistake(fmt.Sprintf("bad date %q", w.CompatibilityDate), `write year, month and day: "2026-11-01"`)
		}
	}
	bindings, _ := n.field("bindings")
	for _, b := range bindings.fields() {
		if bound, ok := l.binding(name, b); ok {
			w.Bindings[b.name()] = bound
		}
	}
	if out, ok := n.field("globalOutbound"); ok {
		w.GlobalOutbound = n.text("globalOutbound", "")
		l.use(name, w.GlobalOutbound, out)
	}
	limits, _ := n.field("limits")
	w.Limits = decodeLimits(limits, common)
	return w
}

func (l *loader) modules(n node) []Module {
	var ms []Module
	for _, m := range n.fields() {
		if u, ok := m.only("a module"); ok {
			ms = append(ms, Module{Name: m.name(), Type: ModuleType(u.name()), File: u.watched()})
		}
	}
	if len(ms) == 0 && n.v.IncompleteKind() == cue.StructKind && len(n.fields()) == 0 {
		n.mistake("there is no module", `such as modules: "main.js": esModule: "main.js"; leave modules out to have main bundled`)
	}
	slices.SortFunc(ms, func(a, b Module) int { return strings.Compare(a.Name, b.Name) })
	return ms
}

// decodeLimits reads a worker's limits; each that it does not state is taken
// from those of all workers, then from the schema.
func decodeLimits(own, common node) Limits {
	from := func(name string) node {
		if _, ok := own.field(name); ok {
			return own
		}
		return common
	}
	d := func(name string) time.Duration { return from(name).duration(name) }
	b := func(name string) int64 { return from(name).size(name) }
	i := func(name string) int { return from(name).number(name) }
	return Limits{
		CPU: d("cpu"), StartupCPU: d("startupCpu"), StartupWall: d("startupWall"), FirstByte: d("firstByte"), Wall: d("wall"), Idle: d("idle"),
		Memory: b("memory"), Buffers: b("buffers"),
		Concurrency: i("concurrency"), Queue: i("queue"), Subrequests: i("subrequests"), LogBytes: b("log"),
	}
}

func (l *loader) network(n node) *Network {
	w := &Network{TLS: *l.tls(n, "tls", "")}
	w.Allow = l.addressRules(n, "allow")
	if _, ok := n.field("allow"); !ok {
		w.Allow = []AddressRule{{Word: Public}}
	}
	w.Deny = l.addressRules(n, "deny")
	if allow, ok := n.field("allow"); ok && len(allow.elements()) == 0 && allow.v.IncompleteKind() == cue.ListKind {
		allow.mistake("nothing is allowed", `leave it out for ["public"]; for no network at all, leave globalOutbound out`)
	}
	hosts, given := n.field("hosts")
	for _, h := range hosts.elements() {
		s, err := h.v.String()
		if err != nil {
			continue
		}
		p, err := parseHostPattern(s)
		if err != nil {
			h.bad(err)
			continue
		}
		w.Hosts = append(w.Hosts, p)
	}
	if given && len(hosts.elements()) == 0 && hosts.v.IncompleteKind() == cue.ListKind {
		hosts.mistake("no host is allowed", `leave it out for every host; for no network at all, leave globalOutbound out`)
	}
	return w
}

func (l *loader) addressRules(n node, name string) []AddressRule {
	list, _ := n.field(name)
	var rules []AddressRule
	for _, e := range list.elements() {
		s, err := e.v.String()
		if err != nil {
			continue
		}
		r, err := parseAddressRule(s)
		if err != nil {
			e.bad(err)
			continue
		}
		rules = append(rules, r)
	}
	return rules
}

func (l *loader) external(n node) *External {
	x := &External{}
	port := uint16(80)
	if _, ok := n.field("tls"); ok {
		port = 443
	}
	if a, ok := n.field("address"); ok {
		if s, err := a.v.String(); err == nil {
			addr, err := parseDialAddress(s, port)
			if err != nil {
				a.bad(err)
			}
			x.Address = addr
		}
	}
	if _, ok := n.field("tls"); ok {
		x.TLS = l.tls(n, "tls", "certificateHost")
	}
	http, _ := n.field("http")
	x.HTTP = HTTPOptions{
		InjectRequestHeaders:  l.headerEdits(http, "injectRequestHeaders"),
		InjectResponseHeaders: l.headerEdits(http, "injectResponseHeaders"),
	}
	return x
}

// framing are the headers that describe the message on the wire, which the
// server writes itself.
var framing = []string{"connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}

func (l *loader) headerEdits(n node, field string) []HeaderEdit {
	var edits []HeaderEdit
	seen := map[string]bool{}
	list, _ := n.field(field)
	for _, h := range list.fields() {
		name := strings.ToLower(h.name())
		e := HeaderEdit{Name: name, Remove: h.v.IncompleteKind() == cue.NullKind}
		e.Value, _ = h.v.String() // another type was reported
		e.Value = strings.Trim(e.Value, " \t")
		switch {
		case !isToken(name):
			h.mistakeAt(h.v.Pos(), fmt.Sprintf("%q is no name of a header", h.name()), `such as "x-edge": "1"`)
		case slices.Contains(framing, name):
			h.mistakeAt(h.v.Pos(), fmt.Sprintf("%q is written by the server itself", h.name()), "leave it out")
		case seen[name]:
			h.mistakeAt(h.v.Pos(), fmt.Sprintf("header %q is given twice in different case", h.name()), "keep one")
		case strings.ContainsAny(e.Value, "\x00\r\n"):
			h.mistake("the value of a header has no line breaks and no NUL", "")
		case strings.ContainsFunc(e.Value, func(r rune) bool { return r > 0xff }):
			h.mistake("the value of a header is Latin-1", "encode it, for example in percent-encoding")
		}
		seen[name] = true
		edits = append(edits, e)
	}
	slices.SortFunc(edits, func(a, b HeaderEdit) int { return strings.Compare(a.Name, b.Name) })
	return edits
}

// isToken reports whether s is a token of HTTP, which the names of headers are.
func isToken(s string) bool {
	return s != "" && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// tls reads whom to trust. hostField is the field for the certificate's name,
// empty where the name is that which was asked for.
func (l *loader) tls(n node, field, hostField string) *TLS {
	f, _ := n.field(field)
	t := &TLS{TrustBrowserCas: f.flag("trustBrowserCas", true), MinVersion: tls.VersionTLS12}
	if f.text("minVersion", "1.2") == "1.3" {
		t.MinVersion = tls.VersionTLS13
	}
	certs, _ := f.field("trustedCertificates")
	for _, c := range certs.elements() {
		t.TrustedCertificates = append(t.TrustedCertificates, c.watched())
	}
	if !t.TrustBrowserCas && len(certs.elements()) == 0 {
		f.mistake("nobody is trusted", "name trustedCertificates, or leave trustBrowserCas out")
	}
	host, given := f.field("certificateHost")
	switch s, err := host.v.String(); {
	case !given || err != nil:
	case hostField == "":
		host.mistakeAt(host.v.Pos(), "a network's certificates are for the host that was asked for", "leave it out")
	default:
		if t.CertificateHost, err = parseHost(s, s, "host", `such as "api.internal"`); err != nil {
			host.bad(err)
		}
	}
	return t
}

func (l *loader) disk(n node) *Disk {
	d := &Disk{AllowDotfiles: n.flag("allowDotfiles", false), Index: n.text("index", "index.html"), MaxSize: n.size("maxSize")}
	if p, ok := n.field("path"); ok {
		d.Path = p.folder()
	}
	if i, ok := n.field("index"); ok && (strings.ContainsAny(d.Index, `/\`) || d.Index == "." || d.Index == "..") {
		i.mistake(fmt.Sprintf("%q is no name of a file", d.Index), `such as "index.html", or "" for none`)
	}
	return d
}

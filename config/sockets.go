package config

import (
	"fmt"
	"net/netip"
	"strings"

	"cuelang.org/go/cue"
)

// defaultAdmin is the address of the admin listener when none is written.
const defaultAdmin = "127.0.0.1:9090"

func (l *loader) socket(n node) *Socket {
	s := &Socket{Name: n.name(), Field: n.path()}
	if a, ok := n.field("address"); ok {
		s.Address = l.listenAddress(a)
	}
	http, _ := n.field("http")
	s.HTTP = SocketHTTP{
		HeaderSize: http.size("headerSize"), BodySize: http.size("bodySize"),
		HeaderTimeout: http.duration("headerTimeout"), BodyTimeout: http.duration("bodyTimeout"),
		IdleTimeout: http.duration("idleTimeout"), MaxConnections: http.number("maxConnections"),
	}
	service, hasService := n.field("service")
	routes, hasRoutes := n.field("routes")
	switch {
	case hasService && hasRoutes:
		service.mistakeAt(service.v.Pos(), "a socket has a service or routes, this has both", "for the requests that no route matches, add {service: ...} as the last route")
	case hasService:
		name := n.text("service", "")
		l.served(service)
		s.Routes = []Route{{Service: name, Field: service.path()}}
	case hasRoutes:
		s.Routes = l.routes(routes)
	case n.v.IncompleteKind() == cue.StructKind:
		n.mistake("requests lead nowhere", `add service: "name", or routes: [{host: "...", service: "name"}]`)
	}
	return s
}

// served checks a reference of a socket to a service.
func (l *loader) served(at node) {
	if name, err := at.v.String(); err == nil {
		l.known(name, at)
	}
}

func (l *loader) routes(n node) []Route {
	elems := n.elements()
	if len(elems) == 0 && n.v.IncompleteKind() == cue.ListKind {
		n.mistake("there is no route", `such as [{service: "hello"}]`)
	}
	var routes []Route
	for _, e := range elems {
		r := Route{Service: e.text("service", ""), Entrypoint: e.text("entrypoint", ""), Field: e.path()}
		sound := e.v.IncompleteKind() == cue.StructKind
		parse := func(name string, p func(string) (string, error)) string {
			f, ok := e.field(name)
			s, err := f.v.String()
			if !ok || err != nil {
				sound = sound && !ok
				return ""
			}
			got, err := p(s)
			if err != nil {
				f.bad(err)
				sound = false
			}
			return got
		}
		r.Host = parse("host", parseRouteHost)
		r.Path = parse("path", parseRoutePath)
		if s, ok := e.field("service"); ok {
			l.served(s)
		}
		if sound {
			for i, before := range routes {
				if before.covers(r) {
					e.mistakeAt(e.v.Pos(), fmt.Sprintf("this route is never reached: routes[%d] takes its requests", i), "put the narrower route first")
					break
				}
			}
		} else {
			// A route with a mistake covers nothing: its pattern is not known.
			r.Host, r.Path = "\x00", "\x00"
		}
		routes = append(routes, r)
	}
	return routes
}

// covers reports whether r matches every request that other matches.
func (r Route) covers(other Route) bool {
	return coversHost(r.Host, other.Host) && coversPath(r.Path, other.Path)
}

func coversHost(a, b string) bool {
	if a == "" || a == b {
		return true
	}
	suffix, ok := strings.CutPrefix(a, "*")
	return ok && strings.HasSuffix(strings.TrimPrefix(b, "*"), suffix) && strings.TrimPrefix(b, "*") != suffix
}

func coversPath(a, b string) bool {
	switch {
	case a == "" || a == b:
		return true
	case strings.HasSuffix(a, "/"):
		return strings.HasPrefix(b, a)
	}
	return strings.HasPrefix(b, a+"/")
}

func (l *loader) admin(n node, given bool) Admin {
	a := Admin{Address: defaultAdmin, Default: true}
	f, ok := n.field("address")
	if !given || !ok {
		return a
	}
	if s, err := f.v.String(); err == nil && s == "off" {
		return Admin{}
	}
	return Admin{Address: l.listenAddress(f)}
}

func (l *loader) listenAddress(n node) string {
	s, err := n.v.String()
	if err != nil {
		return ""
	}
	addr, err := parseListenAddress(s)
	if err != nil {
		n.bad(err)
	}
	return addr
}

// checkAddresses reports sockets, the admin listener among them, that would
// listen on one address.
func (l *loader) checkAddresses(root node) {
	type listener struct {
		path, addr string
	}
	var seen []listener
	check := func(n node) {
		f, ok := n.field("address")
		s, err := f.v.String()
		if !ok || err != nil {
			return
		}
		addr, err := parseListenAddress(s)
		if err != nil {
			return
		}
		for _, o := range seen {
			if overlap(o.addr, addr) {
				f.mistake(fmt.Sprintf("%s listens on %s already", o.path, shownAddress(o.addr)), "give it a port of its own")
				break
			}
		}
		seen = append(seen, listener{path: n.path(), addr: addr})
	}
	sockets, _ := root.field("sockets")
	for _, n := range sockets.fields() {
		check(n)
	}
	if admin, ok := root.field("admin"); ok {
		check(admin)
	}
}

// overlap reports whether two normal addresses cannot both be listened on.
func overlap(a, b string) bool {
	i, j := strings.LastIndexByte(a, ':'), strings.LastIndexByte(b, ':')
	if a[i:] != b[j:] || a[i:] == ":0" {
		return false
	}
	a, b = a[:i], b[:j]
	const every4 = "0.0.0.0"
	if a == every4 && strings.HasPrefix(b, "[") || b == every4 && strings.HasPrefix(a, "[") {
		return false
	}
	return a == b || everyAddress(a) || everyAddress(b)
}

func everyAddress(host string) bool {
	if host == "" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsUnspecified()
}

func shownAddress(addr string) string {
	if strings.HasPrefix(addr, ":") {
		return `"*` + addr + `"`
	}
	return `"` + addr + `"`
}

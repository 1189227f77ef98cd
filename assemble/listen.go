package assemble

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/edge-runtime/edge/config"
	edgenet "github.com/edge-runtime/edge/net"
	"github.com/edge-runtime/edge/net/fetch"
)

// socket is a listening address with the server behind it. The listener stays
// open as long as generations name the address; the server is replaced when the
// bounds for clients change.
type socket struct {
	app    *App
	name   string
	key    string
	ln     *sharedListener
	http   config.SocketHTTP
	server *edgenet.Server
	lease  net.Listener  // the server's
	served chan struct{} // closed when the server accepts no more
}

// socketKey tells sockets apart. Addresses that take a free port are told apart
// by name.
func socketKey(s *config.Socket) string {
	if strings.HasSuffix(s.Address, ":0") {
		return s.Address + " " + s.Name
	}
	return s.Address
}

// socketHandler routes by the generation that serves.
type socketHandler struct {
	app *App
	key string
}

// Match implements edgenet.Handler.
func (h socketHandler) Match(host, path string) *edgenet.Route {
	g := h.app.cur.Load()
	if g == nil {
		return nil
	}
	r := g.routers[h.key]
	if r == nil {
		return nil
	}
	return r.Match(host, path)
}

// target returns the host, as routes see it, and the path of an absolute URL.
func target(url string) (host, path string) {
	_, rest, _ := strings.Cut(url, "://")
	host, path = rest, "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	path, _, _ = strings.Cut(path, "?")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	return host, path
}

// routes makes the routers of a generation.
func (a *App) routes(next *built) error {
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(next.gen.cfg.Sockets)) {
		s := next.gen.cfg.Sockets[name]
		key := socketKey(s)
		list := make([]edgenet.Route, len(s.Routes))
		for i, r := range s.Routes {
			f, err := next.gen.service(r.Service, r.Entrypoint)
			if err != nil {
				problems = append(problems, Problem{Field: r.Field, Text: err.Error()})
				continue
			}
			list[i] = edgenet.Route{Host: r.Host, Path: r.Path, Service: r.Service,
				Fetcher: &routeFetcher{app: a, gen: next.gen, socketKey: key, fetcher: f}}
		}
		if len(problems) > 0 {
			continue
		}
		router, err := edgenet.NewRouter(list)
		if err != nil {
			problems = append(problems, Problem{Field: s.Field, Text: err.Error()})
			continue
		}
		next.gen.routers[key] = router
	}
	return asError(problems)
}

// openSockets binds the addresses that are not bound yet. Nothing is accepted
// from them before commit.
func (a *App) openSockets(next *built, undo *undoList) error {
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(next.gen.cfg.Sockets)) {
		s := next.gen.cfg.Sockets[name]
		key := socketKey(s)
		if a.sockets[key] != nil {
			continue
		}
		ln, err := net.Listen("tcp", s.Address)
		if err != nil {
			problems = append(problems, Problem{Field: s.Field + ".address", Text: a.listenProblem(s.Address, err)})
			continue
		}
		undo.add(ln.Close)
		next.newSockets[key] = &socket{app: a, key: key, ln: share(ln)}
	}
	if adm := next.gen.cfg.Admin; a.admin == nil || a.admin.asked != adm.Address {
		opened, err := a.openAdmin(adm)
		if err != nil {
			problems = append(problems, Problem{Field: "admin.address", Text: a.listenProblem(adm.Address, err)})
		} else if opened != nil {
			undo.add(opened.ln.Close)
			next.newAdmin = opened
		}
	}
	return asError(problems)
}

// listenProblem says why an address cannot be listened on and what would work.
func (a *App) listenProblem(address string, err error) string {
	text := fmt.Sprintf("listen on %s: %v", address, plainListen(err))
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && a.cur.Load() != nil:
		text += " (stop the program that has it, or name another port; an address that overlaps with one this server already has can change at a restart only; ss -ltnp shows who listens)"
	case errors.Is(err, syscall.EADDRINUSE):
		text += " (stop the program that has it, or name another port, such as " + otherPort(address) + "; ss -ltnp shows who listens)"
	case errors.Is(err, syscall.EACCES):
		text += " (ports below 1024 need a privilege: name a higher one, or grant the binary CAP_NET_BIND_SERVICE)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		text += ` (the machine has no such address: "*" listens on all that it has)`
	}
	return text
}

// plainListen returns the cause without the address, which stands before it.
func plainListen(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "the address is in use"
	case errors.Is(err, syscall.EACCES):
		return "permission denied"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "the address is not available"
	}
	var oe *net.OpError
	if errors.As(err, &oe) {
		return oe.Err.Error()
	}
	return err.Error()
}

// otherPort returns the address with the next port.
func otherPort(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "0"
	}
	n, err := net.LookupPort("tcp", port)
	if err != nil || n >= 65535 {
		return net.JoinHostPort(host, "0")
	}
	return net.JoinHostPort(host, fmt.Sprint(n+1))
}

// commitSockets begins to serve on new addresses, replaces servers whose bounds
// changed and lets those drain that the configuration names no more.
func (a *App) commitSockets(next *built, report *Report) {
	cfg := next.gen.cfg
	wanted := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(cfg.Sockets)) {
		c := cfg.Sockets[name]
		key := socketKey(c)
		wanted[key] = true
		s := a.sockets[key]
		if s == nil {
			s = next.newSockets[key]
			a.sockets[key] = s
		}
		if err := s.serve(c); err != nil {
			// What is needed for it, a descriptor, may be there at the next reload.
			a.log.Error("serve socket", "socket", c.Name, "error", err)
		}
		report.Addresses = append(report.Addresses, Address{Socket: c.Name, Address: s.ln.real.Addr().String(), New: next.newSockets[key] != nil})
	}
	for key, s := range a.sockets {
		if wanted[key] {
			continue
		}
		delete(a.sockets, key)
		a.later(s.drain, cfg)
	}
	a.commitAdmin(next, report)
}

// later drains something in the background, with the configured deadline.
func (a *App) later(drain func(context.Context) error, cfg *config.Config) {
	a.drains.Add(1)
	go func() {
		defer a.drains.Done()
		ctx, cancel := context.WithTimeout(a.draining, cfg.Server.DrainTimeout)
		defer cancel()
		if err := drain(ctx); err != nil {
			a.log.Warn("drain", "error", err)
		}
	}()
}

// serve makes the server for a configuration of the socket, unless the one that
// runs will do.
func (s *socket) serve(c *config.Socket) error {
	if s.server != nil && s.http == c.HTTP && s.name == c.Name {
		return nil
	}
	srv, err := edgenet.NewServer(edgenet.ServerConfig{
		Socket: c.Name, Handler: socketHandler{s.app, s.key},
		MaxHeaderBytes: int(c.HTTP.HeaderSize), MaxBodyBytes: c.HTTP.BodySize, MaxConns: c.HTTP.MaxConnections,
		HeaderTimeout: c.HTTP.HeaderTimeout, BodyTimeout: c.HTTP.BodyTimeout, IdleTimeout: c.HTTP.IdleTimeout,
		Log: s.app.opts.Access, ErrorPage: s.app.opts.ErrorPage, Logger: s.app.log,
	})
	if err != nil {
		return err
	}
	old, oldLease, oldServed := s.server, s.lease, s.served
	lease, served := s.ln.lease(), make(chan struct{})
	s.server, s.lease, s.served, s.http, s.name = srv, lease, served, c.HTTP, c.Name
	go func() {
		defer close(served)
		if err := srv.Serve(lease); err != nil && !errors.Is(err, net.ErrClosed) {
			s.app.log.Error("serve socket", "socket", c.Name, "error", err)
		}
	}()
	if old != nil {
		_ = oldLease.Close() // a lease that has ended is no error
		<-oldServed
		s.app.retireServer(old)
	}
	return nil
}

// retireServer lets the connections of a server that was replaced end, in their
// own time unless the App stops.
func (a *App) retireServer(old *edgenet.Server) {
	a.drains.Add(1)
	go func() {
		defer a.drains.Done()
		defer context.AfterFunc(a.loading, func() {
			// Retire returns when this has closed the connections.
			_ = old.Drain(a.draining)
		})()
		if err := old.Retire(a.draining); err != nil {
			a.log.Warn("retire server", "error", err)
		}
	}()
}

// drain stops listening and lets requests finish.
func (s *socket) drain(ctx context.Context) error {
	err := s.ln.close()
	if s.server == nil {
		return err
	}
	if drainErr := s.server.Drain(ctx); drainErr != nil {
		err = errors.Join(err, fmt.Errorf("socket %q: %w", s.name, drainErr))
	}
	return err
}

// sharedListener lets servers follow each other on one listening socket: each
// has a lease, and closing that leaves the socket open.
type sharedListener struct {
	real  net.Listener
	conns chan net.Conn
	done  chan struct{} // closed by close
	once  sync.Once
	start sync.Once
	err   chan error // holds the error that ended accepting
}

func share(ln net.Listener) *sharedListener {
	return &sharedListener{real: ln, conns: make(chan net.Conn), done: make(chan struct{}), err: make(chan error, 1)}
}

// accept hands connections to whoever has a lease.
func (l *sharedListener) accept() {
	for {
		conn, err := l.real.Accept()
		if err != nil {
			var te interface{ Temporary() bool }
			if errors.As(err, &te) && te.Temporary() {
				// The server waits before it asks again.
				select {
				case l.err <- err:
					continue
				case <-l.done:
					return
				}
			}
			l.finish()
			return
		}
		select {
		case l.conns <- conn:
		case <-l.done:
			_ = conn.Close() // nobody is left to serve it
			return
		}
	}
}

func (l *sharedListener) finish() { l.once.Do(func() { close(l.done) }) }

// close closes the socket. Closing twice is harmless.
func (l *sharedListener) close() error {
	l.finish()
	if err := l.real.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close listener %s: %w", l.real.Addr(), err)
	}
	return nil
}

func (l *sharedListener) lease() net.Listener {
	l.start.Do(func() { go l.accept() })
	return &lease{shared: l, done: make(chan struct{})}
}

// lease implements net.Listener.
type lease struct {
	shared *sharedListener
	done   chan struct{}
	once   sync.Once
}

// Accept waits for a connection.
func (l *lease) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case conn := <-l.shared.conns:
		return conn, nil
	case err := <-l.shared.err:
		return nil, err
	case <-l.done:
	case <-l.shared.done:
	}
	return nil, net.ErrClosed
}

// Close ends the lease.
func (l *lease) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns the socket's address.
func (l *lease) Addr() net.Addr { return l.shared.real.Addr() }

// admin is the listener of /healthz and /readyz.
type admin struct {
	asked       string // the address of the configuration
	substituted bool   // another port took the place of a default that was taken
	ln          net.Listener
	server      *edgenet.Server
}

// openAdmin binds the admin listener; nil when there is none.
func (a *App) openAdmin(c config.Admin) (*admin, error) {
	if c.Address == "" {
		return nil, nil
	}
	adm := &admin{asked: c.Address}
	var err error
	adm.ln, err = net.Listen("tcp", c.Address)
	if errors.Is(err, syscall.EADDRINUSE) && c.Default {
		adm.substituted = true
		adm.ln, err = net.Listen("tcp", "127.0.0.1:0")
	}
	return adm, err
}

// commitAdmin begins to serve the admin listener and closes the one before.
func (a *App) commitAdmin(next *built, report *Report) {
	cfg := next.gen.cfg.Admin
	old := a.admin
	switch {
	case next.newAdmin != nil:
		a.admin = next.newAdmin
		if err := a.admin.serve(a); err != nil {
			a.log.Error("serve admin listener", "error", err)
		}
	case cfg.Address == "":
		a.admin = nil
	}
	if old != nil && old != a.admin {
		old.close()
	}
	if a.admin != nil {
		report.Admin, report.AdminSubstituted = a.admin.ln.Addr().String(), a.admin.substituted
	}
}

var errNotReady = errors.New("no configuration is served")

func (adm *admin) serve(a *App) error {
	handler := edgenet.NewAdmin(edgenet.AdminOptions{
		Ready: func() error {
			if !a.Ready() {
				return errNotReady
			}
			return nil
		},
		AllowRemote: edgenet.CheckAdminAddr(adm.asked, false) != nil,
	})
	srv, err := edgenet.NewServer(edgenet.ServerConfig{
		Socket: "admin", Handler: everything{&edgenet.Route{Service: "admin", Fetcher: handler}},
		MaxConns: 100, MaxBodyBytes: 1 << 10, Logger: a.log,
	})
	if err != nil {
		return err
	}
	adm.server = srv
	go func() {
		if err := srv.Serve(adm.ln); err != nil {
			a.log.Error("serve admin listener", "error", err)
		}
	}()
	return nil
}

func (adm *admin) close() {
	if adm.server != nil {
		adm.server.Close()
	} else {
		_ = adm.ln.Close() // it served nobody
	}
}

// everything routes all requests to one service.
type everything struct{ route *edgenet.Route }

// Match implements edgenet.Handler.
func (e everything) Match(string, string) *edgenet.Route { return e.route }

var _ fetch.Fetcher = fetch.FetcherFunc(nil)

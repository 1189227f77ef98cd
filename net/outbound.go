package edgenet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

// OutboundLimits bound what one outbound service takes. A field left at zero
// takes the default that its comment names; there is no unlimited.
type OutboundLimits struct {
	// MaxConns bounds the open connections, idle ones included; requests beyond
	// it wait, within ConnectTimeout. 1024.
	MaxConns int
	// MaxIdlePerHost bounds the idle connections that are kept to one host. 64.
	MaxIdlePerHost int
	// IdleTimeout is how long an idle connection is kept. 60 s.
	IdleTimeout time.Duration
	// ConnectTimeout bounds the wait for a connection: a free place, the name
	// lookup, all attempts to connect, and TLS. 10 s.
	ConnectTimeout time.Duration
	// ResponseHeaderTimeout bounds the time from the end of a request to the end
	// of the response's head, interim responses included. 5 min.
	ResponseHeaderTimeout time.Duration
	// WriteTimeout is how long a server may take for a piece of a request, of at
	// most 32 KiB. 60 s.
	WriteTimeout time.Duration
	// MaxResponseHeaderBytes bounds the head of a response together with the
	// interim responses before it, and the trailers. 128 KiB.
	MaxResponseHeaderBytes int
}

func (l *OutboundLimits) fill() {
	l.MaxConns = orDefault(l.MaxConns, 1024)
	l.MaxIdlePerHost = orDefault(l.MaxIdlePerHost, 64)
	l.IdleTimeout = orDefault(l.IdleTimeout, time.Minute)
	l.ConnectTimeout = orDefault(l.ConnectTimeout, 10*time.Second)
	l.ResponseHeaderTimeout = orDefault(l.ResponseHeaderTimeout, 5*time.Minute)
	l.WriteTimeout = orDefault(l.WriteTimeout, time.Minute)
	l.MaxResponseHeaderBytes = orDefault(l.MaxResponseHeaderBytes, 128<<10)
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// TLS says which servers are trusted. The zero value trusts none.
type TLS struct {
	// TrustBrowserCas trusts the authorities that the operating system trusts.
	TrustBrowserCas bool
	// TrustedCertificates are PEM files of further authorities.
	TrustedCertificates []string
	// CertificateHost is the name that the certificate has to be for, empty for
	// the host that is connected to. External services only.
	CertificateHost string
	// MinVersion is tls.VersionTLS12, the default, or tls.VersionTLS13.
	MinVersion uint16
}

// config builds what crypto/tls wants. The cache of sessions lies in it, so that
// no two services share one.
func (t TLS) config() (*tls.Config, error) {
	roots := x509.NewCertPool()
	if t.TrustBrowserCas {
		var err error
		if roots, err = x509.SystemCertPool(); err != nil {
			return nil, fmt.Errorf("load the authorities of the system: %w", err)
		}
	}
	var errs []error
	for _, path := range t.TrustedCertificates {
		pem, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("read trusted certificates: %w", err))
		} else if !roots.AppendCertsFromPEM(pem) {
			errs = append(errs, fmt.Errorf("read trusted certificates: %s holds no PEM certificate", path))
		}
	}
	if t.MinVersion != 0 && t.MinVersion != tls.VersionTLS12 && t.MinVersion != tls.VersionTLS13 {
		errs = append(errs, fmt.Errorf("unknown TLS version %#04x (there are TLS 1.2 and 1.3)", t.MinVersion))
	}
	return &tls.Config{
		RootCAs:            roots,
		ServerName:         t.CertificateHost,
		MinVersion:         max(t.MinVersion, tls.VersionTLS12),
		NextProtos:         []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(64),
	}, errors.Join(errs...)
}

// Resolver looks up the addresses of a name; *net.Resolver is one. network is
// "ip".
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DialFunc connects to "address:port". It must return when ctx ends.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// outbound is the HTTP/1.1 client of one outbound service. Its connections are
// never shared with another service, whose policy may differ.
//
// It is no net/http.Transport because that keeps neither the order of header
// fields nor the text of a status line, and costs two goroutines for each
// connection; and not fasthttp's client because that cannot be canceled within a
// body and does not read a response before it has sent the request.
type outbound struct {
	limits OutboundLimits
	tls    *tls.Config
	dialer dialer
	pool   *connPool
	// fail makes the error that the caller of Fetch gets: msg is its public text,
	// cause goes to the log.
	fail func(msg string, cause error) error
}

// call is one request on its way to a server.
type call struct {
	ctx context.Context
	req *fetch.Request
	to  origin
	// alias is what error texts call to when it must not be named.
	alias string
	// method, host and target are those of the request line and the Host header.
	method, host, target string
	edits                []HeaderEdit
}

// name is what error texts call the server.
func (c *call) name() string {
	if c.alias != "" {
		return c.alias
	}
	return c.to.label()
}

// do runs one call. It closes the request's body when it fails; otherwise the
// response's body does.
func (o *outbound) do(c *call) (*fetch.Response, error) {
	for fresh := false; ; fresh = true {
		conn, err := o.connect(c, fresh)
		if err != nil {
			_ = c.req.Body.Close() // the failure says more
			return nil, err
		}
		h := &hop{o: o, call: c, conn: conn}
		resp, err := h.run()
		if err == nil {
			return resp, nil
		}
		// The server may have closed the connection while it was idle, without
		// having seen the request.
		if !conn.reused || !h.lost || !replayable(c.req) || c.ctx.Err() != nil {
			_ = c.req.Body.Close() // the failure says more
			return nil, err
		}
	}
}

// replayable reports whether a request may be sent twice (RFC 9110, 9.2.2).
func replayable(req *fetch.Request) bool {
	switch req.Method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return req.Body == nil || req.Body.Reader == nil
	}
	return false
}

// connect returns a connection for a call: an idle one, unless fresh is set, or
// a new one.
func (o *outbound) connect(c *call, fresh bool) (*outConn, error) {
	if !fresh {
		if conn := o.pool.take(c.to); conn != nil {
			return conn, nil
		}
	}
	ctx, cancel := context.WithTimeout(c.ctx, o.limits.ConnectTimeout)
	defer cancel()
	conn, err := o.pool.wait(ctx, c.to, fresh)
	if err != nil {
		if c.ctx.Err() != nil {
			return nil, contextError(c.ctx)
		}
		return nil, o.fail(fmt.Sprintf("connect to %s: too many connections are open (%d)", c.name(), o.limits.MaxConns), err)
	}
	if conn != nil {
		return conn, nil
	}
	conn, err = o.dial(ctx, c)
	if err != nil {
		o.pool.free()
		var refused *refusal
		switch {
		case c.ctx.Err() != nil:
			return nil, contextError(c.ctx)
		case errors.As(err, &refused):
			return nil, err
		}
		return nil, o.fail(fmt.Sprintf("connect to %s: %s", c.name(), reason(err)), err)
	}
	conn.key, conn.pool = c.to, o.pool
	return conn, nil
}

// dial opens a connection, with TLS where the origin asks for it.
func (o *outbound) dial(ctx context.Context, c *call) (*outConn, error) {
	raw, err := o.dialer.connect(ctx, c.to.host, c.to.port)
	if err != nil {
		return nil, err
	}
	conn := &outConn{Conn: raw, raw: raw}
	if sc, ok := raw.(syscall.Conn); ok {
		conn.sys, _ = sc.SyscallConn() // without it, what is pending is not seen
	}
	if c.to.tls {
		cfg := o.tls
		if cfg.ServerName == "" {
			cfg = cfg.Clone()
			cfg.ServerName = c.to.host
		}
		secure := tls.Client(raw, cfg)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // the handshake's error says more
			return nil, &handshakeError{err}
		}
		conn.Conn = secure
	}
	conn.br = newConnReader(conn.Conn)
	return conn, nil
}

// Close closes the idle connections. Those in use close when their response has
// ended. Closing twice is harmless.
func (o *outbound) Close() error {
	o.pool.close()
	return nil
}

// contextError is what a Fetch returns whose context has ended: the context's
// error, with the cause where there is one.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

package edgenet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// ExternalConfig configures an External.
type ExternalConfig struct {
	// Service is the name that the access log shows.
	Service string
	// Address is the server's "host:port".
	Address string
	// TLS is set when the server is spoken to with TLS. The certificate has to be
	// for CertificateHost, or else for the host of Address, whatever host a
	// request names.
	TLS *TLS
	// Host takes the place of the URL's host in the Host header when it is not
	// empty.
	Host string
	// InjectRequestHeaders and InjectResponseHeaders change what passes. An edit of
	// "host" is the same as Host.
	InjectRequestHeaders, InjectResponseHeaders []HeaderEdit
	Limits                                      OutboundLimits
	// Resolver looks the host of Address up, at each connection; nil: the system's.
	Resolver Resolver
	// Dial connects to an address; nil: the system's.
	Dial DialFunc
}

// External is the service of one fixed server. As in workerd, the URL of a
// request says what to ask for and not where: its scheme, host and port lead
// nowhere, but the host and port are sent as the Host header, so that the server
// can tell its sites apart. The address is the operator's word; no policy judges
// it.
type External struct {
	service  string
	to       origin
	host     string
	request  []HeaderEdit
	response []HeaderEdit
	*outbound
}

var _ fetch.Fetcher = (*External)(nil)

// externalName is what public texts call the server: its address is the host's.
const externalName = "the external server"

// NewExternal returns an External. It reads the files of trusted certificates
// and does not connect.
func NewExternal(cfg ExternalConfig) (*External, error) {
	cfg.Limits.fill()
	e := &External{service: cfg.Service, host: cfg.Host, response: cfg.InjectResponseHeaders}
	var errs [4]error
	e.to, errs[0] = parseAddress(cfg.Address)
	for _, edit := range cfg.InjectRequestHeaders {
		if edit.Name != "host" {
			e.request = append(e.request, edit)
		} else if e.host = edit.Value; edit.Remove || !validAuthority(edit.Value) {
			errs[1] = fmt.Errorf("the host header %q cannot be sent", edit.Value)
		}
	}
	if cfg.Host != "" && !validAuthority(cfg.Host) {
		errs[1] = fmt.Errorf("the host header %q cannot be sent", cfg.Host)
	}
	errs[2] = errors.Join(checkEdits(e.request), checkEdits(e.response))
	o := &outbound{limits: cfg.Limits, pool: newConnPool(cfg.Limits), fail: badGateway}
	if cfg.TLS != nil {
		e.to.tls = true
		o.tls, errs[3] = cfg.TLS.config()
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("build external %q: %w", cfg.Service, err)
	}
	o.dialer = newDialer(cfg.Resolver, cfg.Dial, func(netip.Addr) error { return nil })
	e.outbound = o
	return e, nil
}

// parseAddress parses "host:port".
func parseAddress(address string) (origin, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return origin{}, fmt.Errorf("parse address %q: want host:port", address)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 || host == "" {
		return origin{}, fmt.Errorf("parse address %q: want host:port", address)
	}
	return origin{host: canonicalHost(host), port: uint16(n)}, nil
}

func validAuthority(s string) bool {
	host, _, ok := cutPort(s)
	return ok && validHost(host)
}

// checkEdits refuses headers that frame a message or belong to a connection.
func checkEdits(edits []HeaderEdit) error {
	var errs []error
	for i, e := range edits {
		switch {
		case !validToken([]byte(e.Name)) || slices.ContainsFunc([]byte(e.Name), func(c byte) bool { return c >= 'A' && c <= 'Z' }):
			errs = append(errs, fmt.Errorf("%q is no header name in lower case", e.Name))
		case hopByHop(e.Name) || e.Name == "content-length" || e.Name == "expect" || e.Name == "host":
			errs = append(errs, fmt.Errorf("the header %q belongs to the connection and cannot be injected", e.Name))
		case !validFieldValue([]byte(e.Value)):
			errs = append(errs, fmt.Errorf("the value %q of the header %q cannot be sent", e.Value, e.Name))
		case slices.ContainsFunc(edits[:i], func(before HeaderEdit) bool { return before.Name == e.Name }):
			errs = append(errs, fmt.Errorf("the header %q is injected twice", e.Name))
		}
	}
	return errors.Join(errs...)
}

// Fetch makes one request. When the server gives no response, the error is a
// failure with the outcome bad_gateway, whose text names no address: it is the
// answer to a client where the service is a route's own target, and a TypeError
// where a script called.
func (e *External) Fetch(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	req.Trace.SetService(e.service)
	_, authority, target, err := splitURL(req.URL)
	if err == nil {
		err = checkMethod(req.Method)
	}
	if err != nil {
		_ = req.Body.Close() // the refusal says more
		return nil, err
	}
	if e.host != "" {
		authority = e.host
	}
	resp, err := e.do(&call{ctx: ctx, req: req, to: e.to, alias: externalName,
		method: req.Method, host: authority, target: target, edits: e.request})
	if err != nil {
		return nil, err
	}
	for _, edit := range e.response {
		if edit.Remove {
			resp.Header.Del(edit.Name)
		} else {
			resp.Header.Set(edit.Name, edit.Value)
		}
	}
	return resp, nil
}

func badGateway(msg string, cause error) error {
	return &outcome.Failure{Outcome: outcome.BadGateway, Msg: msg, Err: cause}
}

package edgenet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/net/fetch"
)

// NetworkConfig configures a Network.
type NetworkConfig struct {
	// Service is the name that the access log shows.
	Service string
	// Field is the config path that refusals name, such as
	// "services.internet.network".
	Field string
	// Allow and Deny judge the addresses that are connected to. What is denied is
	// not allowed, and without Allow nothing is.
	Allow, Deny []AddressRule
	// Hosts judge the host and port that were asked for; empty: any.
	Hosts []HostPattern
	// TLS says which servers are trusted.
	TLS    TLS
	Limits OutboundLimits
	// Resolver looks names up; nil: the system's.
	Resolver Resolver
	// Dial connects to an address that was judged; nil: the system's, which judges
	// again.
	Dial DialFunc
}

// Network is the service for fetch() to servers that the caller names. Each
// request passes two checks: the host and port of its URL against Hosts, and
// the address that is connected to against Allow and Deny. A redirect is a
// response like any other; who follows it comes through here again. What the
// environment says about proxies is not heard.
type Network struct {
	service string
	field   string
	hosts   hostPolicy
	policy  addressPolicy
	*outbound
}

var _ fetch.Fetcher = (*Network)(nil)

// NewNetwork returns a Network. It reads the files of trusted certificates.
func NewNetwork(cfg NetworkConfig) (*Network, error) {
	cfg.Limits.fill()
	n := &Network{service: cfg.Service, field: cfg.Field}
	if n.field == "" {
		n.field = "network"
	}
	var errs [4]error
	n.policy.allow, errs[0] = newAddressRules(cfg.Allow)
	n.policy.deny, errs[1] = newAddressRules(cfg.Deny)
	n.hosts, errs[2] = newHostPolicy(cfg.Hosts)
	cfg.TLS.CertificateHost = ""
	conf, err := cfg.TLS.config()
	errs[3] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("build network %q: %w", cfg.Service, err)
	}
	n.outbound = &outbound{limits: cfg.Limits, tls: conf, pool: newConnPool(cfg.Limits), fail: n.scriptError}
	n.dialer = newDialer(cfg.Resolver, cfg.Dial, n.judge)
	return n, nil
}

// Fetch makes one request. Its errors are TypeErrors for the script; a refusal
// has the code ERR_NOT_GRANTED and names the field that refuses.
func (n *Network) Fetch(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	req.Trace.SetService(n.service)
	to, authority, target, err := splitURL(req.URL)
	if err == nil {
		err = checkMethod(req.Method)
	}
	if err == nil && !n.hosts.grants(to.host, to.port) {
		err = op.NotGranted(fmt.Sprintf("fetch from %q", to.label()), n.field+".hosts")
	}
	if err != nil {
		_ = req.Body.Close() // the refusal says more
		return nil, err
	}
	resp, err := n.do(&call{ctx: ctx, req: req, to: to, method: req.Method, host: authority, target: target})
	var refused *refusal
	if errors.As(err, &refused) {
		return nil, n.refused(refused, to)
	}
	return resp, err
}

// judge refuses an address that may not be connected to.
func (n *Network) judge(a netip.Addr) error {
	if v := n.policy.judge(a); v != granted {
		return &refusal{verdict: v, addr: a}
	}
	return nil
}

// refused makes a refusal public. It names what was asked for, not the address
// that this has on the host's network.
func (n *Network) refused(r *refusal, to origin) error {
	what := fmt.Sprintf("connect to %q", to.label())
	public := op.NotGranted(what, n.field+".allow")
	if r.verdict == denied {
		public = &op.Error{Class: op.TypeError, Code: public.Code,
			Msg: fmt.Sprintf("%s is not granted: %s.deny in the configuration refuses its address", what, n.field)}
	}
	return fmt.Errorf("%w: %w", public, r)
}

// scriptError makes an error whose text is shown to scripts; cause is for logs.
func (n *Network) scriptError(msg string, cause error) error {
	if distrusted(cause) {
		msg += fmt.Sprintf(" (%s.tls in the configuration says which are)", n.field)
	}
	return fmt.Errorf("%w: %w", op.Errorf(op.TypeError, "%s", msg), cause)
}

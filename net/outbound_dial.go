package edgenet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// attemptDelay is how long a connection attempt may take before the next
// address is tried beside it (RFC 8305, 5).
const attemptDelay = 250 * time.Millisecond

// dialer resolves a name and connects to one of its addresses. What it judges
// is what it connects to: it hands addresses, never names, to dial, so that a
// second answer of the name server changes nothing.
type dialer struct {
	resolver Resolver
	dial     DialFunc
	// judge returns nil for an address that may be connected to.
	judge func(netip.Addr) error
}

// newDialer fills in the system's resolver and dialer. The latter judges again
// the address that the system is about to connect to.
func newDialer(resolver Resolver, dial DialFunc, judge func(netip.Addr) error) dialer {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	if dial == nil {
		system := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return judge(at.Addr())
		}}
		dial = system.DialContext
	}
	return dialer{resolver: resolver, dial: dial, judge: judge}
}

// connect returns a connection to a host that is a name or an address.
func (d *dialer) connect(ctx context.Context, host string, port uint16) (net.Conn, error) {
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var fit []string
	var refused error
	for _, a := range addrs {
		if err := d.judge(a); err != nil {
			refused = err
			continue
		}
		fit = append(fit, net.JoinHostPort(a.Unmap().String(), strconv.Itoa(int(port))))
	}
	switch len(fit) {
	case 0:
		if refused == nil {
			refused = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
		}
		return nil, refused
	case 1:
		return d.dial(ctx, "tcp", fit[0])
	}
	return d.race(ctx, fit)
}

func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	return d.resolver.LookupNetIP(ctx, "ip", host)
}

// race connects to the first of the addresses that answers. Each attempt starts
// when the one before has failed or takes long.
func (d *dialer) race(ctx context.Context, addrs []string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(addrs))
	started, running := 0, 0
	start := func() {
		addr := addrs[started]
		started++
		running++
		go func() {
			conn, err := d.dial(ctx, "tcp", addr)
			results <- result{conn, err}
		}()
	}
	start()
	next := time.NewTimer(attemptDelay)
	defer next.Stop()
	var won net.Conn
	var errs []error
	for running > 0 {
		select {
		case r := <-results:
			running--
			switch {
			case r.err != nil:
				errs = append(errs, r.err)
			case won == nil:
				won = r.conn
				cancel()
			default:
				_ = r.conn.Close() // another attempt won
			}
			if won == nil && started < len(addrs) && ctx.Err() == nil {
				start()
				next.Reset(attemptDelay)
			}
		case <-next.C:
			if won == nil && started < len(addrs) && ctx.Err() == nil {
				start()
				next.Reset(attemptDelay)
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, errors.Join(errs...)
}

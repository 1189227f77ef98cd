package edgenet

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/net/fetch"
)

func TestNetworkRefusals(t *testing.T) {
	t.Parallel()
	p := servePeer(t, answering(okResponse))
	names := &answers{byName: map[string][][]string{
		"here.example":   {{"127.0.0.1"}},
		"six.example":    {{"::1"}},
		"mapped.example": {{"::ffff:127.0.0.1"}},
		"nat64.example":  {{"64:ff9b::10.0.0.1", "64:ff9b::7f00:1"}},
		"inside.example": {{"10.11.12.13", "192.168.7.7"}},
		"link.example":   {{"fe80::1%lo"}},
	}}
	tests := []struct {
		name        string
		allow, deny string
		hosts       []HostPattern
		host        string
		want        string // the refusal; empty: granted
	}{
		{name: "no rule at all", host: "127.0.0.1",
			want: `connect to "127.0.0.1:PORT" is not granted: set services.internet.network.allow in the configuration to allow it`},
		{name: "public is not local", allow: "public", host: "here.example",
			want: `connect to "here.example:PORT" is not granted: set services.internet.network.allow in the configuration to allow it`},
		{name: "private is not local", allow: "private", host: "[::1]",
			want: `connect to "[::1]:PORT" is not granted: set services.internet.network.allow in the configuration to allow it`},
		{name: "IPv6 loopback", allow: "public", host: "six.example", want: "services.internet.network.allow"},
		{name: "mapped loopback", allow: "public", host: "mapped.example", want: "services.internet.network.allow"},
		{name: "mapped loopback as a literal", allow: "public", host: "[::ffff:7f00:1]", want: "services.internet.network.allow"},
		{name: "NAT64", allow: "public", host: "nat64.example", want: "services.internet.network.allow"},
		{name: "link-local with a zone", allow: "public private", host: "link.example", want: "services.internet.network.allow"},
		{name: "the unspecified address", allow: "public", host: "0.0.0.0", want: "services.internet.network.allow"},
		{name: "the metadata server", allow: "public private", host: "169.254.169.254", want: "services.internet.network.allow"},
		{name: "denied", allow: "local", deny: "127.0.0.0/8", host: "here.example",
			want: `connect to "here.example:PORT" is not granted: services.internet.network.deny in the configuration refuses its address`},
		{name: "the host", allow: "local", hosts: []HostPattern{{Host: "there.example"}}, host: "here.example",
			want: `fetch from "here.example:PORT" is not granted: set services.internet.network.hosts in the configuration to allow it`},
		{name: "the port", allow: "local", hosts: []HostPattern{{Host: "here.example", Ports: []uint16{1}}}, host: "here.example",
			want: "services.internet.network.hosts"},
		{name: "a host is judged as it was asked for", allow: "local", hosts: []HostPattern{{Host: "127.0.0.1"}}, host: "here.example",
			want: "services.internet.network.hosts"},
		{name: "a granted host needs a granted address", allow: "public", hosts: []HostPattern{{Host: "here.example"}}, host: "here.example",
			want: "services.internet.network.allow"},
		{name: "an inside name", allow: "public", host: "inside.example", want: "services.internet.network.allow"},

		{name: "local", allow: "local", host: "here.example"},
		{name: "capitals and a final dot", allow: "local", hosts: []HostPattern{{Host: "here.example"}}, host: "HERE.example."},
		{name: "a mapped literal", allow: "127.0.0.1", host: "[::ffff:127.0.0.1]"},
		{name: "below a name", allow: "local", hosts: []HostPattern{{Host: "example", Subdomains: true}}, host: "here.example"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := reach(t, resolving(names), func(c *NetworkConfig) {
				c.Allow, c.Deny = addressRuleList(strings.Fields(tt.allow)...), addressRuleList(strings.Fields(tt.deny)...)
				c.Hosts = tt.hosts
			})
			url := "http://" + tt.host + port(p.addr) + "/"
			if tt.want == "" {
				fine(t, n, url)
				return
			}
			body, w := newPipeBody()
			_, err := n.Fetch(t.Context(), &fetch.Request{Method: "POST", URL: url, Body: fetch.StreamBody(body, -1)})
			text := scriptText(t, err)
			if want := strings.ReplaceAll(tt.want, ":PORT", port(p.addr)); !strings.Contains(text, want) {
				t.Errorf("error is %q, want %q in it", text, want)
			}
			if public := op.Public(err); public.Code != "ERR_NOT_GRANTED" {
				t.Errorf("code is %q", public.Code)
			}
			for _, secret := range []string{"10.11", "192.168", "fe80", "64:ff9b"} {
				if strings.Contains(text, secret) {
					t.Errorf("%q tells the script what the name resolves to", text)
				}
			}
			await(t, body.closed, "the body to be closed")
			_ = w.Close()
		})
	}
}

// dialLog records what is connected to.
type dialLog struct {
	mu    sync.Mutex
	addrs []string
	to    string // where all connections go instead
	fail  func(addr string) error
}

func (d *dialLog) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	d.addrs = append(d.addrs, addr)
	d.mu.Unlock()
	if d.fail != nil {
		if err := d.fail(addr); err != nil {
			return nil, err
		}
	}
	return (&net.Dialer{}).DialContext(ctx, network, d.to)
}

func (d *dialLog) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.addrs, " ")
}

func TestNetworkConnectsToWhatItJudged(t *testing.T) {
	t.Parallel()
	p := servePeer(t, func(c *peerConn) {
		if _, _, err := c.request(); err == nil {
			c.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	// The name changes its address after each lookup.
	names := &answers{byName: map[string][][]string{"rebind.example": {
		{"8.8.8.8"}, {"127.0.0.1"}, {"10.0.0.1", "8.8.4.4", "::1"}, {"::ffff:169.254.169.254"},
	}}}
	dials := &dialLog{to: p.addr}
	n := reach(t, resolving(names), func(c *NetworkConfig) {
		c.Allow, c.Dial = addressRuleList("public"), dials.dial
	})
	const url = "http://rebind.example/"
	fine(t, n, url)
	if _, _, err := get(n, url); op.Public(err).Code != "ERR_NOT_GRANTED" {
		t.Errorf("second answer: error is %v, want a refusal", err)
	}
	fine(t, n, url) // by the one address of three that is public
	if _, _, err := get(n, url); op.Public(err).Code != "ERR_NOT_GRANTED" {
		t.Errorf("fourth answer: error is %v, want a refusal", err)
	}
	if got, want := dials.String(), "8.8.8.8:80 8.8.4.4:80"; got != want {
		t.Errorf("connected to %s, want %s", got, want)
	}
	if len(names.asked) != 4 {
		t.Errorf("%d lookups were made, want one for each connection", len(names.asked))
	}
}

func TestSystemDialerJudgesAgain(t *testing.T) {
	t.Parallel()
	p := servePeer(t, answering(okResponse))
	at := netip.MustParseAddrPort(p.addr)
	calls := 0
	d := newDialer(nil, nil, func(a netip.Addr) error {
		if calls++; calls > 1 {
			return &refusal{verdict: denied, addr: a}
		}
		return nil
	})
	conn, err := d.connect(t.Context(), at.Addr().String(), at.Port())
	if err == nil {
		_ = conn.Close()
	}
	var refused *refusal
	if !errors.As(err, &refused) || refused.addr != at.Addr() || calls != 2 {
		t.Errorf("error is %v after %d judgements, want the second to refuse %s", err, calls, at.Addr())
	}
}

func TestRedirectsComeThroughAgain(t *testing.T) {
	t.Parallel()
	secret := servePeer(t, answering(okResponse))
	p := servePeer(t, answering("HTTP/1.1 302 Found\r\nLocation: "+secret.url+"/admin\r\nContent-Length: 0\r\n\r\n"))
	n := reach(t, func(c *NetworkConfig) {
		c.Hosts = []HostPattern{{Host: "127.0.0.1", Ports: []uint16{netip.MustParseAddrPort(p.addr).Port()}}}
	})
	resp, _, err := get(n, p.url)
	if err != nil || resp.Status != 302 {
		t.Fatalf("got %v, %v; want the redirect itself", resp, err)
	}
	location, _ := resp.Header.Get("location")
	if location != secret.url+"/admin" {
		t.Fatalf("location is %q", location)
	}
	if _, _, err := get(n, location); op.Public(err).Code != "ERR_NOT_GRANTED" {
		t.Errorf("error is %v, want a refusal of the second hop", err)
	}
	if secret.connections() != 0 {
		t.Error("the second hop was connected to")
	}
}

func TestConnectFailuresAreHelpful(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := ln.Addr().String()
	_ = ln.Close()
	names := &answers{byName: map[string][][]string{
		"down.example":  {{"127.0.0.1"}},
		"twice.example": {{"127.0.0.1", "127.0.0.2"}},
		"empty.example": {{}},
		"fails.example": {{"10.3.3.3"}},
	}}
	failing := func(err error) func(*NetworkConfig) {
		return func(c *NetworkConfig) {
			c.Dial = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 3, 3, 3), Port: 80}, Err: err}
			}
		}
	}
	lookup := func(err error) func(*NetworkConfig) {
		return func(c *NetworkConfig) { c.Resolver = failingResolver{err} }
	}
	tests := []struct {
		name, host string
		change     func(*NetworkConfig)
		want       string
	}{
		{"nobody listens", "down.example" + port(closed), nil, "connect to down.example" + port(closed) + ": connection refused"},
		{"nobody listens on two addresses", "twice.example" + port(closed), nil, "connect to twice.example" + port(closed) + ": connection refused"},
		{"no such name", "nowhere.example", nil, "connect to nowhere.example:80: no such host"},
		{"a name without addresses", "empty.example", nil, "connect to empty.example:80: no such host"},
		{"the name server is slow", "a.example", lookup(&net.DNSError{Err: "i/o timeout", Server: "10.9.9.9:53", IsTimeout: true}), "connect to a.example:80: the name lookup timed out"},
		{"the name server fails", "a.example", lookup(&net.DNSError{Err: "server misbehaving", Server: "10.9.9.9:53"}), "connect to a.example:80: the name lookup failed"},
		{"no route", "fails.example", failing(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), "connect to fails.example:80: host unreachable"},
		{"no network", "fails.example", failing(os.NewSyscallError("connect", syscall.ENETUNREACH)), "connect to fails.example:80: network unreachable"},
		{"no IPv6", "fails.example", failing(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), "connect to fails.example:80: network unreachable"},
		{"the system gives up", "fails.example", failing(os.NewSyscallError("connect", syscall.ETIMEDOUT)), "connect to fails.example:80: timed out"},
		{"the host's own trouble", "fails.example", failing(os.NewSyscallError("socket", syscall.EMFILE)), "connect to fails.example:80: the connection failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := reach(t, resolving(names), func(c *NetworkConfig) {
				c.Allow = addressRuleList("local", "private")
				if tt.change != nil {
					tt.change(c)
				}
			})
			_, _, err := get(n, "http://"+tt.host+"/")
			if got := scriptText(t, err); got != tt.want {
				t.Errorf("error is %q, want %q", got, tt.want)
			}
			if op.Public(err).Code != "" {
				t.Errorf("code is %q, want none", op.Public(err).Code)
			}
			if !strings.Contains(err.Error(), "10.") && !strings.Contains(tt.name, "nobody") && !strings.Contains(tt.name, "without") {
				t.Errorf("the log misses the cause: %v", err)
			}
		})
	}
}

type failingResolver struct{ err error }

func (r failingResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, r.err
}

func TestNewNetworkReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := NewNetwork(NetworkConfig{
		Service: "internet", Allow: addressRuleList("everything"), Deny: []AddressRule{{}},
		Hosts: []HostPattern{{Host: "*.example.com"}}, TLS: TLS{TrustedCertificates: []string{"no/such/file.pem"}, MinVersion: 0x0301},
	})
	for _, want := range []string{`build network "internet"`, `"everything"`, "neither a word nor a valid prefix", `"*.example.com"`, "no/such/file.pem", "0x0301"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want it to name %s", err, want)
		}
	}
	n, err := NewNetwork(NetworkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := get(n, "http://127.0.0.1/"); !strings.Contains(scriptText(t, err), "set network.allow") {
		t.Errorf("error is %v, want it to name network.allow", err)
	}
	if err := errors.Join(n.Close(), n.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestEnvironmentProxiesAreNotHeard(t *testing.T) {
	proxy := servePeer(t, answering(okResponse))
	p := servePeer(t, answering(okResponse))
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.url)
	}
	names := &answers{byName: map[string][][]string{"a.example": {{"127.0.0.1"}}}}
	fine(t, reach(t, resolving(names)), "http://a.example"+port(p.addr))
	if proxy.connections() != 0 {
		t.Error("the proxy of the environment was used")
	}
}

func TestTraceNamesTheService(t *testing.T) {
	t.Parallel()
	p := servePeer(t, answering(okResponse))
	var trace fetch.Trace
	if _, _, err := roundTrip(reach(t), &fetch.Request{Method: "GET", URL: p.url, Trace: &trace}); err != nil {
		t.Fatal(err)
	}
	if got := trace.Report().Service; got != "internet" {
		t.Errorf("service is %q, want internet", got)
	}
}

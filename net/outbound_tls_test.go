package edgenet

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/net/fetch"
)

// authority signs certificates for tests.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // PEM
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &authority{t: t, cert: cert, key: key, file: file}
}

// issue makes a server's certificate for names and addresses.
func (a *authority) issue(till time.Time, names ...string) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: till}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// secured makes a handler speak TLS. names receives what each client asked for.
func secured(cfg *tls.Config, names chan string, handle func(c *peerConn)) func(c *peerConn) {
	return func(c *peerConn) {
		secure := tls.Server(c.Conn, cfg)
		if err := secure.Handshake(); err != nil {
			return
		}
		if names != nil {
			names <- secure.ConnectionState().ServerName
		}
		handle(&peerConn{Conn: secure, br: bufio.NewReader(secure), n: c.n})
		_ = secure.CloseWrite()
	}
}

func trusting(files ...string) func(*NetworkConfig) {
	return func(c *NetworkConfig) { c.TLS.TrustedCertificates = files }
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	soon := time.Now().Add(time.Hour)
	names := &answers{byName: map[string][][]string{"a.example": {{"127.0.0.1"}}, "b.example": {{"127.0.0.1"}}}}
	server := func(certNames []string, change ...func(*tls.Config)) string {
		cfg := &tls.Config{Certificates: []tls.Certificate{ca.issue(soon, certNames...)}}
		for _, c := range change {
			c(cfg)
		}
		return port(servePeer(t, secured(cfg, nil, answering(okResponse))).addr)
	}
	valid := server([]string{"a.example", "127.0.0.1"})
	expired := port(servePeer(t, secured(&tls.Config{Certificates: []tls.Certificate{ca.issue(time.Now().Add(-time.Minute), "a.example")}}, nil, answering(okResponse))).addr)
	plain := port(servePeer(t, func(c *peerConn) {
		c.say("HTTP/1.1 400 Bad Request\r\n\r\n")
		c.untilClosed()
	}).addr)
	dead := port(servePeer(t, func(c *peerConn) { _, _ = c.br.ReadByte() }).addr)
	old := server([]string{"a.example"}, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 })
	twelve := server([]string{"a.example"}, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })
	h3 := server([]string{"a.example"}, func(c *tls.Config) { c.NextProtos = []string{"h3"} })
	tests := []struct {
		name, host string
		files      []string
		min        uint16
		want       string // after "connect to HOST: "; empty: it works
	}{
		{name: "a trusted authority", host: "a.example" + valid, files: []string{ca.file}},
		{name: "two authorities", host: "a.example" + valid, files: []string{other.file, ca.file}},
		{name: "an address", host: "127.0.0.1" + valid, files: []string{ca.file}},
		{name: "a final dot", host: "a.example." + valid, files: []string{ca.file}},
		{name: "TLS 1.2", host: "a.example" + twelve, files: []string{ca.file}},
		{name: "another authority", host: "a.example" + valid, files: []string{other.file},
			want: "the certificate is signed by an authority that is not trusted (services.internet.network.tls in the configuration says which are)"},
		{name: "no authority", host: "a.example" + valid,
			want: "the certificate is signed by an authority that is not trusted (services.internet.network.tls in the configuration says which are)"},
		{name: "another name", host: "b.example" + valid, files: []string{ca.file}, want: "the certificate is for another host"},
		{name: "another address", host: "127.0.0.2" + valid, files: []string{ca.file}, want: "connection refused"},
		{name: "an expired certificate", host: "a.example" + expired, files: []string{ca.file}, want: "the certificate has expired or is not valid yet"},
		{name: "a server without TLS", host: "a.example" + plain, files: []string{ca.file}, want: "the server does not speak TLS"},
		{name: "a server that leaves", host: "a.example" + dead, files: []string{ca.file}, want: "the server closed the connection"},
		{name: "a server with TLS 1.1", host: "a.example" + old, files: []string{ca.file}, want: "the server refused the TLS handshake"},
		{name: "a server with TLS 1.2 where 1.3 is asked for", host: "a.example" + twelve, files: []string{ca.file}, min: tls.VersionTLS13, want: "the server refused the TLS handshake"},
		{name: "a server with another protocol", host: "a.example" + h3, files: []string{ca.file}, want: "the server refused the TLS handshake"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := reach(t, resolving(names), trusting(tt.files...), func(c *NetworkConfig) {
				c.TLS.MinVersion = tt.min
				c.TLS.CertificateHost = "b.example" // is for external services only
			})
			url := "https://" + tt.host + "/"
			if tt.want == "" {
				fine(t, n, url)
				fine(t, n, url)
				return
			}
			_, _, err := get(n, url)
			if got, want := scriptText(t, err), "connect to "+tt.host+": "+tt.want; got != want {
				t.Errorf("error is %q, want %q", got, want)
			}
		})
	}
}

func TestTLSConnectionsAreReused(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	asked := make(chan string, 10)
	names := &answers{byName: map[string][][]string{"a.example": {{"127.0.0.1"}}}}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		cfg := &tls.Config{Certificates: []tls.Certificate{ca.issue(time.Now().Add(time.Hour), "a.example")}, MaxVersion: version}
		p := servePeer(t, secured(cfg, asked, func(c *peerConn) {
			for range 4 {
				if _, _, err := c.request(); err != nil {
					return
				}
				c.say(okResponse)
			}
		}))
		n := reach(t, resolving(names), trusting(ca.file))
		for range 12 {
			// A POST is not repeated: each connection was known to live.
			if _, body, err := roundTrip(n, &fetch.Request{Method: "POST", URL: "https://a.example" + port(p.addr)}); err != nil || body != "ok" {
				if strings.Contains(err.Error(), "closed the connection") {
					continue // the server's goodbye came after the look at the connection
				}
				t.Fatalf("got %q, %v", body, err)
			}
		}
		if got := p.connections(); got < 3 || got > 4 {
			t.Errorf("%d connections were made, want one for 4 requests", got)
		}
		if got := await(t, asked, "the server name"); got != "a.example" {
			t.Errorf("server name is %q", got)
		}
		for len(asked) > 0 {
			<-asked
		}
	}
}

func TestTLSStreams(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cfg := &tls.Config{Certificates: []tls.Certificate{ca.issue(time.Now().Add(time.Hour), "127.0.0.1")}}
	p := servePeer(t, secured(cfg, nil, func(c *peerConn) {
		for {
			_, body, err := c.request()
			if err != nil {
				return
			}
			c.say("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	}))
	n := reach(t, trusting(ca.file))
	want := strings.Repeat("0123456789", 100_000)
	for range 3 {
		_, got, err := roundTrip(n, &fetch.Request{Method: "POST", URL: "https://" + p.addr, Body: fetch.StreamBody(io.NopCloser(strings.NewReader(want)), -1)})
		if err != nil || got != want {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
	}
	if got := p.connections(); got != 1 {
		t.Errorf("%d connections were made, want 1", got)
	}
}

func TestTrustedCertificatesThatAreNone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (TLS{TrustedCertificates: []string{file}}).config(); err == nil || !strings.Contains(err.Error(), "holds no PEM certificate") {
		t.Errorf("error is %v", err)
	}
	if cfg, err := (TLS{TrustBrowserCas: true}).config(); err != nil || cfg.MinVersion != tls.VersionTLS12 || cfg.InsecureSkipVerify {
		t.Errorf("got %v, %v", cfg, err)
	}
}

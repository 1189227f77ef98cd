package edgenet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// refusal is a policy's refusal of an address.
type refusal struct {
	verdict verdict
	addr    netip.Addr
}

// Error names the address, for logs.
func (r *refusal) Error() string { return fmt.Sprintf("the policy refuses the address %s", r.addr) }

// protocolError is a fault in what a server sent. Its text is public.
type protocolError string

// Error returns the text.
func (e protocolError) Error() string { return string(e) }

func protocolErrorf(format string, args ...any) error {
	return protocolError(fmt.Sprintf(format, args...))
}

// handshakeError is a failure to agree on TLS.
type handshakeError struct{ err error }

// Error says what failed.
func (e *handshakeError) Error() string { return "TLS handshake: " + e.err.Error() }

// Unwrap returns the cause.
func (e *handshakeError) Unwrap() error { return e.err }

// bodyError is a failure of the request's body, which is the caller's.
type bodyError struct {
	msg string // public
	err error  // what the body's reader returned, if it failed
}

// Error says what failed.
func (e *bodyError) Error() string {
	if e.err == nil {
		return "send the request body: " + e.msg
	}
	return "send the request body: " + e.err.Error()
}

// Unwrap returns the error of the body's reader.
func (e *bodyError) Unwrap() error { return e.err }

// describe makes the error of a Fetch: that of the reader, where it has an
// audience, or one made by fail.
func (e *bodyError) describe(fail func(string, error) error) error {
	var script *op.Error
	var failure *outcome.Failure
	if errors.As(e.err, &script) || errors.As(e.err, &failure) {
		return e
	}
	return fail("send the request body: "+e.msg, e)
}

// reason puts the cause of a failed connection into words that name nothing of
// this host: no address that a name resolved to, no name server, no interface.
func reason(err error) string {
	var protocol protocolError
	var dns *net.DNSError
	switch {
	case errors.As(err, &protocol):
		return protocol.Error()
	case errors.As(err, &dns):
		switch {
		case dns.IsNotFound:
			return "no such host"
		case dns.IsTimeout:
			return "the name lookup timed out"
		}
		return "the name lookup failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH):
		return "host unreachable"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return "network unreachable"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the server closed the connection"
	case timedOut(err):
		return "timed out"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "the server closed the connection"
	}
	return tlsReason(err)
}

// distrusted reports whether a certificate comes from an authority that is not
// trusted.
func distrusted(err error) bool {
	var authority x509.UnknownAuthorityError
	return errors.As(err, &authority)
}

func tlsReason(err error) string {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert *net.OpError
	var handshake *handshakeError
	switch {
	case distrusted(err):
		return "the certificate is signed by an authority that is not trusted"
	case errors.As(err, &host):
		return "the certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet"
	case errors.As(err, &invalid), errors.As(err, &verification):
		return "the certificate is not valid"
	case errors.As(err, &record):
		return "the server does not speak TLS"
	case errors.As(err, &alert) && alert.Op == "remote error":
		return "the server refused the TLS handshake"
	case errors.As(err, &handshake):
		return "the TLS handshake failed"
	}
	return "the connection failed"
}

func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

package local

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
)

// Errors of connections as they may be told.
var (
	errNoHost      = errors.New("the name of its host cannot be found")
	errCertificate = errors.New("its TLS certificate is not valid for it")
	errNoTLS       = errors.New("it does not speak TLS")
	errHungUp      = errors.New("the connection was closed")
	errUnreadable  = errors.New("the connection broke, or its answer is not HTTP that can be read")
)

// lateError is the end of a connection's own time.
type lateError struct{}

// Error says so.
func (lateError) Error() string { return "the connection timed out" }

// Is makes it a context.DeadlineExceeded.
func (lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// ConnectionError is what may be told of a request that failed on its way: never an address or the name of a host, which may hold
// a secret, and nothing that the other side wrote. nil stays nil.
func ConnectionError(err error) error {
	var (
		name      *net.DNSError
		trust     *tls.CertificateVerificationError
		host      x509.HostnameError
		unknown   x509.UnknownAuthorityError
		plaintext tls.RecordHeaderError
		number    syscall.Errno
		network   *net.OpError
		waited    net.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &name):
		return errNoHost
	case errors.As(err, &trust), errors.As(err, &host), errors.As(err, &unknown):
		return errCertificate
	case errors.As(err, &plaintext), errors.Is(err, http.ErrSchemeMismatch):
		return errNoTLS
	case errors.As(err, &number) && errors.As(err, &network):
		return fmt.Errorf("%s: %w", network.Op, number)
	case errors.As(err, &number):
		return number
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return errHungUp
	case errors.As(err, &waited) && waited.Timeout():
		return lateError{}
	default:
		return errUnreadable
	}
}

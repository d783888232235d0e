package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/nodepools/nodepools/api/hint"
)

// ServerName is the address of a cluster without what may be secret in it.
func ServerName(config *rest.Config) string {
	address, err := url.Parse(config.Host)
	if err != nil {
		return "the cluster"
	}
	address.User, address.RawQuery = nil, ""
	return strings.TrimSuffix(address.String(), "/")
}

// Explain says in plain words why a server did not answer within a time, and leaves
// other errors as they are, but for their line breaks: see [OneLine].
func Explain(err error, server string, timeout time.Duration) error {
	if err == nil {
		return nil
	}
	return oneLine{explain(err, server, timeout), err}
}

// OneLine returns an error without line breaks in its text: a server that ends a line
// could write the next one itself.
func OneLine(err error) error { return oneLine{err, err} }

type oneLine struct {
	error
	cause error
}

func (e oneLine) Error() string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(e.error.Error())
}
func (e oneLine) Unwrap() []error { return []error{e.error, e.cause} }

func explain(err error, server string, timeout time.Duration) error {
	const address = "check the address in the kubeconfig file, the network and the VPN"
	var (
		lookup      *net.DNSError
		connection  *net.OpError
		certificate *tls.CertificateVerificationError
		request     *url.Error
	)
	switch {
	case apierrors.IsUnauthorized(err):
		return hint.Add(fmt.Errorf("%s does not accept the credentials: %w", server, err), "log in again, or choose another user in the kubeconfig file")
	case apierrors.IsForbidden(err):
		return hint.Add(err, "'nodepools install --viewer' prints a role with all rights that this takes")
	case errors.Is(err, context.DeadlineExceeded):
		return hint.Add(fmt.Errorf("no answer from %s within %s", server, timeout), address+"; --timeout gives it longer")
	case errors.As(err, &lookup):
		return hint.Add(fmt.Errorf("cannot reach %s: %w", server, lookup), address)
	case errors.As(err, &certificate):
		return hint.Add(fmt.Errorf("cannot trust %s: %w", server, certificate.Err), "check certificate-authority-data in the kubeconfig file")
	case errors.As(err, &connection):
		return hint.Add(fmt.Errorf("cannot reach %s: %w", server, connection.Err), address)
	case errors.As(err, &request):
		return hint.Add(fmt.Errorf("cannot ask %s: %w", server, request.Err), address)
	}
	return err
}

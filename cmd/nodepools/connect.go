package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// defaultTimeout bounds all requests of one command together.
const defaultTimeout = 30 * time.Second

// clusterFlags say which cluster a command reads, and how long it may take.
type clusterFlags struct {
	kubeconfig, context string
	timeout             time.Duration
}

func (f *clusterFlags) register(cmd *cobra.Command) {
	registerKubeconfig(cmd, &f.kubeconfig, &f.context)
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "time for all requests together")
	completeFlag(cmd, "timeout", nothing)
}

// registerKubeconfig adds the flags that say which cluster is meant.
func registerKubeconfig(cmd *cobra.Command, kubeconfig, context *string) {
	cmd.Flags().StringVar(kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, else ~/.kube/config)")
	cmd.Flags().StringVar(context, "context", "", "`context` of the kubeconfig file (default: its current one)")
	completeFlag(cmd, "kubeconfig", files())
	completeFlag(cmd, "context", completeContext(kubeconfig))
}

func (f *clusterFlags) check() error {
	if f.timeout <= 0 {
		return usagef("--timeout must be longer than 0s, and is %s", f.timeout)
	}
	return nil
}

// config reads the kubeconfig file. It does not fall back on the cluster that
// the process runs in: in a CI job that would be the cluster of the CI system.
func (f *clusterFlags) config() (*rest.Config, error) {
	return loadKubeconfig(f.kubeconfig, f.context)
}

// tuned takes the client's own rate limit away, which would only hide what the
// server's does, bounds how long a server that does not answer is waited for, and
// keeps credentials out of the errors of requests.
func tuned(config *rest.Config) *rest.Config {
	config.QPS = -1
	config.Dial = dialing(maxSilence)
	withoutUser(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return unechoed{next} })
	return config
}

// serverName is the address of a cluster without what may be secret in it.
func serverName(config *rest.Config) string {
	address, err := url.Parse(config.Host)
	if err != nil {
		return "the cluster"
	}
	address.User, address.RawQuery = nil, ""
	return strings.TrimSuffix(address.String(), "/")
}

// quietLibraries keeps the libraries of a command that is no server from logging
// between the command's own words.
func quietLibraries() {
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
}

// unreachable says in plain words why a cluster could not be asked, and leaves
// other errors as they are, but for their line breaks: a server that ends a line
// could write the next one itself.
func unreachable(err error, server string, timeout time.Duration) error {
	if err == nil {
		return nil
	}
	return oneLine{unreached(err, server, timeout)}
}

type oneLine struct{ error }

func (e oneLine) Error() string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(e.error.Error())
}
func (e oneLine) Unwrap() error { return e.error }

func unreached(err error, server string, timeout time.Duration) error {
	const address = "check the address in the kubeconfig file, the network and the VPN"
	var (
		lookup      *net.DNSError
		connection  *net.OpError
		certificate *tls.CertificateVerificationError
		request     *url.Error
	)
	switch {
	case apierrors.IsUnauthorized(err):
		return hinted{fmt.Errorf("%s does not accept the credentials: %w", server, err), "log in again, or choose another user in the kubeconfig file"}
	case apierrors.IsForbidden(err):
		return hinted{err, "'nodepools install --viewer' prints a role with all rights that this takes"}
	case errors.Is(err, context.DeadlineExceeded):
		return hinted{fmt.Errorf("no answer from %s within %s", server, timeout), address + "; --timeout gives it longer"}
	case errors.As(err, &lookup):
		return hinted{fmt.Errorf("cannot reach %s: %w", server, lookup), address}
	case errors.As(err, &certificate):
		return hinted{fmt.Errorf("cannot trust %s: %w", server, certificate.Err), "check certificate-authority-data in the kubeconfig file"}
	case errors.As(err, &connection):
		return hinted{fmt.Errorf("cannot reach %s: %w", server, connection.Err), address}
	case errors.As(err, &request):
		return hinted{fmt.Errorf("cannot ask %s: %w", server, request.Err), address}
	}
	return err
}

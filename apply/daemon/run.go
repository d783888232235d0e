// Package daemon runs the controllers against a cluster until the process is to end, or may
// not go on: its lease is lost, or the cluster has gone back in time. Then it replaces itself,
// so that nothing in memory outlives that. Start with [Run].
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Options say which cluster the controllers work for, and how.
type Options struct {
	// Config of the clients, and the name of the API server for the log.
	Config *rest.Config
	Server string

	// Lease to work under; nil without leader election.
	Lease *Lease

	// Namespace is where the Secrets are that sources name.
	Namespace string

	// Concurrency is the number of nodes written at once.
	Concurrency int

	// Metrics say how metrics are served.
	Metrics MetricsOptions

	// Health are the probes that are served. At PprofAddress profiles of the process are
	// served to whoever asks; empty is nowhere.
	Health       *Health
	PprofAddress string

	// WebhookAddress is where Git servers ask for polls; empty is nowhere. With the
	// files of a certificate and its key, by TLS.
	WebhookAddress, WebhookCertFile, WebhookKeyFile string

	Logger logr.Logger
}

// ErrReplace says that the process may not go on, and is to be replaced: see [Replace].
var ErrReplace = errors.New("the process replaces itself")

// holderVariable and replacedVariable hand on who holds the lease, and that a process was
// replaced.
const (
	holderVariable   = "NODEPOOLS_LEASE_HOLDER"
	replacedVariable = "NODEPOOLS_REPLACED"
)

// Replace begins the process anew, with its arguments. It returns where that is not possible.
func Replace() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.Setenv(replacedVariable, "true"); err != nil {
		return err
	}
	return syscall.Exec(program, os.Args, os.Environ())
}

// AwaitServed waits until the API server serves our kinds, and is called with what Served
// returns. What the API server answers is returned, unless the process was replaced: one
// that was restored serves our kinds a moment after all others. Waits is called once.
func AwaitServed(ctx context.Context, served func(ctx context.Context) error, waits func(err error)) error {
	for delay, first := probePeriod/4, true; ; delay = min(delay*2, probePeriod) {
		err := served(ctx)
		notServed := (*NotServedError)(nil)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case isAway(err), errors.As(err, &notServed) && os.Getenv(replacedVariable) != "":
		default:
			return err
		}
		if first {
			first = false
			waits(err)
		}
		pause(ctx, delay)
	}
}

// Run runs the controllers until the context ends, or fails. The error is [ErrReplace] where
// the process may not go on. An address that cannot be listened at is a [*ListenError].
func Run(ctx context.Context, o Options) error {
	s := run{o}
	if counted := o.Metrics.Metrics; counted != nil {
		if err := metrics.Registry.Register(counted); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		defer metrics.Registry.Unregister(counted)
	}
	ended := make(chan error, 2)
	store, err := storeVersion(s.Config)
	if err != nil {
		return err
	}
	g := &gate{
		leased: s.Lease != nil, store: store, doubts: 1, verifying: make(chan struct{}, 1),
		end:  func(cause error) { ended <- cause },
		away: s.away,
		back: func(after time.Duration) {
			s.Logger.Info("the API server answers again", "server", s.Server, "after", after.Round(time.Millisecond))
		},
	}
	gated := rest.CopyConfig(s.Config)
	gated.Dial = g.dial(gated.Dial)
	gated.Wrap(func(next http.RoundTripper) http.RoundTripper { return transport{g, next} })
	mgr, err := s.manager(ctx, gated, g, s.Logger)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	go g.run(ctx)
	select {
	case err = <-ended: // nothing is stopped in order: nothing may be written any more
	case err = <-stopped:
		switch {
		case err == nil:
			return nil
		case !isElectionLost(err):
			return listenError(MetricsListener, fmt.Errorf("controller: %w", err))
		}
		err = fmt.Errorf("%w: it was not renewed for %s", errLeaseLost, renewDeadline)
	}
	if ctx.Err() != nil {
		return nil // it was to stop in any case
	}
	s.Logger.Error(err, "the process may not go on, and replaces itself")
	if s.Lease != nil {
		if err := os.Setenv(holderVariable, s.Lease.identity); err != nil {
			return err
		}
	}
	return ErrReplace
}

// isElectionLost reports whether a manager has ended as the lease could not be renewed. The
// error of controller-runtime has no type.
func isElectionLost(err error) bool { return err.Error() == "leader election lost" }

type run struct{ Options }

func (s run) away(err error) {
	message := "the API server does not answer: nothing is read or written until it does"
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		message = "the API server refuses to be read: nothing is read or written until it allows it; see whether the rights that install prints are there"
	}
	s.Logger.Error(err, message, "server", s.Server)
}

// firstMetadata asks for the metadata of objects.
const firstMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// storeVersion asks for the first node. A list that names no version has the version of the
// store, whichever API server answers.
func storeVersion(config *rest.Config) (func(ctx context.Context) (string, error), error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs.WithoutConversion()
	// Each question has a connection of its own: one that is kept may lead to an API server that
	// is lost.
	config.NextProtos = []string{"http/1.1"}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return once{next} })
	if config.Dial == nil {
		config.Dial = (&net.Dialer{Timeout: verifyTimeout}).DialContext // shares no connections
	}
	api, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return func(ctx context.Context) (string, error) {
		answer, err := api.Get().AbsPath("/api/v1/nodes").Param("limit", "1").SetHeader("Accept", firstMetadata).MaxRetries(0).DoRaw(ctx)
		if err != nil {
			return "", err
		}
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(answer, &list); err != nil {
			return "", fmt.Errorf("list nodes: %w", err)
		}
		return list.ResourceVersion, nil
	}, nil
}

// once sends each request by a connection of its own.
type once struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (o once) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Close = true
	return o.RoundTripper.RoundTrip(request)
}

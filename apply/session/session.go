// Package session runs the controllers against a cluster for as long as the process
// lives. Start with [Run].
//
// A session is one life of a manager: from empty caches until the process ends, or
// until nothing that is in memory may be written any more, as a [guard.Guard] says.
// Then another begins. A process that ended instead would be started again later and
// later, and on a laptop by nobody.
package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/nodepools/nodepools/apply/guard"
)

// Options say which cluster the controllers work for, and how.
type Options struct {
	// Config of the clients, and the name of the API server for the log.
	Config *rest.Config
	Server string

	// Served returns nil when the API server serves NodePools and NodePoolSources.
	// The first session begins without asking.
	Served func(ctx context.Context) error

	// Lease to work under; nil without leader election.
	Lease *Lease

	// Namespace is where the Secrets are that sources name.
	Namespace string

	// Concurrency is the number of nodes written at once.
	Concurrency int

	// Metrics say how metrics are served.
	Metrics MetricsOptions

	// HealthAddress is listened at; "0" is none. At PprofAddress profiles of the process
	// are served to whoever asks; empty is nowhere.
	HealthAddress, PprofAddress string

	// WebhookAddress is where Git servers ask for polls; empty is nowhere. With the
	// files of a certificate and its key, by TLS.
	WebhookAddress, WebhookCertFile, WebhookKeyFile string

	// Logger has all errors. Held holds back those that may be of an API server that
	// is away.
	Logger logr.Logger
	Held   *HeldErrors
}

// errAnew ends a session after which another begins.
var errAnew = errors.New("everything is read anew")

// Run runs sessions until the context ends, or one fails. An address that cannot be
// listened at is a [*ListenError].
func Run(ctx context.Context, o Options) error {
	s := session{o}
	if counted := o.Metrics.Metrics; counted != nil {
		if err := metrics.Registry.Register(counted); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		defer metrics.Registry.Unregister(counted)
	}
	for {
		err := s.run(ctx)
		if ctx.Err() != nil || !errors.Is(err, errAnew) {
			return err
		}
		s.Logger.Error(err, "nothing is written until everything is read anew")
		if err := s.awaitKinds(ctx); err != nil {
			return nil // it is to stop
		}
	}
}

type session struct{ Options }

// awaitKinds waits until the API server knows our kinds. One that has just been
// started serves those of custom resource definitions a moment after all others.
func (s session) awaitKinds(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		return s.Served(ctx) == nil, nil
	})
}

// run is one session.
func (s session) run(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	asked, err := witnesses(s.Config)
	if err != nil {
		return err
	}
	options := guard.Options{
		Witnesses: asked,
		Lost:      s.lost,
		Back:      s.back,
		Settled:   s.Held.settled,
		End:       func(cause error) { end(fmt.Errorf("%w: %w", errAnew, cause)) },
	}
	if s.Lease != nil {
		options.LeaseTime = renewDeadline
	}
	g := guard.New(options)
	s.Held.judge(g.InDoubt)
	guarded := rest.CopyConfig(s.Config)
	guarded.Dial = g.Dial(guarded.Dial)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return g.Transport(next) })
	mgr, err := s.manager(ctx, guarded, g, s.Held.Logger(s.Logger))
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	watching.Go(func() { g.Run(ctx) })
	err = mgr.Start(ctx)
	cause := context.Cause(ctx)
	end(nil)
	watching.Wait()
	if errors.Is(cause, errAnew) {
		return cause
	}
	if err != nil {
		return listenError(MetricsListener, fmt.Errorf("controller: %w", err))
	}
	return nil
}

func (s session) lost(err error) {
	s.Held.drop()
	message := "the API server does not answer: nothing is read or written until it does"
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		message = "the API server refuses to be read: nothing is read or written until it allows it; see whether the rights that install prints are there"
	}
	s.Logger.Error(err, message, "server", s.Server)
}

func (s session) back(after time.Duration) {
	s.Logger.Info("the API server answers again", "server", s.Server, "after", after.Round(time.Millisecond))
}

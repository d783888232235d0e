package controller

import (
	"cmp"
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/apply/controller/pools"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/apply/evict"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// Options of the reconcilers.
type Options struct {
	// Concurrency is how many nodes are written at once, at most: while the API
	// server pushes back they are fewer. 0 means DefaultConcurrency.
	Concurrency int
	// FetchTimeout bounds one request to a repository; 0 means
	// DefaultFetchTimeout.
	FetchTimeout time.Duration
	// MaxRetry is how soon, at the latest, a source that failed is tried again;
	// 0 means DefaultMaxRetry.
	MaxRetry time.Duration

	// Namespace is where the Secrets are that sources name; empty means
	// manifests.DefaultNamespace.
	Namespace string
	// Webhooks reports that Git servers can ask for polls: a receiver runs.
	Webhooks bool
	// Metrics report what the reconcilers do; nil is for nobody.
	Metrics *metrics.Metrics

	// repairs is for tests; the zero value means plan.DefaultRepairBackoff.
	repairs plan.RepairBackoff
	// clock is for tests; nil is for that of the machine.
	clock *loop.Clock
	// added is for tests, and called with what was added.
	added func(*fleet.Fleet, *nodes.Reconciler, *pools.Reconciler, *sources.Reconciler)
}

// What the options are where they are left out.
const (
	DefaultFetchTimeout = time.Minute
	DefaultMaxRetry     = 30 * time.Second
)

// DefaultConcurrency is how many nodes are written at once. The API server is
// what limits the rate; more than a few dozen only queue up there.
const DefaultConcurrency = 16

// NewScheme returns a scheme that knows every kind that the reconcilers read or write.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, nodev1.AddToScheme, v1.AddToScheme, admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, authorizationv1.AddToScheme,
		policyv1.AddToScheme, // without it, the answer to an eviction is read as another kind
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	return scheme, nil
}

// Add adds the reconcilers to a manager, which must have been made with [NewScheme]
// and [nodecache.New].
func Add(mgr manager.Manager, options Options) error {
	cachedNodes, err := nodecache.Cached(mgr.GetCache())
	if err != nil {
		return err
	}
	view := fleet.New(mgr.GetClient(), cachedNodes).WithLive(mgr.GetAPIReader())
	if options.clock != nil {
		view = view.WithClock(*options.clock)
	}
	view.Watch(mgr.GetCache())
	concurrency := cmp.Or(options.Concurrency, DefaultConcurrency)
	nodeClient, err := apply.NewNodeClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	recorder := mgr.GetEventRecorder(v1.FieldManager)

	ofNodes := nodes.New(mgr.GetClient(), mgr.GetAPIReader(), cachedNodes, view, apply.NewThrottle(nodeClient, concurrency),
		cmp.Or(options.repairs, plan.DefaultRepairBackoff()), options.Metrics, mgr.GetLogger())
	if err := ofNodes.AddTo(mgr, concurrency); err != nil {
		return fmt.Errorf("nodes: %w", err)
	}
	ofPools := pools.New(mgr.GetClient(), view, recorder).WithPods(func(ctx context.Context, class string) ([]plan.WaitingPod, error) {
		return evict.Waiting(ctx, mgr.GetAPIReader(), mgr.GetClient(), class)
	})
	if err := ofPools.AddTo(mgr); err != nil {
		return fmt.Errorf("pools: %w", err)
	}
	ofSources := sources.New(mgr.GetClient(), mgr.GetAPIReader(), view, recorder, sources.Options{
		FetchTimeout: cmp.Or(options.FetchTimeout, DefaultFetchTimeout),
		MaxRetry:     cmp.Or(options.MaxRetry, DefaultMaxRetry),
		Namespace:    cmp.Or(options.Namespace, manifests.DefaultNamespace),
		Webhooks:     options.Webhooks,
		Metrics:      options.Metrics,
	})
	if err := ofSources.AddTo(mgr); err != nil {
		return fmt.Errorf("sources: %w", err)
	}
	if err := addMetrics(mgr, options.Metrics, view, ofNodes, ofSources); err != nil {
		return err
	}
	if options.added != nil {
		options.added(view, ofNodes, ofPools, ofSources)
	}
	return nil
}

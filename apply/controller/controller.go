package controller

import (
	"cmp"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
)

// Options of the loops.
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

	// repairs is for tests; the zero value means plan.DefaultRepairBackoff.
	repairs plan.RepairBackoff
	// added is for tests, and called with the loops that were added.
	added func(*nodeLoop, *poolLoop, *sourceLoop)
}

// What the options are where they are left out.
const (
	DefaultFetchTimeout = time.Minute
	DefaultMaxRetry     = 30 * time.Second
)

// DefaultConcurrency is how many nodes are written at once. The API server is
// what limits the rate; more than a few dozen only queue up there.
const DefaultConcurrency = 16

// NewScheme returns a scheme that knows every kind that the loops read or write.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, nodev1.AddToScheme, v1.AddToScheme, admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("scheme: %w", err)
		}
	}
	return scheme, nil
}

// Add adds the loops to a manager, which must have been made with [NewScheme]
// and [nodecache.New].
func Add(mgr manager.Manager, options Options) error {
	if options.Concurrency == 0 {
		options.Concurrency = DefaultConcurrency
	}
	nodeClient, err := apply.NewNodeClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	written := newInstances(mgr.GetLogger())
	patcher := noting{apply.NewThrottle(nodeClient, options.Concurrency), written}
	applier := apply.New(mgr.GetClient()).PatchingNodes(patcher).ReadingAdmission(mgr.GetAPIReader())
	recorder := mgr.GetEventRecorder(v1.FieldManager)
	pools := newPoolSet(mgr.GetClient())
	figures := newTally()

	nodes := &nodeLoop{
		cached: mgr.GetClient(), live: mgr.GetAPIReader(),
		applier: applier, pools: pools, tally: figures, instances: written,
		repairs: newRepairs(cmp.Or(options.repairs, plan.DefaultRepairBackoff())),
	}
	if err := nodes.addTo(mgr, options.Concurrency); err != nil {
		return fmt.Errorf("node loop: %w", err)
	}
	poolLoop := &poolLoop{
		client: mgr.GetClient(), applier: applier, pools: pools, tally: figures, events: recorder,
		pace: newPace(mgr.GetClient(), figures),
	}
	if err := poolLoop.addTo(mgr); err != nil {
		return fmt.Errorf("pool loop: %w", err)
	}
	sources := &sourceLoop{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), applier: applier, pools: pools, events: recorder, now: time.Now,
		fetchTimeout: cmp.Or(options.FetchTimeout, DefaultFetchTimeout),
		maxRetry:     cmp.Or(options.MaxRetry, DefaultMaxRetry),
		namespace:    cmp.Or(options.Namespace, manifests.DefaultNamespace),
		looks:        map[string]*look{},
	}
	if err := sources.addTo(mgr); err != nil {
		return fmt.Errorf("source loop: %w", err)
	}
	if options.added != nil {
		options.added(nodes, poolLoop, sources)
	}
	return nil
}

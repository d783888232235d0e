package impact_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// timeout bounds every wait for the cluster. It is long because the machine
// may be busy; nothing is asserted about time.
const timeout = time.Minute

// stage is the control plane that all scenarios share, with the product's loops
// running against it.
type stage struct {
	client.Client
	cluster *cluster.Cluster
	history *history
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{cluster: cluster.Shared(t)}
	loops, err := s.cluster.AddUser("loops of "+t.Name(), "system:masters")
	must(t, err)
	loops.QPS = -1
	runLoops(t, loops)
	scheme, err := newScheme()
	must(t, err)
	s.Client, err = client.New(s.cluster.Config, client.Options{Scheme: scheme})
	must(t, err)
	s.history = watchPods(t, s.cluster.Config)
	for _, mark := range []string{markMade, markBefore, markAfter} {
		must(t, client.IgnoreAlreadyExists(s.Create(t.Context(), barrier(mark))))
	}
	return s
}

// newScheme knows the workloads besides what the product reads.
func newScheme() (*runtime.Scheme, error) {
	scheme, err := controller.NewScheme()
	if err != nil {
		return nil, err
	}
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme, eventsv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// runLoops runs the product's loops until the test ends.
func runLoops(t *testing.T, cfg *rest.Config) {
	t.Helper()
	scheme, err := controller.NewScheme()
	must(t, err)
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, NewCache: nodecache.New, Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		// Every test has a manager of its own, all in one process.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	must(t, err)
	must(t, controller.Add(mgr, controller.Options{}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("loops: %v", err)
		}
	})
}

// Marks are labels of nodes. A DaemonSet whose pods tolerate everything follows
// each of them: once its pod runs on a marked node, the DaemonSet controller and
// the scheduler have seen what was written to the node before the mark.
const (
	markMade   = "mark-made"
	markBefore = "mark-before"
	markAfter  = "mark-after"
)

func barrier(mark string) *appsv1.DaemonSet {
	labels := map[string]string{"app": mark}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: mark, Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Containers:   []corev1.Container{{Name: "main", Image: "none"}},
					NodeSelector: map[string]string{mark: ""},
					Tolerations:  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
}

// mark marks the nodes and waits until that is seen.
func (p *play) mark(mark string) {
	p.t.Helper()
	for _, node := range p.nodes() {
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{%q:""}}}`, mark))
		p.do(p.Patch(p.t.Context(), node, patch))
	}
	p.eventually("the mark "+mark+" is seen", func() error {
		var pods corev1.PodList
		if err := p.List(p.t.Context(), &pods, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{"app": mark}); err != nil {
			return err
		}
		marked := map[string]bool{}
		for _, pod := range pods.Items {
			marked[pod.Spec.NodeName] = true
		}
		for _, node := range p.scenario.nodes {
			if !marked[p.full(node.name)] {
				return fmt.Errorf("there is no pod on node %s", node.name)
			}
		}
		return nil
	})
	p.daemonSetsLookAgain()
}

// daemonSetsLookAgain changes something of each DaemonSet that is of no account,
// and waits until the controller has acted on it.
func (p *play) daemonSetsLookAgain() {
	p.t.Helper()
	var sets appsv1.DaemonSetList
	p.do(p.List(p.t.Context(), &sets, client.InNamespace(p.slug)))
	for i := range sets.Items {
		set := &sets.Items[i]
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"revisionHistoryLimit":%d}}`, *set.Spec.RevisionHistoryLimit+1))
		p.do(p.Patch(p.t.Context(), set, patch))
		p.eventually("DaemonSet "+set.Name+" is looked at", func() error {
			var live appsv1.DaemonSet
			if err := p.Get(p.t.Context(), client.ObjectKeyFromObject(set), &live); err != nil {
				return err
			}
			if live.Status.ObservedGeneration < set.Generation {
				return fmt.Errorf("generation %d is seen, want %d", live.Status.ObservedGeneration, set.Generation)
			}
			return nil
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

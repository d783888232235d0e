package impact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// scenario is a world of its own within the cluster, and a change of its pools.
type scenario struct {
	reason string
	nodes  []node
	// before and after are the pools by name.
	before, after map[string]v1.NodePoolSpec
	workloads     []workload
	budgets       []budget
	// settles waits for no particular number of pods, but until each runs, has
	// ended, or finds no node. Its nodes get what several pools change in one
	// write: what Kubernetes makes of taints depends on those in between.
	settles bool
	// then does what else happens before the change, when all pods run.
	then func(*play)
	// pending are pods alone that are to be evicted before the change, later.
	pending []string
	// want is what the change does, as outcome.said writes it, sorted.
	want []string
}

type node struct {
	name   string
	labels map[string]string
	taints []string
}

// budget keeps so many pods of a workload available.
type budget struct {
	workload     string
	minAvailable int
}

func nodes(names ...string) []node {
	all := make([]node, 0, len(names))
	for _, name := range names {
		all = append(all, node{name: name})
	}
	return all
}

// play is a scenario on the stage. What it makes in the cluster has the play's
// name in front, and its label.
type play struct {
	*stage
	t        *testing.T
	scenario scenario
	slug     string

	// What there was and what was predicted, when it was predicted.
	before    *inventory.Inventory
	uids      map[string]types.UID // of the pods that have a node
	classes   map[string]types.UID // of the RuntimeClasses
	over      map[string]bool      // the Jobs that had ended, as they may end because of the change
	predicted *impact.Impact
	// fitted are the places at which a next pod would have been put, shut the nodes
	// on which the pods of their pools could not run.
	fitted map[place]bool
	shut   map[string][]string
	// changed is before anything of the change was written.
	changed time.Time
}

// place is a node as seen from a workload.
type place struct{ workload, node string }

// open builds the world of a scenario and waits until its pods run.
func (s *stage) open(t *testing.T, scenario scenario) *play {
	t.Helper()
	p := &play{stage: s, t: t, scenario: scenario, slug: slug(t.Name())}
	t.Cleanup(p.clear)
	for _, name := range []string{p.slug, p.probes()} {
		p.do(p.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	for _, node := range scenario.nodes {
		p.makeNode(node)
	}
	p.nodesAreReady()
	p.apply(scenario.before)
	for _, name := range []string{p.slug, p.probes()} {
		p.eventually("namespace "+name+" takes pods", func() error {
			return p.Get(t.Context(), client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
		})
	}
	p.mark(markMade)
	for _, w := range scenario.workloads {
		p.run(w)
	}
	for _, b := range scenario.budgets {
		p.protect(b)
	}
	p.runs()
	if scenario.then != nil {
		scenario.then(p)
	}
	p.mark(markBefore)
	return p
}

func slug(name string) string {
	name = name[strings.LastIndex(name, "/")+1:]
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-")
}

// full is the name that something has in the cluster, short the one that the
// scenario gives it.
func (p *play) full(name string) string  { return p.slug + "-" + name }
func (p *play) short(name string) string { return strings.TrimPrefix(name, p.slug+"-") }

// probes is the namespace of pods that only ask a query.
func (p *play) probes() string { return p.slug + "-probes" }

// predict reports what the change will do, as the product does.
func (p *play) predict() outcome {
	p.t.Helper()
	p.before = p.takeInventory()
	difference, err := plan.Diff(p.revision(p.scenario.after), p.before.Cluster)
	p.do(err)
	for _, problem := range difference.Problems {
		p.t.Errorf("the change is not carried out in full: %v", problem)
	}
	p.predicted = impact.Of(p.before, difference.After(p.before.Cluster), difference.Drains(p.before.Cluster, time.Now()))
	p.fitted, p.shut = p.fits(), p.shutNodes()
	return p.prediction()
}

// carryOut does what was predicted of, and waits until Kubernetes has acted on it.
func (p *play) carryOut() {
	p.t.Helper()
	p.changed = time.Now()
	if p.scenario.settles {
		p.pauseNodes(true)
		p.write(p.revision(p.scenario.after))
		p.poolsAreRead()
		p.pauseNodes(false)
	}
	p.apply(p.scenario.after)
	p.mark(markAfter)
	p.evictionIsOver()
}

// approveDeletion keeps pools from waiting for the approval of their deletion: the
// plays of one cluster delete more at once than anybody else does.
func (p *play) approveDeletion(ctx context.Context) {
	p.t.Helper()
	var pools v1.NodePoolList
	if err := p.List(ctx, &pools, client.MatchingLabels{v1.SourceLabel: p.slug}); err != nil {
		p.t.Errorf("approve: %v", err)
	}
	for i := range pools.Items {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1.ApproveReleaseAnnotation, v1.DeletionApproval)
		if err := p.Patch(ctx, &pools.Items[i], client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			p.t.Errorf("approve: %v", err)
		}
	}
}

// clear deletes what the play has left. The namespaces go by themselves.
func (p *play) clear() {
	ctx := context.Background()
	ours := client.MatchingLabels{"world": p.slug}
	p.approveDeletion(ctx)
	for _, err := range []error{
		p.DeleteAllOf(ctx, &v1.NodePool{}, client.MatchingLabels{v1.SourceLabel: p.slug}),
		p.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.slug}}),
		p.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.probes()}}),
	} {
		if client.IgnoreNotFound(err) != nil {
			p.t.Errorf("clear: %v", err)
		}
	}
	cluster.Eventually(p.t, "the pools are gone", timeout, func() error {
		var pools v1.NodePoolList
		err := p.List(ctx, &pools, client.MatchingLabels{v1.SourceLabel: p.slug})
		if err == nil && len(pools.Items) > 0 {
			err = fmt.Errorf("%d are left", len(pools.Items))
		}
		return err
	})
	if err := p.DeleteAllOf(ctx, &corev1.Node{}, ours); err != nil {
		p.t.Errorf("clear: %v", err)
	}
}

func (p *play) do(err error) {
	p.t.Helper()
	must(p.t, err)
}

func (p *play) eventually(what string, check func() error) {
	p.t.Helper()
	cluster.Eventually(p.t, what, timeout, check)
}

// coreTaints reads taints written key=value:effect.
func coreTaints(texts ...string) []corev1.Taint {
	var all []corev1.Taint
	for _, text := range texts {
		keyValue, effect, _ := strings.Cut(text, ":")
		key, value, _ := strings.Cut(keyValue, "=")
		all = append(all, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return all
}

// taints are those of a pool, written in the same way.
func taints(texts ...string) []v1.Taint {
	var all []v1.Taint
	for _, taint := range coreTaints(texts...) {
		all = append(all, v1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
	}
	return all
}

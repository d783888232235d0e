package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/policies"
)

const quarantinePool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: quarantine}
spec:
  labels: {example.com/step: "%d"}
  taints: [{key: quarantine, value: "yes", effect: NoSchedule}]
`

// escape is a record which says that pools have put on the node what made it a
// member of the pool quarantine, and a taint which they have never seen.
const escape = `{"version":1,` +
	`"pools":{"gone":{"labels":{"node-role.kubernetes.io/quarantine":""},"taints":{"maintenance:NoSchedule":"yes"}},` +
	`"quarantine":{"taints":{"quarantine:NoSchedule":"yes"}}}}`

// A node that is set apart stays so, whatever its kubelet writes. Without the
// policy the same controller lets it out: it takes off all that the record names.
func TestAQuarantinedNodeStaysSetApart(t *testing.T) {
	q := newQuarantine(t)
	q.role("n1")
	q.carries("n1", "maintenance", "quarantine")

	p := q.Test
	p.Uninstalled()
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	p.Do(p.Patch(kubelet, "n1", policies.Record(escape)))
	q.carries("n1", "maintenance") // of a pool that there never was, nothing is released

	q.reset("n1")
	q.role("n1")
	q.carries("n1", "maintenance", "quarantine")
	p.Install()
	before := p.Get("n1").Annotations[v1.AppliedAnnotation]
	policies.Refused(t, p.Patch(kubelet, "n1", policies.Record(escape)), "annotation "+v1.AppliedAnnotation)
	q.step(2)
	q.carries("n1", "maintenance", "quarantine")
	if after := p.Get("n1").Annotations[v1.AppliedAnnotation]; after == before || strings.Contains(after, "gone") {
		t.Errorf("the record of the second step is %s", after)
	}
}

// A node that is paused is left as it stands, so a kubelet that pauses its own
// is never set apart. With the policy it cannot.
func TestANodeCannotAvoidQuarantine(t *testing.T) {
	q := newQuarantine(t)
	p := q.Test
	pause := map[string]any{"annotations": map[string]any{v1.ReconcileAnnotation: v1.Disabled}}
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	p.Uninstalled()
	p.Do(p.Patch(kubelet, "n1", pause))
	q.role("n1")
	q.pool("reports that the node is paused", func(pool *v1.NodePool) error {
		if pool.Status.Nodes == nil || pool.Status.Nodes.Desired != 1 || pool.Status.Nodes.Updated != 0 {
			return fmt.Errorf("its nodes are %+v", pool.Status.Nodes)
		}
		return nil
	})
	q.carries("n1", "maintenance")

	q.reset("n1")
	p.Install()
	policies.Refused(t, p.Patch(kubelet, "n1", pause), "annotation "+v1.ReconcileAnnotation)
	q.role("n1")
	q.carries("n1", "maintenance", "quarantine")
}

// A kubelet fills up the annotations of its node as far as it may, before it is set apart and after:
// the wall comes, stays, and follows its pool.
func TestAFullNodeIsSetApart(t *testing.T) {
	q := newQuarantine(t)
	p := q.Test
	p.Install()
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	fill := func(bytes int) error {
		return p.Patch(kubelet, "n1", map[string]any{"annotations": map[string]any{"example.com/full": strings.Repeat("x", bytes)}})
	}
	if err := fill(255 << 10); err == nil {
		t.Error("a kubelet takes all annotations that a node may have")
	}
	p.Do(fill(manifests.MaxKubeletAnnotations - 1<<10))
	q.role("n1")
	q.carries("n1", "maintenance", "quarantine")
	if err := fill(manifests.MaxKubeletAnnotations); err == nil {
		t.Error("a kubelet fills its node beyond the bound")
	}
	q.step(1234567890)
	q.carries("n1", "maintenance", "quarantine")
	if has := p.Get("n1").Labels["example.com/step"]; has != "1234567890" {
		t.Errorf("the label of the pool is %q", has)
	}
}

// quarantine is a cluster with a node n1 that an administrator has tainted, the
// pool quarantine, and the controller with the rights that are shipped.
type quarantine struct {
	*policies.Test
	t       *testing.T
	objects client.Client
}

func newQuarantine(t *testing.T) *quarantine {
	t.Helper()
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	p := policies.New(t, c)
	scheme, err := controller.NewScheme()
	p.Do(err)
	objects, err := client.New(p.Cluster.Config, client.Options{Scheme: scheme, Mapper: observe.Mapper()})
	p.Do(err)
	q := &quarantine{Test: p, t: t, objects: objects}
	q.reset("n1")
	config, err := p.Cluster.AddUser(p.UserWith(t, manifests.ClusterRules()))
	p.Do(err)
	kubeconfig, err := p.Cluster.WriteKubeconfig(config)
	p.Do(err)
	startRun(t, kubeconfig)
	q.step(1)
	return q
}

// reset makes the node anew.
func (q *quarantine) reset(name string) {
	q.t.Helper()
	node := &corev1.Node{}
	node.Name = name
	q.Do(client.IgnoreNotFound(q.objects.Delete(q.t.Context(), node)))
	node.ResourceVersion = ""
	node.Spec.Taints = []corev1.Taint{{Key: "maintenance", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	q.Do(q.objects.Create(q.t.Context(), node))
}

// role makes the node a member.
func (q *quarantine) role(name string) {
	q.t.Helper()
	q.Do(q.Patch(q.Test, name, map[string]any{"labels": map[string]any{v1.RoleLabel("quarantine"): ""}}))
}

// step changes what the pool says, for a pass over its nodes.
func (q *quarantine) step(number int) {
	q.t.Helper()
	if out, err := q.Cluster.Apply(q.t.Context(), fmt.Sprintf(quarantinePool, number)); err != nil {
		q.t.Fatalf("%v\n%s", err, out)
	}
	q.pool("is carried out", func(pool *v1.NodePool) error {
		if pool.Status.ObservedGeneration != pool.Generation {
			return errors.New("not looked at yet")
		}
		return nil
	})
}

func (q *quarantine) pool(what string, check func(*v1.NodePool) error) {
	q.t.Helper()
	cluster.Eventually(q.t, "the pool "+what, waitTimeout, func() error {
		pool := &v1.NodePool{}
		if err := q.objects.Get(q.t.Context(), client.ObjectKey{Name: "quarantine"}, pool); err != nil {
			return err
		}
		return check(pool)
	})
}

// carries waits until the node has taints with these keys, and no others but
// those of Kubernetes.
func (q *quarantine) carries(name string, keys ...string) {
	q.t.Helper()
	cluster.Eventually(q.t, fmt.Sprintf("the node carries the taints %v", keys), waitTimeout, func() error {
		var have []string
		for _, taint := range q.Get(name).Spec.Taints {
			if !v1.IsConditionTaint(taint.Key) {
				have = append(have, taint.Key)
			}
		}
		if slices.Sort(have); !slices.Equal(have, keys) {
			return fmt.Errorf("it carries %v", have)
		}
		return nil
	})
}

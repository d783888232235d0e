package plan

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// revisionOfPools is what a source says: these pools.
func revisionOfPools(name string, policy ReleasePolicy, pools ...*v1.NodePool) Revision {
	revision := Revision{
		Source: "team", Name: name, Release: policy,
		Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")},
	}
	for _, pool := range pools {
		revision.Pools = append(revision.Pools, render.Definition{Pool: pool, File: "pools.yaml", Line: 1})
	}
	return revision
}

// appliedRevision is a cluster in which a revision is carried out, and that is reported.
func appliedRevision(t *testing.T, revision Revision, cluster Cluster) Cluster {
	t.Helper()
	d, err := Diff(revision, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if d.Pools.Held != nil {
		t.Fatalf("the revision is held: %v", d.Pools.Held)
	}
	return report(d.After(cluster))
}

// losers are the pools for whose losses a revision is held.
func losers(d *Difference) (pools []string) {
	if d.Pools.Held != nil {
		for _, loss := range d.Pools.Held.Losses {
			pools = append(pools, loss.Pool)
		}
	}
	return pools
}

func TestRevisionIsHeldForItsReleases(t *testing.T) {
	const first, second = "main@sha1:first", "main@sha1:second"
	count := func(n int32) ReleasePolicy { return ReleasePolicy{Limit: ptr.To(intstr.FromInt32(n))} }
	share := func(text string) ReleasePolicy { return ReleasePolicy{Limit: ptr.To(intstr.FromString(text))} }
	evicting := func(pool *v1.NodePool) *v1.NodePool {
		pool.Spec.Taints = []v1.Taint{{Key: "example.com/wall", Effect: corev1.TaintEffectNoExecute}}
		return pool
	}
	before := func() []*v1.NodePool {
		return []*v1.NodePool{ofZone("p", "a", "b"), ofZone("q", "a"), ofZone("r", "b")}
	}
	cases := map[string]struct {
		reason string
		policy ReleasePolicy
		// after are the pools of the second revision; meanwhile, what somebody does by
		// hand before it comes.
		after     []*v1.NodePool
		meanwhile func(*Cluster)
		// want are the pools that lose too many nodes.
		want []string
	}{
		"nothing":        {"no node leaves a pool", ReleasePolicy{}, before(), nil, nil},
		"typo":           {"no node is left in the pool", ReleasePolicy{}, []*v1.NodePool{ofZone("p", "A"), ofZone("q", "a"), ofZone("r", "b")}, nil, []string{"p"}},
		"half":           {"half of them may leave", ReleasePolicy{}, []*v1.NodePool{ofZone("p", "a"), ofZone("q", "a"), ofZone("r", "b")}, nil, nil},
		"less":           {"the limit is lower", share("20%"), []*v1.NodePool{ofZone("p", "a"), ofZone("q", "a"), ofZone("r", "b")}, nil, []string{"p"}},
		"count":          {"the limit is a number", count(9), []*v1.NodePool{ofZone("p", "a"), ofZone("q", "a"), ofZone("r", "b")}, nil, []string{"p"}},
		"all":            {"the limit is all", share("100%"), []*v1.NodePool{ofZone("p", "x"), ofZone("q", "x"), ofZone("r", "x")}, nil, nil},
		"unreadable":     {"a limit that cannot be read lets nothing through", share("some"), []*v1.NodePool{ofZone("p", "a"), ofZone("q", "a"), ofZone("r", "b")}, nil, []string{"p"}},
		"parent":         {"a pool within another loses all by its new parent", ReleasePolicy{}, []*v1.NodePool{ofZone("p", "a", "b"), within(ofZone("q", "a"), "r"), ofZone("r", "b")}, nil, []string{"q"}},
		"approved":       {"by the name of the revision", ReleasePolicy{Approval: second}, []*v1.NodePool{ofZone("p", "A"), ofZone("q", "a"), ofZone("r", "b")}, nil, nil},
		"approved other": {"an approval is of one revision", ReleasePolicy{Approval: first}, []*v1.NodePool{ofZone("p", "A"), ofZone("q", "a"), ofZone("r", "b")}, nil, []string{"p"}},
		"approval used":  {"it counts once", ReleasePolicy{Approval: second, ApprovalUsed: true}, []*v1.NodePool{ofZone("p", "A"), ofZone("q", "a"), ofZone("r", "b")}, nil, []string{"p"}},
		"half pruned":    {"it releases half of all nodes", ReleasePolicy{}, before()[:2], nil, nil},
		"all pruned":     {"it is one pool, and releases all nodes", ReleasePolicy{}, before()[1:], nil, []string{"p"}},
		"most pruned":    {"together they release more than half of all nodes", ReleasePolicy{}, before()[2:], nil, []string{"p"}},
		"evicts":         {"a NoExecute taint on more than half of all nodes", ReleasePolicy{}, []*v1.NodePool{evicting(ofZone("p", "a", "b")), ofZone("q", "a"), ofZone("r", "b")}, nil, []string{"p"}},
		"evicts half":    {"a NoExecute taint on half of them", ReleasePolicy{}, []*v1.NodePool{ofZone("p", "a", "b"), evicting(ofZone("q", "a")), ofZone("r", "b")}, nil, nil},
		"blocked before": {"by then only half would leave", ReleasePolicy{Blocked: second}, []*v1.NodePool{ofZone("p", "a"), ofZone("q", "a"), ofZone("r", "b")}, nil, []string{"p"}},
		"paused nodes": {"they leave when they are resumed", ReleasePolicy{}, []*v1.NodePool{ofZone("p", "A"), ofZone("q", "a"), ofZone("r", "b")}, func(c *Cluster) {
			for _, node := range c.Nodes {
				annotate(node, v1.ReconcileAnnotation, v1.Disabled)
			}
		}, []string{"p"}},
		"nodes left before": {"they leave by their own labels", ReleasePolicy{}, []*v1.NodePool{ofZone("p", "a", "b", "x"), ofZone("q", "a"), ofZone("r", "b")}, func(c *Cluster) {
			for _, node := range c.Nodes {
				node.Labels[zone] = "c"
			}
		}, nil},
		"gone": {"a pool that is gone comes back as another one", ReleasePolicy{}, []*v1.NodePool{ofZone("p", "A"), ofZone("q", "a"), ofZone("r", "b")}, func(c *Cluster) {
			c.Pools = nil
		}, []string{"p"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := appliedRevision(t, revisionOfPools(first, ReleasePolicy{}, before()...), Cluster{Nodes: inZones(map[string]int{"a": 10, "b": 10})})
			if c.meanwhile != nil {
				c.meanwhile(&cluster)
			}
			d, err := Diff(revisionOfPools(second, c.policy, c.after...), cluster)
			if err != nil {
				t.Fatal(err)
			}
			if got := losers(d); !slices.Equal(got, c.want) {
				t.Fatalf("%s: the losses are of %v, want %v", c.reason, got, c.want)
			}
			switch {
			case c.want != nil && len(d.Pools.Changes) > 0:
				t.Errorf("%s: held, and pools change", c.reason)
			case c.want == nil && len(d.Held) > 0:
				t.Errorf("%s: the source may, and pools are held: %v", c.reason, d.Held)
			}
		})
	}
}

// Whoever reviews a revision sees what it does once it is approved, and that it is
// held until then.
func TestHeldRevisionIsShownAsApproved(t *testing.T) {
	cluster := appliedRevision(t, revisionOfPools("main@sha1:first", ReleasePolicy{}, ofZone("p", "a")), Cluster{Nodes: inZones(map[string]int{"a": 12})})
	revision := revisionOfPools("main@sha1:second", ReleasePolicy{}, ofZone("p", "A"))
	held, err := Diff(revision, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if held.Pools.Held == nil || len(held.Nodes) > 0 {
		t.Errorf("held is %v, and %d nodes change", held.Pools.Held, len(held.Nodes))
	}
	for _, part := range []string{"12 of 12 nodes", "nodepools approve source/team"} {
		if text := held.Pools.Held.Error(); !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
	revision.AssumeApproved = true
	shown, err := Diff(revision, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if shown.Pools.Held == nil || len(shown.Nodes) != 12 || len(shown.Held) > 0 {
		t.Errorf("held is %v and %v, and %d nodes change", shown.Pools.Held, shown.Held, len(shown.Nodes))
	}
	byHand := Revision{Pools: revision.Pools, AssumeApproved: true}
	if shown, err = Diff(byHand, carriedOut(t, Cluster{Pools: []*v1.NodePool{ofZone("p", "a")}, Nodes: inZones(map[string]int{"a": 12})})); err != nil {
		t.Fatal(err)
	}
	if len(shown.Held) != 1 || len(shown.Nodes) != 12 || shown.Held[0].Approval != "2" {
		t.Errorf("by hand: held is %v, and %d nodes change", shown.Held, len(shown.Nodes))
	}
}

// What a source puts back was changed by hand, and does not wait for an approval;
// the pools that it writes carry the approval that they need.
func TestSourcePutsBackWithoutAnApproval(t *testing.T) {
	revision := revisionOfPools("main@sha1:first", ReleasePolicy{Applied: "main@sha1:first"}, ofZone("p", "a"))
	cluster := appliedRevision(t, revision, Cluster{Nodes: inZones(map[string]int{"a": 2, "b": 20})})
	// Somebody adds a zone with an update, and so takes the selector over.
	cluster.Pools = edited(cluster.Pools, "p", func(pool *v1.NodePool) {
		zones("a", "b")(pool)
		pool.ManagedFields = append(pool.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`),
		})
	})
	cluster = carriedOut(t, cluster)
	if got := carriersOf(cluster.Nodes)["p"]; got != 22 {
		t.Fatalf("%d nodes carry keys of the pool, want 22", got)
	}
	cluster = appliedRevision(t, revision, cluster)
	if got := carriersOf(cluster.Nodes)["p"]; got != 2 {
		t.Errorf("%d nodes carry keys of the pool, want 2", got)
	}
	d, err := Diff(revision, cluster)
	if err != nil || !d.Empty() {
		t.Errorf("afterwards there is still a difference: %v, %v", d.Pools.Changes, err)
	}
	// A new revision that does the same is held.
	cluster = carriedOut(t, Cluster{Pools: edited(cluster.Pools, "p", zones("a", "b")), Nodes: cluster.Nodes})
	revision.Release.Applied = "main@sha1:other"
	if d, err = Diff(revision, cluster); err != nil || d.Pools.Held == nil {
		t.Errorf("a new revision that takes 20 of 22 nodes out of the pool is not held (%v)", err)
	}
}

package plan

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// A pool asks its own rollout, those around it, and those of stronger pools. What it disturbs without
// asking another rollout on the node is counted.
func TestBypasses(t *testing.T) {
	live := func(name string, change func(*v1.NodePool)) *v1.NodePool {
		pool := fromGit(name, v1.NodePoolSpec{NodeNames: []string{"*"}})
		pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-30 * 24 * time.Hour))
		change(pool)
		return pool
	}
	within := func(parent string) func(*v1.NodePool) {
		return func(pool *v1.NodePool) { pool.Spec.Parent = parent }
	}
	nowhere := func(pool *v1.NodePool) { pool.Spec.NodeNames = []string{"m*"} }
	annotated := func(pool *v1.NodePool) { pool.Spec.Annotations = map[string]v1.AnnotationValue{"a": "b"} }
	const past = `[pool "q" changes 2 nodes without asking the rollout of pool "p"]`
	gated := live("p", closed)
	for name, c := range map[string]struct {
		live, comes []*v1.NodePool
		age         time.Duration
		want        string
	}{
		"stronger":              {[]*v1.NodePool{gated, live("q", all(labelled("1"), prior(1)))}, []*v1.NodePool{gated, live("q", all(labelled("2"), prior(1)))}, time.Hour, past},
		"weaker":                {[]*v1.NodePool{gated, live("q", all(labelled("1"), prior(-1)))}, []*v1.NodePool{gated, live("q", all(labelled("2"), prior(-1)))}, time.Hour, "[]"},
		"stronger, and within":  {[]*v1.NodePool{gated, live("q", all(labelled("1"), prior(1), within("p")))}, []*v1.NodePool{gated, live("q", all(labelled("2"), prior(1), within("p")))}, time.Hour, "[]"},
		"it comes":              {[]*v1.NodePool{gated}, []*v1.NodePool{gated, live("q", all(tainted("x", "NoSchedule"), prior(1)))}, time.Hour, past},
		"it goes":               {[]*v1.NodePool{gated, live("q", all(labelled("1"), prior(1)))}, []*v1.NodePool{gated}, time.Hour, past},
		"disturbs nothing":      {[]*v1.NodePool{gated, live("q", prior(1))}, []*v1.NodePool{gated, live("q", all(annotated, prior(1)))}, time.Hour, "[]"},
		"the node joins":        {[]*v1.NodePool{gated}, []*v1.NodePool{gated, live("q", all(tainted("x", "NoSchedule"), prior(1)))}, time.Second, "[]"},
		"on no node":            {[]*v1.NodePool{live("p", all(closed, nowhere)), live("q", all(labelled("1"), prior(1)))}, []*v1.NodePool{live("p", all(closed, nowhere)), live("q", all(labelled("2"), prior(1)))}, time.Hour, "[]"},
		"becomes stronger":      {[]*v1.NodePool{gated, live("q", all(labelled("1"), prior(-1)))}, []*v1.NodePool{gated, live("q", all(labelled("2"), prior(1)))}, time.Hour, past},
		"the rollout goes":      {[]*v1.NodePool{gated, live("q", all(labelled("1"), prior(-1)))}, []*v1.NodePool{live("p", annotated), live("q", all(labelled("2"), prior(-1)))}, time.Hour, past},
		"the rollout gives way": {[]*v1.NodePool{gated, live("q", all(labelled("1"), prior(-1)))}, []*v1.NodePool{live("p", all(closed, nowhere)), live("q", all(labelled("2"), prior(-1)))}, time.Hour, past},
		"its own rollout goes":  {[]*v1.NodePool{live("p", all(labelled("1"), closed))}, []*v1.NodePool{live("p", labelled("2"))}, time.Hour, `[pool "p" changes 2 nodes without asking the rollout of pool "p"]`},
		"no rollouts":           {[]*v1.NodePool{live("q", labelled("1"))}, []*v1.NodePool{live("q", labelled("2"))}, time.Hour, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := Cluster{Pools: c.live}
			for _, name := range []string{"n1", "n2"} {
				node := newNode(name)
				node.Created = metav1.NewTime(closedAt.Add(-c.age))
				p, err := Node(node, expand(c.live...))
				if err != nil {
					t.Fatal(err)
				}
				cluster.Nodes = append(cluster.Nodes, p.After(node))
			}
			revision := Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")}, AssumeApproved: true}
			for _, pool := range c.comes {
				revision.Pools = append(revision.Pools, render.Definition{Pool: pool})
			}
			d, err := Diff(revision, cluster)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(d.Bypasses(cluster, closedAt)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// Of many rollouts the first few are named.
func TestBypassNamesTheFirst(t *testing.T) {
	b := Bypass{Pool: "q", Rollouts: []string{"a", "b", "c", "d", "e"}, Nodes: []string{"n"}}
	if got, want := b.String(), `pool "q" changes 1 node without asking the rollouts of pools "a", "b", "c" and 2 more`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// A review shows what a pool gives up when it becomes a rollout policy, and what it gets when it
// is none any more.
func TestDiffOfARolloutPolicy(t *testing.T) {
	live := func(change func(*v1.NodePool)) *v1.NodePool {
		pool := fromGit("p", v1.NodePoolSpec{NodeNames: []string{"*"}})
		change(pool)
		return pool
	}
	policy := func() *v1.NodePool { return live(limited("1", time.Minute)) }
	handled := func() *v1.NodePool {
		return live(all(limited("1", time.Minute), func(pool *v1.NodePool) { pool.Spec.Handler = "runc" }))
	}
	for name, c := range map[string]struct {
		before, after *v1.NodePool
		want          []string
	}{
		"becomes one":        {handled(), policy(), []string{"delete node-pool-p", "n: label node-role.kubernetes.io/p goes"}},
		"is one":             {policy(), policy(), nil},
		"is none any more":   {policy(), handled(), []string{"create node-pool-p", "n: label node-role.kubernetes.io/p comes"}},
		"is none, as before": {handled(), handled(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			node := newNode("n")
			p, err := Node(node, expand(c.before))
			if err != nil {
				t.Fatal(err)
			}
			cluster := Cluster{Pools: []*v1.NodePool{c.before}, Nodes: []*NodeState{p.After(node)}}
			if !c.before.IsRolloutPolicy() {
				cluster.RuntimeClasses = append(cluster.RuntimeClasses, ownedClass(c.before, nil))
			}
			d, err := Diff(Revision{
				Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")},
				Pools: []render.Definition{{Pool: c.after}},
			}, cluster)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, class := range d.RuntimeClasses {
				got = append(got, fmt.Sprintf("%s %s", class.Action, class.Name()))
			}
			for _, node := range d.Nodes {
				for _, change := range node.Changes {
					happens := "comes"
					if change.After == nil {
						happens = "goes"
					}
					got = append(got, fmt.Sprintf("%s: %s %s %s", node.Name, change.Field, change.Key, happens))
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

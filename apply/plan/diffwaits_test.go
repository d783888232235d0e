package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// reportedWaits writes waits in a few words.
func reportedWaits(waits []PoolWaiting) []string {
	var lines []string
	for _, waiting := range waits {
		line := fmt.Sprintf("%s %d", waiting.Pool, waiting.Nodes)
		for _, wait := range waiting.Waits {
			line += fmt.Sprintf(" [%s until %s]", strings.Join(wait.For, " "), wait.Next.UTC().Format("2006-01-02 15:04"))
		}
		if waiting.Class != nil {
			line += " class"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestDifferenceWaits(t *testing.T) {
	const long = 365 * 24 * time.Hour
	// live is a pool of the source, as it stands in the cluster.
	live := func(name string, change func(*v1.NodePool)) *v1.NodePool {
		pool := fromGit(name, v1.NodePoolSpec{NodeNames: []string{"*"}})
		pool.CreationTimestamp = metav1.NewTime(closedAt.Add(-30 * 24 * time.Hour))
		if change != nil {
			change(pool)
		}
		pool.Status.Accepted = AcceptedSpecOf(pool)
		return pool
	}
	handled := func(handler string) func(*v1.NodePool) {
		return func(pool *v1.NodePool) { pool.Spec.Handler = handler }
	}
	noon := func(pool *v1.NodePool) {
		pool.Spec.Rollout = &v1.Rollout{Windows: []v1.Window{{Schedule: "0 2-15 * * *", Duration: metav1.Duration{Duration: time.Minute}}}}
	}
	cases := map[string]struct {
		reason string
		live   []*v1.NodePool
		comes  []*v1.NodePool
		age    time.Duration
		at     time.Time
		want   []string
	}{
		"label changes":   {"pods may select it", []*v1.NodePool{live("p", labelled("1"))}, []*v1.NodePool{live("p", all(labelled("2"), closed))}, long, closedAt, []string{"p 2 [p until 2026-11-26 02:00]"}},
		"window is open":  {"nothing waits", []*v1.NodePool{live("p", labelled("1"))}, []*v1.NodePool{live("p", all(labelled("2"), closed))}, long, opensAt, nil},
		"no rollout":      {"nothing ever waits", []*v1.NodePool{live("p", labelled("1"))}, []*v1.NodePool{live("p", labelled("2"))}, long, closedAt, nil},
		"label comes":     {"no pod has selected it", []*v1.NodePool{live("p", closed)}, []*v1.NodePool{live("p", all(labelled("1"), closed))}, long, closedAt, nil},
		"nothing changes": {"what is not shown does not wait", []*v1.NodePool{live("p", all(labelled("1"), closed))}, []*v1.NodePool{live("p", all(labelled("1"), closed))}, long, closedAt, nil},
		"pool goes":       {"the release waits, by what the pool says now", []*v1.NodePool{live("p", all(labelled("1"), closed)), live("q", nil)}, []*v1.NodePool{live("q", nil)}, long, closedAt, []string{"p 2 [p until 2026-11-26 02:00]"}},
		"rollout goes":    {"what the pool says afterwards counts", []*v1.NodePool{live("p", all(labelled("1"), closed))}, []*v1.NodePool{live("p", labelled("2"))}, long, closedAt, nil},
		"rollout of another": {"a stronger pool holds it up", []*v1.NodePool{live("p", labelled("1")), live("q", all(closed, prior(1)))},
			[]*v1.NodePool{live("p", labelled("2")), live("q", all(closed, prior(1)))}, long, closedAt, []string{"p 2 [q until 2026-11-26 02:00]"}},
		"both": {"the first time at which both are open", []*v1.NodePool{live("p", labelled("1")), live("q", all(closed, prior(1)))},
			[]*v1.NodePool{live("p", all(labelled("2"), noon)), live("q", all(closed, prior(1)))}, long, closedAt.Add(30 * time.Minute), []string{"p 2 [q p until 2026-11-26 02:00]"}},
		"node of today":     {"it was there before the change", []*v1.NodePool{live("p", labelled("1"))}, []*v1.NodePool{live("p", all(labelled("2"), closed))}, time.Hour, closedAt, []string{"p 2 [p until 2026-11-26 02:00]"}},
		"node's age unseen": {"it counts as in use", []*v1.NodePool{live("p", labelled("1"))}, []*v1.NodePool{live("p", all(labelled("2"), closed))}, 0, closedAt, []string{"p 2 [p until 2026-11-26 02:00]"}},
		"becomes a policy":  {"the role label and the label go later", []*v1.NodePool{live("p", labelled("1"))}, []*v1.NodePool{live("p", closed)}, long, closedAt, []string{"p 2 [p until 2026-11-26 02:00]"}},
		"handler":           {"the RuntimeClass is replaced later", []*v1.NodePool{live("p", handled("a"))}, []*v1.NodePool{live("p", all(handled("b"), closed))}, long, closedAt, []string{"p 0 class"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := Cluster{Pools: c.live}
			for _, name := range []string{"n1", "n2"} {
				node := newNode(name)
				if c.age > 0 {
					node.Created = metav1.NewTime(closedAt.Add(-c.age))
				}
				p, err := Node(node, expand(c.live...))
				if err != nil {
					t.Fatal(err)
				}
				cluster.Nodes = append(cluster.Nodes, p.After(node))
			}
			for _, pool := range c.live {
				if pool.IsRolloutPolicy() {
					continue
				}
				class, err := RuntimeClass(nil, expand(c.live...).RuntimeClass(pool.Name), pool)
				if err != nil {
					t.Fatal(err)
				}
				cluster.RuntimeClasses = append(cluster.RuntimeClasses, class.Want)
			}
			revision := Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")}, AssumeApproved: true}
			for _, pool := range c.comes {
				revision.Pools = append(revision.Pools, render.Definition{Pool: pool})
			}
			d, err := Diff(revision, cluster)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, reportedWaits(d.Waits(cluster, c.at))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

package plan

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestRenames(t *testing.T) {
	spec := func(pattern string, change func(*v1.NodePoolSpec)) v1.NodePoolSpec {
		s := v1.NodePoolSpec{
			NodeNames: []string{pattern}, Labels: map[string]v1.LabelValue{"k": "1"},
			Taints: []v1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "b", Effect: corev1.TaintEffectNoSchedule}},
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	old := fromGit("old", spec("n?", nil))
	for name, c := range map[string]struct {
		reason string
		head   map[string]v1.NodePoolSpec
		want   string
	}{
		"a rename":            {"same nodes, same keys", map[string]v1.NodePoolSpec{"new": spec("n?", nil)}, "old to new, 2 nodes"},
		"the order of taints": {"is not theirs", map[string]v1.NodePoolSpec{"new": spec("n?", func(s *v1.NodePoolSpec) { s.Taints[0], s.Taints[1] = s.Taints[1], s.Taints[0] })}, "old to new, 2 nodes"},
		"own role label":      {"is that of the name", map[string]v1.NodePoolSpec{"new": spec("n?", func(s *v1.NodePoolSpec) { s.Labels[v1.RoleLabel("new")] = "" })}, "old to new, 2 nodes"},
		"chosen otherwise":    {"the nodes are the same", map[string]v1.NodePoolSpec{"new": spec("*", nil)}, "old to new, 2 nodes"},
		"one of several":      {"the first by name that fits", map[string]v1.NodePoolSpec{"a": spec("n1", nil), "b": spec("n?", nil), "c": spec("n?", nil)}, "old to b, 2 nodes"},
		"another label":       {"a key changes", map[string]v1.NodePoolSpec{"new": spec("n?", func(s *v1.NodePoolSpec) { s.Labels["k"] = "2" })}, ""},
		"another taint":       {"a key changes", map[string]v1.NodePoolSpec{"new": spec("n?", func(s *v1.NodePoolSpec) { s.Taints[0].Value = "x" })}, ""},
		"other nodes":         {"a node leaves", map[string]v1.NodePoolSpec{"new": spec("n1", nil)}, ""},
		"a copy":              {"the old one stays", map[string]v1.NodePoolSpec{"old": spec("n?", nil), "new": spec("n?", nil)}, ""},
		"a deletion":          {"nothing takes its place", map[string]v1.NodePoolSpec{"old2": spec("x", nil)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			revision := Revision{Source: old.Labels[v1.SourceLabel], SourceUID: teamUID, Name: "main@sha1:new", Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")}, AssumeApproved: true}
			for _, pool := range []string{"a", "b", "c", "new", "old", "old2"} {
				if s, found := c.head[pool]; found {
					revision.Pools = append(revision.Pools, inFile(pool, s))
				}
			}
			cluster := Cluster{Pools: []*v1.NodePool{old}, Nodes: []*NodeState{newNode("n1"), newNode("n2")}}
			difference, err := Diff(revision, cluster)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, r := range difference.Renames(cluster) {
				got += fmt.Sprintf("%s to %s, %d nodes", r.From, r.To, r.Nodes)
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

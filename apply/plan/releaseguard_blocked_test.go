package plan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A revision that was held, as it would evict from 30 of 50 nodes, stays so when there are 70, as
// long as it is what would be carried out, by the limit by which it was held.
func TestHeldRevisionStaysBlocked(t *testing.T) {
	const first, second, third = "main@sha1:first", "main@sha1:second", "main@sha1:third"
	cases := map[string]struct {
		reason string
		edit   func(*v1.NodePoolSource)
		// revision is the one that would be carried out; empty is the one that was held.
		revision string
		held     bool
	}{
		"nothing else happens": {"nodes come and go", func(*v1.NodePoolSource) {}, "", true},
		"another spec": {"it was suspended and resumed, and has another interval", func(s *v1.NodePoolSource) {
			s.Generation, s.Spec.Interval.Duration = 4, v1.DefaultInterval
		}, "", true},
		"suspended meanwhile": {"that is reported of the new spec", func(s *v1.NodePoolSource) { s.Generation, s.Status.ObservedGeneration = 3, 3 }, "", true},
		"a broken revision":   {"it was polled, and is not carried out", func(s *v1.NodePoolSource) { s.Status.LastAttemptedRevision = third }, "", true},
		"the limit in words":  {"it is what the limit was by default", func(s *v1.NodePoolSource) { s.Spec.ReleaseLimit = ptr.To(intstr.FromString("50%")) }, "", true},
		"a lower limit":       {"it is counted anew, and within this one", func(s *v1.NodePoolSource) { s.Spec.ReleaseLimit = ptr.To(intstr.FromString("45%")) }, "", false},
		"a higher limit":      {"somebody has allowed it", func(s *v1.NodePoolSource) { s.Spec.ReleaseLimit = ptr.To(intstr.FromString("60%")) }, "", false},
		"a good revision":     {"it is another one, and within the limit", func(*v1.NodePoolSource) {}, third, false},
		"approved":            {"by somebody", func(s *v1.NodePoolSource) { s.Annotations = map[string]string{v1.ApproveReleaseAnnotation: second} }, "", false},
		"another approval":    {"it is of another revision", func(s *v1.NodePoolSource) { s.Annotations = map[string]string{v1.ApproveReleaseAnnotation: third} }, "", true},
		"applied since": {"what was held is over", func(s *v1.NodePoolSource) {
			(&PoolsPlan{}).Remember(s, first, nil, &s.Status)
			s.Status.Conditions = nil // by the reconciler
		}, "", false},
	}
	before := appliedRevision(t, revisionOfPools(first, ReleasePolicy{}, ofZone("p", "a")), Cluster{Nodes: inZones(map[string]int{"a": 30, "b": 20})})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			source := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "team", Generation: 2}}
			source.Status = v1.NodePoolSourceStatus{ObservedGeneration: 2, Revision: first, LastAttemptedRevision: second}
			held := func(revision string, nodes []*NodeState) bool {
				r := revisionOfPools(revision, ReleasePolicyOf(source), evictingAll("p", "1", 0, "a"))
				o, err := RevisionOutcomeOf(r, before.Pools, func() ([]*NodeState, error) { return nodes, nil })
				if err != nil {
					t.Fatal(err)
				}
				return o.Refused != nil
			}
			if !held(second, before.Nodes) {
				t.Fatal("the revision is not held: this proves nothing")
			}
			source.Status.BlockedRelease = BlockedReleaseOf(source, second)
			source.Status.Conditions = []metav1.Condition{{Type: v1.ReleaseBlockedCondition, Status: metav1.ConditionTrue, ObservedGeneration: 2}}
			c.edit(source)
			revision := second
			if c.revision != "" {
				revision = c.revision
			}
			if got := held(revision, append(inZones(map[string]int{"c": 20}), before.Nodes...)); got != c.held {
				t.Errorf("held is %t, want %t: %s", got, c.held, c.reason)
			}
			// Of so few nodes, what is not held yet is not limited.
			if got := held(revision, inZones(map[string]int{"a": 9})); got != c.held {
				t.Errorf("of 9 nodes, held is %t, want %t: %s", got, c.held, c.reason)
			}
		})
	}
}

package plan

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestRevisionOutcome(t *testing.T) {
	const name = "main@sha1:new"
	none := func() ([]*NodeState, error) { return nil, nil }
	revision := func(edit func(*Revision)) Revision {
		r := revisionOfPools(name, ReleasePolicy{}, define("p", v1.NodePoolSpec{}))
		edit(&r)
		return r
	}
	t.Run("of nobody's pools", func(t *testing.T) {
		o, err := RevisionOutcomeOf(revision(func(r *Revision) { r.SourceUID = teamUID }), []*v1.NodePool{define("p", v1.NodePoolSpec{})}, none)
		if claim := (*ClaimError)(nil); err != nil || o.Plan != nil || !errors.As(o.Refused, &claim) {
			t.Errorf("outcome %+v and error %v, want a claim that is refused", o, err)
		}
	})
	t.Run("nothing changes", func(t *testing.T) {
		cluster := appliedRevision(t, revision(func(*Revision) {}), Cluster{})
		ask := func() ([]*NodeState, error) { t.Error("nodes are listed for nothing"); return nil, nil }
		if o, err := RevisionOutcomeOf(revision(func(r *Revision) { r.Numbers = cluster.Numbers }), cluster.Pools, ask); err != nil || o.Refused != nil || len(o.Plan.Changes) > 0 {
			t.Errorf("outcome %+v and error %v, want no change", o, err)
		}
	})
	t.Run("nodes that cannot be listed", func(t *testing.T) {
		broken := errors.New("broken")
		if _, err := RevisionOutcomeOf(revision(func(*Revision) {}), nil, func() ([]*NodeState, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("error %v, want %v: nothing may be released on doubt", err, broken)
		}
	})
	t.Run("a pool that is being deleted", func(t *testing.T) {
		cluster := appliedRevision(t, revision(func(*Revision) {}), Cluster{})
		live := cluster.Pools
		live[0].DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
		o, err := RevisionOutcomeOf(revision(func(r *Revision) { r.Numbers = cluster.Numbers }), live, none)
		if err != nil || !slices.Equal(o.Recreated, []string{"p"}) || len(o.Plan.Changes) > 0 {
			t.Errorf("outcome %+v and error %v, want p to be waited for", o, err)
		}
	})
	for _, assumed := range []bool{false, true} {
		nodes := inZones(map[string]int{"a": 4, "b": 16})
		first := revisionOfPools("main@sha1:old", ReleasePolicy{}, ofZone("p", "a", "b"))
		cluster := appliedRevision(t, first, Cluster{Nodes: nodes})
		second := revisionOfPools(name, ReleasePolicy{}, ofZone("p", "a"))
		second.AssumeApproved, second.Numbers = assumed, cluster.Numbers
		o, err := RevisionOutcomeOf(second, cluster.Pools, func() ([]*NodeState, error) { return cluster.Nodes, nil })
		if err != nil || o.Plan.Held == nil || (o.Refused == nil) != assumed || (len(o.Plan.Changes) > 0) != assumed {
			t.Errorf("approval assumed %t: plan %+v, refused %v, error %v", assumed, o.Plan, o.Refused, err)
		}
	}
}

func TestRemember(t *testing.T) {
	const name = "main@sha1:new"
	src := &v1.NodePoolSource{}
	src.Annotations = map[string]string{v1.ApproveReleaseAnnotation: name}
	old := v1.NodePoolSourceStatus{
		Revision: "main@sha1:old", PruneBase: 7,
		LastHandledPruneApproval: "main@sha1:old", LastHandledReleaseApproval: "main@sha1:old",
	}
	cases := map[string]struct {
		reason   string
		plan     PoolsPlan
		base     int32
		prune    string
		releases string
	}{
		"nothing held back":    {"percentages are of the pools that there are", PoolsPlan{OwnedAfter: 9}, 9, "main@sha1:old", name},
		"blocked":              {"what is held back must not make way for itself", PoolsPlan{OwnedAfter: 9, Blocked: &PruneBlock{}}, 7, "main@sha1:old", name},
		"approved and done":    {"an approval counts once", PoolsPlan{Approved: true}, 0, name, name},
		"approved, not done":   {"there is something left to delete", PoolsPlan{Approved: true, Changes: []PoolChange{{Action: Delete}}}, 0, "main@sha1:old", name},
		"approved and blocked": {"it has done nothing", PoolsPlan{Approved: true, Blocked: &PruneBlock{}}, 7, "main@sha1:old", name},
	}
	for label, c := range cases {
		t.Run(label, func(t *testing.T) {
			status := old
			c.plan.Remember(src, name, nil, &status)
			if status.Revision != name {
				t.Errorf("revision %q is applied, want %q", status.Revision, name)
			}
			if status.PruneBase != c.base || status.LastHandledPruneApproval != c.prune || status.LastHandledReleaseApproval != c.releases {
				t.Errorf("base %d, approvals %q and %q, want %d, %q and %q: %s",
					status.PruneBase, status.LastHandledPruneApproval, status.LastHandledReleaseApproval, c.base, c.prune, c.releases, c.reason)
			}
		})
	}
}

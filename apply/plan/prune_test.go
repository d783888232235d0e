package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestPrunePolicyOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		spec   v1.NodePoolSourceSpec
		want   PrunePolicy
	}{
		"defaults": {"as the schema sets them", v1.NodePoolSourceSpec{}, PrunePolicy{Enabled: true, Limit: intstr.FromString("30%")}},
		"disabled": {"vanished pools are kept", v1.NodePoolSourceSpec{Prune: ptr.To(false)}, PrunePolicy{Enabled: false, Limit: intstr.FromString("30%")}},
		"limit":    {"a number", v1.NodePoolSourceSpec{Prune: ptr.To(true), PruneLimit: ptr.To(intstr.FromInt32(0))}, PrunePolicy{Enabled: true, Limit: intstr.FromInt32(0)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := PrunePolicyOf(&v1.NodePoolSource{Spec: c.spec})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	policy := func(limit string) PrunePolicy {
		return PrunePolicy{Enabled: true, Limit: intstr.Parse(limit)}
	}
	// held makes so many pools of the source team, named p0 and so on.
	held := func(count int) []*v1.NodePool {
		var live []*v1.NodePool
		for i := range count {
			live = append(live, fromGit(fmt.Sprintf("p%d", i), v1.NodePoolSpec{}))
		}
		return live
	}
	edit := func(live []*v1.NodePool, i int, change func(*v1.NodePool)) []*v1.NodePool {
		change(live[i])
		return live
	}
	deleting := func(pool *v1.NodePool) { pool.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }
	mark := func(annotation string) func(*v1.NodePool) {
		return func(pool *v1.NodePool) { pool.Annotations[annotation] = v1.Disabled }
	}
	cases := map[string]struct {
		reason string
		policy PrunePolicy
		live   []*v1.NodePool
		// keeps is how many of the pools, from the first on, the revision has.
		keeps   int
		gone    []string
		blocked []string
		// why is part of the reason.
		why string
	}{
		"nothing vanished":        {"nothing to do", policy("0"), held(3), 3, nil, nil, ""},
		"within the limit":        {"two of ten are less than 30%", policy("30%"), held(10), 8, []string{"p8", "p9"}, nil, ""},
		"at the limit":            {"three of ten are 30%", policy("30%"), held(10), 7, []string{"p7", "p8", "p9"}, nil, ""},
		"beyond the limit":        {"four of ten are too many, and none of them goes", policy("30%"), held(10), 6, nil, []string{"p6", "p7", "p8", "p9"}, "the limit is 3 (spec.pruneLimit 30%)"},
		"rounded up":              {"one of two can always go", policy("30%"), held(2), 1, []string{"p1"}, nil, ""},
		"rounded up, not further": {"30% of four are two at most", policy("30%"), held(4), 1, nil, []string{"p1", "p2", "p3"}, "the limit is 2"},
		"a hundred percent":       {"all but the last", policy("100%"), held(3), 1, []string{"p1", "p2"}, nil, ""},
		"the last pool":           {"an empty revision is more likely a wrong path than a wish", policy("100%"), held(1), 0, nil, []string{"p0"}, "the last pool of a source is never pruned"},
		"all pools":               {"the same", policy("1000"), held(3), 0, nil, []string{"p0", "p1", "p2"}, "no pool at all"},
		"limit 0":                 {"nothing may ever go", policy("0"), held(3), 2, nil, []string{"p2"}, "the limit is 0 (spec.pruneLimit 0)"},
		"limit 0%":                {"the same", policy("0%"), held(3), 2, nil, []string{"p2"}, "the limit is 0 (spec.pruneLimit 0%)"},
		"a number":                {"two may go", policy("2"), held(3), 1, []string{"p1", "p2"}, nil, ""},
		"beyond the number":       {"three may not", policy("2"), held(4), 1, nil, []string{"p1", "p2", "p3"}, "the limit is 2 (spec.pruneLimit 2)"},
		"an unreadable limit":     {"nothing goes on doubt", policy("few"), held(3), 2, nil, []string{"p2"}, `spec.pruneLimit "few" cannot be read`},
		"disabled":                {"vanished pools stay, and that is no block", PrunePolicy{Limit: intstr.FromInt32(9)}, held(3), 1, nil, nil, ""},
		"kept by its annotation":  {"somebody has said so", policy("100%"), edit(held(3), 2, mark(v1.PruneAnnotation)), 1, []string{"p1"}, nil, ""},
		"paused":                  {"deleting it would release its nodes, and a paused pool is left as it is", policy("100%"), edit(held(3), 2, mark(v1.ReconcileAnnotation)), 1, []string{"p1"}, nil, ""},
		"keeping makes no way":    {"three of five vanish; that one is kept does not let the others go", policy("30%"), edit(held(5), 4, mark(v1.PruneAnnotation)), 2, nil, []string{"p2", "p3", "p4"}, "the limit is 2"},
		"pools added meanwhile":   {"a revision that is held back does not make way for itself", PrunePolicy{Enabled: true, Limit: intstr.FromString("30%"), Base: 5}, held(9), 7, []string{"p7", "p8"}, nil, ""},
		"more added meanwhile":    {"the percentage is of those that were there before", PrunePolicy{Enabled: true, Limit: intstr.FromString("30%"), Base: 5}, held(9), 6, nil, []string{"p6", "p7", "p8"}, "the limit is 2"},
		"fewer than before":       {"it is of no more than there are", PrunePolicy{Enabled: true, Limit: intstr.FromString("50%"), Base: 100}, held(4), 1, nil, []string{"p1", "p2", "p3"}, "the limit is 2"},
		"all, after all were deleted by hand": {
			"the base was noted while they were being made again, and 100% never blocks",
			PrunePolicy{Enabled: true, Limit: intstr.FromString("100%"), Base: 5}, held(9), 1, []string{"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"}, nil, "",
		},
		"all that were blocked": {
			"100% allows what was blocked, of however many it is the rest",
			PrunePolicy{Enabled: true, Limit: intstr.FromString("100%"), Blocked: &v1.BlockedPrune{Count: 8, Pools: []string{"p1", "p2"}}}, held(3), 1, []string{"p1", "p2"}, nil, "",
		},
		"more gone than the base": {
			"the share is of what is gone at the least",
			PrunePolicy{Enabled: true, Limit: intstr.FromString("50%"), Base: 2}, held(6), 1, nil, []string{"p1", "p2", "p3", "p4", "p5"}, "the limit is 3 (spec.pruneLimit 50%)",
		},
		"only kept ones vanish": {"there is nothing to hold back", policy("0"), edit(held(3), 2, mark(v1.PruneAnnotation)), 2, nil, nil, ""},
		"on its way out":        {"it is deleted already, and no pool of the source any more", policy("50%"), edit(held(3), 2, deleting), 1, []string{"p1"}, nil, ""},
		"another source's":      {"it is not for this source to say", policy("100%"), edit(held(3), 2, handedTo("other")), 1, []string{"p1"}, nil, ""},
		"made by hand":          {"the same", policy("100%"), edit(held(3), 2, func(pool *v1.NodePool) { pool.Labels, pool.Annotations = nil, nil }), 1, []string{"p1"}, nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			revision := Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: c.policy}
			for i := range c.keeps {
				revision.Pools = append(revision.Pools, inFile(fmt.Sprintf("p%d", i), v1.NodePoolSpec{}))
			}
			p, err := Pools(revision, c.live)
			if err != nil {
				t.Fatal(err)
			}
			var gone []string
			for _, change := range p.Changes {
				if change.Action != Delete || change.Want != nil || change.Live == nil {
					t.Errorf("change %+v", change)
				}
				gone = append(gone, change.Name)
			}
			if diff := cmp.Diff(c.gone, gone); diff != "" {
				t.Errorf("deleted: %s (-want +got):\n%s", c.reason, diff)
			}
			if (p.Blocked != nil) != (c.blocked != nil) {
				t.Fatalf("blocked: %v: %s", p.Blocked, c.reason)
			}
			if p.Blocked == nil {
				return
			}
			if diff := cmp.Diff(c.blocked, p.Blocked.Pools); diff != "" {
				t.Errorf("kept: %s (-want +got):\n%s", c.reason, diff)
			}
			of := len(c.live)
			if c.policy.Base > 0 {
				of = max(min(of, c.policy.Base), len(c.blocked))
			}
			if text := p.Blocked.Error(); !strings.Contains(text, c.why) || p.Blocked.Of != of {
				t.Errorf("reported as %q, of %d pools; want %q", text, p.Blocked.Of, c.why)
			}
		})
	}
}

package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A pool is followed by what was accepted, by hand or by the number of its source.
func TestAccepted(t *testing.T) {
	pool := func(generation int64, stamp string, edit ...func(*v1.NodePool)) *v1.NodePool {
		pool := define("p", v1.NodePoolSpec{Handler: "new"})
		pool.Generation = generation
		pool.Annotations = map[string]string{v1.RevisionNumberAnnotation: stamp}
		for _, edit := range edit {
			edit(pool)
		}
		return pool
	}
	accepted := func(generation int64, handler string) func(*v1.NodePool) {
		return func(pool *v1.NodePool) {
			pool.Status.Accepted = &v1.AcceptedSpec{Generation: generation, Spec: v1.NodePoolSpec{Handler: handler}}
		}
	}
	hash := hashOf(&define("p", v1.NodePoolSpec{Handler: "new"}).Spec)
	numbers := Numbers{"u": 5}
	for name, c := range map[string]struct {
		pool *v1.NodePool
		// want is the handler that nodes follow; empty where they follow nothing.
		want    string
		leaves  bool
		pending PendingReason
	}{
		"accepted":                    {pool(2, "", accepted(2, "new")), "new", false, ""},
		"edited by hand":              {pool(3, "", accepted(2, "old"), evictingOn), "old", false, PendingOthers},
		"new":                         {pool(1, ""), "", false, PendingOthers},
		"new, and nothing to judge":   {pool(1, "", func(pool *v1.NodePool) { pool.Spec.Labels = nil }), "", false, PendingOthers},
		"written, and not counted":    {pool(3, "u/6/"+hash, accepted(2, "old")), "old", false, PendingRevision},
		"new, and not counted":        {pool(1, "u/6/"+hash), "", false, PendingRevision},
		"counted":                     {pool(3, "u/5/"+hash, accepted(2, "old")), "new", false, ""},
		"new, and counted":            {pool(1, "u/4/"+hash), "new", false, ""},
		"counted, and edited":         {pool(4, "u/5/other", accepted(2, "old"), evictingOn), "old", false, PendingOthers},
		"of a source that is gone":    {pool(3, "gone/1/"+hash, accepted(2, "old"), evictingOn), "old", false, PendingOthers},
		"counted while it is paused":  {pool(3, "u/5/"+hash, accepted(2, "old"), pause), "old", false, PendingPaused},
		"new, and paused":             {pool(1, "u/5/"+hash, pause), "", false, PendingPaused},
		"paused, and nothing else":    {pool(2, "", accepted(2, "new"), pause), "new", false, ""},
		"dropped, and not counted":    {pool(2, "u/6/gone", accepted(2, "new")), "new", false, ""},
		"dropped":                     {pool(2, "u/5/gone", accepted(2, "new")), "new", true, ""},
		"dropped, and being deleted":  {pool(3, "u/5/gone", accepted(2, "new"), deleted), "new", true, ""},
		"dropped while it is paused":  {pool(2, "u/5/gone", accepted(2, "new"), pause), "new", false, ""},
		"deleted":                     {pool(3, "", accepted(3, "new"), deleted), "new", true, ""},
		"deleted, and not accepted":   {pool(3, "", accepted(2, "new"), deleted, pause), "new", false, PendingPaused},
		"counted, deleted by hand":    {pool(4, "u/5/"+hash, accepted(2, "old"), deleted, pause), "old", false, PendingPaused},
		"a stamp that is none":        {pool(2, "u/x/"+hash, accepted(2, "new")), "new", false, ""},
		"in a file, on no API server": {pool(0, ""), "new", false, ""},
		"its rollout is paused at once": {pool(3, "", func(pool *v1.NodePool) {
			pool.Status.Accepted = &v1.AcceptedSpec{Generation: 2, Spec: v1.NodePoolSpec{Handler: "old", Rollout: &v1.Rollout{}}}
			pool.Spec.Rollout = &v1.Rollout{Paused: true}
			evictingOn(pool)
		}), "old paused", false, PendingOthers},
	} {
		as := numbers.Accepted(c.pool)
		got := ""
		if as != nil {
			got = as.Spec.Handler
			if as.Spec.Rollout != nil && as.Spec.Rollout.Paused {
				got += " paused"
			}
		}
		if got != c.want || as != nil && !as.DeletionTimestamp.IsZero() != c.leaves {
			t.Errorf("%s: nodes follow %q, of a pool that %+v", name, got, as)
		}
		a := AcceptanceOf([]*v1.NodePool{c.pool}, numbers)
		if pending := a.Pending("p"); (pending != nil) != (c.pending != "" && c.pending != PendingOthers) || pending != nil && pending.Reason != c.pending {
			t.Errorf("%s: pending is %+v, want %q", name, pending, c.pending)
		}
		judged := Accept([]*v1.NodePool{c.pool}, nil, numbers, AcceptFacts{})
		pending := judged.Pending("p")
		if c.pending == PendingOthers { // there are no others
			if pending != nil || !judged.Accepts("p") {
				t.Errorf("%s: it is not accepted: %+v", name, pending)
			}
		} else if (pending != nil) != (c.pending != "") || pending != nil && pending.Reason != c.pending || judged.Accepts("p") {
			t.Errorf("%s: judged as %+v, want %q", name, pending, c.pending)
		}
	}
}

func evictingOn(pool *v1.NodePool) {
	pool.Spec.Taints = []v1.Taint{{Key: "example.com/wall", Effect: corev1.TaintEffectNoExecute}}
}

// What is held stays so, until its spec changes, or somebody approves its generation, once.
func TestHeldUntilApproved(t *testing.T) {
	cluster := carriedOut(t, Cluster{Pools: []*v1.NodePool{ofZone("p", "a", "b")}, Nodes: inZones(map[string]int{"a": 10, "b": 12})})
	edit := func(values ...string) { cluster.Pools = edited(cluster.Pools, "p", zones(values...)) }
	approve := func(generation int64) {
		cluster.Pools = edited(cluster.Pools, "p", func(pool *v1.NodePool) {
			pool.Generation--
			approvedBy(strconv.FormatInt(generation, 10))(pool)
		})
	}
	carriers := func() int { cluster = carriedOut(t, cluster); return carriersOf(cluster.Nodes)["p"] }
	edit("a")
	if got := carriers(); got != 22 {
		t.Fatalf("12 of 22 nodes would leave, and %d are left", got)
	}
	block := BlockOf(cluster.Pools[0])
	for _, part := range []string{`pool "p" is held`, `12 of 22 nodes would leave pool "p"`, "b-00, b-01, b-02 and 9 more", "50%", "nodepools approve p"} {
		if !strings.Contains(block.Error(), part) {
			t.Errorf("%q does not say %q", block.Error(), part)
		}
	}
	if act := ApprovePool(nil, "", block); act.Set[v1.ApproveReleaseAnnotation] != "2" {
		t.Errorf("the approval is %v, want of generation 2", act.Set)
	}
	cluster.Nodes = cluster.Nodes[:20] // by now only half would leave
	if got := carriers(); got != 20 {
		t.Errorf("it was held, and %d nodes are left", got)
	}
	approve(1)
	if got := carriers(); got != 20 {
		t.Errorf("another generation is approved, and %d nodes are left", got)
	}
	approve(2)
	if got := carriers(); got != 10 || len(heldNames(cluster)) > 0 {
		t.Errorf("approved, and %d nodes are left; held are %v", got, heldNames(cluster))
	}
	edit("a", "b")
	edit("a")
	carriers()
	edit("a", "b")
	if got := carriers(); got != 20 {
		t.Errorf("it is undone, and on %d nodes", got)
	}
	edit("x")
	if got := carriers(); got != 20 {
		t.Errorf("a later change was approved by the approval of an earlier one: %d nodes are left", got)
	}
}

// Hand edits are judged one after the other, by rank, by what nodes follow then.
func TestEditsAreJudgedOneByOne(t *testing.T) {
	strong := ofZone("strong", "a", "b")
	strong.Spec.Priority = 1
	cluster := carriedOut(t, Cluster{Pools: []*v1.NodePool{strong, within(ofZone("weak", "a", "b"), "strong")}, Nodes: inZones(map[string]int{"a": 20, "b": 14})})
	cluster.Pools = edited(edited(cluster.Pools, "strong", zones("a")), "weak", zones("b", "c"))
	a := Accept(cluster.Pools, cluster.Nodes, nil, AcceptFacts{})
	if !a.Accepts("strong") || a.Accepts("weak") || a.Pending("weak").Reason != PendingOthers {
		t.Errorf("strong: %+v, weak: %+v; want the first by rank accepted, and the other to wait", a.Pending("strong"), a.Pending("weak"))
	}
	if got := heldNames(cluster); !slices.Equal(got, []string{"weak"}) {
		t.Errorf("held are %v: once the first is accepted, all would leave weak", got)
	}
}

// Deletions wait until it is known which others there are. The deletion of a definition is that
// of all pools, however many it has reached.
func TestDeletionsAreGathered(t *testing.T) {
	pools := func(deletedPools ...string) Cluster {
		cluster := carriedOut(t, Cluster{Pools: []*v1.NodePool{ofZone("p", "a", "b"), ofZone("q", "a"), ofZone("idle", "x")}, Nodes: inZones(map[string]int{"a": 2, "b": 2})})
		for _, name := range deletedPools {
			cluster.Pools = edited(cluster.Pools, name, deleted)
		}
		return cluster
	}
	for name, c := range map[string]struct {
		deleted  []string
		facts    AcceptFacts
		accepted string
		gathers  bool
	}{
		"one":                    {[]string{"p"}, AcceptFacts{}, "p", false},
		"one, just now":          {[]string{"p"}, AcceptFacts{Deleting: true}, "", true},
		"one that nothing is of": {[]string{"idle"}, AcceptFacts{Deleting: true}, "", true},
		"the only one of nodes":  {[]string{"p"}, AcceptFacts{DefinitionGoes: true}, "", false},
		"two":                    {[]string{"p", "q"}, AcceptFacts{}, "", false},
		"two, one of nothing":    {[]string{"q", "idle"}, AcceptFacts{}, "idle q", false},
		"a few nodes of the two": {[]string{"q", "p"}, AcceptFacts{}, "", false},
		"one, by its definition": {[]string{"q"}, AcceptFacts{DefinitionGoes: true}, "", false},
	} {
		cluster := pools(c.deleted...)
		a := Accept(cluster.Pools, cluster.Nodes, nil, c.facts)
		var accepted []string
		for name := range a.accepts {
			accepted = append(accepted, name)
		}
		slices.Sort(accepted)
		if got := strings.Join(accepted, " "); got != c.accepted || a.Gathers != c.gathers {
			t.Errorf("%s: accepted are %q, want %q; gathers: %t", name, got, c.accepted, a.Gathers)
		}
	}
}

// A pool that is gone without having been deleted keeps what it has put on nodes; one that comes
// back is judged by that.
func TestVanishedPoolKeepsItsNodes(t *testing.T) {
	cluster := carriedOut(t, Cluster{Pools: []*v1.NodePool{ofZone("p", "a")}, Nodes: inZones(map[string]int{"a": 3})})
	cluster.Pools = nil
	cluster = carriedOut(t, cluster)
	if got := carriersOf(cluster.Nodes)["p"]; got != 3 {
		t.Fatalf("%d of 3 nodes carry keys of the pool that is gone", got)
	}
	cluster.Pools = []*v1.NodePool{ofZone("p", "x")}
	if got := heldNames(cluster); !slices.Equal(got, []string{"p"}) {
		t.Errorf("it comes back for other nodes, and held are %v", got)
	}
	cluster.Pools = []*v1.NodePool{ofZone("p", "a")}
	if cluster = carriedOut(t, cluster); len(heldNames(cluster)) > 0 {
		t.Errorf("it comes back as it was, and held are %v", heldNames(cluster))
	}
	cluster.Pools = edited(cluster.Pools, "p", deleted)
	if cluster = carriedOut(t, cluster); carriersOf(cluster.Nodes)["p"] != 0 {
		t.Error("it is deleted, and nodes carry keys of it")
	}
}

// An approval of a revision is of that one, and counts once; a limit may be stricter or looser.
func TestApprovedRevisions(t *testing.T) {
	const first, second = "main@sha1:1", "main@sha1:2"
	share := func(text string) *intstr.IntOrString { return ptr.To(intstr.FromString(text)) }
	for name, c := range map[string]struct {
		policy ReleasePolicy
		zone   string
		held   bool
	}{
		"not approved":     {ReleasePolicy{}, "x", true},
		"approved":         {ReleasePolicy{Approval: second}, "x", false},
		"another one":      {ReleasePolicy{Approval: first}, "x", true},
		"used":             {ReleasePolicy{Approval: second, ApprovalUsed: true}, "x", true},
		"half":             {ReleasePolicy{}, "a", false},
		"a stricter limit": {ReleasePolicy{Limit: share("20%")}, "a", true},
		"a number":         {ReleasePolicy{Limit: ptr.To(intstr.FromInt32(9))}, "a", true},
		"a looser limit":   {ReleasePolicy{Limit: share("100%")}, "b", false},
		"never the last":   {ReleasePolicy{Limit: share("100%")}, "x", true},
		"unreadable":       {ReleasePolicy{Limit: share("some")}, "a", true},
		"held before":      {ReleasePolicy{Blocked: second}, "a", true},
	} {
		cluster := appliedRevision(t, revisionOfPools(first, ReleasePolicy{}, ofZone("p", "a", "b")), Cluster{Nodes: inZones(map[string]int{"a": 12, "b": 8})})
		if c.zone == "a" {
			cluster = appliedRevision(t, revisionOfPools(first, ReleasePolicy{}, ofZone("p", "a", "b")), Cluster{Nodes: inZones(map[string]int{"a": 10, "b": 10})})
		}
		d, err := Diff(revisionOfPools(second, c.policy, ofZone("p", c.zone)), cluster)
		if err != nil {
			t.Fatal(err)
		}
		if (d.Pools.Held != nil) != c.held {
			t.Errorf("%s: held is %v", name, d.Pools.Held)
		}
	}
}

// Whoever reviews a change sees what it does once it is approved, and that it is held until then.
func TestHeldIsShownAsApproved(t *testing.T) {
	nodes := inZones(map[string]int{"a": 12})
	cluster := appliedRevision(t, revisionOfPools("main@sha1:1", ReleasePolicy{}, ofZone("p", "a")), Cluster{Nodes: nodes})
	revision := revisionOfPools("main@sha1:2", ReleasePolicy{}, ofZone("p", "A"))
	revision.AssumeApproved = true
	if d, err := Diff(revision, cluster); err != nil || d.Pools.Held == nil || len(d.Held) > 0 || len(d.Nodes) != 12 {
		t.Errorf("by a revision: %v, held are %v and %v, and %d nodes change", err, d.Pools.Held, d.Held, len(d.Nodes))
	}
	cluster = carriedOut(t, Cluster{Pools: []*v1.NodePool{ofZone("p", "a")}, Nodes: nodes})
	if d, err := Diff(Revision{Pools: revision.Pools, AssumeApproved: true}, cluster); err != nil || len(d.Held) != 1 || d.Held[0].Approval != "2" || len(d.Nodes) != 12 {
		t.Errorf("by hand: %v, held are %v, and %d nodes change", err, d.Held, len(d.Nodes))
	}
}

// What a source puts back counted before, and needs no number and no approval.
func TestSourcePutsBackWhatCounted(t *testing.T) {
	revision := revisionOfPools("main@sha1:1", ReleasePolicy{}, ofZone("p", "a"), ofZone("q", "b"))
	cluster := appliedRevision(t, revision, Cluster{Nodes: inZones(map[string]int{"a": 2, "b": 20})})
	cluster.Pools = edited(cluster.Pools, "p", zones("a", "b"))
	if cluster = carriedOut(t, cluster); carriersOf(cluster.Nodes)["p"] != 22 {
		t.Fatalf("the edit is not followed: %v", carriersOf(cluster.Nodes))
	}
	d, err := Diff(revision, cluster)
	if err != nil || d.Pools.Held != nil || d.Pools.Number != 0 || !slices.Equal(d.Pools.Names(), []string{"p"}) {
		t.Fatalf("%v, held %v, number %d, changes of %v", err, d.Pools.Held, d.Pools.Number, d.Pools.Names())
	}
	if cluster = d.After(cluster); carriersOf(cluster.Nodes)["p"] != 2 {
		t.Errorf("it is put back, and on %d nodes", carriersOf(cluster.Nodes)["p"])
	}
	if d, err = Diff(revision, cluster); err != nil || !d.Empty() {
		t.Errorf("afterwards there is still a difference: %v, %v", d.Pools.Names(), err)
	}
}

// A revision of which a part was written before a kill counts for nothing, whatever comes after
// it: the same one, another one, or one that drops its pools and may not prune.
func TestHalfARevisionCountsForNothing(t *testing.T) {
	first := revisionOfPools("main@sha1:1", ReleasePolicy{}, ofZone("p", "a"), ofZone("q", "a"))
	start := appliedRevision(t, first, Cluster{Nodes: inZones(map[string]int{"a": 4})})
	labelled := func(pool *v1.NodePool, value string) *v1.NodePool {
		pool.Spec.Labels["example.com/tier"] = v1.LabelValue(value)
		return pool
	}
	second := revisionOfPools("main@sha1:2", ReleasePolicy{}, labelled(ofZone("p", "a"), "half"), labelled(ofZone("q", "a"), "half"), labelled(ofZone("new", "a"), "half"))
	second.Numbers = start.Numbers
	p, err := Pools(second, start.Pools)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(p.Changes) {
		torn := Cluster{Pools: (&PoolsPlan{Changes: p.Changes[:cut+1]}).After(start.Pools), Nodes: start.Nodes, Numbers: start.Numbers}
		tiers := func(cluster Cluster) (tiers []string) {
			for _, node := range cluster.Nodes {
				tiers = append(tiers, node.Labels["example.com/tier"])
			}
			return slices.Compact(tiers)
		}
		if got := tiers(carriedOut(t, torn)); !slices.Equal(got, []string{""}) {
			t.Errorf("cut after %d: nodes follow a part: %q", cut+1, got)
		}
		kept := revisionOfPools("main@sha1:3", ReleasePolicy{}, labelled(ofZone("other", "x"), "no"))
		kept.Prune.Enabled = false
		for name, c := range map[string]struct {
			next Revision
			want string
		}{
			"the same":               {second, "half"},
			"the one before":         {first, ""},
			"one that may not prune": {kept, ""},
		} {
			d, err := Diff(c.next, torn)
			if err != nil {
				t.Fatal(err)
			}
			after := d.After(torn)
			if got := tiers(after); !slices.Equal(got, []string{c.want}) {
				t.Errorf("cut after %d, then %s: nodes have the tiers %q, want %q", cut+1, name, got, c.want)
			}
			if again, err := Diff(c.next, after); err != nil || !again.Empty() {
				t.Errorf("cut after %d, then %s: there is still a difference: %v, %v", cut+1, name, again.Pools.Names(), err)
			}
		}
	}
}

// Numbers rise, whoever wrote the last one.
func TestNumbersRise(t *testing.T) {
	revision := func(name, value string) Revision {
		pool := ofZone("p", "a")
		pool.Spec.Labels["example.com/tier"] = v1.LabelValue(value)
		return revisionOfPools(name, ReleasePolicy{}, pool)
	}
	cluster := Cluster{Nodes: inZones(map[string]int{"a": 1})}
	for i := range 4 {
		cluster = appliedRevision(t, revision(fmt.Sprintf("main@sha1:%d", i), strconv.Itoa(i)), cluster)
		if got := cluster.Numbers[""]; got != int64(i+1) {
			t.Errorf("revision %d has the number %d", i, got)
		}
	}
	metav1.SetMetaDataAnnotation(&cluster.Pools[0].ObjectMeta, v1.RevisionNumberAnnotation, "/9/other")
	cluster = appliedRevision(t, revision("main@sha1:x", "x"), cluster)
	if got := cluster.Numbers[""]; got != 10 {
		t.Errorf("a pool was written under 9, and the next number is %d", got)
	}
}

package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Whatever a source has, lacks, limits and approves: nothing of others goes,
// nothing that somebody keeps, nothing beyond the limit but by an unused approval
// of that very revision, and never all.
func TestPruneProperties(t *testing.T) {
	const rounds = 3_000
	seen := map[string]int{}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, seed))
		w := newPruneWorld(r)
		p, err := Pools(w.revision, w.live)
		if err != nil {
			t.Fatal(err)
		}
		deletes := p.Deletes()
		for _, name := range deletes {
			if !slices.Contains(w.mayGo, name) {
				t.Errorf("seed %d: %s is deleted, of which only %v may go", seed, name, w.mayGo)
			}
		}
		policy := w.revision.Prune
		limit, err := intstr.GetScaledValueFromIntOrPercent(&policy.Limit, w.of(), true)
		if err != nil {
			t.Fatal(err)
		}
		approved := policy.Approval == w.revision.Name && !policy.ApprovalUsed
		switch {
		case len(deletes) > 0 && len(w.revision.Pools) == 0:
			t.Errorf("seed %d: a revision without a pool deletes %v", seed, deletes)
		case len(deletes) > 0 && w.vanished > limit && !approved:
			t.Errorf("seed %d: %d pools vanished, the limit is %d, the approval is %q of %q, used %t; %v go",
				seed, w.vanished, limit, policy.Approval, w.revision.Name, policy.ApprovalUsed, deletes)
		case len(deletes) > 0 && len(deletes) < len(w.mayGo):
			t.Errorf("seed %d: some go and some stay: %v of %v", seed, deletes, w.mayGo)
		case len(deletes) > 0 && p.Blocked != nil:
			t.Errorf("seed %d: %v go, and %v", seed, deletes, p.Blocked)
		case len(deletes) > 0 && w.vanished > limit:
			seen["beyond the limit by approval"]++
		case len(deletes) > 0:
			seen["within the limit"]++
		case p.Blocked != nil && len(w.revision.Pools) > 0:
			seen["blocked"]++
			if approved {
				t.Errorf("seed %d: blocked although approved: %v", seed, p.Blocked)
			}
		case p.Blocked != nil:
			seen["blocked, without a pool"]++
		}
		if policy.Limit.StrVal == "100%" && p.Blocked != nil && len(w.revision.Pools) > 0 {
			t.Errorf("seed %d: 100%% blocks: %v", seed, p.Blocked)
		}
		if approved && policy.Enabled && len(w.revision.Pools) > 0 && len(deletes) != len(w.mayGo) {
			t.Errorf("seed %d: approved, and only %v of %v go", seed, deletes, w.mayGo)
		}
	}
	for _, kind := range []string{"beyond the limit by approval", "within the limit", "blocked", "blocked, without a pool"} {
		if seen[kind] < rounds/100 {
			t.Errorf("%s: %d of %d rounds, too few to show anything", kind, seen[kind], rounds)
		}
	}
	t.Logf("%d rounds: %v", rounds, seen)
}

// pruneWorld is a source with pools in the cluster, beside pools of others.
type pruneWorld struct {
	revision Revision
	live     []*v1.NodePool
	// vanished is how many pools of the source the revision lacks, held how many
	// it has in the cluster, mayGo which of those that vanished nobody keeps.
	vanished, held int
	mayGo          []string
}

func newPruneWorld(r *rand.Rand) *pruneWorld {
	w := &pruneWorld{revision: Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:2", Prune: PrunePolicy{
		Enabled: r.IntN(8) > 0, Base: r.IntN(3) * r.IntN(8), ApprovalUsed: r.IntN(4) == 0,
		Limit:    pick(r, []intstr.IntOrString{intstr.FromInt32(int32(r.IntN(4))), intstr.FromString(fmt.Sprintf("%d%%", r.IntN(101)))}),
		Approval: pick(r, []string{"", "main", "main@sha1:1", "main@sha1:2", "main@sha1:2", "main@sha1:2 "}),
	}}}
	keepsNone := r.IntN(8) == 0
	for i := range r.IntN(10) {
		pool := fromGit(fmt.Sprintf("p%d", i), v1.NodePoolSpec{})
		w.live = append(w.live, pool)
		stays := !keepsNone && r.IntN(2) == 0
		switch r.IntN(8) {
		case 0:
			handedTo("other")(pool)
			continue
		case 1:
			pool.Labels, pool.Annotations = nil, nil
			continue
		case 2:
			pool.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
			continue
		case 3:
			pool.Annotations[v1.PruneAnnotation] = v1.Disabled
		case 4:
			pool.Annotations[v1.ReconcileAnnotation] = "Disabled"
		default:
			if !stays {
				w.mayGo = append(w.mayGo, pool.Name)
			}
		}
		w.held++
		if stays {
			w.revision.Pools = append(w.revision.Pools, inFile(pool.Name, v1.NodePoolSpec{}))
		} else {
			w.vanished++
		}
	}
	if !w.revision.Prune.Enabled {
		w.mayGo = nil
	}
	return w
}

// of is what a percentage is of.
func (w *pruneWorld) of() int {
	if base := w.revision.Prune.Base; base > 0 {
		return max(min(base, w.held), w.vanished)
	}
	return w.held
}

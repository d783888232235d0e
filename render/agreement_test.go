package render

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What is kept is what is worked out anew, whoever asks first, and for however
// many goroutines.
func TestAgreementIsWhatIsWorkedOutAnew(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		var pools []*v1.NodePool
		for i := range 1 + r.IntN(12) {
			pool := define(fmt.Sprintf("p%d", i), randomMembership(r))
			pool.Spec.Priority = int32(r.IntN(2))
			pool.Spec.Labels = map[string]v1.LabelValue{fmt.Sprintf("l%d", r.IntN(3)): v1.LabelValue(fmt.Sprint(r.IntN(2)))}
			pool.Spec.Taints = []v1.Taint{noSchedule(fmt.Sprintf("t%d", r.IntN(2)), fmt.Sprint(r.IntN(2)))}
			if i > 0 && r.IntN(3) == 0 {
				pool.Spec.Parent = fmt.Sprintf("p%d", r.IntN(i))
			}
			if r.IntN(6) == 0 {
				pool.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
			}
			pools = append(pools, pool)
		}
		expansion := Expand(pools)
		var done sync.WaitGroup
		for range 20 {
			name, labels := randomName(r), randomLabels(r)
			want := agree(expansion.members.of(name, labels, nil))
			done.Go(func() {
				if diff := cmp.Diff(want, expansion.Node(name, labels)); diff != "" {
					t.Errorf("seed %d, node %q with %v (-anew +kept):\n%s", seed, name, labels, diff)
				}
			})
		}
		done.Wait()
	}
}

// Nodes that choose their labels may be in any set of pools. That costs no more
// memory than is allowed, and no node its pools.
func TestAgreementsAreBounded(t *testing.T) {
	var pools []*v1.NodePool
	for i := range 11 {
		pools = append(pools, define(fmt.Sprintf("p%02d", i), v1.NodePoolSpec{}))
	}
	expansion := Expand(pools)
	for set := range 2 * maxAgreements {
		labels, want := map[string]string{}, []string{}
		for i, pool := range pools {
			if set&(1<<i) != 0 {
				labels[role(pool.Name)] = ""
				want = append(want, pool.Name)
			}
		}
		if got := expansion.Node("n", labels).Pools; !slices.Equal(got, want) {
			t.Fatalf("with %v, in %v", slices.Sorted(maps.Keys(labels)), got)
		}
	}
	if kept := len(expansion.agreed.kept); kept != maxAgreements {
		t.Errorf("%d agreements of %d are kept, want %d", kept, 2*maxAgreements, maxAgreements)
	}
}

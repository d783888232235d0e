package render

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A cached agreement equals a computed one, in any order of calls, and for any
// number of goroutines.
func TestAgreementIsWhatIsWorkedOutAnew(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		var pools []*v1.NodePool
		for i := range 1 + r.IntN(12) {
			pool := define(fmt.Sprintf("p%d", i), randomMembership(r))
			pool.Spec.Priority = int32(r.IntN(2))
			pool.CreationTimestamp = metav1.Unix(int64(r.IntN(3)), 0)
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
			want, _ := agree(expansion.members.of(name, labels, nil))
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
// memory than is allowed, and every node keeps its pools.
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

// The cost of settling keys that many pools want is linear in their size, and
// the cache is bounded by size as well as by number.
func TestAgreementOfManyPoolsIsLinear(t *testing.T) {
	cost := func(count int, value func(i int) string) uint64 {
		var pools []*v1.NodePool
		for i := range count {
			spec := v1.NodePoolSpec{Labels: map[string]v1.LabelValue{}}
			for key := range 16 {
				spec.Labels[fmt.Sprintf("l%d", key)] = v1.LabelValue(value(i))
			}
			pools = append(pools, onNode(fmt.Sprintf("p%04d", i), spec))
		}
		expansion := Expand(pools)
		members := expansion.members.of("n", nil, nil)
		calls, labels := 0, each(members, (*pool).labels)
		bytes := allocated(func() {
			_ = settle(members, func(p *pool) map[string]string { calls++; return labels(p) }, &sharedNames{known: map[string][]string{}})
		})
		if calls > 5*16*count {
			t.Errorf("%d pools are called %d times for what they want", count, calls)
		}
		return bytes
	}
	for name, value := range map[string]func(int) string{
		"equal values":     func(int) string { return "v" },
		"different values": func(i int) string { return fmt.Sprint("v", i) },
	} {
		few, many := cost(100, value), cost(1000, value)
		if many > 15*few {
			t.Errorf("%s: 100 pools take %d bytes and 1,000 take %d", name, few, many)
		}
	}
}

func TestAgreementsAreBoundedBySize(t *testing.T) {
	const count = 1000
	var pools []*v1.NodePool
	for i := range count {
		spec := v1.NodePoolSpec{NodeNames: []string{"*"}, Labels: map[string]v1.LabelValue{}}
		for key := range 16 {
			spec.Labels[fmt.Sprintf("l%d", key)] = v1.LabelValue(fmt.Sprint("v", i))
		}
		pools = append(pools, define(fmt.Sprintf("p%04d", i), spec))
	}
	for i := range 6 {
		pools = append(pools, define(fmt.Sprintf("q%d", i), v1.NodePoolSpec{}))
	}
	expansion := Expand(pools)
	for set := range 1 << 6 {
		labels := map[string]string{}
		for i := range 6 {
			if set&(1<<i) != 0 {
				labels[role(fmt.Sprintf("q%d", i))] = ""
			}
		}
		if got := expansion.Node("n", labels).Labels["l0"]; len(got.Younger) != count-1 || got.Pool != "p0000" {
			t.Fatalf("set %d: %d lose to %s", set, len(got.Younger), got.Pool)
		}
	}
	if size := expansion.agreed.size; size == 0 || size > maxAgreementsSize || len(expansion.agreed.kept) == 1<<6 {
		t.Errorf("%d agreements are kept, of size %d of at most %d", len(expansion.agreed.kept), size, maxAgreementsSize)
	}
}

// allocated returns how many bytes a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

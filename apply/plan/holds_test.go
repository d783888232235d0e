package plan

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A pool that has released its nodes and is gone holds nothing, though the cache of nodes
// is behind; one that is gone without having released them does.
func TestHoldsOfReleasedPools(t *testing.T) {
	const name = "gone"
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}, Spec: v1.NodePoolSpec{NodeNames: []string{"n*"}, Labels: map[string]v1.LabelValue{"k": "v"}}}
	var nodes []*NodeState
	for i := range 2 * v1.MinReleaseLimited {
		bare := &NodeState{Name: fmt.Sprint("n", i)}
		p, err := Node(bare, Expand([]*v1.NodePool{pool}, nil))
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, p.After(bare))
	}
	deleting := pool.DeepCopy()
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	released := map[string]bool{name: true}
	for _, tc := range []struct {
		reason    string
		pools     []*v1.NodePool
		nodes     []*NodeState
		released  map[string]bool
		blocked   bool
		remembers bool
	}{
		{"it went without its finalizer", nil, nodes, nil, true, false},
		{"it went when it had released its nodes", nil, nodes, released, false, true},
		{"the cache has seen that", nil, nil, released, false, false},
		{"it is about to go", []*v1.NodePool{deleting}, nodes, released, true, true},
		{"it was created again", []*v1.NodePool{pool}, nodes, released, false, false},
	} {
		h := HoldsOf(tc.pools, tc.nodes, HoldFacts{Released: tc.released})
		if h.Has(name) != tc.blocked || h.Released[name] != tc.remembers {
			t.Errorf("%s: held %t, remembered %t, want %t, %t", tc.reason, h.Has(name), h.Released[name], tc.blocked, tc.remembers)
		}
	}
}

// A pool differs in two holds where it is held in one of them, or for another reason.
func TestDifferencesOfHolds(t *testing.T) {
	block := &ReleaseBlock{}
	a := Holds{Blocked: map[string]*ReleaseBlock{"both": block, "only-a": block, "changes": block}, Gathered: []string{"same"}}
	b := Holds{Blocked: map[string]*ReleaseBlock{"both": block}, Gathered: []string{"same", "changes", "only-b"}}
	want := []string{"changes", "only-a", "only-b"}
	for _, got := range [][]string{a.Differences(b), b.Differences(a)} {
		if !slices.Equal(got, want) {
			t.Errorf("differences are %v, want %v", got, want)
		}
	}
	if got := slices.Sorted(slices.Values(a.Names())); !slices.Equal(got, []string{"both", "changes", "only-a", "same"}) {
		t.Errorf("names are %v", got)
	}
}

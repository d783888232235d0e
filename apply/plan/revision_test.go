package plan

import (
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestRevisionOfUnknown(t *testing.T) {
	if made := RevisionOfUnknown("fleet"); made.Source != "fleet" || made.SourceUID != UnknownSourceUID || !made.Prune.Enabled {
		t.Errorf("of a source that is not known it is %+v", made)
	}
	if made := RevisionOfUnknown(""); made.SourceUID != "" || !made.Prune.Enabled {
		t.Errorf("of no name it is %+v", made)
	}
}

// What a prune may delete is counted by the revision before, unless that is blocked
// itself.
func TestFollowing(t *testing.T) {
	cases := map[string]struct {
		reason string
		first  PoolsPlan
		base   int
	}{
		"carried out": {"the source owns what it has then", PoolsPlan{OwnedAfter: 10}, 10},
		"blocked":     {"the source owns what it had", PoolsPlan{OwnedAfter: 10, Blocked: &PruneBlock{}, BlockedPrune: &v1.BlockedPrune{}}, 3},
	}
	for name, c := range cases {
		next := Revision{Prune: PrunePolicy{Base: 3}}.Following(&Difference{Pools: &c.first})
		if next.Prune.Base != c.base || next.Prune.Blocked != c.first.BlockedPrune {
			t.Errorf("%s: %d pools, blocked is %v; want %d and %v: %s", name, next.Prune.Base, next.Prune.Blocked, c.base, c.first.BlockedPrune, c.reason)
		}
	}
}

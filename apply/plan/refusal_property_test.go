package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// refusedPoolsKeepNobodyOff: what the API server refuses of some pools is not written, and what
// others have there stays in their hands alone: they get what they get without them, and keep
// nothing that they lose. With the refusals everything else has come.
func (at step) refusedPoolsKeepNobodyOff(t *testing.T, seed uint64, seen *counts) {
	t.Helper()
	pools := slices.Collect(maps.Values(at.pools))
	facts := NodeFacts{Rollouts: AllRollouts(pools), Refused: map[string]Refusal{}}
	r := rand.New(rand.NewPCG(seed, 14))
	for _, pool := range slices.Sorted(maps.Keys(at.p.recorded.Pools())) {
		if r.IntN(6) == 0 {
			facts.Refused[pool] = Refusal{Says: "no", Leaving: !slices.Contains(at.p.Pools, pool)}
		}
	}
	for _, pool := range at.p.changing() {
		if r.IntN(3) == 0 {
			facts.Refused[pool] = Refusal{Says: "no", Leaving: !slices.Contains(at.p.Pools, pool)}
		}
	}
	if len(facts.Refused) == 0 {
		return
	}
	o := NodeOutcomeOf(at.before, at.expansion(), facts)
	if o.Paused || o.State == NodeStateUnreadable {
		return
	}
	seen.refused++
	less := o.Admission.Plan
	if diff := cmp.Diff(standing(less.After(at.before)), standing(at.send(t, less))); diff != "" {
		t.Errorf("without what is refused (-planned +written):\n%s", diff)
	}
	for _, change := range less.Changes {
		if _, refused := facts.Refused[change.Pool]; refused {
			t.Errorf("%s %s is changed for pool %s, which is refused", change.Field, change.Key, change.Pool)
		}
	}
	waits := func(pool string) bool { _, refused := facts.Refused[pool]; return refused || o.Wait.Of(pool) != nil }
	was, whole, after := entries(at.p.recorded), entries(at.p.Record), entries(less.Record)
	given, stands, repaired := false, standing(at.before), map[Field][]string{}
	for field := range after {
		for key, entry := range after[field] {
			before, had := was[field][key]
			if _, refused := facts.Refused[entry.Pool]; refused && o.Wait.Of(entry.Pool) != nil && (!had || before.Pool != entry.Pool || before.Value != entry.Value) {
				t.Errorf("%s %s goes to pool %s, which is refused", field, key, entry.Pool)
			}
		}
		for key, before := range was[field] {
			_, still := after[field][key]
			_, wanted := whole[field][key]
			given = given || wanted && !still
			// What somebody has changed meanwhile is put back, of a pool that waits and gives it up, and
			// theirs where it need not wait.
			if !wanted && still && stands[field][key] != before.Value {
				repaired[field] = append(repaired[field], key)
			}
			wants := slices.ContainsFunc(at.atWork(), func(pool *v1.NodePool) bool {
				_, wishes := wishes(pool)[field][key]
				return wishes && pool.Name == before.Pool
			})
			unknown := field == Annotation && slices.Contains(at.p.Pools, before.Pool) // see holder.wants
			if holds := at.expansion().Holds(before.Pool); !wants && !unknown && !holds && at.p.step == nil && !waits(before.Pool) && still && after[field][key].Pool == before.Pool {
				t.Errorf("%s %s stays with pool %s, which has lost it, and waits for nothing", field, key, before.Pool)
			}
		}
		for key, entry := range whole[field] {
			before, had := was[field][key]
			if waits(entry.Pool) || had && waits(before.Pool) || at.p.step != nil {
				continue
			}
			if is, got := after[field][key]; !got || is.Pool != entry.Pool || is.Value != entry.Value {
				t.Errorf("%s %s goes to pool %s, and beside what is refused it does not: %+v", field, key, entry.Pool, is)
			}
		}
	}
	if given || at.p.unsettled || less.unsettled || at.p.step != nil {
		return
	}
	rest, _ := at.s.write(t, at.send(t, less), at.expansion())
	inOne, inTwo := standing(at.node), standing(rest)
	for field, keys := range repaired {
		for _, key := range keys {
			delete(inOne[field], key)
			delete(inTwo[field], key)
		}
	}
	if diff := cmp.Diff(inOne, inTwo); diff != "" {
		t.Errorf("what was refused comes later (-in one write +in two):\n%s", diff)
	}
}

func (at step) send(t *testing.T, p *NodePlan) *NodeState {
	t.Helper()
	if p.NoOp() {
		return at.before
	}
	patch, err := p.Patch(at.before)
	if err != nil {
		t.Fatal(err)
	}
	return at.s.send(t, at.before, patch)
}

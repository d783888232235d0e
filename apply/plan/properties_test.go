package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// nothingForeignIsTouched: what is not in the record changes only where a pool
// has declared that it takes over, and is never removed. Taints of others keep
// their place and every field.
func (at step) nothingForeignIsTouched(t *testing.T) {
	t.Helper()
	had, has, ours := standing(at.before), standing(at.node), entries(at.p.Recorded())
	for field := range had {
		for key, value := range had[field] {
			now, still := has[field][key]
			if _, recorded := ours[field][key]; recorded || (still && now == value) {
				continue
			}
			if !still {
				t.Errorf("%s %s=%q of somebody else was removed", field, key, value)
			} else if !at.declares(field, key) {
				t.Errorf("%s %s=%q of somebody else became %q", field, key, value, now)
			}
		}
	}
	live := taintValues(at.before.Taints)
	foreign := func(taints []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(slices.Clone(taints), func(taint corev1.Taint) bool {
			id := render.TaintID{Key: taint.Key, Effect: taint.Effect}
			_, recorded := at.p.Recorded().Taints[id]
			_, stood := live[id]
			return recorded || !stood || at.declares(Taint, id.String())
		})
	}
	if diff := cmp.Diff(foreign(at.before.Taints), foreign(at.node.Taints), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("taints of others (-before +after):\n%s", diff)
	}
}

// atWork are the pools that have the node and are not paused.
func (at step) atWork() []*v1.NodePool {
	var pools []*v1.NodePool
	for _, name := range at.p.Pools {
		if pool := at.pools[name]; pool.Spec.Parent != "nobody" {
			pools = append(pools, pool)
		}
	}
	return pools
}

// reportOnly reports whether a key of the worlds is one that pools never take.
func reportOnly(field Field, key string) bool {
	return field != Annotation && strings.HasPrefix(key, reportOnlyKey)
}

// declares reports whether a pool at work says that it takes the key from others,
// and may.
func (at step) declares(field Field, key string) bool {
	if reportOnly(field, key) {
		return false
	}
	return slices.ContainsFunc(at.atWork(), func(pool *v1.NodePool) bool {
		_, wanted := wishes(pool)[field][key]
		return wanted && pool.Spec.ConflictPolicy != v1.ReportConflicts
	})
}

// whatOthersChangedStays: a key of ours at which somebody has put another value
// is theirs once no pool wants it.
func (at step) whatOthersChangedStays(t *testing.T) {
	t.Helper()
	had, has := standing(at.before), standing(at.node)
	for field, ours := range entries(at.p.Recorded()) {
		for key, entry := range ours {
			wanted := slices.ContainsFunc(at.atWork(), func(pool *v1.NodePool) bool {
				_, wants := wishes(pool)[field][key]
				return wants
			})
			was, stood := had[field][key]
			if is, stands := has[field][key]; !wanted && (!stood || was != entry.Value) && (is != was || stands != stood) {
				t.Errorf("%s %s, which somebody has set to %q and no pool wants, became %q", field, key, was, is)
			}
		}
	}
}

// goesBefore reports whether a pool at work wants a key that comes by rank before the one that
// has it; the rank of one that is gone is not known.
func (at step) goesBefore(field Field, key, held string) bool {
	return slices.ContainsFunc(at.atWork(), func(other *v1.NodePool) bool {
		_, wants := wishes(other)[field][key]
		return wants && at.pools[held] != nil && render.CompareRank(other, at.pools[held]) < 0
	})
}

// heldAndDeniedKeysStay: nothing changes for a key of a paused or broken pool, in
// the record either, but where a stronger one wants it; nor for one that all pools which
// want it miss.
func (at step) heldAndDeniedKeysStay(t *testing.T, seen *counts) {
	t.Helper()
	had, has, after := standing(at.before), standing(at.node), entries(at.p.Record)
	stays := func(field Field, key, why string) {
		was, stood := had[field][key]
		if is, stands := has[field][key]; is != was || stands != stood {
			t.Errorf("%s %s is %s, and became %q from %q", field, key, why, is, was)
		}
	}
	expansion := at.expansion()
	for field, ours := range entries(at.p.Recorded()) {
		for key, entry := range ours {
			if !expansion.Holds(entry.Pool) || at.goesBefore(field, key, entry.Pool) {
				continue
			}
			seen.held++
			stays(field, key, "held")
			if now := after[field][key]; !now.equal(entry) {
				t.Errorf("the entry of %s %s, which is held, became %+v", field, key, now)
			}
		}
	}
	for _, conflict := range conflictsOf(at.p) {
		if conflict.Older != "" {
			seen.disputed++
		} else {
			stays(conflict.Field, conflict.Key, "in conflict")
		}
	}
}

// noPoolMissesAKeyInSilence: each pool at work has what it wants, or has lost to
// another pool by the rules, or has a conflict reported; and none is reported
// where it has what it wants.
func (at step) noPoolMissesAKeyInSilence(t *testing.T) {
	t.Helper()
	has := standing(at.node)
	for _, pool := range at.atWork() {
		for field, wanted := range wishes(pool) {
			for key, value := range wanted {
				reported := at.reported(pool.Name, field, key, value)
				now, stands := has[field][key]
				missed := !stands || now != value
				if missed && !reported && !at.loses(pool, field, key, value) {
					t.Errorf("pool %s wants %s %s=%q, which is %q, and nothing is reported", pool.Name, field, key, value, now)
				}
				if reported && !missed {
					t.Errorf("a conflict of pool %s is reported over %s %s=%q, which it has", pool.Name, field, key, value)
				}
			}
		}
	}
}

func (at step) reported(pool string, field Field, key, value string) bool {
	return slices.ContainsFunc(conflictsOf(at.p), func(conflict Conflict) bool {
		return conflict.Field == field && conflict.Key == key && conflict.Pool == pool && conflict.Want == value
	})
}

// loses reports whether a pool at work of a higher priority wants another value.
func (at step) loses(pool *v1.NodePool, field Field, key, value string) bool {
	return slices.ContainsFunc(at.atWork(), func(other *v1.NodePool) bool {
		wanted, found := wishes(other)[field][key]
		return found && other.Spec.Priority > pool.Spec.Priority && wanted != value
	})
}

// sameInputSameBytes: the pools come as a map, so in another order each time.
func (at step) sameInputSameBytes(t *testing.T) {
	t.Helper()
	var texts []string
	for range 3 {
		again, err := Node(at.before.DeepCopy(), at.expansion())
		if err != nil {
			t.Fatal(err)
		}
		patch, err := again.Patch(at.before.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		reported, err := json.Marshal([]any{again.Pools, again.Changes, again.Conflicts, again.Record.String(), again.Releases(), patch.Type})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(reported)+string(patch.Data))
	}
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("different plans:\n%s", strings.Join(texts, "\n"))
	}
}

func (at step) recordRoundTrips(t *testing.T) {
	t.Helper()
	if read, err := ParseRecord(at.p.Record.String()); err != nil || !read.Equal(at.p.Record) {
		t.Errorf("record %s is read as %s, %v", at.p.Record, read, err)
	}
	if diff := cmp.Diff(at.p.Record.String(), at.node.Annotations[v1.AppliedAnnotation]); diff != "" {
		t.Errorf("the record on the node (-planned +written):\n%s", diff)
	}
}

// oneWriteIsEnough: a second plan has nothing to write and the same pools. Only
// where a pool wants the very label by which it is chosen at another value, and
// somebody has just changed that label by hand, it may take two writes.
func (at step) oneWriteIsEnough(t *testing.T, seen *counts) {
	t.Helper()
	again, err := Node(at.node, at.expansion())
	if err != nil {
		t.Fatal(err)
	}
	if again.NoOp() {
		if diff := cmp.Diff(at.p.Pools, again.Pools); diff != "" {
			t.Errorf("the write changed who has the node (-planned +after):\n%s", diff)
		}
		return
	}
	seen.secondWrites++
	at.world.node, _ = at.s.write(t, at.node, at.expansion())
	if third, err := Node(at.world.node, at.expansion()); err != nil || !third.NoOp() {
		t.Errorf("a third write is due: %v", err)
	}
}

// driftIsPutBack: a change of keys that are ours, and of nothing else, is undone
// to the last byte, is reported as drift, and leads the node into no other pool.
func (w *world) driftIsPutBack(t *testing.T, s server, seen *counts) {
	t.Helper()
	before := w.node
	p, err := Node(before, w.expansion())
	if err != nil {
		t.Fatal(err)
	}
	drifted := s.update(t, before, "kubectl", func(node *NodeState) {
		w.meddle(node)
		w.meddle(node)
	})
	if w.concernsOthers(before, drifted, p) {
		return
	}
	after, put := s.write(t, drifted, w.expansion())
	if diff := cmp.Diff(standing(before), standing(after)); diff != "" {
		t.Errorf("not put back (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(w.withoutEarlier(p.Record), w.withoutEarlier(put.Record)); diff != "" {
		t.Errorf("the record (-before +after):\n%s", diff)
	}
	for _, change := range put.Changes {
		seen.repaired++
		if !change.Drift {
			t.Errorf("not reported as drift: %+v", change)
		}
	}
}

// concernsOthers reports whether two nodes differ in a key that is not for us to
// put back and nothing else: not in the record, in conflict, of a pool that holds
// still, or a label that was taken over, for pools see it as its owner wants it.
func (w *world) concernsOthers(before, after *NodeState, p *NodePlan) bool {
	had, has, ours, expansion := standing(before), standing(after), entries(p.Record), w.expansion()
	theirs := func(field Field, key string) bool {
		entry, recorded := ours[field][key]
		return !recorded || expansion.Holds(entry.Pool) || field == Label && w.takes(entry) || slices.ContainsFunc(conflictsOf(p), func(c Conflict) bool {
			return c.Field == field && c.Key == key && c.Older == ""
		})
	}
	for field := range had {
		for key, value := range had[field] {
			if now, still := has[field][key]; (!still || now != value) && theirs(field, key) {
				return true
			}
		}
		for key := range has[field] {
			if _, stood := had[field][key]; !stood && theirs(field, key) {
				return true
			}
		}
	}
	return false
}

// takes reports whether a change of a key is remembered.
func (w *world) takes(entry Entry) bool {
	return !entry.Adopted && (entry.Before != nil || w.pools[entry.Pool].Spec.ConflictPolicy == v1.TakeOver)
}

// withoutEarlier are the entries of a record without the values that come back
// and that a change moves.
func (w *world) withoutEarlier(record Record) map[Field]map[string]Entry {
	all := map[Field]map[string]Entry{}
	for field, recorded := range entries(record) {
		all[field] = maps.Clone(recorded)
		for key, entry := range recorded {
			if w.takes(entry) {
				entry.Before = nil
				all[field][key] = entry
			}
		}
	}
	return all
}

// adoptedKeysGoWithTheLastPool: nothing of ours is left, and nothing adopted but
// what was never ours to adopt.
func (w *world) adoptedKeysGoWithTheLastPool(t *testing.T, s server) {
	t.Helper()
	clear(w.pools)
	had := standing(w.node)
	after, p := s.write(t, w.node, w.expansion())
	if _, left := after.Annotations[v1.AppliedAnnotation]; left {
		t.Error("the record stays when the last pool has gone")
	}
	has := standing(after)
	for field, ours := range entries(p.Recorded()) {
		for key, entry := range ours {
			comesBack := entry.Before != nil && reportOnly(field, key)
			if value, stands := has[field][key]; entry.Adopted && !comesBack && stands && had[field][key] == entry.Value {
				t.Errorf("adopted %s %s=%q stays when the last pool has gone", field, key, value)
			}
		}
	}
}

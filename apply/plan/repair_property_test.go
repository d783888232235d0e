package plan

import (
	"testing"
	"time"
)

// mostInAMinute is how often a key is put back within any minute: after nothing, and
// then after 1, 2, 4, 8 and 16 seconds. The next one is not within it.
const mostInAMinute = 6

// TestRepairProperties lets random worlds live, in which others change any key of a
// node at any pace while pools come, change and go. Every write keeps to what must
// hold of any plan. For as long as the pools stay as they are no key is put back more
// often than it may be, and however the fight went, all is right in the end.
func TestRepairProperties(t *testing.T) {
	s, waited, contests := newServer(), 0, 0
	for seed := range uint64(worlds / 6) {
		w := newWorld(seed)
		w.changePools()
		f := newFight(t, s, w.node, w.expansion())
		f.repaired = map[repairKey][]time.Duration{}
		meddle := w.meddle
		if w.oneIn(2) { // the same change, over and over
			kept := standing(f.node)
			meddle = func(node *NodeState) {
				for key := range kept[Label] {
					node.Labels[key] = "theirs"
				}
				if len(node.Taints) > 0 {
					node.Taints = node.Taints[1:]
				}
			}
		}
		for range 40 {
			switch w.r.IntN(12) {
			case 0:
				w.changePools()
				f.become(w.expansion())
				f.repaired = map[repairKey][]time.Duration{}
			case 1:
				f.now += time.Duration(w.r.IntN(200)) * time.Second
			default:
				f.node = s.update(t, f.node, "other", meddle)
				f.now += time.Duration(w.r.IntN(3000)) * time.Millisecond
			}
			full, admitted := f.pass()
			waited += len(full.Changes) - len(admitted.Changes)
			contests += len(f.known.Contests())
			w.node = f.node
			at := step{world: w, s: s, before: f.before, p: admitted}
			at.nothingForeignIsTouched(t)
			at.recordRoundTrips(t)
			f.boundHolds()
		}
		f.quiet()
		if full, _ := f.pass(); !full.NoOp() || f.known != nil {
			t.Errorf("in the end %v is due, known is %+v", full.Changes, f.known)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if waited < worlds/2 || contests < worlds/2 {
		t.Errorf("only %d repairs had to wait, and %d contests were seen", waited, contests)
	}
}

// boundHolds: no key is put back too often.
func (f *fight) boundHolds() {
	f.t.Helper()
	for id, times := range f.repaired {
		for i := mostInAMinute; i < len(times); i++ {
			if times[i]-times[i-mostInAMinute] < time.Minute {
				f.t.Errorf("%s %s was put back %d times within a minute: %v", id.field, id.key, mostInAMinute+1, times)
				return
			}
		}
	}
}

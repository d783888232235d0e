package plan

import (
	"time"

	"k8s.io/utils/ptr"
)

// RepairBackoff says how often a key of a node is put back that somebody else
// keeps changing. It counts per node and key, so a fight over one key delays
// nothing else.
type RepairBackoff struct {
	// First is the least time between the first repair of a key and the second. It
	// doubles with each further repair, up to Most. The first repair waits for
	// nothing.
	First, Most time.Duration
	// Window is the time within which three repairs make a contest.
	Window time.Duration
	// Quiet is how long after its last repair a key is forgotten: a contest is over
	// then, and a further repair is a first one.
	Quiet time.Duration
}

// DefaultRepairBackoff ends at one repair in a minute.
func DefaultRepairBackoff() RepairBackoff {
	return RepairBackoff{First: time.Second, Most: time.Minute, Window: time.Minute, Quiet: 2 * time.Minute}
}

// Admission is what of a plan may be written now.
type Admission struct {
	// Plan is the plan without the keys that have to wait. What it leaves out it
	// leaves as it is, on the node and in the record.
	Plan *NodePlan
	// Held are the repairs that are known as long as the plan is not written.
	Held *Repairs

	// made is nil where nothing is known, nor will be.
	made *admission
}

// Written are the repairs that are known once the plan was written, at a time.
func (a Admission) Written(now time.Time) *Repairs {
	if a.made == nil {
		return nil
	}
	return a.made.written(now).orNone()
}

// Admit leaves out of a plan the repairs that have to wait, by what is known of
// earlier repairs of the node; nil where nothing is. It reads no clock: now is any
// time that does not go back.
//
// A repair is a change that undoes somebody's change. That is what the plan calls
// drift. All other changes are never delayed, those of a key that is fought over
// included.
func (b RepairBackoff) Admit(node *NodeState, p *NodePlan, known *Repairs, now time.Time) Admission {
	if known == nil && !p.repairs() {
		return Admission{Plan: p}
	}
	a := &admission{
		backoff: b, now: now, setters: &owners{object: node},
		known: known.current(node.UID, p, now.Add(-b.Quiet)), withheld: map[repairKey]bool{}, due: map[repairKey]bool{},
	}
	for _, change := range p.Changes {
		if id := (repairKey{change.Field, change.Key}); change.Drift {
			a.consider(id, repaired{pool: change.Pool, value: change.After})
		} else {
			delete(a.known.keys, id)
		}
	}
	return Admission{Plan: p.without(a.withheld), Held: a.known.clone().orNone(), made: a}
}

// repairs reports whether a plan undoes somebody's change.
func (p *NodePlan) repairs() bool {
	for i := range p.Changes {
		if p.Changes[i].Drift {
			return true
		}
	}
	return false
}

// admission is an [Admission] in the making.
type admission struct {
	backoff RepairBackoff
	now     time.Time
	setters *owners
	known   *Repairs
	// withheld are the repairs that wait, due those that do not.
	withheld, due map[repairKey]bool
}

// consider decides about one repair. Another value than the one that was put back
// before, or another pool, is nothing that was fought over.
func (a *admission) consider(id repairKey, wanted repaired) {
	k, tracked := a.known.keys[id]
	if !tracked || !k.sameAs(wanted) {
		k = wanted
	}
	k.name(a.setters.setBy(id.path()))
	k.due = a.backoff.next(k, a.known.slot)
	if a.now.Before(k.due) {
		a.withheld[id] = true
	} else {
		a.due[id] = true
	}
	a.known.keys[id] = k
}

// delay is the least time between the last of a number of repairs and the next.
func (b RepairBackoff) delay(count int) time.Duration {
	if count == 0 {
		return 0
	}
	delay := b.First
	for range count - 1 {
		if delay >= b.Most {
			break
		}
		delay *= 2
	}
	return min(delay, b.Most)
}

// next is when a key may be put back again. Keys that are put back at the slowest
// rate are put back together, so that many of them cost a node as many writes as
// one: slot is when that was done last.
func (b RepairBackoff) next(k repaired, slot time.Time) time.Time {
	delay := b.delay(k.count)
	due := k.last.Add(delay)
	if together := slot.Add(b.Most); delay == b.Most && together.After(due) {
		return together
	}
	return due
}

// written are the repairs that are known once those that are due were written.
func (a *admission) written(now time.Time) *Repairs {
	after := a.known.clone()
	for id := range a.due {
		k := after.keys[id]
		if a.backoff.delay(k.count) == a.backoff.Most {
			after.slot = now
		}
		k.before = [2]time.Time{k.last, k.before[0]}
		k.last, k.due, k.count = now, time.Time{}, k.count+1
		third := k.count >= contestedWithin && now.Sub(k.before[1]) <= a.backoff.Window
		k.contested = k.contested || third || k.count >= contestedAnyhow
		after.keys[id] = k
	}
	return after
}

const (
	// contestedWithin is the number of repairs within the window that make a
	// contest, contestedAnyhow the number without a quiet time in between: one every
	// half a minute is no less a fight.
	contestedWithin = 3
	contestedAnyhow = 5
)

// sameAs reports whether the same is put back for the same pools.
func (k repaired) sameAs(other repaired) bool {
	return ptr.Equal(k.value, other.value) && k.pool == other.pool
}

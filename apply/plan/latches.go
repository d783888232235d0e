package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Latches are how many waves are over, by pool and by the change for which they are.
type Latches map[string]map[string]Latch

// Latch is how far the waves of a pool are for a change.
type Latch struct {
	// Over is how many waves are over.
	Over int
	// Complete is when all nodes of the next one were first found to have followed, as far as their
	// records do not say when they did. No status has it: the soak begins anew then.
	Complete time.Time
}

// maxLatched bounds what is said of latches in the status of a pool.
const maxLatched = 8192

// LatchesOf are those in the statuses of pools.
func LatchesOf(pools []*v1.NodePool) Latches {
	all := Latches{}
	for _, pool := range pools {
		if pool.Spec.Rollout == nil || pool.Status.Rollout == nil || pool.Status.Rollout.Over == "" {
			continue
		}
		all[pool.Name] = map[string]Latch{}
		for _, over := range strings.Split(pool.Status.Rollout.Over, ",") {
			changes, last, _ := strings.Cut(over, "/")
			index := slices.IndexFunc(pool.Spec.Rollout.Waves, func(w v1.Wave) bool { return w.Name == last })
			for _, change := range strings.Split(changes, ".") {
				all[pool.Name][change] = Latch{Over: index + 1}
			}
		}
	}
	return all
}

// Over is what the status of a pool says of its waves that are over.
func (r *Rollouts) Over(pool string, latches map[string]Latch) string {
	if r == nil || r.pools[pool] == nil {
		return ""
	}
	var over []string
	size := 0
	for i, w := range r.pools[pool].waves {
		changes := slices.DeleteFunc(slices.Sorted(maps.Keys(latches)), func(change string) bool { return latches[change].Over != i+1 })
		if len(changes) == 0 {
			continue
		}
		one := approvalOf(changes, w.name)
		if size += len(one) + 1; size > maxLatched {
			break
		}
		over = append(over, one)
	}
	return strings.Join(over, ",")
}

// Keep has [Rollouts.Turns] go by latches that it has returned before; nil are those of statuses.
// Nobody else may use the rollouts meanwhile for that.
func (r *Rollouts) Keep(latches Latches) {
	if r != nil && latches != nil {
		r.latches = latches
	}
}

// isOver reports whether a wave is over for some changes.
func (p *progress) isOver(changes []string, wave int) bool {
	return !slices.ContainsFunc(changes, func(change string) bool { return p.latches[change].Over <= wave })
}

// ends notes that a wave is over for some changes.
func (p *progress) ends(changes []string, wave int) {
	for _, change := range changes {
		if p.next[change].Over <= wave {
			p.next[change] = Latch{Over: wave + 1}
		}
	}
}

// completeSince is when a wave was first found complete for some changes: now, if it was not.
func (p *progress) completeSince(changes []string, wave int, now time.Time) (since time.Time) {
	for _, change := range changes {
		latch := p.latches[change]
		if latch.Over != wave || latch.Complete.IsZero() {
			latch = Latch{Over: wave, Complete: now}
		}
		since = latest(since, latch.Complete)
		if p.next[change].Over <= wave {
			p.next[change] = Latch{Over: wave, Complete: latch.Complete}
		}
	}
	return since
}

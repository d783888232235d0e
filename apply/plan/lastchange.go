package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// LastChange is the last change that a node has followed in its turn; the zero value is
// that of a node of which that was long ago.
type LastChange struct {
	// At is when the node began to follow it.
	At time.Time
	// Unready reports that the node was not ready then: that it is not ready later, the
	// change has not caused.
	Unready bool
	// Pools are those of which disruptive changes were followed, with earlier ones of pools
	// that the node is still in.
	Pools map[string]FollowedPool
}

// FollowedPool is what a node has followed of a pool.
type FollowedPool struct {
	// Content stands for what the pool said, its rollout left aside.
	Content string `json:"content,omitempty"`
	// Undo stands for the change that puts back what the node had before.
	Undo string `json:"undo,omitempty"`
}

// LastChangeOf is the last change that a node has followed in its turn, by its record;
// zero where that cannot be read.
func LastChangeOf(node *NodeState) LastChange {
	record, err := readRecord(node)
	if err != nil {
		return LastChange{}
	}
	return record.Change
}

// Equal reports whether two changes are the same.
func (c LastChange) Equal(other LastChange) bool {
	return c.At.Equal(other.At) && c.Unready == other.Unready && maps.Equal(c.Pools, other.Pools)
}

// follows reports whether it has followed one of some contents of pools.
func (c LastChange) follows(contents []string) bool {
	for _, pool := range c.Pools {
		if _, found := slices.BinarySearch(contents, pool.Content); found && pool.Content != "" {
			return true
		}
	}
	return false
}

// revertPeriod is for how long what a node had before it followed a change counts as that:
// what comes back later is a change like any other.
const revertPeriod = 7 * 24 * time.Hour

// reverts reports whether a plan does with the keys of a pool what undoes the last change
// of it that the node has followed.
func (c LastChange) reverts(pool string, p *NodePlan, now time.Time) bool {
	followed, known := c.Pools[pool]
	return known && followed.Undo != "" && now.Before(c.At.Add(revertPeriod)) &&
		followed.Undo == changedTo(p, pool, func(change KeyChange) *string { return change.After })
}

// undoOf stands for the change that undoes what a plan does with the keys of a pool.
func undoOf(p *NodePlan, pool string) string {
	return changedTo(p, pool, func(change KeyChange) *string { return change.Before })
}

// changedTo stands for values of the labels and taints that a plan changes for a pool. What
// was changed by hand, and is put back, is none of its changes.
func changedTo(p *NodePlan, pool string, value func(KeyChange) *string) string {
	sum := sha256.New()
	write := func(text string) { // each with its length, so that no two lists are the same text
		sum.Write([]byte{byte(len(text) >> 8), byte(len(text))})
		sum.Write([]byte(text))
	}
	for _, change := range p.Changes {
		if change.Pool != pool || change.Drift || change.Field == Annotation {
			continue
		}
		write(string(change.Field))
		write(change.Key)
		if to := value(change); to != nil {
			write("=" + *to)
		} else {
			write("")
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// lastChange is what a node has followed with a plan that disrupts it for some pools.
func (r *Rollouts) lastChange(p *NodePlan, pools []string, unready bool, now time.Time) LastChange {
	c := LastChange{
		At:      now.UTC().Add(time.Second - 1).Truncate(time.Second), // no earlier than now
		Unready: unready, Pools: maps.Clone(p.recorded.Change.Pools),
	}
	maps.DeleteFunc(c.Pools, func(pool string, _ FollowedPool) bool { return !slices.Contains(p.Pools, pool) })
	if c.Pools == nil {
		c.Pools = map[string]FollowedPool{}
	}
	for _, pool := range pools {
		c.Pools[pool] = FollowedPool{Content: r.of(pool).content, Undo: undoOf(p, pool)}
	}
	return c
}

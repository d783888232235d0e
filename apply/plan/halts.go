package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Halt is why no further node follows in the rollout of a pool: nodes that have followed
// have failed. It stays when these are ready again.
type Halt struct {
	Time time.Time
	// Changes stand for what the pools said that waited then, their rollouts left aside;
	// sorted. It is over when nothing of that waits any more.
	Changes []string
	// Nodes is how many nodes had failed, and Node the first of them by name.
	Nodes int
	Node  string
	// Resumed reports that somebody has resumed the rollout: nodes that have begun before
	// the halt count as failed no more.
	Resumed bool
}

// HaltOf is the halt that the status of a pool has; nil for none.
func HaltOf(pool *v1.NodePool) *Halt {
	if pool.Status.Rollout == nil || pool.Status.Rollout.Halt == nil {
		return nil
	}
	halt := pool.Status.Rollout.Halt
	return &Halt{
		Time: halt.Time.UTC(), Changes: strings.Split(halt.Changes, "."), Nodes: int(halt.Nodes), Node: halt.Node, Resumed: halt.Resumed,
	}
}

// Status is the halt as the status of a pool has it; nil of none.
func (h *Halt) Status() *v1.RolloutHalt {
	if h == nil {
		return nil
	}
	return &v1.RolloutHalt{
		Time: metav1.NewTime(h.Time), Changes: strings.Join(h.Changes, "."), Nodes: int32(h.Nodes), Node: h.Node, Resumed: h.Resumed,
	}
}

// Resume is the value of the annotation that resumes the rollout after this halt.
func (h *Halt) Resume() string {
	return strings.Join(h.Changes, ".") + "/" + h.Time.UTC().Format(time.RFC3339)
}

// Holds reports whether no further node may follow; of no halt, it does not.
func (h *Halt) Holds() bool { return h != nil && !h.Resumed }

// Equal reports whether two halts are the same.
func (h *Halt) Equal(other *Halt) bool {
	if h == nil || other == nil {
		return h == other
	}
	return h.Resume() == other.Resume() && h.Nodes == other.Nodes && h.Node == other.Node && h.Resumed == other.Resumed
}

// String says what has halted the rollout.
func (h *Halt) String() string {
	text := "since " + describeMoment(h.Time.UTC()) + ", as node " + h.Node + " is not ready after it has followed"
	if h.Nodes > 1 {
		text = "since " + describeMoment(h.Time.UTC()) + ", as " + strconv.Itoa(h.Nodes) + " nodes" + " are not ready after they have followed, node " + h.Node + " among them"
	}
	return text
}

// failurePeriod is for how long, at the least, a node that is not ready any more has
// failed by what it has followed.
const failurePeriod = 10 * time.Minute

// maxHaltedChanges bounds what a halt names: it has to fit into a status, and an annotation.
const maxHaltedChanges = 1000

// failures are the nodes of a pool that count as failed: they were ready when they began to
// follow a change of which more waits, and are not ready by now, while the last wave that
// has begun is theirs, or soon after. Nodes that had begun before a halt that somebody has
// resumed do not.
func (p *progress) failures(pool *rollout, halt *Halt, now time.Time) []string {
	last := 0
	for _, node := range p.members {
		if node.Change.follows(p.contents) {
			last = max(last, p.of[node.Name])
		}
	}
	var failed []string
	for _, node := range p.members {
		if !node.Unready || node.Change.Unready || !node.Change.follows(p.contents) {
			continue
		}
		if halt != nil && halt.Resumed && !node.Change.At.After(halt.Time) {
			p.tolerated[node.Name] = true
			continue
		}
		period := max(failurePeriod, pool.minReady)
		if wave := p.of[node.Name]; wave < len(pool.waves) {
			period = max(period, pool.waves[wave].soak)
		}
		if len(pool.waves) > 0 && p.of[node.Name] == last || now.Before(node.Change.At.Add(period)) {
			failed = append(failed, node.Name)
		}
	}
	return failed
}

// haltOf decides whether a rollout is halted: it was, and nobody has resumed it, or more nodes
// have failed than it tolerates. Fewer failures keep no wave from beginning.
func (p *progress) haltOf(pool *rollout, before *Halt, now time.Time) *Halt {
	if before != nil && !namesAny(p.contents, before.Changes) {
		before = nil
	}
	if before != nil && !before.Resumed && pool.resumed == before.Resume() {
		resumed := *before
		resumed.Resumed, before = true, &resumed
	}
	failed := p.failures(pool, before, now)
	if before.Holds() {
		return before
	}
	if len(failed) <= pool.toleratedFailures(len(p.members)) {
		for _, node := range failed {
			p.tolerated[node] = true
		}
		return before
	}
	halt := &Halt{Time: now.UTC().Truncate(time.Second), Changes: p.contents[:min(len(p.contents), maxHaltedChanges)], Nodes: len(failed), Node: failed[0]}
	for _, node := range p.members {
		if node.Change.At.After(halt.Time) && slices.Contains(failed, node.Name) {
			halt.Time = node.Change.At // began a moment ago, and is to be resumed with the others
		}
	}
	return halt
}

// toleratedFailures is how many of a number of nodes may fail.
func (r *rollout) toleratedFailures(nodes int) int {
	if r.failures == nil {
		return 0
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(r.failures, nodes, false)
	if err != nil {
		return 0 // the schema has refused it
	}
	return most
}

func namesAny(sorted, some []string) bool {
	return slices.ContainsFunc(some, func(one string) bool { _, found := slices.BinarySearch(sorted, one); return found })
}

package plan

import (
	"fmt"
	"slices"
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
	// Changes stand for what failed nodes had followed: see [rollout.specFor]; sorted. The halt is
	// over when no pool says any of that any more.
	Changes []string
	// Nodes is how many nodes had failed, and Node the first of them by name.
	Nodes int
	Node  string
	// Lacks is what that node had instead of a condition of the pool, as "has condition
	// GPUHealthy=False"; empty where it was not ready.
	Lacks string
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
		Time: halt.Time.UTC(), Changes: strings.Split(halt.Changes, "."), Nodes: int(halt.Nodes), Node: halt.Node, Lacks: halt.Lacks, Resumed: halt.Resumed,
	}
}

// Status is the halt as the status of a pool has it; nil of none.
func (h *Halt) Status() *v1.RolloutHalt {
	if h == nil {
		return nil
	}
	return &v1.RolloutHalt{
		Time: metav1.NewTime(h.Time), Changes: strings.Join(h.Changes, "."), Resume: h.Resume(), Nodes: int32(h.Nodes), Node: h.Node, Lacks: h.Lacks, Resumed: h.Resumed,
	}
}

// Resume is the value of the annotation that resumes the rollout after this halt.
func (h *Halt) Resume() string {
	return digest(3, h.Changes...) + "/" + h.Time.UTC().Format(time.RFC3339)
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
	since := describeMoment(h.Time.UTC())
	switch {
	case h.Lacks != "" && h.Nodes > 1:
		return fmt.Sprintf("since %s, as %d nodes have failed after they have followed: node %s %s, for one", since, h.Nodes, h.Node, h.Lacks)
	case h.Lacks != "":
		return fmt.Sprintf("since %s, as node %s %s after it has followed", since, h.Node, h.Lacks)
	case h.Nodes > 1:
		return fmt.Sprintf("since %s, as %d nodes are not ready after they have followed, node %s among them", since, h.Nodes, h.Node)
	}
	return fmt.Sprintf("since %s, as node %s is not ready after it has followed", since, h.Node)
}

// failurePeriod is for how long, at the least, a node that is not ready any more has
// failed by what it has followed.
const failurePeriod = 10 * time.Minute

// maxHaltedChanges bounds what a halt names: it has to fit into a status.
const maxHaltedChanges = 250

// followedAt is when a node last began to follow pools of which more waits in a rollout, and
// could fail by them: it was ready then, and they still say what it has followed. It is zero
// where it has not.
func (p *progress) followedAt(node *Follower) (at time.Time, pools []*rollout) {
	for name, followed := range node.Change.Pools {
		one := p.waiting[name]
		if one == nil || followed.Unready || followed.At.Before(at) || !one.says(followed.Spec) {
			continue
		}
		if followed.At.After(at) {
			at, pools = followed.At, nil
		}
		pools = append(pools, one)
	}
	return at, pools
}

// failures are the nodes of a pool that count as failed, and what they have followed: see
// [Halt.Changes]. They were ready when they began to follow a change of which more waits,
// and are not ready by now, while the last wave that has begun is theirs, or soon after.
// Nodes that had begun before a halt that somebody has resumed do not.
func (p *progress) failures(pool *rollout, halt *Halt, now time.Time) (failed []*Follower, changes []string) {
	for _, node := range p.members {
		if !node.unready(pool.name) {
			continue
		}
		at, followed := p.followedAt(node)
		if at.IsZero() {
			continue
		}
		if halt != nil && halt.Resumed && !at.After(halt.Time) {
			p.tolerated[node.Name] = true
			continue
		}
		period := max(failurePeriod, pool.minReady)
		if wave := p.of[node.Name]; wave < len(pool.waves) {
			period = max(period, pool.waves[wave].soak)
		}
		if len(pool.waves) > 0 && slices.ContainsFunc(followed, func(one *rollout) bool { return p.of[node.Name] == p.lastWaveOf(one) }) {
			period = max(period, lastWavePeriod)
		}
		if !now.Before(at.Add(period)) {
			continue
		}
		failed = append(failed, node)
		for _, one := range followed {
			if spec := node.Change.Pools[one.name].Spec; !slices.Contains(changes, spec) {
				changes = append(changes, spec)
			}
		}
	}
	slices.Sort(changes)
	return failed, changes
}

// lastWaveOf is the last wave of which a node has followed what a pool says.
func (p *progress) lastWaveOf(pool *rollout) int {
	if last, known := p.last[pool.name]; known {
		return last
	}
	last := 0
	for _, node := range p.members {
		if followed := node.Change.Pools[pool.name]; !followed.Unready && pool.says(followed.Spec) {
			last = max(last, p.of[node.Name])
		}
	}
	if p.last == nil {
		p.last = map[string]int{}
	}
	p.last[pool.name] = last
	return last
}

// lastWavePeriod bounds for how long a node of the last wave that has begun can fail by what
// it has followed: an approval may take days, and a node that is down months later is down
// for another reason.
const lastWavePeriod = 7 * 24 * time.Hour

// haltOf decides whether a rollout is halted: it was, and nobody has resumed it, or more nodes
// have failed than it tolerates. Fewer failures keep no wave from beginning.
func (p *progress) haltOf(pool *rollout, before *Halt, now time.Time) *Halt {
	if before.Holds() {
		return before
	}
	failed, changes := p.failures(pool, before, now)
	if len(failed) <= pool.toleratedFailures(len(p.members)) {
		for _, node := range failed {
			p.tolerated[node.Name] = true
		}
		return before
	}
	halt := &Halt{Time: inSeconds(now), Changes: changes[:min(len(changes), maxHaltedChanges)], Nodes: len(failed), Node: failed[0].Name}
	if !failed[0].Unready {
		halt.Lacks = failed[0].Unmet[pool.name]
	}
	for _, node := range failed { // one that began a moment ago is to be resumed with the others
		halt.Time = latest(halt.Time, node.Change.At)
	}
	return halt
}

// standing is what is left of the halt of a pool before it is decided anew: nothing when no
// pool says any more what has failed, or when it is resumed and nothing waits. As long as it
// holds it is no matter whether something waits: paused pools and nodes do not.
func (r *Rollouts) standing(pool string, halt *Halt, waits bool) *Halt {
	if halt == nil || r.pools[pool] == nil {
		return nil
	}
	if !halt.Resumed && r.pools[pool].resumed == halt.Resume() {
		resumed := *halt
		resumed.Resumed, halt = true, &resumed
	}
	if halt.Resumed && !waits {
		return nil
	}
	for _, one := range r.pools {
		if slices.ContainsFunc(halt.Changes, one.says) {
			return halt
		}
	}
	return nil
}

// Standing are those halts of pools that go on while no node waits for its turn in them.
func (r *Rollouts) Standing(halts map[string]*Halt) map[string]*Halt {
	standing := map[string]*Halt{}
	if r == nil {
		return standing
	}
	for pool, halt := range halts {
		if left := r.standing(pool, halt, false); left != nil {
			standing[pool] = left
		}
	}
	return standing
}

// toleratedFailures is how many of a number of nodes may fail.
func (r *rollout) toleratedFailures(nodes int) int {
	if r.failures == nil {
		return 0
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(r.failures, nodes, false)
	if err != nil || most < 0 {
		return 0 // the schema has refused it
	}
	return most
}

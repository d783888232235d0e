package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// wave is a part of the nodes of a pool.
type wave struct {
	name     string
	selector map[string]v1.LabelValue
	nodes    *intstr.IntOrString
	soak     time.Duration
	// approval reports that the next wave needs one.
	approval bool
}

func wavesOf(pool *v1.NodePool) []wave {
	waves := make([]wave, 0, len(pool.Spec.Rollout.Waves))
	for _, w := range pool.Spec.Rollout.Waves {
		one := wave{name: w.Name, nodes: w.Nodes, approval: w.Approval == v1.ApprovalRequired}
		if w.Selector != nil {
			one.selector = w.Selector.MatchLabels
		}
		if w.Soak != nil {
			one.soak = w.Soak.Duration
		}
		waves = append(waves, one)
	}
	return waves
}

// approvalOf is what an approval of a wave names: what waits of which pools, in short, and
// the wave. It changes with each change of one of these pools, and never comes again.
func approvalOf(changes []string, wave string) string { return strings.Join(changes, ".") + "/" + wave }

// approves reports whether the annotation of a pool approves that the wave after one of
// them begins, for all these changes. It may name more of them, which have been followed,
// and a later wave; and it may have several approvals, of which one is enough.
func (r *rollout) approves(index int, changes []string) bool {
	return slices.ContainsFunc(strings.Split(r.approved, ","), func(approval string) bool { return r.isApproved(approval, index, changes) })
}

// isApproved reports whether one approval does.
func (r *rollout) isApproved(approval string, index int, changes []string) bool {
	named, last, _ := strings.Cut(approval, "/")
	upTo := slices.IndexFunc(r.waves, func(w wave) bool { return w.name == last })
	return upTo >= index && containsAll(strings.Split(named, "."), changes)
}

// ChangeID stands for what a pool says by now.
func ChangeID(pool *v1.NodePool) string {
	sum := sha256.Sum256([]byte(pool.Name + "/" + string(pool.UID) + "/" + strconv.FormatInt(pool.Generation, 10)))
	return hex.EncodeToString(sum[:3])
}

// specHash stands for what a pool says of labels and of taints that may keep pods off a
// node, and whether it is deleted: what else it says breaks no node. It comes again with
// what it is of.
func specHash(pool *v1.NodePool) string {
	taints := slices.DeleteFunc(slices.Clone(pool.Spec.Taints), func(taint v1.Taint) bool {
		return taint.Effect == corev1.TaintEffectPreferNoSchedule
	})
	return digest[any](6, pool.Name, pool.UID, pool.DeletionTimestamp.IsZero(), pool.Spec.Labels, taints)
}

// absent ends what stands for a pool that a node has left.
const absent = "-"

// specFor stands for what a node has followed of the pool with a plan: what it says, or that
// the node has left it.
func (r *rollout) specFor(p *NodePlan) string {
	if slices.Contains(p.Pools, r.name) {
		return r.spec
	}
	return r.spec + absent
}

// says reports whether the pool says still what a node has followed.
func (r *rollout) says(spec string) bool {
	return r.spec != "" && strings.TrimSuffix(spec, absent) == r.spec
}

// digest stands for values, in some bytes of hexadecimal digits.
func digest[V any](bytes int, values ...V) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // never: these are texts
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:bytes])
}

// selectedBy returns, by pool, which of its waves a node may be in, of those pools that it
// is in or carries keys of: see [Rollouts.selected].
func (r *Rollouts) selectedBy(node *NodeState, p *NodePlan) map[string]uint64 {
	if r == nil {
		return nil
	}
	labels := p.recorded.underlyingLabels(node.Labels)
	return r.selected(slices.Concat(p.concerned(), r.settledIn(node.Name, labels)), labels)
}

// selected returns, by pool, which of its waves a node with these labels may be in, a bit
// for each: those without a selector, and those that choose the labels. They must be those
// that no pool has put there. Pools that have no waves are left out.
func (r *Rollouts) selected(pools []string, labels map[string]string) map[string]uint64 {
	var selected map[string]uint64
	if r == nil {
		return nil
	}
	for _, name := range pools {
		one := r.pools[name]
		if one == nil || len(one.waves) == 0 {
			continue
		}
		if selected == nil {
			selected = map[string]uint64{}
		}
		for i, w := range one.waves {
			if w.chooses(labels) {
				selected[name] |= 1 << i
			}
		}
	}
	return selected
}

func (w *wave) chooses(labels map[string]string) bool {
	for key, value := range w.selector {
		if has, found := labels[key]; !found || has != string(value) {
			return false
		}
	}
	return true
}

// WaveState is how far the waves of a pool are.
type WaveState struct {
	// Wave is the name of the wave that follows, or that others wait for; Index is its
	// position, from 0, and Waves how many there are.
	Wave         string
	Index, Waves int
	// Nodes are in the wave, of which Behind have not followed; Unavailable are those that keep
	// later waves from beginning.
	Nodes, Behind int
	Unavailable   Unavailable
	// Soaks is until when the next wave waits where all nodes have followed; zero where it
	// does not wait for that.
	Soaks time.Time
	// Approval is the value of the annotation that approves the next wave; empty where it
	// waits for none. It names what waits, so that it counts for that alone.
	Approval string
}

// EqualButNumbers reports whether two states differ in no more than how many nodes of the
// wave have followed.
func (s *WaveState) EqualButNumbers(other *WaveState) bool {
	a, b := *s, *other
	done := func(state *WaveState) bool { return state.Behind == 0 }
	if done(&a) != done(&b) || a.Unavailable.None() != b.Unavailable.None() {
		return false
	}
	a.Behind, a.Unavailable = b.Behind, b.Unavailable
	return a == b
}

// String says what the wave waits for.
func (s *WaveState) String() string {
	text := fmt.Sprintf("wave %s, %d of %d, has %d of %d nodes", s.Wave, s.Index+1, s.Waves, s.Nodes-s.Behind, s.Nodes)
	switch {
	case !s.Unavailable.None():
		return text + "; " + s.Unavailable.String()
	case s.Behind > 0:
		return text
	case !s.Soaks.IsZero() && s.Approval != "":
		return text + "; the next wave begins at " + describeMoment(s.Soaks.UTC()) + " at the earliest, and waits for an approval"
	case !s.Soaks.IsZero():
		return text + "; the next wave begins at " + describeMoment(s.Soaks.UTC())
	default:
		return text + "; the next wave waits for an approval"
	}
}

// assign returns the wave of each member: that of those that are in none comes last, as those are
// that joined since. The members are sorted by name.
func assign(pool *rollout, members []*Follower, joined func(node *Follower) bool) map[string]int {
	of := make(map[string]int, len(members))
	selected := make([]uint64, len(members)) // none of a node that is in a wave already
	for i, node := range members {
		of[node.Name] = len(pool.waves)
		if !joined(node) {
			selected[i] = node.Selected[pool.name]
		}
	}
	for wave, w := range pool.waves {
		most := len(members)
		if w.nodes != nil {
			most = atMostOf(*w.nodes, len(members))
		}
		for i, node := range members {
			if most == 0 {
				break
			}
			if selected[i]&(1<<wave) != 0 {
				of[node.Name], selected[i] = wave, 0
				most--
			}
		}
	}
	return of
}

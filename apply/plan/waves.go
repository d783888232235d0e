package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// wave is a part of the nodes of a pool.
type wave struct {
	name     string
	selector map[string]v1.LabelValue
	nodes    *intstr.IntOrString
	soak     time.Duration
	// approved reports that the next wave needs no approval any more.
	approved bool
}

// wavesOf reads the waves of a pool. The approval of one counts for those before it, and
// for this generation of the pool alone.
func wavesOf(pool *v1.NodePool) []wave {
	generation, named, _ := strings.Cut(pool.Annotations[v1.ApproveRolloutAnnotation], "/")
	upTo := slices.IndexFunc(pool.Spec.Rollout.Waves, func(w v1.Wave) bool {
		return w.Name == named && generation == fmt.Sprint(pool.Generation)
	})
	waves := make([]wave, 0, len(pool.Spec.Rollout.Waves))
	for i, w := range pool.Spec.Rollout.Waves {
		one := wave{name: w.Name, nodes: w.Nodes, approved: w.Approval != v1.ApprovalRequired || i <= upTo}
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

// selected returns, by pool, which of its waves a node may be in, a bit for each: those
// without a selector, and those that choose the labels which no pool has put there. Pools
// that have no waves are left out.
func (r *Rollouts) selected(node *NodeState, p *NodePlan) map[string]uint64 {
	var selected map[string]uint64
	if r == nil {
		return nil
	}
	for _, name := range p.Pools {
		one := r.pools[name]
		if one == nil || len(one.waves) == 0 {
			continue
		}
		if selected == nil {
			selected = map[string]uint64{}
		}
		labels := p.recorded.underlyingLabels(node.Labels)
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
	// Nodes are in the wave, of which Behind have not followed, and Unavailable are not
	// available; First is the first of the unavailable ones by name.
	Nodes, Behind, Unavailable int
	First                      string
	// Soaks is until when the next wave waits where all nodes have followed; zero where it
	// does not wait for that.
	Soaks time.Time
	// Approval is the value of the annotation that approves the next wave; empty where it
	// waits for none.
	Approval string
}

// EqualButNumbers reports whether two states differ in no more than how many nodes of the
// wave have followed.
func (s *WaveState) EqualButNumbers(other *WaveState) bool {
	a, b := *s, *other
	done := func(state *WaveState) bool { return state.Behind == 0 }
	if done(&a) != done(&b) || (a.Unavailable == 0) != (b.Unavailable == 0) {
		return false
	}
	a.Behind, a.Unavailable, a.First = b.Behind, b.Unavailable, b.First
	return a == b
}

// String says what the wave waits for.
func (s *WaveState) String() string {
	text := fmt.Sprintf("wave %s, %d of %d, has %d of %d nodes", s.Wave, s.Index+1, s.Waves, s.Nodes-s.Behind, s.Nodes)
	switch {
	case s.Behind > 0 && s.Unavailable == 0:
		return text
	case s.Unavailable == 1:
		return text + fmt.Sprintf("; node %s is not available", s.First)
	case s.Unavailable > 1:
		return text + fmt.Sprintf("; %d of them are not available, node %s among them", s.Unavailable, s.First)
	case !s.Soaks.IsZero():
		return text + "; the next wave begins at " + describeMoment(s.Soaks.UTC())
	default:
		return text + "; the next wave waits for an approval"
	}
}

// progress are the waves of one pool while turns are given.
type progress struct {
	of map[string]int // the wave of each node
	// state is nil where all waves have followed.
	state *WaveState
}

// open reports whether it is the turn of the wave of a node.
func (p *progress) open(node string) bool {
	return p == nil || p.state == nil || p.of[node] <= p.state.Index && p.state.Behind > 0
}

// progressOf returns how far the waves of a pool are. Its members are sorted by name.
func (r *Rollouts) progressOf(pool *rollout, members []*Follower, now time.Time) *progress {
	p := &progress{of: assign(pool, members)}
	if !slices.ContainsFunc(members, func(node *Follower) bool { return r.behind(node, pool) }) {
		return p
	}
	newest := time.Time{}
	for index := range len(pool.waves) + 1 {
		state := &WaveState{Wave: v1.RestWave, Index: index, Waves: len(pool.waves) + 1, Approval: ""}
		for _, node := range members {
			if p.of[node.Name] != index {
				continue
			}
			state.Nodes++
			if node.Changed.After(newest) {
				newest = node.Changed
			}
			if r.behind(node, pool) {
				state.Behind++
			}
			if node.occupies(pool, now) {
				if state.Unavailable++; state.First == "" {
					state.First = node.Name
				}
			}
		}
		if index < len(pool.waves) {
			state.Wave = pool.waves[index].name
		}
		if state.Nodes == 0 || p.passed(state, pool, newest, now) {
			continue
		}
		p.state = state
		break
	}
	return p
}

// passed reports whether the wave after one may begin, and notes what it waits for.
func (p *progress) passed(state *WaveState, pool *rollout, newest, now time.Time) bool {
	if state.Behind > 0 {
		return false
	}
	if state.Index == len(pool.waves) {
		return true // there is none
	}
	w := pool.waves[state.Index]
	if until := newest.Add(w.soak); !newest.IsZero() && until.After(now) {
		state.Soaks = until
	}
	if !w.approved {
		state.Approval = fmt.Sprintf("%d/%s", pool.generation, w.name)
	}
	return state.Unavailable == 0 && state.Soaks.IsZero() && w.approved
}

// behind reports whether a node has not followed what waits for a pool.
func (r *Rollouts) behind(node *Follower, pool *rollout) bool {
	return slices.ContainsFunc(node.Waits, func(name string) bool {
		changing := r.pools[name]
		return changing != nil && pool.governs(changing)
	})
}

// assign returns the wave of each member: that of those that are in none comes last. The
// members are sorted by name.
func assign(pool *rollout, members []*Follower) map[string]int {
	of := make(map[string]int, len(members))
	for i, w := range pool.waves {
		most := len(members)
		if w.nodes != nil {
			most = MostUnavailable(*w.nodes, len(members))
		}
		for _, node := range members {
			if _, taken := of[node.Name]; taken || node.Selected[pool.name]&(1<<i) == 0 || most == 0 {
				continue
			}
			of[node.Name] = i
			most--
		}
	}
	for _, node := range members {
		if _, taken := of[node.Name]; !taken {
			of[node.Name] = len(pool.waves)
		}
	}
	return of
}

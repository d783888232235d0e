package plan

import (
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// orders reports whether the rollout says when nodes follow.
func (r *rollout) orders() bool { return r.paused || r.calendar != nil || r.limits() }

// concerned are those pools that a node is in by a plan, or carries keys of, the strongest
// first.
func (r *Rollouts) concerned(p *NodePlan, chosen func(*rollout) bool) []*rollout {
	if r == nil {
		return nil
	}
	return r.among(p.concerned(), chosen)
}

// orderedBy returns, by each pool that has a disruptive change on a node and does not join
// it, the pools whose rollouts that waits for at some time, the strongest first. Pools of
// which the changes wait for nothing are left out.
func (r *Rollouts) orderedBy(node *NodeState, p *NodePlan, now time.Time) map[string][]*rollout {
	if p.NoOp() {
		return nil
	}
	ordering := r.concerned(p, (*rollout).orders)
	if len(ordering) == 0 {
		return nil
	}
	m, ordered := r.moversOf(node, p, now, nil, nil), map[string][]*rollout{}
	for name := range r.disturbs(p, noTaint) {
		if m.exempt(name) {
			continue
		}
		changing := r.of(name)
		for _, one := range ordering {
			if one.governs(changing) {
				ordered[name] = append(ordered[name], one)
			}
		}
	}
	return ordered
}

// waveName is the name of a wave of a pool by its position: the rest comes last.
func waveName(pool *rollout, index int) string {
	if index < len(pool.waves) {
		return pool.waves[index].name
	}
	return v1.RestWave
}

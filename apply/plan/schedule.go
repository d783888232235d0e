package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// PoolSchedule foretells how nodes follow a change in the rollout of a pool, given that
// nothing else happens meanwhile.
type PoolSchedule struct {
	Pool string
	// Zone is that of the calendar of the pool; UTC where it has none.
	Zone *time.Location
	// Waves are those of which nodes follow, in their order. A pool without waves has one
	// that has no name.
	Waves []WaveSchedule
	// Nodes is how many nodes follow, or would.
	Nodes int
	// Windows is in how many of the windows of the pool nodes begin; 0 where it has none.
	Windows int
	// Ends is when the last node has followed, and has been ready for minReady, at the
	// earliest; zero where nodes are left that do not follow.
	Ends time.Time
	// Stays is why nodes are left that do not follow; empty where all do.
	Stays string
	// Halt is what halts the rollout at the end; nil where nothing does. Foretold reports that
	// it is not halted yet, and that the value which resumes it is not known.
	Halt     *Halt
	Foretold bool
}

// WaveSchedule foretells how the nodes of a wave follow.
type WaveSchedule struct {
	Wave string
	// Nodes that begin, in the order in which they do; Stay are those that do not, by name.
	Nodes, Stay []string
	// Starts is when the first of the nodes begins, Ends when the last has followed, be it
	// that it is drained first; zero where none does.
	Starts, Ends time.Time
	// Together is how many of the nodes begin together, at the most: at one moment, and within
	// the budget of the pool.
	Together int
	// Approval is the wave before it, where that needs an approval: it is assumed to be
	// given as soon as that is all that is missing.
	Approval string
}

// begin is when a node begins to follow, and the position of that among all. The last time is
// that of what it follows last; drained is when its last drain has ended.
type begin struct {
	first, last, drained time.Time
	order                int
}

// schedules gathers what happens to nodes, by pool.
type schedules struct {
	*foresight
	// halted are the halts that were there before.
	halted map[string]*Halt
	// nodes are, by pool, those that have something to follow in its rollout.
	nodes map[string][]*foreseen
	// waves are, by pool, the positions of the waves of nodes.
	waves map[string]map[string]int
	// begins are, by pool and node, when they begin; begun counts them.
	begins map[string]map[string]begin
	begun  int
}

// Schedules foretells how nodes follow the difference in the rollouts of pools, if the
// revision is applied at a moment; sorted by pool. Pools are left out in whose rollouts no
// node has to follow anything.
//
// It goes by the very functions by which a controller does, and by the halts in the statuses
// of pools. It assumes that nodes which are ready stay so, and those which are not, or are
// cordoned, too; that the conditions which pools name stay as they are, or are met where they
// are not known; that each node is available again as soon as it has been ready for minReady;
// that pods are gone as soon as a drain may end, and find a place; and that who has to approve
// the next wave of a pool does so as soon as that is all that is missing but windows. Nobody
// resumes what is halted. What [Diff] assumes it does as well, windows and turns apart. The
// revision counts as applied at that moment: see [Difference.Waits].
func (d *Difference) Schedules(cluster Cluster, now time.Time) []PoolSchedule {
	rollouts := d.rolloutsAt(d.Accepted(), now)
	if rollouts == nil {
		return nil
	}
	if whole := now.Truncate(time.Second); whole.Before(now) {
		now = whole.Add(time.Second) // records know whole seconds
	}
	return newSchedules(newForesight(cluster, d.Expansion(), rollouts, now)).foretell()
}

func newSchedules(f *foresight) *schedules {
	s := &schedules{
		foresight: f, halted: f.halts, nodes: map[string][]*foreseen{}, waves: map[string]map[string]int{}, begins: map[string]map[string]begin{},
	}
	f.onWrite = s.note
	return s
}

// foretell goes through all that happens.
func (s *schedules) foretell() []PoolSchedule {
	s.look()
	s.begin()
	if len(s.nodes) == 0 {
		return nil
	}
	ended := s.run()
	all := make([]PoolSchedule, 0, len(s.nodes))
	for pool := range s.nodes {
		all = append(all, s.of(s.rollouts.pools[pool], ended))
	}
	slices.SortFunc(all, func(a, b PoolSchedule) int { return cmp.Compare(a.Pool, b.Pool) })
	return all
}

// begin notes who has something to follow, and in which waves nodes are.
func (s *schedules) begin() {
	for _, node := range s.foresight.nodes {
		var pools []string
		for _, ordering := range node.ordered {
			for _, one := range ordering {
				pools = append(pools, one.name)
			}
		}
		slices.Sort(pools)
		for _, pool := range slices.Compact(pools) {
			s.nodes[pool] = append(s.nodes[pool], node)
		}
	}
	for pool := range s.nodes {
		s.begins[pool] = map[string]begin{}
		one := s.rollouts.pools[pool]
		if len(one.waves) == 0 {
			continue
		}
		nodes := make([]*Follower, len(s.foresight.nodes))
		for i, node := range s.foresight.nodes {
			nodes[i] = &node.follower
		}
		_, s.waves[pool] = s.rollouts.assigned(one, nodes)
	}
}

// note notes that a node begins to follow in the rollouts of pools, and that its drain has
// ended in those of others.
func (s *schedules) note(node *foreseen, pools, drained []string) {
	s.begun++
	for _, pool := range drained {
		if b, known := s.begins[pool][node.state.Name]; known {
			b.drained = s.now
			s.begins[pool][node.state.Name] = b
		}
	}
	for _, pool := range pools {
		if s.begins[pool] == nil {
			continue
		}
		b, known := s.begins[pool][node.state.Name]
		if !known {
			b.first, b.order = s.now, s.begun
		}
		b.last = s.now
		s.begins[pool][node.state.Name] = b
	}
}

// of is the schedule of a pool.
func (s *schedules) of(pool *rollout, ended bool) PoolSchedule {
	p := PoolSchedule{Pool: pool.name, Zone: time.UTC, Nodes: len(s.nodes[pool.name])}
	if pool.calendar != nil {
		p.Zone = pool.calendar.Zone()
	}
	begins, waves := s.begins[pool.name], make([]WaveSchedule, len(pool.waves)+1)
	var left []*foreseen
	for _, node := range s.nodes[pool.name] {
		name := node.state.Name
		wave := &waves[s.waves[pool.name][name]]
		if node.follows(pool.name) || s.keepsDraining(node, pool) {
			left = append(left, node)
		}
		b, begun := begins[name]
		if !begun {
			wave.Stay = append(wave.Stay, name)
			continue
		}
		wave.Nodes = append(wave.Nodes, name)
		if wave.Starts.IsZero() || b.first.Before(wave.Starts) {
			wave.Starts = b.first
		}
		ends := later(b.last, b.drained)
		wave.Ends = later(wave.Ends, ends)
		p.Ends = later(p.Ends, ends.Add(pool.minReady))
	}
	for i, wave := range waves {
		if len(wave.Nodes)+len(wave.Stay) == 0 {
			continue
		}
		slices.SortFunc(wave.Nodes, func(a, b string) int { return cmp.Compare(begins[a].order, begins[b].order) })
		wave.Together = s.together(pool, wave.Nodes, begins)
		if len(pool.waves) > 0 {
			wave.Wave = waveName(pool, i)
		}
		if i > 0 && pool.waves[i-1].approval && (len(wave.Nodes) == 0 || len(s.approved[pool.name][i-1]) > 0) {
			wave.Approval = pool.waves[i-1].name
		}
		p.Waves = append(p.Waves, wave)
	}
	p.Windows = windowsOf(pool, begins)
	if len(left) > 0 {
		p.Ends, p.Stays = time.Time{}, s.stays(left, ended)
	}
	if halt := s.foresight.halts[pool.name]; halt.Holds() {
		before := s.halted[pool.name]
		p.Halt, p.Foretold = halt, !before.Holds() || before.Resume() != halt.Resume()
	}
	return p
}

// together is how many of some nodes of a pool begin together, at the most.
func (s *schedules) together(pool *rollout, nodes []string, begins map[string]begin) (most int) {
	count := map[time.Time]int{}
	for _, name := range nodes {
		count[begins[name].first]++
		most = max(most, count[begins[name].first])
	}
	if pool.limit == nil || most == 0 {
		return most
	}
	members, _ := s.members(pool)
	return min(most, max(1, atMostOf(*pool.limit, members)))
}

// members is how many nodes a pool has, and how many of them are unavailable.
func (s *schedules) members(pool *rollout) (members, unavailable int) {
	for _, node := range s.foresight.nodes {
		if slices.Contains(node.follower.Pools, pool.name) {
			members++
			if node.follower.occupies(pool, s.now) {
				unavailable++
			}
		}
	}
	return members, unavailable
}

// follows reports whether a node still has something to follow in the rollout of a pool.
func (n *foreseen) follows(pool string) bool {
	for _, ordering := range n.ordered {
		if slices.ContainsFunc(ordering, func(one *rollout) bool { return one.name == pool }) {
			return true
		}
	}
	return false
}

// keepsDraining reports whether a node is still drained for what it follows in the rollout of
// a pool.
func (s *schedules) keepsDraining(node *foreseen, pool *rollout) bool {
	return slices.ContainsFunc(node.follower.Change.Drained(), func(name string) bool { return pool.governs(s.rollouts.of(name)) })
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// windowsOf is in how many windows of a pool nodes begin.
func windowsOf(pool *rollout, begins map[string]begin) int {
	if pool.calendar == nil || !pool.calendar.HasWindows() {
		return 0
	}
	times := map[time.Time]bool{}
	for _, b := range begins {
		times[b.first], times[b.last] = true, true
	}
	ends := map[time.Time]bool{}
	for at := range times {
		ends[pool.calendar.Until(at).UTC()] = true
	}
	return len(ends)
}

// stays says why nodes do not follow: why the first does not, and how many there are.
func (s *schedules) stays(left []*foreseen, ended bool) string {
	nodes := "1 node does not follow: "
	if len(left) > 1 {
		nodes = strconv.Itoa(len(left)) + " nodes do not follow: "
	}
	if !ended {
		return nodes + "the rollout takes so many steps that it is not foretold any further"
	}
	return nodes + s.reason(left[0])
}

// reason is why a node does not follow.
func (s *schedules) reason(node *foreseen) string {
	for _, wait := range node.outcome.Wait {
		if !wait.Turn {
			return wait.Restriction.String()
		}
	}
	if drain := node.outcome.Drain; drain != nil && drain.Obstacle != "" {
		return fmt.Sprintf("node %q is not drained: %s", node.state.Name, drain.Obstacle)
	}
	if node.state.Unschedulable && node.changed.At.IsZero() {
		return fmt.Sprintf("node %q is cordoned", node.state.Name)
	}
	var in []*rollout
	for _, ask := range node.outcome.Asks {
		in = limitsOn(s.rollouts.limiting(node.follower.Pools), s.rollouts.of(ask.Pool), in)
	}
	slices.SortFunc(in, func(a, b *rollout) int { return cmp.Compare(a.name, b.name) })
	for _, one := range in {
		if halt := s.foresight.halts[one.name]; halt.Holds() {
			return fmt.Sprintf("the rollout of pool %q is halted %v", one.name, halt)
		}
	}
	for _, one := range in {
		if lacks := node.outcome.Unmet[one.name]; lacks != "" && node.changed.At.IsZero() {
			return fmt.Sprintf("node %q %s, which does not meet nodeConditions of pool %q", node.state.Name, lacks, one.name)
		}
		if one.limit == nil {
			continue
		}
		members, unavailable := s.members(one)
		switch most := atMostOf(*one.limit, members); {
		case most == 0:
			return fmt.Sprintf("maxUnavailable of pool %q is 0", one.name)
		case unavailable >= most:
			return fmt.Sprintf("%d of %d nodes of pool %q are unavailable, and no more may be", unavailable, members, one.name)
		}
	}
	slices.SortFunc(in, func(a, b *rollout) int { return cmp.Compare(a.rank, b.rank) })
	if one := ordering(in); one != nil && s.foresight.waves[one.name] != nil {
		return s.foresight.waves[one.name].String()
	}
	if len(node.outcome.Wait) > 0 {
		return node.outcome.Wait[0].Restriction.String()
	}
	return "nothing is found that lets it follow"
}

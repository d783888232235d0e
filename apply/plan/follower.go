package plan

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// FollowerState is what turns depend on of a node, as it is found there.
type FollowerState struct {
	// Ready is the node's condition. Cordoned reports that pods are not scheduled to it, and
	// Stuck that it stays as it is until somebody acts.
	Ready, Cordoned, Stuck bool
	// Members are the pools that the node is in; Recorded are those that have keys in its
	// record.
	Members, Recorded []string
	// Left are others that it was in by what is settled: see [NodeOutcome].
	Left []string
	// Wait are the pools whose changes the node may not follow yet.
	Wait NodeWait
	// Change is the last one that the node has followed in its turn.
	Change LastChange
	// Zone that the node is in, and Created when it was made.
	Zone    string
	Created time.Time
	// Asking is nil of most nodes at most times, of which thousands are kept.
	Asking *Asking
}

// Asking is what turns depend on of a node that waits for one, or is in waves.
type Asking struct {
	// Asks are the pools whose changes wait for the turn of the node.
	Asks []Ask
	// Selected are the waves that the node may be in, by pool, a bit for each.
	Selected map[string]uint64
	// Unmet is what the node lacks of the conditions that pools name, by pool.
	Unmet map[string]string
}

func askingOf(o NodeOutcome) *Asking {
	if len(o.Asks)+len(o.Selected)+len(o.Unmet) == 0 {
		return nil
	}
	return &Asking{o.Asks, o.Selected, o.Unmet}
}

func (a *Asking) equal(other *Asking) bool {
	if a == nil || other == nil {
		return a == other
	}
	return slices.EqualFunc(a.Asks, other.Asks, Ask.equal) && maps.Equal(a.Selected, other.Selected) && maps.Equal(a.Unmet, other.Unmet)
}

// FollowerStateOf is the state of a node by what becomes of it: as it is when the outcome has
// been carried out.
func FollowerStateOf(node *NodeState, outcome NodeOutcome, ready bool) FollowerState {
	s := FollowerState{
		Ready: ready, Cordoned: node.Unschedulable,
		Stuck:   outcome.State == NodeStateUnreadable || outcome.State == NodeStatePaused,
		Members: outcome.Members, Recorded: outcome.CarriedAfter(), Wait: outcome.Wait,
		Zone: node.Labels[corev1.LabelTopologyZone], Created: node.Created.Time, Asking: askingOf(outcome),
	}
	if slices.Equal(s.Recorded, s.Members) { // which all nodes of the same pools share
		s.Recorded = s.Members
	}
	pools := s.Pools()
	s.Left = slices.DeleteFunc(slices.Clone(outcome.Settled), func(pool string) bool { return slices.Contains(pools, pool) })
	switch {
	case outcome.Begins && outcome.Admission.Plan != nil:
		s.Change = outcome.Admission.Plan.Record.Change
	case outcome.Plan != nil:
		s.Change = outcome.Plan.recorded.Change
	}
	return s
}

// Asks reports whether the node waits for its turn.
func (s *FollowerState) Asks() bool { return s.Asking != nil && len(s.Asking.Asks) > 0 }

// Pools are those that the node is in, or carries keys of, sorted.
func (s *FollowerState) Pools() []string {
	pools := slices.Concat(s.Members, s.Recorded)
	slices.Sort(pools)
	return slices.Compact(pools)
}

// Follower is the node of a name and this state as turns have it.
func (s *FollowerState) Follower(name string) Follower {
	f := Follower{
		Name: name, Pools: s.Pools(), Left: s.Left, Change: s.Change, Zone: s.Zone, Created: s.Created,
		Unready: !s.Ready, Unavailable: !s.Ready || s.Cordoned, Stuck: s.Stuck,
	}
	if a := s.Asking; a != nil {
		f.Asks, f.Selected, f.Unmet = a.Asks, a.Selected, a.Unmet
	}
	for _, wait := range s.Wait {
		f.Waits = append(f.Waits, wait.Pool)
	}
	return f
}

// EqualTurns reports whether two states mean the same to the turns of nodes.
func (s *FollowerState) EqualTurns(other *FollowerState) bool {
	return s.Ready == other.Ready && s.Cordoned == other.Cordoned && s.Stuck == other.Stuck && s.Change.Equal(other.Change) && s.Zone == other.Zone &&
		s.Asking.equal(other.Asking) && s.Wait.Equal(other.Wait) &&
		slices.Equal(s.Members, other.Members) && slices.Equal(s.Left, other.Left) && slices.Equal(s.Recorded, other.Recorded)
}

// FollowerOf is a node as far as turns depend on it, by what becomes of it: as it is when
// the outcome has been carried out.
func FollowerOf(node *NodeState, outcome NodeOutcome, ready bool) Follower {
	s := FollowerStateOf(node, outcome, ready)
	return s.Follower(node.Name)
}

// unready reports whether the node is not ready, or does not meet the conditions that a pool
// names; unavailable that it is that, or is cordoned.
func (n *Follower) unready(pool string) bool     { return n.Unready || n.Unmet[pool] != "" }
func (n *Follower) unavailable(pool string) bool { return n.Unavailable || n.Unmet[pool] != "" }

// left reports whether the node has left a pool that it was in by what is settled.
func (n *Follower) left(pool string) bool { return slices.Contains(n.Left, pool) }

// joined reports whether the node was made since a time.
func (n *Follower) joined(since time.Time) bool { return !since.IsZero() && n.Created.After(since) }

// Failed reports whether the node is not ready in the rollout of a pool, and was when it last
// began to follow one of its pools.
func (n *Follower) Failed(pool string) bool {
	for _, followed := range n.Change.Pools {
		if n.unready(pool) && !followed.Unready {
			return true
		}
	}
	return false
}

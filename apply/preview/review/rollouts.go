package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

// Rollout foretells how nodes follow the change in the rollout of a pool, if it is applied
// at the moment that was asked for and nothing else happens meanwhile: nodes stay ready, or
// not, pods are gone as soon as a drain may end, approvals are given as soon as they alone are
// missing, and nobody resumes what is halted.
type Rollout struct {
	Pool string `json:"pool"`
	// Nodes is how many have something to follow.
	Nodes int `json:"nodes"`
	// Waves of which nodes have something to follow, in their order. A pool without waves
	// has one, without a name.
	Waves []RolloutWave `json:"waves"`
	// Windows is in how many of the windows of the pool nodes begin; 0 where it has none.
	Windows int `json:"windows"`
	// Ends is the earliest time at which the last node has followed, and has been ready for
	// minReady; null where nodes are left that do not follow.
	Ends *plan.Moment `json:"ends"`
	// Stays is why nodes are left that do not follow; empty where all do.
	Stays string `json:"stays"`
	// Halt is what halts the rollout; null where nothing does.
	Halt *RolloutHalt `json:"halt"`
}

// RolloutHalt is why no further node follows, but for those that go back to what was before.
type RolloutHalt struct {
	// Since is when it was halted, or will be.
	Since *plan.Moment `json:"since"`
	// Node is the first that has failed after it has followed, Nodes how many there are.
	Node  string `json:"node"`
	Nodes int    `json:"nodes"`
	// Lacks is what that node has instead of a condition that the pool names, as "has condition
	// GPUHealthy=False"; empty where it is not ready.
	Lacks string `json:"lacks"`
	// Resume is the value of the annotation that resumes the rollout; empty where it is not
	// halted yet, and the value is not known.
	Resume string `json:"resume"`
}

// RolloutWave foretells how the nodes of a wave follow.
type RolloutWave struct {
	Name string `json:"name"`
	// Nodes that follow, in the order in which they begin; Staying are those that do not.
	Nodes   []string `json:"nodes"`
	Staying []string `json:"staying"`
	// Starts is when the first node begins, Last when the last one has followed, be it that it
	// is drained first, at the earliest; null where none does.
	Starts *plan.Moment `json:"starts"`
	Last   *plan.Moment `json:"last"`
	// Together is how many of the nodes begin together, at the most.
	Together int `json:"together"`
	// Approval is the wave before, where that has to be approved.
	Approval string `json:"approval,omitempty"`
	// Evictions are the running pods that NoExecute taints evict from the nodes, or that are
	// drained before these come; null where pods are not known.
	Evictions *int `json:"evictions"`
	// BudgetsBlocking are the PodDisruptionBudgets for which the drain of a node waits, as
	// namespace/name, sorted.
	BudgetsBlocking []string `json:"budgetsBlocking"`
}

// rolloutsOf are the schedules with what they do to pods.
func rolloutsOf(schedules []plan.PoolSchedule, i *impact.Impact) []Rollout {
	evicted, blockers := map[string]int{}, map[string][]string{}
	if i != nil {
		blockers = blocking(i)
		for _, eviction := range i.Evictions {
			if eviction.Finished {
				continue
			}
			for _, pod := range eviction.Pods {
				evicted[pod.Node]++
			}
		}
	}
	rollouts := []Rollout{}
	for _, s := range schedules {
		r := Rollout{Pool: s.Pool, Nodes: s.Nodes, Waves: []RolloutWave{}, Windows: s.Windows, Ends: plan.MomentOf(s.Ends, s.Zone), Stays: s.Stays}
		if halt := s.Halt; halt != nil {
			r.Halt = &RolloutHalt{Since: plan.MomentOf(halt.Time, s.Zone), Node: halt.Node, Nodes: halt.Nodes, Lacks: halt.Lacks}
			if !s.Foretold {
				r.Halt.Resume = halt.Resume()
			}
		}
		for _, w := range s.Waves {
			wave := RolloutWave{
				Name: w.Wave, Nodes: listOf(w.Nodes), Staying: listOf(w.Stay), Together: w.Together, Approval: w.Approval, BudgetsBlocking: []string{},
				Starts: plan.MomentOf(w.Starts, s.Zone), Last: plan.MomentOf(w.Ends, s.Zone),
			}
			if i != nil {
				pods := 0
				for _, node := range append(listOf(w.Nodes), w.Stay...) {
					pods += evicted[node]
					wave.BudgetsBlocking = append(wave.BudgetsBlocking, blockers[node]...)
				}
				slices.Sort(wave.BudgetsBlocking)
				wave.Evictions, wave.BudgetsBlocking = &pods, slices.Compact(wave.BudgetsBlocking)
			}
			r.Waves = append(r.Waves, wave)
		}
		rollouts = append(rollouts, r)
	}
	return rollouts
}

// countRollouts counts the waves of the longest rollout, and the pods of the worst wave.
func (c *Counts) countRollouts(r *Review) {
	c.PolicyWeakened, c.EmptyWaves = len(r.WeakenedRollouts), len(r.EmptyWaves)
	bypassed := map[string]bool{}
	for _, bypass := range r.BypassedRollouts {
		for _, node := range bypass.Nodes {
			bypassed[node] = true
		}
	}
	c.RolloutsBypassed = len(bypassed)
	for _, rollout := range r.Rollouts {
		c.Waves = max(c.Waves, len(rollout.Waves))
		if rollout.Halt != nil {
			c.RolloutsHalted++
		}
		for _, wave := range rollout.Waves {
			if wave.Evictions != nil {
				c.EvictionsPerWave = max(c.EvictionsPerWave, *wave.Evictions)
			}
		}
	}
}

// Text says in a line how long the rollout takes: "3 waves, 12 nodes, 2 windows, ends Sat
// 2026-12-05 06:10 CET (05:10 UTC) at the earliest".
func (r Rollout) Text() string {
	var parts []string
	if len(r.Waves) > 1 || len(r.Waves) == 1 && r.Waves[0].Name != "" {
		parts = append(parts, Count(len(r.Waves), "wave"))
	}
	parts = append(parts, Count(r.Nodes, "node"))
	if r.Windows > 0 {
		parts = append(parts, Count(r.Windows, "window"))
	}
	if r.Ends != nil {
		parts = append(parts, fmt.Sprintf("ends %s at the earliest", r.Ends.Text))
	} else {
		parts = append(parts, "does not end by itself")
	}
	return strings.Join(parts, ", ")
}

// HaltText says in a line what halts the rollout, and the command by which it goes on; empty
// where nothing does.
func (r Rollout) HaltText() string {
	h := r.Halt
	if h == nil || h.Since == nil {
		return ""
	}
	because := h.because()
	if h.Resume == "" {
		return fmt.Sprintf("it will be halted at %s, %s", h.Since.Text, because)
	}
	return fmt.Sprintf("halted since %s, %s; revert that change, or go on in spite of it: %s",
		h.Since.Text, because, command.Resume(r.Pool))
}

// because says what has failed, as [plan.Halt.String] does.
func (h *RolloutHalt) because() string {
	switch {
	case h.Lacks != "" && h.Nodes > 1:
		return fmt.Sprintf("as %d nodes have failed after they have followed: node %s %s, for one", h.Nodes, h.Node, h.Lacks)
	case h.Lacks != "":
		return fmt.Sprintf("as node %s %s after it has followed", h.Node, h.Lacks)
	case h.Nodes > 1:
		return fmt.Sprintf("as %d nodes are not ready after they have followed, node %s among them", h.Nodes, h.Node)
	}
	return fmt.Sprintf("as node %s is not ready after it has followed", h.Node)
}

// Text says in a line when the wave begins, and what it does.
func (w RolloutWave) Text() string {
	parts := []string{Count(len(w.Nodes)+len(w.Staying), "node")}
	switch {
	case w.Starts == nil && w.Approval != "":
		parts = append(parts, fmt.Sprintf("after the approval of wave %s", w.Approval))
	case w.Starts == nil:
		parts = append(parts, "no start was found")
	case w.Approval != "":
		parts = append(parts, fmt.Sprintf("after the approval of wave %s, not before %s", w.Approval, w.Starts.Text))
	default:
		parts = append(parts, "starts "+w.Starts.Text)
	}
	if w.Starts != nil && len(w.Staying) > 0 {
		parts = append(parts, fmt.Sprintf("%d of them not", len(w.Staying)))
	}
	if w.Together < len(w.Nodes) {
		parts = append(parts, fmt.Sprintf("%d at a time", w.Together))
	}
	if w.Evictions != nil {
		parts = append(parts, Count(*w.Evictions, "eviction"))
	}
	if len(w.BudgetsBlocking) > 0 {
		parts = append(parts, w.blockedBy())
	}
	return strings.Join(parts, ", ")
}

// Names are the nodes of the wave, those that follow first.
func (w RolloutWave) Names() []string { return append(listOf(w.Nodes), w.Staying...) }

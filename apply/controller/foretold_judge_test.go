package controller

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// judge compares what was foretold of a scenario with what has happened.
type judge struct {
	*scenario
	happened []happening
	rollouts []review.Rollout
	// start is when the revision was merged, and end until when it was waited.
	start, end time.Time
	problems   []string
	// compared counts the nodes whose begin was compared.
	compared int
}

// began is when a node began to follow in a rollout, and when it did last.
type began struct{ first, last time.Time }

func (j *judge) wrong(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf(format, args...))
}

// judge finds what is not as foretold.
func (j *judge) judge() []string {
	for _, r := range j.rollouts {
		j.rollout(r)
	}
	for _, h := range j.happened {
		known := slices.ContainsFunc(j.rollouts, func(r review.Rollout) bool {
			return slices.ContainsFunc(r.Waves, func(wave review.RolloutWave) bool { return slices.Contains(wave.Names(), h.node) }) &&
				j.ordered(r.Pool, h)
		})
		if !known && h.at.After(j.start) {
			j.wrong("node %s follows %v at %s, and no rollout has it", h.node, h.pools, stampOf(h.at))
		}
	}
	return j.problems
}

// ordered reports whether what has happened had to wait for the rollout of a pool.
func (j *judge) ordered(by string, h happening) bool {
	return slices.Contains(h.concerned, by) && slices.ContainsFunc(h.pools, func(pool string) bool {
		return !slices.ContainsFunc(j.joins, func(name string) bool { return j.full(name) == pool }) && j.orders(by, pool)
	})
}

func (j *judge) rollout(r review.Rollout) {
	begins := map[string]began{}
	for _, h := range j.happened {
		if !j.ordered(r.Pool, h) {
			continue
		}
		b, known := begins[h.node]
		if !known {
			b.first = h.at
		}
		b.last = h.at
		begins[h.node] = b
	}
	nodes := 0
	var ends time.Time
	for _, wave := range r.Waves {
		nodes += len(wave.Names())
		if last := j.wave(r, wave, begins); last.After(ends) {
			ends = last
		}
	}
	if nodes != r.Nodes {
		j.wrong("pool %s: %d nodes are in waves, and %d follow", r.Pool, nodes, r.Nodes)
	}
	if r.Ends == nil && r.Stays == "" {
		j.wrong("pool %s: it neither ends nor stays", r.Pool)
	}
	spec, _ := j.spec(r.Pool)
	if ready := spec.Rollout; ready != nil && ready.MinReady != nil && !ends.IsZero() {
		ends = ends.Add(ready.MinReady.Duration)
	}
	if foretold := timeOf(r.Ends); !foretold.IsZero() && foretold.Before(j.end) && !j.never {
		j.same(fmt.Sprintf("pool %s: its end", r.Pool), foretold, ends)
	}
	if windows := windowsUsed(r, spec, begins); windows != r.Windows && j.late == 0 && !j.never && timeOf(r.Ends).Before(j.end) && r.Ends != nil {
		j.wrong("pool %s: nodes begin in %d windows, foretold were %d", r.Pool, windows, r.Windows)
	}
}

// wave compares a wave, and returns when its last node has followed.
func (j *judge) wave(r review.Rollout, wave review.RolloutWave, begins map[string]began) (last time.Time) {
	title := fmt.Sprintf("pool %s, wave %q", r.Pool, wave.Name)
	var starts time.Time
	before := time.Time{}
	for _, node := range wave.Nodes {
		b, begun := begins[node]
		if !begun {
			if timeOf(wave.Last).Before(j.end) && !j.never {
				j.wrong("%s: node %s does not follow", title, node)
			}
			continue
		}
		j.compared++
		if b.first.Before(before) {
			j.wrong("%s: node %s begins at %s, before those that go before it, at %s", title, node, stampOf(b.first), stampOf(before))
		}
		before = b.first
		if starts.IsZero() || b.first.Before(starts) {
			starts = b.first
		}
		if b.last.After(last) {
			last = b.last
		}
	}
	for _, node := range wave.Staying {
		if b, begun := begins[node]; begun {
			j.wrong("%s: node %s follows at %s, and was to stay", title, node, stampOf(b.first))
		}
	}
	if !starts.IsZero() || timeOf(wave.Starts).Before(j.end) && !j.never {
		j.same(title+": its start", timeOf(wave.Starts), starts)
	}
	if timeOf(wave.Last).Before(j.end) && !j.never {
		j.same(title+": its last node", timeOf(wave.Last), last)
	}
	if wave.Approval != "" && !starts.IsZero() && !slices.Contains(j.approved, r.Pool+"/"+wave.Approval) {
		j.wrong("%s: it was not asked for the approval of wave %q: %v", title, wave.Approval, j.approved)
	}
	return last
}

// same compares a time that was foretold with one that has come.
func (j *judge) same(what string, foretold, came time.Time) {
	if came.Before(foretold) || came.After(foretold.Add(j.late)) {
		j.wrong("%s is foretold at %s, and is at %s", what, stampOf(foretold), stampOf(came))
	}
}

// windowsUsed is in how many windows of a pool nodes have begun.
func windowsUsed(r review.Rollout, spec *v1.NodePoolSpec, begins map[string]began) int {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: r.Pool}, Spec: *spec}
	if spec.Rollout == nil || !pool.Calendar().HasWindows() {
		return 0
	}
	ends := map[time.Time]bool{}
	for _, wave := range r.Waves {
		for _, node := range wave.Nodes {
			if b, begun := begins[node]; begun {
				ends[pool.Calendar().Until(b.first).UTC()], ends[pool.Calendar().Until(b.last).UTC()] = true, true
			}
		}
	}
	return len(ends)
}

// timeOf is a moment of a review; zero where there is none.
func timeOf(m *plan.Moment) time.Time {
	if m == nil {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, m.UTC)
	if err != nil {
		panic(err)
	}
	return at
}

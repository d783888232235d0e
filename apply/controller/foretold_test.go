package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// foretoldStart is a Saturday at noon; at night the clocks of Europe go forward.
var foretoldStart = time.Date(2027, time.March, 27, 12, 0, 0, 0, time.UTC)

// What diff foretells of a rollout is what happens, on a real control plane, given that
// nothing else does: which nodes follow, in which order, and when.
func TestDiffForetellsTheRollout(t *testing.T) {
	all := shortForm()
	if cluster.Stress() {
		all = foretoldScenarios()
	}
	scenarios, err := prepared(all)
	if err != nil {
		t.Fatal(err)
	}
	w := newForetoldWorld(t, foretoldStart, scenarios, nil)
	more := 2 * time.Hour
	if cluster.Stress() {
		more = 26 * time.Hour
	}
	compared := w.goesAsForetold(30*24*time.Hour, more)
	t.Logf("%d scenarios, %d nodes of them compared", len(scenarios), compared)
}

// What the short form leaves out, as another scenario tests the same, is tested there.
func TestScenariosThatAreAlike(t *testing.T) {
	chosen := shortForm()
	for _, s := range foretoldScenarios() {
		if s.alike != "" && !slices.ContainsFunc(chosen, func(other *scenario) bool { return other.name == s.alike }) {
			t.Errorf("scenario %q is left out, and so is %q, which tests the same", s.name, s.alike)
		}
	}
}

// Nothing of a revision is foretold, and nothing happens, before the windows of its source
// open.
func TestDiffForetellsTheRolloutOfALateRevision(t *testing.T) {
	scenarios, err := prepared(lateScenarios())
	if err != nil {
		t.Fatal(err)
	}
	applied := foretoldStart.Add(90 * time.Minute)
	w := newForetoldWorld(t, foretoldStart, scenarios, func(src *v1.NodePoolSource) {
		src.Spec.Exclusions = []v1.Exclusion{{Start: &metav1.Time{Time: foretoldStart.Add(-time.Minute)}, End: &metav1.Time{Time: applied}}}
	})
	w.applied = applied
	w.goesAsForetold(48*time.Hour, 2*time.Hour)
}

// Nodes that have just come get at once what is new to them, as foretold, and wait for all
// else.
func TestDiffForetellsTheRolloutOnNewNodes(t *testing.T) {
	scenarios, err := prepared(newNodeScenarios())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().UTC().Truncate(time.Minute).Add(time.Minute) // by which the API server says when nodes came
	w := newForetoldWorld(t, start, scenarios, nil)
	w.goesAsForetold(48*time.Hour, 2*time.Hour)
	for _, s := range scenarios {
		for _, node := range s.nodes {
			if !slices.ContainsFunc(w.happened[s], func(h happening) bool {
				return h.node == node.Name && h.at.Equal(start) && slices.Contains(h.pools, s.full("q"))
			}) {
				t.Errorf("%s: node %s has not got at once what is new to it: %s", s.name, node.Name, s.describe(w.happened[s]))
			}
		}
	}
}

// Random revisions of pools that overlap go as foretold, for some hours.
func TestDiffForetellsRandomRollouts(t *testing.T) {
	cluster.Long(t)
	batches, size := 1, 8
	if cluster.Stress() {
		batches, size = 6, 40
	}
	total, seed := 0, uint64(0)
	for batch := range batches {
		t.Run(fmt.Sprintf("batch %d", batch), func(t *testing.T) {
			var scenarios []*scenario
			seeds := []uint64{27, 97, 220} // where a window is short, an approval waits with a window, and a deleted pool is approved
			for range size - len(seeds) {
				seeds = append(seeds, seed)
				seed++
			}
			for i, seed := range seeds {
				scenarios = append(scenarios, newRandomScenario(seed, fmt.Sprintf("b%d-s%02d", batch, i+1), foretoldStart))
			}
			total += newForetoldWorld(t, foretoldStart, scenarios, nil).goesAsForetold(8*time.Hour, time.Hour)
		})
	}
	t.Logf("%d random scenarios, %d nodes of them compared", batches*size, total)
}

// goesAsForetold merges the second revision, moves the clock until all has happened that is
// foretold for the next time, and some time more, and compares. It returns how many begins of nodes were compared.
func (w *foretoldWorld) goesAsForetold(most, more time.Duration) (compared int) {
	w.t.Helper()
	start, rollouts := w.clock.Now(), w.foretell()
	w.applied = later(w.applied, start)
	w.merge()
	end := w.passes(rollouts, start, most, more)
	if last := start.Add(most); last.Before(end) {
		end = last
	}
	for _, s := range w.scenarios {
		j := &judge{scenario: s, start: w.applied, end: end}
		for _, h := range w.happened[s] {
			if h.at.Before(end) {
				j.happened = append(j.happened, h)
			}
		}
		for _, r := range rollouts {
			if strings.HasPrefix(r.Pool, s.prefix+"-") {
				j.rollouts = append(j.rollouts, r)
			}
		}
		problems := j.judge()
		compared += j.compared
		happens := s.describe(w.happened[s])
		if s.happens != "" && happens != s.happens {
			problems = append(problems, "it is expected that this happens:\n\t"+s.happens)
		}
		if len(problems) > 0 {
			w.t.Errorf("%s %s:\n%s\nforetold:\n%swhat has happened:\n\t%s", s.prefix, s.name, strings.Join(problems, "\n"), textOf(j.rollouts), happens)
		} else {
			w.t.Logf("%s %s: %s", s.prefix, s.name, happens)
		}
	}
	w.halts(rollouts)
	return compared
}

// passes moves the clock from one moment to the next at which something may happen, and
// to the second before what is foretold: whatever comes too early is seen.
func (w *foretoldWorld) passes(rollouts []review.Rollout, start time.Time, most, more time.Duration) (end time.Time) {
	w.t.Helper()
	moments, end := w.moments(rollouts, start, most, more)
	steps := 0
	for now := start; now.Before(end); steps++ {
		next := end
		sooner := func(at time.Time) {
			if at.After(now) && at.Before(next) {
				next = at
			}
		}
		for _, at := range slices.Concat(moments, w.approvals(), w.followUps()) {
			sooner(at)
		}
		sooner(w.clock.nextTurns())
		sooner(w.clock.nextRequest())
		now = next
		w.clock.moveTo(now)
		if now.Equal(w.applied) {
			w.rest(mergePeriod)
			continue
		}
		w.rest(quietPeriod)
	}
	w.t.Logf("%d steps until %v", steps, end)
	return end
}

// moments are when something is foretold, or windows open and close, of each scenario until
// some time after the last of it; and the end of all.
func (w *foretoldWorld) moments(rollouts []review.Rollout, start time.Time, most, more time.Duration) (moments []time.Time, end time.Time) {
	moments = append(moments, w.applied.Add(-time.Second), w.applied)
	for _, s := range w.scenarios {
		last := w.applied
		var times []time.Time
		for _, r := range rollouts {
			if !strings.HasPrefix(r.Pool, s.prefix+"-") {
				continue
			}
			for _, at := range timesOf(r) {
				if at.Before(start.Add(most)) {
					times, last = append(times, at), later(last, at)
				}
			}
		}
		last = last.Add(more)
		for _, at := range append(times, s.boundaries(start, last)...) {
			moments = append(moments, at.Add(-time.Second), at)
		}
		end = later(end, last)
	}
	return moments, end
}

// followUps are when nodes that have begun have been ready for long enough, and waves have
// soaked: others may begin then, whatever is foretold.
func (w *foretoldWorld) followUps() (times []time.Time) {
	for _, s := range w.scenarios {
		for _, h := range w.happened[s] {
			for name := range s.names() {
				spec, _ := s.spec(s.full(name))
				if spec.Rollout == nil {
					continue
				}
				if ready := spec.Rollout.MinReady; ready != nil {
					times = append(times, h.at.Add(ready.Duration))
				}
				for _, wave := range spec.Rollout.Waves {
					if wave.Soak != nil {
						times = append(times, h.at.Add(wave.Soak.Duration))
					}
				}
			}
		}
	}
	return times
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// approvals are when somebody will approve a wave.
func (w *foretoldWorld) approvals() (times []time.Time) {
	for _, s := range w.scenarios {
		for _, at := range w.asked {
			if s.approvedAfter > 0 {
				times = append(times, at.Add(s.approvedAfter))
			}
		}
	}
	return times
}

// timesOf are the moments that are foretold of a rollout.
func timesOf(r review.Rollout) (times []time.Time) {
	if r.Ends != nil {
		times = append(times, timeOf(r.Ends))
	}
	for _, wave := range r.Waves {
		if wave.Starts != nil {
			times = append(times, timeOf(wave.Starts), timeOf(wave.Last))
		}
	}
	return times
}

// textOf is what diff prints of rollouts.
func textOf(rollouts []review.Rollout) string {
	var text strings.Builder
	for _, r := range rollouts {
		text.WriteString("\tpool " + r.Pool + ": " + r.Text() + "; " + r.Stays + "\n")
		for _, wave := range r.Waves {
			text.WriteString("\t\twave " + wave.Name + ": " + strings.Join(wave.Names(), " ") + ": " + wave.Text() + "\n")
		}
	}
	return text.String()
}

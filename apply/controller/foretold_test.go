package controller

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/compare"
)

// What diff foretells of a rollout is what happens: which nodes follow, in which order and how
// long after each other, and which stay. How it is foretold, and that stepping through every
// minute comes to the same, is tested where it is decided.
func TestDiffForetellsTheRollout(t *testing.T) {
	w := newGitWorld(t)
	zones := map[string]string{"n1": "b", "n2": "a", "n3": "b", "n4": "a", "n5": "c"}
	names := []string{"n1", "n2", "n3", "n4", "n5", "h1"}
	for _, name := range names {
		labels := role("batch")
		if name == "h1" {
			labels = role("held")
		}
		labels["topology.kubernetes.io/zone"] = zones[name]
		w.node(name, labels)
	}
	w.isReadyNode(names...)
	repo := newRepository(t)
	first := repo.commit(files{"pools/batch.yaml": poolFile("batch", "1"), "pools/held.yaml": poolFile("held", "1")})
	w.source("fleet", repo.url(), rarely, anyRelease)
	w.follows("fleet", first)
	w.poolsReady("batch", "held")
	w.inUse(names...)

	second := repo.commit(files{
		"pools/batch.yaml": poolFile("batch", "2", "  rollout: {order: Zone, maxUnavailable: 1, minReady: 2s, waves: [{name: canary, nodes: 1, soak: 4s}]}"),
		"pools/held.yaml":  poolFile("held", "2", "  rollout: {paused: true}"),
	})
	server, err := observe.Connect(w.cluster.Config, waitTimeout)
	w.do(err)
	sides, err := compare.Folder(repo.dir+"/pools", nil, "fleet", func() (*observe.State, error) { return server.State(t.Context()) })
	w.do(err)
	sides.AddWindowNotes(time.Now(), "now")
	difference, err := sides.Difference()
	w.do(err)
	reviewed, err := sides.Review(difference)
	w.do(err)
	var order, stay []string
	var canary, last time.Time
	for _, rollout := range reviewed.Rollouts {
		for _, wave := range rollout.Waves {
			order, stay = append(order, wave.Nodes...), append(stay, wave.Staying...)
			if wave.Name == "canary" {
				canary = timeOf(t, wave.Starts)
			} else if wave.Last != nil {
				last = timeOf(t, wave.Last)
			}
		}
	}

	w.request("fleet", "second")
	w.follows("fleet", second)
	w.poolsReady("batch")
	w.poolIs("held", "waits", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.ReconcilingCondition, "True", v1.RolloutPausedReason)
	})
	began := map[string]time.Time{}
	var moved, stayed []string
	for _, name := range names {
		if w.get(name).Labels["example.com/tier"] == "2" {
			moved, began[name] = append(moved, name), plan.LastChangeOf(plan.StateOf(w.get(name))).At
		} else {
			stayed = append(stayed, name)
		}
	}
	slices.SortFunc(moved, func(a, b string) int { return cmp.Or(began[a].Compare(began[b]), strings.Compare(a, b)) })
	if !slices.Equal(moved, order) || !slices.Equal(stayed, stay) || len(stay) != 1 {
		t.Errorf("%v follow and %v stay; foretold was that %v do, and %v", moved, stayed, order, stay)
	}
	took, foretold := began[moved[len(moved)-1]].Sub(began[moved[0]]), last.Sub(canary)
	if foretold != 10*time.Second || took < foretold-time.Second || took > foretold+waitTimeout {
		t.Errorf("the last node begins %v after the first one, foretold were %v", took, foretold)
	}
}

// timeOf is a moment of a review.
func timeOf(t *testing.T, m *plan.Moment) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, m.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

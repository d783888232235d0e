package impact

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// randomWorlds is how many are generated. Each takes about one millisecond.
const randomWorlds = 400

// TestRandomWorldsFareAsKubernetesHasIt compares with the oracle what becomes of
// each pod.
func TestRandomWorldsFareAsKubernetesHasIt(t *testing.T) {
	cluster.Long(t)
	seen := map[string]int{}
	for seed := range uint64(randomWorlds) {
		before, after := seeded(seed).world()
		got := Of(before, after, nil)
		want := oracle{before, after}.fates()
		if is := fatesOf(got); !maps.Equal(want, is) {
			t.Fatalf("seed %d: pods (-oracle +impact):\n%s", seed, cmp.Diff(want, is))
		}
		if diff := cmp.Diff(oracle{before, after}.started(), starting(got)); diff != "" {
			t.Fatalf("seed %d: pods of DaemonSets that start (-oracle +impact):\n%s", seed, diff)
		}
		for _, f := range want {
			count(seen, "evicted at once", f.Evicted && f.AfterSeconds == 0)
			count(seen, "evicted later", f.Evicted && f.AfterSeconds > 0)
			count(seen, "removed", f.Removed)
			count(seen, "unschedulable", f.Unschedulable)
			count(seen, "infeasible", f.NoFeasibleNode)
			count(seen, "feasible", f.Evicted && !f.NotRecreated && !f.NoFeasibleNode)
			count(seen, "not recreated", f.NotRecreated)
		}
		for _, budget := range got.Budgets {
			count(seen, "budget exceeded", budget.Exceeded)
			count(seen, "budget kept", !budget.Exceeded)
		}
		for _, of := range got.DaemonPods {
			count(seen, "started", len(of.Started) > 0)
		}
		for _, of := range got.RuntimeClasses {
			count(seen, "class "+of.Action, true)
		}
		count(seen, "overlap", len(got.Overlaps) > 0)
	}
	t.Logf("seen: %v", seen)
	for _, what := range append(words("evicted at once", "evicted later", "removed", "unschedulable", "infeasible", "feasible"), "not recreated",
		"budget exceeded", "budget kept", "started", "class delete", "class replace", "overlap") {
		if seen[what] == 0 {
			t.Errorf("never %s: the worlds do not cover it", what)
		}
	}
}

func count(seen map[string]int, what string, it bool) {
	if it {
		seen[what]++
	}
}

// fatesOf returns the fate of each pod according to an impact.
func fatesOf(i *Impact) map[string]fate {
	fates := map[string]fate{}
	add := func(pods []Pod, f fate) {
		for _, pod := range pods {
			fates[pod.Name] = f
		}
	}
	for _, e := range i.Evictions {
		add(e.Pods, fate{Evicted: true, AfterSeconds: e.AfterSeconds, NotRecreated: e.NotRecreated, NoFeasibleNode: e.NoFeasibleNode})
	}
	for _, u := range i.Unschedulable {
		add(u.Pods, fate{Unschedulable: true, NoFeasibleNode: u.NoFeasibleNode})
	}
	for _, d := range i.DaemonPods {
		add(d.Removed, fate{Removed: true})
	}
	return fates
}

func starting(i *Impact) []string {
	started := []string{}
	for _, of := range i.DaemonPods {
		for _, node := range of.Started {
			started = append(started, of.Workload.Name+" "+node)
		}
	}
	slices.Sort(started)
	return started
}

// TestRandomWorldsWithoutChange have no impact.
func TestRandomWorldsWithoutChange(t *testing.T) {
	for seed := range uint64(randomWorlds) {
		before, _ := seeded(seed).world()
		same, _ := seeded(seed).world()
		for _, after := range []plan.Cluster{same.Cluster, before.Cluster} {
			if got := Of(before, after, nil); !reflect.DeepEqual(*got, whole(Impact{})) {
				t.Fatalf("seed %d: an impact of nothing:\n%s", seed, cmp.Diff(whole(Impact{}), *got))
			}
		}
	}
}

// TestOrderOfRandomWorlds does not matter, and neither world is changed by being
// looked at.
func TestOrderOfRandomWorlds(t *testing.T) {
	for seed := range uint64(randomWorlds) {
		before, after := seeded(seed).world()
		want := Of(before, after, nil)
		again, afterAgain := seeded(seed).world()
		if !reflect.DeepEqual(again, before) || !reflect.DeepEqual(afterAgain, after) {
			t.Fatalf("seed %d: computing the impact has changed the world (-was +is):\n%s%s", seed, cmp.Diff(again, before), cmp.Diff(afterAgain, after))
		}
		seeded(seed+randomWorlds).shuffle(again, &afterAgain)
		if got := Of(again, afterAgain, nil); !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: in another order (-want +got):\n%s", seed, cmp.Diff(want, got))
		}
	}
}

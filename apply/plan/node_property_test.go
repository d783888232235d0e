package plan

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// worlds is how many are tried, with -short fewer and with -stress many more: those of the seeds from 0 on,
// the same in each run.
var worlds = 250

// steps is how often something happens in a world.
const steps = 6

func TestMain(m *testing.M) {
	stress := flag.Bool("stress", false, "try twenty times as many worlds")
	flag.Parse()
	switch {
	case *stress:
		worlds *= 20
	case testing.Short():
		worlds = 125
	}
	os.Exit(m.Run())
}

// step is one moment in a world: a node, the plan for it, and what came of that.
type step struct {
	*world
	s      server
	before *NodeState
	p      *NodePlan
}

// live lets some time pass: pools come, change and go, others write the node if
// they may, and each time the plan is carried out.
func (w *world) live(t *testing.T, s server, meddling bool, look func(step)) {
	t.Helper()
	for range steps {
		w.changePools()
		if meddling {
			switch w.r.IntN(4) {
			case 0:
				w.node = s.update(t, w.node, "kubectl", w.meddle)
			case 1:
				w.node = s.apply(t, w.node, "argo", w.meddleByApply())
			}
		}
		before := w.node
		var p *NodePlan
		w.node, p = s.write(t, before, w.expansion())
		look(step{world: w, s: s, before: before, p: p})
	}
}

// TestProperties lets many worlds live and holds every step to what must be true
// of any plan, and the end to what must be true of repairs and of release.
func TestProperties(t *testing.T) {
	s, seen := newServer(), &counts{}
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		w.live(t, s, true, func(at step) {
			at.nothingForeignIsTouched(t)
			at.whatOthersChangedStays(t)
			at.heldAndDeniedKeysStay(t, seen)
			at.noPoolMissesAKeyInSilence(t)
			at.sameInputSameBytes(t)
			at.planFromCache(t, seen)
			at.explanationIsThePlan(t)
			at.recordRoundTrips(t)
			at.partsComeToTheWhole(t, seen)
			at.refusedPoolsKeepNobodyOff(t, seed, seen)
			at.oneWriteIsEnough(t, seen)
		})
		for range 3 { // many changes concern others, and are not to be put back
			w.driftIsPutBack(t, s, seen)
		}
		w.adoptedKeysGoWithTheLastPool(t, s)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	seen.check(t)
}

// counts tell that the worlds hold what the properties are about.
type counts struct {
	held, disputed, repaired int
	named                    int // conflicts that name who set the value
	secondWrites             int
	walls, removals          int // plans of which these are a part
	refused                  int // plans of which a part is refused
}

func (c *counts) check(t *testing.T) {
	t.Helper()
	for what, count := range map[string]int{"held keys": c.held, "disputed keys": c.disputed, "repaired keys": c.repaired, "values whose setter is known": c.named,
		"plans with walls and more": c.walls, "plans with removals and more": c.removals, "plans of which a part is refused": c.refused} {
		if count < worlds/10 {
			t.Errorf("only %d %s in %d worlds", count, what, worlds)
		}
	}
	if c.secondWrites > 1+worlds/500 {
		t.Errorf("a second write was due %d times in %d worlds", c.secondWrites, worlds)
	}
}

// Whatever pools came, changed and went, and in whatever order: when the last
// has gone, the node is what it was. And at no time does a pool have the node
// that would not have it but for the labels of other pools.
func TestReleaseUndoesAll(t *testing.T) {
	s := newServer()
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		w.policies = []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver}
		start := w.node
		selectsWhatOthersPut := func(step) {
			want := w.expansion().Node(start.Name, start.Labels).Pools
			p, err := Node(w.node, w.expansion())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, p.Pools); diff != "" {
				t.Errorf("labels put on by pools make members (-without +with):\n%s", diff)
			}
		}
		w.live(t, s, false, selectsWhatOthersPut)
		for len(w.pools) > 0 {
			delete(w.pools, pick(w.r, worldPools))
			w.node, _ = s.write(t, w.node, w.expansion())
			selectsWhatOthersPut(step{})
		}
		ignore := cmp.Options{
			cmpopts.IgnoreFields(NodeState{}, "ManagedFields", "ResourceVersion"), cmpopts.EquateEmpty(),
		}
		if diff := cmp.Diff(start, w.node, ignore); diff != "" {
			t.Errorf("the node (-before the first pool +after the last):\n%s", diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

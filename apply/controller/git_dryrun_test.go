package controller

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
)

// manyPools is how many pools a revision has that is asked about.
const manyPools = 20

// manyFiles are pools p00, p01 and so on, all of one tier.
func manyFiles(tier string) files {
	all := files{}
	for i := range manyPools {
		name := fmt.Sprintf("p%02d", i)
		all["pools/"+name+".yaml"] = poolFile(name, tier)
	}
	return all
}

// dryRuns is how often the loops have asked about a pool since a mark, and changed
// nothing.
func (w *gitWorld) dryRuns(mark int64) int {
	w.t.Helper()
	requests, err := w.cluster.Audit(mark)
	w.do(err)
	count := 0
	for _, request := range requests {
		if request.User == loopsUser && request.DryRun && request.Object.Resource == "nodepools" {
			count++
		}
	}
	return count
}

// A revision of many pools is asked about before it is written where a policy may
// refuse one of them, and written at once where nothing can.
func TestGitDryRunsWhereSomethingMayRefuse(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	mark := w.mark()
	first := repo.commit(manyFiles("0"))
	w.source("many", repo.url())
	w.follows("many", first)
	second := repo.commit(manyFiles("1"))
	w.follows("many", second)
	// A pass that a write of another interrupted may leave so few changes that it
	// costs less to ask about them.
	if asked := w.dryRuns(mark); asked >= 2*apply.PoolsAtOnce {
		t.Errorf("%d dry runs of %d pools that nothing judges", asked, manyPools)
	}

	lift := w.refuse()
	mark = w.mark()
	third := repo.commit(manyFiles("2"))
	w.follows("many", third)
	if asked := w.dryRuns(mark); asked < manyPools {
		t.Errorf("%d dry runs of %d pools that a policy judges", asked, manyPools)
	}
	w.poolsReady(slices.Collect(maps.Keys(w.allPools()))...)
	mark = w.mark()
	bad := manyFiles("3")
	bad["pools/p19.yaml"] = poolFile("p19", "forbidden")
	repo.commit(bad)
	w.stands("many", v1.ValidCondition, metav1.ConditionFalse, v1.ApplyReason, `update pool "p19"`, "this tier is forbidden", third+" stays")
	w.wroteOnly(mark, "patch nodepoolsources/status many")

	lift()
	w.follows("many", repo.commit(manyFiles("4")))
}

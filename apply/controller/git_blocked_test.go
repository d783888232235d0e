package controller

import (
	"fmt"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A prune is blocked, and somebody deletes some of its pools by hand, so that the
// rest is within the limit. The rest stays: over passes, over a restart and over
// revisions that add pools, until it is approved.
func TestGitBlockedPruneStaysBlocked(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	content := files{}
	for i := range 6 {
		name := fmt.Sprintf("p%d", i)
		content["pools/"+name+".yaml"] = poolFile(name, "0")
	}
	w.node("p51", role("p5"))
	first := repo.commit(content)
	w.source("held", repo.url(), rarely)
	w.follows("held", first)
	w.poolsReady("p0", "p1", "p2", "p3", "p4", "p5")

	// Three of six vanish, and two may go.
	gone := files{"pools/p3.yaml": "", "pools/p4.yaml": "", "pools/p5.yaml": ""}
	second := repo.commit(gone)
	w.request("held", "second")
	w.pruneIsBlocked("held", "3 pools kept", "kept: p3, p4, p5", second)
	w.remembers("held", 3, "p3", "p4", "p5")

	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "p3")
	w.request("held", "after a deletion by hand")
	w.pruneIsBlocked("held", "kept: p4, p5", "the prune was of 3 pools when it was blocked")
	w.poolsAre("p0", "p1", "p2", "p4", "p5")
	w.remembers("held", 3, "p4", "p5")

	w.stop()
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "p4", "--wait=false")
	w.start()
	w.poolsAre("p0", "p1", "p2", "p5")
	third := repo.commit(files{"pools/n0.yaml": poolFile("n0", "0"), "pools/n1.yaml": poolFile("n1", "0"), "pools/n2.yaml": poolFile("n2", "0")})
	w.request("held", "third")
	w.pruneIsBlocked("held", "kept: p5", "the prune was of 3 pools when it was blocked", third)
	w.poolsAre("n0", "n1", "n2", "p0", "p1", "p2", "p5")
	w.carries("p51", tiers("p5", "0"))
	w.remembers("held", 3, "p5")

	w.kubectl("annotate", "--overwrite", "nodepoolsources.nodes.lailin.xyz", "held", v1.ApprovePruneAnnotation+"="+third)
	w.poolsAre("n0", "n1", "n2", "p0", "p1", "p2")
	w.hasNoRecord("p51")
	w.remembers("held", 0)
}

// remembers waits until the status of a source has of a blocked prune how many
// pools it was of, and which are left; 0 is none.
func (w *gitWorld) remembers(source string, count int32, pools ...string) {
	w.t.Helper()
	w.sourceIs(source, "remembers what was blocked", func(src *v1.NodePoolSource) error {
		blocked := src.Status.BlockedPrune
		switch {
		case count == 0 && blocked == nil:
			return nil
		case count == 0 || blocked == nil || blocked.Count != count || fmt.Sprint(blocked.Pools) != fmt.Sprint(pools):
			return fmt.Errorf("it has %+v, want %d of %v", blocked, count, pools)
		}
		return nil
	})
}

package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// Each line about a write says which revision it carries out, and in which pass: what a
// pass has logged is found by that.
func TestWritesAreLoggedWithTheirRevision(t *testing.T) {
	cluster.Long(t)
	w := newGitWorld(t)
	repo := newRepository(t)
	revision := repo.commit(files{"pools/gpu.yaml": poolFile("gpu", "0")})
	w.node("gpu-1", role("gpu"))
	w.source("fleet", repo.url())
	w.follows("fleet", revision)
	w.poolsReady("gpu")
	w.isReady("gpu", 1)
	w.logged(revision, "applied revision", "wrote node", "wrote RuntimeClass")

	w.pod("alone", "")
	w.runsOn("alone", "gpu-1")
	next := repo.commit(files{"pools/gpu.yaml": poolFile("gpu", "1",
		"  taints: [{key: example.com/alone, value: x, effect: NoExecute}]", "  rollout: {drain: {}}")})
	w.follows("fleet", next)
	w.carries("gpu-1", tiers("gpu", "1"), "example.com/alone=x:NoExecute")
	w.logged(next, "evicted pod")
	if line := w.log.text(`"evicted pod"`); !strings.Contains(line, `"pod"="default/alone"`) || !strings.Contains(line, `"name"="gpu-1"`) {
		t.Errorf("it is not logged which pod of which node was evicted: %s", line)
	}
}

// logged waits until each of some lines is logged, and always with a revision.
func (w *gitWorld) logged(revision string, lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		w.eventually(fmt.Sprintf("%q is logged", line), func() error {
			logged := strings.TrimSpace(w.log.text(`"` + line + `"`))
			if logged == "" {
				return errors.New("it is not")
			}
			for logged := range strings.Lines(logged) {
				if !strings.Contains(logged, revision) || !strings.Contains(logged, `"reconcileID"=`) {
					return fmt.Errorf("without %s or the ID of the pass: %s", revision, logged)
				}
			}
			return nil
		})
	}
}

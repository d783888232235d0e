package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Each line about a write says which revision it carries out, and in which pass: what a
// pass has logged is found by that.
func TestWritesAreLoggedWithTheirRevision(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	revision := repo.commit(files{"pools/gpu.yaml": poolFile("gpu", "0")})
	w.node("gpu-1", role("gpu"))
	w.source("fleet", repo.url(), rarely)
	w.follows("fleet", revision)
	w.poolsReady("gpu")
	w.isReady("gpu", 1)
	for _, line := range []string{"applied revision", "wrote node", "wrote RuntimeClass"} {
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

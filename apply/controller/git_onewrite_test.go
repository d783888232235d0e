package controller

import "testing"

// A revision that deletes a pool and has another one in its place is one write for each of their
// nodes: pods that start in between would find the keys of both.
func TestGitRevisionIsOneWritePerNode(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	moved := w.zoneNodes("a", 12)
	w.zoneNodes("b", 14)
	first := repo.commit(files{"pools/old.yaml": wallPool("old", "a"), "pools/other.yaml": wallPool("other", "b")})
	w.source("whole", repo.url(), rarely)
	w.follows("whole", first)
	w.isReady("old", 12)
	w.isReady("other", 14)
	w.becomesIdle()
	mark := w.mark()

	second := repo.commit(files{"pools/old.yaml": "", "pools/new.yaml": wallPool("new", "a")})
	w.request("whole", "now")
	w.follows("whole", second)
	w.isReady("new", 12)
	w.carriesPool("old", false, moved...)
	w.becomesIdle()
	written, _ := w.nodeWrites(mark)
	for _, node := range moved {
		if written[node] != 1 {
			t.Errorf("node %s was written %d times", node, written[node])
		}
	}
	if len(written) != len(moved) {
		t.Errorf("written were %v", written)
	}
}

package controller

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// counting counts the lines that say that another instance works.
func counting() (logr.Logger, *atomic.Int32) {
	said := &atomic.Int32{}
	return funcr.New(func(_, line string) {
		if strings.Contains(line, "another instance of nodepools") {
			said.Add(1)
		}
	}, funcr.Options{}), said
}

// Of two controllers that know nothing of each other the one that is refused says so,
// once. Both may be.
func TestTwoInstancesAreNoticed(t *testing.T) {
	w := newWorld(t)
	for n := range 60 {
		w.node(fmt.Sprintf("n%d", n), role("shared"))
	}
	w.pool(poolFile("shared", "0"))
	w.isReady("shared", 60)
	w.stop()
	t.Cleanup(w.start) // pools are released by the loops
	var said []*atomic.Int32
	for n := range 2 {
		user, err := w.cluster.AddUser(fmt.Sprint("another-", n), "system:masters")
		w.do(err)
		user.QPS = -1
		logger, count := counting()
		said = append(said, count)
		startLoopsWith(t, user, Options{}, logger)
	}
	turn := 0
	change := func() {
		turn++
		w.change("shared", func(pool *v1.NodePool) {
			pool.Spec.Labels = map[string]v1.LabelValue{fmt.Sprintf("turn-%d", turn): "x"}
		})
		w.isReady("shared", 60)
	}
	cluster.Eventually(t, "an instance notices that there are others", waitTimeout, func() error {
		change()
		if said[0].Load()+said[1].Load() == 0 {
			return fmt.Errorf("none says so in %d turns", turn)
		}
		return nil
	})
	for range 5 {
		change()
	}
	for n, count := range said {
		if count.Load() > 1 {
			t.Errorf("instance %d said so %d times, want once", n, count.Load())
		}
	}
}

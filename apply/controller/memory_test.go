package controller

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// eventBytes is more than client-go keeps of an event, for the six minutes in which it
// counts repetitions, and heapSlack is more than what else comes and goes by itself.
const eventBytes, heapSlack = 2 << 10, 1 << 20

// Sources and pools that have come and gone leave no memory behind but that of their
// latest events. With -stress it is the load that was seen to grow by 1 MiB a round: 300 of
// each, eleven times.
func TestWhatComesAndGoesTakesNoMemory(t *testing.T) {
	cluster.Long(t)
	count, rounds := 10, 4
	if cluster.Stress() {
		count, rounds = 300, 11
	}
	c := cluster.Shared(t)
	w := &gitWorld{world: &world{Client: newClient(t, c.Config), t: t, cluster: c}}
	user, err := c.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	stop := runLoops(t, user, Options{FetchTimeout: waitTimeout}, logr.Discard())
	t.Cleanup(stop)
	t.Cleanup(w.clear)
	w.node("n1", nil)
	repo, content := newRepository(t), files{}
	for i := range count {
		content[comingName(i)+"/pool.yaml"] = comingPool(i)
	}
	repo.commit(content)

	var first, last, before int
	for round := range rounds {
		w.comeAndGo(repo.url(), count)
		last = heapInUse()
		t.Logf("round %d: %d KiB, %d events", round, last>>10, w.eventsOfComing())
		if round == 1 { // by then the process has what it keeps for good
			first, before = last, w.eventsOfComing()
		}
	}
	made := w.eventsOfComing() - before
	if growth := last - first; growth > heapSlack+made*eventBytes {
		t.Errorf("%d rounds of %d sources and pools, with %d events, take %d KiB", rounds-2, count, made, growth>>10)
	}
}

// onNode is how many of the pools that come have the node. The texts of records are
// remembered up to a size, which these are far from.
const onNode = 4

func comingName(i int) string { return fmt.Sprintf("come-%03d", i) }

func comingPool(i int) string {
	node := "nobody"
	if i < onNode {
		node = "n1"
	}
	return fmt.Sprintf("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: %s}\nspec: {nodeNames: [%s], labels: {%[1]s: 'yes'}}\n", comingName(i), node)
}

// eventsOfComing counts the events of sources and pools that come and go. Those of a
// cluster stay for longer than the test takes.
func (w *gitWorld) eventsOfComing() int {
	w.t.Helper()
	var events corev1.EventList
	w.do(w.List(w.t.Context(), &events))
	count := 0
	for _, event := range events.Items {
		if strings.HasPrefix(event.InvolvedObject.Name, "come-") {
			count++
		}
	}
	return count
}

// comeAndGo makes sources, each of which brings a pool, and takes them away with it.
func (w *gitWorld) comeAndGo(url string, count int) {
	w.t.Helper()
	each := func(do func(src *v1.NodePoolSource) error) {
		w.t.Helper()
		var all errgroup.Group
		all.SetLimit(8)
		for i := range count {
			src := &v1.NodePoolSource{
				ObjectMeta: metav1.ObjectMeta{Name: comingName(i)},
				Spec:       v1.NodePoolSourceSpec{URL: url, Path: comingName(i), DeletionPolicy: v1.DeletePools},
			}
			rarely(src)
			all.Go(func() error { return do(src) })
		}
		w.do(all.Wait())
	}
	each(func(src *v1.NodePoolSource) error { return w.Create(w.t.Context(), src) })
	// Lists of hundreds, asked for all the time, take what the loops need of the machine.
	pace := time.Duration(count) * 5 * time.Millisecond
	cluster.Eventually(w.t, "all have come", 40*waitTimeout, func() error {
		time.Sleep(pace)
		var pools v1.NodePoolList
		w.do(w.List(w.t.Context(), &pools))
		ready := 0
		for _, pool := range pools.Items {
			if conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason) == nil {
				ready++
			}
		}
		if node := w.get("n1"); ready < count || len(node.Labels) < 2*onNode {
			return fmt.Errorf("%d of %d pools are ready, and the node has %d labels", ready, count, len(node.Labels))
		}
		return nil
	})
	each(func(src *v1.NodePoolSource) error { return w.Delete(w.t.Context(), src) })
	cluster.Eventually(w.t, "all have gone", 40*waitTimeout, func() error {
		time.Sleep(pace)
		var pools v1.NodePoolList
		var sources v1.NodePoolSourceList
		w.do(w.List(w.t.Context(), &pools))
		w.do(w.List(w.t.Context(), &sources))
		if node := w.get("n1"); len(pools.Items)+len(sources.Items) > 0 || len(node.Labels) >= onNode {
			return fmt.Errorf("%d pools and %d sources are there, and the node has %d labels", len(pools.Items), len(sources.Items), len(node.Labels))
		}
		return nil
	})
}

// heapInUse is what is left of the heap, in bytes, after all garbage is collected.
func heapInUse() int {
	for range 3 { // what has a finalizer, or is pooled, goes with a later one
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

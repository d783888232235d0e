package controller

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// memory is all that the loops keep by the name of a pool, a source or a node.
type memory struct {
	nodes   *nodeLoop
	pools   *poolLoop
	sources *sourceLoop
}

// sizes are the numbers of entries of what is not empty.
func (m *memory) sizes() map[string]int {
	all := map[string]int{}
	t, set, gate, pace := m.nodes.tally, m.nodes.pools, m.nodes.pools.gate, m.pools.pace
	t.mu.Lock()
	all["tally.nodes"], all["tally.underway"], all["tally.looks"] = len(t.nodes), len(t.underway), len(t.looks)
	all["tally.pools"], all["tally.awaited"] = len(t.pools), len(t.awaited)
	t.mu.Unlock()
	set.mu.Lock()
	all["letGo"] = len(set.letGo)
	all["deletions"] = len(set.deletions.seen)
	if set.current != nil {
		all["snapshot"] = len(set.current.pools) + len(set.current.held.names())
	}
	set.mu.Unlock()
	gate.mu.Lock()
	all["frozen"], all["unfinished"] = len(gate.frozen), len(gate.unfinished)
	gate.mu.Unlock()
	pace.mu.Lock()
	all["pace.waiting"] = len(pace.waiting)
	pace.mu.Unlock()
	m.nodes.repairs.mu.Lock()
	all["repairs"] = len(m.nodes.repairs.nodes)
	m.nodes.repairs.mu.Unlock()
	m.sources.mu.Lock()
	all["looks"] = len(m.sources.looks)
	m.sources.mu.Unlock()
	for name, kept := range map[string]*perPool[string]{"written": &m.pools.written, "created": &m.pools.created} {
		kept.mu.Lock()
		all[name] = len(kept.values)
		kept.mu.Unlock()
	}
	m.pools.reported.mu.Lock()
	all["reported"] = len(m.pools.reported.values)
	m.pools.reported.mu.Unlock()
	maps.DeleteFunc(all, func(_ string, size int) bool { return size == 0 })
	return all
}

// Whatever comes and goes, nothing is kept by the name of what is gone: there is an end
// to nodes, pools and sources, and none to their names.
func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	w := newGitWorld(t)
	w.stop()
	user, err := w.cluster.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	kept := &memory{}
	options := Options{MaxRetry: time.Second, added: func(nodes *nodeLoop, pools *poolLoop, sources *sourceLoop) {
		kept.nodes, kept.pools, kept.sources = nodes, pools, sources
	}}
	startLoopsWith(t, user, options, logr.Discard())
	repo := newRepository(t)
	const count = 5
	for round := range 3 {
		inGit := files{}
		var made []client.Object
		for i := range count {
			name := fmt.Sprintf("r%d-%d", round, i)
			inGit["pools/"+name+".yaml"] = poolFile(name, "0")
			node := w.node("n-"+name, role(name, "hand-"+name))
			hand := w.pool(poolFile("hand-"+name, "1"))
			bad := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "bad-" + name}, Spec: v1.NodePoolSourceSpec{
				URL: repo.url(), Path: "none", Interval: metav1.Duration{Duration: time.Hour}}}
			w.do(w.Create(t.Context(), bad))
			made = append(made, node, hand, bad)
		}
		revision := repo.commit(inGit)
		source := fmt.Sprintf("good-%d", round)
		w.source(source, repo.url(), func(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = v1.DeletePools })
		w.follows(source, revision)
		for i := range count {
			name := fmt.Sprintf("r%d-%d", round, i)
			w.carries("n-"+name, map[string]string{"example.com/tier": "1", v1.RoleLabel(name): "", v1.RoleLabel("hand-" + name): ""})
			w.do(setLabel(t, w.Client, "n-"+name, "example.com/tier", "drift"))
			w.carries("n-"+name, map[string]string{"example.com/tier": "1", v1.RoleLabel(name): "", v1.RoleLabel("hand-" + name): ""})
		}
		good := w.mustRead(source)
		metav1.SetMetaDataAnnotation(&good.ObjectMeta, v1.ApproveReleaseAnnotation, v1.DeletionApproval)
		w.do(w.Update(t.Context(), good))
		w.do(w.Delete(t.Context(), good))
		for _, object := range made {
			w.do(w.Delete(t.Context(), object))
		}
		w.gone(append(made, good))
	}
	w.eventually("nothing is kept by name", func() error {
		if sizes := kept.sizes(); len(sizes) > 0 {
			return fmt.Errorf("entries of what is gone: %v", sizes)
		}
		return nil
	})
}

// gone waits until objects do not exist.
func (w *gitWorld) gone(objects []client.Object) {
	w.t.Helper()
	w.eventually("all is gone", func() error {
		for _, object := range objects {
			now := object.DeepCopyObject().(client.Object)
			if err := w.Get(context.Background(), client.ObjectKeyFromObject(object), now); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s is there: %w", object, object.GetName(), err)
			}
		}
		return nil
	})
}

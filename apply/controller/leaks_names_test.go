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
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/apply/controller/pools"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// memory is all that the reconcilers keep by the name of a pool, a source or a node.
type memory struct {
	fleet   *fleet.Fleet
	nodes   *nodes.Reconciler
	pools   *pools.Reconciler
	sources *sources.Reconciler
}

// sizes are the numbers of entries of what is not empty.
func (m *memory) sizes() map[string]int {
	all := m.fleet.Kept()
	all["by the nodes"], all["by the pools"], all["by the sources"] = m.nodes.Kept(), m.pools.Kept(), m.sources.Kept()
	maps.DeleteFunc(all, func(_ string, size int) bool { return size == 0 })
	return all
}

// Whatever comes and goes, nothing is kept by the name of what is gone: there is an end
// to nodes, pools and sources, and none to their names.
func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	cluster.Long(t)
	w := newGitWorld(t)
	w.stop()
	user, err := w.cluster.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	kept := &memory{}
	options := Options{MaxRetry: time.Second, added: func(f *fleet.Fleet, n *nodes.Reconciler, p *pools.Reconciler, s *sources.Reconciler) {
		kept.fleet, kept.nodes, kept.pools, kept.sources = f, n, p, s
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

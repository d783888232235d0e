package controller

import (
	"fmt"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// reads waits until an object reads so to Flux, by kstatus, and to Argo CD, by the
// health check of the examples.
func (w *gitWorld) reads(kind, name string, flux status.Status, argo string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s %s reads as %s and %s", kind, name, flux, argo), func() error {
		object := w.unstructured(kind, name)
		result, err := status.Compute(object)
		if err != nil {
			return err
		}
		health := argoHealth(w.t, kind, object.Object)
		if result.Status != flux || health != argo {
			return fmt.Errorf("it reads as %s (%s) and %s", result.Status, result.Message, health)
		}
		return nil
	})
}

// readsAtOnce is reads without waiting: a moment in which an object reads as ready is
// enough for whoever waits for it.
func (w *gitWorld) readsAtOnce(kind, name string, flux status.Status, argo string) {
	w.t.Helper()
	object := w.unstructured(kind, name)
	result, err := status.Compute(object)
	w.do(err)
	if health := argoHealth(w.t, kind, object.Object); result.Status != flux || health != argo {
		w.t.Errorf("%s %s reads as %s (%s) and %s, want %s and %s", kind, name, result.Status, result.Message, health, flux, argo)
	}
}

func (w *gitWorld) unstructured(kind, name string) *unstructured.Unstructured {
	w.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1.GroupVersion.WithKind(kind))
	w.do(w.Get(w.t.Context(), client.ObjectKey{Name: name}, object))
	return object
}

const (
	aPool   = v1.NodePoolKind
	aSource = v1.NodePoolSourceKind
)

// Whoever waits for pools goes by what kstatus or the health check says of them. A
// controller that does not run makes nothing ready.
func TestHealthOfPools(t *testing.T) {
	w := newGitWorld(t)
	w.node("a1", role("a"))
	w.stop()
	w.pool(poolFile("a", "0"))
	w.readsAtOnce(aPool, "a", status.InProgressStatus, "Progressing")
	w.start()
	w.reads(aPool, "a", status.CurrentStatus, "Healthy")
	w.carries("a1", tiers("a", "0"))

	w.stop()
	w.change("a", func(p *v1.NodePool) { p.Spec.Labels["example.com/tier"] = "1" })
	w.readsAtOnce(aPool, "a", status.InProgressStatus, "Progressing")
	w.start()
	w.reads(aPool, "a", status.CurrentStatus, "Healthy")

	// Somebody else holds a key.
	w.kubectl("label", "node", "a1", "example.com/theirs=x")
	w.change("a", func(p *v1.NodePool) { p.Spec.Labels["example.com/theirs"] = "y" })
	w.reads(aPool, "a", status.FailedStatus, "Degraded")
	w.change("a", func(p *v1.NodePool) { delete(p.Spec.Labels, "example.com/theirs"); p.Spec.Parent = "nobody" })
	w.reads(aPool, "a", status.FailedStatus, "Degraded")
	w.change("a", func(p *v1.NodePool) { p.Spec.Parent = "" })
	w.reads(aPool, "a", status.CurrentStatus, "Healthy")

	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "a", v1.ReconcileAnnotation+"="+v1.Disabled)
	w.reads(aPool, "a", status.InProgressStatus, "Suspended")
	w.kubectl("annotate", "nodepools.nodes.lailin.xyz", "a", v1.ReconcileAnnotation+"-")
	w.reads(aPool, "a", status.CurrentStatus, "Healthy")

	w.stop()
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "a", "--wait=false")
	w.readsAtOnce(aPool, "a", status.TerminatingStatus, "Progressing")
	w.start()
	w.eventually("the pool is gone", func() error {
		if err := w.Get(t.Context(), client.ObjectKey{Name: "a"}, &v1.NodePool{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

func TestHealthOfSources(t *testing.T) {
	cluster.Long(t)
	w := newGitWorld(t)
	repo := newRepository(t)
	repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0"), "pools/c.yaml": poolFile("c", "0")})
	w.stop()
	w.source("main", repo.url(), rarely, deletes)
	w.readsAtOnce(aSource, "main", status.InProgressStatus, "Progressing")
	w.start()
	w.reads(aSource, "main", status.CurrentStatus, "Healthy")
	// A pool that a source has brought was never ready before it was carried out.
	for _, name := range []string{"a", "b", "c"} {
		w.reads(aPool, name, status.CurrentStatus, "Healthy")
	}

	w.stop()
	w.changeSource("main", func(src *v1.NodePoolSource) { src.Spec.Ref = &v1.GitRef{Branch: "main"} })
	w.readsAtOnce(aSource, "main", status.InProgressStatus, "Progressing")
	w.start()
	w.reads(aSource, "main", status.CurrentStatus, "Healthy")

	for _, tc := range []struct {
		state  string
		change func()
		back   func()
		flux   status.Status
		argo   string
	}{
		{
			"invalid",
			func() { repo.commit(files{"pools/d.yaml": "kind: Deployment\n"}) },
			func() { repo.commit(files{"pools/d.yaml": ""}) },
			status.FailedStatus, "Degraded",
		},
		{
			"claimed",
			func() {
				w.pool(poolFile("theirs", "0"))
				repo.commit(files{"pools/theirs.yaml": poolFile("theirs", "0")})
			},
			func() { repo.commit(files{"pools/theirs.yaml": ""}) },
			status.FailedStatus, "Degraded",
		},
		{
			"a prune that is blocked",
			func() { repo.commit(files{"pools/a.yaml": "", "pools/b.yaml": ""}) },
			func() { repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/b.yaml": poolFile("b", "0")}) },
			status.FailedStatus, "Degraded",
		},
		{
			"suspended",
			func() { w.changeSource("main", func(src *v1.NodePoolSource) { src.Spec.Suspend = true }) },
			func() { w.changeSource("main", func(src *v1.NodePoolSource) { src.Spec.Suspend = false }) },
			status.InProgressStatus, "Suspended",
		},
		{
			"paused",
			func() {
				w.kubectl("annotate", "nodepoolsources.nodes.lailin.xyz", "main", v1.ReconcileAnnotation+"="+v1.Disabled)
			},
			func() { w.kubectl("annotate", "nodepoolsources.nodes.lailin.xyz", "main", v1.ReconcileAnnotation+"-") },
			status.InProgressStatus, "Suspended",
		},
	} {
		t.Run(tc.state, func(t *testing.T) {
			w := w.in(t)
			tc.change()
			w.kubectl("annotate", "--overwrite", "nodepoolsources.nodes.lailin.xyz", "main", v1.RequestedAtAnnotation+"="+tc.state)
			w.reads(aSource, "main", tc.flux, tc.argo)
			tc.back()
			w.kubectl("annotate", "--overwrite", "nodepoolsources.nodes.lailin.xyz", "main", v1.RequestedAtAnnotation+"=back from "+tc.state)
			w.reads(aSource, "main", status.CurrentStatus, "Healthy")
		})
	}

	// A pool that the source prunes reads as going as long as it has a node, whose pause
	// here keeps it; the source has done what it had to.
	w.node("b1", role("b"))
	w.carries("b1", tiers("b", "0"))
	w.kubectl("annotate", "node", "b1", v1.ReconcileAnnotation+"="+v1.Disabled)
	repo.commit(files{"pools/b.yaml": ""})
	w.request("main", "pruned")
	w.reads(aPool, "b", status.TerminatingStatus, "Progressing")
	w.reads(aSource, "main", status.CurrentStatus, "Healthy")
	w.readsAtOnce(aPool, "b", status.TerminatingStatus, "Progressing")
	w.kubectl("annotate", "node", "b1", v1.ReconcileAnnotation+"-")
	w.poolsAre("a", "c", "theirs")
	w.reads(aSource, "main", status.CurrentStatus, "Healthy")

	w.stop()
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "main", "--wait=false")
	w.readsAtOnce(aSource, "main", status.TerminatingStatus, "Progressing")
	w.start()
	w.isGone("main")
	w.poolsAre("theirs")
}

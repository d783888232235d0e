package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The manifest of the README through Git: commit, change, removal.
func TestGitLifeOfAPool(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	w.node("m1", map[string]string{v1.RoleLabel("master"): "", "team": "a"}, "theirs=x:NoSchedule")
	w.node("m2", role("master"))
	w.node("s1", role("spare"))
	first := repo.commit(files{"pools/master.yaml": masterPool, "pools/spare.yaml": poolFile("spare", "low")})
	start := w.mark()
	w.source("life", repo.url(), anyRelease)

	w.follows("life", first)
	w.carries("m1", map[string]string{v1.RoleLabel("master"): "", "team": "a", "node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2"},
		"node-pool.lailin.xyz=master:NoSchedule", "theirs=x:NoSchedule")
	w.carries("m2", map[string]string{v1.RoleLabel("master"): "", "node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2"},
		"node-pool.lailin.xyz=master:NoSchedule")
	w.carries("s1", tiers("spare", "low"))
	toleration := corev1.Toleration{Key: "node-pool.lailin.xyz", Operator: "Equal", Value: "master", Effect: "NoSchedule"}
	w.hasRuntimeClass("node-pool-master", "runc", map[string]string{"node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2", v1.RoleLabel("master"): ""}, toleration)
	w.recordIs("master", "life", first, "master.yaml")
	w.poolIs("master", "names its revision", func(pool *v1.NodePool) error {
		if pool.Status.Revision != first || pool.Status.Nodes.Updated != 2 {
			return fmt.Errorf("status is %+v", pool.Status)
		}
		return nil
	})

	w.poolsReady("master", "spare")
	for _, pool := range []string{"master", "spare"} {
		writes := slices.DeleteFunc(w.written(start), func(write string) bool { return write != "patch nodepools "+pool })
		if len(writes) != 1 || !slices.Contains(w.allPools()[pool].Finalizers, v1.ReleaseFinalizer) {
			t.Errorf("new pool %s was written %d times, and has the finalizers %v", pool, len(writes), w.allPools()[pool].Finalizers)
		}
	}
	mark := w.mark()
	changed := strings.Replace(strings.Replace(masterPool, `"8"`, `"10"`, 1), `    "node-pool.lailin.xyz/test": "2"`+"\n", "", 1)
	second := repo.commit(files{
		"pools/master.yaml": changed,
		"pools/spare.yaml":  "", "pools/moved.yaml": "# Whatever is left.\n" + poolFile("spare", "low"),
	})
	w.follows("life", second)
	w.carries("m1", map[string]string{v1.RoleLabel("master"): "", "team": "a", "node-pool.lailin.xyz/master": "10"},
		"node-pool.lailin.xyz=master:NoSchedule", "theirs=x:NoSchedule")
	w.carries("m2", map[string]string{v1.RoleLabel("master"): "", "node-pool.lailin.xyz/master": "10"},
		"node-pool.lailin.xyz=master:NoSchedule")
	w.hasRuntimeClass("node-pool-master", "runc", map[string]string{"node-pool.lailin.xyz/master": "10", v1.RoleLabel("master"): ""}, toleration)
	w.recordIs("master", "life", second, "master.yaml")
	w.recordIs("spare", "life", first, "spare.yaml")
	for _, write := range w.written(mark) {
		if strings.HasSuffix(write, " s1") || strings.HasSuffix(write, "spare") {
			t.Errorf("the commit only moves pool spare, and the loops wrote %q", write)
		}
	}

	third := repo.commit(files{"pools/master.yaml": ""})
	w.follows("life", third)
	w.carries("m1", map[string]string{v1.RoleLabel("master"): "", "team": "a"}, "theirs=x:NoSchedule")
	w.carries("m2", role("master"))
	w.poolsAre("spare")
	w.eventually("the RuntimeClass is gone", func() error {
		if err := w.Get(t.Context(), client.ObjectKey{Name: "node-pool-master"}, &nodev1.RuntimeClass{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("get: %v", err)
		}
		return nil
	})
	w.hasNoRecord("m1", "m2")
	w.carries("s1", tiers("spare", "low"))
}

// recordIs checks where a pool says that it comes from.
func (w *gitWorld) recordIs(pool, source, revision, file string) {
	w.t.Helper()
	live := w.allPools()[pool]
	if live == nil {
		w.t.Fatalf("no pool %s", pool)
	}
	have := []string{live.Labels[v1.SourceLabel], live.Annotations[v1.RevisionAnnotation], live.Annotations[v1.FileAnnotation]}
	if want := []string{source, revision, file}; !slices.Equal(have, want) {
		w.t.Errorf("pool %s has the record %v, want %v", pool, have, want)
	}
}

func (w *gitWorld) hasNoRecord(names ...string) {
	w.t.Helper()
	for _, name := range names {
		var node corev1.Node
		w.do(w.Get(w.t.Context(), client.ObjectKey{Name: name}, &node))
		if record, found := node.Annotations[v1.AppliedAnnotation]; found {
			w.t.Errorf("node %s still has a record: %s", name, record)
		}
	}
}

package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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

// A pod that names the RuntimeClass of a pool from Git runs on the pool's nodes
// and nowhere else; one that names none stays off them. When the pool moves to
// other nodes, so do new pods.
func TestGitPodsFollow(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	for _, name := range []string{"fast-1", "fast-2", "fast-3", "slow-1", "slow-2"} {
		w.node(name, nil)
	}
	tainted := []string{"  taints: [{key: example.com/fast, value: \"yes\", effect: NoSchedule}]"}
	first := repo.commit(files{"pools/fast.yaml": poolFile("fast", "high", append(tainted, "  nodeNames: [fast-1, fast-2]")...)})
	w.source("pods", repo.url(), anyRelease)
	w.follows("pods", first)
	w.carries("fast-1", tiers("fast", "high"), "example.com/fast=yes:NoSchedule")
	w.carries("fast-2", tiers("fast", "high"), "example.com/fast=yes:NoSchedule")
	w.hasRuntimeClass("node-pool-fast", "runc", map[string]string{"example.com/tier": "high", v1.RoleLabel("fast"): ""},
		corev1.Toleration{Key: "example.com/fast", Operator: "Equal", Value: "yes", Effect: "NoSchedule"})

	w.pods("in", 6, ptr.To("node-pool-fast"))
	w.pods("out", 6, nil)
	w.podsRunOn("in", "fast-1", "fast-2")
	w.podsRunOn("out", "fast-3", "slow-1", "slow-2")

	second := repo.commit(files{"pools/fast.yaml": poolFile("fast", "high", append(tainted, "  nodeNames: [fast-3]")...)})
	w.follows("pods", second)
	w.carries("fast-3", tiers("fast", "high"), "example.com/fast=yes:NoSchedule")
	w.carries("fast-1", map[string]string{})
	w.carries("fast-2", map[string]string{})
	w.pods("moved", 3, ptr.To("node-pool-fast"))
	w.pods("free", 6, nil)
	w.podsRunOn("moved", "fast-3")
	w.podsRunOn("free", "fast-1", "fast-2", "slow-1", "slow-2")
}

// pods makes pods of an application.
func (w *gitWorld) pods(app string, count int, runtimeClass *string) {
	w.t.Helper()
	for i := range count {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", app, i), Namespace: "default", Labels: map[string]string{"app": app}},
			Spec:       corev1.PodSpec{RuntimeClassName: runtimeClass, Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}},
		}
		// The service account that the namespace is born with takes a moment.
		w.eventually("pod "+pod.Name+" is taken", func() error { return w.Create(w.t.Context(), pod.DeepCopy()) })
	}
}

// podsRunOn waits until all pods of an application run, and checks on which
// nodes.
func (w *gitWorld) podsRunOn(app string, allowed ...string) {
	w.t.Helper()
	var list corev1.PodList
	w.eventually("pods of "+app+" run", func() error {
		if err := w.List(w.t.Context(), &list, client.InNamespace("default"), client.MatchingLabels{"app": app}); err != nil {
			return err
		}
		for _, pod := range list.Items {
			if pod.Status.Phase != corev1.PodRunning {
				return fmt.Errorf("%s is %s: %+v", pod.Name, pod.Status.Phase, pod.Status.Conditions)
			}
		}
		return nil
	})
	for _, pod := range list.Items {
		if !slices.Contains(allowed, pod.Spec.NodeName) {
			w.t.Errorf("pod %s runs on %s, want one of %v", pod.Name, pod.Spec.NodeName, allowed)
		}
	}
}

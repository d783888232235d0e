package controller

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A source is renamed, that is deleted and made again under another name, and its
// pools are handed over to it; one of them is then handed over to a third. In no version of a node that the
// API server has ever had is a label, a taint or the record of a pool missing.
func TestGitMovingPoolsCostsNodesNothing(t *testing.T) {
	w := newGitWorld(t)
	repo, third := newRepository(t), newRepository(t)
	file := func(name string) string {
		return poolFile(name, "0", "  taints:", "  - {key: example.com/pool, value: "+name+", effect: NoExecute}")
	}
	carried := func(name string) {
		w.carries(name+"1", tiers(name, "0"), "example.com/pool="+name+":NoExecute", "foreign=x:NoSchedule")
	}
	names := []string{"a", "b", "c"}
	content := files{}
	for _, name := range names {
		w.node(name+"1", role(name), "foreign=x:NoSchedule")
		content["pools/"+name+".yaml"] = file(name)
	}
	first := repo.commit(content)
	w.source("before", repo.url(), anyRelease)
	w.follows("before", first)
	w.poolsReady(names...)
	for _, name := range names {
		carried(name)
		w.nodesReady(name, 1)
	}
	history, mark, made := w.watchNodes(), w.mark(), w.allPools()

	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "before")
	w.source("after", repo.url(), anyRelease)
	w.stands("after", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason, `source "before" owns it`)
	w.handOver("after", names...)
	w.follows("after", first)
	for _, name := range names {
		w.recordIs(name, "after", first, name+".yaml")
	}
	theirs := third.commit(files{"pools/a.yaml": file("a")})
	w.source("third", third.url())
	w.stands("third", v1.ValidCondition, metav1.ConditionFalse, v1.ClaimedReason, `source "after" owns it`)
	w.handOver("third", "a")
	w.follows("third", theirs)
	w.follows("after", repo.commit(files{"pools/a.yaml": ""}))
	w.recordIs("a", "third", theirs, "a.yaml")
	w.poolsAre(names...)
	w.poolsReady(names...)

	for _, write := range w.written(mark) {
		if strings.HasPrefix(write, "patch nodes ") || strings.HasPrefix(write, "delete ") {
			t.Errorf("nothing changes for a node, and the loops wrote %q", write)
		}
	}
	for name, pool := range w.allPools() {
		if pool.UID != made[name].UID || pool.Generation != made[name].Generation {
			t.Errorf("pool %s was %s at generation %d and is %s at %d", name, made[name].UID, made[name].Generation, pool.UID, pool.Generation)
		}
	}
	versions := history.end()
	for _, node := range versions {
		pool := strings.TrimSuffix(node.Name, "1")
		switch {
		case !maps.Equal(ownLabels(node), tiers(pool, "0")):
			t.Errorf("node %s once had the labels %v", node.Name, ownLabels(node))
		case !slices.Equal(ownTaints(node), []string{"example.com/pool=" + pool + ":NoExecute", "foreign=x:NoSchedule"}):
			t.Errorf("node %s once had the taints %v", node.Name, ownTaints(node))
		case node.Annotations[v1.AppliedAnnotation] == "":
			t.Errorf("node %s once had no record", node.Name)
		}
	}
	t.Logf("%d versions of %d nodes: nothing was missing in any", len(versions), len(names))
}

// nodeHistory is every version of every node since it began.
type nodeHistory struct {
	w       *gitWorld
	watcher watch.Interface
	mu      sync.Mutex
	// versions are as they came; of each node the first is as it stood.
	versions []*corev1.Node
	complete bool
	ended    chan struct{}
}

// watchNodes begins a history. What it has at the end is complete, as a watch
// leaves out nothing.
func (w *gitWorld) watchNodes() *nodeHistory {
	w.t.Helper()
	watching, err := client.NewWithWatch(w.cluster.Config, client.Options{Scheme: w.Scheme()})
	w.do(err)
	var now corev1.NodeList
	w.do(w.List(w.t.Context(), &now))
	h := &nodeHistory{w: w, ended: make(chan struct{})}
	for i := range now.Items {
		h.versions = append(h.versions, &now.Items[i])
	}
	h.watcher, err = watching.Watch(w.t.Context(), &corev1.NodeList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: now.ResourceVersion}})
	w.do(err)
	w.t.Cleanup(h.watcher.Stop)
	go func() {
		defer close(h.ended)
		for event := range h.watcher.ResultChan() {
			h.mu.Lock()
			if node, is := event.Object.(*corev1.Node); is {
				h.versions = append(h.versions, node)
			} else if !h.complete {
				w.t.Errorf("the history of the nodes has a hole: %v", event.Object)
			}
			h.mu.Unlock()
		}
	}()
	return h
}

// end makes a last version of some node, waits for it and returns them all.
func (h *nodeHistory) end() []*corev1.Node {
	h.w.t.Helper()
	h.w.kubectl("annotate", "node", "--all", "example.com/last=version")
	h.w.eventually("the history is complete", func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		last := map[string]bool{}
		nodes := map[string]bool{}
		for _, node := range h.versions {
			nodes[node.Name] = true
			if node.Annotations["example.com/last"] != "" {
				last[node.Name] = true
			}
		}
		if len(last) < len(nodes) {
			return fmt.Errorf("the end of %d of %d nodes", len(last), len(nodes))
		}
		if len(nodes) == 0 {
			return errors.New("there is no node")
		}
		h.complete = true // what is broken off after that does not matter
		return nil
	})
	h.watcher.Stop()
	<-h.ended
	return h.versions
}

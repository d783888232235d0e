package impact_test

import (
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// history is what has become of every pod, known by its UID: a StatefulSet gives
// the next one the same name.
type history struct {
	mu     sync.Mutex
	bounds map[types.UID]bound
	ends   map[types.UID]end
}

// bound is a pod that has got a node: by namespace, and by the label app, which is
// the name of its workload.
type bound struct{ namespace, app, node string }

// end is the deletion of a pod.
type end struct {
	// at is when it was seen, which is never before it was.
	at time.Time
	// tainted reports that the taint eviction controller has said that it is the one
	// who deletes, and drained that the Eviction API has.
	tainted, drained bool
}

// watchPods writes the history of all pods until the test ends.
func watchPods(t *testing.T, cfg *rest.Config) *history {
	t.Helper()
	h := &history{bounds: map[types.UID]bound{}, ends: map[types.UID]end{}}
	clients, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	informer := informers.NewSharedInformerFactory(clients, 0).Core().V1().Pods().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { h.seen(pod.(*corev1.Pod)) },
		UpdateFunc: func(_, pod any) { h.seen(pod.(*corev1.Pod)) },
		DeleteFunc: func(object any) {
			if unseen, isUnseen := object.(cache.DeletedFinalStateUnknown); isUnseen {
				object = unseen.Obj
			}
			h.ended(object.(*corev1.Pod))
		},
	})
	must(t, err)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); informer.Run(stop) }()
	t.Cleanup(func() { close(stop); <-ended })
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the pods cannot be watched")
	}
	return h
}

func (h *history) seen(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" {
		h.mu.Lock()
		h.bounds[pod.UID] = bound{namespace: pod.Namespace, app: pod.Labels["app"], node: pod.Spec.NodeName}
		h.mu.Unlock()
	}
	if pod.DeletionTimestamp != nil {
		h.ended(pod)
	}
}

// nodes are those on which a workload has ever had pods but for some, which are
// known: they may have gone again.
func (h *history) nodes(namespace, app string, but map[string]types.UID) map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := map[types.UID]bool{}
	for _, uid := range but {
		known[uid] = true
	}
	nodes := map[string]bool{}
	for uid, b := range h.bounds {
		if b.namespace == namespace && b.app == app && !known[uid] {
			nodes[b.node] = true
		}
	}
	return nodes
}

func (h *history) ended(pod *corev1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.ends[pod.UID]; known {
		return
	}
	e := end{at: time.Now()}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Reason == "DeletionByTaintManager" {
			e.tainted = true
		}
		if condition.Type == corev1.DisruptionTarget && condition.Reason == "EvictionByEvictionAPI" {
			e.drained = true
		}
	}
	h.ends[pod.UID] = e
}

// of returns the end of a pod; false when it is not deleted.
func (h *history) of(uid types.UID) (end, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, found := h.ends[uid]
	return e, found
}

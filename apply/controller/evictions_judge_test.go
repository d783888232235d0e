package controller

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// evictionJudge records what becomes of nodes, pods and budgets, by watches of its own, and
// who asked the API server to end which pod, by the audit log. It uses nothing of the
// product. The three watches are put together by resourceVersion, which is the revision of
// etcd and so the order in which everything became true.
type evictionJudge struct {
	t       *testing.T
	client  client.WithWatch
	cluster *cluster.Cluster
	// loops is whom the audit log has for the controller.
	loops string

	mu     sync.Mutex
	events []evictionEvent
	seen   map[string]uint64 // by kind, the last resourceVersion
	err    error

	// deleted are the pods that the test itself has deleted, by the answer of the API server.
	deleted map[types.UID]bool

	mark     int64
	requests []cluster.Request // that would end pods
	known    map[string]int    // where a request is in requests
}

// evictionEvent is what a watch reported of one object.
type evictionEvent struct {
	version uint64
	at      time.Time
	gone    bool
	pod     *judgedPod
	budget  *judgedBudget
	node    *judgedNode
}

type judgedPod struct {
	uid             types.UID
	name, app, node string
	created         time.Time
	ready           bool
	terminating     bool
	grace           int64 // in seconds, of a terminating one
	phase           corev1.PodPhase
	tolerations     []corev1.Toleration
	// bound are those that a taint ends though they were not evicted: static ones, and
	// those of DaemonSets.
	bound bool
}

func (p *judgedPod) healthy() bool { return p.ready && !p.terminating }

type judgedBudget struct {
	name, app string
	spec      policyv1.PodDisruptionBudgetSpec
	status    policyv1.PodDisruptionBudgetStatus
	observed  bool // the status is of this spec
}

type judgedNode struct {
	name   string
	taints []corev1.Taint // those of the world
}

func newEvictionJudge(w *evictionWorld) *evictionJudge {
	w.t.Helper()
	j := &evictionJudge{
		t: w.t, client: w.watching, cluster: w.cluster, loops: w.user, seen: map[string]uint64{},
		deleted: map[types.UID]bool{}, known: map[string]int{}, mark: w.mark(),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var watches sync.WaitGroup
	for kind, list := range map[string]func() client.ObjectList{
		"Pod":                 func() client.ObjectList { return &corev1.PodList{} },
		"PodDisruptionBudget": func() client.ObjectList { return &policyv1.PodDisruptionBudgetList{} },
		"Node":                func() client.ObjectList { return &corev1.NodeList{} },
	} {
		from := list()
		w.do(w.List(w.t.Context(), from))
		watches.Go(func() { j.watch(ctx, kind, list, from.GetResourceVersion()) })
	}
	w.t.Cleanup(func() { cancel(); watches.Wait() })
	return j
}

// watch records all that happens to a kind. The API server ends a watch now and then.
func (j *evictionJudge) watch(ctx context.Context, kind string, list func() client.ObjectList, version string) {
	for ctx.Err() == nil {
		stream, err := j.client.Watch(ctx, list(), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for event := range stream.ResultChan() {
			object, ok := event.Object.(client.Object)
			if !ok || event.Type == watch.Error {
				j.mu.Lock()
				j.err = fmt.Errorf("watch of %s: %+v", kind, event.Object)
				j.mu.Unlock()
				return
			}
			version = object.GetResourceVersion()
			j.record(kind, object, event.Type == watch.Deleted)
		}
	}
}

func (j *evictionJudge) record(kind string, object client.Object, gone bool) {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	event := evictionEvent{version: version, at: time.Now(), gone: gone}
	switch object := object.(type) {
	case *corev1.Pod:
		event.pod = judgedPodOf(object)
	case *policyv1.PodDisruptionBudget:
		event.budget = &judgedBudget{
			name: object.Name, app: object.Spec.Selector.MatchLabels[evictionApps], spec: object.Spec, status: object.Status,
			observed: object.Status.ObservedGeneration == object.Generation,
		}
	case *corev1.Node:
		event.node = &judgedNode{name: object.Name}
		for _, taint := range object.Spec.Taints {
			if strings.HasPrefix(taint.Key, evictionTaints) {
				event.node.taints = append(event.node.taints, taint)
			}
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event)
	j.seen[kind] = version
	if err != nil {
		j.err = err
	}
}

func judgedPodOf(pod *corev1.Pod) *judgedPod {
	judged := &judgedPod{
		uid: pod.UID, name: pod.Name, app: pod.Labels[evictionApps], node: pod.Spec.NodeName, created: pod.CreationTimestamp.Time,
		ready: podIsReady(pod), terminating: pod.DeletionTimestamp != nil, phase: pod.Status.Phase, tolerations: pod.Spec.Tolerations,
	}
	if pod.DeletionGracePeriodSeconds != nil {
		judged.grace = *pod.DeletionGracePeriodSeconds
	}
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	owner := metav1.GetControllerOf(pod)
	judged.bound = static || owner != nil && owner.Kind == "DaemonSet"
	return judged
}

// mustGo reports whether a pod may not be on a node as its NoExecute taints come.
func (p *judgedPod) mustGo(node *judgedNode) bool {
	if p.bound || p.phase == corev1.PodSucceeded || p.phase == corev1.PodFailed {
		return false
	}
	return slices.ContainsFunc(node.taints, func(taint corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoExecute && !slices.ContainsFunc(p.tolerations, func(t corev1.Toleration) bool {
			return (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
				(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value)
		})
	})
}

// readAudit adds what the audit log has by now of requests that end pods. It reads further
// than the mark that it goes on from, so it drops what it knows already.
func (j *evictionJudge) readAudit() {
	j.t.Helper()
	next, err := j.cluster.AuditMark()
	if err != nil {
		j.t.Fatal(err)
	}
	requests, err := j.cluster.Audit(j.mark)
	if err != nil {
		j.t.Fatal(err)
	}
	j.mark = next
	for _, r := range requests {
		evicts := r.Object.Subresource == "eviction" && r.Verb == "create"
		ends := r.Object.Subresource == "" && (r.Verb == "delete" || r.Verb == "deletecollection")
		if r.Object.Resource != "pods" || !evicts && !ends || r.DryRun {
			continue
		}
		key := fmt.Sprint(r.User, r.Verb, r.Object, r.Received.UnixNano())
		if i, known := j.known[key]; known {
			if r.Code != 0 { // it has been answered since
				j.requests[i] = r
			}
			continue
		}
		j.known[key] = len(j.requests)
		j.requests = append(j.requests, r)
	}
}

// evictions is how often the API server has answered the controller's evictions, by code,
// of all pods or of those whose names begin with a prefix.
func (j *evictionJudge) evictions(prefix string) map[int]int {
	counts := map[int]int{}
	for _, r := range j.requests {
		if r.Object.Subresource == "eviction" && r.User == j.loops && strings.HasPrefix(r.Object.Name, prefix) {
			counts[r.Code]++
		}
	}
	return counts
}

// catchUp waits until the watches have reported what is true by now: an annotation that is
// written last.
func (j *evictionJudge) catchUp(w *evictionWorld) {
	w.t.Helper()
	for kind, list := range map[string]client.ObjectList{"Pod": &corev1.PodList{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{}, "Node": &corev1.NodeList{}} {
		var object client.Object
		w.eventually("an object of kind "+kind+" is marked", func() error { // which may be going
			if err := w.List(w.t.Context(), list); err != nil {
				return err
			}
			switch list := list.(type) {
			case *corev1.PodList:
				object = &list.Items[0]
			case *policyv1.PodDisruptionBudgetList:
				object = &list.Items[0]
			case *corev1.NodeList:
				object = &list.Items[0]
			}
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"evictions.example.com/mark":"%d"}}}`, time.Now().UnixNano())
			return w.Patch(w.t.Context(), object, client.RawPatch(types.MergePatchType, patch))
		})
		want, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
		w.do(err)
		w.eventually("the watch of "+kind+" has caught up", func() error {
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.seen[kind] < want {
				return fmt.Errorf("it is at %d, not at %d", j.seen[kind], want)
			}
			return j.err
		})
	}
}

// ender says who ended a pod: the controller by an eviction, the test, or who else.
type ender struct {
	evicted, unanswered, byTest, byKwok bool
	who                                 string
}

// enders finds for each pod that has ended who did it.
//
// A pod that the test has deleted is known by its UID: it deletes with that precondition and
// without a grace period, so that a request that was answered with success has ended the
// pod, unless it was terminating before, with a grace period. Of each other one the audit
// log has the request, by name. Of pods that have the same name one after the other, the
// request is the first one that no earlier pod of that name has, that was received before
// the end of the pod was reported, and not before it was created: one that was answered with
// success, or else an eviction of which the API server answered nothing, as its client was
// killed, or else one of kwok, which ends terminating pods by their names, and with them
// those that have come by the same names.
func (j *evictionJudge) enders(events []evictionEvent) map[types.UID]ender {
	requests := slices.Clone(j.requests)
	slices.SortStableFunc(requests, func(a, b cluster.Request) int { return a.Received.Compare(b.Received) })
	byName := map[string][]cluster.Request{}
	for _, r := range requests {
		if r.User != "admin" {
			byName[r.Object.Name] = append(byName[r.Object.Name], r)
		}
	}
	found := map[types.UID]ender{}
	for _, event := range events {
		pod := event.pod
		if pod == nil || !event.gone && !pod.terminating {
			continue
		}
		if _, ended := found[pod.uid]; ended {
			continue
		}
		if j.deleted[pod.uid] && pod.grace == 0 {
			found[pod.uid] = ender{byTest: true}
			continue
		}
		found[pod.uid] = ender{who: "nobody of whom the audit log knows"}
		for _, e := range []struct {
			ender
			by func(cluster.Request) bool
		}{
			{ender{}, func(r cluster.Request) bool { return r.User != "kwok" && r.Code >= 200 && r.Code < 300 }},
			{ender{evicted: true, unanswered: true}, func(r cluster.Request) bool { return j.evicts(r) && (r.Code == 0 || r.Code > 500) }},
			{ender{byKwok: true}, func(r cluster.Request) bool { return r.User == "kwok" && r.Code == http.StatusOK }},
		} {
			i := slices.IndexFunc(byName[pod.name], func(r cluster.Request) bool {
				return e.by(r) && !r.Received.After(event.at) && !r.Received.Before(pod.created)
			})
			if i < 0 {
				continue
			}
			r := byName[pod.name][i]
			byName[pod.name] = slices.Delete(byName[pod.name], i, i+1)
			e.evicted = e.evicted || j.evicts(r) && r.Code == http.StatusCreated
			e.who = r.String()
			found[pod.uid] = e.ender
			break
		}
	}
	return found
}

// evicts reports whether a request is an eviction of the controller.
func (j *evictionJudge) evicts(r cluster.Request) bool {
	return r.User == j.loops && r.Object.Subresource == "eviction"
}

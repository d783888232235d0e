package controller

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// evictionVerdict goes through all that has happened, in its order.
//
// Whether the controller has violated a budget is worked out anew from the pods and from
// what the budget says: the status that Kubernetes computes is behind. Each pod that is
// healthy no more without an eviction of the controller is a disturbance: one of the test,
// or a node that is late on a busy machine. An eviction violates a budget if fewer pods are
// healthy after it than the budget wants, and as many would be too few though all of these
// disturbances were undone that have come since all pods were healthy. The API server allows
// evictions by a status that may not know of them yet. Where there was no disturbance, that
// is no allowance at all; and there the status has to be right at any time, too.
type evictionVerdict struct {
	apps    map[string]*evictionApp
	enders  map[types.UID]ender
	pods    map[types.UID]*judgedPod
	nodes   map[string]*judgedNode
	budgets map[string]*judgedBudget

	healthy, disturbed map[string]int  // by app; disturbed since all were healthy
	ever               map[string]bool // whether an app was disturbed at any time
	complete           map[string]bool // whether all pods of an app were healthy once
	known              map[string]bool // whether the status of a budget has shown that

	// late are pods that were bound to a node which had its NoExecute taints by then: by a
	// scheduler that has not seen for longer than [plan.Drain.Settles] what keeps pods off.
	// Nobody can know of these when a node has no pod left.
	late map[types.UID]bool
	// threatened are pods that a taint of their node may have ended at some time. Another one
	// was ended for one of the same name, which was on another node.
	threatened map[types.UID]bool
	// freed is when a node lost NoExecute taints, bound when a pod came to a node. Whoever ends
	// pods for taints may see that a pod has come before it sees that the taint is gone.
	freed      map[string]time.Time
	bound      map[types.UID]time.Time
	ended      map[types.UID]bool
	events     []evictionEvent
	violations []string
	counts     map[string]int
}

// verdict judges what has happened until now.
func (j *evictionJudge) verdict(apps []*evictionApp) *evictionVerdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	slices.SortStableFunc(j.events, func(a, b evictionEvent) int { return cmp.Compare(a.version, b.version) })
	v := &evictionVerdict{
		apps: map[string]*evictionApp{}, enders: j.enders(j.events),
		events: j.events, pods: map[types.UID]*judgedPod{}, nodes: map[string]*judgedNode{}, budgets: map[string]*judgedBudget{},
		healthy: map[string]int{}, disturbed: map[string]int{}, ever: map[string]bool{}, complete: map[string]bool{}, known: map[string]bool{},
		late: map[types.UID]bool{}, threatened: map[types.UID]bool{}, freed: map[string]time.Time{}, bound: map[types.UID]time.Time{}, ended: map[types.UID]bool{}, counts: map[string]int{},
	}
	for _, app := range apps {
		v.apps[app.name] = app
	}
	exempt := map[string]bool{} // names of pods
	for _, event := range j.events {
		switch {
		case event.pod != nil && event.pod.app != "":
			exempt[event.pod.name] = v.exempt(event.pod.app)
			v.podEvent(event)
		case event.budget != nil:
			v.budgetEvent(event)
		case event.node != nil:
			v.nodeEvent(event)
		}
	}
	for _, r := range j.requests {
		if r.User == j.loops && exempt[r.Object.Name] {
			v.violated("an eviction is asked for of a pod that is to be left alone: %s", r)
		}
		if r.User == j.loops && r.Object.Subresource != "eviction" {
			v.violated("the controller deletes: %s", r)
		}
	}
	return v
}

func (v *evictionVerdict) violated(format string, args ...any) {
	v.violations = append(v.violations, fmt.Sprintf(format, args...))
}

// exempt reports whether no pod of an app may be evicted; so it is with those single pods
// that the test makes.
func (v *evictionVerdict) exempt(app string) bool {
	found := v.apps[app]
	return found == nil || found.exempt
}

func (v *evictionVerdict) podEvent(event evictionEvent) {
	pod := event.pod
	before := v.pods[pod.uid]
	wasHealthy, isHealthy := before != nil && before.healthy(), pod.healthy() && !event.gone
	if v.pods[pod.uid] = pod; event.gone {
		delete(v.pods, pod.uid)
	}
	if on := v.nodes[pod.node]; before != nil && before.node == "" && on != nil && pod.mustGo(on) {
		v.late[pod.uid] = true
	}
	if pod.node != "" && (before == nil || before.node == "") {
		v.bound[pod.uid] = event.at
	}
	if on := v.nodes[pod.node]; on != nil && pod.mustGo(on) {
		v.threatened[pod.uid] = true
	}
	switch {
	case wasHealthy && !isHealthy:
		v.healthy[pod.app]--
	case !wasHealthy && isHealthy:
		v.healthy[pod.app]++
	}
	ends := (event.gone || pod.terminating) && !v.ended[pod.uid]
	if ends {
		v.ended[pod.uid] = true
		last := before
		if last == nil {
			last = pod
		}
		v.podEnds(last, event.version)
	}
	if wasHealthy && !isHealthy && (!ends || !v.enders[pod.uid].evicted) {
		v.disturbed[pod.app]++
		v.ever[pod.app] = true
	}
	if app := v.apps[pod.app]; app != nil && v.healthy[pod.app] >= app.replicas {
		v.complete[pod.app], v.disturbed[pod.app] = true, 0
	}
}

// endedForATaintThatWasGone reports whether a pod was ended that came to a node just after
// that had lost its NoExecute taints, and has got none since that may have ended it: by who
// did not know yet that they were gone. That happens to whoever takes such a taint off.
func (v *evictionVerdict) endedForATaintThatWasGone(pod *judgedPod) bool {
	freed, was := v.freed[pod.node]
	after := v.bound[pod.uid].Sub(freed)
	return was && !v.threatened[pod.uid] && strings.Contains(v.enders[pod.uid].who, ":node-controller") &&
		after > -skewOfWatches && after < settlingOfOthers
}

// skewOfWatches is by how much the watch of pods may be ahead of that of nodes.
const skewOfWatches = time.Second

// settlingOfOthers is for how long Kubernetes may act on a taint that is gone, on a busy machine.
const settlingOfOthers = 5 * time.Second

// podEnds judges the end of a pod that was as it is given until then.
func (v *evictionVerdict) podEnds(pod *judgedPod, version uint64) {
	by := v.enders[pod.uid]
	switch {
	case by.byTest:
		v.counts["ended by the test"]++
		return
	case by.byKwok:
		v.counts["ended by kwok, by their names"]++
		return
	case !by.evicted && v.late[pod.uid]:
		v.counts["bound too late by the scheduler, and ended"]++
		return
	case !by.evicted && v.endedForATaintThatWasGone(pod):
		v.counts["ended by Kubernetes for a taint that was gone before they came"]++
		return
	case !by.evicted:
		v.counts["ended otherwise"]++
		if !v.exempt(pod.app) && pod.phase == corev1.PodRunning {
			v.violated("pod %s of %s, which was running on node %s, was ended otherwise than by an eviction, at %d: %s; a taint of its node may have ended it: %t%s",
				pod.name, pod.app, pod.node, version, by.who, v.threatened[pod.uid], v.history(pod.name))
		}
		return
	}
	v.counts["evicted"]++
	if by.unanswered {
		v.counts["evicted, and nobody was there to be answered"]++
	}
	if v.exempt(pod.app) {
		v.violated("pod %s of %s was evicted, at %d", pod.name, pod.app, version)
	}
	node := v.nodes[pod.node]
	if pod.node != "" && (node == nil || !slices.ContainsFunc(node.taints, func(taint corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoSchedule })) {
		v.violated("pod %s was evicted from node %s, which is not drained, at %d", pod.name, pod.node, version)
	}
	if !pod.healthy() {
		v.counts["evicted while not ready"]++
		return
	}
	for _, name := range slices.Sorted(maps.Keys(v.budgets)) {
		budget := v.budgets[name]
		if budget.app != pod.app || !v.complete[pod.app] {
			continue
		}
		v.counts["evicted under a budget"]++
		want := desiredHealthy(budget.spec, v.apps[pod.app].replicas)
		if have, lost := v.healthy[pod.app], v.disturbed[pod.app]; have+lost < want {
			v.violated("budget %s wants %d healthy pods and has %d after the eviction of %s at %d, though only %d were disturbed", name, want, have, pod.name, version, lost)
		}
	}
}

func desiredHealthy(spec policyv1.PodDisruptionBudgetSpec, replicas int) int {
	scaled := func(value intstr.IntOrString) int {
		n, err := intstr.GetScaledValueFromIntOrPercent(&value, replicas, true)
		if err != nil {
			panic(err) // the API server has taken it
		}
		return n
	}
	if spec.MaxUnavailable != nil {
		return max(0, replicas-scaled(*spec.MaxUnavailable))
	}
	return scaled(*spec.MinAvailable)
}

func (v *evictionVerdict) budgetEvent(event evictionEvent) {
	budget := event.budget
	app := v.apps[budget.app]
	if event.gone || app == nil {
		delete(v.budgets, budget.name)
		delete(v.known, budget.name)
		return
	}
	if before := v.budgets[budget.name]; before != nil && !equality.Semantic.DeepEqual(before.spec, budget.spec) {
		v.known[budget.name] = false // pods that are missing were evicted by what it wanted before
	}
	v.budgets[budget.name] = budget
	status := budget.status
	if !budget.observed {
		return
	}
	if int(status.CurrentHealthy) >= app.replicas {
		v.known[budget.name] = true
	}
	if v.known[budget.name] && status.CurrentHealthy < status.DesiredHealthy {
		v.counts["statuses below a budget"]++
		if !v.ever[budget.app] {
			v.violated("the status of budget %s says that %d pods are healthy and %d are desired, at %d, and nobody else has disturbed it", budget.name, status.CurrentHealthy, status.DesiredHealthy, event.version)
		}
	}
}

// nodeEvent judges NoExecute taints that come to a node: no pod may be there that has to go.
func (v *evictionVerdict) nodeEvent(event evictionEvent) {
	before, node := v.nodes[event.node.name], event.node
	if v.nodes[node.name] = node; event.gone {
		delete(v.nodes, node.name)
		return
	}
	if before != nil && slices.ContainsFunc(before.taints, func(taint corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoExecute && !slices.Contains(node.taints, taint)
	}) {
		v.freed[node.name] = event.at
	}
	came := slices.ContainsFunc(node.taints, func(taint corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoExecute && (before == nil || !slices.Contains(before.taints, taint))
	})
	if !came {
		return
	}
	v.counts["nodes drained"]++
	for _, pod := range v.pods {
		if pod.node == node.name && pod.mustGo(node) {
			v.threatened[pod.uid] = true
			v.violated("node %s got its NoExecute taints while pod %s was there, at %d", node.name, pod.name, event.version)
		}
	}
}

// refusals are how often evictions were refused by a budget, by more than one, and because
// the pod of that name was another one.
func (j *evictionJudge) refusals() string {
	codes := j.evictions("")
	return fmt.Sprintf("%d evictions by the audit log, %d refused by 429, %d by 500, %d by 409, %d by 404",
		codes[http.StatusCreated], codes[http.StatusTooManyRequests], codes[http.StatusInternalServerError], codes[http.StatusConflict], codes[http.StatusNotFound])
}

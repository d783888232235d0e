package impact_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// evictionIsOver waits until every pod that goes within the time that is soon
// has gone: on each node with a new NoExecute taint, a pod that tolerates it for
// a second longer has been evicted. Another one, that would stay for long, shows
// later that evictions that are still to come are called off.
func (p *play) evictionIsOver() {
	p.t.Helper()
	before := map[string][]corev1.Taint{}
	for _, node := range p.before.Nodes {
		before[node.Name] = noExecute(node.Taints)
	}
	for _, node := range p.nodes() {
		var known []corev1.Toleration
		fresh := false
		for _, taint := range noExecute(node.Spec.Taints) {
			if slices.ContainsFunc(before[node.Name], func(t corev1.Taint) bool { return t.Key == taint.Key && t.Value == taint.Value }) {
				known = append(known, corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value})
			} else {
				fresh = true
			}
		}
		if !fresh {
			continue
		}
		var canaries []*corev1.Pod
		for _, seconds := range []int64{soon + 1, 300} {
			canary := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: p.probes(), Name: fmt.Sprintf("canary-%s-%d", p.short(node.Name), seconds)},
				Spec: corev1.PodSpec{
					NodeName:   node.Name,
					Containers: []corev1.Container{{Name: "main", Image: "none"}},
					Tolerations: append(slices.Clone(known), corev1.Toleration{
						Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To(seconds),
					}),
				},
			}
			p.do(p.Create(p.t.Context(), canary))
			canaries = append(canaries, canary)
		}
		p.eventually("the eviction is over on node "+node.Name, func() error {
			if e, ended := p.history.of(canaries[0].UID); !ended || !e.tainted {
				return fmt.Errorf("pod %s is still there", canaries[0].Name)
			}
			return nil
		})
	}
}

func noExecute(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoExecute })
}

// predictedHaveGone waits for the pods that were predicted to go: the taint
// eviction is over, but what it has asked for may take its time.
func (p *play) predictedHaveGone() {
	p.t.Helper()
	for _, f := range p.prediction() {
		if f.pod == "" || f.what != removed && f.what != drained && (f.what != evicted || f.seconds > soon) {
			continue
		}
		if !p.soonEnough(func() bool { _, ended := p.history.of(p.uids[f.pod]); return ended }) {
			p.t.Errorf("pod %s of %s is still there", f.pod, f.of)
		}
	}
}

// calledOff takes away all NoExecute taints of the pools, and returns the names
// of the pods whose eviction is called off.
func (p *play) calledOff() map[string]bool {
	p.t.Helper()
	mild := map[string]v1.NodePoolSpec{}
	for name, spec := range p.scenario.after {
		spec.Taints = slices.DeleteFunc(slices.Clone(spec.Taints), func(t v1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
		mild[name] = spec
	}
	var waiting []string
	for _, f := range p.prediction() {
		if f.what == evicted && f.seconds > soon {
			waiting = append(waiting, p.slug+"/"+f.pod)
		}
	}
	for _, pod := range p.scenario.pending {
		waiting = append(waiting, p.slug+"/"+pod)
	}
	var canaries corev1.PodList
	p.do(p.List(p.t.Context(), &canaries, client.InNamespace(p.probes())))
	for _, canary := range canaries.Items {
		if strings.HasPrefix(canary.Name, "canary-") && canary.DeletionTimestamp == nil {
			waiting = append(waiting, canary.Namespace+"/"+canary.Name)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	p.apply(mild)
	off := map[string]bool{}
	p.soonEnough(func() bool {
		for _, namespace := range []string{p.slug, p.probes()} {
			var events corev1.EventList
			p.do(p.List(p.t.Context(), &events, client.InNamespace(namespace)))
			for _, event := range events.Items {
				if pod, is := strings.CutPrefix(event.Message, "Cancelling deletion of Pod "); is {
					off[pod] = true
				}
			}
		}
		return !slices.ContainsFunc(waiting, func(pod string) bool { return !off[pod] })
	})
	ours := map[string]bool{}
	for pod := range off {
		if name, is := strings.CutPrefix(pod, p.slug+"/"); is {
			ours[name] = true
		}
	}
	for _, pod := range p.scenario.pending {
		if !ours[pod] {
			p.t.Errorf("pod %s was not to be evicted, and the scenario says that it was before the change", pod)
		}
		delete(ours, pod)
	}
	return ours
}

// noneTooSoon checks that no pod went before its seconds were over. Kubernetes
// promises no more: how much later one goes depends on how much else goes on.
func (p *play) noneTooSoon() {
	p.t.Helper()
	for _, f := range p.prediction() {
		end, ended := p.history.of(p.uids[f.pod])
		if after := end.at.Sub(p.changed); f.what == evicted && ended && after < time.Duration(f.seconds)*time.Second {
			p.t.Errorf("pod %s was predicted to go after %ds, and went within %s", f.pod, f.seconds, after)
		}
	}
}

// soonEnough waits for what should be there by now, but for the time that a
// message takes. It reports whether it was; the comparison says what that means.
func (p *play) soonEnough(check func() bool) bool {
	return wait.PollUntilContextTimeout(p.t.Context(), 50*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return check(), nil
	}) == nil
}

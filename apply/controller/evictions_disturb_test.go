package controller

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// disturb does one of the things that make drains difficult, by chance.
func (w *evictionWorld) disturb(closing []string) {
	w.t.Helper()
	pods := slices.DeleteFunc(w.podList(), func(pod corev1.Pod) bool {
		i := slices.IndexFunc(w.apps, func(app *evictionApp) bool { return app.name == pod.Labels[evictionApps] })
		return i < 0 || !w.apps[i].disturbed || pod.DeletionTimestamp != nil
	})
	switch dice := w.dice.IntN(20); {
	case dice < 5 && len(pods) > 0:
		w.deletePod(&pods[w.dice.IntN(len(pods))])
	case dice < 9 && len(pods) > 0:
		pod := &pods[w.dice.IntN(len(pods))]
		w.setReady(client.ObjectKeyFromObject(pod), corev1.ConditionFalse)
		w.unready = append(w.unready, client.ObjectKeyFromObject(pod))
		w.counts["made unready"]++
	case dice < 11 && len(w.unready) > 0:
		w.setReady(w.unready[0], corev1.ConditionTrue)
		w.unready = w.unready[1:]
	case dice < 14:
		app := w.apps[w.dice.IntN(len(w.apps))]
		if app.disturbed && len(app.budgets) > 0 && app.kind != "StatefulSet" {
			w.changeBudget(app, w.anyBudget(app.replicas))
			w.counts["budgets changed"]++
		}
	case dice < 17:
		w.proxy.Disturb(w.evictionFaults()...)
	case dice < 18:
		// A revert in the middle, and the same change again.
		pool := closing[w.dice.IntN(len(closing))]
		value := w.closed[pool]
		w.open(pool)
		time.Sleep(time.Duration(w.dice.IntN(2000)) * time.Millisecond)
		if w.closed[pool] = ""; value == "b" {
			w.closed[pool] = "a"
		}
		w.close(pool)
		w.counts["reverts"]++
	case dice < 20 && w.counts["kills"] < w.round*w.size.kills:
		w.kill()
	}
}

// deletePod deletes one pod, and not another one that has its name by now.
func (w *evictionWorld) deletePod(pod *corev1.Pod) {
	w.t.Helper()
	err := w.Delete(w.t.Context(), pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return
	}
	w.do(err)
	w.judge.deleted[pod.UID] = true
	w.counts["deleted"]++
}

func (w *evictionWorld) setReady(pod types.NamespacedName, ready corev1.ConditionStatus) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, ready)
	err := w.Status().Patch(w.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, client.RawPatch(types.StrategicMergePatchType, patch))
	w.do(client.IgnoreNotFound(err))
}

// heal makes all pods ready again, and has budgets say what they did.
func (w *evictionWorld) heal() {
	w.t.Helper()
	for _, pod := range w.unready {
		w.setReady(pod, corev1.ConditionTrue)
	}
	w.unready = nil
	for _, app := range w.apps {
		if app.disturbed && len(app.budgets) > 0 && app.kind != "StatefulSet" {
			w.changeBudget(app, app.budgets[0])
		}
	}
}

// evictionFaults are about evictions and what the controller reads of pods.
func (w *evictionWorld) evictionFaults() []cluster.Fault {
	w.counts["faults"]++
	fault := cluster.Fault{Resources: []string{"pods/eviction"}, Share: 0.1 + 0.5*w.dice.Float64()}
	switch w.dice.IntN(5) {
	case 0:
		fault.DropAnswer = true
	case 1:
		fault.DropRequest = true
	case 2:
		fault.Delay = time.Duration(w.dice.IntN(1500)) * time.Millisecond
	case 3:
		fault.Code = []int{409, 429, 500, 503}[w.dice.IntN(4)]
	default:
		fault.Resources, fault.CutAfter = []string{"pods"}, int64(1+w.dice.IntN(20_000))
	}
	return []cluster.Fault{fault}
}

// kill ends the controller as SIGKILL does, as far as the API server sees it: nothing comes
// of it from one moment on, and it gets no answer. Another one starts at once.
func (w *evictionWorld) kill() {
	w.t.Helper()
	w.proxy.Disturb(cluster.Fault{DropRequest: true})
	if w.round%3 != 0 {
		// An eviction that is cut off while the API server is at it may have spent of a
		// budget, and have ended no pod: that is given back after 2 minutes, for which not
		// each round can wait.
		time.Sleep(300 * time.Millisecond)
	}
	w.proxy.CloseConnections()
	w.stop()
	w.proxy.Disturb()
	w.start()
	w.counts["kills"]++
}

// moveOn has a pod of a StatefulSet be deleted, and made anew by the same name on another
// node, between the list of the controller and its eviction.
func (w *evictionWorld) moveOn() {
	w.t.Helper()
	began, release := time.Now(), make(chan struct{})
	w.proxy.Disturb(cluster.Fault{Resources: []string{"pods/eviction"}, Hold: release})
	var pod *corev1.Pod
	for deadline := began.Add(10 * time.Second); pod == nil && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		pod = w.asked(began)
	}
	if pod != nil {
		w.deletePod(pod)
		w.eventually("pod "+pod.Name+" has moved on", func() error {
			other := &corev1.Pod{}
			if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(pod), other); err != nil {
				return err
			}
			if other.UID == pod.UID || other.Status.Phase != corev1.PodRunning {
				return errors.New("not yet")
			}
			return nil
		})
		w.counts["moved on"]++
	}
	w.proxy.Disturb()
	close(release)
}

// asked is a pod of a StatefulSet whose eviction waits since some time.
func (w *evictionWorld) asked(since time.Time) *corev1.Pod {
	for _, passage := range w.proxy.Seen(since) {
		if passage.Object.Subresource != "eviction" || passage.Code != 0 {
			continue
		}
		pod := &corev1.Pod{}
		key := client.ObjectKey{Namespace: passage.Object.Namespace, Name: passage.Object.Name}
		if err := w.Get(w.t.Context(), key, pod); err != nil || pod.DeletionTimestamp != nil {
			continue
		}
		owner := metav1.GetControllerOf(pod)
		if owner != nil && owner.Kind == "StatefulSet" {
			return pod
		}
	}
	return nil
}

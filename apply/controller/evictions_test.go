package controller

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// With drains that hold, the controller violates no PodDisruptionBudget: in random worlds in
// which pools get NoExecute taints and lose them again, while pods are deleted and come again
// by the same name, are unready, budgets change and allow nothing, requests of the controller
// fail, and the controller itself is killed. No pod is ended otherwise than by an eviction,
// and in the end all nodes follow.
func TestEvictionsKeepBudgets(t *testing.T) {
	cluster.Long(t)
	size := evictionSize{pools: 4, nodes: 2, apps: 16, replicas: 8, evictions: 80, rounds: 1, kills: 1}
	if cluster.Stress() {
		size = evictionSize{pools: 12, nodes: 5, apps: 64, replicas: 40, evictions: 10_000, rounds: 10, kills: 3}
	}
	began := time.Now()
	w := newEvictionWorld(t, size, true)
	var verdict *evictionVerdict
	judge := func() bool {
		verdict = w.verdict()
		for _, violation := range verdict.violations[:min(20, len(verdict.violations))] {
			t.Error(violation)
		}
		t.Logf("round %d, after %.1f minutes: %d violations; %s", w.round, time.Since(began).Minutes(), len(verdict.violations), w.judge.refusals())
		return len(verdict.violations) == 0
	}
	judged := false
	defer func() {
		if !judged { // a round has not ended, and what was found until then may say why
			judge()
		}
	}()
	for goesOn := true; goesOn && (w.round < size.rounds || w.judge.evictions("")[http.StatusCreated] < size.evictions); {
		judged = false
		w.runRound()
		goesOn, judged = judge(), true
	}
	if w.judge.evictions("")[http.StatusConflict] == 0 && w.counts["moved on"] > 0 {
		t.Error("no eviction has met another pod of the same name")
	}
	t.Logf("%d violations in %d rounds on %d nodes within %.1f minutes: %s; the test: %v; the pods: %v", len(verdict.violations), w.round,
		size.pools*size.nodes, time.Since(began).Minutes(), w.judge.refusals(), w.counts, verdict.counts)
}

// The same judge sees what NoExecute taints do that come at once.
func TestTaintsViolateBudgets(t *testing.T) {
	cluster.Long(t)
	w := newEvictionWorld(t, evictionSize{pools: 4, nodes: 2, apps: 8, replicas: 6}, false)
	w.turnPools()
	cluster.Eventually(t, "all nodes follow", recovery, w.followed)
	cluster.Eventually(t, "all apps run", recovery, w.healthy)
	violations := w.verdict().violations
	for _, want := range []string{"otherwise than by an eviction", "got its NoExecute taints while pod never-"} {
		if !slices.ContainsFunc(violations, func(violation string) bool { return strings.Contains(violation, want) }) {
			t.Errorf("of %d violations none says %q", len(violations), want)
		}
	}
}

// roundTimeout bounds the wait for a round. An eviction that spends of a budget and ends no
// pod, as the controller was killed, holds the budget for 2 minutes.
const roundTimeout = 5 * time.Minute

func (w *evictionWorld) verdict() *evictionVerdict {
	w.t.Helper()
	w.judge.catchUp(w)
	w.judge.readAudit()
	verdict := w.judge.verdict(w.apps)
	w.counts["budgets"] = len(verdict.budgets)
	return verdict
}

// runRound opens pools and closes others, disturbs what goes on, and waits until all nodes
// have followed and all apps are as they were.
func (w *evictionWorld) runRound() {
	w.t.Helper()
	w.round++
	blocked := map[string]int{}
	for _, name := range []string{neverApp, twiceApp} {
		w.judge.readAudit()
		blocked[name] = w.refused(name)
	}
	closing := w.turnPools()
	w.moveOn()
	deadline := time.Now().Add(roundTimeout)
	for step := 0; len(blocked) > 0 || step < 10*w.size.kills; step++ {
		if time.Now().After(deadline) {
			w.t.Fatalf("the evictions of these are not refused as often as wanted: %v; %s; the test: %v; %v", blocked, w.judge.refusals(), w.counts, w.describe())
		}
		w.disturb(closing)
		time.Sleep(time.Duration(w.dice.IntN(500)) * time.Millisecond)
		w.judge.readAudit()
		for name, before := range blocked {
			// The second refusal of at least one pod: it has stayed since the first one. That
			// its node has not got its taints meanwhile is judged in the end.
			if w.refused(name) >= before+w.size.apps/8+2 {
				w.loosen(name)
				delete(blocked, name)
			}
		}
	}
	w.proxy.Disturb()
	w.heal()
	cluster.Eventually(w.t, fmt.Sprintf("all nodes follow in round %d", w.round), roundTimeout, w.stuck)
	cluster.Eventually(w.t, "all apps run", recovery, w.healthy)
	w.judge.readAudit()
	w.restore()
}

// stuck is followed, and says what is on the nodes that have not.
func (w *evictionWorld) stuck() error {
	if err := w.followed(); err != nil {
		return errors.Join(err, errors.New(w.describe()))
	}
	return nil
}

// describe names what waits, for a failure of the test.
func (w *evictionWorld) describe() string {
	var text strings.Builder
	var pools v1.NodePoolList
	w.do(w.List(w.t.Context(), &pools))
	for i := range pools.Items {
		fmt.Fprintf(&text, "\npool %s: %s", pools.Items[i].Name, readyMessageOf(&pools.Items[i]))
	}
	for _, pod := range w.podList() {
		if !podIsReady(&pod) || pod.DeletionTimestamp != nil || pod.Labels[evictionApps] == neverApp || pod.Labels[evictionApps] == twiceApp {
			fmt.Fprintf(&text, "\npod %s on %q: %s, ready %t, deleted %v", pod.Name, pod.Spec.NodeName, pod.Status.Phase, podIsReady(&pod), pod.DeletionTimestamp)
		}
	}
	return text.String()
}

// refused is how often the budgets of an app that is blocked have kept its pods.
func (w *evictionWorld) refused(name string) int {
	code := http.StatusTooManyRequests
	if name == twiceApp {
		code = http.StatusInternalServerError
	}
	return w.judge.evictions(name + "-")[code]
}

// turnPools opens the pools that are closed, most of them, and then closes those that were
// open, most of them, and always those on which the apps run that are blocked. It returns
// the pools that are closed by it.
func (w *evictionWorld) turnPools() (closing []string) {
	w.t.Helper()
	chosen := map[string]bool{}
	for _, pod := range w.podList() {
		if app := pod.Labels[evictionApps]; app == neverApp || app == twiceApp {
			pool, _, _ := strings.Cut(pod.Spec.NodeName, "-n")
			chosen[pool] = true
		}
	}
	var opening, opened []string
	for _, pool := range w.pools() {
		switch {
		case w.closed[pool] == "":
			if chosen[pool] || w.dice.IntN(5) > 0 {
				closing = append(closing, pool)
			} else {
				opened = append(opened, pool)
			}
		case w.dice.IntN(5) > 0:
			opening = append(opening, pool)
		default:
			closing = append(closing, pool) // with another value
		}
	}
	// There has to be room for all pods, of which a node takes 110.
	for len(opening)+len(opened) < max(1, w.size.pools/3) {
		i := slices.IndexFunc(closing, func(pool string) bool { return w.closed[pool] != "" })
		if i < 0 {
			i = w.dice.IntN(len(closing))
			opened = append(opened, closing[i])
		} else {
			opening = append(opening, closing[i])
		}
		closing = slices.Delete(closing, i, i+1)
	}
	for _, pool := range opening {
		w.open(pool)
	}
	cluster.Eventually(w.t, "pools are open", recovery, w.followed)
	w.singlePods(closing)
	for _, pool := range closing {
		w.close(pool)
	}
	return closing
}

// singlePods makes pods on nodes that no eviction may be asked for: static ones, and ones
// that have ended.
func (w *evictionWorld) singlePods(pools []string) {
	w.t.Helper()
	for _, pool := range pools {
		for _, kind := range []string{"static", "finished"} {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%s-%d", kind, pool, w.round), Namespace: metav1.NamespaceDefault, Labels: map[string]string{evictionApps: kind}},
				Spec: corev1.PodSpec{
					NodeName: fmt.Sprintf("%s-n%d", pool, w.dice.IntN(w.size.nodes)), TerminationGracePeriodSeconds: new(int64(0)),
					Containers: []corev1.Container{{Name: "main", Image: "none"}}, RestartPolicy: corev1.RestartPolicyNever,
				},
			}
			if kind == "static" {
				pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "1"}
			}
			w.do(w.Create(w.t.Context(), pod))
			if kind == "static" || w.closed[pool] != "" { // there the old taints end it at once
				continue
			}
			w.eventually("pod "+pod.Name+" has ended", func() error {
				if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
					return err
				}
				if pod.Status.Phase == corev1.PodRunning {
					pod.Status.Phase = corev1.PodSucceeded
					return w.Status().Update(w.t.Context(), pod)
				}
				if pod.Status.Phase != corev1.PodSucceeded {
					return errors.New("it is " + string(pod.Status.Phase))
				}
				return nil
			})
		}
	}
}

// loosen has the budgets of an app that is blocked allow its evictions.
func (w *evictionWorld) loosen(name string) {
	w.t.Helper()
	w.counts["blocked and loosened"]++
	app := w.app(name)
	if name == twiceApp {
		w.do(w.Delete(w.t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: budgetName(app, 1), Namespace: metav1.NamespaceDefault}}))
		// Of two budgets of the same pods Kubernetes keeps the status of one up to date. What
		// says something else is looked at again.
		w.changeBudget(app, policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt(app.replicas - 1))})
		return
	}
	w.changeBudget(app, policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1))})
}

func (w *evictionWorld) app(name string) *evictionApp {
	return w.apps[slices.IndexFunc(w.apps, func(app *evictionApp) bool { return app.name == name })]
}

// restore has all budgets be as they were, when their status shows that all pods are healthy:
// a budget that begins to want more than are healthy is nobody's violation.
func (w *evictionWorld) restore() {
	w.t.Helper()
	w.eventually("the budgets show that all apps run", func() error {
		var budgets policyv1.PodDisruptionBudgetList
		if err := w.List(w.t.Context(), &budgets); err != nil {
			return err
		}
		for _, budget := range budgets.Items {
			app := w.app(budget.Spec.Selector.MatchLabels[evictionApps])
			// The status of one of two budgets is not kept up to date, and that of a StatefulSet
			// takes pods for others.
			if app.name == twiceApp || app.kind == "StatefulSet" {
				continue
			}
			if budget.Status.ObservedGeneration != budget.Generation || int(budget.Status.CurrentHealthy) < app.replicas {
				return fmt.Errorf("the status of budget %s is %+v", budget.Name, budget.Status)
			}
		}
		return nil
	})
	for _, app := range w.apps {
		if len(app.budgets) > 0 && app.kind != "StatefulSet" {
			w.changeBudget(app, app.budgets[0])
		}
	}
	twice, second := w.app(twiceApp), &policyv1.PodDisruptionBudget{}
	err := w.Get(w.t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: budgetName(twice, 1)}, second)
	if client.IgnoreNotFound(err) != nil {
		w.do(err)
	}
	if err != nil {
		w.makeBudget(twice, 1, twice.budgets[1])
	}
}

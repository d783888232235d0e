package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// evictionApp is a workload of the world. Its pods have its name in a label.
type evictionApp struct {
	name, kind  string
	replicas    int
	tolerations []corev1.Toleration
	// disturbed are the apps whose pods the test itself deletes and makes unready, and
	// whose budget it changes.
	disturbed bool
	// budgets are what their PodDisruptionBudgets say; the test may change them.
	budgets []policyv1.PodDisruptionBudgetSpec
	// exempt are the apps of which no pod may ever be evicted.
	exempt bool
}

const (
	evictionApps = "evictions.example.com/app"
	// evictionTaints begins the keys of all taints of the world.
	evictionTaints = "taints.evictions.example.com/"
)

// The apps of each world whose budgets allow nothing until the test loosens them: neverApp
// by what its budget says, twiceApp because it has two, which the Eviction API answers by 500.
const neverApp, twiceApp = "never", "twice"

// evictionSize is how large a world is.
type evictionSize struct {
	pools, nodes, apps, replicas int
	// evictions are how many there have to be at least, and rounds in how many rounds.
	evictions, rounds int
	// kills are how often the controller is killed in a round at most.
	kills int
}

// evictionWorld is a fleet of pools that get NoExecute taints and lose them again, in turns,
// and what runs on their nodes. The loops reach the API server by a proxy.
type evictionWorld struct {
	*faultWorld
	// watching is the client of the test; it knows workloads and budgets, too.
	watching client.WithWatch
	dice     *rand.Rand
	size     evictionSize
	apps     []*evictionApp
	judge    *evictionJudge

	// closed are the values of the NoExecute taints of pools that have them.
	closed map[string]string
	// unready are the pods that the test has made unready, and not ready again.
	unready []types.NamespacedName
	round   int
	counts  map[string]int // of what the test does
}

// newEvictionWorld makes nodes, pools and apps, and waits until all of them run. Without
// drained, no pool has its nodes drained.
func newEvictionWorld(t *testing.T, size evictionSize, drained bool) *evictionWorld {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &evictionWorld{
		faultWorld: newFaultWorld(t, cluster.Shared(t)), dice: rand.New(rand.NewPCG(seed, 0)), size: size,
		closed: map[string]string{}, counts: map[string]int{},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, policyv1.AddToScheme, appsv1.AddToScheme, nodev1.AddToScheme, v1.AddToScheme} {
		w.do(add(scheme))
	}
	var err error
	w.watching, err = client.NewWithWatch(w.cluster.Config, client.Options{Scheme: scheme})
	w.do(err)
	w.Client = w.watching
	w.config.NextProtos = []string{"http/1.1"} // a connection that is lost is that of one request
	w.judge = newEvictionJudge(w)
	var nodes []string
	for _, pool := range w.pools() {
		for i := range size.nodes {
			name := fmt.Sprintf("%s-n%d", pool, i)
			labels := role(pool)
			labels[corev1.LabelHostname] = name
			w.node(name, labels)
			nodes = append(nodes, name)
		}
	}
	w.isReadyNode(nodes...)
	w.inUse(nodes...)
	w.makePools(drained)
	w.start()
	for i, pool := range w.pools() {
		w.isReady(pool, int32(size.nodes))
		// Some begin closed, so that there is something to open in the first round.
		if i%2 == 1 {
			w.close(pool)
		}
	}
	w.eventually("half of the pools are closed", w.followed)
	w.makeApps()
	cluster.Eventually(t, "all apps run", recovery, w.healthy)
	w.restore()
	return w
}

func (w *evictionWorld) pools() []string {
	var names []string
	for i := range w.size.pools {
		names = append(names, fmt.Sprintf("ev%02d", i))
	}
	return names
}

// makePools makes the pools. Of four, the last one says nothing of drains itself, but the
// pool fleet does, which governs it.
func (w *evictionWorld) makePools(drained bool) {
	fleet := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "ev-fleet"}}
	fleet.Spec.Priority = 100
	for i, name := range w.pools() {
		pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		// A node on which a pool has put nothing yet joins it, and gets its taints at once.
		pool.Spec.Labels = map[string]v1.LabelValue{"tier": "open"}
		// A node that is late to report itself on a busy machine halts nothing.
		pool.Spec.Rollout = &v1.Rollout{MaxFailures: new(intstr.FromString("100%"))}
		switch w.dice.IntN(4) {
		case 0:
			pool.Spec.Rollout.MaxUnavailable = new(intstr.FromInt32(2))
		case 1:
			pool.Spec.Rollout.MaxUnavailable = new(intstr.FromString("50%"))
		}
		if i%4 == 3 {
			pool.Spec.Rollout = nil
			fleet.Spec.NodeNames = append(fleet.Spec.NodeNames, name+"-*")
		} else if drained {
			pool.Spec.Rollout.Drain = &v1.Drain{OnTimeout: []v1.DrainTimeout{"", v1.HoldOnTimeout}[w.dice.IntN(2)]}
		}
		w.do(w.Create(w.t.Context(), pool))
	}
	fleet.Spec.Rollout = &v1.Rollout{MaxUnavailable: new(intstr.FromString("80%")), MaxFailures: new(intstr.FromString("100%"))}
	if drained {
		fleet.Spec.Rollout.Drain = &v1.Drain{}
	}
	w.do(w.Create(w.t.Context(), fleet))
}

// close has a pool get NoExecute taints; one that has them gets others of the same keys.
func (w *evictionWorld) close(pool string) {
	w.t.Helper()
	value := "a"
	if w.closed[pool] == "a" {
		value = "b"
	}
	w.closed[pool] = value
	w.change(pool, func(pool *v1.NodePool) {
		pool.Spec.Labels = map[string]v1.LabelValue{"tier": v1.LabelValue("closed-" + value)}
		pool.Spec.Taints = []v1.Taint{{Key: evictionTaints + pool.Name, Value: value, Effect: corev1.TaintEffectNoExecute}}
		if pool.Name > "ev01" {
			pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: evictionTaints + pool.Name + "-too", Effect: corev1.TaintEffectNoExecute})
		}
	})
}

// open has a pool lose its taints.
func (w *evictionWorld) open(pool string) {
	w.t.Helper()
	delete(w.closed, pool)
	w.change(pool, func(pool *v1.NodePool) {
		pool.Spec.Labels, pool.Spec.Taints = map[string]v1.LabelValue{"tier": "open"}, nil
	})
}

// followed returns nil when each node has exactly the taints of its pool.
func (w *evictionWorld) followed() error {
	var nodes corev1.NodeList
	if err := w.List(w.t.Context(), &nodes); err != nil {
		return err
	}
	var waiting []string
	for i := range nodes.Items {
		node := &nodes.Items[i]
		pool, _, _ := strings.Cut(node.Name, "-n")
		var want []string
		if value := w.closed[pool]; value != "" {
			want = append(want, evictionTaints+pool+"="+value+":NoExecute")
			if pool > "ev01" {
				want = append(want, evictionTaints+pool+"-too=:NoExecute")
			}
		}
		slices.Sort(want)
		if have := ownTaints(node); !slices.Equal(have, want) {
			waiting = append(waiting, fmt.Sprintf("%s has %v", node.Name, have))
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%d nodes are not as their pools want them: %v", len(waiting), waiting[:min(5, len(waiting))])
	}
	return nil
}

// makeApps makes what runs on the nodes.
func (w *evictionWorld) makeApps() {
	tolerating := func(pool, value string, seconds *int64) []corev1.Toleration {
		toleration := corev1.Toleration{Key: evictionTaints + pool, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds}
		if pool == "" {
			toleration.Key = ""
		}
		if value != "" {
			toleration.Operator, toleration.Value = corev1.TolerationOpEqual, value
		}
		return []corev1.Toleration{toleration}
	}
	none := policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(0))}
	one := policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(1))}
	w.apps = []*evictionApp{
		// The first one by name, so that its pods are the first to be evicted on their nodes.
		{name: "a-set", kind: "StatefulSet", replicas: w.size.pools * w.size.nodes / 2, disturbed: true},
		{name: neverApp, kind: "Deployment", replicas: 3, budgets: []policyv1.PodDisruptionBudgetSpec{none}},
		{name: twiceApp, kind: "Deployment", replicas: 3, budgets: []policyv1.PodDisruptionBudgetSpec{one, one}},
		{name: "daemon", kind: "DaemonSet", exempt: true},
		{name: "agent", kind: "DaemonSet", exempt: true, tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}},
		{name: "patient", kind: "Deployment", replicas: 4, exempt: true, tolerations: tolerating("", "", new(int64(2)))},
		{name: "tolerant", kind: "Deployment", replicas: 6, exempt: true, tolerations: tolerating("", "", nil)},
		{name: "of-one-value", kind: "Deployment", replicas: 5, budgets: []policyv1.PodDisruptionBudgetSpec{one}, tolerations: append(tolerating("ev00", "a", nil),
			// Its pods can come to nodes that say so, and not to ones that are drained of it.
			corev1.Toleration{Key: evictionTaints + "ev00", Operator: corev1.TolerationOpEqual, Value: "a", Effect: corev1.TaintEffectNoSchedule})},
	}
	for i := range w.size.apps {
		app := &evictionApp{name: fmt.Sprintf("app%02d", i), kind: "Deployment", disturbed: i%2 == 0}
		app.replicas = 3 + w.dice.IntN(w.size.replicas-2)
		switch {
		case i%4 == 2:
			// A budget remembers by its name a pod that was evicted: where another one of that
			// name comes too soon, it takes it for the old one, and for 2 minutes allows less.
			app.kind = "StatefulSet"
		case i%8 != 7:
			app.budgets = []policyv1.PodDisruptionBudgetSpec{w.anyBudget(app.replicas)}
		}
		w.apps = append(w.apps, app)
	}
	if cluster.Stress() {
		two := policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(2))}
		w.apps = append(w.apps, &evictionApp{name: "b-set", kind: "StatefulSet", replicas: 8, disturbed: true, budgets: []policyv1.PodDisruptionBudgetSpec{two}})
	}
	for _, app := range w.apps {
		for i, spec := range app.budgets {
			w.makeBudget(app, i, spec)
		}
		w.makeWorkload(app)
	}
	w.t.Cleanup(w.clearApps)
}

// anyBudget is one of a random form that allows one disruption at least.
func (w *evictionWorld) anyBudget(replicas int) policyv1.PodDisruptionBudgetSpec {
	var spec policyv1.PodDisruptionBudgetSpec
	allowed := 1 + w.dice.IntN((replicas+1)/2)
	switch w.dice.IntN(4) {
	case 0:
		spec.MinAvailable = new(intstr.FromInt(replicas - allowed))
	case 1:
		spec.MinAvailable = new(intstr.FromString(fmt.Sprintf("%d%%", (replicas-allowed)*100/replicas)))
	case 2:
		spec.MaxUnavailable = new(intstr.FromInt(allowed))
	case 3:
		spec.MaxUnavailable = new(intstr.FromString(fmt.Sprintf("%d%%", allowed*100/replicas)))
	}
	switch w.dice.IntN(3) {
	case 0:
		spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
	case 1:
		spec.UnhealthyPodEvictionPolicy = new(policyv1.IfHealthyBudget)
	}
	return spec
}

func budgetName(app *evictionApp, i int) string { return fmt.Sprintf("%s-%d", app.name, i) }

func (w *evictionWorld) makeBudget(app *evictionApp, i int, spec policyv1.PodDisruptionBudgetSpec) {
	w.t.Helper()
	spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{evictionApps: app.name}}
	w.do(w.Create(w.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: budgetName(app, i), Namespace: metav1.NamespaceDefault}, Spec: spec,
	}))
}

// changeBudget has a budget say something else, with the same policy of unhealthy pods.
func (w *evictionWorld) changeBudget(app *evictionApp, spec policyv1.PodDisruptionBudgetSpec) {
	w.t.Helper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: budgetName(app, 0), Namespace: metav1.NamespaceDefault}}
	update(w.world, budget, func(budget *policyv1.PodDisruptionBudget) {
		budget.Spec.MinAvailable, budget.Spec.MaxUnavailable = spec.MinAvailable, spec.MaxUnavailable
	})
}

func (w *evictionWorld) makeWorkload(app *evictionApp) {
	w.t.Helper()
	labels := map[string]string{evictionApps: app.name}
	meta := metav1.ObjectMeta{Name: app.name, Namespace: metav1.NamespaceDefault}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	grace := int64(w.dice.IntN(2))
	if app.kind == "StatefulSet" {
		// kwok ends terminating pods by their names, and would end the next one of that name, too.
		grace = 0
	}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: &grace,
		Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
		Tolerations:                   app.tolerations,
	}}
	var object client.Object
	switch app.kind {
	case "Deployment":
		object = &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(app.replicas)), Selector: selector, Template: template}}
	case "StatefulSet":
		object = &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(app.replicas)), Selector: selector, Template: template, PodManagementPolicy: appsv1.ParallelPodManagement,
		}}
	case "DaemonSet":
		object = &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
	}
	w.do(w.Create(w.t.Context(), object))
}

// healthy returns nil when as many pods of each app are ready as it wants.
func (w *evictionWorld) healthy() error {
	ready := map[string]int{}
	for _, pod := range w.podList() {
		if podIsReady(&pod) && pod.DeletionTimestamp == nil {
			ready[pod.Labels[evictionApps]]++
		}
	}
	for _, app := range w.apps {
		if have := ready[app.name]; have < app.replicas {
			return fmt.Errorf("%d of %d pods of %s are ready", have, app.replicas, app.name)
		}
	}
	return nil
}

func (w *evictionWorld) podList() []corev1.Pod {
	w.t.Helper()
	var pods corev1.PodList
	w.do(w.List(w.t.Context(), &pods, client.InNamespace(metav1.NamespaceDefault), client.HasLabels{evictionApps}))
	return pods.Items
}

func podIsReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// clearApps deletes the workloads, so that their pods do not come again.
func (w *evictionWorld) clearApps() {
	for _, kind := range []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &policyv1.PodDisruptionBudget{}} {
		w.removed(w.DeleteAllOf(context.Background(), kind, client.InNamespace(metav1.NamespaceDefault)))
	}
	w.eventually("the pods of the apps are gone", func() error {
		var pods corev1.PodList
		ctx := context.Background()
		if err := w.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(metav1.NamespaceDefault), client.GracePeriodSeconds(0)); err != nil {
			return err
		}
		if err := w.List(ctx, &pods, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return err
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods are left", len(pods.Items))
		}
		return nil
	})
}

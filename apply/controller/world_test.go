package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/testdata/cluster"
)

func TestMain(m *testing.M) {
	definitions, err := crds.All()
	if err != nil {
		panic(err)
	}
	ctrl.SetLogger(logr.Discard())
	cluster.Main(m, cluster.Options{
		ControllerManager: true, Scheduler: true, Kwok: true, Audit: true, CRDs: definitions,
		Beside: "^Test(Git|Fault|Race|Diff|Drain|NodesAre|NodesTake|Many|Fights)",
	})
}

// waitTimeout bounds every wait for the cluster. It is long because the machine
// may be busy; nothing is asserted about time.
const waitTimeout = 30 * time.Second

// world is a control plane with the loops running against it, as one test sees
// it. Everything that a test makes is gone when it ends, the loops last.
type world struct {
	client.Client
	t       *testing.T
	cluster *cluster.Cluster

	// user is whom the audit log has for the loops, config how they log in.
	user   string
	config *clientrest.Config
	// stop ends the loops; start runs them again.
	stop func()
}

// newWorld starts the loops under a user of their own, who may do everything.
func newWorld(t *testing.T) *world {
	t.Helper()
	c := cluster.Shared(t)
	w := &world{Client: newClient(t, c.Config), t: t, cluster: c, user: "loops of " + t.Name()}
	var err error
	w.config, err = c.AddUser(w.user, "system:masters")
	w.do(err)
	w.config.QPS = -1
	w.config.NextProtos = []string{"http/1.1"} // a connection that is lost is that of one request
	w.start()
	t.Cleanup(func() { w.stop() })
	t.Cleanup(w.clear)
	return w
}

// start runs the loops. They end after the test has cleared up.
func (w *world) start() {
	w.t.Helper()
	w.stop = runLoops(w.t, w.config, Options{}, testr.NewWithOptions(w.t, testr.Options{Verbosity: -1}))
}

func newClient(t *testing.T, cfg *clientrest.Config) client.Client {
	t.Helper()
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// startLoopsWith runs the loops until the returned function is called, or until
// the test ends.
func startLoopsWith(t *testing.T, cfg *clientrest.Config, options Options, logger logr.Logger) (stop func()) {
	t.Helper()
	stop = runLoops(t, cfg, options, logger)
	t.Cleanup(stop)
	return stop
}

// runLoops runs the loops until the returned function is called.
func runLoops(t *testing.T, cfg *clientrest.Config, options Options, logger logr.Logger) (stop func()) {
	t.Helper()
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:   scheme,
		NewCache: nodecache.New,
		Metrics:  server.Options{BindAddress: "0"},
		Logger:   logger,
		// Every test has a manager of its own, all in one process.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(mgr, options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("loops: %v", err)
		}
	})
}

// clear deletes what the test has left and waits until it is gone. A source that is being
// deleted may still write pools of a revision that it has begun to read.
func (w *world) clear() {
	ctx := context.Background()
	for _, kind := range []client.Object{&v1.NodePoolSource{}, &corev1.Node{}} {
		if err := w.DeleteAllOf(ctx, kind); err != nil {
			w.t.Errorf("clear: %v", err)
		}
	}
	if err := w.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("default"), client.GracePeriodSeconds(0)); err != nil {
		w.t.Errorf("clear: %v", err)
	}
	cluster.Eventually(w.t, "what the test made is gone", waitTimeout, func() error {
		w.approveAll(ctx)
		if err := w.DeleteAllOf(ctx, &v1.NodePool{}); err != nil {
			return err
		}
		for _, list := range []client.ObjectList{&v1.NodePoolSourceList{}, &v1.NodePoolList{}, &corev1.NodeList{}} {
			if err := w.List(ctx, list); err != nil {
				return err
			}
			if n := listLength(list); n > 0 {
				return fmt.Errorf("%d objects of %T left", n, list)
			}
		}
		var classes nodev1.RuntimeClassList
		if err := w.List(ctx, &classes); err != nil || len(classes.Items) > 0 {
			return errors.Join(err, fmt.Errorf("%d RuntimeClasses left", len(classes.Items)))
		}
		return nil
	})
}

// approveAll lets the pools be deleted, those that are paused and all at once.
func (w *world) approveAll(ctx context.Context) {
	var pools v1.NodePoolList
	if err := w.List(ctx, &pools); err != nil {
		w.t.Errorf("clear: %v", err)
	}
	approve := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null,%q:%q}}}`,
		v1.ReconcileAnnotation, v1.ApproveReleaseAnnotation, v1.DeletionApproval))
	for i := range pools.Items {
		if err := client.IgnoreNotFound(w.Patch(ctx, &pools.Items[i], approve)); err != nil {
			w.t.Errorf("clear: %v", err)
		}
	}
}

func listLength(list client.ObjectList) int {
	switch list := list.(type) {
	case *v1.NodePoolSourceList:
		return len(list.Items)
	case *v1.NodePoolList:
		return len(list.Items)
	case *corev1.NodeList:
		return len(list.Items)
	default:
		return -1
	}
}

// node makes a node with labels and taints, the latter written key=value:effect.
func (w *world) node(name string, labels map[string]string, taints ...string) *corev1.Node {
	w.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.NodeSpec{Taints: parseTaints(taints)}}
	w.do(w.Create(w.t.Context(), node))
	return node
}

// role is the label that makes a node a member of a pool.
func role(pools ...string) map[string]string {
	labels := map[string]string{}
	for _, pool := range pools {
		labels[v1.RoleLabel(pool)] = ""
	}
	return labels
}

func parseTaints(texts []string) []corev1.Taint {
	var taints []corev1.Taint
	for _, text := range texts {
		keyValue, effect, _ := strings.Cut(text, ":")
		key, value, _ := strings.Cut(keyValue, "=")
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints
}

// pool makes a NodePool from a manifest.
func (w *world) pool(manifest string) *v1.NodePool {
	w.t.Helper()
	pool := parsePool(w.t, manifest)
	w.do(w.Create(w.t.Context(), pool))
	return pool
}

// approvedPool is a pool that may evict from most nodes.
func (w *world) approvedPool(manifest string) *v1.NodePool {
	w.t.Helper()
	pool := parsePool(w.t, manifest)
	approve(pool)
	w.do(w.Create(w.t.Context(), pool))
	return pool
}

func parsePool(t *testing.T, manifest string) *v1.NodePool {
	t.Helper()
	pool := &v1.NodePool{}
	if err := yaml.UnmarshalStrict([]byte(manifest), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

// kubelet is a client with the identity of a node, held to what kubelets may do.
func (w *world) kubelet(node string) client.Client {
	w.t.Helper()
	config, err := w.cluster.AddUser("system:node:"+node, "system:nodes")
	w.do(err)
	return newClient(w.t, config)
}

// update changes an object as it is now, however often somebody else is faster.
func update[T client.Object](w *world, object T, change func(T)) {
	w.t.Helper()
	for {
		w.do(w.Get(w.t.Context(), client.ObjectKeyFromObject(object), object))
		change(object)
		if err := w.Update(w.t.Context(), object); !apierrors.IsConflict(err) {
			w.do(err)
			return
		}
	}
}

func (w *world) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// eventually waits until a check passes.
func (w *world) eventually(what string, check func() error) {
	w.t.Helper()
	cluster.Eventually(w.t, what, waitTimeout, check)
}

// carries waits until a node has exactly these labels and taints, left aside
// those that Kubernetes itself puts there.
func (w *world) carries(name string, labels map[string]string, taints ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("node %s carries labels %v and taints %v", name, labels, taints), func() error {
		var node corev1.Node
		if err := w.Get(w.t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
			return err
		}
		have := ownLabels(&node)
		if !maps.Equal(have, labels) {
			return fmt.Errorf("labels are %v", have)
		}
		if have := ownTaints(&node); !slices.Equal(have, slices.Sorted(slices.Values(taints))) {
			return fmt.Errorf("taints are %v", have)
		}
		return nil
	})
}

// ownLabels are the labels of a node but for those by which kwok and the
// kubelet describe it.
func ownLabels(node *corev1.Node) map[string]string {
	labels := map[string]string{}
	for key, value := range node.Labels {
		if !strings.Contains(key, "kubernetes.io/") || strings.HasPrefix(key, v1.RoleLabelPrefix) {
			labels[key] = value
		}
	}
	return labels
}

// ownTaints are the taints of a node, sorted, but for those by which Kubernetes
// tells its condition.
func ownTaints(node *corev1.Node) []string {
	taints := []string{}
	for _, taint := range node.Spec.Taints {
		if !strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			taints = append(taints, taint.Key+"="+taint.Value+":"+string(taint.Effect))
		}
	}
	slices.Sort(taints)
	return taints
}

// poolIs waits until a pool's status, the present generation observed, passes a
// check.
func (w *world) poolIs(name, what string, check func(*v1.NodePool) error) {
	w.t.Helper()
	w.eventually("pool "+name+" "+what, func() error {
		var pool v1.NodePool
		if err := w.Get(w.t.Context(), client.ObjectKey{Name: name}, &pool); err != nil {
			return err
		}
		if pool.Status.ObservedGeneration != pool.Generation {
			return fmt.Errorf("generation %d observed, want %d: %+v", pool.Status.ObservedGeneration, pool.Generation, pool.Status.Conditions)
		}
		return check(&pool)
	})
}

// conditionIs checks one condition: its status, its reason, and texts that its
// message must hold.
func conditionIs(conditions []metav1.Condition, kind string, status metav1.ConditionStatus, reason string, texts ...string) error {
	for _, condition := range conditions {
		if condition.Type != kind {
			continue
		}
		if condition.Status != status || condition.Reason != reason {
			return fmt.Errorf("condition %s is %s (%s: %s), want %s (%s)", kind, condition.Status, condition.Reason, condition.Message, status, reason)
		}
		for _, text := range texts {
			if !strings.Contains(condition.Message, text) {
				return fmt.Errorf("condition %s says %q, want %q in it", kind, condition.Message, text)
			}
		}
		return nil
	}
	return fmt.Errorf("no condition %s in %+v", kind, conditions)
}

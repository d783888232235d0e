package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/evict"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// TestRolloutRightsAreJustEnough drains nodes as the service account that install ships. At
// first it lacks the rights of the option for that, and nodes wait as the pages say. With
// them, the audit log says that none is missing and none is superfluous.
func TestRolloutRightsAreJustEnough(t *testing.T) {
	c := cluster.New(t, cluster.Options{Audit: true, ControllerManager: true, Scheduler: true, Kwok: true})
	install(t, c)
	_, kubeconfig, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	if err != nil {
		t.Fatal(err)
	}
	d := newDrains(t, c, kubeconfig)

	d.wall("bare", "hold")
	d.waitForTheRights()
	install(t, c, "--rollout")
	d.reports("hold", v1.ReconcilingCondition, v1.EvictingReason, "pod default/hold-1", "disruption budget hold")
	mark, err := c.AuditMark()
	d.do(err)
	d.wall("free", "force")
	d.goThroughAll()
	d.usedAll(mark)
}

// drains are four pools with a drain. The nodes of free can be drained, but for a static pod
// and those of a DaemonSet; the pods of hold and force have a budget that allows no eviction;
// bare begins and ends without the rights.
type drains struct {
	*story
	kubeconfig string
	stop       func()
}

const (
	wallKey = "example.com/wall"

	besidesPods = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {node-role.kubernetes.io/free: ""}, containers: [{name: main, image: none}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: hold, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {pool: hold}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: force, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {pool: force}}}
`
)

func newDrains(t *testing.T, c *cluster.Cluster, kubeconfig string) *drains {
	t.Helper()
	d := &drains{story: newStory(t, c), kubeconfig: kubeconfig}
	d.start()
	_, err := c.Apply(t.Context(), besidesPods)
	d.do(err)
	d.pool("free", 2, v1.HoldOnTimeout)
	d.pool("hold", 1, v1.HoldOnTimeout)
	d.pool("force", 1, v1.ForceOnTimeout)
	d.pool("bare", 1, v1.ForceOnTimeout)
	d.pod("static", "free", "free-1", map[string]string{corev1.MirrorPodAnnotationKey: "1"})
	d.until("all pods run", func() error {
		if running := d.running(); len(running) != 8 {
			return fmt.Errorf("these do: %v", running)
		}
		return nil
	})
	return d
}

// start runs the controller.
func (d *drains) start() {
	d.stop = startRun(d.t, d.kubeconfig, "--leader-elect", "--leader-election-namespace", manifests.DefaultNamespace)
}

// pool makes a pool whose nodes follow one after the other, and are drained, with a pod on
// each that has the name of the node.
func (d *drains) pool(name string, nodes int, onTimeout v1.DrainTimeout) {
	d.t.Helper()
	one := intstr.FromInt32(1)
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodePoolSpec{
		Labels:  map[string]v1.LabelValue{"pool": v1.LabelValue(name)},
		Rollout: &v1.Rollout{MaxUnavailable: &one, Drain: &v1.Drain{OnTimeout: onTimeout}},
	}}
	d.until("pools are served", func() error { return d.Create(d.t.Context(), pool) })
	for i := range nodes {
		node := fmt.Sprintf("%s-%d", name, i+1)
		d.node(node, name)
		d.pod(node, name, node, nil)
		d.labelled(node, "pool", name)
	}
}

func (d *drains) pod(name, pool, node string, annotations map[string]string) {
	d.t.Helper()
	d.do(d.Create(d.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, Labels: map[string]string{"pool": pool}, Annotations: annotations},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "none"}}, TerminationGracePeriodSeconds: new(int64(0))},
	}))
}

// running are the pods that run, by name; those of the DaemonSet all have one.
func (d *drains) running() (names []string) {
	d.t.Helper()
	var pods corev1.PodList
	d.do(d.List(d.t.Context(), &pods, client.InNamespace(metav1.NamespaceDefault)))
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			names = append(names, withoutSuffix(pod.Name))
		}
	}
	slices.Sort(names)
	return names
}

func withoutSuffix(pod string) string {
	if strings.HasPrefix(pod, "agent-") {
		return "agent"
	}
	return pod
}

// wall has pools bring a NoExecute taint that no pod tolerates.
func (d *drains) wall(pools ...string) {
	d.t.Helper()
	for _, pool := range pools {
		d.patch(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: pool}}, `{"spec":{"taints":[{"key":"`+wallKey+`","effect":"NoExecute"}]}}`)
	}
}

func (d *drains) hasWall(node string, want corev1.TaintEffect) {
	d.t.Helper()
	d.until(fmt.Sprintf("node %s has the taint %s", node, want), func() error {
		var live corev1.Node
		if err := d.Get(d.t.Context(), client.ObjectKey{Name: node}, &live); err != nil {
			return err
		}
		var effects []corev1.TaintEffect
		for _, taint := range live.Spec.Taints {
			if taint.Key == wallKey {
				effects = append(effects, taint.Effect)
			}
		}
		if !slices.Equal(effects, []corev1.TaintEffect{want}) {
			return fmt.Errorf("it has %v", live.Spec.Taints)
		}
		return nil
	})
}

func (d *drains) reports(pool, condition, reason string, texts ...string) {
	d.t.Helper()
	d.until(fmt.Sprintf("pool %s reports %s", pool, reason), func() error {
		var live v1.NodePool
		if err := d.Get(d.t.Context(), client.ObjectKey{Name: pool}, &live); err != nil {
			return err
		}
		c := meta.FindStatusCondition(live.Status.Conditions, condition)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason || slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(c.Message, text) }) {
			return fmt.Errorf("it reports %+v, want %q", live.Status.Conditions, texts)
		}
		return nil
	})
}

// recordedTime is one in the record of a node.
var recordedTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// timeOut has the drain of a node take longer than its timeout: it counts from the record, and a
// controller that has written a later time remembers that.
func (d *drains) timeOut(node string) {
	d.t.Helper()
	d.stop()
	defer d.start()
	live := &corev1.Node{}
	d.do(d.Get(d.t.Context(), client.ObjectKey{Name: node}, live))
	record := live.Annotations[v1.AppliedAnnotation]
	earlier := recordedTime.ReplaceAllString(record, time.Now().Add(-2*time.Hour).UTC().Format(time.RFC3339))
	if earlier == record {
		d.t.Fatalf("the record of node %s has no time: %s", node, record)
	}
	text, err := json.Marshal(earlier)
	d.do(err)
	d.patch(live, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, v1.AppliedAnnotation, text))
}

// waitForTheRights has nodes wait for rights that the controller does not have: it reports
// which they are, and asks for no eviction. With Force a node gets its taint in the end.
func (d *drains) waitForTheRights() {
	d.t.Helper()
	for _, pool := range []string{"bare", "hold"} {
		d.reports(pool, v1.ReconcilingCondition, v1.EvictingReason, "node "+pool+"-1", evict.ErrNoRights.Error())
		d.hasWall(pool+"-1", corev1.TaintEffectNoSchedule)
	}
	if running := d.running(); len(running) != 8 {
		d.t.Errorf("without the rights, these pods are left: %v", running)
	}
	d.timeOut("bare-1")
	d.hasWall("bare-1", corev1.TaintEffectNoExecute)
	d.hasWall("hold-1", corev1.TaintEffectNoSchedule)
	for _, request := range audit(d.t, d.c) {
		if !d.byTheController(request) {
			continue
		}
		if request.Object.Subresource == "eviction" {
			d.t.Errorf("an eviction without the right to list pods: %s", request)
		}
		if request.Code == 403 && right(request.Verb, request.Object.Group, request.Object.Resource, request.Object.Subresource) != "list pods." {
			d.t.Errorf("refused, and no right of the option: %s", request)
		}
	}
}

// goThroughAll drains a pool whose nodes can be drained, and two with budgets.
func (d *drains) goThroughAll() {
	d.t.Helper()
	d.hasWall("free-1", corev1.TaintEffectNoExecute)
	d.hasWall("free-2", corev1.TaintEffectNoExecute)

	d.reports("force", v1.ReconcilingCondition, v1.EvictingReason, "pod default/force-1", "disruption budget force")
	d.hasWall("force-1", corev1.TaintEffectNoSchedule)
	d.timeOut("force-1")
	d.hasWall("force-1", corev1.TaintEffectNoExecute)

	d.timeOut("hold-1")
	d.reports("hold", v1.StalledCondition, v1.EvictionTimedOutReason, "disruption budget hold")
	d.hasWall("hold-1", corev1.TaintEffectNoSchedule)
	if running := d.running(); !slices.Contains(running, "hold-1") {
		d.t.Errorf("the budget of hold did not hold: there are %v", running)
	}
	_, err := d.c.Kubectl(d.t.Context(), "delete", "poddisruptionbudget", "hold")
	d.do(err)
	d.hasWall("hold-1", corev1.TaintEffectNoExecute)
}

// usedAll fails where a right was missing or is superfluous, and where a pod was evicted that
// is to be left alone, or not asked for otherwise than so.
func (d *drains) usedAll(mark int64) {
	d.t.Helper()
	requests, err := d.c.Audit(mark)
	d.do(err)
	used, evictions := map[string]bool{}, map[string]map[int]bool{}
	for _, request := range requests {
		if !d.byTheController(request) {
			continue
		}
		if request.Code == 403 {
			d.t.Errorf("refused, so a rule is missing: %s", request)
		}
		used[right(request.Verb, request.Object.Group, request.Object.Resource, request.Object.Subresource)] = true
		if pod := withoutSuffix(request.Object.Name); request.Object.Subresource == "eviction" {
			if evictions[pod] == nil {
				evictions[pod] = map[int]bool{}
			}
			evictions[pod][request.Code] = true
		}
	}
	for shipped := range rights(manifests.RolloutRules()) {
		if !used[shipped] {
			d.t.Errorf("never used, so it is superfluous: %s", shipped)
		}
	}
	want := map[string]map[int]bool{"free-1": {201: true}, "free-2": {201: true}, "force-1": {429: true}, "hold-1": {429: true, 201: true}}
	if diff := cmp.Diff(want, evictions); diff != "" {
		d.t.Errorf("how evictions of pods were answered (-want +got):\n%s", diff)
	}
}

func (d *drains) byTheController(request cluster.Request) bool {
	return request.User == "system:serviceaccount:"+manifests.DefaultNamespace+":"+manifests.Name
}

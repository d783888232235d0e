package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// What a wall, and the pool inner within it, keep from nodes that are outside, and
// what an administrator has put on the node that is nobody else's to remove.
const (
	wallKey   = corev1.LabelNamespaceNodeRestriction + "/tenant"
	innerKey  = corev1.LabelNamespaceNodeRestriction + "/data"
	memberKey = corev1.LabelNamespaceNodeRestriction + "/member"
	adminKey  = corev1.LabelNamespaceNodeRestriction + "/zone"
)

var adminTaint = corev1.Taint{Key: "maintenance", Value: "yes", Effect: corev1.TaintEffectNoSchedule}

// How a wall chooses its members, where no kubelet has a say in it.
const (
	chosenByName  = "name"
	chosenByLabel = "label"
	chosenByRole  = "role"
)

// kubeletWorld is a world whose node has a hostile kubelet, with a wall.
type kubeletWorld struct {
	*world
	t *testing.T
	s server
	// How the wall chooses its members, and what it does about values of others.
	by     string
	policy v1.ConflictPolicy
	// classes are what the RuntimeClasses of the wall and of inner select.
	classes map[string]map[string]string
	// inside reports whether an administrator wants the node within the wall; marked,
	// whether the node still has what one has put there.
	inside, marked bool
	// settled reports that the plan has been carried out since an administrator, or
	// the author of a pool, has last changed anything.
	settled bool
	seen    map[string]int
}

func newKubeletWorld(t *testing.T, s server, seed uint64, seen map[string]int) *kubeletWorld {
	w := &kubeletWorld{world: newWorld(seed), t: t, s: s, seen: seen, classes: map[string]map[string]string{}}
	w.held = false
	w.by, w.policy = pick(w.r, []string{chosenByName, chosenByLabel, chosenByRole}), pick(w.r, w.policies)
	w.node = s.update(t, tracked(t, s), "kubectl", func(node *NodeState) {
		node.Labels = map[string]string{adminKey: "a"}
		node.Taints = []corev1.Taint{adminTaint}
	})
	w.marked = true
	expansion := expand(w.wall(), inner())
	for _, name := range []string{"wall", "inner"} {
		w.classes[name] = expansion.RuntimeClass(name).Scheduling.NodeSelector
	}
	w.wallStands()
	return w
}

// wall is the pool as it stands while the node is meant to be inside, or outside.
func (w *kubeletWorld) wall() *v1.NodePool {
	spec := v1.NodePoolSpec{
		Priority: 1, ConflictPolicy: w.policy,
		Labels: map[string]v1.LabelValue{wallKey: "payments", "tenant": "payments"},
		Taints: []v1.Taint{{Key: "tenant", Value: "payments", Effect: corev1.TaintEffectNoSchedule}},
	}
	switch {
	case w.by == chosenByName && w.inside:
		spec.NodeNames = []string{"n"}
	case w.by == chosenByName:
		spec.NodeNames = []string{"another"}
	case w.by == chosenByLabel:
		spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{memberKey: "yes"}}
	}
	return define("wall", spec)
}

// inner is a pool within the wall, which a kubelet joins and leaves as it likes.
func inner() *v1.NodePool {
	return define("inner", v1.NodePoolSpec{
		Parent:   "wall",
		Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"data": "cards"}},
		Labels:   map[string]v1.LabelValue{innerKey: "cards"},
	})
}

func (w *kubeletWorld) wallStands() { w.pools["wall"], w.pools["inner"] = w.wall(), inner() }

// administrator brings the node into the wall, or throws it out of it.
func (w *kubeletWorld) administrator() {
	w.inside, w.settled = !w.inside, false
	if !w.inside && (&owners{object: w.node}).alsoApplied(labelPath(wallKey)) {
		w.seen["thrown out with a label that another applies"]++
	}
	if key := map[string]string{chosenByLabel: memberKey, chosenByRole: v1.RoleLabel("wall")}[w.by]; key != "" {
		value := map[string]string{chosenByLabel: "yes"}[w.by]
		w.node = w.s.update(w.t, w.node, "kubectl", func(node *NodeState) {
			if delete(node.Labels, key); w.inside {
				setLabelOf(node, key, value)
			}
		})
	}
	w.wallStands()
	if !w.inside && w.oneIn(3) { // with the wall itself
		delete(w.pools, "wall")
		delete(w.pools, "inner")
	}
}

func setLabelOf(node *NodeState, key, value string) {
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[key] = value
}

// author is somebody who may write pools of lower priority, and gives labels of the
// wall away.
func (w *kubeletWorld) author() {
	w.settled = false
	name := pick(w.r, []string{"a", "b"})
	if _, found := w.pools[name]; found && w.oneIn(3) {
		delete(w.pools, name)
		return
	}
	pool := w.pool(name)
	pool.Spec.Priority, pool.Spec.Parent = 0, ""
	if w.oneIn(2) {
		pool.Spec.Labels[pick(w.r, []string{wallKey, innerKey, "tenant", "data"})] = v1.LabelValue(pick(w.r, kubeletValues))
	}
	if w.oneIn(4) {
		pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: "tenant", Value: pick(w.r, kubeletValues), Effect: corev1.TaintEffectNoSchedule})
	}
	w.pools[name] = pool
}

// What a kubelet tries, and under which names: it says itself who it is.
var (
	kubeletKeys     = []string{"k0", "tenant", "data", wallKey, innerKey, memberKey, adminKey, v1.RoleLabel("wall"), v1.RoleLabel("inner"), v1.Domain + "/x"}
	kubeletValues   = []string{"payments", "cards", "yes", ""}
	kubeletManagers = []string{"kubelet", "cluster-admin", v1.FieldManager}
)

// kubelet sends one request, and has it refused as an API server refuses it.
func (w *kubeletWorld) kubelet() {
	before, manager := w.node, pick(w.r, kubeletManagers)
	var after *NodeState
	switch w.r.IntN(6) {
	case 0, 1:
		after = w.s.update(w.t, before, manager, w.kubeletWrites)
	case 2, 3:
		after = w.s.apply(w.t, before, manager, w.kubeletApplies())
	case 4:
		after = w.s.update(w.t, before, manager, func(node *NodeState) { node.ManagedFields = w.forgedFields(node) })
	default:
		if !w.oneIn(3) {
			return
		}
		before, after = nil, w.rejoined()
	}
	if !admitted(before, after) {
		w.seen["refused"]++
		return
	}
	w.seen["admitted"]++
	w.node = after
	if before == nil {
		w.marked, w.inside = false, w.inside && w.by == chosenByName
		w.seen["joined anew"]++
	}
}

// kubeletRoom is what the annotations of a node may take together where its kubelet writes them.
const kubeletRoom = 128 << 10

// kubeletWrites changes one thing of a node.
func (w *kubeletWorld) kubeletWrites(node *NodeState) {
	key, value := pick(w.r, kubeletKeys), pick(w.r, kubeletValues)
	switch w.r.IntN(8) {
	case 0:
		annotate(node, pick(w.r, []string{"k0", v1.AppliedAnnotation, v1.ReconcileAnnotation}), value)
	case 1:
		delete(node.Annotations, pick(w.r, []string{"k0", v1.AppliedAnnotation}))
	case 2:
		node.Taints = nil
	case 3:
		annotate(node, "large", "")
		left := max(1<<11, kubeletRoom-annotationBytesOf(node.Annotations))
		annotate(node, "large", strings.Repeat("x", pick(w.r, []int{1, left - 1<<10, left - 100, left - w.r.IntN(64), left})))
	case 4:
		delete(node.Labels, key)
	default:
		setLabelOf(node, key, value)
	}
}

// kubeletApplies is some of what stands on the node, as its own, and at times a bit more.
func (w *kubeletWorld) kubeletApplies() map[string]any {
	some := func(values map[string]string) map[string]any {
		chosen := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if w.oneIn(2) {
				chosen[key] = values[key]
			}
		}
		return chosen
	}
	stands := some(w.node.Labels)
	if w.oneIn(3) {
		stands[pick(w.r, kubeletKeys)] = pick(w.r, kubeletValues)
	}
	applies := body(map[string]any{"labels": stands, "annotations": some(w.node.Annotations)})
	if w.oneIn(2) {
		applies["spec"] = toMap(w.t, &NodeState{Taints: w.node.Taints})["spec"]
	}
	return applies
}

// forgedFields say that somebody, or we, have set what they have not, or that nobody has.
func (w *kubeletWorld) forgedFields(node *NodeState) []metav1.ManagedFieldsEntry {
	forged := slices.Clone(node.ManagedFields)
	if len(forged) > 0 && w.oneIn(2) {
		i := w.r.IntN(len(forged))
		forged = slices.Delete(forged, i, i+1)
	}
	set := fieldpath.NewSet()
	for _, key := range kubeletKeys {
		if w.oneIn(2) {
			set.Insert(labelPath(key))
		}
	}
	for _, path := range []fieldpath.Path{taintsPath, annotationPath(v1.AppliedAnnotation), annotationPath("k0")} {
		if w.oneIn(2) {
			set.Insert(path)
		}
	}
	text, err := set.ToJSON()
	if err != nil {
		w.t.Fatal(err)
	}
	entry := managed(pick(w.r, kubeletManagers), pick(w.r, []metav1.ManagedFieldsOperationType{metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate}), "", string(text))
	entry.APIVersion = pick(w.r, []string{"v1", "v1", "v99"})
	entry.Subresource = pick(w.r, []string{"", "", "status"})
	return append(forged, entry)
}

// rejoined is the node as its kubelet registers it anew, when somebody has deleted it.
func (w *kubeletWorld) rejoined() *NodeState {
	node := tracked(w.t, w.s)
	for range w.r.IntN(4) {
		setLabelOf(node, pick(w.r, kubeletKeys), pick(w.r, kubeletValues))
	}
	if w.oneIn(2) {
		node.Taints = []corev1.Taint{{Key: "tenant", Value: pick(w.r, kubeletValues), Effect: corev1.TaintEffectNoSchedule}}
	}
	return node
}

// admitted reports whether NodeRestriction, the admission policy and validation let a
// kubelet make a node of what was there; nil for nothing. That they do so is held by
// TestKubeletsMaySetWhatWeWarnOf, TestAKubeletCannotWriteOurDomain and
// TestAKubeletBringsNoMoreThanTheBound, on an API server.
func admitted(before, after *NodeState) bool {
	if before == nil {
		before = &NodeState{Taints: after.Taints}
	}
	ours := func(key string) bool { return strings.HasPrefix(key, v1.Domain+"/") }
	restricted := func(key string) bool { return ours(key) || !render.KubeletMaySet(key) }
	return sameOf(before.Labels, after.Labels, restricted) && sameOf(before.Annotations, after.Annotations, ours) &&
		fmt.Sprint(before.Taints) == fmt.Sprint(after.Taints) && annotationBytesOf(after.Annotations) <= max(kubeletRoom, annotationBytesOf(before.Annotations))
}

// sameOf reports whether two maps have the same entries of some keys.
func sameOf(a, b map[string]string, of func(string) bool) bool {
	only := func(values map[string]string) map[string]string {
		values = maps.Clone(values)
		maps.DeleteFunc(values, func(key, _ string) bool { return !of(key) })
		return values
	}
	return maps.Equal(only(a), only(b))
}

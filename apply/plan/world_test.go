package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// reportOnlyKey is, as a label and as a taint, one that pools never take.
const reportOnlyKey = "karpenter.sh/k"

// The worlds of the property tests are small, so that whatever can get into each
// other's way does: few keys, few values, pools that select what others put on.
var (
	worldKeys    = []string{"k0", "k1", "k2", v1.RoleLabel("a"), v1.RoleLabel("b"), reportOnlyKey}
	worldValues  = []string{"", "1", "2"}
	worldPools   = []string{"a", "b", "c", "d"}
	worldEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}
)

// world is a node and the pools that are around it.
type world struct {
	r     *rand.Rand
	node  *NodeState
	pools map[string]*v1.NodePool
	// Which policies pools may have, and whether they may be paused or broken.
	policies []v1.ConflictPolicy
	held     bool
	// vanished is a pool that is gone, and that nobody has deleted.
	vanished string
	// carried are the pools of which the node has or had keys.
	carried map[string]bool
}

// newWorld makes a node with keys of others on it, and no pools.
func newWorld(seed uint64) *world {
	w := &world{
		r:        rand.New(rand.NewPCG(seed, seed)),
		node:     newNode("n"),
		pools:    map[string]*v1.NodePool{},
		policies: []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver, v1.Adopt},
		held:     true,
		carried:  map[string]bool{},
	}
	w.node.Labels, w.node.Annotations = w.values(4), w.values(4)
	values := w.values(3)
	for _, key := range slices.Sorted(maps.Keys(values)) { // one seed is one world
		taint := corev1.Taint{Key: key, Value: values[key], Effect: pick(w.r, worldEffects)}
		if w.r.IntN(2) == 0 {
			added := metav1.NewTime(time.Unix(int64(w.r.IntN(1000)), 0).UTC())
			taint.TimeAdded = &added
		}
		w.node.Taints = append(w.node.Taints, taint)
	}
	return w
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// oneIn tells true once in so many times.
func (w *world) oneIn(n int) bool { return w.r.IntN(n) == 0 }

func (w *world) values(most int) map[string]string {
	values := map[string]string{}
	for range w.r.IntN(most + 1) {
		values[pick(w.r, worldKeys)] = pick(w.r, worldValues)
	}
	return values
}

// expansion works out the pools. Those that are not there, and of which the node has or had keys,
// are being deleted.
func (w *world) expansion() *render.Expansion {
	pools := slices.Collect(maps.Values(w.pools))
	if record, err := readRecord(w.node); err == nil {
		maps.Copy(w.carried, record.Pools())
	}
	for name := range w.carried {
		if w.pools[name] == nil && name != w.vanished {
			pools = append(pools, leaving(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}, v1.NodePoolSpec{}))
		}
	}
	return render.Expand(pools)
}

// changePools adds a pool, changes one, or takes one away.
func (w *world) changePools() {
	name := pick(w.r, worldPools)
	if _, found := w.pools[name]; found && w.oneIn(3) {
		delete(w.pools, name)
		return
	}
	w.pools[name] = w.pool(name)
}

func (w *world) pool(name string) *v1.NodePool {
	spec := v1.NodePoolSpec{
		Priority:       int32(w.r.IntN(2)),
		ConflictPolicy: pick(w.r, w.policies),
		Labels:         map[string]v1.LabelValue{},
		Annotations:    map[string]v1.AnnotationValue{},
	}
	for key, value := range w.values(3) {
		switch { // another role would make the pool faulty
		case !strings.HasPrefix(key, v1.RoleLabelPrefix):
			spec.Labels[key] = v1.LabelValue(value)
		case key == v1.RoleLabel(name):
			spec.Labels[key] = ""
		}
	}
	for key, value := range w.values(2) {
		spec.Annotations[key] = v1.AnnotationValue(value)
	}
	for key, value := range w.values(2) {
		spec.Taints = append(spec.Taints, v1.Taint{Key: key, Value: value, Effect: pick(w.r, worldEffects)})
	}
	switch w.r.IntN(5) {
	case 0: // by role label
	case 1:
		spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{pick(w.r, worldKeys): v1.LabelValue(pick(w.r, worldValues))}}
	case 2:
		spec.Selector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{
			Key:      pick(w.r, worldKeys),
			Operator: pick(w.r, []metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}),
		}}}
	default:
		spec.NodeNames = []string{"n"}
	}
	if w.oneIn(4) {
		// Not of a pool after it in the alphabet, or there would be circles.
		if parent := pick(w.r, worldPools); parent < name {
			spec.Parent = parent
		}
	}
	if w.held && w.oneIn(8) {
		spec.NodeNames, spec.Selector = nil, &v1.LabelSelector{}
	}
	pool := define(name, spec)
	if w.held && w.oneIn(8) {
		pool = faulty(pool)
	}
	return pool
}

// meddle is somebody else changing the node: any key, ours or not.
func (w *world) meddle(node *NodeState) {
	change := func(values *map[string]string) {
		if *values == nil {
			*values = map[string]string{}
		}
		if key := pick(w.r, worldKeys); w.oneIn(3) {
			delete(*values, key)
		} else {
			(*values)[key] = pick(w.r, worldValues)
		}
	}
	switch w.r.IntN(3) {
	case 0:
		change(&node.Labels)
	case 1:
		change(&node.Annotations)
	default:
		id := render.TaintID{Key: pick(w.r, worldKeys), Effect: pick(w.r, worldEffects)}
		node.Taints = slices.DeleteFunc(node.Taints, func(taint corev1.Taint) bool {
			return taint.Key == id.Key && taint.Effect == id.Effect
		})
		if !w.oneIn(3) {
			node.Taints = append(node.Taints, corev1.Taint{Key: id.Key, Value: pick(w.r, worldValues), Effect: id.Effect})
		}
	}
}

// meddleByApply is another tool that applies a key of its own.
func (w *world) meddleByApply() map[string]any {
	field := pick(w.r, []string{"labels", "annotations"})
	return body(map[string]any{field: map[string]any{pick(w.r, worldKeys): pick(w.r, worldValues)}})
}

// standing is all that stands on a node and that pools could touch, by field and
// key.
func standing(node *NodeState) map[Field]map[string]string {
	all := map[Field]map[string]string{Label: {}, Annotation: {}, Taint: {}}
	maps.Copy(all[Label], node.Labels)
	maps.Copy(all[Annotation], node.Annotations)
	delete(all[Annotation], v1.AppliedAnnotation)
	for _, taint := range node.Taints {
		all[Taint][taint.Key+":"+string(taint.Effect)] = taint.Value
	}
	return all
}

// entries are all entries of a record, by field and key.
func entries(record Record) map[Field]map[string]Entry {
	all := map[Field]map[string]Entry{Label: record.Labels, Annotation: record.Annotations, Taint: {}}
	for id, entry := range record.Taints {
		all[Taint][id.String()] = entry
	}
	return all
}

// wishes are all the values that one pool wants, by field and key.
func wishes(pool *v1.NodePool) map[Field]map[string]string {
	all := map[Field]map[string]string{Label: {}, Annotation: {}, Taint: {}}
	if pool.Spec.Selector != nil || len(pool.Spec.NodeNames) > 0 {
		all[Label][v1.RoleLabel(pool.Name)] = ""
	}
	for key, value := range pool.Spec.Labels {
		all[Label][key] = string(value)
	}
	for key, value := range pool.Spec.Annotations {
		all[Annotation][key] = string(value)
	}
	for _, taint := range pool.Spec.Taints {
		all[Taint][fmt.Sprintf("%s:%s", taint.Key, taint.Effect)] = taint.Value
	}
	return all
}

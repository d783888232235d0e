package impact

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/render"
)

// The random worlds are small, so that what can meet does: few keys, few values,
// few nodes.
var (
	randomKeys    = words("k0", "k1", "k2", corev1.TaintNodeNotReady)
	randomValues  = words("", "1", "2")
	randomEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}
	randomNodes   = words("n0", "n1", "n2", "n3")
	randomClasses = words("", "", "a", "b", "c")
	randomKinds   = words("DaemonSet", "DaemonSet", "Deployment", "Job")
)

// randomly makes worlds; the same number makes the same world.
type randomly struct{ *rand.Rand }

func seeded(seed uint64) randomly { return randomly{rand.New(rand.NewPCG(seed, seed))} }

func pick[T any](r randomly, from []T) T { return from[r.IntN(len(from))] }

func (r randomly) oneIn(n int) bool { return r.IntN(n) == 0 }

// world is a cluster before and after a change of anything.
func (r randomly) world() (*inventory.Inventory, plan.Cluster) {
	before, after := &inventory.Inventory{}, plan.Cluster{}
	before.Pools = r.pools()
	after.Pools = before.Pools
	if r.oneIn(2) {
		after.Pools = r.pools()
	}
	had, has := render.Expand(before.Pools), render.Expand(after.Pools)
	for _, name := range randomNodes {
		was := r.node(name)
		is := was
		if r.oneIn(2) {
			is = r.node(name)
		}
		before.Nodes, after.Nodes = append(before.Nodes, carrying(was, had)), append(after.Nodes, carrying(is, has))
	}
	for _, name := range words("a", "b", "c") {
		was, is := r.class(name), r.class(name)
		if r.oneIn(2) {
			is = was
		}
		if !r.oneIn(6) {
			before.RuntimeClasses = append(before.RuntimeClasses, was)
		}
		if !r.oneIn(6) {
			after.RuntimeClasses = append(after.RuntimeClasses, is)
		}
	}
	r.work(before)
	return before, after
}

func (r randomly) pools() []*v1.NodePool {
	var pools []*v1.NodePool
	for _, name := range words("a", "b") {
		if r.oneIn(3) {
			continue
		}
		words := words(pick(r, randomKeys) + "=" + pick(r, randomValues))
		if !r.oneIn(3) {
			words = append(words, name+"=:"+string(pick(r, randomEffects)))
		}
		pools = append(pools, newPool(name, []string{pick(r, randomNodes), pick(r, randomNodes)}, words...))
	}
	return pools
}

func (r randomly) node(name string) *plan.NodeState {
	node := newNode(name)
	node.Unschedulable = r.oneIn(10)
	for range r.IntN(4) {
		node.Labels[pick(r, randomKeys)] = pick(r, randomValues)
	}
	seen := map[render.TaintID]bool{}
	for range r.IntN(3) {
		taint := corev1.Taint{Key: pick(r, randomKeys), Value: pick(r, randomValues), Effect: pick(r, randomEffects)}
		if id := (render.TaintID{Key: taint.Key, Effect: taint.Effect}); !seen[id] {
			seen[id] = true
			node.Taints = append(node.Taints, taint)
		}
	}
	return node
}

func (r randomly) class(name string) *nodev1.RuntimeClass {
	class := newClass(name, pick(r, words("runc", "runc", "kata")), inventory.Scheduling{})
	if r.oneIn(5) {
		class.Scheduling = nil
		return class
	}
	class.Scheduling.NodeSelector, class.Scheduling.Tolerations = r.selector(), r.tolerations()
	return class
}

func (r randomly) selector() map[string]string {
	if !r.oneIn(3) {
		return nil
	}
	return map[string]string{pick(r, randomKeys): pick(r, randomValues)}
}

func (r randomly) tolerations() []corev1.Toleration {
	var tolerations []corev1.Toleration
	for range r.IntN(6) {
		toleration := corev1.Toleration{
			Key:      pick(r, randomKeys),
			Operator: pick(r, []corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}),
			Effect:   pick(r, append(randomEffects, "", corev1.TaintEffectNoExecute)),
		}
		switch toleration.Operator {
		case corev1.TolerationOpExists:
			if r.oneIn(4) {
				toleration.Key = ""
			}
		default:
			toleration.Value = pick(r, randomValues)
		}
		if toleration.Effect == corev1.TaintEffectNoExecute && !r.oneIn(3) {
			toleration.TolerationSeconds = pick(r, []*int64{bearsFor(-1, "").TolerationSeconds, bearsFor(0, "").TolerationSeconds, bearsFor(5, "").TolerationSeconds, bearsFor(60, "").TolerationSeconds})
		}
		tolerations = append(tolerations, toleration)
	}
	return tolerations
}

func (r randomly) affinity() *corev1.NodeSelector {
	if !r.oneIn(3) {
		return nil
	}
	affinity := &corev1.NodeSelector{}
	for range r.IntN(3) {
		term := corev1.NodeSelectorTerm{}
		if r.oneIn(3) {
			term.MatchFields = []corev1.NodeSelectorRequirement{{
				Key:      "metadata.name",
				Operator: pick(r, []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn}),
				Values:   []string{pick(r, randomNodes)},
			}}
		}
		for range r.IntN(3) {
			expression := corev1.NodeSelectorRequirement{Key: pick(r, randomKeys), Operator: pick(r, []corev1.NodeSelectorOperator{
				corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
				corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
			})}
			switch expression.Operator {
			case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
				expression.Values = []string{pick(r, randomValues), pick(r, randomValues)}
			case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
				// The empty one cannot be read, and then matches nothing.
				expression.Values = []string{pick(r, randomValues)}
			}
			term.MatchExpressions = append(term.MatchExpressions, expression)
		}
		affinity.NodeSelectorTerms = append(affinity.NodeSelectorTerms, term)
	}
	return affinity
}

func (r randomly) asks() inventory.Scheduling {
	return inventory.Scheduling{
		RuntimeClass: pick(r, randomClasses), NodeSelector: r.selector(), Affinity: r.affinity(), Tolerations: r.tolerations(),
	}
}

// work adds workloads and pods, as they were made or as they would not be today.
func (r randomly) work(to *inventory.Inventory) {
	live := plan.ClassesOf(to.RuntimeClasses)
	for i := range 3 {
		to.Workloads = append(to.Workloads, inventory.Workload{
			Owner:    inventory.Owner{Kind: pick(r, randomKinds), Namespace: "shop", Name: fmt.Sprintf("w%d", i)},
			Template: r.asks(),
		})
	}
	for i := range r.IntN(12) {
		pod := inventory.Pod{Namespace: "shop", Name: fmt.Sprintf("p%02d", i), Node: pick(r, append(randomNodes, "gone")), Scheduling: r.asks()}
		switch r.IntN(4) {
		case 0: // bare
		case 1:
			pod.Owner = inventory.Owner{Kind: pick(r, randomKinds), Namespace: "shop", Name: "unknown"}
		default:
			of := pick(r, to.Workloads)
			pod.Owner = of.Owner
			if !r.oneIn(4) {
				pod.Scheduling = of.Template
			}
		}
		if class := live[pod.RuntimeClass]; class != nil {
			if merged, refusal := admit(pod.Scheduling, class); refusal == nil {
				pod.Scheduling = merged
			}
		}
		pod.Ready, pod.Static, pod.Terminating, pod.Finished = !r.oneIn(4), r.oneIn(12), r.oneIn(12), r.oneIn(8)
		if r.oneIn(2) {
			pod.Budgets = words("budget")
		}
		to.Pods = append(to.Pods, pod)
	}
	to.Budgets = []inventory.Budget{{Namespace: "shop", Name: "budget", Allowed: int32(r.IntN(3))}}
}

// shuffled are the same worlds with everything in another order that has none.
func (r randomly) shuffle(before *inventory.Inventory, after *plan.Cluster) {
	mix(r, before.Nodes, after.Nodes)
	mix(r, before.Pools, after.Pools)
	mix(r, before.RuntimeClasses, after.RuntimeClasses)
	mix(r, before.Pods)
	mix(r, before.Workloads)
	mix(r, before.Budgets)
	for _, nodes := range [][]*plan.NodeState{before.Nodes, after.Nodes} {
		for _, node := range nodes {
			mix(r, node.Taints)
		}
	}
}

func mix[T any](r randomly, lists ...[]T) {
	for _, list := range lists {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
}

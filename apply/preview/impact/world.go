package impact

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// world is the cluster before and after the change, side by side, indexed for
// the queries of this package.
type world struct {
	// pairs are the nodes that exist before and after, sorted by name.
	pairs []*nodePair
	// nodes are all that exist afterwards, sorted by name.
	nodes     []*site
	workloads map[inventory.Owner]*workload
	// daemons are the workloads that are DaemonSets, sorted.
	daemons []*workload
	// classesBefore and classesAfter are the RuntimeClasses by name.
	classesBefore, classesAfter classes
	shapes                      map[string]*shape
	tolerances                  map[string]*tolerance
	taints                      map[string]*taintSet
	// index is built by the first query for nodes that accept a pod, and feasibility
	// caches the results.
	index       *index
	feasibility map[query]bool
}

// nodePair is a node before and after.
type nodePair struct {
	name          string
	before, after *site
	// changed is set where the labels or the taints differ.
	changed bool
	// pods that are on the node now.
	pods []*inventory.Pod
	// drains are the taints of which the node is drained before they come, and undrained
	// are those that it has afterwards without these.
	drains    []plan.DrainBefore
	undrained []corev1.Taint
}

// site is one state of a node.
type site struct {
	node *plan.NodeState
	// object is the node for Kubernetes' own matching.
	object *corev1.Node
	// taints that keep pods out.
	taints *taintSet
	// lasting are the taints without those of a transient state that does not change.
	lasting *taintSet
}

func newWorld(before *inventory.Inventory, after plan.Cluster) *world {
	w := &world{
		workloads:     make(map[inventory.Owner]*workload, len(before.Workloads)),
		classesBefore: plan.ClassesOf(before.RuntimeClasses),
		classesAfter:  plan.ClassesOf(after.RuntimeClasses),
		shapes:        map[string]*shape{},
		tolerances:    map[string]*tolerance{},
		taints:        map[string]*taintSet{},
		feasibility:   map[query]bool{},
	}
	for i := range before.Workloads {
		each := newWorkload(&before.Workloads[i])
		w.workloads[each.Owner] = each
		if each.isDaemonSet() {
			w.daemons = append(w.daemons, each)
		}
	}
	slices.SortFunc(w.daemons, func(a, b *workload) int { return compareWorkloads(named(a.Owner), named(b.Owner)) })
	w.setNodes(before.Nodes, after.Nodes)
	w.setPods(before.Pods)
	return w
}

func (w *world) setNodes(before, after []*plan.NodeState) {
	stood := make(map[string]*plan.NodeState, len(before))
	for _, node := range before {
		stood[node.Name] = node
	}
	for _, node := range after {
		was, found := stood[node.Name]
		if !found {
			was = node
		}
		passing := transientTaints(was, node)
		p := &nodePair{name: node.Name, after: w.site(node, passing)}
		w.nodes = append(w.nodes, p.after)
		if found {
			p.before = w.site(was, passing)
			p.changed = !sameNode(was, node)
			w.pairs = append(w.pairs, p)
		}
	}
	slices.SortFunc(w.nodes, func(a, b *site) int { return cmp.Compare(a.node.Name, b.node.Name) })
	slices.SortFunc(w.pairs, func(a, b *nodePair) int { return cmp.Compare(a.name, b.name) })
}

func (w *world) setPods(pods []inventory.Pod) {
	places := make(map[string]*nodePair, len(w.pairs))
	for _, p := range w.pairs {
		places[p.name] = p
	}
	for i := range pods {
		if p := places[pods[i].Node]; p != nil {
			p.pods = append(p.pods, &pods[i])
		}
	}
}

func (w *world) site(node *plan.NodeState, passing map[corev1.Taint]bool) *site {
	s := &site{node: node, object: node.Object(), taints: w.intern(node.Taints, nil)}
	s.lasting = s.taints
	if len(passing) > 0 {
		s.lasting = w.intern(node.Taints, passing)
	}
	return s
}

// sameNode reports whether two states of a node are the same for pods.
func sameNode(a, b *plan.NodeState) bool {
	return a == b || maps.Equal(a.Labels, b.Labels) && a.Unschedulable == b.Unschedulable &&
		slices.EqualFunc(a.Taints, b.Taints, func(a, b corev1.Taint) bool { return plainTaint(a) == plainTaint(b) })
}

// idle reports whether a change of its node does not affect a pod: it has
// finished, or is being deleted.
func idle(pod *inventory.Pod) bool { return pod.Finished || pod.Terminating }

package impact

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/nodepools/nodepools/apply/inventory"
	"github.com/nodepools/nodepools/apply/plan"
)

// world is the cluster before and after the change, side by side, in the form in
// which the questions of this package cost little.
type world struct {
	// places are the nodes that stand there before and after, sorted by name.
	places []*place
	// nodes are all that stand there afterwards, sorted by name.
	nodes     []*site
	workloads map[inventory.Owner]*workload
	// daemons are the workloads that are DaemonSets, sorted.
	daemons []*workload
	// classesBefore and classesAfter are the RuntimeClasses by name.
	classesBefore, classesAfter classes
	shapes                      map[string]*shape
	tolerances                  map[string]*tolerance
	taints                      map[string]*taintSet
	// index is made when somebody asks which nodes take a pod, and nowheres are the
	// answers.
	index    *index
	nowheres map[question]bool
}

// place is a node before and after.
type place struct {
	name          string
	before, after *site
	// changed tells that the labels or the taints differ.
	changed bool
	// pods that the node has now.
	pods []*inventory.Pod
}

// site is a node at one time.
type site struct {
	node *corev1.Node
	// taints that keep pods out.
	taints *taintSet
	// lasting are these but for what tells of a passing state of the node and
	// stays as it is.
	lasting *taintSet
}

func newWorld(before *inventory.Inventory, after plan.Cluster) *world {
	w := &world{
		workloads:     make(map[inventory.Owner]*workload, len(before.Workloads)),
		classesBefore: classesOf(before.RuntimeClasses),
		classesAfter:  classesOf(after.RuntimeClasses),
		shapes:        map[string]*shape{},
		tolerances:    map[string]*tolerance{},
		taints:        map[string]*taintSet{},
		nowheres:      map[question]bool{},
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

func (w *world) setNodes(before, after []*corev1.Node) {
	stood := make(map[string]*corev1.Node, len(before))
	for _, node := range before {
		stood[node.Name] = node
	}
	for _, node := range after {
		was, found := stood[node.Name]
		if !found {
			was = node
		}
		passing := passingTaints(was, node)
		p := &place{name: node.Name, after: w.site(node, passing)}
		w.nodes = append(w.nodes, p.after)
		if found {
			p.before = w.site(was, passing)
			p.changed = !sameNode(was, node)
			w.places = append(w.places, p)
		}
	}
	slices.SortFunc(w.nodes, func(a, b *site) int { return cmp.Compare(a.node.Name, b.node.Name) })
	slices.SortFunc(w.places, func(a, b *place) int { return cmp.Compare(a.name, b.name) })
}

func (w *world) setPods(pods []inventory.Pod) {
	places := make(map[string]*place, len(w.places))
	for _, p := range w.places {
		places[p.name] = p
	}
	for i := range pods {
		if p := places[pods[i].Node]; p != nil {
			p.pods = append(p.pods, &pods[i])
		}
	}
}

func (w *world) site(node *corev1.Node, passing map[corev1.Taint]bool) *site {
	s := &site{node: node, taints: w.intern(node.Spec.Taints, nil)}
	s.lasting = s.taints
	if len(passing) > 0 {
		s.lasting = w.intern(node.Spec.Taints, passing)
	}
	return s
}

// sameNode reports whether two states of a node are the same for pods.
func sameNode(a, b *corev1.Node) bool {
	return a == b || maps.Equal(a.Labels, b.Labels) && a.Spec.Unschedulable == b.Spec.Unschedulable &&
		slices.EqualFunc(a.Spec.Taints, b.Spec.Taints, func(a, b corev1.Taint) bool { return plainTaint(a) == plainTaint(b) })
}

func classesOf(list []*nodev1.RuntimeClass) classes {
	byName := make(classes, len(list))
	for _, class := range list {
		byName[class.Name] = class
	}
	return byName
}

// idle are pods that no change of their node takes anything from: they are over,
// or about to be.
func idle(pod *inventory.Pod) bool { return pod.Finished || pod.Terminating }

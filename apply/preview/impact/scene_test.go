package impact

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// newNode makes a node from words as people write them: disk=ssd is a label,
// gpu=yes:NoSchedule a taint, and cordoned says so.
func newNode(name string, words ...string) *plan.NodeState {
	node := &plan.NodeState{Name: name, Labels: map[string]string{}}
	for _, word := range words {
		switch {
		case word == "cordoned":
			node.Unschedulable = true
		case strings.Contains(word, ":"):
			node.Taints = append(node.Taints, newTaint(word))
		default:
			key, value, _ := strings.Cut(word, "=")
			node.Labels[key] = value
		}
	}
	return node
}

func newTaint(word string) corev1.Taint {
	id, effect, _ := strings.Cut(word, ":")
	key, value, _ := strings.Cut(id, "=")
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
}

// bears makes a toleration of the taint; without = and a value of all values.
func bears(word string) corev1.Toleration {
	id, effect, _ := strings.Cut(word, ":")
	key, value, equal := strings.Cut(id, "=")
	toleration := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if equal {
		toleration.Operator, toleration.Value = corev1.TolerationOpEqual, value
	}
	return toleration
}

// bearsFor makes one that holds for so many seconds.
func bearsFor(seconds int64, word string) corev1.Toleration {
	toleration := bears(word)
	toleration.TolerationSeconds = ptr.To(seconds)
	return toleration
}

// asking is what a pod asks for: words are labels that it selects.
func asking(words ...string) inventory.Scheduling {
	asks := inventory.Scheduling{}
	for _, word := range words {
		if asks.NodeSelector == nil {
			asks.NodeSelector = map[string]string{}
		}
		key, value, _ := strings.Cut(word, "=")
		asks.NodeSelector[key] = value
	}
	return asks
}

func bearing(tolerations ...corev1.Toleration) inventory.Scheduling {
	return inventory.Scheduling{Tolerations: tolerations}
}

// with adds tolerations.
func with(asks inventory.Scheduling, tolerations ...corev1.Toleration) inventory.Scheduling {
	asks.Tolerations = append(asks.Tolerations, tolerations...)
	return asks
}

func naming(class string, asks inventory.Scheduling) inventory.Scheduling {
	asks.RuntimeClass = class
	return asks
}

// needing adds a node affinity of terms, any of which suffices.
func needing(asks inventory.Scheduling, terms ...corev1.NodeSelectorTerm) inventory.Scheduling {
	asks.Affinity = &corev1.NodeSelector{NodeSelectorTerms: terms}
	return asks
}

func labelled(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func onNode(name string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
		Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name},
	}}}
}

// newClass makes a RuntimeClass that leads pods where these ask to be.
func newClass(name, handler string, asks inventory.Scheduling) *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Handler:    handler,
		Scheduling: &nodev1.Scheduling{NodeSelector: asks.NodeSelector, Tolerations: asks.Tolerations},
	}
}

// scene is a change of a cluster.
type scene struct {
	before inventory.Inventory
	after  plan.Cluster
	drains map[string][]plan.DrainBefore
}

// node adds a node, before and after.
func (s *scene) node(name string, before, after []string) *scene {
	s.before.Nodes = append(s.before.Nodes, newNode(name, before...))
	s.after.Nodes = append(s.after.Nodes, newNode(name, after...))
	return s
}

// class adds a RuntimeClass, before and after; nil where there is none.
func (s *scene) class(before, after *nodev1.RuntimeClass) *scene {
	if before != nil {
		s.before.RuntimeClasses = append(s.before.RuntimeClasses, before)
	}
	if after != nil {
		s.after.RuntimeClasses = append(s.after.RuntimeClasses, after)
	}
	return s
}

// bare adds a pod that nothing makes anew.
func (s *scene) bare(name, node string, asks inventory.Scheduling) *scene {
	s.before.Pods = append(s.before.Pods, inventory.Pod{Namespace: "shop", Name: name, Node: node, Scheduling: asks, Ready: true})
	return s
}

// workload adds a workload with a pod on each of the nodes, made by the
// RuntimeClasses from before.
func (s *scene) workload(kind, name string, template inventory.Scheduling, nodes ...string) *scene {
	owner := inventory.Owner{Kind: kind, Namespace: "shop", Name: name}
	s.before.Workloads = append(s.before.Workloads, inventory.Workload{Owner: owner, Template: template})
	asks := template
	if class := plan.ClassesOf(s.before.RuntimeClasses)[template.RuntimeClass]; class != nil {
		asks, _ = admit(template, class)
	}
	for _, node := range nodes {
		s.before.Pods = append(s.before.Pods, inventory.Pod{
			Namespace: "shop", Name: name + "-on-" + node, Node: node, Owner: owner, Scheduling: asks, Ready: true,
		})
	}
	return s
}

// pods changes the pods that are there so far.
func (s *scene) pods(change func(*inventory.Pod)) *scene {
	for i := range s.before.Pods {
		change(&s.before.Pods[i])
	}
	return s
}

// of is the impact of the change, which does not depend on the order of what there is.
func (s *scene) of() *Impact {
	got := Of(&s.before, s.after, s.drains)
	slices.Reverse(s.before.Nodes)
	slices.Reverse(s.before.Pods)
	slices.Reverse(s.before.Workloads)
	slices.Reverse(s.before.Budgets)
	slices.Reverse(s.after.Nodes)
	if diff := cmp.Diff(got, Of(&s.before, s.after, s.drains)); diff != "" {
		panic("the impact is another one in another order: " + diff)
	}
	return got
}

func words(words ...string) []string { return words }

// on names pods by "name node".
func on(names ...string) []Pod {
	pods := []Pod{}
	for _, name := range names {
		pod, node, _ := strings.Cut(name, " ")
		pods = append(pods, Pod{Name: pod, Node: node})
	}
	return pods
}

func inShop(kind, name string) Workload { return Workload{Kind: kind, Namespace: "shop", Name: name} }

// expectEqual reports whether an impact is as it should be; lists that the case leaves
// out are empty.
func expectEqual(t *testing.T, reason string, want Impact, got *Impact) {
	t.Helper()
	if diff := cmp.Diff(whole(want), *got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
	for _, unschedulable := range got.Unschedulable {
		expectValuesApart(t, unschedulable.Reason)
	}
	for _, overlap := range got.Overlaps {
		expectValuesApart(t, overlap.Reason)
	}
}

// expectValuesApart checks that no words of a reason have the value of a label or a
// taint, which could not be masked there.
func expectValuesApart(t *testing.T, reason Reason) {
	t.Helper()
	for _, part := range reason {
		for _, before := range []string{"=", `sets to "`} {
			if _, after, found := strings.Cut(part.Text, before); part.Key == "" && found && after != "" {
				t.Errorf("%q is among the words of %q", after, reason)
			}
		}
	}
}

// whole makes lists that are not there empty ones.
func whole(i Impact) Impact {
	fill(&i.Evictions)
	fill(&i.Budgets)
	fill(&i.Unschedulable)
	fill(&i.Stranded)
	fill(&i.DaemonPods)
	fill(&i.RuntimeClasses)
	fill(&i.Overlaps)
	for j := range i.DaemonPods {
		fill(&i.DaemonPods[j].Removed)
		fill(&i.DaemonPods[j].Started)
	}
	for j := range i.RuntimeClasses {
		fill(&i.RuntimeClasses[j].Workloads)
		fill(&i.RuntimeClasses[j].Users)
	}
	return i
}

func fill[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

func sortedNames[V any](cases map[string]V) []string { return slices.Sorted(maps.Keys(cases)) }

package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// workloadsToFile groups pods by what creates them, and equal ones together; it
// returns null where pods are not known.
func workloadsToFile(inv *Inventory) ([]fileWorkload, error) {
	if inv.Pods == nil {
		return nil, nil
	}
	workloads := map[Owner]*fileWorkload{}
	under := func(owner Owner) *fileWorkload {
		if workloads[owner] == nil {
			workloads[owner] = &fileWorkload{Group: owner.Group, Kind: owner.Kind, Namespace: owner.Namespace, Name: owner.Name}
		}
		return workloads[owner]
	}
	for _, workload := range inv.Workloads {
		under(workload.Owner).Template = ptr.To(fileScheduling(workload.Template))
	}
	groups := map[Owner]map[string]*filePods{}
	called := newHosts(inv.Nodes)
	for _, pod := range slices.Concat(inv.Pods, inv.Waiting) {
		owner := pod.Owner
		owner.Namespace = pod.Namespace
		alike, line := podToFile(pod, called)
		same, err := toJSON(alike)
		if err != nil {
			return nil, err
		}
		if groups[owner] == nil {
			groups[owner] = map[string]*filePods{}
		}
		if groups[owner][string(same)] == nil {
			groups[owner][string(same)] = &alike
		}
		group := groups[owner][string(same)]
		group.Pods = append(group.Pods, line)
	}
	for owner, alike := range groups {
		workload := under(owner)
		// By their common part, so that groups keep their order when pods change.
		for _, same := range slices.Sorted(maps.Keys(alike)) {
			slices.Sort(alike[same].Pods)
			workload.Pods = append(workload.Pods, *alike[same])
		}
	}
	all := make([]fileWorkload, 0, len(workloads))
	for _, workload := range workloads {
		all = append(all, *workload)
	}
	slices.SortFunc(all, func(a, b fileWorkload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
	})
	return all, nil
}

// podToFile returns the group of a pod, and the pod's line.
func podToFile(pod Pod, called hosts) (filePods, string) {
	written := filePods{
		Static: pod.Static, NotReady: !pod.Ready && pod.Node != "", Finished: pod.Finished, Terminating: pod.Terminating,
		Waiting: pod.Node == "", Budgets: pod.Budgets, fileScheduling: fileScheduling(pod.Scheduling),
	}
	if !written.Waiting {
		written.Affinity = renamed(pod.Affinity, pod.Node, itself)
	}
	if at := indexDefaults(pod.Tolerations); at >= 0 {
		written.Tolerations, written.Defaults, written.More = pod.Tolerations[:at], true, pod.Tolerations[at+len(defaultTolerations):]
	}
	if prefix, isNamed := strings.CutSuffix(pod.Name, pod.Node); isNamed && !written.Waiting {
		written.Prefix = prefix
		return written, called.short(pod.Node)
	}
	end := strings.LastIndex(pod.Name, "-") + 1
	written.Prefix = pod.Name[:end]
	if written.Waiting {
		return written, pod.Name[end:]
	}
	return written, called.short(pod.Node) + " " + pod.Name[end:]
}

// defaultTolerations are what the admission plugin DefaultTolerationSeconds adds
// to a pod, in its order.
var defaultTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)},
}

// indexDefaults returns the index of the default tolerations; -1 where there are none.
func indexDefaults(tolerations []corev1.Toleration) int {
	for at := 0; at+len(defaultTolerations) <= len(tolerations); at++ {
		if slices.EqualFunc(tolerations[at:at+len(defaultTolerations)], defaultTolerations, sameToleration) {
			return at
		}
	}
	return -1
}

func sameToleration(a, b corev1.Toleration) bool {
	return a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect &&
		ptr.Equal(a.TolerationSeconds, b.TolerationSeconds)
}

// renamed returns a copy of an affinity with one name of a node replaced by
// another: the DaemonSet controller binds each pod to its node by such an
// affinity.
func renamed(affinity *corev1.NodeSelector, from, to string) *corev1.NodeSelector {
	if affinity == nil || !asksFor(affinity, from) {
		return affinity
	}
	changed := affinity.DeepCopy()
	for i := range changed.NodeSelectorTerms {
		for j := range changed.NodeSelectorTerms[i].MatchFields {
			values := changed.NodeSelectorTerms[i].MatchFields[j].Values
			for k := range values {
				if values[k] == from {
					values[k] = to
				}
			}
		}
	}
	return changed
}

func asksFor(affinity *corev1.NodeSelector, node string) bool {
	return slices.ContainsFunc(affinity.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchFields, func(field corev1.NodeSelectorRequirement) bool {
			return field.Key == metav1.ObjectNameField && slices.Contains(field.Values, node)
		})
	})
}

package impact

import (
	"cmp"
	"maps"
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// runtimeClasses returns the RuntimeClasses that are deleted or replaced while
// something names them. Pods that have finished, or are being deleted, do not
// count. A workload of which only the pods are known counts by its pods.
func (w *world) runtimeClasses(before *inventory.Inventory) []RuntimeClassUse {
	uses := map[string]*RuntimeClassUse{}
	for name, class := range w.classesBefore {
		switch now := w.classesAfter[name]; {
		case now == nil:
			uses[name] = &RuntimeClassUse{Name: name, Action: string(plan.Delete)}
		case now.Handler != class.Handler:
			uses[name] = &RuntimeClassUse{Name: name, Action: string(plan.Replace)}
		}
	}
	if len(uses) == 0 {
		return []RuntimeClassUse{}
	}
	users := map[string]map[Workload]bool{}
	named := func(class string, by inventory.Owner) {
		if users[class] == nil {
			users[class] = map[Workload]bool{}
		}
		users[class][Workload(by)] = true
	}
	for i := range before.Workloads {
		if of := &before.Workloads[i]; uses[of.Template.RuntimeClass] != nil {
			named(of.Template.RuntimeClass, of.Owner)
		}
	}
	for i := range before.Pods {
		pod := &before.Pods[i]
		use := uses[pod.RuntimeClass]
		if use == nil || idle(pod) {
			continue
		}
		use.Pods++
		use.Users = append(use.Users, Pod{Name: pod.Name, Node: pod.Node})
		if pod.Owner != (inventory.Owner{}) && w.workloads[pod.Owner] == nil {
			named(pod.RuntimeClass, pod.Owner)
		}
	}
	list := make([]RuntimeClassUse, 0, len(uses))
	for name, use := range uses {
		if use.Pods == 0 && len(users[name]) == 0 {
			continue
		}
		use.Workloads = slices.SortedFunc(maps.Keys(users[name]), compareWorkloads)
		slices.SortFunc(use.Users, comparePods)
		if use.Users == nil {
			use.Users = []Pod{}
		}
		if use.Workloads == nil {
			use.Workloads = []Workload{}
		}
		list = append(list, *use)
	}
	slices.SortFunc(list, func(a, b RuntimeClassUse) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

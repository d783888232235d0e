package impact

import (
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/inventory"
)

// The oracle computes what Kubernetes does to each pod, one by one and node by
// node, in the words of its own controllers: what they do is written down here
// as it is in k8s.io/kubernetes v1.37.1, which cannot be imported. It shares no
// code with what it judges.
type oracle struct {
	before *inventory.Inventory
	after  plan.Cluster
}

// fate is what becomes of a pod. Afterwards is whether its next pod has a place.
type fate struct {
	Evicted        bool
	AfterSeconds   int64
	Removed        bool
	Unschedulable  bool
	NotRecreated   bool
	NoFeasibleNode bool
}

// fates are those of the pods that something happens to, by name.
func (o oracle) fates() map[string]fate {
	fates := map[string]fate{}
	for i := range o.before.Pods {
		pod := &o.before.Pods[i]
		was, is := nodeOf(o.before.Nodes, pod.Node), nodeOf(o.after.Nodes, pod.Node)
		if was == nil || is == nil || pod.Static || pod.Terminating {
			continue
		}
		f := fate{}
		f.AfterSeconds, f.Evicted = o.evicted(pod, was, is)
		if set := o.daemonSet(pod.Owner); set != nil && !pod.Finished {
			_, kept := shouldRunDaemonPod(was, set)
			_, keep := shouldRunDaemonPod(is, set)
			if kept && !keep && (!f.Evicted || f.AfterSeconds > 0) {
				f = fate{Removed: true}
			}
		}
		if !f.Evicted && !f.Removed && !o.deleted(pod, was) && !pod.Finished {
			f.Unschedulable = o.lostItsPlace(pod, was, is)
		}
		made := slices.ContainsFunc(o.before.Workloads, func(of inventory.Workload) bool { return of.Owner == pod.Owner })
		// What has no controller is created by nobody, nor are the pods of a DaemonSet
		// that is gone; of those of an owner that is not known nobody can say.
		created := pod.Owner != (inventory.Owner{}) && (made || pod.Owner.Kind != "DaemonSet")
		f.NotRecreated = f.Evicted && !pod.Finished && !created
		if created && (f.Evicted && (made || !pod.Finished) || f.Unschedulable) {
			f.NoFeasibleNode = !o.anywhere(pod)
		}
		if f != (fate{}) {
			fates[pod.Name] = f
		}
	}
	return fates
}

// evicted is processPodOnNode of pkg/controller/tainteviction: the timer that the
// taints from before have started, then what the taints afterwards make of it.
func (o oracle) evicted(pod *inventory.Pod, was, is *plan.NodeState) (int64, bool) {
	created := time.Unix(0, 0)
	now := created.Add(time.Second)
	var timer *time.Time
	if o.deleted(pod, was) {
		return 0, false
	}
	old := noExecuteTaints(was)
	if _, used := matchingTolerations(old, pod.Tolerations); len(old) > 0 && minTolerationTime(used) > 0 {
		timer = &created
	}
	taints := noExecuteTaints(is)
	if len(taints) == 0 || !slices.ContainsFunc(taints, func(taint corev1.Taint) bool { return !slices.Contains(old, taint) }) {
		return 0, false
	}
	allTolerated, used := matchingTolerations(taints, pod.Tolerations)
	if !allTolerated {
		return 0, true
	}
	minimum := minTolerationTime(used)
	if minimum < 0 {
		return 0, false
	}
	if timer != nil && timer.Add(minimum).Before(now.Add(minimum)) {
		return 0, false // the timer from before goes on
	}
	return int64(minimum / time.Second), true
}

// deleted reports whether the node's taints have deleted the pod already.
func (o oracle) deleted(pod *inventory.Pod, on *plan.NodeState) bool {
	taints := noExecuteTaints(on)
	allTolerated, used := matchingTolerations(taints, pod.Tolerations)
	return len(taints) > 0 && (!allTolerated || minTolerationTime(used) == 0)
}

func noExecuteTaints(node *plan.NodeState) []corev1.Taint {
	var result []corev1.Taint
	for _, taint := range node.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute {
			result = append(result, taint)
		}
	}
	return result
}

// matchingTolerations is GetMatchingTolerations of pkg/apis/core/v1/helper.
func matchingTolerations(taints []corev1.Taint, tolerations []corev1.Toleration) (bool, []corev1.Toleration) {
	if len(taints) == 0 {
		return true, nil
	}
	var result []corev1.Toleration
	for i := range taints {
		tolerated := false
		for j := range tolerations {
			if tolerations[j].ToleratesTaint(silent, &taints[i], true) {
				result, tolerated = append(result, tolerations[j]), true
				break
			}
		}
		if !tolerated {
			return false, nil
		}
	}
	return true, result
}

// minTolerationTime is getMinTolerationTime of pkg/controller/tainteviction; -1 is
// for ever.
func minTolerationTime(tolerations []corev1.Toleration) time.Duration {
	minimum := int64(math.MaxInt64)
	if len(tolerations) == 0 {
		return 0
	}
	for i := range tolerations {
		if tolerations[i].TolerationSeconds != nil {
			seconds := *tolerations[i].TolerationSeconds
			if seconds <= 0 {
				return 0
			} else if seconds < minimum {
				minimum = seconds
			}
		}
	}
	if minimum == math.MaxInt64 {
		return -1
	}
	return time.Duration(minimum) * time.Second
}

// shouldRunDaemonPod is nodeShouldRunDaemonPod of pkg/controller/daemon.
func shouldRunDaemonPod(node *plan.NodeState, template *inventory.Scheduling) (run, goOn bool) {
	tolerations := slices.Concat(template.Tolerations, daemonTolerations)
	if !affinityMatches(node, *template) {
		return false, false
	}
	if untolerated(node, tolerations, corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule) {
		return false, !untolerated(node, tolerations, corev1.TaintEffectNoExecute)
	}
	return true, true
}

func untolerated(node *plan.NodeState, tolerations []corev1.Toleration, effects ...corev1.TaintEffect) bool {
	_, found := schedulinghelper.FindMatchingUntoleratedTaint(silent, node.Taints, tolerations, func(taint *corev1.Taint) bool {
		return slices.Contains(effects, taint.Effect)
	}, true)
	return found
}

func affinityMatches(node *plan.NodeState, asks inventory.Scheduling) bool {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: asks.NodeSelector}}
	if asks.Affinity != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: asks.Affinity}}
	}
	matched, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node.Object())
	return matched
}

// lostItsPlace asks the scheduler's filters of the pod's node, before and after,
// and of a DaemonSet its controller, too.
func (o oracle) lostItsPlace(pod *inventory.Pod, was, is *plan.NodeState) bool {
	if class := o.asksFor(pod).RuntimeClass; class != "" && plan.ClassesOf(o.after.RuntimeClasses)[class] == nil {
		return false // listed with the RuntimeClass
	}
	had, couldBe := o.next(pod, plan.ClassesOf(o.before.RuntimeClasses))
	if !couldBe || !schedulable(lasting(was, is), had) {
		return false
	}
	has, canBe := o.next(pod, plan.ClassesOf(o.after.RuntimeClasses))
	if pod.Owner.Kind == "DaemonSet" {
		set := o.daemonSet(pod.Owner)
		if set == nil {
			return false
		}
		if made, _ := shouldRunDaemonPod(lasting(was, is), set); !made {
			return false
		}
		if made, _ := shouldRunDaemonPod(lasting(is, was), set); !made {
			return true
		}
	}
	return !canBe || !schedulable(lasting(is, was), has)
}

// lasting is the node without a cordon and without the conditions that it has in
// the other state, too.
func lasting(node, other *plan.NodeState) *plan.NodeState {
	lasting := node.DeepCopy()
	lasting.Unschedulable = false
	lasting.Taints = slices.DeleteFunc(lasting.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeNotReady && slices.Contains(other.Taints, taint)
	})
	return lasting
}

func schedulable(node *plan.NodeState, asks inventory.Scheduling) bool {
	if node.Unschedulable && !schedulinghelper.TolerationsTolerateTaint(silent, asks.Tolerations,
		&corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}, true) {
		return false
	}
	return affinityMatches(node, asks) && !untolerated(node, asks.Tolerations, corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule)
}

func (o oracle) anywhere(pod *inventory.Pod) bool {
	asks, can := o.next(pod, plan.ClassesOf(o.after.RuntimeClasses))
	return can && slices.ContainsFunc(o.after.Nodes, func(node *plan.NodeState) bool {
		if set := o.daemonSet(pod.Owner); set != nil {
			if made, _ := shouldRunDaemonPod(node, set); !made {
				return false
			}
		}
		return schedulable(node, asks)
	})
}

// next is what the next pod asks for once admission is through with it.
func (o oracle) next(pod *inventory.Pod, live classes) (inventory.Scheduling, bool) {
	asks := o.asksFor(pod)
	if o.daemonSet(pod.Owner) != nil {
		asks.Tolerations = slices.Concat(asks.Tolerations, daemonTolerations)
	}
	// What a plugin has added to this pod, it adds to the next one.
	for _, toleration := range pod.Tolerations {
		if toleration.Operator == corev1.TolerationOpExists && toleration.Key != "" && !o.ofClass(pod, toleration) {
			asks.Tolerations = append(slices.Clip(asks.Tolerations), toleration)
		}
	}
	if asks.RuntimeClass == "" {
		return asks, true
	}
	class := live[asks.RuntimeClass]
	if class == nil {
		return asks, false
	}
	if class.Scheduling == nil {
		return asks, true
	}
	selector := map[string]string{}
	for key, value := range asks.NodeSelector {
		if other, found := class.Scheduling.NodeSelector[key]; found && other != value {
			return asks, false
		}
		selector[key] = value
	}
	for key, value := range class.Scheduling.NodeSelector {
		selector[key] = value
	}
	asks.NodeSelector, asks.Tolerations = selector, slices.Concat(asks.Tolerations, class.Scheduling.Tolerations)
	return asks, true
}

// ofClass reports whether the RuntimeClass from before has such a toleration.
func (o oracle) ofClass(pod *inventory.Pod, toleration corev1.Toleration) bool {
	class := plan.ClassesOf(o.before.RuntimeClasses)[pod.RuntimeClass]
	return class != nil && class.Scheduling != nil && slices.ContainsFunc(class.Scheduling.Tolerations, func(other corev1.Toleration) bool {
		return other.Key == toleration.Key && other.Operator == toleration.Operator && other.Effect == toleration.Effect && other.Value == toleration.Value
	})
}

func (o oracle) asksFor(pod *inventory.Pod) inventory.Scheduling {
	for i := range o.before.Workloads {
		if of := o.before.Workloads[i]; of.Owner == pod.Owner {
			return of.Template
		}
	}
	return unadmit(pod.Scheduling, plan.ClassesOf(o.before.RuntimeClasses)[pod.RuntimeClass])
}

// started are the nodes on which pods of DaemonSets start, by "DaemonSet node". Where
// the controller wanted one before, it has made it, and the pod waits as it is.
func (o oracle) started() []string {
	started := []string{}
	for _, of := range o.before.Workloads {
		set := o.daemonSet(of.Owner)
		if set == nil {
			continue
		}
		for _, is := range o.after.Nodes {
			was := nodeOf(o.before.Nodes, is.Name)
			exists := slices.ContainsFunc(o.before.Pods, func(pod inventory.Pod) bool {
				return pod.Owner == of.Owner && pod.Node == is.Name && !pod.Terminating && !pod.Finished
			})
			wanted, _ := shouldRunDaemonPod(was, set)
			wants, keeps := shouldRunDaemonPod(is, set)
			if exists {
				continue
			}
			pod := &inventory.Pod{Owner: of.Owner}
			waiting, made := o.next(pod, plan.ClassesOf(o.before.RuntimeClasses))
			if pending := wanted && made; pending {
				if !keeps || schedulable(was, waiting) {
					continue
				}
			} else {
				if !wants {
					continue
				}
				waiting, made = o.next(pod, plan.ClassesOf(o.after.RuntimeClasses))
			}
			if made && schedulable(is, waiting) {
				started = append(started, of.Name+" "+is.Name)
			}
		}
	}
	slices.Sort(started)
	return started
}

func (o oracle) daemonSet(owner inventory.Owner) *inventory.Scheduling {
	for i := range o.before.Workloads {
		if of := &o.before.Workloads[i]; of.Owner == owner && owner.Kind == "DaemonSet" {
			return &of.Template
		}
	}
	return nil
}

func nodeOf(nodes []*plan.NodeState, name string) *plan.NodeState {
	i := slices.IndexFunc(nodes, func(node *plan.NodeState) bool { return node.Name == name })
	if i < 0 {
		return nil
	}
	return nodes[i]
}

package impact

// Impact is what a change does to running pods. Its JSON form is part of the
// one of a review; every list is present, possibly empty. Lists of workloads
// are sorted by namespace, kind, name and group.
type Impact struct {
	// Evictions are pods that a new NoExecute taint deletes, or that are drained before it
	// comes, by workload, the first to go first. PodDisruptionBudgets do not prevent what a
	// taint does.
	Evictions []Eviction `json:"evictions"`
	// Budgets are the PodDisruptionBudgets of pods that are evicted or removed, sorted
	// by namespace and name.
	Budgets []Budget `json:"disruptionBudgets"`
	// Unschedulable are pods that keep running, but could no longer be scheduled
	// on their node, by workload and reason. They include pods of DaemonSets that
	// stay under a new taint.
	Unschedulable []Unschedulable `json:"unschedulable"`
	// Stranded are pods without a node that never get one because of the change, by workload
	// and RuntimeClass.
	Stranded []Stranded `json:"stranded"`
	// DaemonPods are pods of DaemonSets that start or are removed because the
	// labels or taints of their node change.
	DaemonPods []DaemonPods `json:"daemonPods"`
	// RuntimeClasses are those that are deleted or replaced while pods or
	// workloads name them, sorted by name.
	RuntimeClasses []RuntimeClassUse `json:"runtimeClasses"`
	// Overlaps are nodes in several pools on which pods of none of these pools'
	// RuntimeClasses can run. They could before, or the node was in fewer pools.
	Overlaps []Overlap `json:"overlaps"`
}

// Workload names what creates pods; its kind is Pod for a pod that nothing recreates.
type Workload struct {
	// Group is the API group of a kind that is not of Kubernetes itself.
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Pod is a pod of a workload, and its node.
type Pod struct {
	Name string `json:"name"`
	Node string `json:"node"`
}

// Eviction is what a NoExecute taint does to pods of one workload.
type Eviction struct {
	Workload Workload `json:"workload"`
	// Taints that are new and not tolerated for good, as kubectl taint writes
	// them, sorted.
	Taints []string `json:"taints"`
	// AfterSeconds is how long the pods stay, by their tolerationSeconds; 0 is at
	// once.
	AfterSeconds int64 `json:"afterSeconds"`
	// Pods, sorted by name and node.
	Pods []Pod `json:"pods"`
	// Drain is how the pods are drained before the taints come; absent where the taints
	// delete them.
	Drain *Drain `json:"drain,omitempty"`
	// AfterDrain reports that these pods are left to the taints, which come when others
	// have been drained. They are of DaemonSets, have finished, or tolerate the taints for
	// some time.
	AfterDrain bool `json:"afterDrain,omitempty"`
	// Finished reports that these pods have finished already. The taint deletes
	// them as it does others; nothing that runs is lost.
	Finished bool `json:"finished,omitempty"`
	// NotRecreated reports that nothing recreates these running pods: they have no
	// controller, or their DaemonSet is gone.
	NotRecreated bool `json:"notRecreated"`
	// NoFeasibleNode reports that no node accepts the workload's next pod afterwards, by
	// labels and taints. Where nothing creates a next pod, it is false.
	NoFeasibleNode bool `json:"noFeasibleNode"`
}

// Drain is how pods are evicted before the taints come: by the Eviction API, as
// PodDisruptionBudgets allow.
type Drain struct {
	// TimeoutSeconds is how long after its begin the drain is overdue.
	TimeoutSeconds int64 `json:"timeoutSeconds"`
	// OnTimeout is what happens then to pods that are still there: with Hold, the taints
	// go on waiting for them; with Force, the taints delete them.
	OnTimeout string `json:"onTimeout"`
	// Obstructed reports that none of the pods is evicted, as a NoSchedule taint of the
	// same key, of somebody else or of a stronger pool, has another value, and would let
	// them come again. With Hold the taints wait until that is gone.
	Obstructed bool `json:"obstructed,omitempty"`
	// ComesAgain reports that the next pods may come to the same nodes, as they tolerate the
	// NoSchedule taints that keep others off meanwhile. These are left alone for five minutes each.
	ComesAgain bool `json:"comesAgain,omitempty"`
}

// Drained reports whether the pods go only as PodDisruptionBudgets allow.
func (e *Eviction) Drained() bool { return e.Drain.asks() }

// Budget is a PodDisruptionBudget and what is lost of its pods.
type Budget struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Allowed is how many disruptions it allows, Lost how many of its healthy pods
	// are deleted.
	Allowed int `json:"allowed"`
	Lost    int `json:"lost"`
	// Unhealthy is how many others of its pods are deleted, which it does not count.
	Unhealthy int `json:"unhealthy"`
	// Drained is how many of the lost ones are drained, which it can keep from going.
	Drained int `json:"drained"`
	// Exceeded reports that more are deleted than it allows, besides those that are
	// drained.
	Exceeded bool `json:"exceeded"`
	// Waiting are the pods whose drain waits for this budget, which allows none now; sorted
	// by name and node. A pod that is not ready counts as budgets treat it by default.
	Waiting []Pod `json:"waiting"`
	// Undrainable are the pods whose drain cannot end: another budget selects them, too,
	// and the Eviction API evicts no such pod. Sorted by name and node.
	Undrainable []Pod `json:"undrainable"`
	// Forced is how many of those that wait and those that are undrainable the taints
	// delete all the same, after the timeout of their drain.
	Forced int `json:"forced"`
}

// Blocks reports whether a drain waits for the budget.
func (b *Budget) Blocks() bool { return len(b.Waiting)+len(b.Undrainable) > 0 }

// Unschedulable are pods of one workload that run where they could no longer be
// scheduled.
type Unschedulable struct {
	Workload Workload `json:"workload"`
	// Reason says why, such as "does not tolerate gpu=yes:NoSchedule" or "the node
	// has no label disk=ssd".
	Reason Reason `json:"reason"`
	// Pods, sorted by name and node.
	Pods []Pod `json:"pods"`
	// NoFeasibleNode reports that no node accepts the workload's next pod afterwards, by
	// labels and taints. Where nothing creates a next pod, it is false.
	NoFeasibleNode bool `json:"noFeasibleNode"`
}

// Stranded are pods of one workload that have no node, and never get one: they were created
// with what their RuntimeClass said before the change, and no node takes that any more.
type Stranded struct {
	Workload     Workload `json:"workload"`
	RuntimeClass string   `json:"runtimeClass"`
	// Pods are their names, sorted.
	Pods []string `json:"pods"`
	// NotRecreated reports that nothing recreates these pods: they have no controller.
	NotRecreated bool `json:"notRecreated"`
	// NoFeasibleNode reports that no node accepts the workload's next pod afterwards either,
	// by labels and taints. Where nothing creates a next pod, it is false.
	NoFeasibleNode bool `json:"noFeasibleNode"`
	// Remedy is the command that has the pods recreated, or the first of many, once the
	// change is carried out. It is empty where the next pod is refused, and where there is
	// none.
	Remedy string `json:"remedy"`
}

// DaemonPods are the changes of the pods of one DaemonSet.
type DaemonPods struct {
	Workload Workload `json:"workload"`
	// Removed are the pods that are deleted because their node no longer matches, or
	// has a NoExecute taint that their template does not tolerate, sorted by name and
	// node. Those that such a taint evicts are among the evictions instead.
	Removed []Pod `json:"removed"`
	// Started are the nodes on which a pod of it starts, sorted.
	Started []string `json:"started"`
}

// RuntimeClassUse is a RuntimeClass that is deleted or replaced, and what names it.
type RuntimeClassUse struct {
	Name string `json:"name"`
	// Action is delete or replace.
	Action string `json:"action"`
	// Pods is how many pods name it, except those that have finished or are being
	// deleted. They keep running.
	Pods int `json:"pods"`
	// Users are these pods, sorted by name and node.
	Users []Pod `json:"users"`
	// Workloads that name it, sorted. Their next pods are refused: for good where
	// it is deleted, until it is created again where it is replaced.
	Workloads []Workload `json:"workloads"`
}

// Overlap is a set of pools that shut each other's pods out.
type Overlap struct {
	// Pools, sorted.
	Pools []string `json:"pools"`
	// Nodes that are in all of them, sorted.
	Nodes []string `json:"nodes"`
	// Reason says for each pool, up to three, which taint of which other its pods do
	// not tolerate, or which label they do not find.
	Reason Reason `json:"reason"`
}

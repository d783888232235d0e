package plan

import (
	"cmp"
	"maps"
	"slices"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// After returns the pools as they stand after the changes, sorted by name.
func (p *PoolsPlan) After(live []*v1.NodePool) []*v1.NodePool {
	return poolsAfter(p.Changes, live)
}

func poolsAfter(changes []PoolChange, live []*v1.NodePool) []*v1.NodePool {
	byName := make(map[string]*v1.NodePool, len(live))
	for _, pool := range live {
		byName[pool.Name] = pool
	}
	for _, change := range changes {
		if after := change.After(); after != nil {
			byName[change.Name] = after
		} else {
			delete(byName, change.Name)
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *v1.NodePool) int { return cmp.Compare(a.Name, b.Name) })
}

// After returns the pool as it stands after the change; nil when it is gone. One
// that is deleted and not gone yet has a time of deletion, whatever that is. Its
// spec is the wanted one. Of its labels, annotations and finalizers those stay that
// others have put there, a pause for one.
func (c PoolChange) After() *v1.NodePool {
	switch {
	case c.after != nil:
		return c.after
	case c.Want == nil:
		return nil
	case c.Live == nil:
		after := c.Want.DeepCopy()
		after.Generation = 1
		noteApplied(after, after)
		return after
	}
	after, want := c.Live.DeepCopy(), c.Want.DeepCopy()
	after.Spec = want.Spec
	if !equality.Semantic.DeepEqual(c.Live.Spec, want.Spec) {
		after.Generation++ // as the API server has it
	}
	for _, finalizer := range want.Finalizers {
		if !slices.Contains(after.Finalizers, finalizer) {
			after.Finalizers = append(after.Finalizers, finalizer)
		}
	}
	others := &owners{object: c.Live}
	labels, annotations := dropped(c.Live, want)
	after.Labels = overlay(after.Labels, want.Labels, labels, func(key string) bool { return others.alsoSet(labelPath(key)) })
	after.Annotations = overlay(after.Annotations, want.Annotations, annotations, func(key string) bool { return others.alsoSet(annotationPath(key)) })
	noteApplied(after, want)
	return after
}

// rememberAfter has [PoolChange.After] work out only once what an apply leaves, which takes
// reading the managed fields. The pool that it returns is shared from then on.
func (c *PoolChange) rememberAfter() {
	c.after = nil
	c.after = c.After()
}

// noteApplied writes into the managed fields what our apply of a pool owns of its
// labels and annotations, as the API server does: a later plan goes by it.
func noteApplied(pool, want *v1.NodePool) {
	owned := fieldpath.NewSet()
	for key := range want.Labels {
		owned.Insert(labelPath(key))
	}
	for key := range want.Annotations {
		owned.Insert(annotationPath(key))
	}
	pool.ManagedFields = slices.DeleteFunc(pool.ManagedFields, isOurApply)
	text, err := owned.ToJSON()
	if err != nil || owned.Empty() {
		return // a set of names always has a text
	}
	pool.ManagedFields = append(pool.ManagedFields, metav1.ManagedFieldsEntry{
		Manager: v1.FieldManager, Operation: metav1.ManagedFieldsOperationApply,
		APIVersion: v1.GroupVersion.String(), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(text)),
	})
}

// overlay is what an apply makes of a map: what it wants goes over what stands
// there, and what it drops goes, unless somebody else has set it too.
func overlay(live, want map[string]string, dropped []string, coOwned func(string) bool) map[string]string {
	after := make(map[string]string, len(live)+len(want))
	maps.Copy(after, live)
	for _, key := range dropped {
		if !coOwned(key) {
			delete(after, key)
		}
	}
	maps.Copy(after, want)
	return after
}

// After returns the cluster as it stands once the difference is carried out. What
// it shares with the cluster that it is given is not changed.
func (d *Difference) After(cluster Cluster) Cluster {
	return Cluster{
		Pools:          dated(d.noted(poolsAfter(d.PoolChanges, cluster.Pools))),
		Numbers:        d.numbers,
		RuntimeClasses: d.runtimeClassesAfter(cluster.RuntimeClasses),
		Nodes:          d.nodesAfter(cluster.Nodes),
		Unready:        cluster.Unready,
	}
}

// noted are pools with what is accepted of them.
func (d *Difference) noted(pools []*v1.NodePool) []*v1.NodePool {
	settled := byName(d.settled)
	for i, pool := range pools {
		if is := settled[pool.Name]; is != nil && is.Generation == pool.Generation {
			pools[i] = pool.DeepCopy()
			pools[i].Status.Accepted, pools[i].Status.Conditions = is.Status.Accepted, is.Status.Conditions
		}
	}
	return pools
}

// dated gives the pools that were created a time of creation. To whoever plans next
// they are there: older than what it creates itself, and younger than all before
// them.
func dated(pools []*v1.NodePool) []*v1.NodePool {
	created := metav1.Unix(farFuture, 0)
	for _, pool := range pools {
		if latest := pool.CreationTimestamp; !latest.Before(&created) {
			created = metav1.Unix(latest.Unix()+1, 0)
		}
	}
	for i, pool := range pools {
		if pool.CreationTimestamp.IsZero() {
			pools[i] = pool.DeepCopy()
			pools[i].CreationTimestamp = created
		}
	}
	return pools
}

// keepAges gives pools that an earlier round has created the time that they had then,
// and remembers those of this round, which are younger.
func keepAges(pools []*v1.NodePool, created map[string]metav1.Time) {
	var latest metav1.Time
	for _, at := range created {
		if at.After(latest.Time) {
			latest = at
		}
	}
	for i, pool := range pools {
		if pool.CreationTimestamp.Unix() < farFuture {
			continue
		}
		at, known := created[pool.Name]
		switch {
		case !known && latest.Before(&pool.CreationTimestamp):
			at = pool.CreationTimestamp
		case !known:
			at = metav1.Unix(latest.Unix()+1, 0)
		}
		created[pool.Name] = at
		pools[i] = pool.DeepCopy()
		pools[i].CreationTimestamp = at
	}
}

// farFuture is a second of the year 9999. It is later than every pool's.
const farFuture = 253370764800

func (d *Difference) runtimeClassesAfter(live []*nodev1.RuntimeClass) []*nodev1.RuntimeClass {
	byName := make(map[string]*nodev1.RuntimeClass, len(live))
	for _, class := range live {
		byName[class.Name] = class
	}
	for _, change := range d.RuntimeClasses {
		if after := change.After(); after != nil {
			byName[change.Name()] = after
		} else {
			delete(byName, change.Name())
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *nodev1.RuntimeClass) int { return cmp.Compare(a.Name, b.Name) })
}

// After returns the RuntimeClass as it stands after the change; nil when it is
// gone. What others have set on one that is updated stays.
func (c RuntimeClassChange) After() *nodev1.RuntimeClass {
	switch c.Action {
	case Delete:
		return nil
	case Update:
		after := c.Live.DeepCopy()
		after.Scheduling = c.Want.Scheduling.DeepCopy()
		return after
	default:
		return c.Want.DeepCopy()
	}
}

func (d *Difference) nodesAfter(live []*NodeState) []*NodeState {
	plans := make(map[string]*NodePlan, len(d.Nodes))
	for _, node := range d.Nodes {
		plans[node.Name] = node.NodePlan
	}
	after := make([]*NodeState, 0, len(live))
	for _, node := range live {
		if p := plans[node.Name]; p != nil && !p.NoOp() {
			node = p.After(node)
		}
		after = append(after, node)
	}
	return after
}

// After returns the node as it stands once the plan is carried out on it. It shares
// with the given node what does not change.
func (p *NodePlan) After(node *NodeState) *NodeState {
	after := *node
	after.Labels = p.labelsAfter(node.Labels)
	after.Annotations = maps.Clone(node.Annotations)
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	for key, value := range p.annotations.changed {
		if value == nil {
			delete(after.Annotations, key)
		} else {
			after.Annotations[key] = *value
		}
	}
	if record := p.Record.String(); record != "" {
		after.Annotations[v1.AppliedAnnotation] = record
	} else {
		delete(after.Annotations, v1.AppliedAnnotation)
	}
	if len(p.taints.changed) > 0 {
		after.Taints = p.taintList(node.Taints)
	}
	return &after
}

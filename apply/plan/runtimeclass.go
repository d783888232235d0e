package plan

import (
	"fmt"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// RuntimeClassChange is what is to happen to the RuntimeClass of a pool.
type RuntimeClassChange struct {
	Action Action
	// Live is what stands in the cluster; nil for Create.
	Live *nodev1.RuntimeClass
	// Want is what shall stand there, with the pool as its owner. What is created
	// in place of another has what others had set on that one.
	Want *nodev1.RuntimeClass
	// Replaced is for the status of the pool, from before the old RuntimeClass is
	// deleted until the new one is there: a crash in between then loses nothing of
	// it. Nil where others have set nothing.
	Replaced *v1.ReplacedRuntimeClass
}

// Name of the RuntimeClass.
func (c RuntimeClassChange) Name() string {
	if c.Want != nil {
		return c.Want.Name
	}
	return c.Live.Name
}

// ForeignError says that an object which a pool needs exists and belongs to
// somebody else.
type ForeignError struct {
	Kind, Name string
	Pool       string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %q exists and is not owned by pool %q", e.Kind, e.Name, e.Pool)
}

// RuntimeClass plans the RuntimeClass of a pool. The handler of a RuntimeClass
// is immutable, so a new one replaces it. A RuntimeClass of that name which the
// pool does not own gives a [*ForeignError]; one that is on its way out gives an
// error, too.
func RuntimeClass(live, want *nodev1.RuntimeClass, pool *v1.NodePool) (RuntimeClassChange, error) {
	want = want.DeepCopy()
	want.OwnerReferences = []metav1.OwnerReference{OwnerReference(pool)}
	change := RuntimeClassChange{Live: live, Want: want}
	switch {
	case live == nil:
		change.Action = Create
		inherit(want, pool.Status.ReplacedRuntimeClass)
	case !ownedBy(live, pool):
		return RuntimeClassChange{}, &ForeignError{Kind: "RuntimeClass", Name: live.Name, Pool: pool.Name}
	case !live.DeletionTimestamp.IsZero():
		return RuntimeClassChange{}, fmt.Errorf("RuntimeClass %q is being deleted and has finalizers; it is made anew when it is gone", live.Name)
	case live.Handler != want.Handler:
		change.Action = Replace
		change.Replaced = inheritanceOf(live)
		inherit(want, change.Replaced)
	case !equality.Semantic.DeepEqual(live.Scheduling, want.Scheduling):
		change.Action = Update
	}
	return change, nil
}

// unwantedClass deletes the RuntimeClass that a pool has from before it became a rollout
// policy; nil where there is nothing to delete.
func unwantedClass(live *nodev1.RuntimeClass, pool *v1.NodePool) *RuntimeClassChange {
	if live == nil || !ownedBy(live, pool) || !live.DeletionTimestamp.IsZero() {
		return nil
	}
	return &RuntimeClassChange{Action: Delete, Live: live}
}

func ownedBy(class *nodev1.RuntimeClass, pool *v1.NodePool) bool {
	return metav1.IsControlledBy(class, pool)
}

// OwnerReference is that by which a RuntimeClass is a pool's. It makes the garbage
// collector delete the RuntimeClass with its pool. It does not block the pool's
// deletion: that would demand a permission on the finalizers of pools that nothing
// else needs.
func OwnerReference(pool *v1.NodePool) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1.GroupVersion.String(),
		Kind:       v1.NodePoolKind,
		Name:       pool.Name,
		UID:        pool.UID,
		Controller: ptr.To(true),
	}
}

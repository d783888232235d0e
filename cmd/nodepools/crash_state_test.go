package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// state is all that a controller has to do with in a cluster, by name, without
// what tells when or how often something was written: identities, versions,
// generations, times, and the managed fields, which say by which kinds of requests
// a value came about. Everything else is in it: spec, labels, annotations with the
// record of each node, finalizers, owners, status.
type state struct {
	Nodes   map[string]*corev1.Node
	Pools   map[string]*v1.NodePool
	Sources map[string]*v1.NodePoolSource
	Classes map[string]*nodev1.RuntimeClass
}

// settled reads the state of a cluster in which nothing is left to be done for a
// revision. The error says what is.
func settled(world *story, revision string) (*state, error) {
	s, err := world.read()
	if err != nil {
		return nil, err
	}
	src := s.Sources["pools"]
	if src.Status.Revision != revision || src.Status.LastAttemptedRevision != revision {
		return nil, fmt.Errorf("the source is at %s, and looked at %s: %s", src.Status.Revision, src.Status.LastAttemptedRevision, reported(src.Status.Conditions))
	}
	if !meta.IsStatusConditionTrue(src.Status.Conditions, v1.ReadyCondition) {
		return nil, fmt.Errorf("the source is not ready: %s", reported(src.Status.Conditions))
	}
	var pools []*v1.NodePool
	for name, pool := range s.Pools {
		pools = append(pools, pool)
		if !pool.DeletionTimestamp.IsZero() {
			return nil, fmt.Errorf("pool %s is being deleted", name)
		}
		if pool.Status.ObservedGeneration != pool.Generation || meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ReconcilingCondition) {
			return nil, fmt.Errorf("pool %s: generation %d of %d observed: %s", name, pool.Status.ObservedGeneration, pool.Generation, reported(pool.Status.Conditions))
		}
		if !slices.Contains(pool.Finalizers, v1.ReleaseFinalizer) {
			return nil, fmt.Errorf("pool %s can go before its nodes are released", name)
		}
		if s.Classes[v1.RuntimeClassName(name)] == nil {
			return nil, fmt.Errorf("pool %s has no RuntimeClass", name)
		}
	}
	if len(s.Classes) != len(s.Pools) {
		return nil, fmt.Errorf("%d pools and %d RuntimeClasses", len(s.Pools), len(s.Classes))
	}
	expansion := render.Expand(pools)
	for name, node := range s.Nodes {
		if p, err := plan.Node(plan.StateOf(node), expansion); err != nil || !p.NoOp() {
			return nil, errors.Join(err, fmt.Errorf("there is something to write to node %s", name))
		}
	}
	s.timeless()
	return s, nil
}

func reported(conditions []metav1.Condition) string {
	ready := meta.FindStatusCondition(conditions, v1.ReadyCondition)
	if ready == nil {
		return "nothing is reported"
	}
	return ready.Reason + ": " + ready.Message
}

// read reads everything as it is.
func (s *story) read() (*state, error) {
	var (
		nodes   corev1.NodeList
		pools   v1.NodePoolList
		sources v1.NodePoolSourceList
		classes nodev1.RuntimeClassList
	)
	for _, list := range []client.ObjectList{&nodes, &pools, &sources, &classes} {
		if err := s.List(s.t.Context(), list); err != nil {
			return nil, err
		}
	}
	return &state{
		Nodes: byName(nodes.Items), Pools: byName(pools.Items), Sources: byName(sources.Items), Classes: byName(classes.Items),
	}, nil
}

func byName[T any, P interface {
	*T
	client.Object
}](items []T) map[string]P {
	named := make(map[string]P, len(items))
	for i := range items {
		object := P(&items[i])
		named[object.GetName()] = object
	}
	return named
}

// timeless takes out what state leaves out. The order of taints is that in which
// they came, so it differs where a change was never seen.
func (s *state) timeless() {
	for _, node := range s.Nodes {
		forgetTime(node)
		slices.SortFunc(node.Spec.Taints, func(a, b corev1.Taint) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect))
		})
	}
	for _, pool := range s.Pools {
		forgetTime(pool)
		// The UID of the source is another one in each world, and a revision that was cut
		// short has its number for nothing: what counts is the hash.
		delete(pool.Annotations, v1.SourceUIDAnnotation)
		number := strings.Split(pool.Annotations[v1.RevisionNumberAnnotation], "/")
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.RevisionNumberAnnotation, number[len(number)-1])
		pool.Status.ObservedGeneration = 0
		if accepted := pool.Status.Accepted; accepted != nil {
			accepted.Generation = 0
		}
		forgetTimes(pool.Status.Conditions)
	}
	for _, src := range s.Sources {
		forgetTime(src)
		src.Status.ObservedGeneration, src.Status.Number = 0, 0
		forgetTimes(src.Status.Conditions)
	}
	for _, class := range s.Classes {
		forgetTime(class)
		for i := range class.OwnerReferences {
			class.OwnerReferences[i].UID = ""
		}
	}
}

func forgetTime(object client.Object) {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetGeneration(0)
	object.SetCreationTimestamp(metav1.Time{})
	object.SetManagedFields(nil)
}

// forgetTimes keeps of each condition what it says.
func forgetTimes(conditions []metav1.Condition) {
	for i := range conditions {
		conditions[i].ObservedGeneration, conditions[i].LastTransitionTime = 0, metav1.Time{}
	}
	slices.SortFunc(conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
}

// released reports what is wrong with a cluster in which there are no pools any
// more. Its nodes have to be what they would be if there had never been one, to
// the last field and in order: all of metadata but what forgetTime leaves out, all
// of spec and of status.
func (s *script) released(world *story) error {
	left, err := world.read()
	if err != nil {
		return err
	}
	if len(left.Pools) > 0 || len(left.Classes) > 0 {
		return fmt.Errorf("%d pools and %d RuntimeClasses are left", len(left.Pools), len(left.Classes))
	}
	want := map[string]*corev1.Node{}
	for name, node := range s.nodes {
		want[name] = node.DeepCopy()
		forgetTime(want[name])
		// Adopted means for good.
		delete(want[name].Labels, "owner")
		want[name].Spec.Taints = slices.DeleteFunc(want[name].Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == "owner" })
	}
	for _, node := range left.Nodes {
		if err := stillOwned(node); err != nil {
			return err
		}
		forgetTime(node)
	}
	if diff := gocmp.Diff(want, left.Nodes); diff != "" {
		return fmt.Errorf("nodes (-without pools +released):\n%s", diff)
	}
	return nil
}

// held reports a pool that is gone while a node still carries something of it.
func (s *story) held() error {
	live, err := s.read()
	if err != nil {
		return err
	}
	for name, node := range live.Nodes {
		record, err := plan.ParseRecord(node.Annotations[v1.AppliedAnnotation])
		if err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		for pool := range record.Pools() {
			if live.Pools[pool] == nil {
				return fmt.Errorf("pool %s is gone, and node %s is not released: %s", pool, name, record)
			}
		}
	}
	return nil
}

// stillOwned reports what of a node the API server still takes for ours. No apply may be
// left, as a later one would take away what it names. Whoever writes last is named
// as the one who did: so we stay named for the list of taints as others have it,
// and for the values that were given back.
func stillOwned(node *corev1.Node) error {
	mayStay := fieldpath.NewSet(
		fieldpath.MakePathOrDie("spec", "taints"),
		fieldpath.MakePathOrDie("metadata", "labels", "site"),
		fieldpath.MakePathOrDie("metadata", "annotations", "site"),
	)
	for _, entry := range node.ManagedFields {
		if entry.Manager != v1.FieldManager {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return err
		}
		if beyond := set.Leaves().Difference(mayStay); entry.Operation == metav1.ManagedFieldsOperationApply || !beyond.Empty() {
			return fmt.Errorf("node %s: by an %s we still own %s", node.Name, entry.Operation, set)
		}
	}
	return nil
}

// head is the commit at which the repository stands.
func (s *story) head() string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "git", "-C", s.repository, "rev-parse", "HEAD").Output()
	s.do(err)
	return strings.TrimSpace(string(out))
}

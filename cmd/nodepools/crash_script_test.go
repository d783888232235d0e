package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What is under these domains belongs to the pools, and to others.
const (
	ours   = "pool.example.com/"
	theirs = "theirs.example.com/"
)

// script is what happens to two clusters, the same to both: pools change in one
// Git repository, pools are made by hand, nodes come and go, and others write to
// the nodes. It follows from the seed of random alone.
//
// Where it all ends must not depend on which of the changes a controller has
// seen. So nobody but the controller writes to what the pools want, between two
// points of rest; no two pools have the same priority; what stands on a node
// already is taken over, or adopted, by one pool only, and the one that adopts
// stays to the end; what others put on a RuntimeClass is put on that of a pool
// which stays.
type script struct {
	t      *testing.T
	random *rand.Rand
	// worlds are the clusters, that of the controller which is killed first.
	worlds []*story
	// published is what is in Git, standing what is made by hand, by name.
	published, standing map[string]*v1.NodePoolSpec
	revision            string
	byGate              bool // whether Git is read through the gate, see move
	// nodes are what they would be if there were no pools, classes what others
	// have put on RuntimeClasses.
	nodes   map[string]*corev1.Node
	classes map[string]map[string]string
	born    int // how many nodes were made, for their names
	round   int
	// foreign counts the changes of others.
	foreign int
}

var (
	// stayingPools are in Git to the end, sparePools come and go, handPools are
	// made with kubectl.
	stayingPools = []string{"adopt", "base", "edge", "gpu", "take"}
	sparePools   = []string{"spare-0", "spare-1", "spare-2"}
	handPools    = []string{"hand-0", "hand-1"}

	handlers = []string{"runc", "gvisor", "kata"}
	effects  = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
)

// pick returns one of the choices.
func pick[T any](random *rand.Rand, choices []T) T { return choices[random.IntN(len(choices))] }

func (s *script) chance(percent int) bool { return s.random.IntN(100) < percent }

// everywhere does the same in each cluster.
func (s *script) everywhere(act func(*story)) {
	for _, world := range s.worlds {
		act(world)
	}
}

// spec draws what a pool wants. Its members are always chosen in the same way.
func (s *script) spec(name string) *v1.NodePoolSpec {
	spec := &v1.NodePoolSpec{Labels: map[string]v1.LabelValue{}, Annotations: map[string]v1.AnnotationValue{}, Handler: pick(s.random, handlers)}
	everyNode := &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: corev1.LabelHostname, Operator: metav1.LabelSelectorOpExists}}}
	value := func() string { return fmt.Sprintf("v%d", s.random.IntN(5)) }
	switch name {
	case "adopt":
		spec.Selector, spec.ConflictPolicy = everyNode, v1.Adopt
		spec.Labels["owner"] = v1.LabelValue("adopted-" + value())
		spec.Taints = append(spec.Taints, v1.Taint{Key: "owner", Value: value(), Effect: corev1.TaintEffectNoSchedule})
		return spec
	case "take":
		spec.Selector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: "site", Operator: metav1.LabelSelectorOpExists}}}
		spec.ConflictPolicy = v1.TakeOver
		if s.chance(70) {
			spec.Labels["site"] = v1.LabelValue("taken-" + value())
		}
		if s.chance(70) {
			spec.Annotations["site"] = v1.AnnotationValue("taken-" + value())
		}
		if s.chance(70) {
			spec.Taints = append(spec.Taints, v1.Taint{Key: "dedicated", Value: "taken-" + value(), Effect: corev1.TaintEffectNoSchedule})
		}
		return spec
	case "base":
		spec.Selector = everyNode
		if s.chance(70) {
			spec.Labels["zone"] = v1.LabelValue(pick(s.random, []string{"a", "b"})) // some nodes have a
		}
	case "edge":
		spec.NodeNames = []string{fmt.Sprintf("n[0-%d]*", s.random.IntN(10)), "n*[13579]"}[:1+s.random.IntN(2)]
		spec.Parent = pick(s.random, []string{"", "base", "gpu"})
	case "gpu", "spare-0", "hand-0": // by the role label
		spec.Parent = pick(s.random, []string{"", "base"})
	case "spare-1":
		spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"zone": "a"}}
	case "spare-2", "hand-1":
		spec.NodeNames = []string{fmt.Sprintf("n*[%d-9]", s.random.IntN(9))}
		spec.Parent = "base"
	}
	for i := range 4 {
		if s.chance(40) {
			spec.Labels[fmt.Sprintf("%sl%d", ours, i)] = v1.LabelValue(value())
		}
	}
	for i := range 3 {
		if s.chance(40) {
			spec.Annotations[fmt.Sprintf("%sa%d", ours, i)] = v1.AnnotationValue(value())
		}
		if s.chance(30) {
			spec.Taints = append(spec.Taints, v1.Taint{Key: fmt.Sprintf("%st%d", ours, i), Value: value(), Effect: pick(s.random, effects)})
		}
	}
	return spec
}

// prioritize gives every pool a priority of its own.
func (s *script) prioritize() {
	names := slices.Concat(stayingPools, sparePools, handPools)
	order := s.random.Perm(len(names))
	for i, name := range names {
		for _, pools := range []map[string]*v1.NodePoolSpec{s.published, s.standing} {
			if spec := pools[name]; spec != nil {
				spec.Priority = int32(order[i])
			}
		}
	}
}

// publish commits what is in Git.
func (s *script) publish() {
	s.t.Helper()
	home := s.worlds[0]
	home.git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
	files := map[string]string{}
	for name, spec := range s.published {
		data, err := yaml.Marshal(map[string]any{
			"apiVersion": v1.GroupVersion.String(), "kind": v1.NodePoolKind, "metadata": map[string]any{"name": name}, "spec": spec,
		})
		home.do(err)
		files[name+".yaml"] = string(data)
	}
	home.git("commit", "--quiet", "--allow-empty", "--message", "empty")
	home.commit(files)
	s.revision = "main@sha1:" + home.head()
}

// makeByHand brings the pools that are made with kubectl to what they should be.
func (s *script) makeByHand() {
	s.t.Helper()
	for _, name := range handPools {
		want := s.standing[name]
		s.everywhere(func(world *story) {
			world.until("pool "+name+" can be made", func() error {
				live := &v1.NodePool{}
				err := world.Get(s.t.Context(), client.ObjectKey{Name: name}, live)
				switch {
				case apierrors.IsNotFound(err) && want == nil:
					return nil
				case apierrors.IsNotFound(err):
					return world.Create(s.t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *want.DeepCopy()})
				case err != nil:
					return err
				case want == nil:
					return world.Delete(s.t.Context(), live)
				case !live.DeletionTimestamp.IsZero() && s.anyPaused():
					return nil // it waits for that node, and is made when the round ends
				case !live.DeletionTimestamp.IsZero():
					return fmt.Errorf("it is being deleted")
				}
				live.Spec = *want.DeepCopy()
				return world.Update(s.t.Context(), live)
			})
		})
	}
}

// anyPaused reports whether a node is paused, which holds a deleted pool.
func (s *script) anyPaused() bool {
	for _, node := range s.nodes {
		if _, paused := node.Annotations[v1.ReconcileAnnotation]; paused {
			return true
		}
	}
	return false
}

// rest ends a round: nobody is paused any more, and every pool changes once more,
// so that what is written down of each comes from this round.
func (s *script) rest() {
	s.t.Helper()
	s.round++
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if _, paused := s.nodes[name].Annotations[v1.ReconcileAnnotation]; paused {
			s.onNode(name, func(node *corev1.Node) { delete(node.Annotations, v1.ReconcileAnnotation) })
		}
	}
	for _, pools := range []map[string]*v1.NodePoolSpec{s.published, s.standing} {
		for name, spec := range pools {
			spec.Labels[ours+name] = v1.LabelValue(fmt.Sprintf("round-%d", s.round))
		}
	}
	s.makeByHand()
	s.publish()
}

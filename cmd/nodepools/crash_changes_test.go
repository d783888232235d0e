package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// changes are what a script is made of. Each returns the kinds of writes to which
// it leads.
func (s *script) changes() []func() []string {
	return []func() []string{
		s.redraw, s.redraw, s.redraw, s.handle, s.handle, s.comeOrGo, s.comeOrGo, s.reorder, s.deletePool, s.meddle,
		s.join, s.leave, s.othersOnNodes, s.othersOnNodes, s.role, s.pause,
	}
}

// liveChanges are those which may have to wait for a controller.
func (s *script) liveChanges() []func() []string {
	return append(s.changes(), s.byHand, s.byHand)
}

// redraw changes a pool in Git from the ground up.
func (s *script) redraw() []string {
	name := pick(s.random, slices.Sorted(maps.Keys(s.published)))
	before := s.published[name]
	s.published[name] = s.spec(name)
	s.published[name].Priority, s.published[name].Handler = before.Priority, before.Handler
	s.publish()
	return []string{"PATCH nodes", "PATCH nodepools", "dry-run PATCH nodepools", "PATCH runtimeclasses", "PATCH nodepools/status"}
}

// handle changes nothing but a handler, so that a RuntimeClass is replaced.
func (s *script) handle() []string {
	spec := s.published[pick(s.random, classPools)]
	spec.Handler = pick(s.random, slices.DeleteFunc(slices.Clone(handlers), func(handler string) bool { return handler == spec.Handler }))
	s.publish()
	return []string{"DELETE runtimeclasses", "DELETE runtimeclasses", "POST runtimeclasses"}
}

// comeOrGo puts a pool into Git, or takes it out.
func (s *script) comeOrGo() []string {
	name := pick(s.random, sparePools)
	if s.published[name] != nil {
		delete(s.published, name)
		s.publish()
		return []string{"DELETE nodepools", "PATCH nodes", "PATCH nodepools"}
	}
	s.published[name] = s.spec(name)
	s.prioritize()
	s.makeByHand()
	s.publish()
	return []string{"PATCH nodepools", "POST runtimeclasses", "PATCH nodes"}
}

// reorder gives all pools other priorities.
func (s *script) reorder() []string {
	s.prioritize()
	s.makeByHand()
	s.publish()
	return []string{"PATCH nodepools", "PATCH nodes"}
}

// byHand makes a pool with kubectl, or changes or deletes it.
func (s *script) byHand() []string {
	name := pick(s.random, handPools)
	if s.standing[name] != nil && s.chance(50) {
		delete(s.standing, name)
	} else {
		s.standing[name] = s.spec(name)
		s.prioritize()
		s.publish()
	}
	s.makeByHand()
	return []string{"PATCH nodepools", "PATCH nodes", "POST runtimeclasses"}
}

// deletePool deletes a pool that is in Git: it comes back.
func (s *script) deletePool() []string {
	name := pick(s.random, sparePools)
	if s.published[name] == nil {
		return s.comeOrGo()
	}
	s.everywhere(func(world *story) {
		world.do(client.IgnoreNotFound(world.Delete(s.t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	})
	return []string{"PATCH nodes", "PATCH nodepools", "POST runtimeclasses"}
}

// meddle changes a pool that is in Git: it is put back.
func (s *script) meddle() []string {
	name := pick(s.random, stayingPools)
	s.everywhere(func(world *story) {
		world.patch(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}, `{"spec":{"labels":{"`+ours+`meddled":"x"}}}`)
	})
	return []string{"PUT nodepools", "PUT nodepools", "PATCH nodes"}
}

// join makes a node, with what others have put there; where there are enough, one
// leaves instead.
func (s *script) join() []string {
	if len(s.nodes) >= mostCrashNodes {
		return s.leave()
	}
	i := s.born
	s.born++
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        fmt.Sprintf("n%d", i),
		Labels:      map[string]string{"rack": fmt.Sprint(i)},
		Annotations: map[string]string{"site": fmt.Sprintf("old-%d", i)},
	}}
	node.Labels[corev1.LabelHostname] = node.Name
	if i%4 != 3 {
		node.Labels["site"] = fmt.Sprintf("old-%d", i%3)
	}
	if i%2 == 0 {
		node.Labels["zone"] = "a"
		node.Labels["owner"] = "script"
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "dedicated", Value: "old", Effect: corev1.TaintEffectNoSchedule})
	}
	if i%3 == 0 {
		node.Labels[v1.RoleLabel("gpu")] = ""
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "owner", Value: "script", Effect: corev1.TaintEffectNoSchedule})
	}
	added := metav1.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: theirs + "born", Value: "with", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added})
	s.everywhere(func(world *story) {
		made := node.DeepCopy()
		world.do(world.Create(s.t.Context(), made))
		s.nodes[node.Name] = made
	})
	return []string{"PATCH nodes"}
}

// leave deletes a node.
func (s *script) leave() []string {
	name := pick(s.random, slices.Sorted(maps.Keys(s.nodes)))
	if len(s.nodes) < 4 {
		return s.join()
	}
	delete(s.nodes, name)
	s.everywhere(func(world *story) {
		world.do(world.Delete(s.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	})
	return []string{"PATCH nodepools/status"}
}

// othersOnNodes writes to some nodes as others do.
func (s *script) othersOnNodes() []string {
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if !s.chance(40) {
			continue
		}
		key, kind := fmt.Sprintf("%s%d", theirs, s.random.IntN(3)), s.random.IntN(4)
		effect, value := pick(s.random, effects), fmt.Sprint(s.random.IntN(5))
		added := metav1.Date(2021, 1, 1, 0, 0, s.random.IntN(60), 0, time.UTC)
		s.onNode(name, func(node *corev1.Node) {
			switch kind {
			case 0:
				node.Labels = turned(node.Labels, key, value)
			case 1:
				node.Annotations = turned(node.Annotations, key, value)
			case 2:
				node.Spec.Unschedulable = !node.Spec.Unschedulable
			default:
				taint := corev1.Taint{Key: key, Value: value, Effect: effect, TimeAdded: &added}
				others := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
				if len(others) == len(node.Spec.Taints) {
					others = append(others, taint)
				}
				node.Spec.Taints = others
			}
		})
	}
	return []string{"PATCH nodes"}
}

// turned has a key that was not there, or has not one that was.
func turned(values map[string]string, key, value string) map[string]string {
	values = maps.Clone(values)
	if values == nil {
		values = map[string]string{}
	}
	if _, there := values[key]; there {
		delete(values, key)
	} else {
		values[key] = value
	}
	return values
}

// role makes a node a member of a pool, or no member any more.
func (s *script) role() []string {
	key := v1.RoleLabel(pick(s.random, []string{"gpu", "spare-0", "hand-0"}))
	s.onNode(pick(s.random, slices.Sorted(maps.Keys(s.nodes))), func(node *corev1.Node) { node.Labels = turned(node.Labels, key, "") })
	return []string{"PATCH nodes", "PATCH nodepools/status"}
}

// pause has a node left alone, until the round ends or this comes again.
func (s *script) pause() []string {
	s.onNode(pick(s.random, slices.Sorted(maps.Keys(s.nodes))), func(node *corev1.Node) {
		node.Annotations = turned(node.Annotations, v1.ReconcileAnnotation, v1.Disabled)
	})
	return nil
}

// onNode changes a node as others do: in each cluster, however often somebody is
// faster, and in the mind. What they have put there before must be there still.
func (s *script) onNode(name string, change func(*corev1.Node)) {
	s.t.Helper()
	s.everywhere(func(world *story) {
		for {
			node := &corev1.Node{}
			world.do(world.Get(s.t.Context(), client.ObjectKey{Name: name}, node))
			if have, want := foreignPart(node), foreignPart(s.nodes[name]); !equality.Semantic.DeepEqual(have, want) {
				s.t.Fatalf("node %s has lost what others put there: it has %+v, want %+v", name, have, want)
			}
			change(node)
			if err := world.Update(s.t.Context(), node); !apierrors.IsConflict(err) {
				world.do(err)
				break
			}
		}
	})
	change(s.nodes[name])
	s.foreign++
}

// foreignPart is what others put on a node while the pools are there.
func foreignPart(node *corev1.Node) *corev1.Node {
	part := &corev1.Node{}
	part.Labels, part.Annotations, part.Spec = maps.Clone(node.Labels), maps.Clone(node.Annotations), *node.Spec.DeepCopy()
	isNotTheirs := func(key, _ string) bool { return !strings.HasPrefix(key, theirs) }
	maps.DeleteFunc(part.Labels, isNotTheirs)
	maps.DeleteFunc(part.Annotations, isNotTheirs)
	part.Spec.Taints = slices.DeleteFunc(part.Spec.Taints, func(taint corev1.Taint) bool { return !strings.HasPrefix(taint.Key, theirs) })
	return part
}

// classPools are those on whose RuntimeClass others put something.
var classPools = []string{"base", "gpu", "take"}

// onClass puts something on a RuntimeClass, or takes it off, as others do.
func (s *script) onClass(pool string) {
	key, name := theirs+fmt.Sprint(s.random.IntN(3)), v1.RuntimeClassName(pool)
	change := func(values map[string]string) map[string]string { return turned(values, key, "x") }
	s.everywhere(func(world *story) {
		world.until("RuntimeClass "+name+" takes a label and an annotation", func() error {
			class := &nodev1.RuntimeClass{}
			if err := world.Get(s.t.Context(), client.ObjectKey{Name: name}, class); err != nil {
				return err // it is being replaced
			}
			class.Labels, class.Annotations = change(class.Labels), change(class.Annotations)
			return world.Update(s.t.Context(), class)
		})
	})
	s.classes[name] = change(s.classes[name])
	s.foreign++
}

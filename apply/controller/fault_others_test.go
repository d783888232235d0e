package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// other is somebody else with keys of their own on one node. They know what they
// wrote last, and look each time whether it still stands there.
type other struct {
	client client.Client
	node   string
	turns  int
}

const (
	othersKey   = "example.com/other"
	othersTaint = "other"
)

// addTo adds the keys of the other as they were written last.
func (o *other) addTo(s *carried) {
	if o.turns == 0 {
		return
	}
	value := fmt.Sprint(o.turns)
	s.Labels[othersKey], s.Annotations[othersKey] = value, value
	if o.turns%3 != 0 {
		s.Taints = append(s.Taints, othersTaint+"="+value+":NoSchedule")
	}
}

// turn looks whether all is as it was left, and changes it: label and annotation
// as kubectl label does, then the taint as kubectl taint does.
func (o *other) turn(ctx context.Context) error {
	node := &corev1.Node{}
	if err := o.client.Get(ctx, client.ObjectKey{Name: o.node}, node); err != nil {
		return err
	}
	if err := o.lost(node); err != nil {
		return err
	}
	next := &other{turns: o.turns + 1}
	value := fmt.Sprint(next.turns)
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q},"annotations":{%q:%q}}}`, othersKey, value, othersKey, value)
	if err := o.client.Patch(ctx, node, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	for {
		taint := corev1.Taint{Key: othersTaint, Value: value, Effect: corev1.TaintEffectNoSchedule}
		before := node.DeepCopy()
		node.Spec.Taints = withTaint(node, taint, next.turns%3 != 0)
		err := o.client.Patch(ctx, node, client.StrategicMergeFrom(before, client.MergeFromWithOptimisticLock{}))
		if err == nil {
			o.turns = next.turns
			return nil
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		if err := o.client.Get(ctx, client.ObjectKey{Name: o.node}, node); err != nil {
			return err
		}
	}
}

// lost reports what somebody has changed of what the other has written.
func (o *other) lost(node *corev1.Node) error {
	want, have := carried{Labels: map[string]string{}, Annotations: map[string]string{}}, stateOf(node)
	o.addTo(&want)
	var errs []error
	if have.Labels[othersKey] != want.Labels[othersKey] || have.Annotations[othersKey] != want.Annotations[othersKey] {
		errs = append(errs, fmt.Errorf("label is %q and annotation %q, want %q", have.Labels[othersKey], have.Annotations[othersKey], want.Labels[othersKey]))
	}
	theirs := slices.DeleteFunc(have.Taints, func(taint string) bool { return !strings.HasPrefix(taint, othersTaint+"=") })
	if !slices.Equal(theirs, want.Taints) {
		errs = append(errs, fmt.Errorf("taints are %v, want %v", theirs, want.Taints))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("node %s, after %d turns of the other: %w", o.node, o.turns, errors.Join(errs...))
}

// everyoneTurns lets each of the others write once.
func (s *scene) everyoneTurns() {
	s.t.Helper()
	var turns sync.WaitGroup
	for _, each := range s.others {
		turns.Go(func() {
			if err := each.turn(s.t.Context()); err != nil {
				s.t.Error(err)
			}
		})
	}
	turns.Wait()
}

// turns is how often the others have written.
func (s *scene) turns() int {
	sum := 0
	for _, each := range s.others {
		sum += each.turns
	}
	return sum
}

// withTaint are the taints of a node with one of them put on or taken off.
func withTaint(node *corev1.Node, taint corev1.Taint, on bool) []corev1.Taint {
	taints := slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	if on {
		taints = append(taints, taint)
	}
	return taints
}

package controller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// raceWriter is somebody who changes things of its own on nodes, as fast as it
// can. It knows what it has left on each of them, and looks before each change
// whether that still stands there, to the last field.
type raceWriter struct {
	name  string
	nodes []string
	// vary makes a change of what stands on a node, write writes it there.
	vary  func(*raceWriter, *belongings)
	write raceMeans
	// more are keys that are its own beside those that begin with its name.
	more []string
	// cordons reports whether it is the one who says that nodes are unschedulable.
	cordons bool

	client  client.Client
	ledger  *raceLedger
	left    map[string]leftBehind
	values  int
	changes int
}

// raceMeans is a way to change a node from what was read to what its writer
// wants to leave there. Where it locks nothing, it still names the UID: what is
// meant for a node must not reach the next one under the same name.
type raceMeans func(ctx context.Context, w *raceWriter, live *corev1.Node, after belongings) error

// owns reports whether a key is the writer's.
func (w *raceWriter) owns(key string) bool {
	return strings.HasPrefix(key, w.domain()) || slices.Contains(w.more, key)
}

func (w *raceWriter) domain() string { return w.name + ".example.com/" }

// find picks from a node what is the writer's.
func (w *raceWriter) find(node *corev1.Node) belongings {
	foreign := func(key, _ string) bool { return !w.owns(key) }
	found := belongings{labels: maps.Clone(node.Labels), annotations: maps.Clone(node.Annotations), conditions: map[string]string{}}
	maps.DeleteFunc(found.labels, foreign)
	maps.DeleteFunc(found.annotations, foreign)
	for _, taint := range node.Spec.Taints {
		if w.owns(taint.Key) {
			found.taints = append(found.taints, taint)
		}
	}
	for _, condition := range node.Status.Conditions {
		if w.owns(string(condition.Type)) {
			found.conditions[string(condition.Type)] = condition.Reason
		}
	}
	found.unschedulable = w.cordons && node.Spec.Unschedulable
	return found
}

// race takes turns until the context ends. The last one it finishes.
func (w *raceWriter) race(stop, ctx context.Context) {
	for stop.Err() == nil {
		node := w.nodes[rand.IntN(len(w.nodes))]
		if err := w.turn(ctx, node); err != nil {
			w.ledger.fail(fmt.Errorf("%s, after %d changes, node %s: %w", w.name, w.changes, node, err))
			return
		}
	}
}

// turn finds on a node what was left there, and makes one change of it.
func (w *raceWriter) turn(ctx context.Context, name string) error {
	live := &corev1.Node{}
	if err := w.client.Get(ctx, client.ObjectKey{Name: name}, live); err != nil {
		return client.IgnoreNotFound(err)
	}
	w.compare(live)
	after := w.left[name].clone()
	w.vary(w, &after)
	switch err := w.write(ctx, w, live, after); {
	case err == nil:
		w.left[name] = leftBehind{uid: live.UID, belongings: after}
		w.changes++
		w.ledger.note(func(score *raceScore) { score.changes++ })
	case apierrors.IsConflict(err), apierrors.IsInvalid(err), apierrors.IsNotFound(err):
		// Invalid is the test in a JSON patch.
		w.ledger.note(func(score *raceScore) { score.refused++ })
	default:
		return err
	}
	return nil
}

// compare notes what is not as it was left on a node. From then on what is there
// counts as left, so that nothing is lost twice.
func (w *raceWriter) compare(live *corev1.Node) {
	before := w.left[live.Name]
	if before.uid != live.UID {
		before = leftBehind{uid: live.UID}
	}
	there := w.find(live)
	w.ledger.lost(lossesOf(w.name, live.Name, before.flat(), there.flat()))
	w.left[live.Name] = leftBehind{uid: live.UID, belongings: there}
}

// value is one that the writer has never used before: an old one that came back
// is not taken for the one that was left.
func (w *raceWriter) value() string {
	w.values++
	return strconv.Itoa(w.values)
}

// varyKeys adds, changes or removes a label, an annotation or a taint.
func varyKeys(w *raceWriter, b *belongings) {
	switch rand.IntN(5) {
	case 0, 1:
		keys := append([]string{w.domain() + "label-0", w.domain() + "label-1"}, w.more...)
		b.labels = w.varyMap(b.labels, keys)
	case 2:
		b.annotations = w.varyMap(b.annotations, []string{w.domain() + "annotation"})
	default:
		w.varyTaints(b)
	}
}

func (w *raceWriter) varyMap(values map[string]string, keys []string) map[string]string {
	values = maps.Clone(values)
	if values == nil {
		values = map[string]string{}
	}
	key := keys[rand.IntN(len(keys))]
	_, found := values[key]
	role := slices.Contains(w.more, key)
	switch {
	case found && (role || rand.IntN(2) == 0):
		delete(values, key)
	case role:
		values[key] = ""
	default:
		values[key] = w.value()
	}
	return values
}

// varyTaints changes one taint. One key with several effects is several taints,
// and each may have a time at which it was added, which is the writer's as well.
func (w *raceWriter) varyTaints(b *belongings) {
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	taint := corev1.Taint{Key: w.domain() + "taint", Effect: effects[rand.IntN(len(effects))]}
	i := slices.IndexFunc(b.taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
	if i >= 0 && rand.IntN(2) == 0 {
		b.taints = slices.Delete(b.taints, i, i+1)
		return
	}
	taint.Value = w.value()
	if rand.IntN(2) == 0 {
		added := metav1.NewTime(time.Unix(1_700_000_000+int64(w.values), 0))
		taint.TimeAdded = &added
	}
	if i >= 0 {
		b.taints[i] = taint
	} else {
		b.taints = append(b.taints, taint)
	}
}

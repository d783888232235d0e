package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// A random world is small, so that whatever can get into each other's way does:
// few keys, few values, and pools that select what others put on.
type randomWorld struct {
	stage
	r *rand.Rand
	// source is the index of that which has its pools; -1 for none.
	source int
	// git are the specs of the pools in files, and hand those of the pools made by
	// hand, by name without the world.
	git, hand map[string]v1.NodePoolSpec
	// paused are the pools that are paused in their files.
	paused map[string]bool
	nodes  map[string]bool
	// log is what was done.
	log string
}

func newRandomWorld(p *proof, name string, r *rand.Rand) *randomWorld {
	return &randomWorld{
		stage: stage{p, name}, r: r, git: map[string]v1.NodePoolSpec{}, hand: map[string]v1.NodePoolSpec{},
		paused: map[string]bool{}, nodes: map[string]bool{},
	}
}

var (
	gitNames    = []string{"a", "b", "c"}
	handNames   = []string{"x", "y"}
	nodeNames   = []string{"n0", "n1", "n2"}
	someValues  = []string{"", "1", "2"}
	someEffects = []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}
)

func (w *randomWorld) oneIn(n int) bool { return w.r.IntN(n) == 0 }

// key is one that pools and others want.
func (w *randomWorld) key() string {
	return pick(w.r, []string{"k0", "k1", "k2", v1.RoleLabel(w.world + ".a"), v1.RoleLabel(w.world + ".x")})
}

func (w *randomWorld) values(most int) map[string]string {
	values := map[string]string{}
	for range w.r.IntN(most + 1) {
		values[w.key()] = pick(w.r, someValues)
	}
	return values
}

func (w *randomWorld) note(format string, args ...any) {
	w.log += "  " + fmt.Sprintf(format, args...) + "\n"
}

// populate makes the nodes, and the first pools.
func (w *randomWorld) populate() {
	for _, name := range nodeNames[:1+w.r.IntN(2)] {
		w.addNode(name)
	}
	for range 1 + w.r.IntN(2) {
		w.changeGit()
	}
	if w.source < 0 {
		w.changeHand()
		w.changeHand()
	}
}

func (w *randomWorld) addNode(name string) {
	n := testNode{name: name}
	for key, value := range sortedPairs(w.values(3)) {
		n.labels += " " + key + "=" + value
	}
	for key, value := range sortedPairs(w.values(2)) {
		n.annotations += " " + key + "=" + value
	}
	for key, value := range sortedPairs(w.values(2)) {
		n.taints += " " + key + "=" + value + ":" + string(pick(w.r, someEffects))
	}
	w.node(n)
	w.nodes[name] = true
	w.note("node %+v", n)
}

func (w *randomWorld) spec(name string, parents []string) v1.NodePoolSpec {
	spec := v1.NodePoolSpec{
		Priority:       int32(w.r.IntN(2)),
		ConflictPolicy: pick(w.r, []v1.ConflictPolicy{v1.ReportConflicts, v1.ReportConflicts, v1.TakeOver, v1.Adopt}),
		Labels:         map[string]v1.LabelValue{}, Annotations: map[string]v1.AnnotationValue{},
		Handler: pick(w.r, []string{"", "", "kata"}),
	}
	own := v1.RoleLabel(w.world + "." + name)
	for key, value := range sortedPairs(w.values(3)) {
		switch {
		case key == own:
			spec.Labels[key] = "" // what a pool may say of roles
		case !strings.HasPrefix(key, v1.RoleLabelPrefix):
			spec.Labels[key] = v1.LabelValue(value)
		}
	}
	for key, value := range sortedPairs(w.values(2)) {
		spec.Annotations[key] = v1.AnnotationValue(value)
	}
	for key, value := range sortedPairs(w.values(2)) {
		spec.Taints = append(spec.Taints, v1.Taint{Key: key, Value: value, Effect: pick(w.r, someEffects)})
	}
	within := map[string]v1.LabelValue{worldLabel: v1.LabelValue(w.world)}
	switch w.r.IntN(5) {
	case 0: // by role label
	case 1:
		within[w.key()] = v1.LabelValue(pick(w.r, someValues))
		spec.Selector = &v1.LabelSelector{MatchLabels: within}
	case 2:
		spec.Selector = &v1.LabelSelector{MatchLabels: within, MatchExpressions: []v1.LabelSelectorRequirement{{
			Key: w.key(), Operator: pick(w.r, []metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}),
		}}}
	default:
		spec.NodeNames = []string{w.world + "." + pick(w.r, []string{"*", "n0", "n[01]"})}
	}
	if len(parents) > 0 && w.oneIn(3) {
		// Not of a pool after it in the alphabet, or there would be circles.
		if parent := pick(w.r, parents); parent < name {
			spec.Parent = w.world + "." + parent
		}
	}
	return spec
}

// changeGit adds a pool to the files, changes one, or takes one away that
// encloses no other.
func (w *randomWorld) changeGit() {
	if w.source < 0 {
		return
	}
	name := pick(w.r, gitNames)
	_, found := w.git[name]
	encloses := slices.ContainsFunc(slices.Collect(maps.Values(w.git)), func(spec v1.NodePoolSpec) bool { return spec.Parent == w.world+"."+name })
	switch {
	case found && !encloses && w.oneIn(3):
		delete(w.git, name)
		w.note("pool %s goes from its file", name)
	case found && w.oneIn(5):
		w.paused[name] = !w.paused[name]
		w.note("pool %s is paused in its file: %t", name, w.paused[name])
	default:
		w.git[name] = w.spec(name, slices.Sorted(maps.Keys(w.git)))
		w.note("file of pool %s: %s", name, jsonOf(w.git[name]))
	}
}

// files are the pools of the world as a source has them.
func (w *randomWorld) files() map[string]string {
	files := map[string]string{}
	for name, spec := range w.git {
		files[name] = jsonOf(w.manifest(name, spec, w.paused[name]))
	}
	return files
}

func (w *randomWorld) manifest(name string, spec v1.NodePoolSpec, paused bool) map[string]any {
	metadata := map[string]any{"name": w.world + "." + name}
	if paused {
		metadata["annotations"] = map[string]any{v1.ReconcileAnnotation: v1.Disabled}
	}
	return map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": v1.NodePoolKind, "metadata": metadata, "spec": spec}
}

// review is the one of the world's source; a world without one is in all of them.
func (w *randomWorld) review(all []*review.Review) *review.Review { return all[max(0, w.source)] }

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it is made of texts
	}
	return string(text)
}

// sortedPairs goes through values in order, so that a seed stands for one world.
func sortedPairs(values map[string]string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if !yield(key, values[key]) {
				return
			}
		}
	}
}

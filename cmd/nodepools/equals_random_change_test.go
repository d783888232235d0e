package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// change is what happens in a world between two rounds: another revision, or
// something that somebody does by hand. Not both: the controller puts back what it
// finds at its start before it has read the repository, and what was put back is
// not what diff has seen.
func (w *randomWorld) change() {
	w.log += "then:\n"
	if w.source >= 0 && w.oneIn(2) {
		w.changeGit()
		return
	}
	for range 1 + w.r.IntN(3) {
		switch w.r.IntN(8) {
		case 0, 1, 2:
			w.meddle()
		case 3:
			w.changeNodes()
		case 4:
			w.changeHand()
		case 5:
			w.changePools()
		case 6:
			w.changeClasses()
		case 7:
			w.changeRecord()
		}
	}
}

func (w *randomWorld) someNode() (string, bool) {
	if len(w.nodes) == 0 {
		return "", false
	}
	return pick(w.r, slices.Sorted(maps.Keys(w.nodes))), true
}

// meddle is somebody else changing a key of a node, ours or not.
func (w *randomWorld) meddle() {
	name, found := w.someNode()
	if !found {
		return
	}
	key, value, field := w.key(), pick(w.r, someValues), pick(w.r, []string{"labels", "annotations"})
	written := fmt.Sprintf("%q", value)
	if w.oneIn(3) {
		written = "null"
	}
	switch w.r.IntN(4) {
	case 0:
		w.apply(aNode+fmt.Sprintf("metadata: {name: $%s, %s: {%s: %q}}", name, field, key, value), pick(w.r, []string{"argo", "flux"}))
		w.note("applied to node %s: %s %s=%q", name, field, key, value)
	case 1, 2:
		w.edit(aNode, "$"+name, fmt.Sprintf(`{"metadata":{%q:{%q:%s}}}`, field, key, written))
		w.note("changed on node %s: %s %s=%s", name, field, key, written)
	default:
		w.meddleTaints(name, key, value)
	}
}

func (w *randomWorld) meddleTaints(name, key, value string) {
	effect := pick(w.r, someEffects)
	taints := []string{}
	for _, taint := range w.get("$" + name).Spec.Taints {
		if taint.Key != key || taint.Effect != effect {
			taints = append(taints, jsonOf(taint))
		}
	}
	if !w.oneIn(3) {
		taints = append(taints, fmt.Sprintf(`{"key":%q,"value":%q,"effect":%q}`, key, value, effect))
	}
	w.edit(aNode, "$"+name, `{"spec":{"taints":[`+strings.Join(taints, ",")+`]}}`)
	w.note("taints of node %s: %v", name, taints)
}

// changeNodes lets nodes come, go, pause and work again.
func (w *randomWorld) changeNodes() {
	name := pick(w.r, nodeNames)
	switch {
	case !w.nodes[name]:
		w.addNode(name)
	case w.oneIn(4):
		w.remove(aNode, "$"+name)
		delete(w.nodes, name)
		w.note("node %s goes", name)
	default:
		w.pause(aNode, name)
	}
}

// pause pauses an object, or makes it work again. A pause that a file says is left
// alone: who takes that away by hand gets what he asks for until the source puts it
// back, and a controller that starts in between does, too.
func (w *randomWorld) pause(kind, name string) {
	if kind == aPool && w.paused[name] {
		return
	}
	value := pick(w.r, []string{`"disabled"`, "null", "null"})
	w.edit(kind, "$"+name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, v1.ReconcileAnnotation, value))
	w.note("%s: %s=%s", name, v1.ReconcileAnnotation, value)
}

// changeHand makes a pool by hand, changes one, or deletes one. Its parent may be
// any pool, or none that there is.
func (w *randomWorld) changeHand() {
	name := pick(w.r, handNames)
	live := w.pool(name)
	switch {
	case live != nil && !live.DeletionTimestamp.IsZero():
	case live != nil && w.oneIn(3):
		w.remove(aPool, "$"+name)
		w.note("pool %s is deleted", name)
	case live != nil:
		live.Spec = w.spec(name, append(slices.Clone(gitNames), "x"))
		w.do(w.Update(w.t.Context(), live, client.FieldOwner("kubectl-edit")))
		w.note("pool %s by hand: %s", name, jsonOf(live.Spec))
	default:
		spec := w.spec(name, append(slices.Clone(gitNames), "x"))
		w.create(jsonOf(w.manifest(name, spec, w.oneIn(8))))
		w.note("new pool %s by hand: %s", name, jsonOf(spec))
	}
}

// pool is a pool of the world; nil where there is none.
func (w *randomWorld) pool(name string) *v1.NodePool {
	pool := &v1.NodePool{}
	err := w.Get(w.t.Context(), types.NamespacedName{Name: w.world + "." + name}, pool)
	if client.IgnoreNotFound(err) != nil {
		w.do(err)
	}
	if err != nil {
		return nil
	}
	return pool
}

// changePools does something to a pool that there is, wherever it comes from.
func (w *randomWorld) changePools() {
	name := pick(w.r, append(slices.Clone(gitNames), handNames...))
	pool := w.pool(name)
	if pool == nil {
		return
	}
	edit := func(patch string) {
		w.edit(aPool, "$"+name, patch)
		w.note("pool %s: %s", name, patch)
	}
	switch w.r.IntN(6) {
	case 0, 1:
		w.pause(aPool, name)
	case 2:
		edit(`{"metadata":{"annotations":{"nodes.lailin.xyz/prune":"disabled"}}}`)
	case 3:
		edit(`{"metadata":{"labels":{"by":"hand"},"annotations":{"by":"hand"}}}`)
	case 4:
		if pool.DeletionTimestamp.IsZero() {
			edit(`{"metadata":{"finalizers":null}}`)
		}
	default:
		if pool.DeletionTimestamp.IsZero() {
			w.remove(aPool, "$"+name)
			w.note("pool %s is deleted by hand", name)
		}
	}
}

// changeClasses does something to the RuntimeClass of a pool, or makes one of that
// name.
func (w *randomWorld) changeClasses() {
	name := pick(w.r, append(slices.Clone(gitNames), handNames...))
	class := "node-pool-" + w.world + "." + name
	err := w.Get(w.t.Context(), types.NamespacedName{Name: class}, &nodev1.RuntimeClass{})
	if client.IgnoreNotFound(err) != nil {
		w.do(err)
	}
	if err != nil {
		w.create(aClass + "metadata: {name: " + class + "}\nhandler: theirs\n")
		w.note("RuntimeClass of %s made by somebody", name)
		return
	}
	switch w.r.IntN(4) {
	case 0:
		w.edit(aClass, class, `{"metadata":{"labels":{"by":"hand"},"annotations":{"why":"<&>"}},"overhead":{"podFixed":{"cpu":"250m"}}}`)
		w.note("RuntimeClass of %s is dressed", name)
	case 1:
		w.edit(aClass, class, `{"scheduling":{"nodeSelector":{"by":"hand"},"tolerations":[{"key":"by","operator":"Exists"}]}}`)
		w.note("RuntimeClass of %s is changed", name)
	case 2:
		w.remove(aClass, class)
		w.note("RuntimeClass of %s is deleted", name)
	default:
		w.edit(aClass, class, `{"metadata":{"ownerReferences":null}}`)
		w.note("RuntimeClass of %s is nobody's", name)
	}
}

// changeRecord loses the record of a node, or makes it unreadable for a while.
func (w *randomWorld) changeRecord() {
	name, found := w.someNode()
	if !found {
		return
	}
	record := w.get("$" + name).Annotations[v1.AppliedAnnotation]
	set := func(text string) {
		w.edit(aNode, "$"+name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, v1.AppliedAnnotation, text))
		w.note("record of node %s: %s", name, text)
	}
	switch later := `{"version":99}`; {
	case record == later:
		set("null")
	case w.oneIn(4):
		set(fmt.Sprintf("%q", later))
	case w.oneIn(4):
		set("null")
	}
}

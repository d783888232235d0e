package main

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// What becomes of RuntimeClasses.
func classScenarios() []scenario {
	dressed := func(s *stage) {
		s.edit(aClass, "node-pool-$gpu", `{"metadata":{"labels":{"by":"hand"},"annotations":{"why":"<&>"}},"overhead":{"podFixed":{"cpu":"250m","memory":"120Mi"}}}`)
	}
	return []scenario{
		{name: "handler-changes", reason: "a RuntimeClass is replaced", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(plainGPU + `, handler: kata`)},
		{name: "handler-changes-dressed", reason: "what others have set on it is passed on", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(plainGPU + `, handler: kata`), away: dressed},
		{name: "handler-of-parent-changes", reason: "the RuntimeClass of a pool within is replaced too, and what others have set on it is passed on", nodes: gpuNodes(),
			first: gitPools{"gpu": {spec: plainGPU}, "in": {spec: `parent: $gpu, nodeNames: ["$a"], labels: {in: "1"}`}},
			next:  gitPools{"gpu": {spec: plainGPU + `, handler: kata`}, "in": {spec: `parent: $gpu, nodeNames: ["$a"], labels: {in: "1"}`}},
			away:  func(s *stage) { s.edit(aClass, "node-pool-$in", `{"metadata":{"labels":{"by":"hand"}}}`) }},
		{name: "class-changes-dressed", reason: "what others have set on it stays", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU), away: dressed},
		{name: "class-of-somebody", reason: "a RuntimeClass of somebody else stays, and the nodes follow", nodes: gpuNodes(), next: gpu(plainGPU),
			hand: []string{aClass + "metadata: {name: node-pool-$gpu}\nhandler: theirs\n"}},
		{name: "class-drift", reason: "what was changed by hand is put back", nodes: gpuNodes(), first: gpu(plainGPU),
			away: func(s *stage) {
				s.edit(aClass, "node-pool-$gpu", `{"scheduling":{"nodeSelector":{"team":"drift","more":"keys"},"tolerations":null}}`)
			}},
		{name: "class-deleted", reason: "it is made anew", nodes: gpuNodes(), first: gpu(plainGPU), away: func(s *stage) { s.remove(aClass, "node-pool-$gpu") }},
		{name: "class-taken", reason: "somebody has made it anew, and it is theirs", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) {
				s.remove(aClass, "node-pool-$gpu")
				s.create(aClass + "metadata: {name: node-pool-$gpu}\nhandler: theirs\n")
			}},
		{name: "class-of-pool-taken", reason: "a RuntimeClass of somebody else stays when the pool goes", nodes: gpuNodes(), source: limit("100%"),
			first: gitPools{"gpu": {spec: plainGPU}, "x": {}}, next: gitPools{"x": {}},
			away: func(s *stage) {
				s.edit(aClass, "node-pool-$gpu", `{"metadata":{"ownerReferences":null}}`)
			}},
		{name: "replacement-interrupted", reason: "what was noted on the pool is passed on", nodes: gpuNodes(), first: gpu(plainGPU),
			away: func(s *stage) {
				s.remove(aClass, "node-pool-$gpu")
				s.noteReplaced("$gpu")
			}},
		{name: "note-forged", reason: "what anybody may write gives nothing", nodes: gpuNodes(), first: gpu(plainGPU),
			away: func(s *stage) {
				s.remove(aClass, "node-pool-$gpu")
				s.edit(aPool, "$gpu", `{"metadata":{"annotations":{"nodes.lailin.xyz/inheritance":"{\"labels\":{\"by\":\"hand\"}}"}}}`)
			}},
		{name: "note-left", reason: "a note that nobody needs changes nothing", nodes: gpuNodes(), first: gpu(plainGPU),
			away: func(s *stage) {
				s.noteReplaced("$gpu")
			}},
	}
}

// handMade is the pool gpu as somebody makes it by hand.
const handMade = aPool + "metadata: {name: $gpu}\nspec: {" + plainGPU + "}"

// What somebody does to pools.
func poolScenarios() []scenario {
	return []scenario{
		{name: "pool-drift", reason: "Git says all that there is to say of a pool", detours: true, nodes: gpuNodes(), first: gpu(plainGPU),
			away: func(s *stage) {
				s.edit(aPool, "$gpu", `{"spec":{"labels":{"team":"drift","by":"hand"},"priority":5}}`)
			}},
		{name: "pool-dressed", reason: "labels and annotations that others put on a pool stay", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) {
				s.edit(aPool, "$gpu", `{"metadata":{"labels":{"by":"hand"},"annotations":{"by":"hand"}}}`)
			}},
		{name: "pool-deleted", reason: "somebody has deleted it, and Git has it: it goes and comes back", nodes: gpuNodes(), first: gpu(plainGPU), away: func(s *stage) { s.remove(aPool, "$gpu") }},
		{name: "pool-deleted-and-changed", reason: "it comes back as Git has it now", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU), away: func(s *stage) { s.remove(aPool, "$gpu") }},
		{name: "pool-deleted-for-good", reason: "somebody has deleted it, and Git lacks it", nodes: gpuNodes(), source: limit("100%"),
			first: gitPools{"gpu": {spec: plainGPU}, "x": {}}, next: gitPools{"x": {}}, away: func(s *stage) { s.remove(aPool, "$gpu") }},
		{name: "hand-made-deleted", reason: "a pool that was made by hand is released", nodes: gpuNodes(), first: gitPools{"x": {}}, hand: []string{handMade},
			away: func(s *stage) { s.remove(aPool, "$gpu") }},
		{name: "pool-deleted-paused", reason: "a pause holds whatever is asked for meanwhile", nodes: gpuNodes(), first: gitPools{"x": {}}, hand: []string{handMade},
			away: func(s *stage) {
				s.edit(aPool, "$gpu", `{"metadata":{"annotations":{"nodes.lailin.xyz/reconcile":"disabled"}}}`)
				s.remove(aPool, "$gpu")
			}},
		{name: "finalizer-lost", reason: "it is put back", nodes: gpuNodes(), first: gpu(plainGPU), away: func(s *stage) { s.edit(aPool, "$gpu", `{"metadata":{"finalizers":null}}`) }},
		{name: "finalizer-of-others", reason: "it stays", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) {
				s.edit(aPool, "$gpu", `{"metadata":{"finalizers":["nodes.lailin.xyz/release","example.com/theirs"]}}`)
			}},
		{name: "gone-at-once", reason: "a pool without its finalizer is gone at once, and its nodes are released", nodes: gpuNodes(), first: gitPools{"x": {}},
			hand: []string{handMade},
			away: func(s *stage) {
				s.edit(aPool, "$gpu", `{"metadata":{"finalizers":null}}`)
				s.remove(aPool, "$gpu")
			}},
		{name: "hand-made-new", reason: "a pool that was just made by hand", nodes: gpuNodes(), first: gitPools{"x": {}},
			away: func(s *stage) { s.create(handMade) }},
		{name: "hand-made-changes", reason: "a pool that was just changed by hand", nodes: gpuNodes(), first: gitPools{"x": {}}, hand: []string{handMade},
			away: func(s *stage) { s.edit(aPool, "$gpu", `{"spec":{"labels":{"team":"hand"},"handler":"kata"}}`) }},
		{name: "parent-missing", reason: "it is unknown which nodes are within, so all stays", nodes: gpuNodes(), first: gitPools{"x": {}},
			hand: []string{aPool + "metadata: {name: $outer}\nspec: {nodeNames: [\"$*\"]}", aPool + "metadata: {name: $in}\nspec: {parent: $outer, nodeNames: [\"$a\"], labels: {in: \"1\"}}"},
			away: func(s *stage) { s.remove(aPool, "$outer") }},
		{name: "parent-missing-new", reason: "a pool without its parent does nothing", nodes: gpuNodes(), first: gitPools{"x": {}},
			away: func(s *stage) {
				s.create(aPool + "metadata: {name: $in}\nspec: {parent: $nobody, nodeNames: [\"$a\"], labels: {in: \"1\"}}")
			}},
	}
}

// Whose a pool is.
func ownerScenarios() []scenario {
	hand := []string{handMade}
	edit := func(field, value string) func(*stage) {
		return func(s *stage) { s.edit(aPool, "$gpu", `{"metadata":{"`+field+`":`+value+`}}`) }
	}
	handOver := func(s *stage) {
		s.edit(aPool, "$gpu", `{"metadata":{"annotations":{"nodes.lailin.xyz/sourceUID":"`+string(s.sourceUID(s.world))+`"}}}`)
	}
	return []scenario{
		{name: "claimed-by-hand", reason: "a pool that was made by hand is not taken, nor is anything else of the revision", nodes: gpuNodes(), hand: hand, first: gitPools{"x": {}},
			next: gitPools{"x": {spec: allNodes + `labels: {x: "1"}`}, "gpu": {spec: otherGPU}}, refused: "no source has applied it"},
		{name: "claimed-by-another", reason: "a pool of another source is not taken", nodes: gpuNodes(), also: gpu(plainGPU), first: gitPools{"x": {}},
			next: gitPools{"x": {}, "gpu": {spec: otherGPU}}, refused: "owns it"},
		{name: "handed-over", reason: "somebody has given the pool to the source", nodes: gpuNodes(), hand: hand, first: gitPools{"x": {}},
			next: gitPools{"x": {}, "gpu": {spec: plainGPU}}, away: handOver},
		{name: "label-lost", reason: "the label of the source is put back", nodes: gpuNodes(), first: gpu(plainGPU), away: edit("labels", `{"nodes.lailin.xyz/source":null}`)},
		{name: "uid-lost", reason: "somebody has taken the pool from the source, and nothing of the revision is taken", nodes: gpuNodes(), first: gpu(plainGPU),
			next: gitPools{"gpu": {spec: otherGPU}}, away: edit("annotations", `{"nodes.lailin.xyz/sourceUID":null}`), refused: "no source has applied it"},
		{name: "labelled-by-hand", reason: "a label does not make a pool the source's, and what it has not applied it does not prune", nodes: gpuNodes(), hand: hand, first: gitPools{"x": {}, "y": {}},
			next: gitPools{"x": {}}, source: limit("100%"), away: edit("labels", `{"nodes.lailin.xyz/source":"labelled-by-hand"}`)},
		{name: "annotated-by-hand", reason: "nor does an annotation that the source has not applied", nodes: gpuNodes(), hand: hand, first: gitPools{"x": {}, "y": {}},
			next: gitPools{"x": {}}, source: limit("100%"), away: handOver},
		{name: "left-behind", reason: "the pools of a source that exists no more are taken by nobody", nodes: gpuNodes(), also: gpu(plainGPU), first: gitPools{"x": {}},
			next: gitPools{"x": {}, "gpu": {spec: plainGPU}}, refused: "owns it",
			away: func(s *stage) {
				s.remove("apiVersion: nodes.lailin.xyz/v1\nkind: NodePoolSource\n", s.world+".also")
			}},
		{name: "left-and-handed-over", reason: "until somebody hands them over", nodes: gpuNodes(), also: gpu(plainGPU), first: gitPools{"x": {}},
			next: gitPools{"x": {}, "gpu": {spec: plainGPU}},
			away: func(s *stage) {
				s.remove("apiVersion: nodes.lailin.xyz/v1\nkind: NodePoolSource\n", s.world+".also")
				handOver(s)
			}},
	}
}

// approve lets a source delete more pools than its limit allows.
func (s *stage) approve(source, revision string) {
	s.t.Helper()
	s.edit("apiVersion: nodes.lailin.xyz/v1\nkind: NodePoolSource\n", source, `{"metadata":{"annotations":{"`+v1.ApprovePruneAnnotation+`":"`+revision+`"}}}`)
}

// sourceUID is the UID of a source.
func (s *stage) sourceUID(source string) types.UID {
	s.t.Helper()
	src := &v1.NodePoolSource{}
	s.do(s.Get(s.t.Context(), client.ObjectKey{Name: source}, src))
	return src.UID
}

// noteReplaced leaves a pool as a controller leaves it that is killed while it
// replaces the RuntimeClass.
func (s *stage) noteReplaced(pool string) {
	s.t.Helper()
	patch := []byte(`{"status":{"replacedRuntimeClass":{"uid":"1","labels":{"by":"hand"}}}}`)
	s.do(s.Status().Patch(s.t.Context(), s.object(aPool+"metadata: {name: "+pool+"}"), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1.FieldManager)))
}

// directory is the repository of a source.
func (s *stage) directory(source string) string {
	s.t.Helper()
	src := &v1.NodePoolSource{}
	s.do(s.Get(s.t.Context(), client.ObjectKey{Name: source}, src))
	return src.Spec.URL[len("file://"):]
}

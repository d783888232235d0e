package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// a and b are nodes of the pool gpu, by its role label.
func gpuNodes() []testNode {
	return []testNode{{name: "a", labels: "node-role.kubernetes.io/$gpu="}, {name: "b", labels: "node-role.kubernetes.io/$gpu= disk=ssd", taints: "theirs=x:NoSchedule"}}
}

func gpu(spec string) gitPools { return gitPools{"gpu": {spec: spec}} }

const (
	plainGPU = `labels: {team: ml, tier: front}, annotations: {motd: hello}, taints: [{key: gpu, value: "yes", effect: NoSchedule}]`
	// otherGPU has another value of each kind, lacks a label and has a new taint.
	otherGPU = `labels: {team: web}, annotations: {motd: "say \"<b>\" & \\ … to\nall", note: ""}, taints: [{key: gpu, value: "no", effect: NoSchedule}, {key: gpu, effect: NoExecute}]`
)

// What a revision says.
func revisionScenarios() []scenario {
	return []scenario{
		{name: "first-revision", reason: "everything is new: pools, RuntimeClasses, keys and records", nodes: gpuNodes(), next: gpu(plainGPU)},
		{name: "same-revision", reason: "nothing is written, and nothing is reported", nodes: gpuNodes(), first: gpu(plainGPU)},
		{name: "values-change", reason: "labels, annotations and taints change, come and go in one write", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU)},
		{name: "label-dropped", reason: "what nobody wants any more goes", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(`labels: {team: ml}`)},
		{name: "all-dropped", reason: "the last key goes, and the record with it", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(``)},
		{name: "pool-added", reason: "a second pool on the same nodes", nodes: gpuNodes(), first: gpu(plainGPU),
			next: gitPools{"gpu": {spec: plainGPU}, "ssd": {spec: `selector: {matchLabels: {disk: ssd, example.com/world: pool-added}}, labels: {fast: "1"}`}}},
		{name: "pool-removed", reason: "its nodes are released and its RuntimeClass goes", nodes: gpuNodes(),
			first: gitPools{"gpu": {spec: plainGPU}, "x": {}, "y": {}}, next: gitPools{"x": {}, "y": {}}},
		{name: "pool-renamed", reason: "one goes and another comes, with the same keys", nodes: gpuNodes(), source: limit("100%"),
			first: gitPools{"old": {spec: `nodeNames: ["$*"], labels: {team: ml}`}, "stays": {}}, next: gitPools{"new": {spec: `nodeNames: ["$*"], labels: {team: ml}`}, "stays": {}}},
		{name: "file-moves", reason: "only the place in the file changes", nodes: gpuNodes(), first: gpu(plainGPU), next: gitPools{"gpu": {spec: plainGPU, folder: "team/a/"}}},
		{name: "handler-empty-value", reason: "a value that is empty is not one that is missing", nodes: gpuNodes(), first: gpu(`labels: {team: ""}, taints: [{key: gpu, effect: NoExecute}]`),
			next: gpu(`labels: {team: "", other: ""}, annotations: {team: ""}`)},
		{name: "two-effects", reason: "the same key with two effects is two taints", nodes: gpuNodes(), first: gpu(`taints: [{key: k, value: "1", effect: NoSchedule}]`),
			next: gpu(`taints: [{key: k, value: "1", effect: NoExecute}, {key: k, value: "2", effect: PreferNoSchedule}]`)},
		{name: "priority-alone", reason: "what nodes do not see writes no node", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(plainGPU + `, priority: 7`)},
		{name: "metadata-of-git", reason: "labels and annotations of the pool itself come and go", nodes: gpuNodes(),
			first: gitPools{"gpu": {spec: plainGPU, labels: "a: b, c: d", annotations: "e: f"}}, next: gitPools{"gpu": {spec: plainGPU, labels: "a: x", annotations: "g: h"}}},
		{name: "invalid", reason: "a revision with a mistake is not taken at all", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(`labels: {"bad key": x}`), refused: "problem"},
	}
}

func limit(text string) func(*v1.NodePoolSource) {
	return func(src *v1.NodePoolSource) { src.Spec.PruneLimit = ptr.To(intstr.Parse(text)) }
}

func noPrune(src *v1.NodePoolSource) { src.Spec.Prune = ptr.To(false) }

// many are pools that each have a node, as many as are asked for.
func many(count int) gitPools {
	pools := gitPools{}
	for i := range count {
		pools[fmt.Sprintf("p%d", i)] = gitPool{spec: fmt.Sprintf(`nodeNames: ["$n%d"], labels: {pool: "%d"}`, i, i)}
	}
	return pools
}

func nodesOf(count int) []testNode {
	var nodes []testNode
	for i := range count {
		nodes = append(nodes, testNode{name: fmt.Sprintf("n%d", i)})
	}
	return nodes
}

// What the guards hold back.
func guardScenarios() []scenario {
	return []scenario{
		{name: "limit-holds", reason: "three of five are more than 30%: all stay, and what is added comes", nodes: nodesOf(5), first: many(5),
			next: gitPools{"p0": {spec: `nodeNames: ["$n0"], labels: {pool: zero}`}, "p1": many(2)["p1"], "p9": {}}},
		{name: "limit-lets-go", reason: "two of five are within 40%", nodes: nodesOf(5), source: limit("40%"), first: many(5), next: many(3)},
		{name: "limit-zero", reason: "none may go", nodes: nodesOf(3), source: limit("0"), first: many(3), next: many(2)},
		{name: "approved", reason: "somebody has approved this very revision", nodes: nodesOf(4), first: many(4), next: many(1), byRevision: true,
			away: func(s *stage) { s.approve(s.world, headOf(s.t, s.directory(s.world))) }},
		{name: "approved-other", reason: "an approval of another revision counts for nothing", nodes: nodesOf(4), first: many(4), next: many(1),
			away: func(s *stage) { s.approve(s.world, "main@sha1:0000000000000000000000000000000000000000") }},
		{name: "no-prune", reason: "the source does not prune", nodes: nodesOf(3), first: many(3), next: many(2),
			source: noPrune},
		{name: "no-pool-left", reason: "a revision without a pool is an accident", nodes: nodesOf(2), source: limit("100%"), first: many(2), next: gitPools{}},
		{name: "kept-by-hand", reason: "somebody has said that a pool stays, and one that is paused stays too", nodes: nodesOf(4), source: limit("100%"), first: many(4), next: many(1),
			away: func(s *stage) {
				s.edit(aPool, "$p2", `{"metadata":{"annotations":{"nodes.lailin.xyz/prune":"disabled"}}}`)
				s.edit(aPool, "$p3", `{"metadata":{"annotations":{"nodes.lailin.xyz/reconcile":"disabled"}}}`)
			}},
		{name: "suspended", reason: "nothing is taken from a source that is suspended", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU), noted: "is suspended",
			away: func(s *stage) {
				s.edit("apiVersion: nodes.lailin.xyz/v1\nkind: NodePoolSource\n", s.world, `{"spec":{"suspend":true}}`)
			}},
		{name: "source-paused", reason: "nothing is taken from a source that is paused", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU), noted: "is paused",
			away: func(s *stage) {
				s.edit("apiVersion: nodes.lailin.xyz/v1\nkind: NodePoolSource\n", s.world, `{"metadata":{"annotations":{"nodes.lailin.xyz/reconcile":"disabled"}}}`)
			}},
	}
}

// What is paused, and what comes of it.
func pauseScenarios() []scenario {
	const paused = `{"metadata":{"annotations":{"nodes.lailin.xyz/reconcile":"disabled"}}}`
	const resumed = `{"metadata":{"annotations":{"nodes.lailin.xyz/reconcile":null}}}`
	off := gitPool{spec: plainGPU, annotations: "nodes.lailin.xyz/reconcile: disabled"}
	return []scenario{
		{name: "paused-by-hand", reason: "the record of the pool follows Git, its nodes and its RuntimeClass do not", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU + `, handler: kata`),
			away: func(s *stage) { s.edit(aPool, "$gpu", paused) }},
		{name: "paused-in-git", reason: "a pool that is paused in its file holds still from then on", nodes: gpuNodes(), first: gpu(plainGPU), next: gitPools{"gpu": {spec: otherGPU, annotations: off.annotations}}},
		{name: "paused-at-birth", reason: "a pool that comes paused does nothing", nodes: gpuNodes(), next: gitPools{"gpu": off}},
		{name: "resumed", reason: "what was held is done at once", nodes: gpuNodes(), first: gitPools{"gpu": off}, next: gpu(otherGPU)},
		{name: "resumed-by-hand", reason: "what was held is done at once", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) { s.edit(aPool, "$gpu", paused); s.edit(aPool, "$gpu", resumed) }},
		{name: "paused-parent", reason: "the RuntimeClass of a pool within stays too", nodes: gpuNodes(),
			first: gitPools{"gpu": {spec: plainGPU}, "in": {spec: `parent: $gpu, nodeNames: ["$a"], labels: {in: "1"}`}},
			next:  gitPools{"gpu": {spec: otherGPU, annotations: off.annotations}, "in": {spec: `parent: $gpu, nodeNames: ["$a"], labels: {in: "2"}`}}},
		{name: "paused-node", reason: "one node stays as it is, the other does not", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) { s.edit(aNode, "$a", paused) }},
		{name: "paused-quiet-node", reason: "a paused node for which nothing is to be done", nodes: gpuNodes(), first: gpu(plainGPU),
			away: func(s *stage) { s.edit(aNode, "$a", paused) }},
		{name: "paused-node-keeps-pool", reason: "a pool that goes stays until its last node is released", nodes: gpuNodes(), source: limit("100%"),
			first: gitPools{"gpu": {spec: plainGPU}, "x": {}}, next: gitPools{"x": {}},
			away: func(s *stage) { s.edit(aNode, "$a", paused) }},
		{name: "paused-rival", reason: "a key that a paused pool holds is not had by another", nodes: gpuNodes(), first: gpu(plainGPU),
			next: gitPools{"gpu": {spec: plainGPU, annotations: off.annotations}, "other": {spec: `nodeNames: ["$*"], priority: 9, labels: {team: other, new: "1"}`}}},
	}
}

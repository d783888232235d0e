package main

const allNodes = `nodeNames: ["$*"], `

// Keys that several want.
func conflictScenarios() []scenario {
	theirs := []testNode{{name: "a", labels: "team=theirs", annotations: "motd=theirs", taints: "gpu=theirs:NoSchedule other=:NoExecute"}, {name: "b"}}
	equal := []testNode{{name: "a", labels: "team=ml tier=front", annotations: "motd=hello", taints: "gpu=yes:NoSchedule"}}
	return []scenario{
		{name: "foreign-keys", reason: "what somebody else has set stays, and is reported", nodes: theirs, next: gpu(allNodes + plainGPU)},
		{name: "foreign-keys-known", reason: "a conflict that is there already writes nothing and is reported again", nodes: theirs, first: gpu(allNodes + plainGPU)},
		{name: "take-over", reason: "the value of somebody else is replaced and remembered", nodes: theirs, next: gpu(allNodes + `conflictPolicy: TakeOver, ` + plainGPU)},
		{name: "take-over-released", reason: "it comes back", nodes: theirs, first: gpu(allNodes + `conflictPolicy: TakeOver, ` + plainGPU), next: gpu(allNodes + `conflictPolicy: TakeOver`)},
		{name: "take-over-to-report", reason: "what was taken over stays the pool's", nodes: theirs, first: gpu(allNodes + `conflictPolicy: TakeOver, ` + plainGPU), next: gpu(allNodes + otherGPU)},
		{name: "adopt", reason: "what somebody has set is the pool's for good", nodes: theirs, next: gpu(allNodes + `conflictPolicy: Adopt, ` + plainGPU)},
		{name: "adopt-equal", reason: "nothing but the record is written", nodes: equal, next: gpu(allNodes + `conflictPolicy: Adopt, ` + plainGPU)},
		{name: "adopt-released", reason: "it goes", nodes: theirs, first: gpu(allNodes + `conflictPolicy: Adopt, ` + plainGPU), next: gpu(allNodes)},
		{name: "take-over-to-adopt", reason: "only the record changes", nodes: theirs, first: gpu(allNodes + `conflictPolicy: TakeOver, ` + plainGPU), next: gpu(allNodes + `conflictPolicy: Adopt, ` + plainGPU)},
		{name: "shared", reason: "a value that is there already is not the pool's", nodes: equal, next: gpu(allNodes + plainGPU)},
		{name: "shared-released", reason: "it stays when the pool lets go", nodes: equal, first: gpu(allNodes + plainGPU), next: gpu(allNodes)},
		{name: "co-owned", reason: "what another applies as well stays when the pool lets go", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(``),
			away: func(s *stage) {
				s.apply(aNode+"metadata: {name: $a, labels: {team: ml}, annotations: {motd: hello}}", "argo")
			}},
		{name: "equal-priority", reason: "pools that disagree change nothing", nodes: gpuNodes(), first: gpu(plainGPU),
			next: gitPools{"gpu": {spec: plainGPU}, "other": {spec: allNodes + `labels: {team: other, free: "1"}, taints: [{key: gpu, value: other, effect: NoSchedule}]`}}},
		{name: "equal-priority-unset", reason: "nor do they put anything there", nodes: gpuNodes(),
			next: gitPools{"gpu": {spec: plainGPU}, "other": {spec: allNodes + `labels: {team: other}`}}},
		{name: "priority-decides", reason: "the higher one has the key", nodes: gpuNodes(), first: gpu(plainGPU),
			next: gitPools{"gpu": {spec: plainGPU}, "other": {spec: allNodes + `priority: 3, labels: {team: other, free: "1"}`}}},
		{name: "priority-changes-hands", reason: "the key goes from one pool to the other", nodes: gpuNodes(),
			first: gitPools{"gpu": {spec: plainGPU}, "other": {spec: allNodes + `priority: 3, labels: {team: other}`}},
			next:  gitPools{"gpu": {spec: plainGPU + `, priority: 4`}, "other": {spec: allNodes + `priority: 3, labels: {team: other}`}}},
		{name: "rival-goes", reason: "the key that was contested is had by who is left", nodes: gpuNodes(), source: limit("100%"),
			first: gitPools{"gpu": {spec: plainGPU}, "other": {spec: allNodes + `labels: {team: other}`}}, next: gpu(plainGPU)},
		{name: "same-wish", reason: "two pools that want the same do not disagree", nodes: gpuNodes(), first: gpu(plainGPU),
			next: gitPools{"gpu": {spec: plainGPU}, "also": {spec: allNodes + `labels: {team: ml}`}}},
	}
}

// What stands on nodes and what the record says of it.
func recordScenarios() []scenario {
	drift := func(s *stage) {
		s.edit(aNode, "$a", `{"metadata":{"labels":{"team":"drift","tier":null},"annotations":{"motd":"drift"}},"spec":{"taints":[{"key":"gpu","value":"drift","effect":"NoSchedule"},{"key":"more","effect":"NoSchedule"}]}}`)
		s.edit(aNode, "$b", `{"spec":{"taints":null}}`)
	}
	return []scenario{
		{name: "drift", reason: "what was changed by hand is put back", nodes: gpuNodes(), first: gpu(plainGPU), away: drift},
		{name: "drift-and-change", reason: "and changes on the way", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU), away: drift},
		{name: "aged-taint", reason: "the taints of others keep their place and their age", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) {
				s.edit(aNode, "$a", `{"spec":{"taints":[{"key":"old","effect":"NoExecute","timeAdded":"2024-01-02T03:04:05Z"},{"key":"gpu","value":"yes","effect":"NoSchedule","timeAdded":"2024-01-02T03:04:06Z"},{"key":"last","effect":"NoSchedule"}]}}`)
			}},
		{name: "unreadable-record", reason: "the node is left as it is", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) {
				s.edit(aNode, "$a", `{"metadata":{"annotations":{"nodes.lailin.xyz/applied":"{\"version\":99}"}}}`)
			}},
		{name: "record-lost", reason: "what stands there is somebody else's from then on", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) {
				s.edit(aNode, "$a", `{"metadata":{"annotations":{"nodes.lailin.xyz/applied":null}}}`)
			}},
		{name: "record-of-nobody", reason: "the keys of a pool that is gone stay", nodes: []testNode{{name: "a", labels: "team=gone"}}, next: gpu(allNodes + `labels: {x: "y"}`),
			away: func(s *stage) {
				s.edit(aNode, "$a", `{"metadata":{"annotations":{"nodes.lailin.xyz/applied":"{\"version\":1,\"pools\":{\"$gone\":{\"labels\":{\"team\":\"gone\"}}}}"}}}`)
			}},
	}
}

// Who is in a pool.
func memberScenarios() []scenario {
	return []scenario{
		{name: "node-joins", reason: "a node that is new is in the pool", nodes: gpuNodes(), first: gpu(plainGPU),
			away: func(s *stage) {
				s.node(testNode{name: "new", labels: "node-role.kubernetes.io/$gpu= team=theirs"})
			}},
		{name: "node-leaves", reason: "a node without the role label is released", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			away: func(s *stage) {
				s.edit(aNode, "$a", `{"metadata":{"labels":{"node-role.kubernetes.io/$gpu":null}}}`)
			}},
		{name: "node-gone", reason: "a node that is gone is not missed", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU), away: func(s *stage) { s.remove(aNode, "$a") }},
		{name: "selector-changes", reason: "one node leaves and another comes", nodes: gpuNodes(),
			first: gpu(`selector: {matchLabels: {disk: ssd, example.com/world: selector-changes}}, labels: {fast: "1"}`),
			next:  gpu(`selector: {matchExpressions: [{key: disk, operator: DoesNotExist}, {key: example.com/world, operator: In, values: [selector-changes]}]}, labels: {fast: "1"}`)},
		{name: "role-to-names", reason: "the role label becomes the pool's to put there", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(`nodeNames: ["$b", "$c?"], ` + plainGPU)},
		{name: "names-to-role", reason: "the role label was the pool's own, so its node leaves", nodes: []testNode{{name: "a"}, {name: "b", labels: "node-role.kubernetes.io/$gpu="}}, first: gpu(allNodes + plainGPU), next: gpu(plainGPU)},
		{name: "no-circles", reason: "a label that a pool puts there makes nobody a member", nodes: gpuNodes(), first: gpu(plainGPU),
			next: gitPools{"gpu": {spec: plainGPU}, "ml": {spec: `selector: {matchLabels: {team: ml, example.com/world: no-circles}}, labels: {circle: "1"}`}}},
		{name: "feeds-another", reason: "a label that is adopted and goes leads out of another pool", nodes: []testNode{{name: "a", labels: "team=ml"}}, source: limit("100%"),
			first: gitPools{"gpu": {spec: allNodes + `conflictPolicy: Adopt, labels: {team: ml}`}, "x": {spec: `selector: {matchLabels: {team: ml, example.com/world: feeds-another}}, labels: {x: "1"}`}},
			next:  gitPools{"gpu": {spec: allNodes}, "x": {spec: `selector: {matchLabels: {team: ml, example.com/world: feeds-another}}, labels: {x: "1"}`}}},
		{name: "parent-changes", reason: "what the outer pool says holds within, and in the RuntimeClass", nodes: gpuNodes(),
			first: gitPools{"gpu": {spec: plainGPU}, "in": {spec: `parent: $gpu, selector: {matchLabels: {disk: ssd}}, labels: {team: inner, in: "1"}`}},
			next:  gitPools{"gpu": {spec: otherGPU + `, handler: kata`}, "in": {spec: `parent: $gpu, selector: {matchLabels: {disk: ssd}}, labels: {team: inner, in: "1"}`}}},
		{name: "parent-left", reason: "a pool that leaves its parent has more nodes", nodes: gpuNodes(),
			first: gitPools{"gpu": {spec: `nodeNames: ["$a"]`}, "in": {spec: `parent: $gpu, nodeNames: ["$*"], labels: {in: "1"}`}},
			next:  gitPools{"gpu": {spec: `nodeNames: ["$a"]`}, "in": {spec: `nodeNames: ["$*"], labels: {in: "1"}`}}},
		{name: "two-sources", reason: "another source has pools on the same nodes", nodes: gpuNodes(), first: gpu(plainGPU), next: gpu(otherGPU),
			also: gitPools{"team": {spec: allNodes + `priority: 1, labels: {team: blue}, taints: [{key: gpu, value: "blue", effect: NoExecute}]`}}},
	}
}

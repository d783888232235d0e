package nodecache

import (
	"encoding/json"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// How much memory a node of realistic size takes in the cache. All nodes of a
// cluster are in it, so the managed fields must cost little beside the rest.
func TestCachedNodeIsSmall(t *testing.T) {
	const count = 500
	size := len(asJSON(t, realisticNode(0)))
	if size < 12<<10 || size > 16<<10 {
		t.Fatalf("a node is %d bytes of JSON, want one of real size", size)
	}
	perNode := func(keep func(*corev1.Node) any) int {
		before := heap()
		nodes := make([]any, count)
		for i := range nodes {
			node := &corev1.Node{}
			if err := json.Unmarshal(asJSON(t, realisticNode(i)), node); err != nil {
				t.Fatal(err)
			}
			nodes[i] = keep(node)
		}
		used := heap() - before
		runtime.KeepAlive(nodes)
		return used / count
	}
	reduced := func(node *corev1.Node) any { return reduce(node) }
	perNode(reduced) // what is shared is there from now on
	whole := perNode(func(node *corev1.Node) any { return node })
	without := perNode(func(node *corev1.Node) any { node.ManagedFields = nil; return reduce(node) })
	with := perNode(reduced)
	t.Logf("%d bytes of JSON; in memory %d whole, %d as cached, of which %d are managed fields", size, whole, with, with-without)
	if with > whole/8 {
		t.Errorf("a cached node takes %d bytes, and a whole one %d", with, whole)
	}
	if with-without > 600 {
		t.Errorf("managed fields take %d bytes of each node: equal ones are not shared", with-without)
	}
}

func heap() int {
	runtime.GC()
	runtime.GC() // what the first one has found unreachable
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

func asJSON(t *testing.T, object any) []byte {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

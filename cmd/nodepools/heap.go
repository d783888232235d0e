package main

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how many percent the heap of the controller may grow before it
// is collected. Left to itself it may double: that is memory for little, as what
// is read of a cluster is mostly dropped at once, and an idle controller reads
// little.
const heapGrowth = 40

// boundHeap sets the growth of the heap, unless the user has set it with GOGC. The
// limit that GOMEMLIMIT sets holds either way.
func boundHeap() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(heapGrowth)
	}
}

package render

import (
	"encoding/json"
	"fmt"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// sizeOf returns the size of a valid pool as the API server stores it, in
// bytes. An invalid one may have any size: aliases can repeat a text of any
// length.
func sizeOf(pool *v1.NodePool) int {
	text, err := json.Marshal(pool)
	if err != nil {
		return 0 // a pool from a file always has a text
	}
	return len(text)
}

// spend counts the keys and values of a document, and reports whether the bound
// allows more.
func (l *loader) spend(nodes int) bool {
	l.nodes += nodes
	if l.nodes > maxTreeNodes {
		l.file(".", fmt.Sprintf("the documents have more than %d keys and values together once their aliases are written out", maxTreeNodes), fewerPools)
		l.overflow = true
	}
	return !l.overflow
}

const fewerPools = "point the path at fewer pools, and give the others a NodePoolSource with a path of its own"

// take adds a pool to the set, and reports whether the bound allows more.
func (l *loader) take(pool placedPool) bool {
	l.pools = append(l.pools, pool)
	l.poolBytes += pool.size
	if pool.size > l.largest.size {
		l.largest = pool
	}
	switch {
	case len(l.pools) > maxPools:
		l.file(".", fmt.Sprintf("the tree has more than %d pools", maxPools), fewerPools)
	case l.poolBytes > maxPoolsBytes:
		l.file(".", fmt.Sprintf("the pools are larger than %d MiB together, as they are stored, with every alias written out: the first %d have %d KiB, of which %s in %s has %d KiB",
			maxPoolsBytes>>20, len(l.pools), l.poolBytes>>10, quoted(l.largest.Pool.Name), l.largest.name, l.largest.size>>10), fewerPools)
	default:
		return true
	}
	l.overflow = true
	return false
}

package review

import (
	"github.com/nodepools/nodepools/apply/impact"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// Input is what a review is made of.
type Input struct {
	Compared Compared
	// Files are what the head defines; a pool that changes is told with its file
	// and line.
	Files []render.Definition
	// Before is the cluster that the difference is to.
	Before     plan.Cluster
	Difference *plan.Difference
	// NodesKnown is false where Before has no nodes because none are known.
	NodesKnown bool
	// Impact is nil where pods are not known.
	Impact *impact.Impact
	Notes  []string
}

// Of makes the review.
func Of(in Input) *Review { return &Review{APIVersion: APIVersion, Kind: Kind} }

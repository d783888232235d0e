package page

import (
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

const (
	// mostSeen is how many items of a list are shown without unfolding the rest.
	mostSeen = 10
	// mostListed is how many items of it are on the page at all.
	mostListed = 300
	// mostPods is how many pods of one item are named.
	mostPods = 60
	// fewPods is the number of pods up to which those of a section are shown unfolded.
	fewPods = 20
)

// section is one whose end is folded.
type section struct {
	ID, Title, Intro string
	// First are shown, and More can be unfolded.
	First, More []item
	// Left is how many further ones are omitted.
	Left int
}

// item is one of which some pods are named.
type item struct {
	review.Item
	Listed []impact.Pod
	// Left is how many pods are not listed.
	Left int
	// Open reports that the pods are shown unfolded.
	Open bool
}

func sections(all []review.Section) []section {
	var folded []section
	for _, of := range all {
		s := section{ID: of.ID, Title: of.Title, Intro: of.Intro}
		var pods int
		for _, each := range of.Items {
			pods += len(each.Pods)
		}
		for i, each := range of.Items[:min(len(of.Items), mostListed)] {
			listed := each.Pods[:min(len(each.Pods), mostPods)]
			shown := item{each, listed, len(each.Pods) - len(listed), pods <= fewPods}
			if i < mostSeen {
				s.First = append(s.First, shown)
			} else {
				s.More = append(s.More, shown)
			}
		}
		s.Left = len(of.Items) - len(s.First) - len(s.More)
		folded = append(folded, s)
	}
	return folded
}

// nodes are those that change, and those that enter pools and leave them.
func nodes(r *review.Review) []section {
	changed := review.Section{ID: "nodesChanged", Title: review.Count(r.Summary.Counts.NodesChanged, "node") + " changed"}
	var names []string
	for _, group := range r.Nodes {
		names = append(names, group.Names...)
	}
	var all []review.Section
	if len(names) > 0 {
		changed.Items = []review.Item{{Names: names}}
		all = append(all, changed)
	}
	return sections(append(all, review.Moves(r)...))
}

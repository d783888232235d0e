package review

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/impact"
)

// Section is a part of a review in words. Each form for people writes the same sections.
// Names and texts may be anybody's: who writes them sanitizes them.
type Section struct {
	// ID is the name of the count that it is about, or another word.
	ID    string
	Title string
	Intro string // empty for none
	Items []Item
	// Sign is that of the pods: they go, come, or stay.
	Sign rune
}

// Item is one thing of a section; each of its parts may be empty.
type Item struct {
	Head, Text string
	// Warning is what is harmful about it, Command what helps.
	Warning, Command string
	Names            []string
	Pods             []impact.Pod
}

// Guards are what keeps a change from being applied, or compared as it was asked for.
func Guards(r *Review) []Section {
	var all []Section
	if base := r.Compared.BrokenBase; base != nil {
		all = append(all, Section{ID: "brokenBase", Items: texts(base.List()),
			Title: fmt.Sprintf("The base %s is broken, and no source takes it: this compares with %s instead", Word(base.Revision), Visible(r.Compared.Base))})
	}
	if held := r.HeldBack; held != nil {
		all = append(all, Section{
			ID: "poolsHeldBack", Title: fmt.Sprintf("Held back: this would delete %d of %s, and deletes none of them", len(held.Pools), Count(held.Of, "pool")),
			Items: []Item{{Names: held.Pools}, {Text: held.Reason + "; " + held.Remedy}},
		})
	}
	releases := Section{ID: "releasesHeldBack", Title: Count(len(r.HeldReleases), "change") + " held back until approved"}
	for _, held := range r.HeldReleases {
		head := "the whole revision, of which nothing is applied before"
		if held.Pool != "" {
			head = "pool " + Word(held.Pool)
		}
		releases.Items = append(releases.Items, Item{Head: head, Text: held.Reason + "; " + held.Remedy})
	}
	return filled(append(all, releases))
}

// Schedule says when nodes follow.
func Schedule(r *Review) []Section {
	s := Section{ID: "rollouts", Title: "When nodes follow, if nothing else happens"}
	for _, rollout := range r.Rollouts {
		s.Items = append(s.Items, Item{Head: "pool " + Word(rollout.Pool), Text: rollout.Text(), Warning: cmp.Or(rollout.HaltText(), rollout.Stays)})
		for _, wave := range rollout.Waves {
			head := "nodes of pool " + Word(rollout.Pool)
			if wave.Name != "" {
				head = "wave " + Word(wave.Name) + " of pool " + Word(rollout.Pool)
			}
			s.Items = append(s.Items, Item{Head: head, Text: wave.Text(), Names: wave.Names()})
		}
	}
	bypassed := Section{ID: "rolloutsBypassed", Title: Count(r.Summary.Counts.RolloutsBypassed, "node") + " changed without asking a rollout"}
	for _, bypass := range r.BypassedRollouts {
		var rollouts []string
		for _, pool := range bypass.Rollouts {
			rollouts = append(rollouts, Word(pool))
		}
		bypassed.Items = append(bypassed.Items, Item{Head: "pool " + Word(bypass.Pool), Text: "does not ask the rollout of " + strings.Join(rollouts, ", "), Names: bypass.Nodes})
	}
	return filled([]Section{bypassed, s})
}

// Moves are the nodes that enter pools and leave them.
func Moves(r *Review) []Section {
	entering, leaving := Section{ID: "nodesEntering"}, Section{ID: "nodesLeaving"}
	in, out := 0, 0
	for _, pool := range r.Members {
		of := fmt.Sprintf("%d -> %s", pool.Before, Count(pool.After, "node"))
		if n := len(pool.Entering); n > 0 {
			in += n
			entering.Items = append(entering.Items, Item{Head: "pool " + Word(pool.Pool), Text: of, Names: pool.Entering})
		}
		if n := len(pool.Leaving); n > 0 {
			out += n
			leaving.Items = append(leaving.Items, Item{Head: "pool " + Word(pool.Pool), Text: of, Names: pool.Leaving})
		}
	}
	entering.Title, leaving.Title = Count(in, "node")+" entering a pool", Count(out, "node")+" leaving a pool"
	return filled([]Section{entering, leaving})
}

// Remarks are what stays as it is, and what is wrong.
func Remarks(r *Review) []Section {
	records := Section{ID: "records", Title: "Nodes on which nothing changes but whose each key is"}
	for _, nodes := range r.Nodes {
		if len(nodes.Changes) == 0 {
			records.Items = append(records.Items, Item{Names: nodes.Names})
		}
	}
	kept := Section{ID: "kept", Title: "Not in the files, and kept, as they are paused or marked so"}
	if len(r.Kept) > 0 {
		kept.Items = []Item{{Names: r.Kept}}
	}
	conflicts := Section{ID: "conflicts", Title: Count(r.Summary.Counts.Conflicts, "conflict") + ", left as they are"}
	for _, conflict := range r.Conflicts {
		text := conflict.Text()
		if conflict.Standing {
			text += ", as before"
		}
		conflicts.Items = append(conflicts.Items, Item{Text: text, Names: conflict.Nodes})
	}
	contests := Section{ID: "contests", Title: "Contested now, and put back each time"}
	for _, contest := range r.Contests {
		contests.Items = append(contests.Items, Item{Text: contest.Text()})
	}
	if more := r.MoreContestsText(); more != "" {
		contests.Items = append(contests.Items, Item{Text: more})
	}
	problems := Section{ID: "problems", Title: Count(len(r.Problems), "problem") + ", left alone", Items: texts(r.Problems)}
	return filled([]Section{records, kept, conflicts, contests, problems})
}

func texts(all []string) []Item {
	var items []Item
	for _, text := range all {
		items = append(items, Item{Text: text})
	}
	return items
}

// filled are the sections that have something.
func filled(all []Section) []Section {
	var some []Section
	for _, section := range all {
		if len(section.Items) > 0 {
			some = append(some, section)
		}
	}
	return some
}

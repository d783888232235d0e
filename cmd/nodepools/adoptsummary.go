package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/nodepools/nodepools/apply/adopt"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/wrap"
)

// adoptSummary says what was adopted, and what was left out and why.
type adoptSummary struct {
	*adopt.Proposal
	there   *observe.State
	options *adoptOptions
	files   []poolText
	// beside are other pool files of the folder, and folders in it.
	beside []string
}

func (s adoptSummary) write(std streams) {
	pooled := map[string]bool{}
	for _, pool := range s.Pools {
		for _, node := range pool.Nodes {
			pooled[node] = true
		}
	}
	fmt.Fprintf(std.err, "%s for %d of %s\n", plural(len(s.Pools), "pool"), len(pooled), plural(len(s.there.Nodes), "node"))
	for _, pool := range s.Pools {
		wrap.Hang(std.err, "  ", "    ", describePool(pool))
	}
	s.writeLeftOut(std.err)
	for _, note := range s.notes() {
		wrap.Hang(std.err, "note: ", "  ", strings.Fields(note))
	}
}

// describePool is the line of a pool.
func describePool(pool adopt.Pool) []string {
	by := "by name"
	switch {
	case pool.Spec.Selector != nil:
		by = "by label"
	case !pool.NewRole:
		by = "by role"
	}
	words := []string{inert(pool.Name) + ":", plural(len(pool.Nodes), "node"), by + ";", plural(len(pool.Spec.Labels), "label") + ",", plural(len(pool.Spec.Taints), "taint")}
	if pool.Spec.Parent != "" {
		words[len(words)-1] += ";"
		words = append(words, "within "+inert(pool.Spec.Parent))
	}
	return words
}

// fewKeys are so many that each is named although they share a domain.
const fewKeys = 3

// writeLeftOut has a paragraph for each reason.
func (s adoptSummary) writeLeftOut(w io.Writer) {
	if len(s.LeftOut) == 0 {
		return
	}
	fmt.Fprintln(w, "left out:")
	for first := 0; first < len(s.LeftOut); {
		next := first
		for next < len(s.LeftOut) && s.LeftOut[next].Why == s.LeftOut[first].Why {
			next++
		}
		words := append(strings.Fields(inert(s.LeftOut[first].Why)+":"), wrap.List(s.keys(s.LeftOut[first:next]))...)
		wrap.Hang(w, "  ", "    ", words)
		first = next
	}
}

// keys are those that are left out for one reason; many of one domain are counted.
func (s adoptSummary) keys(left []adopt.LeftOut) []string {
	domainOf := func(key string) string {
		domain, _, prefixed := strings.Cut(key, "/")
		if !prefixed {
			return ""
		}
		return domain
	}
	sharing := map[string]int{}
	for _, each := range left {
		sharing[domainOf(each.Key)]++
	}
	var keys []string
	for _, each := range left {
		domain := domainOf(each.Key)
		switch {
		case domain != "" && sharing[domain] > fewKeys:
			keys = append(keys, fmt.Sprintf("%d keys under %s/", sharing[domain], inert(domain)))
			sharing[domain] = -1
		case sharing[domain] < 0:
		case each.Nodes < len(s.there.Nodes):
			keys = append(keys, fmt.Sprintf("%s %s (%s)", each.Field, inert(each.Key), plural(each.Nodes, "node")))
		default:
			keys = append(keys, fmt.Sprintf("%s %s", each.Field, inert(each.Key)))
		}
	}
	return keys
}

// The bounds of one file of pools, as a source has them.
const (
	maxFilePools = 1000
	maxFileBytes = 1 << 20
)

// manyPools is from how many pools on nobody writes them by hand.
const manyPools = 50

// notes are what the reader should know before the pools are committed.
func (s adoptSummary) notes() []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, inert(fmt.Sprintf(format, args...))) }
	if roles, nodes := s.newRoles(); len(roles) == 1 {
		note("the role label of pool %s is new on %s; nothing else changes on nodes. --no-new-roles leaves the pool out", roles[0], plural(nodes, "node"))
	} else if len(roles) > 1 {
		note("the role labels of %d pools are new on %s, that of %s for one; nothing else changes on nodes. --no-new-roles leaves these pools out", len(roles), plural(nodes, "node"), roles[0])
	}
	if len(s.Unreadable) > 0 {
		note("the record of pools on %s cannot be read, so they are left alone: %s", plural(len(s.Unreadable), "node"), strings.Join(s.Unreadable[:min(len(s.Unreadable), 3)], ", "))
	}
	if s.OwnersUnknown > 0 {
		again := ""
		if s.options.inventory != "" {
			again = "; an inventory that is taken now has who set them"
		}
		note("nothing says who set the labels of %s: the domains of keys alone tell whose they are%s", plural(s.OwnersUnknown, "node"), again)
	}
	for _, key := range s.Unused {
		note("no pool chooses by %s: where nodes have it, other nodes have the same values", key)
	}
	if len(s.Pools) > manyPools && len(s.Splitting) > 0 {
		note("what parts the nodes into so many pools is %s for the most part: --exclude leaves out what no pool should be of", strings.Join(s.Splitting, ", "))
	}
	if text := oneFile(s.files); s.options.dir == "" && (len(s.files) > maxFilePools || len(text) > maxFileBytes) {
		note("this is more than one file of a source may hold: use --output-dir")
	}
	if len(s.beside) > 0 {
		note("%s also has %s, which may be of other pools: see with diff what they do beside these", s.options.dir, some(s.beside))
	}
	if len(s.there.Sources) > 0 {
		note("put the pools beside those of NodePoolSource %s before you compare them: what its folder lacks is deleted", s.there.Sources[0].Name)
	}
	return notes
}

// newRoles are the names of the pools whose role labels are new, and on how many nodes.
func (s adoptSummary) newRoles() (pools []string, nodes int) {
	on := map[string]bool{}
	for _, pool := range s.Pools {
		if !pool.NewRole {
			continue
		}
		pools = append(pools, pool.Name)
		for _, node := range pool.Nodes {
			on[node] = true
		}
	}
	return pools, len(on)
}

// plural is a number and what it counts.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// some are the first of names, and how many more there are.
func some(names []string) string {
	const few = 3
	var words []string
	for _, name := range names[:min(len(names), few)] {
		words = append(words, inert(name))
	}
	text := strings.Join(words, ", ")
	if more := len(names) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

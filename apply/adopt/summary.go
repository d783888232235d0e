package adopt

import (
	"fmt"
	"io"
	"strings"

	"github.com/nodepools/nodepools/api/sanitize"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/render/output"
)

// Summary says what is adopted, and what is left out and why.
type Summary struct {
	*Proposal
	// Nodes is how many there are. Source is the name of a NodePoolSource of the cluster,
	// if it has any.
	Nodes  int
	Source string
	// Files are those of the pools, and Folder is where they were written; empty where
	// they were printed. Others are other pool files in it, and folders.
	Files  []output.File
	Folder string
	Others []string
	// Inventory is set where the cluster was read from a file, which may be older than
	// this version.
	Inventory bool
}

// WriteText writes the summary for people.
func (s Summary) WriteText(w io.Writer) {
	pooled := map[string]bool{}
	for _, pool := range s.Pools {
		for _, node := range pool.Nodes {
			pooled[node] = true
		}
	}
	fmt.Fprintf(w, "%s for %d of %s\n", plural(len(s.Pools), "pool"), len(pooled), plural(s.Nodes, "node"))
	for _, pool := range s.Pools {
		wrap.Hang(w, "  ", "    ", describePool(pool))
	}
	s.writeLeftOut(w)
	for _, note := range s.notes() {
		wrap.Hang(w, "note: ", "  ", strings.Fields(note))
	}
}

// describePool is the line of a pool.
func describePool(pool Pool) []string {
	by := "by name"
	switch {
	case pool.Spec.Selector != nil:
		by = "by label"
	case !pool.NewRole:
		by = "by role"
	}
	words := []string{sanitize.Line(pool.Name) + ":", plural(len(pool.Nodes), "node"), by + ";", plural(len(pool.Spec.Labels), "label") + ",", plural(len(pool.Spec.Taints), "taint")}
	if pool.Spec.Parent != "" {
		words[len(words)-1] += ";"
		words = append(words, "within "+sanitize.Line(pool.Spec.Parent))
	}
	return words
}

// fewKeys are so many that each is named although they share a domain.
const fewKeys = 3

// writeLeftOut has a paragraph for each reason.
func (s Summary) writeLeftOut(w io.Writer) {
	if len(s.LeftOut) == 0 {
		return
	}
	fmt.Fprintln(w, "left out:")
	for first := 0; first < len(s.LeftOut); {
		next := first
		for next < len(s.LeftOut) && s.LeftOut[next].Why == s.LeftOut[first].Why {
			next++
		}
		words := append(strings.Fields(sanitize.Line(s.LeftOut[first].Why)+":"), wrap.List(s.keys(s.LeftOut[first:next]))...)
		wrap.Hang(w, "  ", "    ", words)
		first = next
	}
}

// keys are those that are left out for one reason; many of one domain are counted.
func (s Summary) keys(left []LeftOut) []string {
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
			keys = append(keys, fmt.Sprintf("%d keys under %s/", sharing[domain], sanitize.Line(domain)))
			sharing[domain] = -1
		case sharing[domain] < 0:
		case each.Nodes < s.Nodes:
			keys = append(keys, fmt.Sprintf("%s %s (%s)", each.Field, sanitize.Line(each.Key), plural(each.Nodes, "node")))
		default:
			keys = append(keys, fmt.Sprintf("%s %s", each.Field, sanitize.Line(each.Key)))
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
func (s Summary) notes() []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, sanitize.Line(fmt.Sprintf(format, args...))) }
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
		if s.Inventory {
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
	if text := OneFile(s.Files); s.Folder == "" && (len(s.Files) > maxFilePools || len(text) > maxFileBytes) {
		note("this is more than one file of a source may hold: use --output-dir")
	}
	if len(s.Others) > 0 {
		note("%s also has %s, which may be of other pools: see with diff what they do beside these", s.Folder, some(s.Others))
	}
	if s.Source != "" {
		note("put the pools beside those of NodePoolSource %s before you compare them: what its folder lacks is deleted", s.Source)
	}
	return notes
}

// newRoles are the names of the pools whose role labels are new, and on how many nodes.
func (s Summary) newRoles() (pools []string, nodes int) {
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
		words = append(words, sanitize.Line(name))
	}
	text := strings.Join(words, ", ")
	if more := len(names) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

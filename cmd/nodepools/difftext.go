package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/nodepools/nodepools/apply/plan"
)

// textWidth is the width of a terminal that everybody has.
const textWidth = 80

// writeText writes a comparison for people: what changes, in one line; then each
// pool and RuntimeClass, the nodes with the same changes together, and what is
// left alone and why.
func writeText(w io.Writer, c *comparison) error {
	var text bytes.Buffer
	wrapWords(&text, "", listed(summary(c)))
	for _, change := range c.Pools.Changes {
		if err := writePool(&text, c, change); err != nil {
			return err
		}
	}
	for _, change := range c.RuntimeClasses {
		if err := writeRuntimeClass(&text, change); err != nil {
			return err
		}
	}
	for _, group := range groupNodes(c.Nodes, changeLines) {
		fmt.Fprintln(&text)
		wrapWords(&text, "", append([]string{group.who("changed") + ":"}, listed(group.names)...))
		for _, line := range group.lines {
			fmt.Fprintln(&text, "  "+line)
		}
	}
	if c.Pools.Blocked != nil {
		fmt.Fprintln(&text, "\nNot pruned:")
		wrap(&text, "  ", c.Pools.Blocked.Error())
	}
	for _, group := range groupNodes(c.Nodes, conflictLines) {
		fmt.Fprintln(&text)
		wrapWords(&text, "", append([]string{"Conflicts, left as they are, on " + group.who("") + ":"}, listed(group.names)...))
		for _, line := range group.lines {
			wrap(&text, "  ", line)
		}
	}
	if len(c.Problems) > 0 {
		fmt.Fprintln(&text, "\nProblems, left alone:")
		for _, problem := range c.Problems {
			wrap(&text, "  ", problem.Error())
		}
	}
	_, err := w.Write(text.Bytes())
	return err
}

// happened says of each action what it does to an object.
var happened = map[plan.Action]string{
	plan.Create:  "created",
	plan.Update:  "changed",
	plan.Replace: "replaced",
	plan.Delete:  "deleted",
}

// actions in the order in which they are told.
var actions = []plan.Action{plan.Create, plan.Update, plan.Replace, plan.Delete}

func summary(c *comparison) []string {
	var parts []string
	tell := func(n int, noun, verb string) {
		if n > 0 {
			parts = append(parts, strings.TrimSpace(count(n, noun)+" "+verb))
		}
	}
	pools, classes := map[plan.Action]int{}, map[plan.Action]int{}
	for _, change := range c.Pools.Changes {
		pools[change.Action]++
	}
	for _, change := range c.RuntimeClasses {
		classes[change.Action]++
	}
	for _, action := range actions {
		tell(pools[action], "pool", happened[action])
	}
	for _, action := range actions {
		tell(classes[action], "RuntimeClass", happened[action])
	}
	nodes, conflicts := 0, 0
	for _, node := range c.Nodes {
		if !node.Quiet() {
			nodes++
		}
		conflicts += len(byKey(node.Conflicts))
	}
	tell(nodes, "node", "changed")
	if len(parts) == 0 {
		parts = append(parts, "no difference")
	}
	if c.Pools.Blocked != nil {
		tell(len(c.Pools.Blocked.Pools), "pool", "not pruned")
	}
	tell(conflicts, "conflict", "")
	tell(len(c.Problems), "problem", "")
	return parts
}

// nodeGroup are nodes of which the same is to be said.
type nodeGroup struct {
	names, lines []string
}

func (g *nodeGroup) who(verb string) string {
	return strings.TrimSpace(count(len(g.names), "node") + " " + verb)
}

// groupNodes puts the nodes with the same lines together, in the order of the
// first node of each group.
func groupNodes(nodes []plan.NodeDifference, lines func(plan.NodeDifference) []string) []*nodeGroup {
	var groups []*nodeGroup
	byLines := map[string]*nodeGroup{}
	for _, node := range nodes {
		said := lines(node)
		if len(said) == 0 {
			continue
		}
		same := strings.Join(said, "\n")
		if byLines[same] == nil {
			byLines[same] = &nodeGroup{lines: said}
			groups = append(groups, byLines[same])
		}
		byLines[same].names = append(byLines[same].names, node.Name)
	}
	return groups
}

// wrap writes a text in lines that fit a terminal, the second and later ones
// indented a little more. What stands in it on lines of its own stays so.
func wrap(w io.Writer, indent, text string) {
	for line := range strings.Lines(text) {
		wrapWords(w, indent, strings.Fields(line))
	}
}

// wrapWords keeps each word, which may hold spaces, on one line.
func wrapWords(w io.Writer, indent string, words []string) {
	hangWords(w, indent, indent+"  ", words)
}

// hangWords begins the first line and all others in ways of their own.
func hangWords(w io.Writer, first, others string, words []string) {
	line := first
	for i, word := range words {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth:
			fmt.Fprintln(w, line)
			line = others + strings.TrimLeft(word, " ")
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(w, line)
}

// listed makes the words of a list.
func listed(items []string) []string {
	words := make([]string, len(items))
	for i, item := range items {
		if words[i] = item; i < len(items)-1 {
			words[i] += ","
		}
	}
	return words
}

package markdown

import (
	"slices"
	"strings"

	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// sections are those of a review as they are written. The pods of all items of one are in a
// fold below it.
func sections(all []review.Section) []section {
	var written []section
	for _, of := range all {
		s := section{title: sentence(of.Title), intro: of.Intro, one: "item", more: "items"}
		f := &fold{}
		for _, item := range of.Items {
			s.rows = append(s.rows, itemText(item))
			if len(item.Pods) > 0 {
				f.parts = append(f.parts, part{"Of " + sentence(item.Head) + ":", podLines(of.Sign, item.Pods)})
			}
		}
		if n := f.lines(); n > 0 {
			f.html, s.fold = count(n, "pod", "pods"), f
		}
		written = append(written, s)
	}
	return written
}

// itemText is an item in one line.
func itemText(item review.Item) string {
	var parts []string
	for _, text := range []string{item.Text, item.Warning} {
		if text != "" {
			parts = append(parts, sentence(text))
		}
	}
	if item.Command != "" {
		parts = append(parts, code(item.Command))
	}
	text := strings.Join(parts, "; ")
	pieces := []string{sentence(item.Head), text}
	if nodes := slices.Concat(item.Names, nodesOf(item.Pods)); len(nodes) > 0 {
		pieces = append(pieces, names(nodes, maxName))
	}
	return strings.Join(slices.DeleteFunc(pieces, func(s string) bool { return s == "" }), ": ")
}

// nodesOf returns the nodes of pods, each once, sorted.
func nodesOf(pods []impact.Pod) []string {
	var nodes []string
	for _, pod := range pods {
		if pod.Node != "" {
			nodes = append(nodes, pod.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

func podLines(sign rune, pods []impact.Pod) []string {
	lines := make([]string, 0, len(pods))
	for _, pod := range pods {
		text := pod.Name
		if pod.Node != "" {
			text += " on " + pod.Node
		}
		lines = append(lines, diffLine(sign, text))
	}
	return lines
}

package adopt

import (
	"maps"
	"slices"
	"strings"
)

// nodeNames finds what chooses nodes by their names.
type nodeNames struct {
	// wide are, by group, patterns that match the nodes of the group and no others that
	// there are, and that match more than these.
	wide map[*group][]string
}

// fewNames are so many that each stands for itself.
const fewNames = 100

// lists are what stands for names in nodeNames, in as many pools as that takes, and
// the names of each. Whole names, and patterns that match nothing else, choose what
// there is and nothing that joins. Patterns that match more are for who asks for them.
func (n *nodeNames) lists(g *group, wide bool) []nameList {
	names := g.names()
	patterns := n.wide[g]
	if wide && len(patterns) <= maxNodeNames {
		return []nameList{{names, patterns}}
	}
	if list := exactly(names); len(list) <= maxNodeNames {
		return []nameList{{names, list}}
	}
	var lists []nameList
	for part := range slices.Chunk(names, maxNodeNames) {
		lists = append(lists, nameList{part, exactly(part)})
	}
	return lists
}

// nameList is names of nodes, and what stands for them in nodeNames.
type nameList struct{ names, patterns []string }

// exactly are whole names, or patterns that match these names and nothing else: where
// the names count through, and that makes fewer than half of the lines.
func exactly(names []string) []string {
	if len(names) <= fewNames {
		return names
	}
	if ranges := rangesOf(names); len(ranges) <= len(names)/2 {
		return ranges
	}
	return names
}

// rangesOf writes names that count as patterns of their digits: gpu-00[1-9] and
// gpu-0[1-3][0-9] for gpu-001 to gpu-039. They match the names and nothing else.
func rangesOf(names []string) []string {
	type frame struct {
		before, after string
		digits        int
	}
	counted := map[frame][]string{}
	var all []string
	for _, name := range names {
		before, digits, after, found := cutNumber(name)
		if !found {
			all = append(all, name)
			continue
		}
		at := frame{before, after, len(digits)}
		counted[at] = append(counted[at], digits)
	}
	for at, numbers := range counted {
		for _, digits := range digitPatterns(numbers) {
			all = append(all, at.before+digits+at.after)
		}
	}
	slices.Sort(all)
	return all
}

// cutNumber cuts a name at the number by which machines count: the last one before
// the first dot.
func cutNumber(name string) (before, digits, after string, found bool) {
	host, _, _ := strings.Cut(name, ".")
	end := strings.LastIndexAny(host, "0123456789") + 1
	start := end
	for start > 0 && isDigit(host[start-1]) {
		start--
	}
	return name[:start], name[start:end], name[end:], start < end
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digitPatterns are patterns that match numbers of equal length, and no others. Digits
// that are followed by the same are one pattern.
func digitPatterns(numbers []string) []string {
	if len(numbers[0]) == 0 {
		return []string{""}
	}
	rests := map[byte][]string{}
	for _, number := range numbers {
		rests[number[0]] = append(rests[number[0]], number[1:])
	}
	// The patterns of a set of rests say which set it is.
	patterns, first := map[string][]string{}, map[string][]byte{}
	for _, digit := range slices.Sorted(maps.Keys(rests)) {
		of := digitPatterns(rests[digit])
		set := strings.Join(of, "\n")
		patterns[set] = of
		first[set] = append(first[set], digit)
	}
	var all []string
	for set, digits := range first {
		for _, rest := range patterns[set] {
			all = append(all, classOf(digits)+rest)
		}
	}
	slices.Sort(all)
	return all
}

// classOf is a pattern that matches one of some digits, which are sorted.
func classOf(digits []byte) string {
	if len(digits) == 1 {
		return string(digits)
	}
	var class strings.Builder
	class.WriteByte('[')
	for i := 0; i < len(digits); {
		first := i
		for i++; i < len(digits) && digits[i] == digits[i-1]+1; i++ {
		}
		class.WriteByte(digits[first])
		if i-first > 2 {
			class.WriteByte('-')
		}
		if i-first > 1 {
			class.WriteByte(digits[i-1])
		}
	}
	class.WriteByte(']')
	return class.String()
}

// newNodeNames processes the names of all nodes at once, in time linear in their length.
func newNodeNames(groups []*group) *nodeNames {
	w := &widener{wide: map[*group][]string{}}
	for _, g := range groups {
		for _, node := range g.nodes {
			w.named = append(w.named, namedNode{node.name, g})
		}
	}
	slices.SortFunc(w.named, func(a, b namedNode) int { return strings.Compare(a.name, b.name) })
	w.until = make([]int, len(w.named))
	for i := len(w.named) - 1; i >= 0; i-- {
		if w.until[i] = i + 1; i+1 < len(w.named) && w.named[i].group == w.named[i+1].group {
			w.until[i] = w.until[i+1]
		}
	}
	w.split(0, len(w.named), 0)
	return &nodeNames{wide: w.wide}
}

// widener finds the shortest beginnings of names under which all nodes are of one
// group. It cuts names only where people do: behind a dash or a dot, and before a
// number.
type widener struct {
	named []namedNode
	// until is where the names end that follow one, itself among them, and are of
	// the same group.
	until []int
	wide  map[*group][]string
}

type namedNode struct {
	name  string
	group *group
}

// split goes through the names from lo to hi, which are alike up to a length.
func (w *widener) split(lo, hi, length int) {
	for lo < hi {
		name, g := w.named[lo].name, w.named[lo].group
		end, counts := nextCut(name, length)
		next := lo + 1
		for next < hi && beginsLike(w.named[next].name, name, end, counts) {
			next++
		}
		switch {
		case next == lo+1:
			w.wide[g] = append(w.wide[g], name)
		case w.until[lo] < next:
			w.split(lo, next, end)
		case counts:
			w.wide[g] = append(w.wide[g], name[:end]+"[0-9]*")
		default:
			w.wide[g] = append(w.wide[g], name[:end]+"*")
		}
		lo = next
	}
}

// nextCut is the next place behind a position where a name is cut, and whether a
// number follows there.
func nextCut(name string, from int) (end int, counts bool) {
	for i := from + 1; i < len(name); i++ {
		switch last := name[i-1]; {
		case last == '-' || last == '.':
			return i, false
		case isDigit(name[i]) && !isDigit(last):
			return i, true
		}
	}
	return len(name), false
}

// beginsLike reports whether a name is cut where another is, and is the same up to
// there.
func beginsLike(name, like string, end int, counts bool) bool {
	if end == len(like) || len(name) <= end || name[:end] != like[:end] {
		return false
	}
	return isDigit(name[end]) == counts || !counts
}

package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Compact combines names that differ only in their last number, such as
// gpu-[001-037,040], and keeps all others as they are. The result is in the
// order of the names, and lists each of them once: numbers that begin with a
// zero all have the same width.
func Compact(names []string) []string {
	families := map[family][]number{}
	var compact []named
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		f, n, found := split(name)
		if !found {
			compact = append(compact, named{name, name})
			continue
		}
		families[f] = append(families[f], n)
	}
	for f, numbers := range families {
		for _, same := range byWidth(numbers) {
			compact = append(compact, named{f.prefix + same[0].text + f.suffix, f.prefix + ranges(same) + f.suffix})
		}
	}
	slices.SortFunc(compact, func(a, b named) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.text, b.text)) })
	texts := make([]string, len(compact))
	for i, each := range compact {
		texts[i] = each.text
	}
	return texts
}

// named is a text and the first of the names that it stands for.
type named struct{ first, text string }

// family is the common part of names that differ in a number.
type family struct{ prefix, suffix string }

type number struct {
	text  string
	value uint64
}

// maxDigits is how long a number of a range may be.
const maxDigits = 15

// split finds the last number in a name.
func split(name string) (family, number, bool) {
	end := strings.LastIndexAny(name, "0123456789") + 1
	start := end
	for start > 0 && '0' <= name[start-1] && name[start-1] <= '9' {
		start--
	}
	if start == end || end-start > maxDigits {
		return family{}, number{}, false
	}
	value, err := strconv.ParseUint(name[start:end], 10, 64)
	return family{name[:start], name[end:]}, number{name[start:end], value}, err == nil
}

// byWidth groups numbers with leading zeros by their width, and all others
// together. One that could be in either group is in the former.
func byWidth(numbers []number) [][]number {
	padded := map[int]bool{}
	for _, n := range numbers {
		if n.text[0] == '0' && len(n.text) > 1 {
			padded[len(n.text)] = true
		}
	}
	parts := map[int][]number{}
	for _, n := range numbers {
		width := 0
		if padded[len(n.text)] {
			width = len(n.text)
		}
		parts[width] = append(parts[width], n)
	}
	var all [][]number
	for _, width := range slices.Sorted(maps.Keys(parts)) {
		slices.SortFunc(parts[width], func(a, b number) int { return cmp.Compare(a.value, b.value) })
		all = append(all, parts[width])
	}
	return all
}

// ranges writes numbers of one kind, which are sorted.
func ranges(numbers []number) string {
	if len(numbers) == 1 {
		return numbers[0].text
	}
	var parts []string
	for start := 0; start < len(numbers); {
		end := start
		for end+1 < len(numbers) && numbers[end+1].value == numbers[end].value+1 {
			end++
		}
		part := numbers[start].text
		if end > start {
			part = fmt.Sprintf("%s-%s", part, numbers[end].text)
		}
		parts = append(parts, part)
		start = end + 1
	}
	return "[" + strings.Join(parts, ",") + "]"
}

package render

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// members reports whether a node is a member of a pool, by matching and by the
// index; the two must agree.
func members(t *testing.T, pool *v1.NodePool, name string, have labels.Set) bool {
	t.Helper()
	expansion := Expand([]*v1.NodePool{pool})
	matched := expansion.pools[pool.Name].has(name, have)
	found := expansion.Node(name, have).Pools
	if slices.Contains(found, pool.Name) != matched {
		t.Errorf("node %q with %v: a member is %v when matched, and %v are found", name, have, matched, found)
	}
	return matched
}

// taken reports whether validation accepts a pool, and fails where it accepts
// one that cannot be applied.
func taken(t *testing.T, pool *v1.NodePool) bool {
	t.Helper()
	problems := v1.ValidateNodePool(pool)
	if err := Expand([]*v1.NodePool{pool}).Problem(pool.Name); err != nil && len(problems) == 0 {
		t.Errorf("validation takes what cannot be carried out: %v", err)
	}
	return len(problems) == 0
}

func valid(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) })
}

// FuzzNodeNames: patterns that a pool may have are exactly those of package
// path; they match what its documentation says; and the index finds the same
// members as matching.
func FuzzNodeNames(f *testing.F) {
	for _, pattern := range []string{"a", "*", "a*", "*-a*b-?", "[a-c]*", "[^a]", `a\*`, "a[", "[]a]", "[a-]", `[\]]`, "é?", "**a**b", "[a-c-e]", `\`, "[^]a]", "[", "[a", "a[^", "*[", "*\\"} {
		f.Add(pattern, "gpu-[0-9]", "a-ab-b")
	}
	f.Add(strings.Repeat("a*", 126), strings.Repeat("*a", 126)+"b", strings.Repeat("a", 253))
	f.Fuzz(func(t *testing.T, one, other, name string) {
		if !valid(one, other, name) {
			t.Skip("no file and no API server has such a text")
		}
		if strings.Contains(name, "/") {
			t.Skip("no node has such a name")
		}
		pool := define("p", byName(one, other))
		first, firstOK := parsePattern(one)
		second, secondOK := parsePattern(other)
		sound := Expand([]*v1.NodePool{pool}).Problem("p") == nil
		if sound != (firstOK && secondOK) {
			t.Fatalf("%q and %q are patterns: %v and %v, and the pool is taken: %v", one, other, firstOK, secondOK, sound)
		}
		if both := takesPattern(t, one) && takesPattern(t, other); taken(t, pool) != (both && one != other) {
			t.Errorf("%q and %q: validation says %v", one, other, v1.ValidateNodePool(pool))
		}
		if !sound {
			return
		}
		if want := matches(first, []rune(name)) || matches(second, []rune(name)); members(t, pool, name, nil) != want {
			t.Errorf("%q and %q match %q: want %v", one, other, name, want)
		}
	})
}

// plain matches patterns with classes of letters and digits alone, as people
// write them, and odd those with a class for which validation is stricter than
// package path.
var (
	plain = regexp.MustCompile(`^[^\\\[\]]*(\[[A-Za-z0-9-]+\][^\\\[\]]*)*$`)
	odd   = regexp.MustCompile(`\[[^\]]*[\[^]|\\[\[\]]`)
)

// takesPattern reports whether validation accepts an entry of nodeNames. No
// node name matches an entry that it refuses, and some name matches each plain
// pattern that it accepts.
func takesPattern(t *testing.T, pattern string) bool {
	t.Helper()
	problems := v1.ValidateNodeNamePattern(pattern, nil)
	parts, ok := parsePattern(pattern)
	possible := ok && pattern != "" && matchesSomeName(parts)
	switch takes := len(problems) == 0; {
	case takes && (!ok || strings.Contains(pattern, "/") || utf8.RuneCountInString(pattern) > 253):
		t.Errorf("%q is taken, and is no pattern of a name", pattern)
	case takes && !possible && plain.MatchString(pattern):
		t.Errorf("%q is taken, and matches no name", pattern)
	case !takes && possible && !odd.MatchString(pattern) && !strings.Contains(pattern, "/") && utf8.RuneCountInString(pattern) <= 253:
		t.Errorf("%q matches some name, and validation says %v", pattern, problems)
	}
	return len(problems) == 0
}

// matchesSomeName reports whether any valid node name matches: it follows the
// continuations of a DNS subdomain through the parts.
func matchesSomeName(parts []part) bool {
	const ( // what the name so far ends with
		nothing = 1 << iota // or with a dot
		letter              // or with a digit
		dash
	)
	step := func(from int, takes func(rune) bool) (to int) {
		for _, char := range "abcdefghijklmnopqrstuvwxyz0123456789" {
			if takes(char) {
				to |= letter
				break
			}
		}
		if from&(letter|dash) != 0 && takes('-') {
			to |= dash
		}
		if from&letter != 0 && takes('.') {
			to |= nothing
		}
		return to
	}
	states := nothing
	for _, p := range parts {
		if p.any {
			for range 3 {
				states |= step(states, func(rune) bool { return true })
			}
			continue
		}
		if states == 0 {
			return false
		}
		states = step(states, p.takes)
	}
	return states&letter != 0
}

// A part of a pattern: any characters, or one out of ranges.
type part struct {
	any    bool
	not    bool
	ranges [][2]rune
}

// takes reports whether a part that is one character may be this one.
func (p part) takes(char rune) bool {
	within := slices.ContainsFunc(p.ranges, func(r [2]rune) bool { return r[0] <= char && char <= r[1] })
	return within != p.not
}

// parsePattern reads a pattern by the rules of [path.Match], independently of
// its implementation.
func parsePattern(pattern string) (parts []part, ok bool) {
	rest := []rune(pattern)
	next := func() (rune, bool) {
		if len(rest) == 0 {
			return 0, false
		}
		char := rest[0]
		rest = rest[1:]
		return char, true
	}
	// one is a character of a range, which may be escaped, and is not - or ].
	one := func() (rune, bool) {
		char, there := next()
		switch {
		case !there || char == '-' || char == ']':
			return 0, false
		case char == '\\':
			return next()
		}
		return char, true
	}
	for len(rest) > 0 {
		switch char, _ := next(); char {
		case '*':
			parts = append(parts, part{any: true})
		case '?':
			parts = append(parts, part{not: true})
		case '\\':
			if char, ok = next(); !ok {
				return nil, false
			}
			parts = append(parts, part{ranges: [][2]rune{{char, char}}})
		case '[':
			p := part{}
			if len(rest) > 0 && rest[0] == '^' {
				p.not, rest = true, rest[1:]
			}
			for len(p.ranges) == 0 || len(rest) == 0 || rest[0] != ']' {
				low, there := one()
				high := low
				if there && len(rest) > 0 && rest[0] == '-' {
					rest = rest[1:]
					high, there = one()
				}
				if !there {
					return nil, false
				}
				p.ranges = append(p.ranges, [2]rune{low, high})
			}
			rest = rest[1:]
			parts = append(parts, p)
		default:
			parts = append(parts, part{ranges: [][2]rune{{char, char}}})
		}
	}
	return parts, true
}

// matches fills the table of which parts match which beginnings.
func matches(parts []part, name []rune) bool {
	reached := make([]bool, len(name)+1)
	reached[0] = true
	for _, p := range parts {
		after := make([]bool, len(name)+1)
		for i := range reached {
			if p.any {
				after[i] = reached[i] || i > 0 && after[i-1]
			} else if i > 0 && reached[i-1] {
				after[i] = p.takes(name[i-1])
			}
		}
		reached = after
	}
	return reached[len(name)]
}

// FuzzSelector: a selector is accepted when apimachinery accepts it, with
// validation as without, and not when it is empty; it matches what the API's
// documentation says; and the index finds the same members as matching.
func FuzzSelector(f *testing.F) {
	f.Add("zone", "a", "gpu", "In", "a,b", "zone=a gpu=b")
	f.Add("", "", "gpu", "NotIn", "a", "gpu=a")
	f.Add("", "", "gpu", "Exists", "", "gpu=")
	f.Add("k", "", "gpu", "DoesNotExist", "", "k=")
	f.Add("a b", "-", "k", "Near", "é", "k=v")
	f.Add("example.com/k", strings.Repeat("v", 64), strings.Repeat("k", 64), "In", "", "example.com/k=v")
	f.Add("", "", "", "", "", "k=v")
	f.Add("k", "1", "k", "Gt", "1", "k=2")
	f.Fuzz(func(t *testing.T, key, value, expressionKey, operator, values, have string) {
		if !valid(key, value, expressionKey, operator, values, have) {
			t.Skip("no file and no API server has such a text")
		}
		selector := &v1.LabelSelector{}
		if key != "" {
			selector.MatchLabels = map[string]v1.LabelValue{key: v1.LabelValue(value)}
		}
		if operator != "" {
			expression := v1.LabelSelectorRequirement{Key: expressionKey, Operator: metav1.LabelSelectorOperator(operator)}
			if values != "" {
				expression.Values = strings.Split(values, ",")
			}
			selector.MatchExpressions = append(selector.MatchExpressions, expression)
		}
		on := labels.Set{}
		for _, label := range strings.Fields(have) {
			key, value, _ := strings.Cut(label, "=")
			on[key] = value
		}
		pool := define("p", v1.NodePoolSpec{Selector: selector})
		apis, err := metav1.LabelSelectorAsSelector(selector.MetaV1())
		empty := key == "" && operator == ""
		sound := Expand([]*v1.NodePool{pool}).Problem("p") == nil
		if want := err == nil && !empty; sound != want || taken(t, pool) != want {
			t.Fatalf("%v is sound: %v, validation says %v, apimachinery %v", selector, sound, v1.ValidateNodePool(pool), err)
		}
		if !sound {
			return
		}
		got := members(t, pool, "n", on)
		if diff := cmp.Diff(apis.Matches(on), got); diff != "" || got != selects(selector, on) {
			t.Errorf("%v on %v: apimachinery matches %v, the rules do %v, the pool %v", selector, on, apis.Matches(on), selects(selector, on), got)
		}
	})
}

// selects reports whether a selector selects labels, as the API documents it.
func selects(selector *v1.LabelSelector, on map[string]string) bool {
	for key, value := range selector.MatchLabels {
		if have, there := on[key]; !there || have != string(value) {
			return false
		}
	}
	for _, expression := range selector.MatchExpressions {
		have, there := on[expression.Key]
		among := there && slices.Contains(expression.Values, have)
		if !map[metav1.LabelSelectorOperator]bool{
			metav1.LabelSelectorOpIn:           among,
			metav1.LabelSelectorOpNotIn:        !among,
			metav1.LabelSelectorOpExists:       there,
			metav1.LabelSelectorOpDoesNotExist: !there,
		}[expression.Operator] {
			return false
		}
	}
	return true
}

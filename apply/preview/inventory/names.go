package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A range of names is written prefix[low-high]rest. Where low has as many digits
// as high, so have all between them: n[08-12]. Else none begins with a zero:
// n[8-12].

// maxDigits keeps numbers within what an int64 holds.
const maxDigits = 15

// numbered is a name that is split at a number.
type numbered struct {
	prefix, digits, rest string
}

// takeApart splits a name at the number by which the names of machines count:
// the last one before the first dot.
func takeApart(name string) (numbered, bool) {
	host, _, _ := strings.Cut(name, ".")
	end := strings.LastIndexAny(host, "0123456789") + 1
	start := end
	for start > 0 && '0' <= host[start-1] && host[start-1] <= '9' {
		start--
	}
	if start == end || end-start > maxDigits {
		return numbered{}, false
	}
	return numbered{name[:start], name[start:end], name[end:]}, true
}

func (n numbered) value() int64 {
	value, err := strconv.ParseInt(n.digits, 10, 64)
	if err != nil {
		return 0 // digits alone, and few enough
	}
	return value
}

// padded reports whether the number has a zero before it, so that its width counts.
func (n numbered) padded() bool { return len(n.digits) > 1 && n.digits[0] == '0' }

// follows reports whether n is the next name after one of a range that begins with
// first.
func (n numbered) follows(last, first numbered) bool {
	if n.prefix != last.prefix || n.rest != last.rest || n.value() != last.value()+1 {
		return false
	}
	return len(n.digits) == len(last.digits) || !n.padded() && !first.padded()
}

// compact writes names as ranges, sorted.
func compact(names []string) []string {
	var plain []string
	var counted []numbered
	for _, name := range names {
		if n, ok := takeApart(name); ok {
			counted = append(counted, n)
		} else {
			plain = append(plain, name)
		}
	}
	slices.SortFunc(counted, func(a, b numbered) int {
		return cmp.Or(cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.rest, b.rest),
			cmp.Compare(a.value(), b.value()), cmp.Compare(len(a.digits), len(b.digits)))
	})
	for i := 0; i < len(counted); {
		first, last := counted[i], counted[i]
		for i++; i < len(counted) && counted[i].follows(last, first); i++ {
			last = counted[i]
		}
		if first == last {
			plain = append(plain, first.prefix+first.digits+first.rest)
		} else {
			plain = append(plain, first.prefix+"["+first.digits+"-"+last.digits+"]"+first.rest)
		}
	}
	slices.Sort(plain)
	return plain
}

// expand is the inverse of compact for one name or range. It returns none of more
// than limit names.
func expand(text string, limit int) ([]string, error) {
	prefix, tail, isRange := strings.Cut(text, "[")
	if !isRange {
		return []string{text}, nil
	}
	span, rest, closed := strings.Cut(tail, "]")
	low, high, both := strings.Cut(span, "-")
	first, last := numbered{prefix, low, rest}, numbered{prefix, high, rest}
	switch {
	case !closed, !both, !isNumber(low), !isNumber(high), len(low) != len(high) && (first.padded() || last.padded()), last.value() <= first.value():
		return nil, fmt.Errorf("%s is not a range of names, such as gpu-[001-037]", quote(text))
	case last.value()-first.value() >= int64(limit):
		return nil, fmt.Errorf("%s are too many names: a file has at most %d nodes", quote(text), maxNodes)
	case len(prefix)+len(high)+len(rest) > longestName:
		return nil, fmt.Errorf("%s are names that are too long", quote(text))
	}
	width := 0
	if len(low) == len(high) {
		width = len(low)
	}
	names := make([]string, 0, last.value()-first.value()+1)
	for n := first.value(); n <= last.value(); n++ {
		names = append(names, fmt.Sprintf("%s%0*d%s", prefix, width, n, rest))
	}
	return names, nil
}

func isNumber(text string) bool {
	return text != "" && len(text) <= maxDigits && strings.Trim(text, "0123456789") == ""
}

// isName reports whether a text may be the name of a node, a pod or another object.
func isName(text string) bool {
	return text != "" && len(text) <= longestName && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// longestName is how long a name in Kubernetes may be, in bytes.
const longestName = 253

// newName records the name of an object, and refuses a duplicate.
func newName(names map[string]bool, kind, name string) error {
	if !isName(name) {
		return fmt.Errorf("%s is not the name of a %s", quote(name), kind)
	}
	if names[name] {
		return fmt.Errorf("%s %q is there twice", kind, name)
	}
	names[name] = true
	return nil
}

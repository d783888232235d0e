package render

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// meant guesses the field that was meant by an unknown one.
func (d *decoder) meant(path *field.Path, name string, fields map[string]int) (meant, hint string) {
	known := slices.Sorted(maps.Keys(fields))
	if near := Nearest(name, known); near != "" {
		meant := near
		if path != nil {
			meant = path.Child(near).String()
		}
		return meant, didYouMean(near)
	}
	for parent, of := range map[string]reflect.Type{
		"spec":     reflect.TypeFor[v1.NodePoolSpec](),
		"metadata": reflect.TypeFor[metadata](),
	} {
		if _, elsewhere := fieldsOf(of)[name]; elsewhere && path.String() != parent && name != "labels" && name != "annotations" {
			return parent + "." + name, quoted(name) + " belongs under " + parent
		}
	}
	if path == nil && (name == "labels" || name == "annotations") {
		return "", quoted(name) + " belongs under spec, for those of the nodes"
	}
	return "", "known here: " + strings.Join(known, ", ")
}

// Nearest returns the known word that was probably meant by another, empty if
// there is none: one that differs only in case or separators, or in one or two
// typos.
func Nearest(word string, known []string) string {
	best, bestSlips := "", 3
	joined := unjoined.Replace(word)
	for _, candidate := range known {
		if strings.EqualFold(word, candidate) || strings.EqualFold(joined, candidate) {
			return candidate
		}
		// A short word becomes any other with two typos.
		if slips := distance(word, candidate, 3); slips < bestSlips && slips*3 <= len(candidate) {
			best, bestSlips = candidate, slips
		}
	}
	return best
}

// unjoined removes the separators that other notations have within a word.
var unjoined = strings.NewReplacer(" ", "", "_", "", "-", "")

// meantOperator returns the operator of a selector for its notation in other
// languages, empty if there is none.
func meantOperator(word string) string {
	switch strings.ToLower(unjoined.Replace(word)) {
	case "=", "==", "eq", "equal", "equals", "is", "oneof":
		return string(metav1.LabelSelectorOpIn)
	case "!=", "<>", "ne", "neq", "notequal", "notequals", "isnot", "noneof":
		return string(metav1.LabelSelectorOpNotIn)
	case "has", "present":
		return string(metav1.LabelSelectorOpExists)
	case "!", "hasnot", "absent", "notexist", "notexists":
		return string(metav1.LabelSelectorOpDoesNotExist)
	default:
		return ""
	}
}

// distance returns the number of bytes to insert, drop, change or swap with the
// next to make one word of the other, at most most: cells of the table that are
// that far from its diagonal are not computed.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	older, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, last, row = last, row, older
		from, to := max(1, i-most+1), min(len(b), i+most-1)
		row[from-1] = min(i, most)
		if to < len(b) {
			row[to+1] = most
		}
		for j := from; j <= to; j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return min(row[len(b)], most)
}

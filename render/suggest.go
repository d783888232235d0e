package render

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// meant guesses the field for which an unknown one was written.
func (d *decoder) meant(path *field.Path, name string, fields map[string]int) (meant, hint string) {
	known := slices.Sorted(maps.Keys(fields))
	if near := Nearest(name, known); near != "" {
		meant := near
		if path != nil {
			meant = path.Child(near).String()
		}
		return meant, "did you mean " + quoted(near) + "?"
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

// Nearest returns the known word for which another was probably written, empty
// if there is none: one that differs in case alone, or in a slip or two.
func Nearest(word string, known []string) string {
	best, bestSlips := "", 3
	for _, candidate := range known {
		if strings.EqualFold(word, candidate) {
			return candidate
		}
		// A short word turns into any other with two slips.
		if slips := distance(word, candidate, 3); slips < bestSlips && slips*3 <= len(candidate) {
			best, bestSlips = candidate, slips
		}
	}
	return best
}

// distance is the number of bytes to insert, drop, change or swap with the next
// that make one word of the other. From most on, it is not counted further.
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
		row[0] = i
		for j := 1; j <= len(b); j++ {
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

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/render"
)

// maxUndecided is how many of the pools are named that lose a key to an older one.
const maxUndecided = 3

// Undecided says of each key that pools want and another of the same priority has, who
// has it: of pools that exist in files only nobody knows which is created first.
func Undecided(desired render.Desired) []string {
	var lines []string
	add := func(field Field, key string, want render.Want) {
		if len(want.Younger) == 0 {
			return
		}
		var claims []string
		for _, claim := range want.Younger[:min(len(want.Younger), maxUndecided)] {
			claims = append(claims, fmt.Sprintf("pool %q wants %q", claim.Pool, claim.Value))
		}
		if more := len(want.Younger) - maxUndecided; more > 0 {
			claims = append(claims, fmt.Sprintf("and %d more", more))
		}
		lines = append(lines, fmt.Sprintf("%s %s is as pool %q wants it: of pools of equal priority the one that is created first wins, here the first by name; %s", field, key, want.Pool, strings.Join(claims, ", ")))
	}
	for _, key := range slices.Sorted(maps.Keys(desired.Labels)) {
		add(Label, key, desired.Labels[key])
	}
	for _, key := range slices.Sorted(maps.Keys(desired.Annotations)) {
		add(Annotation, key, desired.Annotations[key])
	}
	for id, want := range desired.Taints {
		add(Taint, id.String(), want)
	}
	slices.Sort(lines)
	return lines
}

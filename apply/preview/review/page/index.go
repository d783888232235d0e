package page

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

const (
	// fewPools is the number of pools up to which their cards are unfolded.
	fewPools = 12
	// fewCards is the number of cards up to which each is shown, folded. More of
	// them are put into chunks, which a reader unfolds.
	fewCards = 120
	// chunkSize is how many pools are in one.
	chunkSize = 50
)

// entries are the pools of an index with the same kind of change.
type entries struct {
	// ID is the anchor for the count of the summary; empty where the summary does
	// not count them.
	ID    string
	Title string
	Tone  string
	Pools []pool
}

// index lists every pool, by the kind of its change and then by name.
func index(pools []pool) []entries {
	all := []entries{
		{ID: "poolsCreated", Title: "created", Tone: tone(plan.Create)},
		{ID: "poolsChanged", Title: "changed", Tone: tone(plan.Update)},
		{ID: "poolsDeleted", Title: "deleted", Tone: tone(plan.Delete)},
		{Title: "unchanged"}, // but for their nodes or RuntimeClasses
	}
	for _, pool := range pools {
		if len(pool.Pools) == 0 {
			all[len(all)-1].Pools = append(all[len(all)-1].Pools, pool)
		}
		for _, object := range pool.Pools {
			if at := slices.IndexFunc(all, func(e entries) bool { return e.Title == review.Happened(object.Action) }); at >= 0 {
				all[at].Pools = append(all[at].Pools, pool)
			}
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Pools, func(a, b pool) int { return cmp.Compare(a.Name, b.Name) })
	}
	return slices.DeleteFunc(all, func(e entries) bool { return len(e.Pools) == 0 })
}

// chunk is pools that are folded together.
type chunk struct {
	// Title is empty where nothing is folded.
	Title string
	Pools []pool
}

func chunks(pools []pool) []chunk {
	if len(pools) <= fewCards {
		return []chunk{{Pools: pools}}
	}
	var all []chunk
	for some := range slices.Chunk(pools, chunkSize) {
		first, last := some[0].Name, some[len(some)-1].Name
		all = append(all, chunk{fmt.Sprintf("%s to %s", review.Word(first), review.Word(last)), some})
	}
	return all
}

// anchors are the ids of a page that are made of names; each is used once.
type anchors map[string]bool

// plainName matches valid names of Kubernetes, of any length.
var plainName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// anchor returns the id for a name, such as pool-gpu. An invalid name, or one
// that is used twice, gets a number, after a character that no name has.
func (a anchors) anchor(kind, name string) string {
	id := kind + "-" + name
	if len(name) > 253 || !plainName.MatchString(name) || a[id] {
		id = fmt.Sprintf("%s_%d", kind, len(a)+1)
	}
	a[id] = true
	return id
}

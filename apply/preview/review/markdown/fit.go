package markdown

import (
	"fmt"
	"math"
	"strings"
)

// fewLines is the least number of lines that a fold is worth. Rather than
// showing fewer of each, the last folds are omitted.
const fewLines = 8

// An overview of everything comes before details of anything: so many rows of
// each impact, and of each list.
const (
	fewRows    = 50
	fewEntries = 5
)

// limits are how much of each is shown.
type limits struct {
	// rows of each impact, and entries of each list.
	rows, entries int
	// pools that are named at least.
	pools int
	// folds from the first one on, and the lines in each.
	folds, lines int
}

// fit writes as much of the document as fits. The more important parts are
// filled first; within a part each table, list or fold has the same share, so
// that the longest is cut first.
func (d *document) fit(maxBytes int) (string, error) {
	if all, fits := d.write(unlimited(), maxBytes); fits {
		return all, nil
	}
	var l limits
	least, fits := d.write(l, math.MaxInt)
	if len(least) > maxBytes || !fits {
		return "", fmt.Errorf("a comment of %s does not hold the summary, which takes %s\nraise --max-bytes to %d or more",
			count(maxBytes, "byte", "bytes"), thousands(len(least)), len(least))
	}
	most := d.most()
	for _, step := range []struct {
		limit *int
		most  int
	}{
		{&l.rows, min(most.rows, fewRows)},
		{&l.entries, min(most.entries, fewEntries)},
		{&l.pools, most.pools},
		{&l.rows, most.rows},
		{&l.entries, most.entries},
		{&l.folds, most.folds},
		{&l.lines, most.lines},
	} {
		if step.limit == &l.folds {
			l.lines = fewLines // of no folds so far
		}
		raise(step.limit, step.most, func() bool { _, fits := d.write(l, maxBytes); return fits })
	}
	comment, fits := d.write(l, maxBytes)
	if !fits {
		return "", fmt.Errorf("the comment does not fit %d bytes: this is a bug of nodepools", maxBytes)
	}
	return comment, nil
}

// raise finds the highest limit with which everything fits. The given one does.
func raise(limit *int, most int, fits func() bool) {
	low, high := *limit, max(*limit, most)
	for low < high {
		*limit = low + (high-low+1)/2
		if fits() {
			low = *limit
		} else {
			high = *limit - 1
		}
	}
	*limit = low
}

func unlimited() limits {
	return limits{math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt}
}

// left is what limits omit.
type left struct{ pools, entries, lines int }

// notice returns what is omitted, and where to find it.
func (l left) notice(command string) string {
	var parts []string
	if l.pools > 0 {
		parts = append(parts, count(l.pools, "pool", "pools"))
	}
	if l.entries > 0 {
		parts = append(parts, count(l.entries, "entry", "entries"))
	}
	if l.lines > 0 {
		parts = append(parts, count(l.lines, "line", "lines"))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("**Cut to fit:** … %s left out; to see all, run: %s", strings.Join(parts, ", "), code(command))
}

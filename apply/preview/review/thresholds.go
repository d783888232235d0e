package review

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/render"
)

// Threshold is the value from which on a count of a review is too high.
type Threshold struct {
	// Count is the name of one of [Counts], as JSON has it.
	Count string
	// TooMany is the least number that is too much: 1 for "evictions>0".
	TooMany int
}

// String returns the threshold as [ParseThresholds] reads it.
func (t Threshold) String() string { return fmt.Sprintf("%s>=%d", t.Count, t.TooMany) }

// ErrNotKnown means that a count cannot be compared, because what it counts is
// not known. Its value of 0 is then meaningless.
var ErrNotKnown = errors.New("not known")

// ParseThresholds reads thresholds such as "evictions>0,nodesChanged>=100". Each
// names a count of [Counts]; there are > and >=, and whole numbers.
func ParseThresholds(text string) ([]Threshold, error) {
	var thresholds []Threshold
	for _, item := range strings.Split(text, ",") {
		threshold, err := parseThreshold(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		thresholds = append(thresholds, threshold)
	}
	return thresholds, nil
}

// operators that begin with another one come before it. Invalid ones are listed
// so that they are recognized.
var operators = []string{">=", "=>", "<=", "==", "!=", ">", "<", "="}

func parseThreshold(item string) (Threshold, error) {
	if item == "" {
		return Threshold{}, errors.New("a threshold is empty: write one such as evictions>0")
	}
	at := strings.IndexAny(item, "<>=!")
	if at < 0 {
		return Threshold{}, fmt.Errorf("threshold %q says no number: write it such as %s>0", item, firstOf(item, "evictions"))
	}
	name, rest := strings.TrimSpace(item[:at]), item[at:]
	operator := rest[:1]
	for _, known := range operators {
		if strings.HasPrefix(rest, known) {
			operator = known
			break
		}
	}
	number := strings.TrimSpace(rest[len(operator):])
	if operator != ">" && operator != ">=" {
		return Threshold{}, fmt.Errorf("threshold %q: the operator %s is not known: must be > or >=", item, operator)
	}
	if err := checkCount(name); err != nil {
		return Threshold{}, fmt.Errorf("threshold %q: %w", item, err)
	}
	limit, err := strconv.ParseUint(number, 10, 31)
	switch {
	case err != nil:
		return Threshold{}, fmt.Errorf("threshold %q: %q is no whole number from 0 to 2147483647", item, number)
	case operator == ">=" && limit == 0:
		return Threshold{}, fmt.Errorf("threshold %q is met by every change: write %s>0 for any at all", item, name)
	case operator == ">":
		limit++
	}
	return Threshold{Count: name, TooMany: int(limit)}, nil
}

// firstOf returns name if it is that of a count, and else other.
func firstOf(name, other string) string {
	if checkCount(name) == nil {
		return name
	}
	return other
}

// CountNames returns the names of all counts, in the order in which a review has them.
func CountNames() []string {
	of := reflect.TypeFor[Counts]()
	names := make([]string, of.NumField())
	for i := range names {
		names[i] = of.Field(i).Tag.Get("json")
	}
	return names
}

func checkCount(name string) error {
	names := CountNames()
	if slices.Contains(names, name) {
		return nil
	}
	known := "known are " + strings.Join(names, ", ")
	if near := render.Nearest(name, names); near != "" {
		return fmt.Errorf("%q is no count: did you mean %q? %s", name, near, known)
	}
	return fmt.Errorf("%q is no count: %s", name, known)
}

// number returns the count of a name that [ParseThresholds] has accepted.
func (c Counts) number(name string) int {
	return int(reflect.ValueOf(c).Field(slices.Index(CountNames(), name)).Int())
}

// Exceeds returns a sentence for each exceeded threshold, in their order. Where
// the count of a threshold is not known, the error is [ErrNotKnown], whether or
// not others are exceeded.
func (r *Review) Exceeds(thresholds []Threshold) ([]string, error) {
	var exceeded []string
	for _, threshold := range thresholds {
		if missing := r.missing(threshold.Count); missing != "" {
			return nil, r.notKnown(threshold.Count, "", missing)
		}
		if n := r.Summary.Counts.number(threshold.Count); n >= threshold.TooMany {
			exceeded = append(exceeded, fmt.Sprintf("%s: %d, and the limit is %d", threshold.Count, n, threshold.TooMany-1))
		}
	}
	return exceeded, nil
}

// missing says what must be known for a count and is not; nothing where all is.
func (r *Review) missing(name string) string {
	switch need := needs[name]; {
	case r.Compared.MovedBase != "":
		return r.Compared.MovedBase + " has other pools than the merge base"
	case need == "pods" && r.Impact == nil:
		return "the comparison knows no pods"
	case need == "nodes" && r.Compared.Nodes == nil:
		return "the comparison knows no nodes"
	default:
		return ""
	}
}

// notKnown is an [ErrNotKnown] about a count, with what is missing, and where.
func (r *Review) notKnown(count, where, missing string) error {
	err := fmt.Errorf("%s %w%s: %s", count, ErrNotKnown, where, missing)
	if r.Compared.MovedBase != "" {
		return hint.Add(err, "merge it into the head first")
	}
	return err
}

// needs is what must be known for each count; nothing for those of files alone.
var needs = map[string]string{
	"poolsCreated":           "",
	"poolsChanged":           "",
	"poolsDeleted":           "",
	"poolsHeldBack":          "",
	"releasesHeldBack":       "nodes",
	"runtimeClassesCreated":  "",
	"runtimeClassesChanged":  "",
	"runtimeClassesReplaced": "",
	"runtimeClassesDeleted":  "",
	"nodesChanged":           "nodes",
	"nodesEntering":          "nodes",
	"nodesLeaving":           "nodes",
	"conflicts":              "nodes",
	"newConflicts":           "nodes",
	"problems":               "",
	"newProblems":            "",
	"evictions":              "pods",
	"podsDrained":            "pods",
	"finishedPodsDeleted":    "pods",
	"budgetsExceeded":        "pods",
	"budgetsBlocking":        "pods",
	"unschedulable":          "pods",
	"podsStranded":           "pods",
	"notRecreated":           "pods",
	"noFeasibleNode":         "pods",
	"daemonPodsRemoved":      "pods",
	"daemonPodsStarted":      "pods",
	"runtimeClassesInUse":    "pods",
	"overlaps":               "pods",
	"waves":                  "nodes",
	"evictionsPerWave":       "pods",
	"policyWeakened":         "",
	"rolloutsBypassed":       "nodes",
	"emptyWaves":             "nodes",
	"rolloutsHalted":         "nodes",
}

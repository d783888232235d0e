package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// belongings are what somebody has put on one node and nobody else may change.
type belongings struct {
	labels, annotations map[string]string
	taints              []corev1.Taint
	// conditions are the reasons of conditions, by their type.
	conditions    map[string]string
	unschedulable bool
}

func (b belongings) clone() belongings {
	b.labels, b.annotations, b.conditions = maps.Clone(b.labels), maps.Clone(b.annotations), maps.Clone(b.conditions)
	b.taints = slices.Clone(b.taints)
	return b
}

// flat has one entry for each thing that can be lost by itself: what it is, and
// its value.
func (b belongings) flat() map[string]string {
	all := map[string]string{}
	for key, value := range b.labels {
		all["label "+key] = value
	}
	for key, value := range b.annotations {
		all["annotation "+key] = value
	}
	for _, taint := range b.taints {
		all[taintText(taint)] = taint.Value
		if taint.TimeAdded != nil {
			all["timeAdded of "+taintText(taint)] = taint.TimeAdded.UTC().Format(time.RFC3339)
		}
	}
	for kind, reason := range b.conditions {
		all["condition "+kind] = reason
	}
	if b.unschedulable {
		all["spec.unschedulable"] = "true"
	}
	return all
}

func taintText(taint corev1.Taint) string {
	return "taint " + taint.Key + ":" + string(taint.Effect)
}

// leftBehind is what somebody has left behind on a node. Under the same name another
// node may come, on which it has left nothing.
type leftBehind struct {
	uid types.UID
	belongings
}

// loss is something that stands on a node otherwise than it was left there.
type loss struct {
	node, writer, what string
	left, there        string
}

func (l loss) String() string {
	return fmt.Sprintf("node %s: %s of %s was left as %s and is %s", l.node, l.what, l.writer, l.left, l.there)
}

// lossesOf compares what was left with what is there.
func lossesOf(writer, node string, left, there map[string]string) []loss {
	var all []loss
	compare := func(what string) {
		before, was := left[what]
		now, is := there[what]
		if was != is || before != now {
			all = append(all, loss{node: node, writer: writer, what: what, left: valueText(before, was), there: valueText(now, is)})
		}
	}
	for what := range left {
		compare(what)
	}
	for what := range there {
		if _, was := left[what]; !was {
			compare(what)
		}
	}
	slices.SortFunc(all, func(a, b loss) int { return strings.Compare(a.what, b.what) })
	return all
}

func valueText(value string, found bool) string {
	if !found {
		return "absent"
	}
	return fmt.Sprintf("%q", value)
}

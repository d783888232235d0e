package main

import (
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// changeLines tell what changes on a node, a line per key: + is put there, - is
// taken away, ~ gets another value.
func changeLines(node plan.NodeDifference) []string {
	var lines []string
	for _, change := range node.Changes {
		sign, what := "~", ""
		switch {
		case change.Before == nil && change.After != nil:
			sign, what = "+", written(change.Field, change.Key, *change.After)
		case change.After == nil && change.Before != nil:
			sign, what = "-", written(change.Field, change.Key, *change.Before)
		case change.Before != nil && change.After != nil:
			what = written(change.Field, change.Key, *change.Before) + " -> " + value(change.Field, *change.After)
		}
		why := "pool " + word(change.Pool) // of a record that anybody may have written
		if change.Drift {
			why += ", put back"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s  (%s)", sign, change.Field, what, why))
	}
	if len(lines) == 0 && !node.Quiet() {
		lines = append(lines, fmt.Sprintf("~ annotation %s  (whose each key is)", v1.AppliedAnnotation))
	}
	return lines
}

// conflictLines tell what pools want of a node and do not get, a line per key.
func conflictLines(node plan.NodeDifference) []string {
	var lines []string
	for _, same := range byKey(node.Conflicts) {
		var claims []string
		for _, conflict := range same {
			claims = append(claims, fmt.Sprintf("pool %s wants %s", conflict.Pool, value(conflict.Field, conflict.Want)))
		}
		line := fmt.Sprintf("%s %s: %s", same[0].Field, same[0].Key, strings.Join(claims, ", "))
		switch have, contested := same[0].Have, len(same[0].Rivals) > 0; {
		case same[0].Holder != "":
			line += ", and pool " + same[0].Holder + ", which is paused or in error, holds it"
		case !contested && have != nil:
			line += ", and somebody else has set " + value(same[0].Field, *have)
		case have != nil:
			line += ", at the same priority; it stays at " + value(same[0].Field, *have)
		default:
			line += ", at the same priority; it stays unset"
		}
		lines = append(lines, line)
	}
	return lines
}

// byKey puts the conflicts of one key together: each of the pools that disagree
// reports one. They come sorted.
func byKey(conflicts []plan.Conflict) [][]plan.Conflict {
	var keys [][]plan.Conflict
	for i, conflict := range conflicts {
		if i > 0 && conflict.Field == conflicts[i-1].Field && conflict.Key == conflicts[i-1].Key {
			keys[len(keys)-1] = append(keys[len(keys)-1], conflict)
			continue
		}
		keys = append(keys, []plan.Conflict{conflict})
	}
	return keys
}

// written is a key with its value as kubectl label and kubectl taint take it.
func written(field plan.Field, key, text string) string {
	if name, effect, isTaint := cutLast(key, ":"); field == plan.Taint && isTaint {
		if text == "" {
			return key
		}
		return name + "=" + text + ":" + effect
	}
	return key + "=" + value(field, text)
}

// value is the value of a key. An annotation may hold anything at all, so it is
// quoted; the others hold letters, digits and little else.
func value(field plan.Field, text string) string {
	if field == plan.Annotation || text == "" || strconv.Quote(text) != `"`+text+`"` {
		return strconv.QuoteToGraphic(text)
	}
	return text
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

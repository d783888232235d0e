package plan

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// TestShortcutsDecideNothing holds what saves a plan time to what it saves: of a
// unchanged key the rule decides nothing, and where labels are left alone pools see
// what they saw. A record from memory is the one that is read.
func TestShortcutsDecideNothing(t *testing.T) {
	s, keysAtRest, labelsLeft := newServer(), 0, 0
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		w.live(t, s, true, func(at step) {
			pools := at.expansion()
			read, err := ParseRecord(at.before.Annotations[v1.AppliedAnnotation])
			if err != nil {
				t.Fatal(err)
			}
			recorded, err := readRecord(at.before)
			if diff := cmp.Diff(read, recorded); err != nil || diff != "" {
				t.Fatalf("%v (-read +from memory):\n%s", err, diff)
			}
			seen := recorded.underlyingLabels(at.before.Labels)
			p := weighAll(at.before, ownership{recorded: recorded, live: recorded}, seen, pools)
			if p.leavesLabels() {
				labelsLeft++
				if after := p.Record.underlyingLabels(p.labelsAfter(at.before.Labels)); !maps.Equal(seen, after) {
					t.Errorf("labels are left alone, and pools see %v after %v", after, seen)
				}
			}
			others := &owners{object: at.before}
			keysAtRest += decidesNothing(t, keys[string]{
				keyField: labels, node: at.before, others: others, pools: pools, recorded: recorded.Labels, want: p.desired.Labels,
			})
			keysAtRest += decidesNothing(t, keys[string]{
				keyField: annotations, node: at.before, others: others, pools: pools, recorded: recorded.Annotations, want: p.desired.Annotations,
			})
			keysAtRest += decidesNothing(t, keys[render.TaintID]{
				keyField: taints, node: at.before, others: others, pools: pools, recorded: recorded.Taints, want: p.desired.Taints,
			})
			if diff := cmp.Diff(read, recorded); diff != "" {
				t.Errorf("planning has changed what is remembered (-read +remembered):\n%s", diff)
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if keysAtRest < worlds || labelsLeft < worlds {
		t.Errorf("only %d unchanged keys, and labels left alone %d times, in %d worlds", keysAtRest, labelsLeft, worlds)
	}
}

// decidesNothing holds the unchanged keys to the rule and counts them.
func decidesNothing[K comparable](t *testing.T, k keys[K]) (unchanged int) {
	t.Helper()
	all := map[K]bool{}
	for key := range k.want {
		all[key] = true
	}
	for key := range k.recorded {
		all[key] = true
	}
	for key := range all {
		if !k.unchanged(key) {
			continue
		}
		unchanged++
		decision := k.verdict(key)
		entry, ours := k.recorded[key]
		if decision.change || decision.conflict || (decision.entry != nil) != ours || ours && !decision.entry.equal(entry) {
			t.Errorf("%s %v is unchanged, and the rule decides %+v", k.field, key, decision)
		}
	}
	return unchanged
}

// What is remembered is bounded, what is asked of again stays, and what cannot be
// read is not remembered as if it said nothing.
func TestRecordMemo(t *testing.T) {
	memo := &recordMemo{}
	text := func(i int) string {
		return recordOf(Label, Entry{Pool: "p", Value: fmt.Sprint(i) + strings.Repeat("x", 10_000)}).String()
	}
	check := func(i int) {
		t.Helper()
		want, err := ParseRecord(text(i))
		if err != nil {
			t.Fatal(err)
		}
		got, err := memo.read(text(i))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("record %d: %v (-read +from memory):\n%s", i, err, diff)
		}
	}
	for i := range 500 {
		check(i)
		check(0)
		total := 0
		for _, generation := range []map[string]Record{memo.young, memo.older} {
			for text := range generation {
				total += len(text)
			}
		}
		if total > 2*maxMemo {
			t.Fatalf("%d bytes are remembered after %d records", total, i)
		}
	}
	if _, known := memo.recall(text(0)); !known {
		t.Error("what is asked of again and again is forgotten")
	}
	if _, known := memo.recall(text(1)); known {
		t.Error("what was asked of long ago is remembered")
	}
	for range 2 {
		if record, err := memo.read(`{"version":9}`); err == nil || !record.Empty() {
			t.Errorf("read as %v, %v", record, err)
		}
	}
	if record, err := memo.read(""); err != nil || !record.Empty() {
		t.Errorf("no record is read as %v, %v", record, err)
	}
	var done sync.WaitGroup
	for i := range 100 {
		done.Go(func() { check(i % 60) })
	}
	done.Wait()
}

package plan

import (
	"errors"
	"maps"
	"slices"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// records are texts to start from.
var records = []string{
	"", "{}", "null", `{"version":1}`, `{"version":2}`, `{"version":1,"labels":null}`,
	`{"version":1,"labels":{"k0":{"pool":"a","value":"1"}}}`,
	`{"version":1,"labels":{"k0":{"pool":"a","value":"","before":"","adopted":true}},"annotations":{"k1":{"pool":"z","value":"\ufffd"}}}`,
	`{"version":1,"taints":{"k0:NoSchedule":{"pool":"b","value":"1"},"k0:NoExecute":{"pool":"a","value":"2","before":"1"}}}`,
	`{"version":1,"taints":{"a:b:c":{"pool":"b","value":"1"}}}`,
	`{"version":1,"labels":{"k0":{"pool":"a","value":"1"},"k0":{"pool":"b","value":"2"}}}`,
	`{"version":1,"annotations":{"nodes.lailin.xyz/applied":{"pool":"a","value":"1"}}}`,
}

// FuzzParseRecord: whatever stands in the annotation, it is refused or it is
// read so that writing and reading it again changes nothing.
func FuzzParseRecord(f *testing.F) {
	for _, text := range records {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		record, err := ParseRecord(text)
		if err != nil {
			if !record.Empty() {
				t.Errorf("refused, and yet it says %s", record)
			}
			return
		}
		written := record.String()
		again, err := ParseRecord(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		if !again.Equal(record) || again.String() != written {
			t.Errorf("read as\n%s, then as\n%s", written, again)
		}
	})
}

// FuzzNodePlan puts any record on the node of a random world. A forged record
// can make us let go of what it names, and of nothing else; and the plan comes
// to rest.
func FuzzNodePlan(f *testing.F) {
	for seed, text := range records {
		f.Add(uint64(seed), text)
	}
	s := newServer()
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		w := newWorld(seed)
		for range w.r.IntN(4) {
			w.changePools()
		}
		if w.node.Annotations == nil {
			w.node.Annotations = map[string]string{}
		}
		w.node.Annotations[v1.AppliedAnnotation] = text
		before := w.node
		p, err := Node(before, w.expansion())
		if unreadable := (*RecordError)(nil); errors.As(err, &unreadable) && p == nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		w.node, p = s.write(t, before, w.expansion())
		at := step{world: w, s: s, before: before, p: p}
		at.nothingForeignIsTouched(t)
		at.noPoolMissesAKeyInSilence(t)
		at.sameInputSameBytes(t)
		for range 2 {
			w.node, p = s.write(t, w.node, w.expansion())
		}
		if again, err := Node(w.node, w.expansion()); err != nil || !again.Quiet() {
			t.Errorf("it does not come to rest: %v, %v", again, err)
		}
		if left := slices.Collect(maps.Keys(p.Record.Pools())); len(w.pools) == 0 && len(left) > 0 {
			t.Errorf("there is no pool, and the record names %v", left)
		}
	})
}

package plan

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// FuzzNodePlan puts any record on the node of a random world, a key and a value
// of somebody else's beside it. A forged record can make us release what it
// names, and of nothing else; the plan comes to rest; the same input gives the
// same bytes, whichever version the record is of; and when the pools go, the
// node is as if they had never come.
func FuzzNodePlan(f *testing.F) {
	addRecords(f, func(seed uint64, text string) { f.Add(seed, text, "theirs", "x") })
	for seed := range uint64(200) {
		f.Add(seed, "forge", "theirs/"+string(worldEffects[0]), "")
	}
	s := newServer()
	f.Fuzz(func(t *testing.T, seed uint64, text, theirs, value string) {
		if !utf8.ValidString(theirs) || !utf8.ValidString(value) {
			t.Skip("the API server stores no such text")
		}
		w := newWorld(seed)
		w.putTheirs(theirs, value)
		if text == "forge" {
			text = w.forge(t)
		}
		w.node.Annotations[v1.AppliedAnnotation] = text
		record, err := ParseRecord(text)
		if err != nil {
			var unreadable *RecordError
			if p, err := Node(w.node, w.expansion()); p != nil || !errors.As(err, &unreadable) {
				t.Errorf("planned %v, %v: it is unknown what is ours there", p, err)
			}
			return
		}
		if record.Empty() {
			delete(w.node.Annotations, v1.AppliedAnnotation) // it says nothing, and is no reason to write
		}
		start := w.node.DeepCopy()
		for range w.r.IntN(4) {
			w.changePools()
		}
		before := w.node
		var p *NodePlan
		w.node, p = s.write(t, before, w.expansion())
		at := step{world: w, s: s, before: before, p: p}
		at.nothingForeignIsTouched(t)
		at.whatOthersChangedStays(t)
		at.noPoolMissesAKeyInSilence(t)
		at.heldAndDeniedKeysStay(t, &counts{})
		at.sameInputSameBytes(t)
		if !p.NoOp() {
			at.recordRoundTrips(t)
		}
		for range 2 {
			w.node, _ = s.write(t, w.node, w.expansion())
		}
		if again, err := Node(w.node, w.expansion()); err != nil || !again.NoOp() {
			t.Errorf("it does not come to rest: %v, %v", again, err)
		}
		w.adoptedKeysGoWithTheLastPool(t, s)

		w.node, w.policies = start, []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver}
		w.releaseUndoesApply(t, s)
	})
}

// putTheirs puts a label, an annotation and a taint of somebody else's on the
// node.
func (w *world) putTheirs(key, value string) {
	for _, values := range []*map[string]string{&w.node.Labels, &w.node.Annotations} {
		if *values == nil {
			*values = map[string]string{}
		}
		(*values)[key] = value
	}
	taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectPreferNoSchedule}
	if _, twice := taintValues(w.node.Taints)[render.TaintID{Key: key, Effect: taint.Effect}]; !twice {
		w.node.Taints = append(w.node.Taints, taint)
	}
}

// forge makes a record that names what stands on the node, mostly with the
// value at which it stands, and what does not, for pools that there are and are
// not, in either version.
func (w *world) forge(t *testing.T) string {
	t.Helper()
	entry := func(standing string) Entry {
		e := Entry{Pool: pick(w.r, append(worldPools, "gone")), Value: standing}
		if w.oneIn(4) {
			e.Value = pick(w.r, worldValues)
		}
		if w.oneIn(2) {
			e.Before = ptr.To(pick(w.r, worldValues))
		}
		e.Adopted = w.oneIn(3)
		return e
	}
	forged := map[Field]map[string]Entry{Label: {}, Annotation: {}, Taint: {}}
	standing := standing(w.node)
	for _, field := range slices.Sorted(maps.Keys(standing)) {
		for _, key := range slices.Sorted(maps.Keys(standing[field])) {
			if w.oneIn(2) {
				forged[field][key] = entry(standing[field][key])
			}
		}
	}
	for range w.r.IntN(3) {
		key := pick(w.r, worldKeys)
		forged[Label][key] = entry("")
		forged[Taint][key+":"+string(pick(w.r, worldEffects))] = entry("")
	}
	record := Record{Labels: forged[Label], Annotations: forged[Annotation], Taints: map[render.TaintID]Entry{}}
	for key, entry := range forged[Taint] {
		var id render.TaintID
		if err := id.UnmarshalText([]byte(key)); err != nil {
			t.Skip("no record can name this taint")
		}
		record.Taints[id] = entry
	}
	return record.String()
}

// comesBackAs reports whether an adopted key has its earlier value, as it gets where a pool
// selects by it when another one releases it.
func (e Entry) comesBackAs(values map[string]string, key string) bool {
	value, stands := values[key]
	return e.Adopted && e.Before != nil && stands && value == *e.Before
}

// releaseUndoesApply: pools come, change and go, and the node becomes what
// letting go of its record at once would have made of it. Left aside are keys of
// which the record does not tell the truth: a pool puts them back, and they go
// as its own.
func (w *world) releaseUndoesApply(t *testing.T, s server) {
	t.Helper()
	start := w.node
	clear(w.pools)
	released, p := s.write(t, start, w.expansion())
	selected := map[string]bool{} // by pools, at some time
	write := func() {
		pools := w.expansion()
		for key := range p.Recorded().Labels {
			selected[key] = selected[key] || pools.Selects(key)
		}
		w.node, _ = s.write(t, w.node, pools)
	}
	for range 2 + w.r.IntN(4) {
		w.changePools()
		write()
	}
	for len(w.pools) > 0 {
		delete(w.pools, pick(w.r, worldPools))
		write()
	}
	had, want, got := standing(start), standing(released), standing(w.node)
	for field, recorded := range entries(p.Recorded()) {
		for key, entry := range recorded {
			value, stood := had[field][key]
			changed := !stood || value != entry.Value
			if changed || field == Label && selected[key] && entry.comesBackAs(got[field], key) {
				delete(want[field], key)
				delete(got[field], key)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the node (-without pools +after they have come and gone):\n%s", diff)
	}
	if _, left := w.node.Annotations[v1.AppliedAnnotation]; left {
		t.Error("the record stays when the last pool has gone")
	}
	theirs := func(taints []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(slices.Clone(taints), func(taint corev1.Taint) bool {
			_, recorded := p.Recorded().Taints[render.TaintID{Key: taint.Key, Effect: taint.Effect}]
			return recorded
		})
	}
	if diff := cmp.Diff(theirs(start.Taints), theirs(w.node.Taints), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("taints of others (-before +after):\n%s", diff)
	}
}

package plan

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// wish is what a pool of the node wants for the key.
type wish struct {
	value    string
	priority int32
	policy   v1.ConflictPolicy
	// still makes a paused pool, broken one that cannot be read.
	still, broken bool
}

// pools makes pools of the node named n, by name, that want a key in a field.
func pools(field Field, wishes map[string]wish) []*v1.NodePool {
	var all []*v1.NodePool
	for _, name := range slices.Sorted(maps.Keys(wishes)) {
		wish := wishes[name]
		spec := want(field, wish.value)
		spec.NodeNames, spec.Priority, spec.ConflictPolicy = []string{"n"}, wish.priority, wish.policy
		if wish.broken {
			spec.NodeNames, spec.Selector = nil, &v1.LabelSelector{}
		}
		pool := define(name, spec)
		if wish.still {
			pool = faulty(pool)
		}
		all = append(all, pool)
	}
	return all
}

// TestRule holds the rule to its words, branch by branch, for labels,
// annotations and taints alike.
func TestRule(t *testing.T) {
	value := ptr.To[string]
	cases := map[string]struct {
		reason string
		// have stands on the node; nil for nothing. entry is in its record.
		have   *string
		entry  *Entry
		wishes map[string]wish
		// What shall come of it, and which pools shall report a conflict.
		after *string
		next  *Entry
		drift bool
		deny  []Conflict
	}{
		// In the record, and wanted.
		"kept":                  {"nothing to do", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1"}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, nil},
		"new value":             {"the pool says otherwise now", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "2"}}, value("2"), &Entry{Pool: "a", Value: "2"}, false, nil},
		"changed by hand":       {"put back", value("9"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1"}}, value("1"), &Entry{Pool: "a", Value: "1"}, true, nil},
		"removed by hand":       {"put back", nil, &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1"}}, value("1"), &Entry{Pool: "a", Value: "1"}, true, nil},
		"emptied by hand":       {"an empty value is a value", value(""), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1"}}, value("1"), &Entry{Pool: "a", Value: "1"}, true, nil},
		"empty one removed":     {"an empty value is not the same as none", nil, &Entry{Pool: "a", Value: ""}, map[string]wish{"a": {value: ""}}, value(""), &Entry{Pool: "a", Value: ""}, true, nil},
		"hand and pool at once": {"the pool's new value, which is no drift", value("9"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "2"}}, value("2"), &Entry{Pool: "a", Value: "2"}, false, nil},
		"by hand to the new":    {"somebody was faster: only the record changes", value("2"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "2"}}, value("2"), &Entry{Pool: "a", Value: "2"}, false, nil},
		"moves to another pool": {"with what stood there before", value("1"), &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"b": {value: "2"}}, value("2"), &Entry{Pool: "b", Value: "2", Before: value("0")}, false, nil},
		"renamed pool":          {"the record follows the name", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"b": {value: "1"}}, value("1"), &Entry{Pool: "b", Value: "1"}, false, nil},
		"outbid":                {"the higher priority gets what is ours already", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1"}, "b": {value: "2", priority: 1}}, value("2"), &Entry{Pool: "b", Value: "2"}, false, nil},
		"policy back to report": {"what was taken over once is ours", value("1"), &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"a": {value: "2"}}, value("2"), &Entry{Pool: "a", Value: "2", Before: value("0")}, false, nil},
		"policy to adopt":       {"what was taken over is adopted now", value("1"), &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"a": {value: "1", policy: v1.Adopt}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("0"), Adopted: true}, false, nil},
		"adopt what is ours":    {"there is nothing to adopt", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", policy: v1.Adopt}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, nil},
		"adopted stays adopted": {"whoever has it, under whatever policy", value("1"), &Entry{Pool: "a", Value: "1", Before: value("0"), Adopted: true}, map[string]wish{"b": {value: "1", policy: v1.TakeOver}}, value("1"), &Entry{Pool: "b", Value: "1", Before: value("0"), Adopted: true}, false, nil},

		// In the record, and no longer wanted.
		"released":                 {"it goes", value("1"), &Entry{Pool: "a", Value: "1"}, nil, nil, nil, false, nil},
		"empty one released":       {"it goes as well", value(""), &Entry{Pool: "a", Value: ""}, nil, nil, nil, false, nil},
		"given back":               {"what was taken over comes back", value("1"), &Entry{Pool: "a", Value: "1", Before: value("0")}, nil, value("0"), nil, false, nil},
		"given back empty":         {"also an empty value", value("1"), &Entry{Pool: "a", Value: "1", Before: value("")}, nil, value(""), nil, false, nil},
		"given back equal":         {"nothing changes but the record", value("1"), &Entry{Pool: "a", Value: "1", Before: value("1")}, nil, value("1"), nil, false, nil},
		"adopted and released":     {"it is the pool's, so it goes with it", value("1"), &Entry{Pool: "a", Value: "1", Before: value("0"), Adopted: true}, nil, nil, nil, false, nil},
		"changed, then released":   {"another value is somebody else's by now", value("9"), &Entry{Pool: "a", Value: "1", Before: value("0")}, nil, value("9"), nil, false, nil},
		"adopted, changed by hand": {"the same holds", value("9"), &Entry{Pool: "a", Value: "1", Before: value("0"), Adopted: true}, nil, value("9"), nil, false, nil},
		"removed, then released":   {"what somebody took away does not come back", nil, &Entry{Pool: "a", Value: "1", Before: value("0")}, nil, nil, nil, false, nil},
		"absent, recorded empty":   {"absent is not empty", nil, &Entry{Pool: "a", Value: ""}, nil, nil, nil, false, nil},

		// Not in the record.
		"put on":            {"nothing stands there", nil, nil, map[string]wish{"a": {value: "1"}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, nil},
		"put on empty":      {"an empty value is put on too", nil, nil, map[string]wish{"a": {value: ""}}, value(""), &Entry{Pool: "a", Value: ""}, false, nil},
		"put on, taking":    {"there is nothing to take over", nil, nil, map[string]wish{"a": {value: "1", policy: v1.TakeOver}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, nil},
		"put on, adopting":  {"there is nothing to adopt", nil, nil, map[string]wish{"a": {value: "1", policy: v1.Adopt}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, nil},
		"shared":            {"it is not ours, and stays so", value("1"), nil, map[string]wish{"a": {value: "1"}}, value("1"), nil, false, nil},
		"shared, taking":    {"there is nothing to take over", value("1"), nil, map[string]wish{"a": {value: "1", policy: v1.TakeOver}}, value("1"), nil, false, nil},
		"shared, adopting":  {"adopted, though nothing changes", value("1"), nil, map[string]wish{"a": {value: "1", policy: v1.Adopt}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("1"), Adopted: true}, false, nil},
		"foreign":           {"it stays and is reported", value("9"), nil, map[string]wish{"a": {value: "1"}}, value("9"), nil, false, []Conflict{{Pool: "a", Want: "1", Have: value("9")}}},
		"foreign and empty": {"an empty value is a value", value(""), nil, map[string]wish{"a": {value: "1"}}, value(""), nil, false, []Conflict{{Pool: "a", Want: "1", Have: value("")}}},
		"foreign, taken":    {"it is replaced and remembered", value("9"), nil, map[string]wish{"a": {value: "1", policy: v1.TakeOver}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("9")}, false, nil},
		"empty, taken":      {"an empty value is remembered too", value(""), nil, map[string]wish{"a": {value: "1", policy: v1.TakeOver}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("")}, false, nil},
		"foreign, adopted":  {"it is replaced for good", value("9"), nil, map[string]wish{"a": {value: "1", policy: v1.Adopt}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("9"), Adopted: true}, false, nil},
		"nobody wants it":   {"what is not ours is not looked at", value("9"), nil, nil, value("9"), nil, false, nil},
		"several miss it":   {"each pool that wants the value is reported", value("9"), nil, map[string]wish{"a": {value: "1"}, "b": {value: "1"}, "c": {value: "1", priority: -1}, "d": {value: "2", priority: -1}}, value("9"), nil, false, []Conflict{{Pool: "a", Want: "1", Have: value("9")}, {Pool: "b", Want: "1", Have: value("9")}, {Pool: "c", Want: "1", Have: value("9")}}},

		// Changed by somebody while it is taken over.
		"taken, owner moves it":    {"what its owner wants by now comes back", value("9"), &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"a": {value: "1", policy: v1.TakeOver}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("9")}, true, nil},
		"taken, owner withdraws":   {"then nothing comes back", nil, &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"a": {value: "1", policy: v1.TakeOver}}, value("1"), &Entry{Pool: "a", Value: "1"}, true, nil},
		"taken, owner comes back":  {"taking over holds for whoever comes later", value("9"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", policy: v1.TakeOver}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("9")}, true, nil},
		"taken once, owner moves":  {"also where the pool only reports by now", value("9"), &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"a": {value: "1"}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("9")}, true, nil},
		"taken, moves to another":  {"whichever pool has it", value("9"), &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"b": {value: "2"}}, value("2"), &Entry{Pool: "b", Value: "2", Before: value("9")}, false, nil},
		"taken, owner gives in":    {"the value is both ours and theirs", value("2"), &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"a": {value: "2"}}, value("2"), &Entry{Pool: "a", Value: "2", Before: value("2")}, false, nil},
		"adopted, owner moves it":  {"what is adopted comes back in no case", value("9"), &Entry{Pool: "a", Value: "1", Before: value("0"), Adopted: true}, map[string]wish{"a": {value: "1", policy: v1.TakeOver}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("0"), Adopted: true}, true, nil},
		"taken, moved, adopted":    {"both at once", value("9"), &Entry{Pool: "a", Value: "1", Before: value("0")}, map[string]wish{"a": {value: "1", policy: v1.Adopt}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("9"), Adopted: true}, true, nil},
		"reporting, changed twice": {"a key that was never another's is put back, and goes", value("9"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", policy: v1.Adopt}}, value("1"), &Entry{Pool: "a", Value: "1"}, true, nil},

		// Disputed between pools: none of these has a time of creation, so the name
		// decides.
		"disputed, absent":       {"the older one puts it on", nil, nil, map[string]wish{"a": {value: "1"}, "b": {value: "2"}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, []Conflict{{Pool: "b", Want: "2", Have: value("1"), Older: "a"}}},
		"disputed, foreign":      {"nobody gets it, and each says why", value("9"), nil, map[string]wish{"a": {value: "1"}, "b": {value: "2", policy: v1.Adopt}}, value("9"), nil, false, []Conflict{{Pool: "a", Want: "1", Have: value("9")}, {Pool: "b", Want: "2", Have: value("9")}}},
		"disputed, taken":        {"the older one takes it over", value("9"), nil, map[string]wish{"a": {value: "1", policy: v1.TakeOver}, "b": {value: "2"}}, value("1"), &Entry{Pool: "a", Value: "1", Before: value("9")}, false, []Conflict{{Pool: "b", Want: "2", Have: value("1"), Older: "a"}}},
		"disputed, had already":  {"that a younger one was faster makes no difference", value("2"), &Entry{Pool: "b", Value: "2"}, map[string]wish{"a": {value: "1"}, "b": {value: "2"}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, []Conflict{{Pool: "b", Want: "2", Have: value("1"), Older: "a"}}},
		"disputed, changed":      {"put back", value("9"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1"}, "b": {value: "2"}}, value("1"), &Entry{Pool: "a", Value: "1"}, true, []Conflict{{Pool: "b", Want: "2", Have: value("1"), Older: "a"}}},
		"disputed, foreign fits": {"a younger one that has what it wants says nothing", value("2"), nil, map[string]wish{"a": {value: "1"}, "b": {value: "2"}}, value("2"), nil, false, []Conflict{{Pool: "a", Want: "1", Have: value("2")}}},
		"disputed, a majority":   {"numbers do not count", nil, nil, map[string]wish{"a": {value: "1"}, "b": {value: "2"}, "c": {value: "2"}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, []Conflict{{Pool: "b", Want: "2", Have: value("1"), Older: "a"}, {Pool: "c", Want: "2", Have: value("1"), Older: "a"}}},
		"disputed below the top": {"who is outbid does not dispute", nil, nil, map[string]wish{"a": {value: "1"}, "b": {value: "2"}, "c": {value: "3", priority: 1}}, value("3"), &Entry{Pool: "c", Value: "3"}, false, nil},

		// Of a pool that holds still.
		"paused":                 {"it stays as it is", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "2", still: true}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, nil},
		"paused and changed":     {"not even drift is put back", value("9"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", still: true}}, value("9"), &Entry{Pool: "a", Value: "1"}, false, nil},
		"paused and removed":     {"nor does it come back", nil, &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", still: true}}, nil, &Entry{Pool: "a", Value: "1"}, false, nil},
		"broken":                 {"it is unknown what it wants", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "2", broken: true}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, nil},
		"paused, never put on":   {"a paused pool puts nothing on", nil, nil, map[string]wish{"a": {value: "1", still: true}}, nil, nil, false, nil},
		"held from another":      {"the other does not get it, and says why", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", still: true, priority: 9}, "b": {value: "2"}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, []Conflict{{Pool: "b", Want: "2", Have: value("1"), Holder: "a"}}},
		"held, one is stronger":  {"no pool keeps a stronger one off a node", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", still: true}, "b": {value: "2", priority: 9}}, value("2"), &Entry{Pool: "b", Value: "2"}, false, nil},
		"broken, and stronger":   {"nor by an error", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", broken: true}, "b": {value: "2", priority: 9}}, value("2"), &Entry{Pool: "b", Value: "2"}, false, nil},
		"held, changed by hand":  {"the same where somebody removed it", nil, &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", broken: true}, "b": {value: "2"}}, nil, &Entry{Pool: "a", Value: "1"}, false, []Conflict{{Pool: "b", Want: "2", Holder: "a"}}},
		"held at what is wanted": {"the other has what it wants", value("2"), &Entry{Pool: "a", Value: "2"}, map[string]wish{"a": {value: "1", still: true}, "b": {value: "2"}}, value("2"), &Entry{Pool: "a", Value: "2"}, false, nil},
		"held, disputed":         {"who agrees with what is held has it, and is the older one", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", still: true}, "b": {value: "1"}, "c": {value: "2"}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, []Conflict{{Pool: "c", Want: "2", Have: value("1"), Older: "b"}}},
		"held from both":         {"both are given the holder", value("1"), &Entry{Pool: "a", Value: "1"}, map[string]wish{"a": {value: "1", still: true}, "b": {value: "2"}, "c": {value: "3"}}, value("1"), &Entry{Pool: "a", Value: "1"}, false, []Conflict{{Pool: "b", Want: "2", Have: value("1"), Holder: "a"}, {Pool: "c", Want: "3", Have: value("1"), Holder: "a"}}},
	}
	s := newServer()
	for name, c := range cases {
		for _, field := range []Field{Label, Annotation, Taint} {
			t.Run(name+"/"+string(field), func(t *testing.T) {
				node := newNode("n")
				put(node, field, c.have)
				if c.entry != nil {
					setRecord(node, recordOf(field, *c.entry))
				}
				expansion := expand(pools(field, c.wishes)...)
				written, p := s.write(t, node, expansion)
				if diff := cmp.Diff(c.after, get(written, field)); diff != "" {
					t.Errorf("on the node: %s (-want +got):\n%s", c.reason, diff)
				}
				if diff := cmp.Diff(c.next, entryOf(p.Record, field)); diff != "" {
					t.Errorf("in the record: %s (-want +got):\n%s", c.reason, diff)
				}
				deny := slices.Clone(c.deny)
				for i := range deny {
					deny[i].Field, deny[i].Key = field, keyIn(field)
				}
				if diff := cmp.Diff(deny, conflictsOf(p), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("conflicts: %s (-want +got):\n%s", c.reason, diff)
				}
				checkChange(t, p, field, c.have, c.after, c.drift)
				if _, again := s.write(t, written, expansion); !again.NoOp() {
					t.Errorf("a second plan is not quiet: %v", again.Changes)
				}
			})
		}
	}
}

// checkChange compares what a plan reports of the key with what it does.
func checkChange(t *testing.T, p *NodePlan, field Field, have, after *string, drift bool) {
	t.Helper()
	i := slices.IndexFunc(p.Changes, func(change KeyChange) bool {
		return change.Field == field && change.Key == keyIn(field)
	})
	if ptr.Equal(have, after) {
		if i >= 0 {
			t.Errorf("a change is reported where there is none: %+v", p.Changes[i])
		}
		return
	}
	if i < 0 {
		t.Fatal("the change is not reported")
	}
	change := p.Changes[i]
	if !ptr.Equal(change.Before, have) || !ptr.Equal(change.After, after) || change.Drift != drift || change.Pool == "" {
		t.Errorf("reported as %+v, drift %v; want drift %v", change, change.Drift, drift)
	}
}

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func seconds(all ...int) []time.Duration {
	durations := make([]time.Duration, 0, len(all))
	for _, one := range all {
		durations = append(durations, time.Duration(one)*time.Second)
	}
	return durations
}

// Whatever somebody else does to a key, and however fast: it is put back at once,
// then more and more rarely, and never for the last time.
func TestRepairsBackOff(t *testing.T) {
	cases := map[string]struct {
		reason   string
		field    Field
		change   *string
		managers []string
	}{
		"label changed":      {"a value that somebody flaps", Label, ptr.To("theirs"), []string{"readiness-controller"}},
		"label removed":      {"managed fields say nothing of what is gone", Label, nil, nil},
		"annotation changed": {"a value that somebody flaps", Annotation, ptr.To("theirs"), []string{"readiness-controller"}},
		"annotation removed": {"managed fields say nothing of what is gone", Annotation, nil, nil},
		"taint changed":      {"the list has an owner", Taint, ptr.To("theirs"), []string{"readiness-controller"}},
		"taint removed":      {"as node-readiness-controller does; what is left of the list has an owner", Taint, nil, []string{"readiness-controller"}},
		"last taint removed": {"managed fields say nothing of a list that is gone", Taint, nil, nil},
	}
	s := newServer()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			node := newNode("n")
			if name != "last taint removed" {
				node.Taints = []corev1.Taint{{Key: "theirs", Effect: "NoExecute"}}
			}
			f := newFight(t, s, node, expand(onNode("a", want(c.field, "ours"))))
			id := repairKey{c.field, keyIn(c.field)}
			f.repaired = map[repairKey][]time.Duration{}
			f.now = time.Hour // the pool came long before
			f.against(200, func(node *NodeState) { put(node, c.field, c.change) })
			at := func(all ...int) []time.Duration {
				times := seconds(all...)
				for i := range times {
					times[i] += time.Hour
				}
				return times
			}
			want := map[repairKey][]time.Duration{id: at(0, 1, 3, 7, 15, 31, 63, 123, 183)}
			if diff := cmp.Diff(want, f.repaired, cmp.AllowUnexported(repairKey{})); diff != "" {
				t.Errorf("repairs: %s (-want +got):\n%s", c.reason, diff)
			}
			contests := []Contest{{Field: c.field, Key: keyIn(c.field), Pool: "a", Managers: c.managers, Repairs: 6}}
			if diff := cmp.Diff(contests, f.known.Contests()); diff != "" {
				t.Errorf("contests (-want +got):\n%s", diff)
			}
			if took := f.quiet(); took > 3*time.Minute {
				t.Errorf("idle after %v", took)
			}
			if value := get(f.node, c.field); value == nil || *value != "ours" || f.known != nil {
				t.Errorf("in the end the key is %v, and known is %+v", value, f.known)
			}
			f.against(1, func(node *NodeState) { put(node, c.field, c.change) })
			if last := f.repaired[id][len(f.repaired[id])-1]; last != f.now-time.Second {
				t.Errorf("a change by hand at %v was put back at %v", f.now-time.Second, last)
			}
		})
	}
}

// Who changes a key now and then by hand sees it put back each time at once, and
// that is no contest.
func TestRepairsNowAndThenAreMadeAtOnce(t *testing.T) {
	cases := map[string]struct {
		reason    string
		every     time.Duration
		contested bool
	}{
		"each minute":      {"no faster than the slowest pace", 61 * time.Second, true},
		"each two minutes": {"forgotten in between", 121 * time.Second, false},
		"each hour":        {"forgotten in between", time.Hour, false},
	}
	s := newServer()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFight(t, s, newNode("n"), expand(onNode("a", want(Taint, "ours"))))
			for i := range 10 {
				f.now += c.every
				f.node = s.update(t, f.node, "kubectl", func(node *NodeState) { put(node, Taint, nil) })
				f.pass()
				if get(f.node, Taint) == nil {
					t.Errorf("repair %d waits: %s", i, c.reason)
				}
			}
			if contested := f.known.Contests() != nil; contested != c.contested {
				t.Errorf("contested is %t: %s", contested, c.reason)
			}
		})
	}
}

// The third repair within a minute makes a contest.
func TestThirdRepairWithinAMinuteIsAContest(t *testing.T) {
	cases := map[string]struct {
		reason string
		at     []int
		want   bool
	}{
		"two":            {"twice is no fight yet", []int{0, 10}, false},
		"three":          {"within a minute", []int{0, 30, 60}, true},
		"three, slower":  {"not within a minute", []int{0, 30, 61}, false},
		"four, slower":   {"not within a minute", []int{0, 31, 62, 93}, false},
		"five, slower":   {"without two quiet minutes it is a fight, however slow", []int{0, 31, 62, 93, 124}, true},
		"last of many":   {"within a minute", []int{0, 100, 110, 120}, true},
		"after a pause":  {"what was before two quiet minutes is forgotten", []int{0, 10, 130, 140}, false},
		"and once again": {"a contest stays one until it has been quiet", []int{0, 5, 10, 110}, true},
	}
	s := newServer()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFight(t, s, newNode("n"), expand(onNode("a", want(Label, "ours"))))
			for _, at := range seconds(c.at...) {
				f.now = at
				f.node = s.update(t, f.node, "kubectl", func(node *NodeState) { put(node, Label, nil) })
				f.pass()
			}
			if got := f.known.Contests() != nil; got != c.want {
				t.Errorf("contested is %t: %s", got, c.reason)
			}
		})
	}
}

// contested returns a node in a fight over a key that pool a wants, in which the key
// is as others have left it and has to wait.
func contested(t *testing.T, s server, field Field, spec v1.NodePoolSpec, change *string) *fight {
	t.Helper()
	f := newFight(t, s, newNode("n"), expand(onNode("a", spec)))
	f.against(10, func(node *NodeState) { put(node, field, change) })
	if _, admitted := f.pass(); !admitted.NoOp() || f.known.Contests() == nil {
		t.Fatalf("the fight is none: %+v", f.known)
	}
	f.repaired = map[repairKey][]time.Duration{}
	return f
}

// A fight over one key delays nothing else. What waits is neither written nor
// claimed, whatever else is written meanwhile, and comes with its own time.
func TestAFightDelaysNothingElse(t *testing.T) {
	other := func(spec v1.NodePoolSpec, value string) v1.NodePoolSpec {
		spec.Labels = map[string]v1.LabelValue{"other": v1.LabelValue(value)}
		spec.Taints = append(spec.Taints, v1.Taint{Key: "other", Value: value, Effect: "NoSchedule"})
		if spec.Annotations != nil {
			spec.Annotations = map[string]v1.AnnotationValue{key: "ours", "other": v1.AnnotationValue(value)}
		}
		return spec
	}
	s := newServer()
	for _, field := range []Field{Label, Annotation, Taint} {
		for name, change := range map[string]*string{"changed": ptr.To("theirs"), "removed": nil} {
			t.Run(string(field)+" "+name, func(t *testing.T) {
				spec := func(value string) v1.NodePoolSpec {
					spec := other(want(field, "ours"), value)
					if field == Label {
						spec.Labels[key] = "ours"
					}
					return spec
				}
				f := contested(t, s, field, spec("1"), change)
				wasEntry := entryOf(mustRead(t, f.node), field)

				f.become(expand(onNode("a", spec("2"))))
				f.pass()
				if f.node.Labels["other"] != "2" || taintValues(f.node.Taints)[otherTaint] != "2" {
					t.Errorf("the change of the pool waits: %v, %v", f.node.Labels, f.node.Taints)
				}
				f.become(expand(onNode("a", spec("2")), onNode("quarantine", v1.NodePoolSpec{
					Priority: 1000, Taints: []v1.Taint{{Key: "quarantine", Effect: "NoExecute"}},
				})))
				f.pass()
				if _, found := taintValues(f.node.Taints)[quarantineTaint]; !found {
					t.Errorf("the quarantine waits: %v", f.node.Taints)
				}
				if got := get(f.node, field); !ptr.Equal(got, change) {
					t.Errorf("the contested key was written before its time: %v", got)
				}
				if diff := cmp.Diff(wasEntry, entryOf(mustRead(t, f.node), field)); diff != "" {
					t.Errorf("the record of the contested key (-before +after):\n%s", diff)
				}
				if field != Taint && applied(f.node).Has((repairKey{field, key}).path()) {
					t.Error("the value of somebody else became ours")
				}
				f.quiet()
				if got := get(f.node, field); got == nil || *got != "ours" {
					t.Errorf("in the end the contested key is %v", got)
				}
				f.become(expand())
				f.pass()
				bare := newNode("n")
				ignore := cmpopts.IgnoreFields(NodeState{}, "ManagedFields", "ResourceVersion")
				if diff := cmp.Diff(bare, f.node, ignore, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("what is left once the pools are gone (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A pool that gives a contested key up, or wants another value, does so at once.
func TestAContestedKeyFollowsItsPoolAtOnce(t *testing.T) {
	s := newServer()
	for _, field := range []Field{Label, Annotation, Taint} {
		t.Run(string(field), func(t *testing.T) {
			f := contested(t, s, field, want(field, "ours"), nil)
			f.become(expand(onNode("a", want(field, "new"))))
			if f.pass(); get(f.node, field) == nil || *get(f.node, field) != "new" {
				t.Errorf("another value of the pool's waits: %v", get(f.node, field))
			}
			if f.known.Contests() != nil {
				t.Error("nobody has changed the new value, and it counts as contested")
			}
			f = contested(t, s, field, want(field, "ours"), ptr.To("theirs"))
			f.become(expand())
			if f.pass(); !mustRead(t, f.node).Empty() || *get(f.node, field) != "theirs" {
				t.Errorf("the pool is gone, and the record is %v, the key %v", mustRead(t, f.node), get(f.node, field))
			}
			f.pass()
			if f.known != nil {
				t.Errorf("the pool is gone, and known is %+v", f.known)
			}
			f = contested(t, s, field, want(field, "ours"), ptr.To("theirs"))
			f.become(expand(onNode("a", want(field, "theirs"))))
			if f.pass(); entryOf(mustRead(t, f.node), field).Value != "theirs" || f.known.Contests() != nil {
				t.Errorf("the pool has given in, and the record is %v, known is %+v", mustRead(t, f.node), f.known)
			}
		})
	}
}

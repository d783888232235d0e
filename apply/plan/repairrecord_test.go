package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A program that keeps a node as it has it in a file takes the record away, or puts
// an older one back, together with what it describes. By what stands on the node that
// is no drift, and it is fought no faster.
func TestFightsOverTheRecordBackOff(t *testing.T) {
	older := func(t *testing.T, s server) *NodeState {
		f := newFight(t, s, newNode("n"), expand(onNode("a", v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"dropped": "1", key: "old"}})))
		return f.node
	}
	adopting := want(Label, "ours")
	adopting.ConflictPolicy = v1.Adopt
	cases := map[string]struct {
		reason string
		spec   v1.NodePoolSpec
		change func(was *NodeState) func(*NodeState)
		// contested are the keys, want how often each was written.
		contested []string
	}{
		"all of ours is taken away": {
			"as if the node had just joined", want(Label, "ours"),
			func(*NodeState) func(*NodeState) {
				return func(node *NodeState) { node.Labels, node.Annotations = nil, nil }
			},
			[]string{"label " + key, "label " + v1.RoleLabel("a")},
		},
		"an older state is put back": {
			"a key that the pool has dropped comes again after it was removed", want(Label, "ours"),
			func(was *NodeState) func(*NodeState) {
				return func(node *NodeState) { node.Labels, node.Annotations = was.Labels, was.Annotations }
			},
			[]string{"label dropped", "label " + key},
		},
		"the record is taken away": {
			"of a pool that adopts: no label changes", adopting,
			func(*NodeState) func(*NodeState) {
				return func(node *NodeState) { delete(node.Annotations, v1.AppliedAnnotation) }
			},
			[]string{"annotation " + v1.AppliedAnnotation},
		},
	}
	s := newServer()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			was := older(t, s)
			f := newFight(t, s, newNode("n"), expand(onNode("a", c.spec)))
			f.repaired = map[repairKey][]time.Duration{}
			f.against(200, c.change(was))
			var contested []string
			for _, contest := range f.known.Contests() {
				contested = append(contested, fmt.Sprint(contest.Field, " ", contest.Key))
			}
			if diff := cmp.Diff(c.contested, contested); diff != "" {
				t.Errorf("contested: %s (-want +got):\n%s", c.reason, diff)
			}
			for id, times := range f.repaired {
				if diff := cmp.Diff(seconds(0, 1, 3, 7, 15, 31, 63, 123, 183), times); diff != "" {
					t.Errorf("%s %s was written: %s (-want +got):\n%s", id.field, id.key, c.reason, diff)
				}
			}
			f.quiet()
			if full, _ := f.pass(); !full.NoOp() || *get(f.node, Label) != "ours" || f.known != nil {
				t.Errorf("in the end %v is due, known is %+v", full.Changes, f.known)
			}
		})
	}
}

// Many keys that are fought over cost a node in the end as many writes as one.
func TestContestedKeysAreWrittenTogether(t *testing.T) {
	s := newServer()
	spec := v1.NodePoolSpec{Labels: map[string]v1.LabelValue{}}
	for i := range 8 {
		spec.Labels[fmt.Sprint("k", i)] = "ours"
	}
	f := newFight(t, s, newNode("n"), expand(onNode("a", spec)))
	for second := range 1200 {
		if full, _ := f.pass(); full.NoOp() || second < 20 {
			f.node = s.update(t, f.node, "other", func(node *NodeState) {
				for i := range min(8, 1+second/2) { // one after the other
					delete(node.Labels, fmt.Sprint("k", i))
				}
			})
		} else {
			f.node = s.update(t, f.node, "other", func(node *NodeState) { clear(node.Labels) })
		}
		f.now += time.Second
	}
	writes := map[time.Duration]bool{}
	for _, times := range f.repaired {
		for _, at := range times {
			if at > 10*time.Minute {
				writes[at] = true
			}
		}
	}
	if len(writes) == 0 || len(writes) > 11 {
		t.Errorf("in ten minutes the node was written %d times: %v", len(writes), writes)
	}
}

// A node that was deleted and made again under its name is another one: nothing that
// was known of the earlier one delays it.
func TestARecreatedNodeIsNotKnown(t *testing.T) {
	s := newServer()
	f := contested(t, s, Taint, want(Taint, "ours"), nil)
	again := newNode("n")
	again.UID = "another"
	f.node, f.memory = again, nil
	f.pass()
	if get(f.node, Taint) == nil || f.known != nil {
		t.Errorf("the new node has %v, and known is %+v", f.node.Taints, f.known)
	}
}

// An idle node, one that joins, and one whose pools change cost the decision
// nothing.
func TestAdmitCostsNothingWithoutARepair(t *testing.T) {
	s := newServer()
	joined, join := s.write(t, newNode("n"), expand(onNode("a", want(Taint, "ours"))))
	rest, err := Node(joined, expand(onNode("a", want(Taint, "ours"))))
	if err != nil {
		t.Fatal(err)
	}
	change, err := Node(joined, expand(onNode("a", want(Taint, "new"))))
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*NodePlan{"idle": rest, "joins": join, "changes": change} {
		t.Run(name, func(t *testing.T) {
			b := DefaultRepairBackoff()
			if a := b.Admit(joined, p, nil, false, start); a.Plan != p || a.Held != nil || a.Written(start) != nil {
				t.Errorf("admitted %+v", a)
			}
			if allocations := testing.AllocsPerRun(100, func() { b.Admit(joined, p, nil, false, start) }); allocations != 0 {
				t.Errorf("%v allocations", allocations)
			}
		})
	}
}

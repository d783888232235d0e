package controller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

func TestTallySettlesWhenEveryNodeWasLookedAt(t *testing.T) {
	figures := newTally()
	settled := func(since uint64, want bool, reason string) {
		t.Helper()
		if _, got := figures.read("p", since); got != want {
			t.Errorf("settled since %d is %t: %s", since, got, reason)
		}
	}
	settled(7, true, "there is no node to wait for")
	figures.expect("a", 1)
	figures.expect("b", 1)
	settled(2, false, "no node was looked at")
	if looks := figures.begin(2); len(looks) != 0 {
		t.Errorf("nodes that were looked at are %v", looks)
	}
	if again := figures.report("a", note{epoch: 1}, nil); !again {
		t.Error("a look by the pools of before must be repeated")
	}
	settled(2, false, "a was looked at by the pools of before, b not at all")
	if again := figures.report("a", note{epoch: 2}, nil); again {
		t.Error("a look by the pools of now must not be repeated")
	}
	settled(2, false, "b is left")
	figures.expect("joined", 2)
	figures.report("b", note{epoch: 3}, nil)
	settled(2, true, "both were looked at; who joins later holds up nobody")
	settled(3, false, "a was looked at before that")
	figures.forget("a")
	figures.forget("joined")
	figures.forget("never-there")
	settled(3, true, "who is gone holds up nobody")
	figures.forget("b")
	settled(9, true, "there is no node to wait for")
	if diff := cmp.Diff(map[uint64]int{}, figures.looks); diff != "" {
		t.Errorf("looks left (-want +got):\n%s", diff)
	}
}

func TestTallyTellsOnceWhenFiguresSettle(t *testing.T) {
	figures := newTally()
	var told []string
	figures.onMove(func(string, bool) {}, func(pool string) { told = append(told, pool) })
	tells := func(reason string, want ...string) {
		t.Helper()
		slices.Sort(told)
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %v, want %v", reason, told, want)
		}
		told = nil
	}
	if !figures.await("p", 5) {
		t.Error("there is no node to wait for")
	}
	figures.expect("a", 1)
	figures.expect("b", 1)
	figures.expect("c", 1)
	for pool, since := range map[string]uint64{"p": 2, "q": 2, "r": 3, "gone": 2} {
		if figures.await(pool, since) {
			t.Errorf("no node was looked at, and %s is settled", pool)
		}
	}
	figures.forgetPool("gone")
	figures.report("a", note{epoch: 2}, nil)
	figures.forget("c")
	tells("b is left")
	figures.report("b", note{epoch: 3}, nil)
	tells("every node was looked at since 2", "p", "q")
	figures.report("b", note{epoch: 4}, nil)
	tells("a was not looked at since 3")
	figures.advance(figures.begin(3), 3)
	tells("a is advanced", "r")
	figures.report("a", note{epoch: 4}, nil)
	tells("nobody waits")
}

// Of a node that a pass is over nobody knows what the pass will find.
func TestTallyWaitsForPassesThatAreUnderWay(t *testing.T) {
	figures := newTally()
	figures.report("n", note{epoch: 1}, nil)
	figures.enter("n") // by epoch 2, in which it is in p
	figures.advance(figures.begin(3), 3)
	if figures.await("p", 3) {
		t.Error("p is settled, and its keys are being written")
	}
	if again := figures.report("n", note{epoch: 2, members: []string{"p"}, recorded: []string{"p"}}, nil); !again {
		t.Error("a look by the pools of before must be repeated")
	}
	figures.advance(figures.begin(4), 4)
	if figures.await("p", 3) {
		t.Error("p is settled, and the look is not repeated yet")
	}
	figures.enter("n")
	figures.report("n", note{epoch: 4}, nil)
	figures.advance(figures.begin(5), 5)
	if !figures.await("p", 5) {
		t.Error("the node is at rest, and p is not settled")
	}
	figures.leave("n")

	figures.enter("n") // and it is repeated without having found anything
	figures.leave("n")
	figures.advance(figures.begin(6), 6)
	if !figures.await("p", 6) {
		t.Error("the pass has ended, and p is not settled")
	}
}

func TestTallyAdvancesWhomNothingConcerns(t *testing.T) {
	figures := newTally()
	settled := func(since uint64, want bool, reason string) {
		t.Helper()
		if _, got := figures.read("p", since); got != want {
			t.Errorf("settled since %d is %t: %s", since, got, reason)
		}
	}
	figures.expect("new", 1)
	figures.report("quiet", note{epoch: 1, members: []string{"p"}}, nil)
	figures.report("slow", note{epoch: 1}, nil)
	figures.report("gone", note{epoch: 1}, nil)
	looks := figures.begin(2)
	if len(looks) != 3 {
		t.Errorf("looks are %v, want those of all but the new node", looks)
	}
	settled(2, false, "nobody was advanced yet")
	if again := figures.report("slow", note{epoch: 1}, nil); !again {
		t.Error("a look that began before must be repeated")
	}
	figures.forget("gone")
	figures.advance(looks, 2)
	settled(2, false, "slow was looked at by the pools of before, while others were advanced; new was not looked at")
	figures.report("slow", note{epoch: 2}, nil)
	settled(2, false, "new was not looked at")
	figures.report("new", note{epoch: 2}, nil)
	settled(2, true, "quiet was advanced, the others looked at")
	figures.advance(looks, 1)
	settled(2, true, "nobody is set back")
	if f, _ := figures.read("p", 2); f.Desired != 1 || f.Updated != 1 {
		t.Errorf("p has %d nodes, %d up to date, want what was found on the node that was advanced", f.Desired, f.Updated)
	}
	for _, node := range []string{"new", "quiet", "slow"} {
		figures.forget(node)
	}
	if diff := cmp.Diff(map[uint64]int{}, figures.looks); diff != "" {
		t.Errorf("looks left (-want +got):\n%s", diff)
	}
}

func TestTallyCounts(t *testing.T) {
	figures := newTally()
	var moved []string
	figures.onMove(func(pool string, news bool) {
		if news {
			pool += " has news"
		}
		moved = append(moved, pool)
	}, func(string) {})
	counts := func(reason, pool string, want v1.NodeCounts, recorded, stuck int) {
		t.Helper()
		f, _ := figures.read(pool, 1)
		if diff := cmp.Diff(want, f.NodeCounts); diff != "" || f.recorded != recorded || f.stuck != stuck {
			t.Errorf("%s: %d recorded, %d stuck, counts (-want +got):\n%s", reason, f.recorded, f.stuck, diff)
		}
	}
	tells := func(reason string, want ...string) {
		t.Helper()
		slices.Sort(moved)
		if !slices.Equal(moved, want) {
			t.Errorf("%s: told %v, want %v", reason, moved, want)
		}
		moved = nil
	}
	conflict := conflictOf(t, "p")
	sound := note{epoch: 1, members: []string{"p", "q"}, recorded: []string{"p"}, ready: true}
	figures.report("a", sound, map[string]deed{"p": {updated: true}})
	tells("a node comes", "p", "q")
	counts("a node comes", "p", v1.NodeCounts{Desired: 1, Updated: 1, Ready: 1}, 1, 0)

	later := sound
	later.epoch = 2
	figures.report("a", later, nil)
	tells("a look that finds nothing new")

	disputed := sound
	disputed.conflicts = conflict
	figures.report("a", disputed, map[string]deed{"p": {repaired: true}})
	tells("a conflict begins", "p has news", "q has news")
	counts("a conflict of p", "p", v1.NodeCounts{Desired: 1, Conflicted: 1}, 1, 0)
	counts("a conflict of p is none of q", "q", v1.NodeCounts{Desired: 1, Updated: 1, Ready: 1}, 0, 0)

	paused := note{epoch: 2, members: []string{"q"}, recorded: []string{"p"}, problem: "is paused", stuck: true}
	figures.report("a", paused, nil)
	tells("a node leaves one pool, and is paused", "p has news", "q has news")
	counts("p has left its keys behind", "p", v1.NodeCounts{}, 1, 1)
	counts("q has a node that is paused", "q", v1.NodeCounts{Desired: 1}, 0, 1)

	if diff := cmp.Diff(map[string]deed{"a": {updated: true, repaired: true}}, figures.drain("p"), cmp.AllowUnexported(deed{})); diff != "" {
		t.Errorf("what was done for p (-want +got):\n%s", diff)
	}
	if left := figures.drain("p"); len(left) > 0 {
		t.Errorf("told already, and told again: %v", left)
	}
	figures.forget("a")
	tells("the node goes", "p has news", "q has news")
	counts("the node has gone", "p", v1.NodeCounts{}, 0, 0)
	if len(figures.pools) > 0 {
		t.Errorf("figures that say nothing are kept: %v", figures.pools)
	}

	for _, step := range []struct {
		reason string
		found  note
		done   deed
		tells  string
	}{
		{"a node comes", note{members: []string{"p"}, recorded: []string{"p"}}, deed{updated: true}, "p"},
		{"it is ready", note{members: []string{"p"}, recorded: []string{"p"}, ready: true}, deed{}, "p"},
		{"it is repaired", note{members: []string{"p"}, recorded: []string{"p"}, ready: true}, deed{repaired: true}, "p has news"},
		{"it leaves, and is not released yet", note{recorded: []string{"p"}, ready: true}, deed{}, "p has news"},
		{"it is released", note{ready: true}, deed{released: true}, "p has news"},
		{"it comes back", note{members: []string{"p"}, recorded: []string{"p"}}, deed{updated: true}, "p"},
		{"it leaves, and is released in the same pass", note{}, deed{released: true}, "p has news"},
	} {
		figures.report("b", step.found, map[string]deed{"p": step.done})
		tells(step.reason, step.tells)
	}
	figures.report("b", note{members: []string{"p"}, recorded: []string{"p"}}, nil)
	tells("it comes once more", "p")
	figures.forget("b")
	tells("a sound node goes", "p")

	figures.report("c", note{recorded: []string{"p"}}, nil)
	tells("a node carries keys of a pool that it is not in", "p has news")
	figures.forget("c")
	tells("it goes, and a pool that is deleted may, too", "p has news")

	figures.report("d", note{members: []string{"q"}, problem: "is paused", stuck: true}, nil)
	tells("a paused node comes", "q has news")
	figures.report("d", note{members: []string{"p"}, problem: "is paused", stuck: true}, nil)
	tells("it comes to another pool, as paused as before", "p has news", "q has news")
}

// conflictOf is what is kept of a node on which a pool does not get a label.
func conflictOf(t *testing.T, pool string) plan.Digest {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"k": "theirs"}}}
	p, err := plan.Node(node, render.Expand([]*v1.NodePool{{
		ObjectMeta: metav1.ObjectMeta{Name: pool},
		Spec:       v1.NodePoolSpec{NodeNames: []string{"a"}, Labels: map[string]v1.LabelValue{"k": "w"}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	return plan.NewDigest(p.Conflicts)
}

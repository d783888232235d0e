package fleet

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// newCountsTest returns counts, and the stream of what they publish.
func newCountsTest() (*counts, *stream) {
	changes := &publisher{}
	return newCounts(changes), changes.subscribe(Settled | News | Numbers)
}

func TestCountsSettleWhenEveryNodeWasObserved(t *testing.T) {
	figures, _ := newCountsTest()
	settled := func(since uint64, want bool, reason string) {
		t.Helper()
		if _, got := figures.Counts("p", since); got != want {
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
	if again := figures.Report("a", Observation{Epoch: 1}, nil); !again {
		t.Error("a look by the pools of before must be repeated")
	}
	settled(2, false, "a was looked at by the pools of before, b not at all")
	if again := figures.Report("a", Observation{Epoch: 2}, nil); again {
		t.Error("a look by the pools of now must not be repeated")
	}
	settled(2, false, "b is left")
	figures.expect("joined", 2)
	figures.Report("b", Observation{Epoch: 3}, nil)
	settled(2, true, "both were looked at; who joins later holds up nobody")
	settled(3, false, "a was looked at before that")
	figures.Forget("a")
	figures.Forget("joined")
	figures.Forget("never-there")
	settled(3, true, "who is gone holds up nobody")
	figures.Forget("b")
	settled(9, true, "there is no node to wait for")
	if diff := cmp.Diff(map[uint64]int{}, figures.epochs); diff != "" {
		t.Errorf("looks left (-want +got):\n%s", diff)
	}
}

func TestCountsSettleOnce(t *testing.T) {
	figures, published := newCountsTest()
	tells := func(reason string, want ...string) {
		t.Helper()
		var reported []string
		for pool, change := range published.take() {
			if change&Settled != 0 {
				reported = append(reported, pool)
			}
		}
		slices.Sort(reported)
		if !slices.Equal(reported, want) {
			t.Errorf("%s: settled are %v, want %v", reason, reported, want)
		}
	}
	if !figures.Await("p", 5) {
		t.Error("there is no node to wait for")
	}
	figures.expect("a", 1)
	figures.expect("b", 1)
	figures.expect("c", 1)
	for pool, since := range map[string]uint64{"p": 2, "q": 2, "r": 3, "gone": 2} {
		if figures.Await(pool, since) {
			t.Errorf("no node was looked at, and %s is settled", pool)
		}
	}
	figures.ForgetPool("gone")
	figures.Report("a", Observation{Epoch: 2}, nil)
	figures.Forget("c")
	tells("b is left")
	figures.Report("b", Observation{Epoch: 3}, nil)
	tells("every node was looked at since 2", "p", "q")
	figures.Report("b", Observation{Epoch: 4}, nil)
	tells("a was not looked at since 3")
	figures.advance(figures.begin(3), 3)
	tells("a is advanced", "r")
	figures.Report("a", Observation{Epoch: 4}, nil)
	tells("nobody waits")
}

// Of a node that a pass is over nobody knows what the pass will find.
func TestCountsWaitForPassesThatAreUnderWay(t *testing.T) {
	figures, _ := newCountsTest()
	figures.Report("n", Observation{Epoch: 1}, nil)
	figures.Enter("n") // by epoch 2, in which it is in p
	figures.advance(figures.begin(3), 3)
	if figures.Await("p", 3) {
		t.Error("p is settled, and its keys are being written")
	}
	if again := figures.Report("n", Observation{Epoch: 2, FollowerState: plan.FollowerState{Members: []string{"p"}, Recorded: []string{"p"}}}, nil); !again {
		t.Error("a look by the pools of before must be repeated")
	}
	figures.advance(figures.begin(4), 4)
	if figures.Await("p", 3) {
		t.Error("p is settled, and the look is not repeated yet")
	}
	figures.Enter("n")
	figures.Report("n", Observation{Epoch: 4}, nil)
	figures.advance(figures.begin(5), 5)
	if !figures.Await("p", 5) {
		t.Error("the node is idle, and p is not settled")
	}
	figures.Leave("n")

	figures.Enter("n") // and it is repeated without having found anything
	figures.Leave("n")
	figures.advance(figures.begin(6), 6)
	if !figures.Await("p", 6) {
		t.Error("the pass has ended, and p is not settled")
	}
}

func TestCountsAdvanceWhomNothingConcerns(t *testing.T) {
	figures, _ := newCountsTest()
	settled := func(since uint64, want bool, reason string) {
		t.Helper()
		if _, got := figures.Counts("p", since); got != want {
			t.Errorf("settled since %d is %t: %s", since, got, reason)
		}
	}
	figures.expect("new", 1)
	figures.Report("quiet", Observation{Epoch: 1, FollowerState: plan.FollowerState{Members: []string{"p"}}}, nil)
	figures.Report("slow", Observation{Epoch: 1}, nil)
	figures.Report("gone", Observation{Epoch: 1}, nil)
	looks := figures.begin(2)
	if len(looks) != 3 {
		t.Errorf("looks are %v, want those of all but the new node", looks)
	}
	settled(2, false, "nobody was advanced yet")
	if again := figures.Report("slow", Observation{Epoch: 1}, nil); !again {
		t.Error("a look that began before must be repeated")
	}
	figures.Forget("gone")
	figures.advance(looks, 2)
	settled(2, false, "slow was looked at by the pools of before, while others were advanced; new was not looked at")
	figures.Report("slow", Observation{Epoch: 2}, nil)
	settled(2, false, "new was not looked at")
	figures.Report("new", Observation{Epoch: 2}, nil)
	settled(2, true, "quiet was advanced, the others looked at")
	figures.advance(looks, 1)
	settled(2, true, "nobody is set back")
	if f, _ := figures.Counts("p", 2); f.Desired != 1 || f.Updated != 1 {
		t.Errorf("p has %d nodes, %d up to date, want what was found on the node that was advanced", f.Desired, f.Updated)
	}
	for _, node := range []string{"new", "quiet", "slow"} {
		figures.Forget(node)
	}
	if diff := cmp.Diff(map[uint64]int{}, figures.epochs); diff != "" {
		t.Errorf("looks left (-want +got):\n%s", diff)
	}
}

func TestCountsOfPools(t *testing.T) {
	figures, published := newCountsTest()
	counts := func(reason, pool string, want v1.NodeCounts, recorded, stuck int) {
		t.Helper()
		f, _ := figures.Counts(pool, 1)
		if diff := cmp.Diff(want, f.NodeCounts); diff != "" || f.Recorded != recorded || f.Stuck != stuck {
			t.Errorf("%s: %d recorded, %d stuck, counts (-want +got):\n%s", reason, f.Recorded, f.Stuck, diff)
		}
	}
	tells := func(reason string, want ...string) {
		t.Helper()
		var changed []string
		for pool, change := range published.take() {
			if change&News != 0 {
				pool += " has news"
			}
			changed = append(changed, pool)
		}
		slices.Sort(changed)
		if !slices.Equal(changed, want) {
			t.Errorf("%s: published %v, want %v", reason, changed, want)
		}
	}
	conflict := conflictOf(t, "p")
	sound := Observation{Epoch: 1, FollowerState: plan.FollowerState{Members: []string{"p", "q"}, Recorded: []string{"p"}, Ready: true}}
	figures.Report("a", sound, map[string]Result{"p": {Updated: true}})
	tells("a node comes", "p", "q")
	counts("a node comes", "p", v1.NodeCounts{Desired: 1, Updated: 1, Ready: 1}, 1, 0)

	later := sound
	later.Epoch = 2
	figures.Report("a", later, nil)
	tells("a look that finds nothing new")

	disputed := sound
	disputed.Conflicts = conflict
	figures.Report("a", disputed, map[string]Result{"p": {Repaired: true}})
	tells("a conflict begins", "p has news", "q has news")
	counts("a conflict of p", "p", v1.NodeCounts{Desired: 1, Conflicted: 1}, 1, 0)
	counts("a conflict of p is none of q", "q", v1.NodeCounts{Desired: 1, Updated: 1, Ready: 1}, 0, 0)

	paused := Observation{Epoch: 2, FollowerState: plan.FollowerState{Members: []string{"q"}, Recorded: []string{"p"}, Stuck: true}, Problem: "is paused"}
	figures.Report("a", paused, nil)
	tells("a node leaves one pool, and is paused", "p has news", "q has news")
	counts("p has left its keys behind", "p", v1.NodeCounts{}, 1, 1)
	counts("q has a node that is paused", "q", v1.NodeCounts{Desired: 1}, 0, 1)

	if diff := cmp.Diff(map[string]Result{"a": {Updated: true, Repaired: true}}, figures.Results("p")); diff != "" {
		t.Errorf("what was done for p (-want +got):\n%s", diff)
	}
	if left := figures.Results("p"); len(left) > 0 {
		t.Errorf("reported already, and reported again: %v", left)
	}
	figures.Forget("a")
	tells("the node goes", "p has news", "q has news")
	counts("the node has gone", "p", v1.NodeCounts{}, 0, 0)
	if len(figures.pools) > 0 {
		t.Errorf("figures that say nothing are kept: %v", figures.pools)
	}

	for _, step := range []struct {
		reason string
		found  Observation
		done   Result
		tells  string
	}{
		{"a node comes", Observation{FollowerState: plan.FollowerState{Members: []string{"p"}, Recorded: []string{"p"}}}, Result{Updated: true}, "p"},
		{"it is ready", Observation{FollowerState: plan.FollowerState{Members: []string{"p"}, Recorded: []string{"p"}, Ready: true}}, Result{}, "p"},
		{"it is repaired", Observation{FollowerState: plan.FollowerState{Members: []string{"p"}, Recorded: []string{"p"}, Ready: true}}, Result{Repaired: true}, "p has news"},
		{"it leaves, and is not released yet", Observation{FollowerState: plan.FollowerState{Recorded: []string{"p"}, Ready: true}}, Result{}, "p has news"},
		{"it is released", Observation{FollowerState: plan.FollowerState{Ready: true}}, Result{Released: true}, "p has news"},
		{"it comes back", Observation{FollowerState: plan.FollowerState{Members: []string{"p"}, Recorded: []string{"p"}}}, Result{Updated: true}, "p"},
		{"it leaves, and is released in the same pass", Observation{}, Result{Released: true}, "p has news"},
	} {
		figures.Report("b", step.found, map[string]Result{"p": step.done})
		tells(step.reason, step.tells)
	}
	figures.Report("b", Observation{FollowerState: plan.FollowerState{Members: []string{"p"}, Recorded: []string{"p"}}}, nil)
	tells("it comes once more", "p")
	figures.Forget("b")
	tells("a sound node goes", "p")

	figures.Report("c", Observation{FollowerState: plan.FollowerState{Recorded: []string{"p"}}}, nil)
	tells("a node carries keys of a pool that it is not in", "p has news")
	figures.Forget("c")
	tells("it goes, and a pool that is deleted may, too", "p has news")

	figures.Report("d", Observation{FollowerState: plan.FollowerState{Members: []string{"q"}, Stuck: true}, Problem: "is paused"}, nil)
	tells("a paused node comes", "q has news")
	figures.Report("d", Observation{FollowerState: plan.FollowerState{Members: []string{"p"}, Stuck: true}, Problem: "is paused"}, nil)
	tells("it comes to another pool, as paused as before", "p has news", "q has news")
}

// conflictOf is what is kept of a node on which a pool does not get a label.
func conflictOf(t *testing.T, pool string) plan.Digest {
	t.Helper()
	node := &plan.NodeState{Name: "a", Labels: map[string]string{"k": "theirs"}}
	p, err := plan.Node(node, render.Expand([]*v1.NodePool{{
		ObjectMeta: metav1.ObjectMeta{Name: pool},
		Spec:       v1.NodePoolSpec{NodeNames: []string{"a"}, Labels: map[string]v1.LabelValue{"k": "w"}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	return plan.NewDigest(p.Conflicts)
}

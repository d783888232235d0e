package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// passed is what a pass of the controller has made of the cluster.
type passed struct {
	before, after objects
	written       writes
	pools         map[string]*v1.NodePool
}

// watch lets the controller do its work and reads what has come of it.
func (p *proof) watch(before objects) *passed {
	p.t.Helper()
	known := before.uids()
	h := &passed{before: before.comparable(known), written: p.pass(), pools: map[string]*v1.NodePool{}}
	h.after = p.read().comparable(known)
	var pools v1.NodePoolList
	p.do(p.List(p.t.Context(), &pools))
	for i := range pools.Items {
		h.pools[pools.Items[i].Name] = &pools.Items[i]
	}
	return h
}

// compare holds a prediction for one world against what has happened.
func (h *passed) compare(t *testing.T, said *prediction, revisionKnown bool) {
	t.Helper()
	for _, wrong := range said.wrong {
		t.Errorf("the state before is reported wrong: %s", wrong)
	}
	happened := objects{}
	for name, object := range h.after.of(said.world) {
		object = runtime.DeepCopyJSON(object)
		happened[name] = object
		_, wasThere := h.before[name]
		pool := strings.TrimPrefix(name, "nodepools/")
		if !revisionKnown && !said.stays[pool] && (slices.Contains(said.written, name) || !wasThere) {
			delete(annotationsOf(object), v1.RevisionAnnotation)
			tidied(name, object) // where it was the only one
		}
	}
	if diff := cmp.Diff(said.after, happened, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what was predicted is not what has happened (-diff +run):\n%s", diff)
	}
	written := slices.DeleteFunc(slices.Clone(h.written.objects), func(name string) bool {
		return worldOf(name) != said.world || slices.Contains(said.between, name) && !slices.Contains(said.written, name)
	})
	predicted := slices.DeleteFunc(slices.Clone(said.written), func(name string) bool {
		// The garbage collector has deleted it, not the controller.
		return slices.Contains(said.collected, name) && !slices.Contains(written, name)
	})
	if diff := cmp.Diff(predicted, written, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the objects that were to be written are not those that were (-diff +run):\n%s", diff)
	}
}

// ofPoolOrNode finds what a problem is about.
var ofPoolOrNode = regexp.MustCompile(`^(pool|node|RuntimeClass) "([^"]+)"`)

// compareStatuses holds what a review says of one world without writing anything
// against what the statuses of its pools say: conflicts, members, problems.
func (h *passed) compareStatuses(t *testing.T, r *review.Review, world string) {
	t.Helper()
	conflicted := map[string]map[string]bool{} // nodes by pool
	for _, conflict := range r.Conflicts {
		for _, claim := range conflict.Claims {
			for _, node := range conflict.Nodes {
				if conflicted[claim.Pool] == nil {
					conflicted[claim.Pool] = map[string]bool{}
				}
				conflicted[claim.Pool][node] = true
			}
		}
	}
	members := map[string]review.Members{}
	for _, m := range r.Members {
		members[m.Pool] = m
		if m.Before+len(m.Entering)-len(m.Leaving) != m.After {
			t.Errorf("pool %s: %d members, %d entering and %d leaving make %d", m.Pool, m.Before, len(m.Entering), len(m.Leaving), m.After)
		}
	}
	troubled := map[string]bool{}
	for _, problem := range r.Problems {
		switch found := ofPoolOrNode.FindStringSubmatch(problem); {
		case strings.Contains(problem, " deleted, and stays until ") || strings.Contains(problem, " is being deleted: it releases "):
			// It is on its way, and no trouble.
		case found == nil:
			t.Errorf("a problem of nobody: %s", problem)
		case found[1] == "pool":
			troubled[found[2]] = true
		case found[1] == "RuntimeClass":
			troubled[strings.TrimPrefix(found[2], "node-pool-")] = true
		}
	}
	for name, pool := range h.pools {
		if worldOf("nodepools/"+name) != world || !pool.DeletionTimestamp.IsZero() || pool.Status.Nodes == nil {
			continue
		}
		if have, want := int(pool.Status.Nodes.Conflicted), len(conflicted[name]); have != want {
			t.Errorf("pool %s counts %d nodes with conflicts, and the JSON has %d: %v", name, have, want, slices.Sorted(maps.Keys(conflicted[name])))
		}
		if m, changes := members[name]; changes && int(pool.Status.Nodes.Desired) != m.After {
			t.Errorf("pool %s counts %d members, and the JSON has %d", name, pool.Status.Nodes.Desired, m.After)
		}
		if have := inTrouble(pool); have != troubled[name] {
			t.Errorf("pool %s: that it is in trouble is %t, and the JSON says %t: %s", name, have, troubled[name], conditionsText(pool.Status.Conditions))
		}
	}
}

// inTrouble reports whether the status of a pool reports what a plan leaves alone,
// conflicts and nodes left aside.
func inTrouble(pool *v1.NodePool) bool {
	for _, condition := range pool.Status.Conditions {
		if condition.Type == v1.ReadyCondition {
			return slices.Contains([]string{v1.PausedReason, v1.ParentReason, v1.SelectorReason, v1.RuntimeClassReason}, condition.Reason)
		}
	}
	return false
}

func conditionsText(conditions []metav1.Condition) string {
	all := ""
	for _, condition := range conditions {
		all += fmt.Sprintf("%s=%s (%s: %s) ", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return all
}

// compareHeldBack holds what a review says of the guards against the status of
// its source.
func compareHeldBack(t *testing.T, r *review.Review, src *v1.NodePoolSource) {
	t.Helper()
	blocked := false
	for _, condition := range src.Status.Conditions {
		blocked = blocked || condition.Type == v1.PruneBlockedCondition && condition.Status == metav1.ConditionTrue
	}
	if blocked != (r.HeldBack != nil) {
		t.Errorf("source %s: that pools are held back is %t, and the JSON has %+v", src.Name, blocked, r.HeldBack)
	}
}

package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestApproval(t *testing.T) {
	const revision = "main@sha1:new"
	approval := func(name string, used bool) PrunePolicy {
		return PrunePolicy{Enabled: true, Limit: intstr.FromInt32(1), Approval: name, ApprovalUsed: used}
	}
	off := approval(revision, false)
	off.Enabled = false
	unreadable := approval(revision, false)
	unreadable.Limit = intstr.FromString("few")
	cases := map[string]struct {
		reason string
		policy PrunePolicy
		name   string
		// keeps is how many of four pools the revision has; marked is one that is
		// kept by its annotation.
		keeps    int
		marked   string
		gone     []string
		approved bool
		// says and not are what the message holds and does not hold.
		says, not []string
	}{
		"none": {
			reason: "the message has the command", policy: approval("", false), name: revision, keeps: 2,
			says: []string{
				"the limit is 1 (spec.pruneLimit 1); if it is meant, approve it for revision \"main@sha1:new\" alone with: " +
					"nodepools approve source/team; or raise spec.pruneLimit until they are gone",
			}, not: []string{"the approval"},
		},
		"of this revision": {
			reason: "somebody has said so", policy: approval(revision, false), name: revision, keeps: 2,
			gone: []string{"p2", "p3"}, approved: true,
		},
		"of another revision": {
			reason: "it may be a slip of the hand, so it is named", policy: approval("main@sha1:old", false), name: revision, keeps: 2,
			says: []string{`the approval that the source has is of "main@sha1:old", and not of this revision`, "nodepools approve source/team"},
		},
		"of a part of the name": {
			reason: "it is the whole name or none", policy: approval("main", false), name: revision, keeps: 2,
			says: []string{`is of "main", and not`},
		},
		"used": {
			reason: "it counts once, and the command would do nothing", policy: approval(revision, true), name: revision, keeps: 2,
			says: []string{"the approval of this revision is used up"}, not: []string{"nodepools approve"},
		},
		"within the limit": {
			reason: "it is acted on, and used up after, though nothing was blocked", policy: approval(revision, false), name: revision, keeps: 3,
			gone: []string{"p3"}, approved: true,
		},
		"used, within the limit": {
			reason: "the limit is all that there is to say", policy: approval(revision, true), name: revision, keeps: 3,
			gone: []string{"p3"},
		},
		"of a revision without a pool": {
			reason: "a wrong path is not made right by an approval", policy: approval(revision, false), name: revision, keeps: 0,
			approved: true, says: []string{"no pool at all", "delete the pools with kubectl"}, not: []string{"approve"},
		},
		"of a marked pool": {
			reason: "who marked it has not approved anything", policy: approval(revision, false), name: revision, keeps: 2, marked: v1.PruneAnnotation,
			gone: []string{"p2"}, approved: true,
		},
		"of a paused pool": {
			reason: "its nodes are left as they are", policy: approval(revision, false), name: revision, keeps: 2, marked: v1.ReconcileAnnotation,
			gone: []string{"p2"}, approved: true,
		},
		"where nothing is pruned": {
			reason: "the switch goes before it", policy: off, name: revision, keeps: 2, approved: true,
		},
		"of an unreadable limit": {
			reason: "nothing goes on doubt", policy: unreadable, name: revision, keeps: 2, approved: true,
			says: []string{`spec.pruneLimit "few" cannot be read; correct it`},
		},
		"none, of files": {
			reason: "what has no name cannot be approved by an empty one", policy: approval("", false), keeps: 2,
			says: []string{"approve the revision when it is in the repository", "or raise spec.pruneLimit"}, not: []string{"nodepools approve"},
		},
		"of a revision, for files": {
			reason: "nobody knows yet what revision they will be", policy: approval(revision, false), keeps: 2,
			says: []string{"approve the revision when it is in the repository"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := planned(t, Revision{Source: "team", SourceUID: teamUID, Name: c.name, Prune: c.policy}, c.keeps, poolsOfTeam(4, c.marked))
			if diff := cmp.Diff(c.gone, p.Deletes()); diff != "" {
				t.Errorf("deleted: %s (-want +got):\n%s", c.reason, diff)
			}
			if p.Approved != c.approved {
				t.Errorf("approved is %t: %s", p.Approved, c.reason)
			}
			if used := p.UsesUpApproval(); used != (c.approved && c.gone == nil && c.says == nil) {
				t.Errorf("used up is %t: %s", used, c.reason)
			}
			text := ""
			if p.Blocked != nil {
				text = p.Blocked.Error()
			}
			if (text != "") != (c.says != nil) {
				t.Fatalf("blocked as %q: %s", text, c.reason)
			}
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Errorf("%s: reported as %q, want %q in it", c.reason, text, part)
				}
			}
			for _, part := range c.not {
				if strings.Contains(text, part) {
					t.Errorf("%s: reported as %q, want no %q in it", c.reason, text, part)
				}
			}
		})
	}
}

// A prune that is cut off anywhere is finished with the same approval, and only
// then is that used up.
func TestApprovalOutlastsACut(t *testing.T) {
	revision := Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: PrunePolicy{
		Enabled: true, Limit: intstr.FromInt32(0), Base: 6, Approval: "main@sha1:new",
	}}
	for cut := range 5 {
		live := poolsOfTeam(6, "")
		first := planned(t, revision, 2, live)
		if first.UsesUpApproval() {
			t.Fatal("used up with four pools still to delete")
		}
		done := &PoolsPlan{Changes: first.Changes[:cut]}
		live = done.After(live)
		second := planned(t, revision, 2, live)
		if got, want := len(second.Deletes()), 4-cut; got != want || second.Blocked != nil {
			t.Errorf("cut after %d: %d are still deleted, want %d (%v)", cut, got, want, second.Blocked)
		}
		if used := second.UsesUpApproval(); used != (cut == 4) {
			t.Errorf("cut after %d: used up is %t", cut, used)
		}
	}
}

// The annotation may hold anything.
func TestApprovalInMessages(t *testing.T) {
	long := PrunePolicy{Enabled: true, Limit: intstr.FromInt32(0), Approval: "\x1b[31m" + strings.Repeat("é", 100_000)}
	p := planned(t, Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: long}, 3, poolsOfTeam(4, ""))
	if text := p.Blocked.Error(); len(text) > 1500 || strings.ContainsRune(text, '\x1b') {
		t.Errorf("a message of %d bytes: %.300q", len(text), text)
	}
}

func TestApprovalOfASource(t *testing.T) {
	for name, c := range map[string]struct {
		reason            string
		annotation, value string
		used              bool
	}{
		"none":         {reason: "an empty approval is none, and was not used", used: false},
		"new":          {reason: "nothing was handled yet", annotation: "main@sha1:1"},
		"used":         {reason: "the status has it", annotation: "main@sha1:1", value: "main@sha1:1", used: true},
		"another used": {reason: "that was an earlier one", annotation: "main@sha1:2", value: "main@sha1:1"},
		"taken away":   {reason: "the status alone approves nothing", value: "main@sha1:1"},
	} {
		src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		if c.annotation != "" {
			src.Annotations[v1.ApprovePruneAnnotation] = c.annotation
		}
		src.Status.LastHandledPruneApproval = c.value
		if policy := PrunePolicyOf(src); policy.Approval != c.annotation || policy.ApprovalUsed != c.used {
			t.Errorf("%s: approval %q, used %t: %s", name, policy.Approval, policy.ApprovalUsed, c.reason)
		}
	}
}

// poolsOfTeam makes so many pools of the source team, named p0 and so on; the
// last one has an annotation that is disabled.
func poolsOfTeam(count int, marked string) []*v1.NodePool {
	var live []*v1.NodePool
	for i := range count {
		live = append(live, fromGit(fmt.Sprintf("p%d", i), v1.NodePoolSpec{}))
	}
	if marked != "" {
		live[count-1].Annotations[marked] = v1.Disabled
	}
	return live
}

// planned plans a revision that has so many of the pools, from the first on.
func planned(t *testing.T, revision Revision, keeps int, live []*v1.NodePool) *PoolsPlan {
	t.Helper()
	for i := range keeps {
		revision.Pools = append(revision.Pools, inFile(fmt.Sprintf("p%d", i), v1.NodePoolSpec{}))
	}
	p, err := Pools(revision, live)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

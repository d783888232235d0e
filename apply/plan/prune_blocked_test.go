package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// blockedSource is a source whose passes follow one another, each with the status
// that the one before has left.
type blockedSource struct {
	t        *testing.T
	revision Revision
	live     []*v1.NodePool
	deleted  []string
}

// newBlockedSource has ten pools, of which the revision lacks the last so many.
func newBlockedSource(t *testing.T, lacks int) *blockedSource {
	s := &blockedSource{t: t, revision: Revision{
		Source: "team", SourceUID: teamUID, Name: "main@sha1:1", Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("30%"), Base: 10},
	}}
	for i := range 10 {
		s.live = append(s.live, fromGit(fmt.Sprintf("p%d", i), v1.NodePoolSpec{}))
	}
	s.has(10 - lacks)
	return s
}

// has is a revision with the first so many pools, and others.
func (s *blockedSource) has(count int, others ...string) {
	s.revision.Pools = nil
	for i := range count {
		s.revision.Pools = append(s.revision.Pools, inFile(fmt.Sprintf("p%d", i), v1.NodePoolSpec{}))
	}
	for _, name := range others {
		s.revision.Pools = append(s.revision.Pools, inFile(name, v1.NodePoolSpec{}))
	}
}

// byHand deletes pools with kubectl.
func (s *blockedSource) byHand(names ...string) {
	s.live = slices.DeleteFunc(s.live, func(pool *v1.NodePool) bool { return slices.Contains(names, pool.Name) })
}

// pass plans and writes, and keeps what the status keeps.
func (s *blockedSource) pass() *PoolsPlan {
	s.t.Helper()
	p, err := Pools(s.revision, s.live)
	if err != nil {
		s.t.Fatal(err)
	}
	if blocked := p.BlockedPrune; blocked != nil && (!slices.IsSorted(blocked.Pools) || len(blocked.Pools) > v1.MaxBlockedPrunePools) {
		s.t.Fatalf("remembered: %v", blocked)
	}
	s.deleted = append(s.deleted, p.Deletes()...)
	s.live = p.After(s.live)
	s.revision.Numbers = Numbers{teamUID: max(p.Number, s.revision.Numbers[teamUID])}
	s.revision.Prune.Blocked = p.BlockedPrune
	if p.Blocked == nil {
		s.revision.Prune.Base = s.revision.owned(s.live)
	}
	if p.UsesUpApproval() {
		s.revision.Prune.ApprovalUsed = true
	}
	return p
}

// A prune that was blocked stays blocked for its pools, whatever becomes of some of
// them, until somebody has decided.
func TestBlockedPruneStaysBlocked(t *testing.T) {
	mark := func(names ...string) func(*blockedSource) {
		return func(s *blockedSource) {
			for _, pool := range s.live {
				if slices.Contains(names, pool.Name) {
					pool.Annotations[v1.PruneAnnotation] = v1.Disabled
				}
			}
		}
	}
	cases := map[string]struct {
		reason string
		then   []func(*blockedSource)
		// deleted are the pools that go in the end, of p5 to p9, which were blocked.
		deleted []string
		blocked bool
	}{
		"nothing happens": {"it is blocked as before", nil, nil, true},
		"some are deleted by hand": {
			"two of five are within the limit, and were not when all five were blocked",
			[]func(*blockedSource){func(s *blockedSource) { s.byHand("p5", "p6", "p7") }}, nil, true,
		},
		"one after the other": {
			"each pass is as much within the limit as the next",
			[]func(*blockedSource){func(s *blockedSource) { s.byHand("p9") }, func(s *blockedSource) { s.byHand("p7") }, func(s *blockedSource) { s.byHand("p5") }}, nil, true,
		},
		"a revision adds pools": {
			"what a revision adds makes no way",
			[]func(*blockedSource){func(s *blockedSource) { s.byHand("p5", "p6"); s.has(5, "new-1", "new-2") }}, nil, true,
		},
		"the prune is switched off and on": {
			"that decides about nothing",
			[]func(*blockedSource){
				func(s *blockedSource) { s.revision.Prune.Enabled = false; s.byHand("p5", "p6", "p7") },
				func(s *blockedSource) { s.revision.Prune.Enabled = true },
			}, nil, true,
		},
		"all are kept for a while": {
			"the annotation says to keep them, and its absence does not say to delete them",
			[]func(*blockedSource){
				mark("p5", "p6", "p7", "p8", "p9"),
				func(s *blockedSource) {
					s.byHand("p5", "p6", "p7")
					for _, pool := range s.live {
						delete(pool.Annotations, v1.PruneAnnotation)
					}
				},
			}, nil, true,
		},
		"approved": {
			"somebody has decided",
			[]func(*blockedSource){func(s *blockedSource) { s.byHand("p5"); s.revision.Prune.Approval = s.revision.Name }},
			[]string{"p6", "p7", "p8", "p9"}, false,
		},
		"another revision is approved": {
			"an approval counts for one",
			[]func(*blockedSource){func(s *blockedSource) { s.byHand("p5", "p6", "p7"); s.revision.Prune.Approval = "main@sha1:2" }}, nil, true,
		},
		"the limit is raised": {
			"it allows all that was blocked",
			[]func(*blockedSource){func(s *blockedSource) { s.revision.Prune.Limit = intstr.FromString("50%") }},
			[]string{"p5", "p6", "p7", "p8", "p9"}, false,
		},
		"the limit is raised too little": {
			"it allows what is left, and not what was blocked",
			[]func(*blockedSource){func(s *blockedSource) { s.byHand("p5", "p6"); s.revision.Prune.Limit = intstr.FromInt32(4) }}, nil, true,
		},
		"all are back": {
			"there is nothing to prune, and the next prune is another one",
			[]func(*blockedSource){func(s *blockedSource) { s.has(10) }, func(s *blockedSource) { s.has(8) }},
			[]string{"p8", "p9"}, false,
		},
		"others vanish in their place": {
			"the pools that were blocked are back, and what vanishes now is within the limit",
			[]func(*blockedSource){func(s *blockedSource) { s.has(4, "p5", "p6", "p7", "p8", "p9") }},
			[]string{"p4"}, false,
		},
		"some are back": {
			"nobody has decided about the others",
			[]func(*blockedSource){func(s *blockedSource) { s.has(8) }}, nil, true,
		},
		"all are deleted by hand": {
			"the next prune is another one",
			[]func(*blockedSource){
				func(s *blockedSource) { s.byHand("p5", "p6", "p7", "p8", "p9") },
				func(s *blockedSource) { s.has(4) },
			}, []string{"p4"}, false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newBlockedSource(t, 5)
			if p := s.pass(); p.Blocked == nil || p.BlockedPrune == nil || p.BlockedPrune.Count != 5 {
				t.Fatalf("it was not blocked in the first keyField: %+v", p)
			}
			p := s.pass()
			for _, then := range c.then {
				then(s)
				p = s.pass()
			}
			if diff := cmp.Diff(c.deleted, s.deleted); diff != "" {
				t.Errorf("deleted: %s (-want +got):\n%s", c.reason, diff)
			}
			if (p.Blocked != nil) != c.blocked || (p.BlockedPrune != nil) != c.blocked {
				t.Errorf("blocked: %v, remembered: %v: %s", p.Blocked, p.BlockedPrune, c.reason)
			}
			if p.Blocked != nil && len(p.Blocked.Pools) < 4 && !strings.Contains(p.Blocked.Reason, "and the prune was of 5 pools when it was blocked") {
				t.Errorf("the reason does not say what it was: %s", p.Blocked.Reason)
			}
		})
	}
}

// Of a large prune no more is remembered than a status has room for, and none of
// its pools gets away.
func TestBlockedPruneIsBounded(t *testing.T) {
	s := &blockedSource{t: t, revision: Revision{
		Source: "team", SourceUID: teamUID, Name: "main@sha1:1", Prune: PrunePolicy{Enabled: true, Limit: intstr.FromInt32(3)},
	}}
	s.has(1)
	for i := range 500 {
		s.live = append(s.live, fromGit(fmt.Sprintf("q%03d", i), v1.NodePoolSpec{}))
	}
	s.live = append(s.live, fromGit("p0", v1.NodePoolSpec{}))
	s.pass()
	if blocked := s.revision.Prune.Blocked; blocked == nil || len(blocked.Pools) != v1.MaxBlockedPrunePools || blocked.Count != 500 {
		t.Fatalf("remembered: %+v", blocked)
	}
	// All that are remembered by name go by hand, and nearly all others.
	var gone []string
	for i := range 498 {
		gone = append(gone, fmt.Sprintf("q%03d", i))
	}
	s.byHand(gone...)
	if p := s.pass(); p.Blocked == nil || len(s.deleted) > 0 {
		t.Errorf("deleted %v, blocked: %v", s.deleted, p.Blocked)
	}
}

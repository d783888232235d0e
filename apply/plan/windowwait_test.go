package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestWindowWait(t *testing.T) {
	at := time.Date(2026, time.October, 24, 12, 0, 0, 0, time.UTC)
	nightly := v1.Window{Schedule: "30 2 * * *", TimeZone: "Europe/Berlin", Duration: metav1.Duration{Duration: 4 * time.Hour}}
	peak := v1.Exclusion{Start: &metav1.Time{Time: at.Add(-time.Hour)}, End: &metav1.Time{Time: at.Add(time.Hour)}, Reason: "peak season"}
	const night = "outside the windows of the source; the next opening is 2026-10-25T02:30:00+02:00 (2026-10-25T00:30:00Z)"
	cases := map[string]struct {
		reason string
		source v1.NodePoolSource
		at     time.Time
		want   string // empty where the revision does not wait
	}{
		"no windows":       {"nothing is said", v1.NodePoolSource{}, at, ""},
		"outside":          {"it waits for the night", windowed(nightly), at, night},
		"inside":           {"it is night", windowed(nightly), at.Add(13 * time.Hour), ""},
		"at the opening":   {"the start is part of it", windowed(nightly), time.Date(2026, time.October, 25, 0, 30, 0, 0, time.UTC), ""},
		"at the closing":   {"the end is not", windowed(nightly), time.Date(2026, time.October, 24, 4, 30, 0, 0, time.UTC), night},
		"excluded":         {"an exclusion has its reason", excluded(peak), at, "an exclusion of the source is in force (peak season); the next opening is 2026-10-24T13:00:00Z"},
		"excluded, closed": {"the exclusion makes no difference, and says nothing when it comes and goes", with(excluded(peak), func(s *v1.NodePoolSource) { s.Spec.Windows = []v1.Window{nightly} }), at, night},
		"exclusion over":   {"it is over", excluded(peak), at.Add(time.Hour), ""},
		"unknown zone":     {"closed, and it says why", windowed(v1.Window{Schedule: "@daily", TimeZone: "Europe/Atlantis", Duration: nightly.Duration}), at, `outside the windows of the source; no opening was found; windows[0]: timeZone "Europe/Atlantis" is not in the time zone database; it stays closed`},
		"impossible date":  {"the same", windowed(v1.Window{Schedule: "0 0 30 2 *", Duration: nightly.Duration}), at, `outside the windows of the source; no opening was found; windows[0]: schedule "0 0 30 2 *" never starts: none of its months has any of its days; it stays closed`},
		"applied already":  {"what it deletes waits: see TestStandingRevisionPostponesDeletes", with(windowed(nightly), func(s *v1.NodePoolSource) { s.Status.Revision = "main@sha1:new" }), at, night},
	}
	for name, c := range cases {
		wait := WindowWaitOf(&c.source, "main@sha1:new", c.at)
		if got := (wait != nil); got != (c.want != "") || got && wait.Error() != c.want {
			t.Errorf("%s: waits as %v, want %q: %s", name, wait, c.want, c.reason)
		}
		if standing := c.source.Status.Revision != ""; wait != nil && wait.Standing != standing {
			t.Errorf("%s: standing is %t, want %t", name, wait.Standing, standing)
		}
	}
}

func windowed(w v1.Window) v1.NodePoolSource {
	return v1.NodePoolSource{Spec: v1.NodePoolSourceSpec{Windows: []v1.Window{w}}}
}

func excluded(e v1.Exclusion) v1.NodePoolSource {
	return v1.NodePoolSource{Spec: v1.NodePoolSourceSpec{Exclusions: []v1.Exclusion{e}}}
}

func with(source v1.NodePoolSource, change func(*v1.NodePoolSource)) v1.NodePoolSource {
	change(&source)
	return source
}

// A revision waits when it changes something, and nothing else about it is refused: what
// has to be approved is known before the window opens.
func TestRevisionWaits(t *testing.T) {
	wait := &WindowWait{Reason: "peak season"}
	none := func() ([]*NodeState, error) { return nil, nil }
	revision := revisionOfPools("main@sha1:new", ReleasePolicy{}, define("p", v1.NodePoolSpec{}))
	o, err := RevisionOutcomeOf(revision.Awaiting(wait), nil, none)
	if waits := (*WindowWait)(nil); err != nil || !errors.As(o.Refused, &waits) || waits != wait {
		t.Errorf("outcome %+v and error %v, want it to wait", o, err)
	}
	standing := appliedRevision(t, revision, Cluster{})
	if o, err := RevisionOutcomeOf(revision.Awaiting(wait), standing.Pools, none); err != nil || o.Refused != nil {
		t.Errorf("outcome %+v and error %v, want nothing to wait for", o, err)
	}
	foreign := revision
	foreign.SourceUID = teamUID
	o, err = RevisionOutcomeOf(foreign.Awaiting(wait), []*v1.NodePool{define("p", v1.NodePoolSpec{})}, none)
	if claim := (*ClaimError)(nil); err != nil || !errors.As(o.Refused, &claim) {
		t.Errorf("outcome %+v and error %v, want a claim that is refused at once", o, err)
	}
}

// A revision waits as well where it changes nothing yet, and would when it is approved,
// or when a pool that is being deleted is gone: it would count as applied, and not wait
// any more.
func TestRevisionWaitsThatChangesNothingYet(t *testing.T) {
	const name = "main@sha1:new"
	wait := &WindowWait{Reason: "peak season"}
	none := func() ([]*NodeState, error) { return nil, nil }
	old := revisionOfPools("main@sha1:old", ReleasePolicy{}, define("p", v1.NodePoolSpec{}), define("q", v1.NodePoolSpec{}), define("r", v1.NodePoolSpec{}))
	cluster := appliedRevision(t, old, Cluster{})
	fewer := revisionOfPools(name, ReleasePolicy{}, define("p", v1.NodePoolSpec{}))
	fewer.Prune.Limit = intstr.FromInt32(1)
	approved := fewer
	approved.Prune.Approval = name
	going := appliedRevision(t, old, Cluster{})
	going.Pools[0].DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	same := old
	same.Name = name
	cases := map[string]struct {
		reason   string
		revision Revision
		live     []*v1.NodePool
		waits    bool
		blocked  bool
	}{
		"a prune that is blocked": {"it can be approved in time", fewer, cluster.Pools, true, true},
		"and approved":            {"an approval opens no window", approved, cluster.Pools, true, false},
		"a pool being deleted":    {"it would be created anew when it is gone", same, going.Pools, true, false},
		"nothing at all":          {"there is nothing to wait for", same, cluster.Pools, false, false},
	}
	for label, c := range cases {
		o, err := RevisionOutcomeOf(c.revision.Awaiting(wait), c.live, none)
		if err != nil || errors.Is(o.Refused, wait) != c.waits || (o.Plan.Blocked != nil) != c.blocked {
			t.Errorf("%s: refused as %v, blocked as %v, error %v: %s", label, o.Refused, o.Plan.Blocked, err, c.reason)
		}
	}
}

// Outside the windows the revision that stands is repaired, and deletes nothing: not even
// what is approved meanwhile. The approval is not used up by that.
func TestStandingRevisionPostponesDeletes(t *testing.T) {
	const name = "main@sha1:new"
	none := func() ([]*NodeState, error) { return nil, nil }
	old := revisionOfPools("main@sha1:old", ReleasePolicy{}, define("p", v1.NodePoolSpec{}), define("q", v1.NodePoolSpec{}), define("r", v1.NodePoolSpec{}))
	cluster := appliedRevision(t, old, Cluster{})
	revision := revisionOfPools(name, ReleasePolicy{}, define("p", v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"example.com/k": "v"}}))
	revision.Prune = PrunePolicy{Enabled: true, Limit: intstr.FromInt32(1), Approval: name, Blocked: &v1.BlockedPrune{Count: 2, Pools: []string{"q", "r"}}}
	o, err := RevisionOutcomeOf(revision.Awaiting(&WindowWait{Standing: true}), cluster.Pools, none)
	if err != nil || o.Refused != nil {
		t.Fatalf("refused as %v, error %v", o.Refused, err)
	}
	p := o.Plan
	if got := strings.Join(p.Names(), " "); got != "p" || len(p.Deletes()) > 0 || strings.Join(p.Postponed, " ") != "q r" {
		t.Errorf("changes %s, deletes %v, and postpones %v; want a repair of p, and q and r postponed", got, p.Deletes(), p.Postponed)
	}
	src := &v1.NodePoolSource{}
	src.Annotations = map[string]string{v1.ApproveReleaseAnnotation: name}
	status := v1.NodePoolSourceStatus{}
	p.Remember(src, name, nil, &status)
	if status.LastHandledPruneApproval != "" || status.LastHandledReleaseApproval != "" || status.PruneBase != 3 || status.BlockedPrune == nil {
		t.Errorf("remembers %+v, want no approval used up, 3 pools, and the prune that was blocked", status)
	}
	if o, err := RevisionOutcomeOf(revision, cluster.Pools, none); err != nil || len(o.Plan.Deletes()) != 2 || len(o.Plan.Postponed) > 0 {
		t.Errorf("within a window: plan %+v, error %v, want both deleted", o.Plan, err)
	}
}

// While a newer revision waits, the one that stands is repaired, and deletes nothing.
func TestRepairs(t *testing.T) {
	p := &PoolsPlan{Approved: true, Changes: []PoolChange{{Action: Update, Name: "a"}, {Action: Create, Name: "b"}, {Action: Delete, Name: "c"}}}
	if names := strings.Join(p.Repairs().Names(), " "); names != "a b" || p.Repairs().Approved {
		t.Errorf("repairs are %s (approved: %t), want a and b", names, p.Repairs().Approved)
	}
}

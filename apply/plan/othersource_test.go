package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

var neighbourTime = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// newSource is an active source of a repository.
func newSource(name, url string) *v1.NodePoolSource {
	return &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), Generation: 1},
		Spec:       v1.NodePoolSourceSpec{URL: url, Path: name},
	}
}

// What is known of another source, from what was read of it last.
func TestOtherSources(t *testing.T) {
	const url = "https://git.example.com/platform/pools.git"
	closed := func(src *v1.NodePoolSource) {
		src.Spec.Windows = []v1.Window{{Schedule: "0 2 * * 6", Duration: metav1.Duration{Duration: time.Hour}}}
	}
	cases := map[string]struct {
		reason string
		edit   func(*Reading)
		unread string
		soon   bool
		asked  bool
		waits  bool
	}{
		"at the same revision": {"it need not be polled again", func(r *Reading) { r.At = r.At.Add(-time.Hour) }, "", true, true, false},
		"never polled":         {"the process has just begun", func(r *Reading) { *r = Reading{Source: r.Source} }, "was not polled since", true, true, false},
		"behind":               {"it may have the pool by now", func(r *Reading) { r.Good = "main@sha1:old"; r.At = r.At.Add(-time.Hour) }, "was not polled since", true, true, false},
		"behind when asked":    {"a server may answer with what was", func(r *Reading) { r.Good = "main@sha1:old" }, "is at another revision", true, true, false},
		"another ref": {"it was polled since", func(r *Reading) {
			r.Source.Spec.Ref, r.Good = &v1.GitRef{Tag: "v1"}, "v1@sha1:other"
		}, "", true, true, false},
		"another ref, before": {"it was not", func(r *Reading) {
			r.Source.Spec.Ref, r.Good, r.At = &v1.GitRef{Tag: "v1"}, "v1@sha1:other", r.At.Add(-time.Hour)
		}, "was not polled since", true, true, false},
		"its spec changed":   {"its path may be another", func(r *Reading) { r.Source.Generation++ }, "was not polled since", true, true, false},
		"cannot be polled":   {"it is tried again", func(r *Reading) { r.Unreachable = true }, "cannot be polled", true, true, false},
		"invalid":            {"somebody has to correct it", func(r *Reading) { r.Refused = true }, "has a revision that is not taken", false, true, false},
		"suspended":          {"somebody has to resume it", func(r *Reading) { r.Source.Spec.Suspend = true }, "is suspended", false, true, false},
		"paused":             {"the same", func(r *Reading) { r.Source.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled} }, "is paused", false, true, false},
		"being deleted":      {"it takes up nothing any more", func(r *Reading) { r.Source.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }, "is being deleted", false, false, false},
		"by ssh":             {"it is the same repository", func(r *Reading) { r.Source.Spec.URL = "ssh://git@GIT.example.com:2222/platform/pools" }, "", true, true, false},
		"another repository": {"it is not asked", func(r *Reading) { r.Source.Spec.URL = "https://git.example.com/other/pools.git" }, "", true, false, false},
		"claims, from another repository": {"it may have the pool", func(r *Reading) {
			r.Source.Spec.URL = "https://git.example.com/other/pools.git"
			r.Source.Status.Conditions = []metav1.Condition{{Type: v1.ValidCondition, Status: metav1.ConditionFalse, Reason: v1.ClaimedReason}}
		}, "", true, true, false},
		"waits for a window": {"it has given up nothing yet", func(r *Reading) { closed(r.Source) }, "", true, true, true},
		"stands, out of its window": {"it has the revision already", func(r *Reading) {
			closed(r.Source)
			r.Source.Status.Revision = r.Good
		}, "", true, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			of := Reading{Source: newSource("one", url), Generation: 1, At: neighbourTime, Good: "main@sha1:new", Since: neighbourTime}
			reading := Reading{Source: newSource("two", url), Generation: 1, At: neighbourTime, Good: "main@sha1:new", Since: neighbourTime, Pools: []render.Definition{inFile("a", v1.NodePoolSpec{})}}
			c.edit(&reading)
			want := OtherSource{Name: "two", UID: "uid-of-two", Pools: map[string]bool{}, Unread: c.unread, Soon: c.soon, Asked: c.asked, Waits: c.waits}
			if reading.Pools != nil && c.unread != "is being deleted" {
				want.Pools["a"] = true
			}
			if diff := cmp.Diff([]OtherSource{want}, OtherSources(of, []Reading{of, reading}, neighbourTime)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// What becomes of a pool that the source team has and its revision lacks, by what another
// source has.
func TestHandedOver(t *testing.T) {
	other := func(edit func(*OtherSource)) []OtherSource {
		o := OtherSource{Name: "other", UID: "uid-of-other", Pools: map[string]bool{}, Asked: true, Soon: true}
		edit(&o)
		return []OtherSource{o}
	}
	cases := map[string]struct {
		reason   string
		others   []OtherSource
		approved bool
		// deleted and handed are what becomes of the pool; why is part of the reason why it
		// waits, and soon reports that nobody has to act.
		deleted, handed bool
		why             string
		soon            bool
	}{
		"no other source":           {"it is pruned", nil, false, true, false, "", false},
		"another lacks it":          {"it is pruned", other(func(*OtherSource) {}), false, true, false, "", false},
		"another has it":            {"it is handed over", other(func(o *OtherSource) { o.Pools["a"] = true }), false, false, true, "", false},
		"of another repository":     {"it is handed over to who claims it, wherever from", other(func(o *OtherSource) { o.Pools["a"], o.Asked = true, false }), false, false, true, "", false},
		"another may have it":       {"doubt keeps", other(func(o *OtherSource) { o.Unread = "was not polled since" }), false, false, false, `source "other", which may have them, was not polled since`, true},
		"another is suspended":      {"doubt keeps", other(func(o *OtherSource) { o.Unread, o.Soon = "is suspended", false }), false, false, false, `source "other", which may have them, is suspended`, false},
		"approved":                  {"no source is to have it", other(func(o *OtherSource) { o.Unread, o.Soon = "is suspended", false }), true, true, false, "", false},
		"had it, and is suspended":  {"it is its", other(func(o *OtherSource) { o.Pools["a"], o.Unread, o.Soon = true, "is suspended", false }), true, false, true, "", false},
		"unread, of somewhere else": {"it has to do with other pools", other(func(o *OtherSource) { o.Unread, o.Asked = "cannot be polled", false }), false, true, false, "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			live := []*v1.NodePool{fromGit("a", v1.NodePoolSpec{}), fromGit("b", v1.NodePoolSpec{})}
			revision := Revision{
				Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Pools: []render.Definition{inFile("b", v1.NodePoolSpec{})},
				Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")}, Others: c.others,
			}
			if c.approved {
				revision.Prune.Approval = revision.Name
			}
			o, err := RevisionOutcomeOf(revision, live, func() ([]*NodeState, error) { return nil, nil })
			if err != nil || o.Refused != nil {
				t.Fatal(err, o.Refused)
			}
			if deleted := slices.Equal(o.Plan.Deletes(), []string{"a"}); deleted != c.deleted {
				t.Errorf("deleted %t: %s", deleted, c.reason)
			}
			if handed := slices.Equal(o.Plan.Handed, []Handover{{Pool: "a", To: "other"}}); handed != c.handed {
				t.Errorf("handed over: %v: %s", o.Plan.Handed, c.reason)
			}
			if waits := o.Plan.Blocked != nil; waits != (c.why != "") || waits != slices.Equal(o.Awaited, []string{"other"}) {
				t.Fatalf("blocked: %v, awaited %v: %s", o.Plan.Blocked, o.Awaited, c.reason)
			}
			if c.why == "" {
				return
			}
			text := o.Plan.Blocked.Error()
			if !strings.Contains(text, c.why) || o.Plan.Blocked.Soon != c.soon || strings.Contains(text, "nodepools approve source/team") == c.soon {
				t.Errorf("soon %t, reported as %q", o.Plan.Blocked.Soon, text)
			}
			if o.Plan.BlockedPrune != nil {
				t.Errorf("of how many pools the prune is shows later: %v", o.Plan.BlockedPrune)
			}
		})
	}
}

// What becomes of a pool of the source team that the revision of another source has.
func TestTakenUp(t *testing.T) {
	team := func(edit func(*OtherSource)) []OtherSource {
		o := OtherSource{Name: "team", UID: teamUID, Pools: map[string]bool{}, Asked: true, Soon: true}
		edit(&o)
		return []OtherSource{o}
	}
	cases := map[string]struct {
		reason string
		others []OtherSource
		edit   func(*v1.NodePool)
		taken  bool
		why    string
		soon   bool
	}{
		"given up":          {"its source is known to have it no more", team(func(*OtherSource) {}), nil, true, "", false},
		"had still":         {"two sources have it", team(func(o *OtherSource) { o.Pools["a"] = true }), nil, false, `source "team" owns it`, false},
		"not known yet":     {"its source is read first", team(func(o *OtherSource) { o.Unread = "was not polled since" }), nil, false, "was not polled since", true},
		"suspended":         {"doubt keeps", team(func(o *OtherSource) { o.Unread, o.Soon = "is suspended", false }), nil, false, "is suspended", false},
		"out of its window": {"it was not given up yet", team(func(o *OtherSource) { o.Waits = true }), nil, false, "waits for a window", true},
		"held back":         {"the same", team(func(o *OtherSource) { o.Held = true }), nil, false, "waits for an approval", false},
		"paused pool":       {"somebody has said that it stays", team(func(*OtherSource) {}), func(pool *v1.NodePool) { pause(pool) }, false, `source "team" owns it`, false},
		"no such source":    {"nobody has given it up", nil, nil, false, `source "team" owns it`, false},
		"never applied": {"its source had no right to give it up", team(func(*OtherSource) {}), func(pool *v1.NodePool) {
			pool.ManagedFields = handManaged(pool)
		}, false, `source "team" owns it`, false},
		"made by hand": {"no source has given it up", team(func(*OtherSource) {}), func(pool *v1.NodePool) {
			pool.Annotations, pool.Labels = map[string]string{}, map[string]string{}
			pool.ManagedFields = handManaged(pool)
		}, false, "no source has applied it", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pool := fromGit("a", v1.NodePoolSpec{})
			if c.edit != nil {
				c.edit(pool)
			}
			live := []*v1.NodePool{pool}
			revision := Revision{Source: "other", SourceUID: "uid-of-other", Name: "main@sha1:new", Pools: []render.Definition{inFile("a", v1.NodePoolSpec{})}, Others: c.others}
			o, err := RevisionOutcomeOf(revision, live, func() ([]*NodeState, error) { return nil, nil })
			if err != nil {
				t.Fatal(err)
			}
			if taken := o.Refused == nil; taken != c.taken {
				t.Fatalf("%v: %s", o.Refused, c.reason)
			}
			if c.taken {
				after := o.Plan.After(live)[0]
				if !owns("uid-of-other", after) || after.UID != pool.UID || after.Labels[v1.SourceLabel] != "other" || o.Plan.OwnedAfter != 1 {
					t.Errorf("%v, %d owned", after.ObjectMeta, o.Plan.OwnedAfter)
				}
				return
			}
			claims := (*ClaimError)(nil)
			if !errors.As(o.Refused, &claims) || claims.Soon() != c.soon || !strings.Contains(o.Refused.Error(), c.why) {
				t.Errorf("soon %t: %v", claims.Soon(), o.Refused)
			}
			if c.soon != strings.Contains(o.Refused.Error(), "nothing to do") {
				t.Errorf("remedy: %v", o.Refused)
			}
		})
	}
}

// Pools move between three sources of a repository, which are polled in any order, are
// suspended and go on: a pool that the repository has is never deleted, and in the end each
// source has what its folder says.
func TestPoolsMoveOverHistories(t *testing.T) {
	moves := 0
	for seed := range uint64(worlds) {
		w := newMovesWorld(rand.New(rand.NewPCG(seed, 48)))
		for range 60 {
			switch w.r.IntN(6) {
			case 0:
				w.commit()
			case 1:
				at := w.r.IntN(len(w.sources))
				w.sources[at].Source.Spec.Suspend = !w.sources[at].Source.Spec.Suspend
			case 2, 3:
				w.poll(w.r.IntN(len(w.sources)))
			default:
				w.pass(t, w.r.IntN(len(w.sources)))
			}
		}
		for i := range w.sources {
			w.sources[i].Source.Spec.Suspend = false
		}
		for range 3 {
			for i := range w.sources {
				w.poll(i)
			}
			for i := range w.sources {
				w.pass(t, i)
			}
		}
		for _, pool := range w.live {
			if owner := w.sources[w.folders[pool.Name]].Source; !owns(owner.UID, pool) {
				t.Fatalf("seed %d: pool %s is of %s, and in the folder of %s", seed, pool.Name, pool.Labels[v1.SourceLabel], owner.Name)
			}
		}
		if len(w.live) != len(w.folders) {
			t.Fatalf("seed %d: there are %d pools, want %d", seed, len(w.live), len(w.folders))
		}
		moves += w.moves
	}
	if moves < worlds {
		t.Errorf("%d moves in %d worlds, too few to show anything", moves, worlds)
	}
}

type movesWorld struct {
	numbers Numbers
	r       *rand.Rand
	now     time.Time
	commits int
	folders map[string]int // the source of each pool
	sources []Reading
	live    []*v1.NodePool
	moves   int
}

func newMovesWorld(r *rand.Rand) *movesWorld {
	w := &movesWorld{r: r, now: neighbourTime, folders: map[string]int{}, numbers: Numbers{}}
	for _, name := range []string{"one", "two", "three"} {
		w.sources = append(w.sources, Reading{Source: newSource(name, "https://git.example.com/pools")})
	}
	for i := range 5 {
		w.folders[fmt.Sprintf("p%d", i)] = r.IntN(3)
	}
	return w
}

// commit moves some pools.
func (w *movesWorld) commit() {
	w.commits++
	for i := range 5 {
		if w.r.IntN(3) == 0 {
			w.folders[fmt.Sprintf("p%d", i)] = w.r.IntN(3)
		}
	}
}

// poll reads what a source has by now.
func (w *movesWorld) poll(at int) {
	reading := &w.sources[at]
	if reading.Source.Spec.Suspend {
		return
	}
	w.now = w.now.Add(time.Second)
	reading.At, reading.Generation = w.now, reading.Source.Generation
	if good := fmt.Sprintf("main@sha1:%d", w.commits); reading.Good != good {
		reading.Good, reading.Since, reading.Pools = good, w.now, nil
		for i := range 5 {
			if name := fmt.Sprintf("p%d", i); w.folders[name] == at {
				reading.Pools = append(reading.Pools, inFile(name, v1.NodePoolSpec{}))
			}
		}
	}
}

// pass applies what was read of a source.
func (w *movesWorld) pass(t *testing.T, at int) {
	t.Helper()
	reading := w.sources[at]
	if reading.Source.Spec.Suspend || reading.Good == "" {
		return
	}
	revision := RevisionOf(reading.Source, reading.Good, reading.Pools)
	revision.Prune.Limit = intstr.FromString("100%")
	revision.Others, revision.Numbers = OtherSources(reading, w.sources, w.now), w.numbers
	p, err := Pools(revision, w.live)
	if err != nil {
		return // a claim, which is decided later
	}
	if deletes := p.Deletes(); len(deletes) > 0 {
		t.Fatalf("source %s deletes %v, which the repository has", reading.Source.Name, deletes)
	}
	for _, change := range p.Changes {
		if change.Live != nil && !owns(reading.Source.UID, change.Live) {
			w.moves++
		}
	}
	w.live = p.After(w.live)
	w.numbers[reading.Source.UID] = max(p.Number, w.numbers[reading.Source.UID])
}

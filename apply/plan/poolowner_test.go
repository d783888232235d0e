package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Whose a pool is goes by the UID that the source has applied on it: neither by a
// label nor by an annotation that somebody has set.
func TestOwnership(t *testing.T) {
	byHand := func(edit func(*v1.NodePool)) func(*v1.NodePool) {
		return func(pool *v1.NodePool) {
			pool.Labels, pool.Annotations, pool.ManagedFields = map[string]string{}, map[string]string{}, nil
			edit(pool)
			pool.ManagedFields = handManaged(pool)
		}
	}
	cases := map[string]struct {
		reason string
		edit   func(*v1.NodePool)
		// taken and pruned are what becomes of the pool where the revision has it, and
		// where it lacks it; reported reports that it is kept, and said to be.
		taken, pruned, reported bool
	}{
		"applied":               {"it is the source's", func(*v1.NodePool) {}, true, true, false},
		"label taken off":       {"that is drift", func(p *v1.NodePool) { p.Labels = nil }, true, true, false},
		"label of another":      {"the same", func(p *v1.NodePool) { p.Labels[v1.SourceLabel] = "other" }, true, true, false},
		"made by hand":          {"no source has to do with it", byHand(func(*v1.NodePool) {}), false, false, false},
		"labelled by hand":      {"a label is anybody's to set", byHand(func(p *v1.NodePool) { p.Labels[v1.SourceLabel] = "team" }), false, false, true},
		"annotated by hand":     {"handing over lets the source update it; it has applied nothing that it could prune", byHand(func(p *v1.NodePool) { p.Annotations[v1.SourceUIDAnnotation] = string(teamUID) }), true, false, true},
		"of an earlier source":  {"the name was given again, perhaps for another repository", func(p *v1.NodePool) { p.Annotations[v1.SourceUIDAnnotation] = "uid-of-earlier" }, false, false, true},
		"handed to another":     {"it is the other's", handedTo("other"), false, false, false},
		"annotation taken off":  {"somebody has taken it from the source", func(p *v1.NodePool) { delete(p.Annotations, v1.SourceUIDAnnotation) }, false, false, true},
		"both taken off":        {"the same, and nothing says any more that it was the source's", func(p *v1.NodePool) { p.Labels, p.Annotations = nil, nil }, false, false, false},
		"an empty UID":          {"that is none", func(p *v1.NodePool) { p.Annotations[v1.SourceUIDAnnotation] = "" }, false, false, true},
		"of an unknown source":  {"the placeholder owns nothing of others", func(p *v1.NodePool) { p.Annotations[v1.SourceUIDAnnotation] = string(UnknownSourceUID) }, false, false, true},
		"a UID in another case": {"UIDs are compared exactly", func(p *v1.NodePool) { p.Annotations[v1.SourceUIDAnnotation] = "UID-OF-TEAM" }, false, false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pool, other := fromGit("a", v1.NodePoolSpec{}), fromGit("b", v1.NodePoolSpec{})
			c.edit(pool)
			live := []*v1.NodePool{pool, other}
			revision := Revision{
				Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Pools: []render.Definition{inFile("a", v1.NodePoolSpec{}), inFile("b", v1.NodePoolSpec{})},
				Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")},
			}
			p, err := Pools(revision, live)
			if claims := (*ClaimError)(nil); err != nil && !errors.As(err, &claims) || (err == nil) != c.taken {
				t.Errorf("taken: %v, want %t: %s", err, c.taken, c.reason)
			}
			if err == nil {
				after := p.After(live)[0]
				if !owns(teamUID, after) || after.Labels[v1.SourceLabel] != "team" {
					t.Errorf("after an apply the pool is not the source's: %v, %v", after.Labels, after.Annotations)
				}
				if len(p.Unowned) > 0 {
					t.Errorf("of a pool in the repository nothing is to be reported: %v", p.Unowned)
				}
			}
			revision.Pools = revision.Pools[1:]
			if p, err = Pools(revision, live); err != nil {
				t.Fatal(err)
			}
			if pruned := slices.Contains(p.Deletes(), "a"); pruned != c.pruned {
				t.Errorf("pruned %t: %s", pruned, c.reason)
			}
			if reported := slices.Contains(p.Unowned, "a"); reported != c.reported {
				t.Errorf("reported %t: %s", reported, c.reason)
			}
		})
	}
}

// One command hands over all pools of a revision; where they are too many for one,
// it hands over as many as fit, and says so.
func TestHandOver(t *testing.T) {
	claims := func(count int) *ClaimError {
		e := &ClaimError{Source: "team", SourceUID: teamUID}
		for i := range count {
			e.Claims = append(e.Claims, Claim{Pool: fmt.Sprintf("pool-%03d", i), File: "a.yaml", Line: 1})
		}
		return e
	}
	want := "kubectl annotate --overwrite nodepools.nodes.lailin.xyz pool-000 pool-001 nodes.lailin.xyz/sourceUID=uid-of-team"
	if text := claims(2).Remedy(); !strings.HasSuffix(text, want) {
		t.Errorf("%s", text)
	}
	long := claims(600)
	text := long.Remedy()
	if len(text) > maxCommand+300 || !strings.Contains(text, "nodes.lailin.xyz/sourceUID=uid-of-team (these are the first 333; the other 267 are named once") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	for name, c := range map[string]struct {
		reason string
		uid    types.UID
		want   string
	}{
		"no source":      {"the files stand for pools made by hand", "", "kubectl annotate nodepools.nodes.lailin.xyz pool-000 nodes.lailin.xyz/sourceUID-"},
		"not there yet":  {"nobody knows its UID", UnknownSourceUID, "the status of its NodePoolSource has the command then"},
		"with its UID":   {"the ordinary case", teamUID, "kubectl annotate --overwrite nodepools.nodes.lailin.xyz pool-000 nodes.lailin.xyz/sourceUID=uid-of-team"},
		"hostile owners": {"anybody who may write pools chooses the UID", teamUID, "sourceUID=uid-of-team"},
	} {
		t.Run(name, func(t *testing.T) {
			e := claims(1)
			e.SourceUID = c.uid
			e.Claims[0].Owner, e.Claims[0].OwnerUID = e.Source, types.UID("$(reboot)\n\x1b[2J"+strings.Repeat("x", 1000))
			if text := e.Error(); !strings.HasSuffix(text, c.want) || strings.Contains(text, "\x1b") || len(text) > 600 {
				t.Errorf("%q: %s", text, c.reason)
			}
		})
	}
}

// Sources come, go and come again under the same names, people label and annotate
// pools: no source ever deletes or changes a pool that it has not applied, unless
// somebody has handed it over.
func TestOwnershipOverHistories(t *testing.T) {
	const steps = 40
	seen := map[string]int{}
	for seed := range uint64(worlds) {
		w := &ownerWorld{t: t, r: rand.New(rand.NewPCG(seed, 5)), appliedBy: map[string]types.UID{}, uids: map[string]types.UID{}, numbers: Numbers{}, seen: seen}
		for range steps {
			w.step()
		}
	}
	for _, kind := range []string{"refused", "created", "updated", "deleted", "reported"} {
		if seen[kind] < worlds/10 {
			t.Errorf("%s: %d times in %d worlds, too few to show anything", kind, seen[kind], worlds)
		}
	}
	t.Logf("%v", seen)
}

// ownerWorld is a cluster of three pool names and two source names.
type ownerWorld struct {
	t    *testing.T
	r    *rand.Rand
	live []*v1.NodePool
	// appliedBy is who has last applied a pool, and nobody has handed over since.
	appliedBy map[string]types.UID
	uids      map[string]types.UID
	numbers   Numbers
	made      int
	seen      map[string]int
}

func (w *ownerWorld) step() {
	source, name := pick(w.r, []string{"one", "two"}), pick(w.r, []string{"a", "b", "c"})
	at := slices.IndexFunc(w.live, func(pool *v1.NodePool) bool { return pool.Name == name })
	switch w.r.IntN(8) {
	case 0: // the source is deleted, its pools stay, and it is made again
		w.made++
		w.uids[source] = types.UID(fmt.Sprintf("uid-%d", w.made))
	case 1:
		if at < 0 {
			pool := &v1.NodePool{}
			pool.Name = name
			pool.ManagedFields = handManaged(pool)
			w.live = append(w.live, pool)
		}
	case 2:
		if at >= 0 {
			w.meddle(at, source)
		}
	default:
		if w.uids[source] != "" {
			w.apply(source)
		}
	}
}

// meddle is somebody who labels or annotates a pool, or takes that off.
func (w *ownerWorld) meddle(at int, source string) {
	pool := w.live[at].DeepCopy()
	if pool.Labels == nil {
		pool.Labels = map[string]string{}
	}
	if pool.Annotations == nil {
		pool.Annotations = map[string]string{}
	}
	switch w.r.IntN(4) {
	case 0:
		pool.Labels[v1.SourceLabel] = source
	case 1:
		delete(pool.Labels, v1.SourceLabel)
	case 2:
		if w.uids[source] == "" || pool.Annotations[v1.SourceUIDAnnotation] == string(w.uids[source]) {
			return
		}
		pool.Annotations[v1.SourceUIDAnnotation] = string(w.uids[source])
		pool.ManagedFields = handManaged(pool)
		delete(w.appliedBy, pool.Name)
	default:
		delete(pool.Annotations, v1.SourceUIDAnnotation)
		pool.ManagedFields = handManaged(pool)
		delete(w.appliedBy, pool.Name)
	}
	w.live[at] = pool
}

func (w *ownerWorld) apply(source string) {
	uid := w.uids[source]
	revision := Revision{Source: source, SourceUID: uid, Name: "main@sha1:new", Numbers: w.numbers, Prune: PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")}}
	for _, name := range []string{"a", "b", "c"} {
		if w.r.IntN(2) == 0 {
			revision.Pools = append(revision.Pools, inFile(name, v1.NodePoolSpec{Priority: w.r.Int32N(3)}))
		}
	}
	p, err := Pools(revision, w.live)
	if err != nil {
		w.seen["refused"]++
		return
	}
	if len(p.Unowned) > 0 {
		w.seen["reported"]++
	}
	for _, change := range p.Changes {
		w.seen[string(change.Action)+"d"]++
		handed := change.Live != nil && change.Live.Annotations[v1.SourceUIDAnnotation] == string(uid)
		switch {
		case change.Action == Delete && w.appliedBy[change.Name] != uid:
			w.t.Fatalf("source %s (%s) deletes pool %s, which %q has applied", source, uid, change.Name, w.appliedBy[change.Name])
		case change.Action == Update && w.appliedBy[change.Name] != uid && !handed:
			w.t.Fatalf("source %s (%s) changes pool %s, which %q has applied", source, uid, change.Name, w.appliedBy[change.Name])
		case change.Action == Delete:
			delete(w.appliedBy, change.Name)
		default:
			w.appliedBy[change.Name] = uid
		}
	}
	w.live = p.After(w.live)
	w.numbers[uid] = max(p.Number, w.numbers[uid])
	if have := revision.owned(w.live); p.OwnedAfter != have {
		w.t.Fatalf("source %s has %d pools, and was to have %d", source, have, p.OwnedAfter)
	}
	again, err := Pools(revision, w.live)
	if err != nil || len(again.Changes) > 0 {
		w.t.Fatalf("idle: %v, %v", err, again)
	}
	if diff := cmp.Diff(p.Unowned, again.Unowned); diff != "" {
		w.t.Fatalf("reported (-once +again):\n%s", diff)
	}
}

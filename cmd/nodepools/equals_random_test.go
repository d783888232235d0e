package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/cluster"
)

var equalsSeed = flag.Uint64("equals-seed", 0, "seed of the random worlds of TestDiffEqualsRunInRandomWorlds (default: another one each time)")

// In random worlds, too, the JSON of diff says what run then does: pools of files
// and pools made by hand that get into each other's way, parents, priorities and
// policies, keys of others that are set by update and by apply, drift, records that are
// unreadable or lost, pauses, pools that are being deleted,
// RuntimeClasses of somebody else and those that others have dressed, and four
// sources with guards of their own.
func TestDiffEqualsRunInRandomWorlds(t *testing.T) {
	cluster.Long(t)
	count, rounds := 100, 3
	if cluster.Stress() {
		count, rounds = 250, 24
	}
	seed := *equalsSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	p := newProof(t)
	u := p.universe(seed, count)
	for round := range rounds {
		if round > 0 {
			u.change()
		}
		u.commit()
		u.round(t, round)
		if t.Failed() {
			t.Fatalf("-equals-seed %d, round %d of %d worlds", seed, round, count)
		}
	}
	t.Logf("%d worlds in %d rounds are as diff has said: %d pools, %d RuntimeClasses and %d nodes were written; %d conflicts and %d problems were reported",
		count, rounds, u.pools, u.classes, u.nodes, u.conflicts, u.problems)
}

// universe is many worlds side by side, and the sources of their pools.
type universe struct {
	*proof
	worlds  []*randomWorld
	sources []universeSource

	pools, classes, nodes, conflicts, problems int
}

type universeSource struct {
	name, dir string
}

// universe makes worlds: a fifth of them has pools made by hand alone.
func (p *proof) universe(seed uint64, count int) *universe {
	p.t.Helper()
	u := &universe{proof: p}
	for _, limit := range []func(*v1.NodePoolSource){limit("100%"), limit("30%"), limit("3"), noPrune} {
		source := universeSource{name: fmt.Sprintf("source-%d", len(u.sources)), dir: p.repository()}
		commit(p.t, source.dir, nil)
		p.source(source.name, source.dir, limit)
		u.sources = append(u.sources, source)
	}
	for i := range count {
		w := newRandomWorld(p, fmt.Sprintf("w%03d", i), rand.New(rand.NewPCG(seed, uint64(i))))
		w.source = i%(len(u.sources)+1) - 1
		w.populate()
		u.worlds = append(u.worlds, w)
	}
	return u
}

func (u *universe) change() {
	for _, w := range u.worlds {
		w.change()
	}
}

// commit brings the repositories to what the worlds have in them.
func (u *universe) commit() {
	for i, source := range u.sources {
		files := map[string]string{}
		for _, w := range u.worlds {
			if w.source != i {
				continue
			}
			for name, text := range w.files() {
				files[w.world+"/"+name+".yaml"] = text
			}
		}
		commit(u.t, source.dir, files)
		// What the revision takes out of pools is approved: it is compared here, and not held.
		live := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: source.name}}
		approve := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1.ApproveReleaseAnnotation, headOf(u.t, source.dir))
		u.do(u.Patch(u.t.Context(), live, client.RawPatch(types.MergePatchType, []byte(approve))))
	}
}

// round asks diff of each source, lets the controller work, and compares.
func (u *universe) round(t *testing.T, round int) {
	u.request()
	before := u.read()
	clean := before.comparable(before.uids())
	var reviews []*review.Review
	for _, source := range u.sources {
		r, err := u.diff(filepath.Join(source.dir, "pools"), "--source", source.name)
		u.do(err)
		reviews = append(reviews, r)
	}
	predictions := map[string]*prediction{}
	for _, w := range u.worlds {
		predictions[w.world] = predict(w.review(reviews), w.world, clean, false)
	}
	h := u.watch(before)
	failed := 0
	for _, w := range u.worlds {
		passed := t.Run(fmt.Sprintf("round-%d/%s", round, w.world), func(t *testing.T) {
			h.compare(t, predictions[w.world], false)
			h.compareStatuses(t, w.review(reviews), w.world)
			if t.Failed() {
				t.Logf("what was done in this world:\n%s", w.log)
			}
		})
		if !passed {
			failed++
		}
		if failed == 5 {
			t.Fatal("the rest is not compared")
		}
	}
	for i, source := range u.sources {
		src := &v1.NodePoolSource{}
		u.do(u.Get(t.Context(), client.ObjectKey{Name: source.name}, src))
		compareHeldBack(t, reviews[i], src)
		counts := reviews[i].Summary.Counts
		u.conflicts, u.problems = u.conflicts+counts.Conflicts, u.problems+counts.Problems
	}
	for object := range h.written.times {
		switch object[:5] {
		case "nodep":
			u.pools++
		case "runti":
			u.classes++
		default:
			u.nodes++
		}
	}
}

package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/review"
)

// scenario is a world that a revision meets, and what has happened in it while
// the controller was away.
type scenario struct {
	name, reason string
	nodes        []testNode
	// hand are manifests of what is there beside Git, made before the first pass.
	hand []string
	// first is the revision that the controller has carried out before; nil where
	// there is no source yet. next is the one that diff is asked about.
	first, next gitPools
	// also is what another source has all the time.
	also gitPools
	// source adjusts the NodePoolSource.
	source func(*v1.NodePoolSource)
	// away is what happens while the controller is away.
	away func(*stage)
	// refused is what diff says of a revision that is not taken; nothing is
	// written then. noted is what it notes of a source that is not followed.
	refused, noted string
	// detours is set where the controller, which acts on what it finds before it has
	// read the repository, writes more than it would if it did not.
	detours bool
	// byRevision is set where diff has to know the name of the revision.
	byRevision bool
}

func scenarios() []scenario {
	return slices.Concat(revisionScenarios(), guardScenarios(), pauseScenarios(), conflictScenarios(),
		recordScenarios(), memberScenarios(), classScenarios(), poolScenarios(), ownerScenarios())
}

// What the JSON of diff says is what run then writes, by the API server and its
// audit log: the same objects, the same fields, nothing more and nothing less.
func TestDiffEqualsRun(t *testing.T) {
	p := newProof(t)
	all := scenarios()
	t.Logf("%d scenarios", len(all))
	repositories := map[string]string{}
	for _, sc := range all {
		p.set(sc, repositories)
	}
	p.request()
	p.pass()
	for _, sc := range all {
		p.change(sc, repositories)
	}
	p.request()

	before := p.read()
	clean := before.comparable(before.uids())
	said := map[string]*prediction{}
	reviews := map[string]*review.Review{}
	for _, sc := range all {
		if sc.byRevision {
			continue
		}
		r, err := p.diff(filepath.Join(repositories[sc.name], "pools"), "--source", sc.name)
		switch {
		case sc.refused == "" && err != nil, sc.refused != "" && (err == nil || !strings.Contains(err.Error(), sc.refused)):
			t.Errorf("%s: diff fails with %v, want %q", sc.name, err, sc.refused)
			r = &review.Review{}
		case err != nil, sc.noted != "":
			if notes := strings.Join(notesOf(r), "\n"); !strings.Contains(notes, sc.noted) {
				t.Errorf("%s: the notes are %q, want %q in them", sc.name, notes, sc.noted)
			}
			r = &review.Review{}
		}
		reviews[sc.name], said[sc.name] = r, predict(r, sc.name, clean, false)
	}
	h := p.watch(before)
	for _, sc := range all {
		if said[sc.name] == nil {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Log(sc.reason)
			if sc.detours {
				said[sc.name].between = slices.Collect(maps.Keys(said[sc.name].after))
			}
			h.compare(t, said[sc.name], false)
			if sc.refused != "" || sc.noted != "" {
				return
			}
			h.compareStatuses(t, reviews[sc.name], sc.name)
			src := &v1.NodePoolSource{}
			p.do(p.Get(t.Context(), client.ObjectKey{Name: sc.name}, src))
			compareHeldBack(t, reviews[sc.name], src)
		})
	}
}

func notesOf(r *review.Review) []string {
	if r == nil {
		return nil
	}
	return r.Notes
}

// set makes the world of a scenario, up to its first revision.
func (p *proof) set(sc scenario, repositories map[string]string) {
	p.t.Helper()
	s := &stage{p, sc.name}
	for _, node := range sc.nodes {
		s.node(node)
	}
	for _, manifest := range sc.hand {
		s.create(manifest)
	}
	if sc.also != nil {
		dir := p.repository()
		commit(p.t, dir, s.files(sc.also))
		p.source(sc.name+".also", dir, nil)
	}
	repositories[sc.name] = p.repository()
	if sc.first != nil {
		commit(p.t, repositories[sc.name], s.files(sc.first))
		p.source(sc.name, repositories[sc.name], sc.source)
	}
}

// change makes what happens while the controller is away, and the next revision.
func (p *proof) change(sc scenario, repositories map[string]string) {
	p.t.Helper()
	s := &stage{p, sc.name}
	if sc.next != nil {
		commit(p.t, repositories[sc.name], s.files(sc.next))
	}
	if sc.first == nil {
		p.source(sc.name, repositories[sc.name], sc.source)
	}
	if sc.away != nil {
		sc.away(s)
	}
}

func (s *stage) files(pools gitPools) map[string]string {
	files := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		files[pools[name].folder+name+".yaml"] = s.file(name, pools[name])
	}
	return files
}

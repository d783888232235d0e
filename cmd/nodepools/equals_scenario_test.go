package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/review"
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
	answers := p.askOfEach(all, clean, repositories)
	h := p.watch(before)
	for _, sc := range all {
		for _, reported := range answers[sc.name] {
			t.Run(fmt.Sprintf("%s/%s", sc.name, strings.Join(reported.args, " ")), func(t *testing.T) {
				t.Log(sc.reason)
				h.compareScenario(t, sc, reported)
				if sc.refused != "" || sc.noted != "" {
					return
				}
				src := &v1.NodePoolSource{}
				p.do(p.Get(t.Context(), client.ObjectKey{Name: sc.name}, src))
				compareHeldBack(t, reported.review, src)
			})
		}
	}
}

// answer is what diff has said of a scenario.
type answer struct {
	args       []string
	review     *review.Review
	prediction *prediction
	// revisionKnown is set where diff knows the name of the revision: it reads it
	// from the repository, and does not see files alone.
	revisionKnown bool
}

// askOfEach asks diff what will happen in each scenario, several at a time: nothing is
// written meanwhile.
func (p *proof) askOfEach(all []scenario, before objects, repositories map[string]string) map[string][]*answer {
	p.t.Helper()
	answers := map[string][]*answer{}
	var asked errgroup.Group
	asked.SetLimit(2 * runtime.NumCPU())
	ask := func(sc scenario, revisionKnown bool, args ...string) {
		a := &answer{args: args, revisionKnown: revisionKnown}
		answers[sc.name] = append(answers[sc.name], a)
		asked.Go(func() error {
			err := p.ask(a, sc, before)
			if err != nil {
				p.t.Error(err) // each of them: Wait returns the first
			}
			return err
		})
	}
	for _, sc := range all {
		ask(sc, true, "--source", sc.name)
		if !sc.byRevision {
			ask(sc, false, filepath.Join(repositories[sc.name], "pools"), "--source", sc.name)
		}
	}
	if asked.Wait() != nil {
		p.t.FailNow()
	}
	return answers
}

// ask asks diff what will happen, and fills the answer in.
func (p *proof) ask(a *answer, sc scenario, before objects) error {
	r, err := p.diff(a.args...)
	switch {
	case sc.refused == "" && err != nil, sc.refused != "" && (err == nil || !strings.Contains(err.Error(), sc.refused)):
		return fmt.Errorf("%s: diff %v fails with %v, want %q", sc.name, a.args, err, sc.refused)
	case sc.refused != "":
		r = &review.Review{}
	case sc.noted != "":
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, sc.noted) {
			return fmt.Errorf("%s: the notes are %q, want %q in them", sc.name, notes, sc.noted)
		}
		r = &review.Review{}
	}
	a.review = r
	a.prediction = predict(r, sc.name, before, a.revisionKnown)
	if sc.detours {
		a.prediction.between = slices.Collect(maps.Keys(a.prediction.after))
	}
	return nil
}

func (h *passed) compareScenario(t *testing.T, sc scenario, reported *answer) {
	t.Helper()
	h.compare(t, reported.prediction, reported.revisionKnown)
	if sc.refused == "" && sc.noted == "" {
		h.compareStatuses(t, reported.review, sc.name)
	}
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

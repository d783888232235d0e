package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/review"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/source"
	"github.com/nodepools/nodepools/source/local"
)

// revisionSides are two revisions of the repository on this machine. What is known
// of a cluster is first brought to the base, so that only what lies between the
// two is told.
func (o *diffOptions) revisionSides(ctx context.Context) (*sides, error) {
	there := &observe.State{Installed: true}
	if o.against.inventory != "" {
		var err error
		if there, err = observe.File(o.against.inventory); err != nil {
			return nil, err
		}
	}
	g := &gitComparison{diffOptions: o, there: there}
	if err := g.open(); err != nil {
		return nil, err
	}
	if err := g.resolve(ctx); err != nil {
		return nil, err
	}
	if err := g.head.load(ctx, g.repository, g.folder); err != nil {
		return nil, err
	}
	if err := g.takeBase(ctx); err != nil {
		return nil, err
	}
	return g.sides()
}

// gitComparison is a comparison of two revisions in the making.
type gitComparison struct {
	*diffOptions
	there          *observe.State
	nodePoolSource *v1.NodePoolSource // nil where none is known
	repository     *local.Repository
	folder         string
	base, head     end
	// tip is what --base names, where the base is the merge base.
	tip end
	// broken is the base that was asked for, where another one is compared with; nil
	// otherwise.
	broken *review.BrokenBase
	// standing: the base is the cluster of the inventory as it is.
	standing bool
	// brokenTip says that the tip is broken, where the base is not.
	brokenTip string
	// unfinished says why no good ancestor was found, though there may be one.
	unfinished string
}

// open finds the repository, and the folder in it.
func (g *gitComparison) open() (err error) {
	if g.there.Inventory != nil {
		if g.nodePoolSource, err = chooseSource(g.there, g.diffOptions.source); err != nil {
			return err
		}
	}
	if info, err := os.Stat(g.path); err == nil && !info.IsDir() {
		return usagef("%s is a file: revisions are compared folder by folder; name the folder, or leave --base out", g.path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if g.repository, err = local.Open(cmp.Or(g.path, ".")); err != nil {
		return err
	}
	switch {
	case g.path != "":
		g.folder, err = g.repository.Folder(g.path)
	case g.against.folder != "":
		g.folder = path.Clean(g.against.folder)
	case g.nodePoolSource != nil:
		g.folder = path.Clean("./" + g.nodePoolSource.Spec.Path)
	default:
		g.folder = "."
	}
	return err
}

// resolve finds the commits at both ends.
func (g *gitComparison) resolve(ctx context.Context) (err error) {
	g.base = end{what: "base", name: g.against.base}
	g.head = end{what: "head", name: "working tree"}
	if g.against.head != "" {
		g.head.name = g.against.head
		if g.head.revision, err = g.head.resolve(ctx, g.repository, g.head.name); err != nil {
			return err
		}
	} else if g.repository.Root() == "" {
		return hinted{errors.New("the repository is a bare one and has no working tree"), "name the revision to compare with --head"}
	}
	if g.base.revision, err = g.base.resolve(ctx, g.repository, g.base.name); err != nil || !g.against.mergeBase {
		return err
	}
	g.tip = g.base
	tip := g.head.revision
	if tip == "" {
		if tip, err = g.head.resolve(ctx, g.repository, "HEAD"); err != nil {
			return err
		}
	}
	if g.base.revision, err = g.repository.MergeBase(ctx, g.base.revision, tip); err != nil {
		return err
	}
	g.base.name = shortRevision(g.base.revision)
	g.base.note = fmt.Sprintf("merge base of %s and %s", g.against.base, cmp.Or(g.against.head, "HEAD"))
	return nil
}

// sides brings the cluster to the base, as the source would, and sets the head
// against that.
func (g *gitComparison) sides() (*sides, error) {
	s := &sides{files: within(g.folder, g.head.definitions)}
	s.on(g.there)
	s.compared.Base, s.compared.Head, s.compared.BrokenBase = g.base.title(), g.head.title(), g.broken
	s.revision, s.notes = g.revision(), append(s.notes, g.notes()...)
	s.compared.Source = s.revision.Source
	s.revision.Pools = g.head.definitions
	if g.standing {
		return s, nil
	}
	first, err := plan.Diff(g.baseRevision(&g.base), g.there.Cluster)
	if err != nil {
		return nil, err
	}
	s.before = first.After(g.there.Cluster)
	if s.inventory != nil {
		at := *s.inventory
		at.Cluster = s.before
		s.inventory = &at
	}
	if blocked := first.Pools.Blocked; blocked != nil {
		s.notes = append(s.notes, fmt.Sprintf("the base %s itself is held back: %s that it lacks stay in the cluster", g.base.name, review.Count(len(blocked.Pools), "pool")))
	} else {
		s.revision.Prune.Base = first.Pools.OwnedAfter
	}
	s.revision.Prune.Blocked = first.Pools.BlockedPrune
	return s, nil
}

// baseRevision is a base as the source would take it.
func (g *gitComparison) baseRevision(base *end) plan.Revision {
	revision := g.revision()
	revision.AssumeApproved = true
	revision.Pools = base.definitions
	return revision
}

// revision is one of the source, without its pools. Where no inventory says how
// the source is set up, it is set up as it is by default.
func (g *gitComparison) revision() plan.Revision {
	if g.there.Inventory != nil {
		return revisionOf(g.nodePoolSource)
	}
	revision := plan.Revision{Source: g.diffOptions.source, Prune: plan.PrunePolicyOf(&v1.NodePoolSource{})}
	if revision.Source != "" {
		revision.SourceUID = plan.UnknownSourceUID
	}
	return revision
}

func (g *gitComparison) notes() []string {
	var notes []string
	switch {
	case g.there.Inventory == nil && g.diffOptions.source == "":
		notes = append(notes, "no NodePoolSource is known, so the defaults count: "+defaultPrune+"; what a source notes on its pools is left out, unless --source gives its name")
	case g.there.Inventory == nil:
		notes = append(notes, fmt.Sprintf("how NodePoolSource %q is set up is not known, so the defaults count: %s", g.diffOptions.source, defaultPrune))
	case g.nodePoolSource == nil:
		notes = append(notes, "the inventory has no NodePoolSource: pools are compared as kubectl apply would bring them, and none is deleted")
	default:
		notes = append(notes, notesOn(g.nodePoolSource)...)
		if taken := path.Clean("./" + g.nodePoolSource.Spec.Path); taken != g.folder {
			notes = append(notes, elsewhereInRepository(g.nodePoolSource, taken, g.folder))
		}
	}
	if g.there.Inventory == nil {
		notes = append(notes, "what becomes of nodes and pods is not known: --inventory names a file that knows them")
	}
	if untracked := g.head.untracked; len(untracked) > 0 {
		const most = 3
		named := strings.Join(untracked[:min(len(untracked), most)], ", ")
		if more := len(untracked) - most; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, "not tracked by Git, and compared as if committed: "+named)
	}
	if g.brokenTip != "" {
		notes = append(notes, g.brokenTip)
	}
	if g.unfinished != "" {
		notes = append(notes, g.unfinished)
	}
	if g.base.missing {
		notes = append(notes, fmt.Sprintf("the base %s has no pool files in %s", g.base.name, g.base.place(g.folder)))
	}
	return notes
}

// defaultPrune are the defaults of a source, in words.
const defaultPrune = "prune: true, pruneLimit: " + v1.DefaultPruneLimit

// end is one of the two revisions that are compared.
type end struct {
	what string // "base" or "head"
	// name is what it is called: "main", "working tree".
	name string
	// note says how it was found.
	note        string
	revision    string // empty for the working tree
	definitions []render.Definition
	// missing tells that there is no such folder.
	missing bool
	// untracked are files of the working tree that no commit has yet.
	untracked []string
}

func (e *end) resolve(ctx context.Context, repository *local.Repository, revision string) (string, error) {
	found, err := repository.Resolve(ctx, revision)
	if err != nil {
		return "", fmt.Errorf("%s: %w", e.what, err)
	}
	return found, nil
}

// load reads the pools. A folder that is not there yet is no error of the base:
// it has no pools. Of the head it is one, as of a source.
func (e *end) load(ctx context.Context, repository *local.Repository, folder string) error {
	snapshot, err := e.snapshot(ctx, repository, folder)
	gone := errors.Is(err, source.ErrPathMissing) || errors.Is(err, source.ErrPathEmpty)
	switch {
	case gone && e.what == "base":
		e.missing = true
		return nil
	case gone:
		return hinted{fmt.Errorf("%s: %w", e.what, err), "check the path; a source whose folder is gone or empty says so, changes nothing and prunes nothing; " +
			"if the folder has moved, its path moves with it; to delete every pool, delete them with kubectl"}
	case err != nil:
		return fmt.Errorf("%s: %w", e.what, err)
	}
	e.untracked = snapshot.Untracked
	e.definitions, err = render.Load(snapshot.Files)
	return e.invalid(err, repository.Root(), folder)
}

func (e *end) snapshot(ctx context.Context, repository *local.Repository, folder string) (*source.Snapshot, error) {
	if e.revision == "" {
		return repository.WorkTree(ctx, folder)
	}
	return repository.Snapshot(ctx, e.revision, folder)
}

// invalid names files as git does, main:pools/gpu.yaml, and those of the working
// tree as the user would open them.
func (e *end) invalid(err error, root, folder string) error {
	problems := render.Problems(nil)
	if !errors.As(err, &problems) {
		return err
	}
	for i := range problems {
		problems[i].File = e.file(root, path.Join(folder, problems[i].File))
	}
	return &invalidFiles{path: fmt.Sprintf("the %s, %s", e.what, e.name), problems: problems}
}

func (e *end) file(root, name string) string {
	if e.revision != "" {
		return e.name + ":" + name
	}
	full := filepath.Join(root, filepath.FromSlash(name))
	if here, err := os.Getwd(); err == nil {
		if near, err := filepath.Rel(here, full); err == nil {
			return near
		}
	}
	return full
}

// place is a folder in words.
func (e *end) place(folder string) string {
	if folder == "." {
		return "the repository"
	}
	return "the folder " + folder
}

// title is the end as the review names it.
func (e *end) title() string {
	title := cmp.Or(e.revision, e.name)
	if e.note != "" {
		title += " (" + e.note + ")"
	}
	return title
}

// called is the end in a sentence.
func (e *end) called() string {
	if e.note != "" {
		return "the " + e.note
	}
	return e.name
}

// shortRevision is the beginning of the hash of a revision without a name.
func shortRevision(revision string) string { return strings.TrimPrefix(revision, "sha1:")[:12] }

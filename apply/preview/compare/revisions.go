package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/nodepools/nodepools/api/hint"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/source/local"
)

// RevisionOptions say which revisions are compared.
type RevisionOptions struct {
	// Base and Head are revisions as git knows them. No head is the working tree.
	Base, Head string
	// MergeBase compares with the merge base of both in place of the base.
	MergeBase bool
	// Path is in the clone of the repository, and names the folder; empty for the
	// working directory.
	Path string
	// Folder of the repository, from its root, where Path is empty; empty for that of
	// the source.
	Folder string
	// Layers of the folder, see [render.Load]; nil for those of the source.
	Layers []string
	// Source is the name of the source that the pools are compared as; empty for the
	// only one.
	Source string
}

// NoFolderError says that the path of revisions is a file.
type NoFolderError struct{ Path string }

func (e *NoFolderError) Error() string {
	return e.Path + " is a file: revisions are compared folder by folder"
}

// Revisions compares two revisions of the repository on this machine. What is known of
// a cluster is first brought to the base, so that only what lies between the two is
// reported. No state means that nothing is known of a cluster.
func Revisions(ctx context.Context, options RevisionOptions, state *observe.State) (*Sides, error) {
	if state == nil {
		state = &observe.State{Installed: true}
	}
	r := &revisions{RevisionOptions: options, state: state}
	if err := r.open(); err != nil {
		return nil, err
	}
	if err := r.resolve(ctx); err != nil {
		return nil, err
	}
	if err := r.head.load(ctx, r.repository, r.folder); err != nil {
		return nil, err
	}
	if err := r.takeBase(ctx); err != nil {
		return nil, err
	}
	return r.sides(ctx)
}

// revisions is a comparison of two revisions in the making.
type revisions struct {
	RevisionOptions
	state          *observe.State
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
	// moved: the tip has other pools than the merge base.
	moved bool
}

// open finds the repository, and the folder in it.
func (r *revisions) open() (err error) {
	if r.state.NodesKnown {
		if r.nodePoolSource, err = ChooseSource(r.state, r.Source); err != nil {
			return err
		}
	}
	if info, err := os.Stat(r.Path); err == nil && !info.IsDir() {
		return &NoFolderError{r.Path}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.repository, err = local.Open(cmp.Or(r.Path, ".")); err != nil {
		return err
	}
	switch {
	case r.Path != "":
		r.folder, err = r.repository.Folder(r.Path)
	case r.Folder != "":
		r.folder = path.Clean(r.Folder)
	case r.nodePoolSource != nil:
		r.folder = path.Clean("./" + r.nodePoolSource.Spec.Path)
	default:
		r.folder = "."
	}
	return err
}

// layers are those that are asked for, or those of the source.
func (r *revisions) layers() []string {
	if r.Layers == nil && r.nodePoolSource != nil {
		return r.nodePoolSource.Spec.Layers
	}
	return r.Layers
}

// resolve finds the commits at both ends.
func (r *revisions) resolve(ctx context.Context) (err error) {
	r.base = end{what: "base", name: r.Base, layers: r.layers()}
	r.head = end{what: "head", name: "working tree", layers: r.layers()}
	if r.Head != "" {
		r.head.name = r.Head
		if r.head.revision, err = r.head.resolve(ctx, r.repository, r.head.name); err != nil {
			return err
		}
	} else if r.repository.Root() == "" {
		return hint.Add(errors.New("the repository is a bare one and has no working tree"), "name the revision to compare with --head")
	}
	if r.base.revision, err = r.base.resolve(ctx, r.repository, r.base.name); err != nil || !r.MergeBase {
		return err
	}
	r.tip = r.base
	tip := r.head.revision
	if tip == "" {
		if tip, err = r.head.resolve(ctx, r.repository, "HEAD"); err != nil {
			return err
		}
	}
	if r.base.revision, err = r.repository.MergeBase(ctx, r.base.revision, tip); err != nil {
		return err
	}
	r.base.name = shortRevision(r.base.revision)
	r.base.note = fmt.Sprintf("merge base of %s and %s", r.Base, cmp.Or(r.Head, "HEAD"))
	return nil
}

// sides brings the cluster to the base, as the source would, and sets the head
// against that.
func (r *revisions) sides(ctx context.Context) (*Sides, error) {
	s := &Sides{Files: within(r.folder, r.head.definitions)}
	s.on(r.state)
	s.Compared.Base, s.Compared.Head, s.Compared.BrokenBase = r.base.title(), r.head.title(), r.broken
	if r.moved {
		s.Compared.MovedBase = r.tip.title()
	}
	s.source = r.nodePoolSource
	s.Revision, s.Notes = r.revision(), append(s.Notes, r.notes()...)
	s.Compared.Source = s.Revision.Source
	s.Revision.Pools, s.Revision.Others = r.head.definitions, r.others(ctx)
	if r.standing {
		return s, nil
	}
	first, err := plan.Diff(r.baseRevision(&r.base), r.state.Cluster)
	if err != nil {
		return nil, err
	}
	s.Before = first.After(r.state.Cluster)
	if s.inventory != nil {
		at := *s.inventory
		at.Cluster = s.Before
		s.inventory = &at
	}
	if blocked := first.Pools.Blocked; blocked != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("the base %s itself is held back: %s that it lacks stay in the cluster", r.base.name, review.Count(len(blocked.Pools), "pool")))
	}
	s.Revision = s.Revision.Following(first)
	return s, nil
}

// baseRevision is a base as the source would take it.
func (r *revisions) baseRevision(base *end) plan.Revision {
	revision := r.revision()
	revision.AssumeApproved = true
	revision.Pools = base.definitions
	return revision
}

// revision is one of the source, without its pools. Where no inventory says how
// the source is set up, it is set up as it is by default.
func (r *revisions) revision() plan.Revision {
	if r.state.NodesKnown {
		return revisionOf(r.nodePoolSource)
	}
	return plan.RevisionOfUnknown(r.Source)
}

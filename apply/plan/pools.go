package plan

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// PoolChange is what is to happen to one NodePool.
type PoolChange struct {
	Action Action
	Name   string
	// Live is what stands in the cluster; nil for Create.
	Live *v1.NodePool
	// Want is what shall stand there; nil for Delete.
	Want *v1.NodePool

	// ApproveRelease is set on a Delete that is approved: see [Accept].
	ApproveRelease bool
	// Drops is set on a Delete by a revision: the pool is marked under the number of the
	// revision, and deleted once that counts.
	Drops string

	// after is what [PoolChange.After] returns, where that is known already, with what the
	// controller makes of the pool besides; nil where it is to be worked out.
	after *v1.NodePool
}

// PoolsPlan is what a revision of a source does to the NodePools.
type PoolsPlan struct {
	// Changes in the order in which they are made: what is created or updated,
	// by name, then what is deleted, by name.
	Changes []PoolChange
	// Number of the revision under which the changes are written, so that they count together;
	// 0 where none is needed, as nodes follow no other spec.
	Number int64
	// NotBefore is when the youngest pool of the cluster was created. New pools are created in
	// a later second, one after the other, in the order of their names: so their ages are
	// those that the plan goes by.
	NotBefore metav1.Time
	// Blocked says that pools which vanished are kept, and why; nil when nothing
	// is held back.
	Blocked *PruneBlock
	// Kept are the names of the pools that vanished and stay, because they are
	// paused or somebody has said so, sorted.
	Kept []string
	// Handed are the pools that vanished and that another source has, sorted. They stay until
	// that source takes them up.
	Handed []Handover
	// Unowned are the names of the pools that carry the name or the UID of the
	// source, that the revision lacks, and that the source has not applied itself,
	// sorted. They are never pruned.
	Unowned []string
	// Postponed are the names of the pools that vanished and are deleted when a window
	// opens, sorted: see [WindowWait.Standing].
	Postponed []string
	// BlockedPrune is what is to be remembered of a blocked prune; nil when there
	// is none.
	BlockedPrune *v1.BlockedPrune
	// OwnedAfter is how many pools the source has in the cluster when the changes are
	// made.
	OwnedAfter int
	// Held says that nothing of the revision is done, as it takes too many nodes out
	// of pools; nil where it may be done. There are no changes then, unless an
	// approval is assumed.
	Held *ReleaseBlock
	// ReleaseApproved reports that somebody has approved the releases of this
	// revision, and that the approval is not used up.
	ReleaseApproved bool
	// Approved reports that somebody has approved what this revision deletes, and
	// that the approval is not used up. It is once there is nothing left to delete.
	Approved bool
}

// Names returns the names of the pools that change, in the order of the changes.
func (p *PoolsPlan) Names() []string {
	names := make([]string, 0, len(p.Changes))
	for _, change := range p.Changes {
		names = append(names, change.Name)
	}
	return names
}

// Deletes are the names of the pools that are deleted, sorted.
func (p *PoolsPlan) Deletes() []string {
	var names []string
	for _, change := range p.Changes {
		if change.Action == Delete {
			names = append(names, change.Name)
		}
	}
	return names
}

// UsesUpApproval reports whether the approval has done what it was given for.
func (p *PoolsPlan) UsesUpApproval() bool {
	return p.Approved && p.Blocked == nil && len(p.Deletes()) == 0 && len(p.Postponed) == 0
}

// Revision is what a source has to say.
type Revision struct {
	// Source is the name of the NodePoolSource; empty for files that stand for
	// pools made by hand.
	Source string
	// SourceUID is the UID of the NodePoolSource; [UnknownSourceUID] where it is not
	// known, and empty where Source is.
	SourceUID types.UID
	// Name of the revision, such as main@sha1:<40 hex>.
	Name  string
	Pools []render.Definition
	Prune PrunePolicy
	// Release says how many nodes may leave pools. The zero value is the default.
	Release ReleasePolicy
	// AssumeApproved asks for what happens once the releases are approved that are
	// held back: somebody who reviews a change has to see what is approved.
	AssumeApproved bool
	// Wait is why the revision is not applied yet where it changes anything, or deletes
	// nothing where it stands; nil where it is applied. See [WindowWaitOf].
	Wait *WindowWait
	// Others are the other sources of the cluster: see [OtherSources].
	Others []OtherSource
	// Numbers are those of all sources of the cluster.
	Numbers Numbers
}

// Pools plans what a revision does to the NodePools in the cluster. A pool that
// the source does not own gives a [*ClaimError].
func Pools(revision Revision, live []*v1.NodePool) (*PoolsPlan, error) {
	byName := make(map[string]*v1.NodePool, len(live))
	for _, pool := range live {
		byName[pool.Name] = pool
	}
	if err := claims(revision, byName); err != nil {
		return nil, err
	}
	p := &PoolsPlan{Approved: revision.Prune.approves(revision), Unowned: unowned(revision, live)}
	number := revision.nextNumber(live)
	handed, gone := revision.handed(orphans(revision, live))
	p.Handed = handed
	for _, definition := range revision.Pools {
		pool, want := byName[definition.Pool.Name], wantPool(revision, definition)
		revision.stamp(pool, want, number)
		if change := poolChange(pool, want); change.Action != None {
			p.Changes = append(p.Changes, change)
		}
	}
	slices.SortFunc(p.Changes, func(a, b PoolChange) int { return cmp.Compare(a.Name, b.Name) })
	held := revision.owned(live)
	if p.Blocked, p.BlockedPrune = revision.Prune.block(gone, revision, held); p.Blocked == nil && revision.Prune.Enabled {
		for _, pool := range gone {
			if kept(pool) {
				p.Kept = append(p.Kept, pool.Name)
				continue
			}
			p.Changes = append(p.Changes, PoolChange{Action: Delete, Name: pool.Name, Live: pool, Drops: revision.drops(number)})
		}
	}
	p.undo(revision, live, number)
	if slices.ContainsFunc(p.Changes, func(change PoolChange) bool { return change.isUnder(number) }) {
		p.Number = number
	}
	p.OwnedAfter = held + p.gains(revision.SourceUID)
	for i := range p.Changes {
		p.Changes[i].rememberAfter()
	}
	for _, pool := range live {
		if pool.CreationTimestamp.After(p.NotBefore.Time) {
			p.NotBefore = pool.CreationTimestamp
		}
	}
	return p, nil
}

// gains is how many more pools the source has by the changes.
func (p *PoolsPlan) gains(source types.UID) int {
	gains := 0
	for _, change := range p.Changes {
		switch {
		case change.Action == Delete:
			gains--
		case change.Live == nil, !owns(source, change.Live):
			gains++
		}
	}
	return gains
}

// wantPool is the record of a pool as the source loop applies it.
func wantPool(revision Revision, definition render.Definition) *v1.NodePool {
	want := &v1.NodePool{
		TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: v1.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{
			Name:        definition.Pool.Name,
			Labels:      maps.Clone(definition.Pool.Labels),
			Annotations: maps.Clone(definition.Pool.Annotations),
		},
		Spec: *definition.Pool.Spec.DeepCopy(),
	}
	if want.Labels == nil {
		want.Labels = map[string]string{}
	}
	if want.Annotations == nil {
		want.Annotations = map[string]string{}
	}
	if revision.Source != "" {
		// From its first moment on, and without a write of its own by the pool loop.
		want.Finalizers = []string{v1.ReleaseFinalizer}
		want.Labels[v1.SourceLabel] = revision.Source
		want.Annotations[v1.SourceUIDAnnotation] = string(revision.SourceUID)
		want.Annotations[v1.RevisionAnnotation] = revision.Name
		want.Annotations[v1.FileAnnotation] = definition.File
		if layers := layersText(definition.Changes); layers != "" {
			want.Annotations[v1.LayersAnnotation] = layers
		}
	}
	v1.SetNodePoolDefaults(want)
	return want
}

// positions are the annotations that say where a pool was when it last changed.
var positions = []string{v1.RevisionAnnotation, v1.FileAnnotation, v1.LayersAnnotation}

// poolChange compares a pool with its record. A new revision, another file or another
// layer alone is no change: a commit that leaves a pool as it is, or moves it, writes
// nothing.
func poolChange(live, want *v1.NodePool) PoolChange {
	change := PoolChange{Name: want.Name, Live: live, Want: want}
	switch {
	case live == nil:
		change.Action = Create
	case !live.DeletionTimestamp.IsZero():
		// It comes back once it is gone.
	case !equality.Semantic.DeepEqual(live.Spec, want.Spec),
		!carries(live.Labels, want.Labels),
		!carries(live.Annotations, want.Annotations, positions...),
		handedOver(live, want),
		drops(live, want):
		change.Action = Update
	}
	return change
}

// drops reports whether an apply drops a label, or an annotation that does not only say
// where the pool was.
func drops(live, want *v1.NodePool) bool {
	labels, annotations := dropped(live, want)
	return labels != nil || slices.ContainsFunc(annotations, func(key string) bool { return !slices.Contains(positions, key) })
}

func carries(live, want map[string]string, except ...string) bool {
	for key, value := range want {
		if have, found := live[key]; !slices.Contains(except, key) && (!found || have != value) {
			return false
		}
	}
	return true
}

// handedOver reports whether somebody has given a pool to the source by its UID,
// and the source has not applied it yet. The revision on the pool is then another
// source's, or none.
func handedOver(live, want *v1.NodePool) bool {
	uid := types.UID(want.Annotations[v1.SourceUIDAnnotation])
	return uid != "" && isOf(uid, live) && !owns(uid, live)
}

// dropped are the labels and the annotations that came from Git, that Git no
// longer has, and that the pool still carries. Those that others have put there
// are not among them.
func dropped(live, want *v1.NodePool) (labels, annotations []string) {
	applied(live).Iterate(func(path fieldpath.Path) {
		if len(path) != 3 || path[2].FieldName == nil {
			return
		}
		key := *path[2].FieldName
		switch {
		case path[:2].Equals(labelsPath) && !has(want.Labels, key):
			labels = append(labels, key)
		case path[:2].Equals(annotationsPath) && !has(want.Annotations, key):
			annotations = append(annotations, key)
		}
	})
	return labels, annotations
}

func has(of map[string]string, key string) bool {
	_, found := of[key]
	return found
}

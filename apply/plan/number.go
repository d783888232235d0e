package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Numbers are the numbers of the revisions that nodes follow, by the UID of the source. A
// source writes all pools of a revision under the next number, and then that number: see
// [v1.NodePoolSourceStatus.Number].
type Numbers map[types.UID]int64

// NumbersOf reads the numbers of sources.
func NumbersOf(sources []*v1.NodePoolSource) Numbers {
	numbers := make(Numbers, len(sources))
	for _, source := range sources {
		numbers[source.UID] = source.Status.Number
	}
	return numbers
}

// stamp is the annotation [v1.RevisionNumberAnnotation] of a pool.
type stamp struct {
	source types.UID
	number int64
	// spec is the hash of the spec, or gone.
	spec string
}

// gone stands for the hash of the spec where a revision drops the pool.
const gone = "gone"

func (s stamp) String() string { return fmt.Sprintf("%s/%d/%s", s.source, s.number, s.spec) }

// stampOf reads the stamp of a pool. The zero value is of none.
func stampOf(pool *v1.NodePool) stamp {
	parts := strings.Split(pool.Annotations[v1.RevisionNumberAnnotation], "/")
	if len(parts) != 3 {
		return stamp{}
	}
	number, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || number <= 0 {
		return stamp{}
	}
	return stamp{types.UID(parts[0]), number, parts[2]}
}

// of reports whether a stamp is of the spec that a pool has. Any other spec was written by
// hand.
func (s stamp) of(pool *v1.NodePool) bool {
	return s.spec == gone || s.number > 0 && s.spec == hashOf(&pool.Spec)
}

// hashOf identifies a spec.
func hashOf(spec *v1.NodePoolSpec) string {
	text, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("a spec without a text: %v", err)) // never: the API server has taken it as one
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// nextNumber is above every number that the source has counted, or written pools under.
func (r Revision) nextNumber(live []*v1.NodePool) int64 {
	if r.Source == "" {
		return 0
	}
	next := r.Numbers[r.SourceUID]
	for _, pool := range live {
		if s := stampOf(pool); s.source == r.SourceUID {
			next = max(next, s.number)
		}
	}
	return next + 1
}

// stamp writes into a pool of the revision under which number it counts: under that which the
// live pool has, where that stands for the same spec and counts, so that what was changed by hand
// goes back to what counted before; else under the next one.
func (r Revision) stamp(live, want *v1.NodePool, number int64) {
	if number == 0 {
		return
	}
	s := stamp{r.SourceUID, number, hashOf(&want.Spec)}
	if live != nil {
		if has := stampOf(live); has.source == s.source && has.spec == s.spec && (r.Numbers.counts(has) || has.of(live) && follows(live, r.Numbers.Accepted(live))) {
			s = has
		}
	}
	want.Annotations[v1.RevisionNumberAnnotation] = s.String()
}

// drops is the stamp of a pool that the revision drops; empty of files that no source has.
func (r Revision) drops(number int64) string {
	if number == 0 {
		return ""
	}
	return stamp{r.SourceUID, number, gone}.String()
}

// isUnder reports whether a change is written under a number, and counts with it.
func (c PoolChange) isUnder(number int64) bool {
	return number > 0 && (c.Drops != "" || c.Want != nil && stampOf(c.Want).number == number)
}

// undo takes back what an earlier revision has written, was never counted, and is not in this
// one, though the pool is kept: the number of this one would count it.
func (p *PoolsPlan) undo(revision Revision, live []*v1.NodePool, number int64) {
	for _, pool := range lacking(revision, live, func(pool *v1.NodePool) bool {
		s := stampOf(pool)
		return number > 0 && s.source == revision.SourceUID && owns(s.source, pool) && !revision.Numbers.counts(s) && !follows(pool, revision.Numbers.Accepted(pool))
	}) {
		switch accepted := pool.Status.Accepted; {
		case slices.ContainsFunc(p.Changes, func(change PoolChange) bool { return change.Name == pool.Name }):
		case accepted == nil:
			p.Changes = append(p.Changes, PoolChange{Action: Delete, Name: pool.Name, Live: pool, Drops: revision.drops(number)})
		default:
			want := asApplied(pool)
			want.Spec = *accepted.Spec.DeepCopy()
			want.Annotations[v1.RevisionNumberAnnotation] = stamp{revision.SourceUID, number, hashOf(&want.Spec)}.String()
			p.Changes = append(p.Changes, PoolChange{Action: Update, Name: pool.Name, Live: pool, Want: want})
		}
	}
}

// asApplied is a pool as our apply has written it.
func asApplied(live *v1.NodePool) *v1.NodePool {
	keys, want := Applied(live), live.DeepCopy()
	maps.DeleteFunc(want.Labels, func(key, _ string) bool { return !slices.Contains(keys.Labels, key) })
	maps.DeleteFunc(want.Annotations, func(key, _ string) bool { return !slices.Contains(keys.Annotations, key) })
	want.Finalizers = []string{v1.ReleaseFinalizer}
	if want.Annotations == nil {
		want.Annotations = map[string]string{}
	}
	return want
}

// counts reports whether nodes follow what is written under a stamp.
func (n Numbers) counts(s stamp) bool {
	return s.number > 0 && s.number <= n[s.source]
}

// CountsAfter reports whether a pool was written by a source under a number above another one.
func CountsAfter(pool *v1.NodePool, source types.UID, number int64) bool {
	s := stampOf(pool)
	return s.source == source && s.number > number
}

// awaits reports whether a pool is written under a number that its source has not counted
// yet. Of a source that is gone nothing is awaited.
func (n Numbers) awaits(pool *v1.NodePool) bool {
	s := stampOf(pool)
	counted, known := n[s.source]
	return known && s.number > counted && s.of(pool)
}

// isGone reports whether the source has dropped a pool, and nodes follow that.
func (n Numbers) isGone(pool *v1.NodePool) bool {
	s := stampOf(pool)
	return s.spec == gone && n.counts(s)
}

// Drops reports whether a pool is to be deleted, as its source has dropped it.
func (n Numbers) Drops(pool *v1.NodePool) bool {
	return pool.DeletionTimestamp.IsZero() && n.isGone(pool) && !isPaused(pool)
}

// Accepted returns a pool as nodes follow it, which is a copy where that is not what it says;
// nil where nothing of it was accepted yet. A pool that is to be deleted has a time of
// deletion once that is accepted, and none before.
//
// The spec that a source has written counts by the number of the source, and every other
// one by status.accepted. What was not accepted before a pool was paused waits.
func (n Numbers) Accepted(pool *v1.NodePool) *v1.NodePool {
	accepted := pool.Status.Accepted
	if accepted == nil && pool.Generation == 0 {
		return pool // it is in a file, and no API server has it
	}
	switch s := stampOf(pool); {
	case accepted != nil && accepted.Generation == pool.Generation && s.spec != gone:
		return pool
	case isPaused(pool):
	case n.isGone(pool):
		return leaving(pool, acceptedSpec(pool))
	case n.counts(s) && s.of(pool):
		return staying(pool, pool.Spec, generationOfSpec(pool))
	}
	switch {
	case accepted == nil:
		return nil
	case accepted.Generation == pool.Generation:
		return pool
	default:
		return staying(pool, accepted.Spec, accepted.Generation)
	}
}

// isBehind reports whether nodes follow a spec by the number of its source alone.
func (n Numbers) isBehind(pool *v1.NodePool) bool {
	as, accepted := n.Accepted(pool), pool.Status.Accepted
	return as != nil && as.DeletionTimestamp.IsZero() && (accepted == nil || accepted.Generation != as.Generation)
}

func acceptedSpec(pool *v1.NodePool) v1.NodePoolSpec {
	if accepted := pool.Status.Accepted; accepted != nil && accepted.Generation != pool.Generation {
		return accepted.Spec
	}
	return pool.Spec
}

// generationOfSpec is the generation in which the spec was written last: that a pool is to be
// deleted is one of its own.
func generationOfSpec(pool *v1.NodePool) int64 {
	if pool.DeletionTimestamp.IsZero() {
		return pool.Generation
	}
	return pool.Generation - 1
}

// leaving is a pool that nodes follow by a spec until its deletion, which they follow now.
func leaving(pool *v1.NodePool, spec v1.NodePoolSpec) *v1.NodePool {
	as := *pool
	as.Spec = spec
	if as.DeletionTimestamp.IsZero() {
		as.DeletionTimestamp = ptr.To(metav1.Unix(0, 0)) // it is not known when that will be
		as.Generation++
	}
	return &as
}

// isPaused reports whether the annotation of a pool pauses it.
func isPaused(pool *v1.NodePool) bool { return v1.IsDisabled(pool, v1.ReconcileAnnotation) }

// staying is a pool that nodes follow by a spec, and not its deletion, if there is one. That
// its rollout is paused counts at once.
func staying(pool *v1.NodePool, spec v1.NodePoolSpec, generation int64) *v1.NodePool {
	if pool.DeletionTimestamp.IsZero() && pool.Generation == generation {
		return pool
	}
	as := *pool
	as.Spec, as.Generation, as.DeletionTimestamp = spec, generation, nil
	if said := pool.Spec.Rollout; said != nil && said.Paused && as.Spec.Rollout != nil {
		as.Spec.Rollout = as.Spec.Rollout.DeepCopy()
		as.Spec.Rollout.Paused = true
	}
	return &as
}

// AllAccepted returns the pools as nodes follow them: see [Numbers.Accepted].
func (n Numbers) AllAccepted(pools []*v1.NodePool) []*v1.NodePool {
	accepted := make([]*v1.NodePool, 0, len(pools))
	for _, pool := range pools {
		if as := n.Accepted(pool); as != nil {
			accepted = append(accepted, as)
		}
	}
	return accepted
}

// AcceptedSpecOf is what status.accepted of a pool is once what it says is accepted.
func AcceptedSpecOf(pool *v1.NodePool) *v1.AcceptedSpec {
	return &v1.AcceptedSpec{Generation: pool.Generation, Spec: *pool.Spec.DeepCopy()}
}

package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Membership identifies what a pool itself says of who its members are, and of the
// taints that evict their pods. The pools around it are not in it.
func Membership(pool *v1.NodePool) string {
	said := choice(pool)
	for _, taint := range pool.Spec.Taints {
		if taint.Effect == corev1.TaintEffectNoExecute {
			said.Evicting = append(said.Evicting, taint)
		}
	}
	return identify(said)
}

// memberChoice is what a pool says of who its members are.
type memberChoice struct {
	Selector  *v1.LabelSelector
	NodeNames []string
	Parent    string
	Evicting  []v1.Taint
}

func choice(pool *v1.NodePool) memberChoice {
	return memberChoice{Selector: pool.Spec.Selector, NodeNames: slices.Sorted(slices.Values(pool.Spec.NodeNames)), Parent: pool.Spec.Parent}
}

func identify(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		text = fmt.Appendf(nil, "%#v", value) // never: it is made of texts
	}
	sum := sha256.Sum256(text)
	return digestPrefix + hex.EncodeToString(sum[:8])
}

const digestPrefix = "sha256:"

// namedPools are pools by name. They are for one goroutine.
type namedPools struct {
	pools map[string]*v1.NodePool
	// outer are those of them that were looked at as being around others: each is around many.
	outer map[string]v1.ObservedOuterPool
}

func byName(pools []*v1.NodePool) namedPools {
	named := namedPools{make(map[string]*v1.NodePool, len(pools)), map[string]v1.ObservedOuterPool{}}
	for _, pool := range pools {
		named.pools[pool.Name] = pool
	}
	return named
}

func (p namedPools) get(name string) *v1.NodePool { return p.pools[name] }

// observedOuter is [observedOuter] of one of the pools.
func (p namedPools) observedOuter(pool *v1.NodePool) v1.ObservedOuterPool {
	observed, known := p.outer[pool.Name]
	if !known {
		observed = observedOuter(pool)
		p.outer[pool.Name] = observed
	}
	return observed
}

// around are the pools around one, from the inside out.
func (p namedPools) around(pool *v1.NodePool) []*v1.NodePool { return Around(pool, p.get) }

// Around are the pools around one, from the inside out, as they say. It ends where one does not
// exist, where it comes round to one again, and where there are more than may be.
func Around(pool *v1.NodePool, named func(string) *v1.NodePool) (around []*v1.NodePool) {
	for at := pool; at.Spec.Parent != "" && len(around) < render.MaxAncestors; {
		at = named(at.Spec.Parent)
		if at == nil || at.Name == pool.Name || slices.Contains(around, at) {
			break
		}
		around = append(around, at)
	}
	return around
}

// ObserveMembership notes in the status of a pool what nodes have followed: what it says of its
// members, and what the pools around it say.
func ObserveMembership(status *v1.NodePoolStatus, pool *v1.NodePool, around []*v1.NodePool) {
	status.ObservedMembership = Membership(pool)
	status.ObservedOuterPools = nil
	for _, outer := range around {
		status.ObservedOuterPools = append(status.ObservedOuterPools, observedOuter(outer))
	}
	line := identifyLine(pool, status.ObservedOuterPools)
	switch {
	case pool.Labels[v1.SourceLabel] == "":
		status.ObservedSourceMembership = ""
	case status.ObservedSourceMembership != line && !changedByHand(pool):
		status.ObservedSourceMembership = line
	}
}

// identifyLine identifies what a pool says of its members together with those around it.
func identifyLine(pool *v1.NodePool, around []v1.ObservedOuterPool) string {
	return identify(append([]v1.ObservedOuterPool{{Name: pool.Name, Membership: Membership(pool)}}, around...))
}

func observedOuter(outer *v1.NodePool) v1.ObservedOuterPool {
	return v1.ObservedOuterPool{Name: outer.Name, Membership: identify(choice(outer))}
}

// unfollowed are the pools around a pool that say something else of their members than when the
// pool last followed them, from the inside out. Those that it was not within then are around it by
// a change of another one, or by its own. Where an earlier version has not noted what it followed,
// they are those that are to be carried out, and were not since they changed.
func (p namedPools) unfollowed(pool *v1.NodePool) []*v1.NodePool {
	known := map[string]string{}
	for _, outer := range pool.Status.ObservedOuterPools {
		known[outer.Name] = outer.Membership
	}
	return slices.DeleteFunc(p.around(pool), func(outer *v1.NodePool) bool {
		if len(known) == 0 { // or it was within none
			return !differs(outer) || differs(pool)
		}
		followed, within := known[outer.Name]
		return !within || followed == p.observedOuter(outer).Membership
	})
}

// pendingChange is a change that decides anew who the members of a pool are.
type pendingChange struct {
	// of is the pool that has changed, and holds the one that is held if that is too much.
	of, holds string
}

// pendingChanges are the changes that nobody has approved by which nodes leave a pool, or are
// members of it: its own, and those of the pools around it, the nearest first. A change of an
// outer pool that is still to be carried out holds that one. What the pool missed then, as it was
// paused or held, holds the pool itself, and so does what a paused outer pool says. A pool that is
// resumed and says what nodes followed last has no change.
func (p namedPools) pendingChanges(pool *v1.NodePool) (pending []pendingChange) {
	if !isCarriedOut(pool) {
		return nil
	}
	frozen, approved := WasFrozen(pool), p.isApproved(pool)
	switch {
	case !differs(pool):
	case !approved:
		pending = append(pending, pendingChange{pool.Name, pool.Name})
	case !frozen: // what is approved is carried out, whatever changes around it meanwhile
		return nil
	}
	if pool.Status.ObservedMembership == "" { // it is new, and all that it does is its own
		return pending
	}
	unfollowed := p.unfollowed(pool)
	for _, outer := range p.around(pool) {
		switch {
		case !slices.Contains(unfollowed, outer):
		case p.isApproved(outer) && (differs(outer) || isCarriedOut(outer) && !frozen):
		case differs(outer):
			pending = append(pending, pendingChange{outer.Name, outer.Name})
		case pool.Annotations[v1.ApproveReleaseAnnotation] != p.approval(pool):
			pending = append(pending, pendingChange{outer.Name, pool.Name})
		}
		frozen = frozen || isBlocked(outer)
	}
	return pending
}

// mayBeHeld reports whether a pool is held if what becomes of its members is too much.
func (p namedPools) mayBeHeld(pool *v1.NodePool) bool {
	return len(holdsItself(pool, p.pendingChanges(pool))) > 0
}

// holdsItself are the pools, itself among them, for whose changes a pool is held if they are too
// much.
func holdsItself(pool *v1.NodePool, pending []pendingChange) (of []string) {
	for _, change := range pending {
		if change.holds == pool.Name {
			of = append(of, change.of)
		}
	}
	return of
}

// isApproved reports whether somebody has approved what a pool says: by its generation; or, what it
// and those around it say now, by their [namedPools.approval]; or a source, of an earlier version by
// what the pool says alone.
func (p namedPools) isApproved(pool *v1.NodePool) bool {
	switch value := pool.Annotations[v1.ApproveReleaseAnnotation]; value {
	case "":
		return false
	case p.approval(pool):
		return true
	case strconv.FormatInt(pool.Generation, 10), Membership(pool):
		return differs(pool) || len(p.unfollowed(pool)) == 0
	default:
		return p.isApprovedBySource(pool, value) && (differs(pool) || len(p.unfollowed(pool)) == 0)
	}
}

// isApprovedBySource reports whether an approval is one of a source, of what a pool says. Where the
// pools around it have changed since, it counts until the pool is carried out: they account for
// themselves.
func (p namedPools) isApprovedBySource(pool *v1.NodePool, approval string) bool {
	own, line, _ := strings.Cut(approval, "/")
	line = digestPrefix + line
	return own == Membership(pool) && (line == p.line(pool) || line != pool.Status.ObservedSourceMembership)
}

// sourceApproval is the approval of a source, of what a pool says within those around it, if there
// are some.
func (p namedPools) sourceApproval(pool *v1.NodePool) string {
	if len(p.around(pool)) == 0 {
		return Membership(pool)
	}
	return Membership(pool) + "/" + strings.TrimPrefix(p.line(pool), digestPrefix)
}

// line identifies what a pool says of its members together with those around it.
func (p namedPools) line(pool *v1.NodePool) string {
	var around []v1.ObservedOuterPool
	for _, outer := range p.around(pool) {
		around = append(around, p.observedOuter(outer))
	}
	return identifyLine(pool, around)
}

// approval identifies what a pool and those around it say now. When they say the same again, it is
// another one.
func (p namedPools) approval(pool *v1.NodePool) string {
	said := []any{p.line(pool)}
	for _, one := range append([]*v1.NodePool{pool}, p.around(pool)...) {
		said = append(said, one.UID, one.Generation)
	}
	return identify(said)
}

// WasFrozen reports whether a pool was paused, held or faulty when its status was written last,
// so that it followed no other pool.
func WasFrozen(pool *v1.NodePool) bool {
	ready := meta.FindStatusCondition(pool.Status.Conditions, v1.ReadyCondition)
	return ready != nil && slices.Contains(frozenReasons, ready.Reason) || isBlocked(pool)
}

// frozenReasons are those of pools that are paused, or whose members are not known.
var frozenReasons = []string{v1.PausedReason, v1.ParentReason, v1.SelectorReason, v1.InvalidReason}

func isBlocked(pool *v1.NodePool) bool {
	return meta.IsStatusConditionTrue(pool.Status.Conditions, v1.ReleaseBlockedCondition)
}

// differs reports whether a pool says something else of its members than when it was
// last carried out, and is to be carried out.
func differs(pool *v1.NodePool) bool {
	return isCarriedOut(pool) && pool.Status.ObservedMembership != Membership(pool)
}

// isCarriedOut reports whether nodes are to follow what a pool says: it is neither paused nor
// being deleted.
func isCarriedOut(pool *v1.NodePool) bool {
	return pool.DeletionTimestamp.IsZero() && !v1.IsDisabled(pool, v1.ReconcileAnnotation)
}

// isNestedInAny reports whether a pool is within one of some pools, as they say.
func (p namedPools) isNestedInAny(inner string, outer func(string) bool) bool {
	pool := p.pools[inner]
	return pool != nil && slices.ContainsFunc(append([]*v1.NodePool{pool}, p.around(pool)...), func(at *v1.NodePool) bool {
		return at.Spec.Parent != "" && outer(at.Spec.Parent)
	})
}

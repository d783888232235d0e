package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// namedPools are pools by name.
type namedPools map[string]*v1.NodePool

func byName(pools []*v1.NodePool) namedPools {
	named := make(namedPools, len(pools))
	for _, pool := range pools {
		named[pool.Name] = pool
	}
	return named
}

func (p namedPools) named(name string) *v1.NodePool { return p[name] }

// around are the pools around one, from the inside out.
func (p namedPools) around(pool *v1.NodePool) []*v1.NodePool { return Around(pool, p.named) }

// Around are the pools around one, from the inside out, as they say. It ends where one does not
// exist, where it comes round to one again, and where there are more than may be.
func Around(pool *v1.NodePool, named func(string) *v1.NodePool) (around []*v1.NodePool) {
	for at := pool; at.Spec.Parent != "" && len(around) <= render.MaxAncestors; {
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
	line := identifyLine(pool, around)
	switch {
	case pool.Labels[v1.SourceLabel] == "":
		status.ObservedSourceMembership = ""
	case status.ObservedSourceMembership != line && !changedByHand(pool):
		status.ObservedSourceMembership = line
	}
}

// identifyLine identifies what a pool says of its members together with those around it.
func identifyLine(pool *v1.NodePool, around []*v1.NodePool) string {
	said := []v1.ObservedOuterPool{{Name: pool.Name, Membership: Membership(pool)}}
	for _, outer := range around {
		said = append(said, observedOuter(outer))
	}
	return identify(said)
}

func observedOuter(outer *v1.NodePool) v1.ObservedOuterPool {
	return v1.ObservedOuterPool{Name: outer.Name, Membership: identify(choice(outer))}
}

// unfollowed are the pools around a pool that say something else of their members than when the
// pool last followed them, from the inside out. Where that was by an earlier version, which has
// not noted it, they are those that were not carried out since they changed.
func (p namedPools) unfollowed(pool *v1.NodePool) []*v1.NodePool {
	known := pool.Status.ObservedOuterPools
	return slices.DeleteFunc(p.around(pool), func(outer *v1.NodePool) bool {
		if len(known) == 0 {
			return !differs(outer)
		}
		return slices.Contains(known, observedOuter(outer))
	})
}

// account is a change that decides anew who the members of a pool are.
type account struct {
	// change is the pool that has changed, and holder the one that is held for it.
	change, holder string
}

// accounts are the changes that nobody has approved by which nodes leave a pool, or are members of
// it, those of the nearest pool first: of the pool itself, and of the pools around it. Those are
// held themselves until they are carried out. What the pool did not follow then, as it was paused
// or held, or what a paused pool says, the pool accounts for itself.
func (p namedPools) accounts(pool *v1.NodePool) (accounts []account) {
	if !isCarriedOut(pool) {
		return nil
	}
	if differs(pool) {
		if p.approves(pool) {
			return nil
		}
		accounts = append(accounts, account{pool.Name, pool.Name})
		if pool.Status.ObservedMembership == "" { // it is new, and all that it does is its own
			return accounts
		}
	}
	unfollowed, frozen := p.unfollowed(pool), WasFrozen(pool)
	for _, outer := range p.around(pool) {
		switch {
		case !slices.Contains(unfollowed, outer):
		case p.approves(outer) && (differs(outer) || !frozen):
		case differs(outer):
			accounts = append(accounts, account{outer.Name, outer.Name})
		case !p.approves(pool):
			accounts = append(accounts, account{outer.Name, pool.Name})
		}
		frozen = frozen || isBlocked(outer)
	}
	return accounts
}

// changed reports whether a pool is held for what becomes of its own members, if that is too much.
func (p namedPools) changed(pool *v1.NodePool) bool {
	return slices.ContainsFunc(p.accounts(pool), func(a account) bool { return a.holder == pool.Name })
}

// approves reports whether somebody has approved what a pool and those around it say now, or, of
// what the pool says, its generation; a source what it says within those around it. A source of an
// earlier version approved what the pool says alone. Only the first counts for what others have
// changed.
func (p namedPools) approves(pool *v1.NodePool) bool {
	switch pool.Annotations[v1.ApproveReleaseAnnotation] {
	case "":
		return false
	case p.stamp(pool):
		return true
	case strconv.FormatInt(pool.Generation, 10), p.line(pool), Membership(pool):
		return !isCarriedOut(pool) || pool.Status.ObservedMembership != Membership(pool) || len(p.unfollowed(pool)) == 0
	default:
		return false
	}
}

// line identifies what a pool says of its members together with those around it.
func (p namedPools) line(pool *v1.NodePool) string { return identifyLine(pool, p.around(pool)) }

// stamp identifies what a pool says of its members together with those around it, this time: the
// same again is another one.
func (p namedPools) stamp(pool *v1.NodePool) string {
	generations := []int64{pool.Generation}
	for _, outer := range p.around(pool) {
		generations = append(generations, outer.Generation)
	}
	return identify([]any{p.line(pool), generations})
}

// WasFrozen reports whether a pool was paused or held when its status was written last, so that it
// followed no other pool.
func WasFrozen(pool *v1.NodePool) bool {
	ready := meta.FindStatusCondition(pool.Status.Conditions, v1.ReadyCondition)
	return ready != nil && ready.Reason == v1.PausedReason || isBlocked(pool)
}

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
	pool := p[inner]
	if pool == nil {
		return false
	}
	if pool.Spec.Parent != "" && outer(pool.Spec.Parent) {
		return true
	}
	for _, at := range p.around(pool) {
		if at.Spec.Parent != "" && outer(at.Spec.Parent) {
			return true
		}
	}
	return false
}

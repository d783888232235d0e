package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
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
// exist, and where it comes round to one again.
func Around(pool *v1.NodePool, named func(string) *v1.NodePool) (around []*v1.NodePool) {
	for at := pool; at.Spec.Parent != ""; {
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
	switch {
	case pool.Labels[v1.SourceLabel] == "":
		status.ObservedSourceMembership = ""
	case status.ObservedSourceMembership != status.ObservedMembership && !changedByHand(pool):
		status.ObservedSourceMembership = status.ObservedMembership
	}
}

func observedOuter(outer *v1.NodePool) v1.ObservedOuterPool {
	return v1.ObservedOuterPool{Name: outer.Name, Membership: identify(choice(outer))}
}

// cause is the pool by whose change nodes leave a pool, or are members of it: the pool itself, or
// the nearest one around it that says something else of its members than when this one followed
// it. It is nil where nothing has changed.
func (p namedPools) cause(pool *v1.NodePool) *v1.NodePool {
	if differs(pool) {
		return pool
	}
	known := len(pool.Status.ObservedOuterPools) > 0 // no earlier version has noted that
	for _, outer := range p.around(pool) {
		if known && !slices.Contains(pool.Status.ObservedOuterPools, observedOuter(outer)) || !known && differs(outer) {
			return outer
		}
	}
	return nil
}

// accountable is the pool that is held for what becomes of the members of a pool: the one whose
// change it is; or the pool itself, if that was carried out and approved by nobody, while the pool
// was paused, held, or free to follow a paused one. It is nil where nothing has changed.
func (p namedPools) accountable(pool *v1.NodePool) *v1.NodePool {
	cause := p.cause(pool)
	if cause == nil || differs(cause) || approvesItself(cause) || !isCarriedOut(pool) {
		return cause
	}
	return pool
}

// changed reports whether a pool is accountable for itself, and nobody has approved that.
func (p namedPools) changed(pool *v1.NodePool) bool {
	switch {
	case p.accountable(pool) != pool:
		return false
	case differs(pool):
		return !approvesItself(pool)
	default:
		return pool.Annotations[v1.ApproveReleaseAnnotation] != p.line(pool)
	}
}

// line identifies what a pool says of its members together with those around it.
func (p namedPools) line(pool *v1.NodePool) string {
	said := []v1.ObservedOuterPool{{Name: pool.Name, Membership: Membership(pool)}}
	for _, outer := range p.around(pool) {
		said = append(said, observedOuter(outer))
	}
	return identify(said)
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

// approvesItself reports whether somebody has approved what a pool says now.
func approvesItself(pool *v1.NodePool) bool {
	approval := pool.Annotations[v1.ApproveReleaseAnnotation]
	return approval != "" && (approval == Membership(pool) || approval == strconv.FormatInt(pool.Generation, 10))
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

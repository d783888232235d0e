package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// Owner is whose a key of a node is.
type Owner string

// The owners of a key.
const (
	// OfPool is a key that is in the record, or about to be.
	OfPool Owner = "pool"
	// Shared is a key that a pool wants at the value at which somebody else has
	// put it there. It stays when the pool releases it.
	Shared Owner = "shared"
	// OfOthers is a key of somebody else; a pool may want it at another value.
	OfOthers Owner = "other"
	// OfKubernetes is a key of somebody else in a domain of Kubernetes.
	OfKubernetes Owner = "kubernetes"
	// OfController is the record.
	OfController Owner = "controller"
	// OfUnknown is a key whose owner is unknown, as the record cannot be read.
	OfUnknown Owner = "unknown"
)

// KeyStatus is all that there is to say about one key of a node.
type KeyStatus struct {
	Field Field
	// Key of the label or annotation; key:effect of a taint.
	Key string
	// Have is the value that stands on the node, nil where there is none.
	Have  *string
	Owner Owner
	// Pool whose the key is, of a pool's key.
	Pool string
	// Recorded and Planned are what the record says of the key now, and after the
	// write; nil where it says nothing.
	Recorded, Planned *Entry
	// Change of the value, nil where it does not change.
	Change *KeyChange
	// WantedBy are the pools that want the key at the value that stands there,
	// sorted, of a shared key.
	WantedBy []string
	// SetBy are the field managers that set the value, by the managed fields,
	// sorted and without ours; of a taint, who wrote the list of taints last.
	SetBy []string
	// Conflicts are those of pools that do not get the key, sorted by pool. At most
	// three are listed, and MoreConflicts is how many there are besides.
	Conflicts     []Conflict
	MoreConflicts int
}

// Due reports whether a write is due for the key, of the key or of the record.
func (k KeyStatus) Due() bool {
	return k.Change != nil || (k.Recorded == nil) != (k.Planned == nil) || k.Recorded != nil && !k.Recorded.equal(*k.Planned)
}

// Explanation says who owns each label, annotation and taint of a node.
type Explanation struct {
	// Plan is what would be written now; nil when the record cannot be read.
	Plan *NodePlan
	// Paused reports whether the annotation of the node pauses it.
	Paused bool
	// Unreadable says why the record cannot be read.
	Unreadable *RecordError
	// Members are the pools that the node is in, sorted. Where the record cannot
	// be read, they are those that it would be in if no pool had labelled it.
	Members []string
	// Keys are all that stand on the node, that the record names, or that a pool
	// wants: labels, annotations, taints, each sorted.
	Keys []KeyStatus
}

// Explain returns who owns what on a node, and what is about to happen to
// it, by the plan that is made for the node.
func Explain(node *NodeState, pools *render.Expansion) *Explanation {
	outcome := NodeOutcomeOf(node, pools, NodeFacts{})
	if outcome.Unreadable != nil {
		return explainUnreadable(node, outcome)
	}
	p := outcome.Plan
	e := &Explanation{Plan: p, Paused: outcome.Paused, Members: p.Pools}
	setters := &owners{object: node}
	e.Keys = slices.Concat(
		statuses(p, Label, node.Labels, p.recorded.Labels, p.labels.record, p.desired.Labels,
			func(key string) []string { return setters.setBy(labelPath(key)) }),
		statuses(p, Annotation, node.Annotations, p.recorded.Annotations, p.annotations.record, p.desired.Annotations,
			func(key string) []string { return setters.setBy(annotationPath(key)) }),
		statuses(p, Taint, taintValues(node.Taints), p.recorded.Taints, p.taints.record, p.desired.Taints,
			func(render.TaintID) []string { return setters.setBy(taintsPath) }),
	)
	return e
}

// statuses are those of the keys of one field, sorted.
func statuses[K comparable](p *NodePlan, field Field, have map[K]string, recorded, planned map[K]Entry, want map[K]render.Want, setBy func(K) []string) []KeyStatus {
	changes, conflicts := map[string]*KeyChange{}, map[string]KeyConflict{}
	for _, change := range p.Changes {
		if change.Field == field {
			changes[change.Key] = &change
		}
	}
	for _, conflict := range p.Conflicts {
		if conflict.Field() == field {
			conflicts[conflict.Key()] = conflict
		}
	}
	keys := map[K]bool{}
	for key := range have {
		keys[key] = true
	}
	for key := range recorded {
		keys[key] = true
	}
	for key := range want {
		keys[key] = true
	}
	var all []KeyStatus
	for key := range keys {
		s := KeyStatus{Field: field, Key: fmt.Sprint(key), Recorded: entryAt(recorded, key), Planned: entryAt(planned, key)}
		s.Have, _ = lookup(have, key)
		s.Change = changes[s.Key]
		conflict, denied := conflicts[s.Key]
		s.Conflicts, s.MoreConflicts = conflict.First(perPool)
		if s.Have != nil {
			s.SetBy = setBy(key)
		}
		wish, wanted := want[key]
		switch {
		case s.Planned != nil:
			s.Owner, s.Pool = OfPool, s.Planned.Pool
		case s.Recorded != nil:
			s.Owner, s.Pool = OfPool, s.Recorded.Pool
		case wanted && s.Have != nil && !(denied && conflict.denied):
			s.Owner, s.WantedBy = Shared, slices.Sorted(slices.Values(append([]string{wish.Pool}, wish.Agreeing...)))
		default:
			s.Owner = OwnerByDomain(field, s.Key)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b KeyStatus) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

// explainUnreadable says of a node whose record cannot be read who set what.
// That may be us: then it was a pool's once.
func explainUnreadable(node *NodeState, outcome NodeOutcome) *Explanation {
	e := &Explanation{Unreadable: outcome.Unreadable, Paused: outcome.Paused, Members: outcome.Members}
	setters := &owners{object: node, ours: true}
	add := func(field Field, key, value string, setBy []string) {
		s := KeyStatus{Field: field, Key: key, Have: &value, Owner: OwnerByDomain(field, key), SetBy: setBy}
		if s.Owner == OfOthers {
			s.Owner = OfUnknown
		}
		e.Keys = append(e.Keys, s)
	}
	for _, key := range slices.Sorted(maps.Keys(node.Labels)) {
		add(Label, key, node.Labels[key], setters.setBy(labelPath(key)))
	}
	for _, key := range slices.Sorted(maps.Keys(node.Annotations)) {
		add(Annotation, key, node.Annotations[key], setters.setBy(annotationPath(key)))
	}
	for _, taint := range node.Taints {
		add(Taint, render.TaintID{Key: taint.Key, Effect: taint.Effect}.String(), taint.Value, setters.setBy(taintsPath))
	}
	return e
}

// OwnerByDomain returns whose a key is that is no pool's, as far as its domain says:
// [OfOthers], [OfKubernetes] or [OfController].
func OwnerByDomain(field Field, key string) Owner {
	const restricted = corev1.LabelNamespaceNodeRestriction
	domain, _, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return OfOthers
	}
	switch {
	case field == Annotation && key == v1.AppliedAnnotation:
		return OfController
	case strings.HasPrefix(key, v1.RoleLabelPrefix), domain == restricted, strings.HasSuffix(domain, "."+restricted), domain == "kubectl.kubernetes.io":
		return OfOthers // made for people to set, or to set by a tool of theirs
	case domain == "kubernetes.io", strings.HasSuffix(domain, ".kubernetes.io"), domain == "k8s.io", strings.HasSuffix(domain, ".k8s.io"):
		return OfKubernetes
	default:
		return OfOthers
	}
}

func entryAt[K comparable](entries map[K]Entry, key K) *Entry {
	if entry, found := entries[key]; found {
		return &entry
	}
	return nil
}

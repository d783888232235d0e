package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

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
	// Waits reports that the key gets another value when the node follows its pools, and
	// Later is that value; nil where it goes.
	Waits bool
	Later *string
}

// Due reports whether a write is due for the key, of the key or of the record.
func (k KeyStatus) Due() bool {
	return k.Change != nil || (k.Recorded == nil) != (k.Planned == nil) || k.Recorded != nil && !k.Recorded.equal(*k.Planned)
}

// Explanation says who owns each label, annotation and taint of a node.
type Explanation struct {
	// Plan is what would be written now; nil when the record cannot be read.
	Plan *NodePlan
	// Wait are the pools whose changes the node does not follow yet.
	Wait NodeWait
	// Unavailable is why the node counts as unavailable in rollouts, by pool: "is cordoned".
	Unavailable map[string]string
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
// it, by the plan that is made for the node. The facts say what waits.
func Explain(node *NodeState, pools *render.Expansion, facts NodeFacts) *Explanation {
	outcome := NodeOutcomeOf(node, pools, facts)
	if outcome.Unreadable != nil {
		return explainUnreadable(node, outcome)
	}
	full, p := outcome.Plan, outcome.Plan
	if allowed := outcome.Admission.Plan; allowed != nil {
		p = allowed
	}
	e := &Explanation{Plan: p, Wait: outcome.Wait, Unavailable: facts.unavailability(node, outcome), Paused: outcome.Paused, Members: full.Pools}
	setters := &owners{object: node}
	e.Keys = slices.Concat(
		explained[string]{
			field: Label, have: node.Labels, recorded: p.recorded.Labels, now: p.labels, later: full.labels, want: p.desired.Labels,
			setBy: func(key string) []string { return setters.setBy(labelPath(key)) },
		}.statuses(p),
		explained[string]{
			field: Annotation, have: node.Annotations, recorded: p.recorded.Annotations, now: p.annotations, later: full.annotations, want: p.desired.Annotations,
			setBy: func(key string) []string { return setters.setBy(annotationPath(key)) },
		}.statuses(p),
		explained[render.TaintID]{
			field: Taint, have: taintValues(node.Taints), recorded: p.recorded.Taints, now: p.taints, later: full.taints, want: p.desired.Taints,
			setBy: func(render.TaintID) []string { return setters.setBy(taintsPath) },
		}.statuses(p),
	)
	return e
}

// explained is one field of a node that is explained.
type explained[K comparable] struct {
	field    Field
	have     map[K]string
	recorded map[K]Entry
	// now is what becomes of the keys at once, later what does when nothing waits.
	now, later fieldPlan[K]
	want       map[K]render.Want
	setBy      func(K) []string
}

// statuses are those of the keys of the field, sorted.
func (x explained[K]) statuses(p *NodePlan) []KeyStatus {
	changes, conflicts := map[string]*KeyChange{}, map[string]KeyConflict{}
	for _, change := range p.Changes {
		if change.Field == x.field {
			changes[change.Key] = &change
		}
	}
	for _, conflict := range p.Conflicts {
		if conflict.Field() == x.field {
			conflicts[conflict.Key()] = conflict
		}
	}
	var all []KeyStatus
	for key := range x.keys() {
		s := KeyStatus{Field: x.field, Key: fmt.Sprint(key), Recorded: entryAt(x.recorded, key), Planned: entryAt(x.now.record, key)}
		s.Have, _ = lookup(x.have, key)
		s.Change = changes[s.Key]
		conflict, denied := conflicts[s.Key]
		s.Conflicts, s.MoreConflicts = conflict.First(perPool)
		if s.Have != nil {
			s.SetBy = x.setBy(key)
		}
		if later := x.later.valueAfter(key, s.Have); !ptr.Equal(later, x.now.valueAfter(key, s.Have)) {
			s.Waits, s.Later = true, later
		}
		wish, wanted := x.want[key]
		switch planned := entryAt(x.later.record, key); {
		case s.Planned != nil:
			s.Owner, s.Pool = OfPool, s.Planned.Pool
		case s.Recorded != nil:
			s.Owner, s.Pool = OfPool, s.Recorded.Pool
		case s.Waits && planned != nil:
			s.Owner, s.Pool = OfPool, planned.Pool
		case wanted && s.Have != nil && !(denied && conflict.denied):
			s.Owner, s.WantedBy = Shared, slices.Sorted(slices.Values(append([]string{wish.Pool}, wish.Agreeing...)))
		default:
			s.Owner = OwnerByDomain(x.field, s.Key)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b KeyStatus) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

// keys are those that stand there, that the record names, and that a pool wants, now or
// later.
func (x explained[K]) keys() map[K]bool {
	keys := map[K]bool{}
	for key := range x.have {
		keys[key] = true
	}
	for key := range x.recorded {
		keys[key] = true
	}
	for key := range x.want {
		keys[key] = true
	}
	for key := range x.later.record {
		keys[key] = true
	}
	return keys
}

// valueAfter is the value that a key has afterwards, of the one that it has; nil for none.
func (o fieldPlan[K]) valueAfter(key K, have *string) *string {
	if after, changes := o.changed[key]; changes {
		return after
	}
	return have
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

package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// reader converts a file to an inventory, element by element, so that errors have a line.
type reader struct {
	data    []byte
	decoder kjson.Decoder
	inv     *Inventory
	seen    map[string]bool // sections
	called  hosts
	// there are the names of all but nodes, so that none comes twice.
	pods, budgets           map[objectName]bool
	pools, sources, classes map[string]bool
	workloads               map[Owner]bool
	// owned are the pools that own RuntimeClasses, by the name of the class.
	owned map[string]string
	// values that may still come.
	values int
}

func newReader(data []byte) *reader {
	return &reader{
		data: data, decoder: kjson.NewDecoderCaseSensitivePreserveInts(bytes.NewReader(data)),
		inv: &Inventory{}, seen: map[string]bool{}, called: hosts{}, pods: map[objectName]bool{}, budgets: map[objectName]bool{},
		pools: map[string]bool{}, sources: map[string]bool{}, classes: map[string]bool{}, workloads: map[Owner]bool{},
		values: maxValues,
	}
}

// read reads the sections, in any order. The text is valid JSON.
func (r *reader) read() (*Inventory, error) {
	if _, err := r.decoder.Token(); err != nil {
		return nil, r.wrong(err)
	}
	for r.decoder.More() {
		key, err := r.decoder.Token()
		if err != nil {
			return nil, r.wrong(err)
		}
		if err := r.section(fmt.Sprint(key)); err != nil {
			return nil, err
		}
	}
	if err := r.spend(len(r.inv.Pools) * len(r.inv.Nodes) / workOfValue); err != nil {
		return nil, &FileError{Err: err}
	}
	r.inv.sort()
	if err := r.findOwners(); err != nil {
		return nil, err
	}
	if err := r.complete(); err != nil {
		return nil, &FileError{Err: err}
	}
	return r.inv, nil
}

// moment matches a time in RFC 3339.
var moment = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$`)

// complete returns an error if a section is missing. A file without nodes would
// look like a cluster that has none.
func (r *reader) complete() error {
	if !r.seen["nodes"] {
		return errors.New("there is no list of nodes")
	}
	if taken := r.inv.Taken; taken != "" && !moment.MatchString(taken) {
		return fmt.Errorf("taken is %s, and has to be a time such as 2026-01-02T03:04:05Z", quote(taken))
	}
	for _, pod := range r.inv.Pods {
		for _, budget := range pod.Budgets {
			if !r.budgets[objectName{pod.Namespace, budget}] {
				return fmt.Errorf("pod %s of namespace %s names the PodDisruptionBudget %s, which is not there", quote(pod.Name), quote(pod.Namespace), quote(budget))
			}
		}
	}
	return nil
}

func (r *reader) section(name string) error {
	if r.seen[name] {
		return r.wrong(fmt.Errorf("%s is there twice", quote(name)))
	}
	r.seen[name] = true
	switch name {
	case "apiVersion", "kind":
		var known string
		return r.wrong(r.decoder.Decode(&known))
	case "taken":
		return r.wrong(r.decoder.Decode(&r.inv.Taken))
	case "nodePools":
		return each(r, name, r.pool)
	case "nodePoolSources":
		return each(r, name, r.source)
	case "runtimeClasses":
		return each(r, name, r.class)
	case "nodes":
		return each(r, name, r.nodeGroup)
	case "podDisruptionBudgets":
		return each(r, name, r.budget)
	case "workloads":
		if !r.seen["nodes"] {
			return r.wrong(errors.New("workloads has to stand behind nodes"))
		}
		r.inv.Pods = []Pod{}
		return each(r, name, r.workload)
	default:
		return r.wrong(fmt.Errorf("unknown field %s", quote(name)))
	}
}

// each reads the elements of a section, which is a list or null.
func each[T any](r *reader, section string, take func(*T) error) error {
	begin, err := r.decoder.Token()
	if begin == nil && err == nil {
		if section == "workloads" {
			r.inv.Pods = nil
		}
		return nil
	}
	if err != nil || begin != json.Delim('[') {
		return r.wrong(errors.Join(fmt.Errorf("%s has to be a list", section), err))
	}
	for i := 0; r.decoder.More(); i++ {
		at := r.nextAt()
		wrong := func(err error) error {
			return &FileError{lineAt(r.data, at), fmt.Errorf("%s[%d]: %w", section, i, err)}
		}
		var text json.RawMessage
		if err := r.decoder.Decode(&text); err != nil {
			return wrong(err)
		}
		if err := r.spend(elementValues + valuesOf(text)); err != nil {
			return wrong(err)
		}
		element := new(T)
		strict, err := kjson.UnmarshalStrict(text, element)
		if err != nil {
			return wrong(fieldError(err))
		}
		if len(strict) > 0 {
			return wrong(errors.New(clip(strict[0].Error())))
		}
		if err := take(element); err != nil {
			return wrong(err)
		}
	}
	_, err = r.decoder.Token()
	return r.wrong(err)
}

// nextAt returns the position of the next element, after a comma and blanks.
func (r *reader) nextAt() int {
	at := int(r.decoder.InputOffset())
	return at + len(r.data[at:]) - len(bytes.TrimLeft(r.data[at:], ", \t\r\n"))
}

// wrong adds the position of the reader to an error.
func (r *reader) wrong(err error) error {
	if err == nil {
		return nil
	}
	return &FileError{lineAt(r.data, int(r.decoder.InputOffset())), fieldError(err)}
}

// deletedOnce is the deletion time of objects that are being deleted: the file
// does not have it.
var deletedOnce = metav1.Unix(0, 0)

func deletion(deleting bool) *metav1.Time {
	if !deleting {
		return nil
	}
	return deletedOnce.DeepCopy()
}

// unknownAge is when a pool of a file that does not say so was created: before
// every pool that is not in the cluster.
var unknownAge = metav1.Unix(0, 0)

func (r *reader) pool(read *filePool) error {
	if err := newName(r.pools, "NodePool", read.Name); err != nil {
		return err
	}
	pool := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{
			Name: read.Name, UID: read.UID, DeletionTimestamp: deletion(read.Deleting), Finalizers: read.Finalizers,
			Labels: read.Labels, Annotations: read.Annotations, Generation: read.Generation, CreationTimestamp: unknownAge,
		},
		Spec: read.Spec,
		Status: v1.NodePoolStatus{
			Contests: read.Contests, Settled: read.Settled, ReplacedRuntimeClass: read.Replaced, ObservedMembership: read.ObservedMembership,
			ObservedOuterPools: read.ObservedOuterPools, ObservedSourceMembership: read.ObservedSourceMembership,
			Conditions: poolConditions(read),
		},
	}
	if read.Halt != nil || read.Over != "" {
		pool.Status.Rollout = &v1.RolloutStatus{Halt: read.Halt, Over: read.Over}
	}
	if read.Created != nil {
		pool.CreationTimestamp = *read.Created
	}
	if read.Managed != nil {
		pool.ManagedFields = plan.ManagedFields(read.Managed.keys(), read.AlsoApplied.keys())
	}
	r.inv.Pools = append(r.inv.Pools, pool)
	return nil
}

func (k *fileKeys) keys() plan.Keys {
	if k == nil {
		return plan.Keys{}
	}
	return plan.Keys{Labels: k.Labels, Annotations: k.Annotations}
}

func (r *reader) source(read *fileSource) error {
	if err := newName(r.sources, "NodePoolSource", read.Name); err != nil {
		return err
	}
	if read.UID == "" {
		return fmt.Errorf("NodePoolSource %s has no uid, by which it owns pools: take the inventory again with this version of nodepools", quote(read.Name))
	}
	source := &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{
			Name: read.Name, UID: read.UID, DeletionTimestamp: deletion(read.Deleting), Annotations: read.Annotations,
		},
		Spec: read.Spec,
		Status: v1.NodePoolSourceStatus{
			Revision: read.Revision, PruneBase: read.PruneBase, BlockedPrune: read.BlockedPrune, LastHandledPruneApproval: read.ApprovalUsed,
			LastHandledReleaseApproval: read.ReleaseApprovalUsed,
		},
	}
	if read.ReleaseBlocked != "" {
		source.Status.BlockedRelease = plan.BlockedReleaseOf(source, read.ReleaseBlocked)
	}
	r.inv.Sources = append(r.inv.Sources, source)
	return nil
}

// poolConditions are those that a plan goes by.
func poolConditions(read *filePool) []metav1.Condition {
	switch {
	case read.ReleaseBlocked:
		return []metav1.Condition{{
			Type: v1.ReleaseBlockedCondition, Status: metav1.ConditionTrue, Reason: v1.ReleaseBlockedReason, ObservedGeneration: read.Generation,
		}}
	case read.Frozen:
		return []metav1.Condition{{Type: v1.ReadyCondition, Status: metav1.ConditionFalse, Reason: v1.PausedReason}}
	}
	return nil
}

func (r *reader) class(read *fileClass) error {
	if err := newName(r.classes, "RuntimeClass", read.Name); err != nil {
		return err
	}
	r.inv.RuntimeClasses = append(r.inv.RuntimeClasses, &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: read.Name, DeletionTimestamp: deletion(read.Deleting), Finalizers: read.Finalizers,
			Labels: read.Labels, Annotations: read.Annotations, OwnerReferences: read.Owners,
		},
		Handler: read.Handler, Overhead: read.Overhead, Scheduling: read.Scheduling,
	})
	if read.Pool != "" {
		put(&r.owned, read.Name, read.Pool)
	}
	return nil
}

// findOwners sets the pools that own RuntimeClasses.
func (r *reader) findOwners() error {
	pools := map[string]*v1.NodePool{}
	for _, pool := range r.inv.Pools {
		pools[pool.Name] = pool
	}
	for _, class := range r.inv.RuntimeClasses {
		name, isOwned := r.owned[class.Name]
		switch {
		case !isOwned:
		case pools[name] == nil:
			return &FileError{Err: fmt.Errorf("RuntimeClass %s is of the pool %s, which is not there", quote(class.Name), quote(name))}
		default:
			class.OwnerReferences = []metav1.OwnerReference{plan.OwnerReference(pools[name])}
		}
	}
	return nil
}

func (r *reader) budget(read *fileBudget) error {
	name := objectName{read.Namespace, read.Name}
	switch {
	case !isName(name.namespace):
		return fmt.Errorf("%s is not the name of a namespace", quote(name.namespace))
	case !isName(name.name):
		return fmt.Errorf("%s is not the name of a PodDisruptionBudget", quote(name.name))
	case r.budgets[name]:
		return fmt.Errorf("PodDisruptionBudget %q of namespace %q is there twice", name.name, name.namespace)
	}
	r.budgets[name] = true
	r.inv.Budgets = append(r.inv.Budgets, Budget(*read))
	return nil
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The pools of a race, by what is special about them.
const (
	rolePool     = "by-role"    // its role label is the machines'
	recruitPool  = "by-recruit" // its role label comes and goes
	followPool   = "by-follow"  // its selector is on a label that comes and goes
	zonePool     = "by-zone"    // its selector changes
	namePool     = "by-name"    // on every node, without taints
	innerPool    = "inner"      // within another, which is sometimes not there
	fleetingPool = "fleeting"   // is deleted and made again
	takerPool    = "taker"      // takes over what the machines have set
)

// poolsDomain is where the keys are that nobody but pools sets.
const poolsDomain = "pools.example.com/"

// followedLabel is one of a writer, after whose changes nodes join a pool and
// leave it.
const followedLabel = "update.example.com/label-0"

// racePools change pools without end.
type racePools struct {
	client client.Client
	ledger *raceLedger
	names  []string
	values int
}

func newRacePools(c client.Client, ledger *raceLedger) *racePools {
	return &racePools{client: c, ledger: ledger, names: []string{
		rolePool, recruitPool, followPool, zonePool, namePool, innerPool, fleetingPool, takerPool,
	}}
}

// race changes pools until it is stopped, a few dozen times a second: as fast as
// it could it would change them back before any node had followed. All of them
// are there from the beginning.
func (p *racePools) race(stop, ctx context.Context) {
	next := slices.Clone(p.names)
	for ; stop.Err() == nil; next = append(next[1:], p.names[rand.IntN(len(p.names))]) {
		if err := p.turn(ctx, next[0]); err != nil {
			p.ledger.fail(fmt.Errorf("pools: %w", err))
			return
		}
		linger(stop, time.Duration(rand.IntN(50))*time.Millisecond)
	}
}

// turn changes one pool.
func (p *racePools) turn(ctx context.Context, name string) error {
	var err error
	if name == fleetingPool && rand.IntN(2) == 0 {
		err = client.IgnoreNotFound(p.client.Delete(ctx, &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	} else {
		err = p.put(ctx, name, p.vary)
	}
	if err == nil {
		p.ledger.note(func(score *raceScore) { score.poolChanges++ })
	}
	// A pool that is on its way out is made again when it is gone.
	return client.IgnoreNotFound(ignoreConflict(err))
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// put makes a pool or changes it, but for one that is on its way out.
func (p *racePools) put(ctx context.Context, name string, change func(*v1.NodePool)) error {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	err := p.client.Get(ctx, client.ObjectKeyFromObject(pool), pool)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !pool.DeletionTimestamp.IsZero() {
		if v1.IsDisabled(pool, v1.ReconcileAnnotation) { // it would stay until it is resumed
			pool.Annotations = nil
			if err := p.client.Update(ctx, pool); err != nil {
				return err
			}
		}
		return apierrors.NewConflict(v1.GroupVersion.WithResource("nodepools").GroupResource(), name, errors.New("it is being deleted"))
	}
	change(pool)
	approve(pool)
	if apierrors.IsNotFound(err) {
		return p.client.Create(ctx, pool)
	}
	return p.client.Update(ctx, pool)
}

// vary gives a pool another definition.
func (p *racePools) vary(pool *v1.NodePool) {
	p.settle(pool)
	pool.Spec.Priority = int32(rand.IntN(3))
	if rand.IntN(8) == 0 {
		pool.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled}
	}
}

// settle gives a pool another definition that does not depend on what was
// before: it is not paused, and contests nothing.
func (p *racePools) settle(pool *v1.NodePool) {
	pool.Annotations = nil
	pool.Spec = v1.NodePoolSpec{
		Priority:       int32(10 + slices.Index(p.names, pool.Name)),
		ConflictPolicy: []v1.ConflictPolicy{v1.ReportConflicts, v1.TakeOver, v1.Adopt}[rand.IntN(3)],
		Labels:         map[string]v1.LabelValue{},
		Annotations:    map[string]v1.AnnotationValue{},
	}
	p.choose(pool)
	for _, key := range p.some(3) {
		pool.Spec.Labels[poolsDomain+key] = v1.LabelValue(p.value())
	}
	for _, key := range p.some(2) {
		pool.Spec.Annotations[poolsDomain+key] = v1.AnnotationValue(p.value())
	}
	if pool.Name == namePool {
		return
	}
	// Often there is none, so that the list of taints changes hands.
	if rand.IntN(2) == 0 {
		for _, key := range p.some(2) {
			pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: poolsDomain + key, Value: p.value(), Effect: corev1.TaintEffectNoSchedule})
		}
	}
	if pool.Name == takerPool {
		p.takeOver(pool)
	}
}

// approve approves what becomes of nodes: these people mean what they do, as often as
// they do it.
func approve(pool *v1.NodePool) {
	metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.ApproveReleaseAnnotation, strconv.FormatInt(pool.Generation+1, 10))
}

// choose says which nodes are in a pool.
func (p *racePools) choose(pool *v1.NodePool) {
	zones := [][]string{{"a"}, {"b"}, {"a", "b"}}[rand.IntN(3)]
	switch pool.Name {
	case zonePool, innerPool:
		pool.Spec.Selector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{
			{Key: "zone", Operator: metav1.LabelSelectorOpIn, Values: zones},
		}}
	case followPool:
		pool.Spec.Selector = &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{
			{Key: followedLabel, Operator: []metav1.LabelSelectorOperator{metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}[rand.IntN(2)]},
			{Key: "zone", Operator: metav1.LabelSelectorOpExists},
		}}
	case namePool:
		pool.Spec.NodeNames = []string{"*"}
	case fleetingPool, takerPool:
		pool.Spec.NodeNames = [][]string{{"staying-*", "passing-*"}, {"*ing-*[0-4]"}}[rand.IntN(2)]
	}
	if pool.Name == innerPool {
		pool.Spec.Parent = []string{rolePool, fleetingPool}[rand.IntN(2)]
	}
}

// takeOver has a pool want some of what the machines have set.
func (p *racePools) takeOver(pool *v1.NodePool) {
	pool.Spec.ConflictPolicy = v1.TakeOver
	if rand.IntN(2) == 0 {
		pool.Spec.Labels[rackKey] = v1.LabelValue(p.value())
	}
	if rand.IntN(2) == 0 {
		pool.Spec.Annotations[rackKey] = v1.AnnotationValue(p.value())
	}
	if rand.IntN(2) == 0 {
		pool.Spec.Taints = append(pool.Spec.Taints, v1.Taint{Key: rackKey, Value: p.value(), Effect: corev1.TaintEffectNoSchedule})
	}
}

// some picks some keys of a few, so that pools want the same ones.
func (p *racePools) some(most int) []string {
	keys := map[string]bool{}
	for range rand.IntN(most + 1) {
		keys[fmt.Sprintf("key-%d", rand.IntN(3))] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

func (p *racePools) value() string {
	p.values++
	return fmt.Sprintf("pool-%d", p.values)
}

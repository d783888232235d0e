package controller

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// machinesDomain is where the keys are with which machines come to life.
const machinesDomain = "machines.example.com/"

// rackKey is the one of their keys that a pool takes over.
const rackKey = machinesDomain + "rack"

// raceMachines make the nodes of a race and let some of them vanish and come back
// under their old names, as a cloud provider does.
type raceMachines struct {
	client client.Client
	ledger *raceLedger
	// staying nodes last, passing ones come and go. On apart ones there are no
	// taints of pools.
	staying, passing, apart []string
	// born is what each node was made with.
	born map[string]leftBehind
	made int
}

func newRaceMachines(c client.Client, ledger *raceLedger, staying, passing int) *raceMachines {
	m := &raceMachines{client: c, ledger: ledger, born: map[string]leftBehind{}}
	for i := range staying {
		m.staying = append(m.staying, fmt.Sprintf("staying-%02d", i))
	}
	for i := range passing {
		m.passing = append(m.passing, fmt.Sprintf("passing-%02d", i))
	}
	for i := range 2 {
		m.apart = append(m.apart, fmt.Sprintf("apart-%d", i))
	}
	return m
}

// names are those of all nodes.
func (m *raceMachines) names() []string { return append(m.writable(), m.apart...) }

// writable are the nodes on which everybody may write.
func (m *raceMachines) writable() []string {
	return append(append([]string{}, m.staying...), m.passing...)
}

// join makes a node.
func (m *raceMachines) join(ctx context.Context, name string) error {
	m.made++
	added := metav1.NewTime(time.Unix(1_600_000_000+int64(m.made), 0))
	made := fmt.Sprint(m.made)
	born := belongings{
		labels:      map[string]string{machinesDomain + "made": made, rackKey: "rack-" + made},
		annotations: map[string]string{machinesDomain + "made": made, rackKey: "rack-" + made},
		taints: []corev1.Taint{
			{Key: machinesDomain + "made", Value: made, Effect: corev1.TaintEffectNoExecute, TimeAdded: &added},
			{Key: rackKey, Value: "rack-" + made, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &added},
		},
	}
	if !slices.Contains(m.apart, name) {
		born.labels["zone"] = []string{"a", "b"}[m.made%2]
		if m.made%3 > 0 {
			born.labels[v1.RoleLabel(rolePool)] = ""
		}
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: born.clone().labels, Annotations: born.clone().annotations},
		Spec:       corev1.NodeSpec{Taints: born.clone().taints},
	}
	switch err := m.client.Create(ctx, node); {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("somebody's write has made a node that was gone: %w", err)
	case err != nil:
		return err
	}
	m.born[name] = leftBehind{uid: node.UID, belongings: born}
	return nil
}

// check looks whether a node still has what it was made with, but for what a pool
// takes over.
func (m *raceMachines) check(ctx context.Context, name string) error {
	node := &corev1.Node{}
	if err := m.client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return err
	}
	born := m.born[name].belongings.flat()
	there := belongings{labels: node.Labels, annotations: node.Annotations, taints: node.Spec.Taints}.flat()
	others := func(what, _ string) bool { return born[what] == "" || strings.Contains(what, rackKey) }
	maps.DeleteFunc(there, others)
	maps.DeleteFunc(born, others)
	m.ledger.lost(lossesOf("machines", name, born, there))
	return nil
}

// race lets nodes vanish and come back until it is stopped. In the end all are
// there.
func (m *raceMachines) race(stop, ctx context.Context) {
	err := func() error {
		for stop.Err() == nil {
			name := m.passing[rand.IntN(len(m.passing))]
			if err := m.check(ctx, name); err != nil {
				return err
			}
			if err := m.client.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
				return err
			}
			m.ledger.note(func(score *raceScore) { score.vanished++ })
			// Sometimes it comes back at once, sometimes it is missed first.
			linger(stop, time.Duration(rand.IntN(40))*time.Millisecond)
			if err := m.join(ctx, name); err != nil {
				return err
			}
			m.ledger.note(func(score *raceScore) { score.joined++ })
			linger(stop, time.Duration(rand.IntN(100))*time.Millisecond)
		}
		return nil
	}()
	if err != nil {
		m.ledger.fail(fmt.Errorf("machines: %w", err))
	}
}

// linger waits, at most until the context ends.
func linger(ctx context.Context, lasting time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(lasting):
	}
}

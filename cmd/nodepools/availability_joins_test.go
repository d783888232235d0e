package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// sharedPool is the pool that nodes join.
const sharedPool = "shared"

// joins are nodes that join, as API servers report them.
type joins struct {
	mu sync.Mutex
	// created is when the answer to the creation of a node came, right when the node was
	// first seen with all that its pool says.
	created, right map[string]time.Time
	// back is what a node was seen to lose, by one API server.
	back []string
}

func newJoins() *joins {
	return &joins{created: map[string]time.Time{}, right: map[string]time.Time{}}
}

// joining is a node as its kubelet creates it, with what others have put there.
func joining(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{v1.RoleLabel(sharedPool): "", "example.com/team": "vision"},
			Annotations: map[string]string{"example.com/owner": "ada"},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "example.com/maintenance", Value: "soon", Effect: corev1.TaintEffectNoSchedule}}},
	}
}

// joinedPool is what nodes get.
func joinedPool() *v1.NodePool {
	return &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: sharedPool}, Spec: v1.NodePoolSpec{
		Labels:      map[string]v1.LabelValue{"example.com/tier": "gold"},
		Annotations: map[string]v1.AnnotationValue{"example.com/bill": "42"},
		Taints:      []v1.Taint{{Key: "example.com/dedicated", Value: "shared", Effect: "NoSchedule"}},
	}}
}

// joined returns what a node lacks of its pool.
func joined(node *corev1.Node) error {
	dedicated := corev1.Taint{Key: "example.com/dedicated", Value: "shared", Effect: corev1.TaintEffectNoSchedule}
	if node.Labels["example.com/tier"] != "gold" || node.Annotations["example.com/bill"] != "42" || !slices.Contains(node.Spec.Taints, dedicated) {
		return fmt.Errorf("node %s has labels %v and taints %v", node.Name, node.Labels, node.Spec.Taints)
	}
	return nil
}

// kept returns what a node has lost of what others have put there.
func kept(node *corev1.Node) error {
	want := joining(node.Name)
	if node.Labels["example.com/team"] != "vision" || node.Annotations["example.com/owner"] != "ada" || !slices.Contains(node.Spec.Taints, want.Spec.Taints[0]) {
		return fmt.Errorf("what others put on node %s is lost: it has labels %v, annotations %v and taints %v", node.Name, node.Labels, node.Annotations, node.Spec.Taints)
	}
	return nil
}

// create creates a node as often as it takes, and notes when it was there.
func (j *joins) create(ctx context.Context, api client.Client, name string) error {
	for {
		err := api.Create(ctx, joining(name))
		if err == nil || apierrors.IsAlreadyExists(err) { // by an attempt whose answer was lost
			j.mu.Lock()
			defer j.mu.Unlock()
			j.created[name] = time.Now()
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("node %s does not get to join: %w", name, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// follow watches nodes at one API server until the context ends, and begins anew when that
// stops to answer.
func (j *joins) follow(ctx context.Context, api client.WithWatch) {
	o := &observer{turns: map[string]int{}, right: map[string]bool{}}
	for ctx.Err() == nil {
		if err := j.followOnce(ctx, api, o); err != nil && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// observer is what one API server has shown of nodes, by their names. It must never show
// less.
type observer struct {
	turns map[string]int
	right map[string]bool
}

func (j *joins) followOnce(ctx context.Context, api client.WithWatch, o *observer) error {
	var nodes corev1.NodeList
	if err := api.List(ctx, &nodes); err != nil {
		return err
	}
	for i := range nodes.Items {
		j.see(&nodes.Items[i], o)
	}
	events, err := api.Watch(ctx, &corev1.NodeList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: nodes.ResourceVersion}})
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		node, ok := event.Object.(*corev1.Node)
		if !ok {
			return errors.New("the watch has failed")
		}
		if event.Type != apiwatch.Deleted {
			j.see(node, o)
		}
	}
	return nil
}

// see notes what a node is like.
func (j *joins) see(node *corev1.Node, o *observer) {
	now := time.Now()
	j.mu.Lock()
	defer j.mu.Unlock()
	switch err := joined(node); {
	case err == nil:
		o.right[node.Name] = true
		if _, known := j.right[node.Name]; !known {
			j.right[node.Name] = now
		}
	case o.right[node.Name]:
		j.back = append(j.back, "what a node had of its pool is gone: "+err.Error())
	}
	turn, err := strconv.Atoi(node.Labels[turnLabel])
	if err != nil {
		return // it has none yet
	}
	if turn < o.turns[node.Name] {
		j.back = append(j.back, fmt.Sprintf("node %s has turn %d after %d", node.Name, turn, o.turns[node.Name]))
	}
	o.turns[node.Name] = turn
}

// turnLabel is a label that only ever grows.
const turnLabel = "example.com/turn"

// waits are how long nodes waited, or an error that names one that waits.
func (j *joins) waits(names []string) ([]time.Duration, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []time.Duration
	for _, name := range names {
		created, there := j.created[name]
		right, ended := j.right[name]
		if !there || !ended {
			return nil, fmt.Errorf("node %s waits", name)
		}
		all = append(all, max(right.Sub(created), 0))
	}
	return all, nil
}

package nodes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/loop"
)

// countingReader counts how often a node is read.
type countingReader struct {
	client.Reader
	nodes int
}

func (c *countingReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, node := object.(*corev1.Node); node {
		c.nodes++
	}
	return c.Reader.Get(ctx, key, object, options...)
}

// A node is read past the cache when its record is another one than what is remembered, and no more
// than once for that: a kubelet that writes its node in a loop costs no reads.
func TestAKubeletCausesNoReads(t *testing.T) {
	for name, change := range map[string]func(s *refusingServer, node *corev1.Node){
		"nothing has happened": func(*refusingServer, *corev1.Node) {},
		"the node is paused, and its record gone": func(_ *refusingServer, node *corev1.Node) {
			node.Annotations[v1.ReconcileAnnotation] = v1.Disabled
			delete(node.Annotations, v1.AppliedAnnotation)
		},
		"what was taken is refused": func(s *refusingServer, node *corev1.Node) {
			delete(node.Labels, "example.com/a")
			delete(node.Labels, v1.RoleLabel("p"))
			delete(node.Annotations, v1.AppliedAnnotation)
			s.refuses = func(patch string) bool { return strings.Contains(patch, "example.com/a") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serverWith(t, everywhere("p", 0, "example.com/a"))
			s.refuses = func(string) bool { return false }
			reader := &countingReader{Reader: s.WithWatch}
			s.r.live = reader
			edit := func(change func(*corev1.Node)) {
				node := s.node()
				change(node)
				if err := s.Update(s.Context(), node); err != nil {
					t.Fatal(err)
				}
			}
			pass := func() {
				if _, err := s.r.Reconcile(s.Context(), loop.RequestFor("n1")); err != nil && !apply.IsRefused(err) {
					t.Fatal(err)
				}
				s.now = s.now.Add(time.Minute)
			}
			s.until("example.com/a")
			edit(func(node *corev1.Node) { change(s, node) })
			for range 5 {
				pass()
			}
			reader.nodes = 0
			for i := range 20 {
				edit(func(node *corev1.Node) { node.Annotations["busy"] = fmt.Sprint(i) })
				pass()
			}
			if reader.nodes > 0 {
				t.Errorf("20 writes of a kubelet cause %d reads", reader.nodes)
			}
		})
	}
}

// A node of a cache that is behind is read past it.
func TestAnOlderNodeIsReadPastTheCache(t *testing.T) {
	s := serverWith(t, everywhere("p", 0, "example.com/a"))
	s.refuses = func(string) bool { return false }
	reader := &countingReader{Reader: s.WithWatch}
	s.r.live = reader
	s.until("example.com/a")
	if _, err := s.r.Reconcile(s.Context(), loop.RequestFor("n1")); err != nil || reader.nodes > 0 {
		t.Fatalf("at rest, it is read %d times: %v", reader.nodes, err)
	}
	node := s.node()
	delete(node.Annotations, v1.AppliedAnnotation)
	if err := s.Update(s.Context(), node); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.r.Reconcile(s.Context(), loop.RequestFor("n1")); err != nil {
			t.Fatal(err)
		}
	}
	if reader.nodes != 1 {
		t.Errorf("a node with another record is read past the cache %d times, want once", reader.nodes)
	}
}

package nodes

import (
	"context"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// laggingCache shows a node as it was.
type laggingCache struct {
	nodecache.Reader
	node *nodecache.Node // nil where it is not behind
}

func (c *laggingCache) Node(ctx context.Context, name string) (*nodecache.Node, error) {
	if c.node != nil {
		return c.node, nil
	}
	return c.Reader.Node(ctx, name)
}

// answeringPatcher answers each write with an error, if it has one.
type answeringPatcher struct {
	apply.NodePatcher
	err error
}

func (p *answeringPatcher) PatchNode(ctx context.Context, name string, patch plan.Patch) error {
	if p.err != nil {
		return p.err
	}
	return p.NodePatcher.PatchNode(ctx, name, patch)
}

var noNode = apierrors.NewNotFound(corev1.Resource("nodes"), "n1")

// absenceTest is an API server of which writes can be answered, and a cache that can be behind.
func absenceTest(t *testing.T, pools ...*v1.NodePool) (*refusingServer, *answeringPatcher, *laggingCache) {
	s := serverWith(t, pools...)
	patcher := &answeringPatcher{NodePatcher: s}
	s.r.applier = apply.New(s.WithWatch).PatchingNodes(patcher)
	cache := &laggingCache{Reader: s.r.cached}
	s.r.cached = cache
	return s, patcher, cache
}

func (s *refusingServer) problem(pool string) string {
	counts, _ := s.r.fleet.Counts(pool, 0)
	return counts.Problems["n1"]
}

// A node that the cache has is not gone because a write says so: the pass is repeated, at first
// without a word, and then as a failure that the pool reports.
func TestANodeThatTheCacheHasIsNotGone(t *testing.T) {
	s, patcher, _ := absenceTest(t, everywhere("p", 0, "example.com/a"))
	for range 2 {
		patcher.err = noNode
		for range AbsentTries {
			if _, err := s.r.Reconcile(t.Context(), loop.RequestFor("n1")); !loop.IsSoonOver(err) || s.problem("p") != "" {
				t.Fatalf("the cache may be behind; it ends in %v, and the pool reports %q", err, s.problem("p"))
			}
		}
		for range 2 {
			_, err := s.r.Reconcile(t.Context(), loop.RequestFor("n1"))
			if !apierrors.IsNotFound(err) || loop.IsSoonOver(err) || !strings.Contains(s.problem("p"), "could not be written: ") {
				t.Fatalf("it is a failure by now; it ends in %v, and the pool reports %q", err, s.problem("p"))
			}
		}
		patcher.err = nil
		s.until("example.com/a")
		if counted := len(s.r.absences.nodes); s.problem("p") != "" || counted > 0 {
			t.Errorf("it is written; the pool reports %q, and %d nodes count as absent", s.problem("p"), counted)
		}
		node := s.node()
		delete(node.Labels, "example.com/a")
		if err := s.Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
}

// A node that is deleted is forgotten when the cache does not have it any more. Until then its
// passes are repeated, and no pool reports anything.
func TestADeletedNodeIsForgottenWithTheCache(t *testing.T) {
	s, patcher, cache := absenceTest(t, everywhere("p", 0, "example.com/a"))
	s.until("example.com/a")
	node, err := s.r.cached.Node(t.Context(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	node.Labels = maps.Clone(node.Labels)
	delete(node.Labels, "example.com/a")
	cache.node, patcher.err = node, noNode
	if err := s.Delete(t.Context(), s.node()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.r.Reconcile(t.Context(), loop.RequestFor("n1")); !loop.IsSoonOver(err) || s.problem("p") != "" {
		t.Errorf("the cache is behind; it ends in %v, and the pool reports %q", err, s.problem("p"))
	}
	if s.r.fleet.Last("n1") == nil {
		t.Error("it is forgotten, and the cache has it")
	}
	cache.node = nil
	if _, err := s.r.Reconcile(t.Context(), loop.RequestFor("n1")); err != nil {
		t.Error(err)
	}
	if kept := s.r.Kept() + s.r.fleet.Kept()["nodes"]; kept > 0 {
		t.Errorf("%d entries are kept of a node that is gone", kept)
	}
}

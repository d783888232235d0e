package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// story is a cluster and a repository that something happens to.
type story struct {
	client.Client
	t          *testing.T
	c          *cluster.Cluster
	repository string
}

func newStory(t *testing.T, c *cluster.Cluster) *story {
	t.Helper()
	scheme, err := controller.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	s := &story{Client: api, t: t, c: c, repository: t.TempDir()}
	s.git("init", "--quiet", "--initial-branch=main")
	return s
}

func (s *story) git(args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", append([]string{"-C", s.repository,
		"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (s *story) commit(files map[string]string) {
	s.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s.do(os.WriteFile(filepath.Join(s.repository, name), []byte(files[name]), 0o600))
	}
	s.git("add", "--all")
	s.git("commit", "--quiet", "--message", "change")
}

func (s *story) remove(file string) {
	s.t.Helper()
	s.git("rm", "--quiet", file)
	s.git("commit", "--quiet", "--message", "remove "+file)
}

func (s *story) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) until(what string, check func() error) {
	s.t.Helper()
	cluster.Eventually(s.t, what, waitTimeout, check)
}

func (s *story) patch(object client.Object, patch string) {
	s.t.Helper()
	s.do(s.Patch(s.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func (s *story) pools() []*v1.NodePool {
	s.t.Helper()
	state, err := s.read()
	s.do(err)
	return slices.Collect(maps.Values(state.Pools))
}

func (s *story) node(name, pool string) {
	s.t.Helper()
	s.do(s.Create(s.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1.RoleLabel(pool): ""},
	}}))
}

func (s *story) labelled(node, key, value string) {
	s.t.Helper()
	s.until(fmt.Sprintf("node %s has label %s=%s", node, key, value), func() error {
		var live corev1.Node
		if err := s.Get(s.t.Context(), client.ObjectKey{Name: node}, &live); err != nil {
			return err
		}
		if live.Labels[key] != value {
			return fmt.Errorf("it has %v", live.Labels)
		}
		return nil
	})
}

// repeatDrift makes the same thing happen until the event of it is counted up
// instead of made again: patch events.
func (s *story) repeatDrift() {
	s.t.Helper()
	s.until("a repeated event was counted up", func() error {
		s.patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, `{"metadata":{"labels":{"pool":"drift"}}}`)
		s.labelled("n1", "pool", "a")
		return s.seen("patch", "events")
	})
}

// provokeConflict writes a node so often that the controller meets a conflict
// and has to read the node past its cache: get nodes.
func (s *story) provokeConflict() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"busy":"%d"},"labels":{"pool":"drift"}}}`, i)
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}
			if err := s.Patch(ctx, node, client.RawPatch("application/merge-patch+json", patch)); err != nil && ctx.Err() == nil {
				s.t.Errorf("busy writer: %v", err)
				return
			}
		}
	}()
	s.until("a conflict was met", func() error { return s.seen("get", "nodes") })
	cancel()
	<-ended
	s.labelled("n2", "pool", "b")
}

// readSecret has a source name a Secret: get secrets.
func (s *story) readSecret() {
	s.t.Helper()
	const url = "https://127.0.0.1:1/private"
	s.do(s.Create(s.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: manifests.DefaultNamespace, Name: "git", Annotations: map[string]string{v1.URLPrefixAnnotation: url}},
		Data:       map[string][]byte{"bearerToken": []byte("x")},
	}))
	private := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "private"}, Spec: v1.NodePoolSourceSpec{
		URL: url, SecretRef: &v1.SecretRef{Name: "git"}, Interval: metav1.Duration{Duration: time.Second},
	}}
	s.do(s.Create(s.t.Context(), private))
	s.until("the Secret was read", func() error { return s.seen("get", "secrets") })
	s.do(s.Delete(s.t.Context(), private))
}

// seen reports whether the controller has made such a request.
func (s *story) seen(verb, resource string) error {
	requests, err := s.c.Audit(0)
	if err != nil {
		return err
	}
	for _, request := range requests {
		if request.Verb == verb && request.Object.Resource == resource && strings.HasSuffix(request.User, ":"+manifests.Name) {
			return nil
		}
	}
	return fmt.Errorf("no %s %s yet", verb, resource)
}

func poolFile(name, handler string) string {
	return fmt.Sprintf(`apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: %s
spec:
  labels:
    pool: %[1]s
  taints:
  - key: pool
    value: %[1]s
    effect: NoSchedule
  handler: %s
`, name, handler)
}

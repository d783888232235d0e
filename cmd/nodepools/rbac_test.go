package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// patience bounds every wait for the cluster; nothing is asserted about time.
const patience = 60 * time.Second

// TestShippedRightsAreJustEnough runs the controller as the service account that
// install ships, through all that it ever does. The audit log of the API server
// then says which rights it used: one that was refused is missing, one that was
// not used is superfluous.
func TestShippedRightsAreJustEnough(t *testing.T) {
	c := cluster.New(t, cluster.Options{Audit: true})
	install(t, c)
	_, kubeconfig, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	if err != nil {
		t.Fatal(err)
	}
	startRun(t, kubeconfig, "--leader-elect", "--leader-election-namespace", manifests.DefaultNamespace)
	liveThroughEverything(t, c)

	user := "system:serviceaccount:" + manifests.DefaultNamespace + ":" + manifests.Name
	requests, err := c.Audit(0)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, request := range requests {
		if request.User != user {
			continue
		}
		if request.Code == 403 {
			t.Errorf("refused, so a rule is missing: %s", request)
		}
		used[right(request.Verb, request.Object.Group, request.Object.Resource, request.Object.Subresource)] = true
	}
	for shipped := range rights(append(manifests.ClusterRules(), manifests.NamespaceRules()...)) {
		if !used[shipped] && !usedUnseen(shipped, used) {
			t.Errorf("never used, so it is superfluous: %s", shipped)
		}
	}
}

// usedUnseen tells of the rights that are needed where the audit log does not
// show it.
func usedUnseen(right string, used map[string]bool) bool {
	if object, isList := strings.CutPrefix(right, "list "); isList {
		// A watch streams the list as well where the API server can do that;
		// older ones, and one that is told not to, are asked for a list.
		return used["watch "+object]
	}
	// The admission policy asks for it, and no request is made with it: see
	// TestWhoMayWriteOurDomain, where the same rights without it do not do.
	if right == "write nodemetadata."+v1.GroupVersion.Group {
		return true
	}
	// So does the other one: see TestWhoMayWriteAStatus.
	if strings.HasPrefix(right, manifests.StatusVerb+" ") && strings.HasSuffix(right, "/status."+v1.GroupVersion.Group) {
		return true
	}
	// To apply what is not there yet takes both rights, of which the log shows
	// the one: see TestApplyOfANewPoolTakesTheRightToCreate.
	return right == "create nodepools."+v1.GroupVersion.Group
}

func TestApplyOfANewPoolTakesTheRightToCreate(t *testing.T) {
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: only-patches-pools}
rules:
- {apiGroups: [nodes.lailin.xyz], resources: [nodepools], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: only-patches-pools}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: only-patches-pools}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: only-patches-pools}
`
	if out, err := c.Apply(t.Context(), role); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config, err := c.AddUser("only-patches-pools")
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := controller.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme, Mapper: knownKinds()})
	if err != nil {
		t.Fatal(err)
	}
	pool := &unstructured.Unstructured{}
	pool.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.NodePoolKind))
	pool.SetName("new")
	// Until the API server knows the role, the right to patch is missing.
	cluster.Eventually(t, "the right to create is missing", time.Minute, func() error {
		err := api.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(pool), client.FieldOwner("test"))
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "create") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

func right(verb, group, resource, subresource string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	return fmt.Sprintf("%s %s.%s", verb, resource, group)
}

func rights(rules []rbacv1.PolicyRule) map[string]bool {
	all := map[string]bool{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all[right(verb, group, resource, "")] = true
				}
			}
		}
	}
	return all
}

// install applies what the install command prints, as an administrator would.
func install(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), "nodepools", "install").Output()
	if err != nil {
		t.Fatalf("nodepools install: %v", err)
	}
	if out, err := c.Apply(t.Context(), string(printed)); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

// startRun runs the controller as a process of its own until the test ends.
func startRun(t *testing.T, kubeconfig string, args ...string) {
	t.Helper()
	cmd := exec.Command("nodepools", append([]string{"run", "--kubeconfig", kubeconfig,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0"}, args...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop the controller: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("controller: %v", err)
		}
		if t.Failed() {
			t.Logf("log of the controller:\n%s", log.String())
		}
	})
}

// liveThroughEverything makes the controller use each of its rights: a source
// with pools that come, change and go, nodes, drift, and writers in between.
func liveThroughEverything(t *testing.T, c *cluster.Cluster) {
	s := newStory(t, c)
	s.node("n1", "a")
	s.node("n2", "b")
	s.commit(map[string]string{"a.yaml": poolFile("a", "runc"), "b.yaml": poolFile("b", "runc"), "c.yaml": poolFile("c", "runc"), "d.yaml": poolFile("d", "runc")})
	s.do(s.Create(t.Context(), &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "pools"},
		Spec:       v1.NodePoolSourceSpec{URL: "file://" + s.repository, Interval: metav1.Duration{Duration: time.Second}},
	}))
	s.labelled("n1", "pool", "a")
	s.labelled("n2", "pool", "b")

	// Before many pools are written, what may refuse one of them is read.
	many := map[string]string{}
	for i := range 16 {
		name := fmt.Sprintf("many-%02d", i)
		many[name+".yaml"] = poolFile(name, "runc")
	}
	s.commit(many)
	s.until("many pools are there", func() error {
		var pools v1.NodePoolList
		if err := s.List(s.t.Context(), &pools); err != nil || len(pools.Items) >= len(many) {
			return err
		}
		return fmt.Errorf("there are %d", len(pools.Items))
	})

	// A new handler replaces the RuntimeClass: delete.
	s.commit(map[string]string{"a.yaml": poolFile("a", "gvisor")})
	s.until("the RuntimeClass of a is replaced", func() error {
		var class nodev1.RuntimeClass
		if err := s.Get(t.Context(), client.ObjectKey{Name: v1.RuntimeClassName("a")}, &class); err != nil {
			return err
		}
		if class.Handler != "gvisor" {
			return fmt.Errorf("its handler is %s", class.Handler)
		}
		return nil
	})
	// What an apply would leave in a pool needs an update; in a RuntimeClass it
	// is replaced by the apply: patch.
	s.patch(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, `{"spec":{"labels":{"by-hand":"x"}}}`)
	s.patch(&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName("b")}}, `{"scheduling":{"nodeSelector":{"by-hand":"x"}}}`)
	s.until("both are put back", func() error {
		var pool v1.NodePool
		var class nodev1.RuntimeClass
		if err := s.Get(t.Context(), client.ObjectKey{Name: "b"}, &pool); err != nil {
			return err
		}
		if err := s.Get(t.Context(), client.ObjectKey{Name: v1.RuntimeClassName("b")}, &class); err != nil {
			return err
		}
		if len(pool.Spec.Labels) != 1 || len(class.Scheduling.NodeSelector) != 2 {
			return fmt.Errorf("pool has %v, RuntimeClass %v", pool.Spec.Labels, class.Scheduling.NodeSelector)
		}
		return nil
	})
	// A pool that goes: delete, and the finalizer.
	s.remove("d.yaml")
	s.until("pool d is gone", func() error {
		if err := s.Get(t.Context(), client.ObjectKey{Name: "d"}, &v1.NodePool{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	s.repeatDrift()
	s.provokeConflict()
	s.deleteTheSource()
}

// deleteTheSource makes the pools go with their source: the finalizer of the
// source is a patch.
func (s *story) deleteTheSource() {
	s.t.Helper()
	src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "pools"}}
	s.patch(src, `{"spec":{"deletionPolicy":"Delete"}}`)
	s.until("the source has its finalizer", func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(src), src); err != nil || len(src.Finalizers) == 1 {
			return err
		}
		return fmt.Errorf("it has %v", src.Finalizers)
	})
	s.do(s.Delete(s.t.Context(), src))
	s.until("the source and its pools are gone", func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(src), src); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the source is there: %w", err)
		}
		var pools v1.NodePoolList
		if err := s.List(s.t.Context(), &pools); err != nil || len(pools.Items) == 0 {
			return err
		}
		return fmt.Errorf("%d pools are there", len(pools.Items))
	})
}

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
	cluster.Eventually(s.t, what, patience, check)
}

func (s *story) patch(object client.Object, patch string) {
	s.t.Helper()
	s.do(s.Patch(s.t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))))
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

// seen tells whether the controller has made such a request.
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

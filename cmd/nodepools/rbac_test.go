package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// waitTimeout bounds every wait for the cluster; nothing is asserted about time.
const waitTimeout = 60 * time.Second

// TestShippedRightsAreJustEnough runs the controller as the service account that
// install ships without any option, through all that it ever does. The audit log of the
// API server then says which rights it used: one that was refused is missing, one that was
// not used is superfluous. The rights of options are in TestRolloutRightsAreJustEnough,
// TestMetricsOverTLS and TestEveryReplicaReceivesWebhooks.
func TestShippedRightsAreJustEnough(t *testing.T) {
	c := cluster.New(t, cluster.Options{Audit: true})
	install(t, c, "--metrics", "none") // which the default adds rights to
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
	// An API server that does not have the kind is not asked for any.
	noMutations, err := c.Before(1, 36)
	if err != nil {
		t.Fatal(err)
	}
	if noMutations {
		used["list mutatingadmissionpolicies.admissionregistration.k8s.io"] = true
	}
	for shipped := range rights(append(manifests.ClusterRules(), manifests.NamespaceRules()...)) {
		if !used[shipped] && !usedUnseen(shipped, used) {
			t.Errorf("never used, so it is superfluous: %s", shipped)
		}
	}
}

// The controller may get a Secret of its namespace, and there neither list nor watch
// nor change any; and elsewhere it may do nothing with Secrets.
func TestSecretsOfOneNamespace(t *testing.T) {
	c := cluster.New(t, cluster.Options{})
	install(t, c)
	_, kubeconfig, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{manifests.DefaultNamespace, "default", "kube-system"} {
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "delete"} {
			may, _ := c.Kubectl(t.Context(), "--kubeconfig", kubeconfig, "auth", "can-i", verb, "secrets", "-n", namespace) // the exit code is 1 for no
			want := "no"
			if verb == "get" && namespace == manifests.DefaultNamespace {
				want = "yes"
			}
			if strings.TrimSpace(may) != want {
				t.Errorf("may %s Secrets in %s: %s, want %s", verb, namespace, may, want)
			}
		}
	}
}

// usedUnseen reports the rights that are needed where the audit log does not
// show it.
func usedUnseen(right string, used map[string]bool) bool {
	if object, isList := strings.CutPrefix(right, "list "); isList {
		// A watch streams the list as well where the API server can do that;
		// older ones, and one that is configured not to, are asked for a list.
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
	api, err := client.New(config, client.Options{Scheme: scheme, Mapper: observe.Mapper()})
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
func install(t *testing.T, c *cluster.Cluster, args ...string) {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), "nodepools", append([]string{"install"}, args...)...).Output()
	if err != nil {
		t.Fatalf("nodepools install: %v", err)
	}
	if out, err := c.Apply(t.Context(), string(printed)); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

// startRun runs the controller as a process of its own, until it is stopped or the test
// ends.
func startRun(t *testing.T, kubeconfig string, args ...string) (stop func()) {
	t.Helper()
	cmd := exec.Command("nodepools", append([]string{"run", "--kubeconfig", kubeconfig,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0"}, args...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop the controller: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("controller: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("log of the controller:\n%s", log.String())
		}
	})
	return stop
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
	s.readSecret()
	s.deleteTheSource()
}

// deleteTheSource makes the pools go with their source: the finalizer of the
// source is a patch.
func (s *story) deleteTheSource() {
	s.t.Helper()
	src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "pools"}}
	s.patch(src, `{"metadata":{"annotations":{"nodes.lailin.xyz/approveRelease":"deletion"}},"spec":{"deletionPolicy":"Delete"}}`)
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

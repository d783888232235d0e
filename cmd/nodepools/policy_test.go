package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// policyTest is a cluster without nodes, in which the policy can be installed.
type policyTest struct {
	kubernetes.Interface
	t     *testing.T
	c     *cluster.Cluster
	users int
}

func newPolicyTest(t *testing.T) *policyTest {
	t.Helper()
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	// A script has installed all there is.
	if _, err := c.Kubectl(t.Context(), "delete", "--ignore-not-found", "validatingadmissionpolicybinding,validatingadmissionpolicy", appName, statusPolicyName); err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &policyTest{Interface: api, t: t, c: c}
}

func (p *policyTest) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// install creates the policy and waits until it is enforced: an API server takes
// it up a moment after it was created. It is deleted when the test ends.
func (p *policyTest) install() {
	p.t.Helper()
	manifests, err := marshalObjects("yaml", nodeMetadataPolicy()...)
	p.do(err)
	if out, err := p.c.Apply(p.t.Context(), string(manifests)); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	p.t.Cleanup(func() {
		ctx := context.Background()
		admission := p.AdmissionregistrationV1()
		if err := admission.ValidatingAdmissionPolicyBindings().Delete(ctx, appName, metav1.DeleteOptions{}); err != nil {
			p.t.Error(err)
		}
		if err := admission.ValidatingAdmissionPolicies().Delete(ctx, appName, metav1.DeleteOptions{}); err != nil {
			p.t.Error(err)
		}
	})
	cluster.Eventually(p.t, "the policy is enforced", patience, func() error {
		if err := p.forge(); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a forged record: %w", err)
		}
		return nil
	})
}

// uninstalled waits until the policy of an earlier test is no longer enforced.
func (p *policyTest) uninstalled() {
	p.t.Helper()
	cluster.Eventually(p.t, "no policy is enforced", patience, p.forge)
}

// forge is a dry run of what the policy is to refuse.
func (p *policyTest) forge() error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "not-there", Annotations: map[string]string{v1.AppliedAnnotation: "{}"}}}
	_, err := kubeletOf(p.t, p.c, node.Name).CoreV1().Nodes().Create(p.t.Context(), node, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// node makes one with labels and annotations that the controller has applied, so
// that an apply in its name could take them away.
func (p *policyTest) node(name string, labels, annotations map[string]string) {
	p.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := p.CoreV1().Nodes().Create(p.t.Context(), node, metav1.CreateOptions{})
	p.do(err)
	node.Labels, node.Annotations = labels, annotations
	body, err := metadataOnly(nil, node)
	p.do(err)
	_, err = p.CoreV1().Nodes().Patch(p.t.Context(), name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: v1.FieldManager})
	p.do(err)
}

func (p *policyTest) get(name string) *corev1.Node {
	p.t.Helper()
	node, err := p.CoreV1().Nodes().Get(p.t.Context(), name, metav1.GetOptions{})
	p.do(err)
	return node
}

// patch merges metadata into a node, {"labels":{"a":"b"}}, as somebody.
func (p *policyTest) patch(as kubernetes.Interface, name string, metadata map[string]any) error {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	p.do(err)
	_, err = as.CoreV1().Nodes().Patch(p.t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// userWith makes a user with these rights and returns the name.
func (p *policyTest) userWith(t *testing.T, rules []rbacv1.PolicyRule) string {
	t.Helper()
	p.users++
	name := fmt.Sprintf("policy-test-%d", p.users)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	api := p.RbacV1()
	_, err := api.ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	p.do(err)
	_, err = api.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	p.do(err)
	t.Cleanup(func() {
		ctx := context.Background()
		if err := api.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := api.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	// The authorizer sees a role a moment after it was created.
	user := userOf(t, p.c, name)
	cluster.Eventually(t, "the role is in force", patience, func() error {
		_, err := user.CoreV1().Nodes().Patch(t.Context(), "n1", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
	return name
}

// Package policies puts the admission policies of an installation in force on a test
// control plane, and writes there as kubelets and other users do. Start with [New].
package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// waitTimeout bounds every wait for the cluster; nothing is asserted about time.
const waitTimeout = 60 * time.Second

// Test is a cluster in which the policies can be installed, as its administrator.
type Test struct {
	kubernetes.Interface
	Cluster *cluster.Cluster

	t     *testing.T
	users int
}

// New removes the policies from a cluster, where an earlier test has left them.
func New(t *testing.T, c *cluster.Cluster) *Test {
	t.Helper()
	if _, err := c.Kubectl(t.Context(), "delete", "--ignore-not-found", "validatingadmissionpolicybinding,validatingadmissionpolicy", manifests.Name, manifests.StatusPolicyName); err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &Test{Interface: api, Cluster: c, t: t}
}

// Do ends the test when something fails that it needs.
func (p *Test) Do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// Apply applies objects as the administrator.
func (p *Test) Apply(objects []manifests.Object) {
	p.t.Helper()
	var text strings.Builder
	for _, object := range objects {
		text.WriteString("---\n")
		p.Do(render.WriteYAML(&text, object))
	}
	if out, err := p.Cluster.Apply(p.t.Context(), text.String()); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
}

// Install creates the policy for nodes and waits until it is enforced: an API server takes
// it up a moment after it was created. It is deleted when the test ends.
func (p *Test) Install() {
	p.t.Helper()
	p.Apply(manifests.NodePolicy())
	p.t.Cleanup(func() {
		ctx := context.Background()
		admission := p.AdmissionregistrationV1()
		if err := admission.ValidatingAdmissionPolicyBindings().Delete(ctx, manifests.Name, metav1.DeleteOptions{}); err != nil {
			p.t.Error(err)
		}
		if err := admission.ValidatingAdmissionPolicies().Delete(ctx, manifests.Name, metav1.DeleteOptions{}); err != nil {
			p.t.Error(err)
		}
	})
	cluster.Eventually(p.t, "the policy is enforced", waitTimeout, func() error {
		if err := p.forge(); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a forged record: %w", err)
		}
		return nil
	})
}

// Uninstalled waits until the policy for nodes of an earlier test is no longer enforced.
func (p *Test) Uninstalled() {
	p.t.Helper()
	cluster.Eventually(p.t, "no policy is enforced", waitTimeout, p.forge)
}

// forge is a dry run of what the policy is to refuse.
func (p *Test) forge() error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "not-there", Annotations: map[string]string{v1.AppliedAnnotation: "{}"}}}
	_, err := KubeletOf(p.t, p.Cluster, node.Name).CoreV1().Nodes().Create(p.t.Context(), node, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// Node makes one with labels and annotations that the controller has applied, so
// that an apply in its name could take them away.
func (p *Test) Node(name string, labels, annotations map[string]string) {
	p.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := p.CoreV1().Nodes().Create(p.t.Context(), node, metav1.CreateOptions{})
	p.Do(err)
	node.Labels, node.Annotations = labels, annotations
	body, err := MetadataOnly(nil, node)
	p.Do(err)
	_, err = p.CoreV1().Nodes().Patch(p.t.Context(), name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: v1.FieldManager})
	p.Do(err)
}

// Get reads a node.
func (p *Test) Get(name string) *corev1.Node {
	p.t.Helper()
	node, err := p.CoreV1().Nodes().Get(p.t.Context(), name, metav1.GetOptions{})
	p.Do(err)
	return node
}

// Patch merges metadata into a node, {"labels":{"a":"b"}}, as somebody.
func (p *Test) Patch(as kubernetes.Interface, name string, metadata map[string]any) error {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	p.Do(err)
	_, err = as.CoreV1().Nodes().Patch(p.t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// UserWith makes a user with these rights and returns the name.
func (p *Test) UserWith(t *testing.T, rules []rbacv1.PolicyRule) string {
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
	p.Do(err)
	_, err = api.ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	p.Do(err)
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
	user := UserOf(t, p.Cluster, name)
	cluster.Eventually(t, "the role is in force", waitTimeout, func() error {
		_, err := user.CoreV1().Nodes().Patch(t.Context(), "n1", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
	return name
}

package policies

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// KubeletOf is a client with the identity of a node: the node authorizer and
// NodeRestriction hold it to what kubelets may do.
func KubeletOf(t *testing.T, c *cluster.Cluster, node string) kubernetes.Interface {
	t.Helper()
	return UserOf(t, c, "system:node:"+node, "system:nodes")
}

// UserOf returns a client with the identity of a user.
func UserOf(t *testing.T, c *cluster.Cluster, name string, groups ...string) kubernetes.Interface {
	t.Helper()
	config, err := c.AddUser(name, groups...)
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// Refused holds a refusal to what it must say: that it is ours, what
// it is about, and who may.
func Refused(t *testing.T, err error, says string) {
	t.Helper()
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want a refusal", err)
		return
	}
	for _, text := range []string{"ValidatingAdmissionPolicy '" + manifests.Name + "'", says, "the right to write nodemetadata.nodes.lailin.xyz"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the refusal does not say %q: %v", text, err)
		}
	}
}

// Record is metadata with a record.
func Record(text string) map[string]any {
	return map[string]any{"annotations": map[string]any{v1.AppliedAnnotation: text}}
}

// MetadataOnly is the node as somebody applies it who cares for nothing else.
func MetadataOnly(_, changed *corev1.Node) ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Node",
		"metadata": map[string]any{"name": changed.Name, "labels": changed.Labels, "annotations": changed.Annotations},
	})
}

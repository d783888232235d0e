package render

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// objects are of the kinds that the commands print.
func objects() []any {
	replicas := int32(2)
	return []any{
		&nodev1.RuntimeClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"},
			ObjectMeta: metav1.ObjectMeta{Name: "node-pool-master"},
			Handler:    "runc",
			Scheduling: &nodev1.Scheduling{
				NodeSelector: map[string]string{"node-pool.lailin.xyz/test": "2", "node-pool.lailin.xyz/master": "8"},
				Tolerations:  []corev1.Toleration{{Key: "node-pool.lailin.xyz", Operator: corev1.TolerationOpEqual, Value: "master", Effect: corev1.TaintEffectNoSchedule}},
			},
		},
		&v1.NodePool{
			TypeMeta:   metav1.TypeMeta{APIVersion: "nodes.lailin.xyz/v1", Kind: "NodePool"},
			ObjectMeta: metav1.ObjectMeta{Name: "master", Labels: map[string]string{"team": "on"}},
			Spec: v1.NodePoolSpec{
				Parent:      "all",
				Priority:    5,
				Selector:    &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{{Key: "arch", Operator: "In", Values: []string{"amd64", "0x1"}}}},
				Labels:      map[string]v1.LabelValue{"a": "8", "b": "yes", "c": "", "d": "1:30", "e": "2024-01-01", "f": "null", "g": "plain"},
				Annotations: map[string]v1.AnnotationValue{"example.com/script": "one\n  two\n", "example.com/no-end": "one\ntwo", "example.com/colon": "a: b #c"},
				Taints:      []v1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}},
			},
		},
		&v1.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: "nodes.lailin.xyz/v1", Kind: "NodePool"}, ObjectMeta: metav1.ObjectMeta{Name: "empty"}},
		&appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Name: "nodepools", Namespace: "nodepools-system"},
			Spec: appsv1.DeploymentSpec{
				Replicas: &replicas,
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nodepools"}},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "nodepools"}},
					Spec: corev1.PodSpec{
						ServiceAccountName: "nodepools",
						Containers: []corev1.Container{{
							Name: "nodepools", Image: "nodepools:v1", Args: []string{"run", "--port=8080"},
							Env:          []corev1.EnvVar{{Name: "GOGC", Value: "50"}},
							VolumeMounts: []corev1.VolumeMount{{Name: "cache", MountPath: "/cache"}},
						}},
						Volumes: []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
					},
				},
			},
		},
		&apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
			ObjectMeta: metav1.ObjectMeta{Name: "nodepools.nodes.lailin.xyz"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "nodes.lailin.xyz",
				Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "NodePool", Plural: "nodepools"},
				Scope: apiextensionsv1.ClusterScoped,
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: "v1", Served: true, Storage: true,
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Description: "first line\nsecond line",
						Type:        "object",
						Properties:  map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object"}, "metadata": {Type: "object"}},
					}},
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				}},
			},
		},
		&unstructured.Unstructured{Object: map[string]any{"kind": "Node", "apiVersion": "v1", "metadata": map[string]any{"name": "n", "creationTimestamp": nil}, "status": map[string]any{"phase": "Running"}}},
		map[string]any{"kind": "Any", "apiVersion": "v1", "large": int64(12345678901), "fraction": 0.5, "on": true, "list": []any{nil, map[string]any{}, "no"}},
	}
}

func TestWriteYAML(t *testing.T) {
	var text bytes.Buffer
	if err := WriteYAML(&text, objects()...); err != nil {
		t.Fatal(err)
	}
	golden(t, "print.golden", text.String())
	for range 10 {
		var again bytes.Buffer
		if err := WriteYAML(&again, objects()...); err != nil || again.String() != text.String() {
			t.Fatalf("not the same bytes again: %v\n%s", err, again.String())
		}
	}
}

// The parser of kubectl reads back what was printed.
func TestWriteYAMLLosesNothing(t *testing.T) {
	definitions := []*apiextensionsv1.CustomResourceDefinition{}
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range append(definitions, all...) {
		var text bytes.Buffer
		if err := WriteYAML(&text, crd); err != nil {
			t.Fatal(err)
		}
		read := &apiextensionsv1.CustomResourceDefinition{}
		if err := sigsyaml.UnmarshalStrict(text.Bytes(), read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(crd, read); diff != "" {
			t.Errorf("%s (-given +printed):\n%s", crd.Name, diff)
		}
	}
	values := []string{"", " ", "a ", " a", "\n", "a\n", "a\n\n", "\na", "  a\nb\n", "a\n b", "a\tb\nc", "\t", "a: b", "- a", "#", "&a", "*a", "!a", "%", "@", "|", "null", "~", "yes", "y", "on", "8", "08", "0o7", "1_000", "1e3", ".inf", "1:30", "2024-01-01", "<<", "=", "é", "\u2028", "\x01", "a\r\nb", strings.Repeat("long ", 100)}
	for _, value := range values {
		given := map[string]any{"value": value, value: "key"}
		var text bytes.Buffer
		if err := WriteYAML(&text, given); err != nil {
			t.Errorf("%q: %v", value, err)
			continue
		}
		read := map[string]any{}
		if err := sigsyaml.UnmarshalStrict(text.Bytes(), &read); err != nil {
			t.Errorf("%q: %v\n%s", value, err, text.String())
			continue
		}
		if diff := cmp.Diff(given, read); diff != "" {
			t.Errorf("%q is printed as\n%s(-given +printed):\n%s", value, text.String(), diff)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteYAMLErrors(t *testing.T) {
	if err := WriteYAML(brokenWriter{}, map[string]any{"a": "b"}); !errors.Is(err, errBroken) {
		t.Errorf("the writer's error is lost: %v", err)
	}
	for name, object := range map[string]any{"a channel is no JSON": map[string]any{"a": make(chan int)}, "a list is no object": []string{"a"}, "nothing is no object": nil} {
		if err := WriteYAML(&bytes.Buffer{}, object); err == nil {
			t.Errorf("%s, and there is no error", name)
		}
	}
}

package examples

import (
	"bytes"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// The fields by which Flux and Argo CD wait, and which a slip would leave out
// without an error. What the health checks answer is tested beside the controller.
func TestDelivery(t *testing.T) {
	flux := delivered(t, "flux.yaml")
	kustomizations := map[string]*unstructured.Unstructured{}
	for _, object := range flux {
		if object.GetKind() == "Kustomization" {
			kustomizations[object.GetName()] = object
		}
	}
	pools := kustomizations["node-pools"]
	if wait, _, _ := unstructured.NestedBool(pools.Object, "spec", "wait"); !wait {
		t.Error("Flux does not wait for the pools")
	}
	for name, kustomization := range kustomizations {
		depends, _, _ := unstructured.NestedSlice(kustomization.Object, "spec", "dependsOn")
		for _, on := range depends {
			if on := on.(map[string]any)["name"].(string); kustomizations[on] == nil {
				t.Errorf("%s depends on %s, which is not there", name, on)
			}
		}
	}
	checks, _, err := unstructured.NestedSlice(kustomizations["payments"].Object, "spec", "healthChecks")
	if err != nil || len(checks) != 1 {
		t.Fatalf("health checks %v, %v", checks, err)
	}
	check := checks[0].(map[string]any)
	if check["apiVersion"] != v1.GroupVersion.String() || check["kind"] != v1.NodePoolKind {
		t.Errorf("the health check is of %v %v", check["apiVersion"], check["kind"])
	}

	argo := delivered(t, "argocd.yaml")
	var config corev1.ConfigMap
	if text, err := yaml.Marshal(argo[0].Object); err != nil || yaml.UnmarshalStrict(text, &config) != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{v1.NodePoolKind, v1.NodePoolSourceKind} {
		if config.Data["resource.customizations.health."+v1.GroupVersion.Group+"_"+kind] == "" {
			t.Errorf("Argo CD has no health check of %s", kind)
		}
	}
	options, _, err := unstructured.NestedStringSlice(argo[1].Object, "spec", "syncPolicy", "syncOptions")
	if err != nil || !slices.Contains(options, "ServerSideApply=true") {
		t.Errorf("sync options %v, %v", options, err)
	}
}

// delivered reads the objects of a file.
func delivered(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile("delivery/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, text := range bytes.Split(data, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(text, &object.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if object.GetName() == "" || object.GetKind() == "" || object.GetAPIVersion() == "" {
			t.Errorf("%s: an object without name, kind or apiVersion: %v", file, object.Object)
		}
		objects = append(objects, object)
	}
	return objects
}

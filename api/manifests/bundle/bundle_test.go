package bundle

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/testdata/charts"
	"github.com/nodepools/nodepools/testdata/cluster"
)

const image = "registry.example.com/nodepools:v1.2.3"

func made(t *testing.T) map[string][]byte {
	t.Helper()
	return madeWith(t, Options{Version: "v1.2.3", Image: image})
}

func madeWith(t *testing.T, options Options) map[string][]byte {
	t.Helper()
	files, err := Files(options)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func installed(t *testing.T) []manifests.Object {
	t.Helper()
	return installedWith(t, false)
}

func installedWith(t *testing.T, rollout bool) []manifests.Object {
	t.Helper()
	objects, err := manifests.All(manifests.Options{Namespace: manifests.DefaultNamespace, Image: image, Rollout: rollout})
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func readServiceVersion(t *testing.T) (read clusterServiceVersion) {
	t.Helper()
	if err := yaml.UnmarshalStrict(made(t)[serviceVersionFile], &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// The controller has the rights that install gives it, and no others: those of each role
// that is bound to its account, in the namespace or in the cluster.
func TestRightsAreThoseOfInstall(t *testing.T) {
	plain := rightsAreThoseOfInstall(t, false)
	if drains := rightsAreThoseOfInstall(t, true); drains <= plain {
		t.Errorf("%d rules in the cluster, and with those to drain nodes %d", plain, drains)
	}
}

// rightsAreThoseOfInstall returns how many rules there are in the cluster.
func rightsAreThoseOfInstall(t *testing.T, rollout bool) int {
	t.Helper()
	objects := installedWith(t, rollout)
	rules := map[string][]rbacv1.PolicyRule{}
	var inCluster, inNamespace []rbacv1.PolicyRule
	for _, object := range objects {
		switch o := object.(type) {
		case *rbacv1.ClusterRole:
			rules["ClusterRole "+o.Name] = o.Rules
		case *rbacv1.Role:
			rules["Role "+o.Name] = o.Rules
		}
	}
	for _, object := range objects {
		switch o := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			inCluster = append(inCluster, rules[o.RoleRef.Kind+" "+o.RoleRef.Name]...)
		case *rbacv1.RoleBinding:
			inNamespace = append(inNamespace, rules[o.RoleRef.Kind+" "+o.RoleRef.Name]...)
		}
	}
	if len(inCluster) < 5 || len(inNamespace) == 0 {
		t.Fatalf("%d and %d rules were found: the test does not find what there is", len(inCluster), len(inNamespace))
	}
	var service clusterServiceVersion
	if err := yaml.UnmarshalStrict(madeWith(t, Options{Version: "v1.2.3", Image: image, Rollout: rollout})[serviceVersionFile], &service); err != nil {
		t.Fatal(err)
	}
	got := service.Spec.Install.Spec
	if diff := cmp.Diff([]permissions{{manifests.Name, inCluster}}, got.ClusterPermissions); diff != "" {
		t.Errorf("in the cluster (-install +bundle):\n%s", diff)
	}
	if diff := cmp.Diff([]permissions{{manifests.Name, inNamespace}}, got.Permissions); diff != "" {
		t.Errorf("in the namespace (-install +bundle):\n%s", diff)
	}
	// OLM makes a ClusterRole of the Role where all namespaces are allowed.
	for _, mode := range service.Spec.InstallModes {
		if mode.Supported != (mode.Type == "OwnNamespace") {
			t.Errorf("the mode %s is allowed: %t", mode.Type, mode.Supported)
		}
	}
	return len(inCluster)
}

// The Deployment is that of install, field for field.
func TestDeploymentIsThatOfInstall(t *testing.T) {
	want := manifests.Deployment(manifests.Options{Namespace: manifests.DefaultNamespace, Image: image})
	got := readServiceVersion(t).Spec.Install.Spec.Deployments
	if len(got) != 1 {
		t.Fatalf("there are %d Deployments", len(got))
	}
	as := func(spec appsv1.DeploymentSpec) any {
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var fields any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	if diff := cmp.Diff(as(want.Spec), as(got[0].Spec)); diff != "" {
		t.Errorf("-install +bundle:\n%s", diff)
	}
	if got[0].Name != want.Name || !maps.Equal(got[0].Label, want.Labels) {
		t.Errorf("it is %s, with %v", got[0].Name, got[0].Label)
	}
}

// Each object of install is in one place: what OLM does not make is a file, and what it
// does not take is applied before.
func TestEveryObjectHasAPlace(t *testing.T) {
	var got []string
	for path, text := range made(t) {
		if path == serviceVersionFile || strings.HasPrefix(path, "metadata/") {
			continue
		}
		for key := range charts.Objects(t, string(text)) {
			got = append(got, filepath.Dir(path)+" "+key)
		}
	}
	slices.Sort(got)
	want := []string{
		". Namespace nodepools-system",
		". ResourceQuota nodepools",
		". ValidatingAdmissionPolicy nodepools",
		". ValidatingAdmissionPolicy nodepools-status",
		". ValidatingAdmissionPolicyBinding nodepools",
		". ValidatingAdmissionPolicyBinding nodepools-status",
		"manifests ClusterRole nodepools-metrics-reader",
		"manifests CustomResourceDefinition nodepools.nodes.lailin.xyz",
		"manifests CustomResourceDefinition nodepoolsources.nodes.lailin.xyz",
		"manifests Service nodepools-metrics",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Made by OLM: the Deployment, the account, its three roles and their bindings.
	if rest := len(installed(t)) - len(want); rest != 8 {
		t.Errorf("OLM is to make %d objects, want 8", rest)
	}
}

func TestVersionsAndImages(t *testing.T) {
	for _, version := range []string{"", "v1", "1.2.3", "v1.2", "v01.2.3", "a0ea991-dirty", "v1.2.3+x", "v1.2.3\nx: y"} {
		if _, err := Files(Options{Version: version, Image: image}); err == nil {
			t.Errorf("the version %q is taken", version)
		}
	}
	if _, err := Files(Options{Version: "v1.2.3-rc.1", Image: image}); err != nil {
		t.Error(err)
	}
	if _, err := Files(Options{Version: "v1.2.3", Image: "no image"}); err == nil {
		t.Error("the image \"no image\" is taken")
	}
}

// A real API server with the published definition of ClusterServiceVersions takes each file
// of the bundle, and knows every field of it.
func TestAPIServerTakesTheBundle(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane; run without -short")
	}
	c := cluster.New(t, cluster.Options{CRDPaths: []string{schema(t)}})
	dir := t.TempDir()
	var paths []string
	for path, text := range made(t) {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		switch {
		case path == First:
			paths = slices.Insert(paths, 0, file)
		case strings.HasPrefix(path, "manifests/"):
			paths = append(paths, file)
		}
	}
	for _, file := range paths {
		if out, err := c.Kubectl(t.Context(), "apply", "--server-side", "--validate=strict", "--namespace", manifests.DefaultNamespace, "-f", file); err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, out)
		}
	}
	// What the schema does not know, and what it requires, is noticed.
	for _, wrong := range []string{"installMode: []", "deploymnts: []"} {
		text := strings.Replace(string(made(t)[serviceVersionFile]), "  installModes:", "  "+wrong+"\n  installModes:", 1)
		text = strings.Replace(text, "name: nodepools.v1.2.3", "name: wrong.v1.2.3", 1)
		file := filepath.Join(dir, "wrong.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Kubectl(t.Context(), "apply", "--server-side", "--validate=strict", "--namespace", manifests.DefaultNamespace, "-f", file); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	var read unstructured.Unstructured
	out, err := c.Kubectl(t.Context(), "get", "clusterserviceversions", "nodepools.v1.2.3", "--namespace", manifests.DefaultNamespace, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &read.Object); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"app.kubernetes.io/name": manifests.Name, "operatorframework.io/os.linux": "supported",
		"operatorframework.io/arch.amd64": "supported", "operatorframework.io/arch.arm64": "supported",
	}
	if diff := cmp.Diff(want, read.GetLabels()); diff != "" {
		t.Errorf("its labels (-want +got):\n%s", diff)
	}
}

// schema returns the file with the published definition, in one version.
func schema(t *testing.T) string {
	t.Helper()
	const module = "github.com/operator-framework/api@v0.35.0"
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir() // in no module
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod download %s: %v\n%s%s", module, err, out, &stderr)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(downloaded.Dir, "crds", "operators.coreos.com_clusterserviceversions.yaml")
}

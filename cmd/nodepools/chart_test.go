package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/charts"
	"github.com/nodepools/nodepools/testdata/cluster"
)

const chartFolder = "../../charts/nodepools"

// resourcePolicy is the one thing that the chart adds to what install prints.
const resourcePolicy = "helm.sh/resource-policy"

// What the chart makes of its defaults, and of the value for each option of install, is
// what install prints, object for object.
func TestChartIsWhatInstallPrints(t *testing.T) {
	helm := charts.New(t, "")
	printed := func(args []string) string {
		t.Helper()
		output, err := exec.CommandContext(t.Context(), "nodepools", append([]string{"install"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(output)
	}
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	for reason, test := range map[string]struct {
		install   [][]string // what is applied one after the other
		namespace string
		values    []string
	}{
		"the defaults":        {[][]string{nil}, manifests.DefaultNamespace, nil},
		"another namespace":   {[][]string{{"--namespace", "123"}}, "123", nil},
		"an image with a tag": {[][]string{{"--image", "registry.example.com:5000/a/b:v1"}}, manifests.DefaultNamespace, []string{"image.repository=registry.example.com:5000/a/b", "image.tag=v1"}},
		"an image with a digest": {[][]string{{"--image", "b@" + digest}}, manifests.DefaultNamespace,
			[]string{"image.repository=b", "image.digest=" + digest}},
		"an image with both": {[][]string{{"--image", "b:v1@" + digest}}, manifests.DefaultNamespace,
			[]string{"image.repository=b", "image.tag=v1", "image.digest=" + digest}},
		"webhooks":                 {[][]string{{"--webhook"}}, manifests.DefaultNamespace, []string{"webhook.enabled=true"}},
		"metrics in the clear":     {[][]string{{"--metrics", "plain"}}, manifests.DefaultNamespace, []string{"metrics.serving=plain"}},
		"no metrics":               {[][]string{{"--metrics", "none"}}, manifests.DefaultNamespace, []string{"metrics.serving=none"}},
		"no metrics, and webhooks": {[][]string{{"--metrics", "none", "--webhook"}}, manifests.DefaultNamespace, []string{"metrics.serving=none,webhook.enabled=true"}},
		"the definitions alone":    {[][]string{{"--crds-only"}}, manifests.DefaultNamespace, []string{"crds.only=true"}},
		"viewers":                  {[][]string{nil, {"--viewer"}}, manifests.DefaultNamespace, []string{"viewer.enabled=true"}},
	} {
		args := []string{"template", "nodepools", chartFolder, "--namespace", test.namespace}
		for _, value := range test.values {
			args = append(args, "--set", value)
		}
		got := charts.Objects(t, helm.Must(t, args...))
		var documents []string
		for _, options := range test.install {
			documents = append(documents, printed(options))
		}
		want := charts.Objects(t, strings.Join(documents, "\n---\n"))
		for key, object := range want {
			if got[key] == nil {
				t.Errorf("%s: the chart has no %s", reason, key)
				continue
			}
			kept := object.GetKind() == "CustomResourceDefinition" || object.GetKind() == "Namespace"
			annotations := got[key].GetAnnotations()
			if (annotations[resourcePolicy] == "keep") != kept {
				t.Errorf("%s: %s is kept when the chart is uninstalled: %t, want %t", reason, key, !kept, kept)
			}
			if delete(annotations, resourcePolicy); len(annotations) == 0 {
				annotations = nil
			}
			got[key].SetAnnotations(annotations)
			if diff := cmp.Diff(typed(t, object), typed(t, got[key])); diff != "" {
				t.Errorf("%s: %s of install (-) and of the chart (+):\n%s", reason, key, diff)
			}
			delete(got, key)
		}
		for key := range got {
			t.Errorf("%s: install prints no %s", reason, key)
		}
	}
}

// installed are the objects of an installation, whose types are those of typed.
var installed = sync.OnceValues(func() ([]manifests.Object, error) {
	return manifests.All(manifests.Options{Namespace: "n", Image: "i", Webhook: true})
})

// typed returns an object as one of its Go type, in which equal quantities are equal.
func typed(t *testing.T, object *unstructured.Unstructured) any {
	t.Helper()
	all, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range all {
		if known.GetObjectKind().GroupVersionKind() != object.GroupVersionKind() {
			continue
		}
		fresh := reflect.New(reflect.TypeOf(known).Elem()).Interface()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, fresh, true); err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	t.Fatalf("install prints nothing of kind %s", object.GroupVersionKind())
	return nil
}

// The arguments that values make are flags of run, which takes them.
func TestArgumentsOfTheChartAreTaken(t *testing.T) {
	helm := charts.New(t, "")
	for _, values := range [][]string{nil, {"--set", "webhook.enabled=true,logging.level=error,logging.format=json,extraArgs[0]=--concurrency=2"}} {
		objects := charts.Objects(t, helm.Must(t, append([]string{"template", "x", chartFolder}, values...)...))
		deployment := typed(t, objects["Deployment nodepools"]).(*appsv1.Deployment)
		args := deployment.Spec.Template.Spec.Containers[0].Args
		cmd := newRun(streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
		if err := cmd.ParseFlags(args[1:]); err != nil || args[0] != "run" {
			t.Errorf("nodepools %s: %v", strings.Join(args, " "), err)
		}
	}
	// What the chart leaves out because it is the default.
	flags := newRun(streams{}).Flags()
	for flag, want := range map[string]string{"log-level": "info", "log-format": "text"} {
		if got := flags.Lookup(flag).DefValue; got != want {
			t.Errorf("--%s is %s by default, and %s in the chart", flag, got, want)
		}
	}
}

// The whole life of a release on a real API server, with the controller at work by the
// rights that the chart gives.
func TestChartInACluster(t *testing.T) {
	c := cluster.New(t, cluster.Options{})
	helm := charts.New(t, c.Kubeconfig())
	scheme, err := controller.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	release := []string{"nodepools", "--namespace", manifests.DefaultNamespace}
	run := func(verb string, args ...string) {
		helm.Must(t, append(append([]string{verb}, release...), args...)...)
	}

	run("install", chartFolder, "--create-namespace")
	expectReleased(t, c, helm.Must(t, append([]string{"get", "manifest"}, release...)...), func(string) bool { return true })
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"example.com/edge": "1"}}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"node-role.kubernetes.io/edge": ""}}}
	cluster.Eventually(t, "pools are served", waitTimeout, func() error { return api.Create(t.Context(), pool) })
	if err := api.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	_, kubeconfig, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	if err != nil {
		t.Fatal(err)
	}
	stop := startRun(t, kubeconfig, "--leader-elect", "--leader-election-namespace", manifests.DefaultNamespace)
	cluster.Eventually(t, "the node has the label of its pool", waitTimeout, func() error {
		if err := api.Get(context.Background(), client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		if node.Labels["example.com/edge"] != "1" {
			return fmt.Errorf("labels are %v", node.Labels)
		}
		return nil
	})

	run("upgrade", changedChart(t))
	expectField(t, c, true)
	run("rollback", "1")
	expectField(t, c, false)

	released := helm.Must(t, append([]string{"get", "manifest"}, release...)...)
	// The release takes the rights of the controller with it, and in a cluster its pod.
	stop()
	run("uninstall")
	expectReleased(t, c, released, func(kind string) bool { return kind == "CustomResourceDefinition" || kind == "Namespace" })
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil || !pool.DeletionTimestamp.IsZero() {
		t.Errorf("the pool does not stay: %v, deleted %v", err, pool.DeletionTimestamp)
	}
	// What has stayed is taken up again.
	run("install", chartFolder)
	expectReleased(t, c, released, func(string) bool { return true })

	// Nor does it go when it is no longer to be part of the release.
	run("upgrade", chartFolder, "--set", "namespace.create=false,crds.enabled=false")
	expectReleased(t, c, released, func(string) bool { return true })

	// What install has applied is taken over, and a namespace that is there already is
	// left to who made it.
	run("uninstall")
	install(t, c)
	run("install", chartFolder, "--take-ownership", "--force-conflicts")
	expectReleased(t, c, released, func(string) bool { return true })
	if _, err := c.Kubectl(t.Context(), "create", "namespace", "made-before"); err != nil {
		t.Fatal(err)
	}
	run("uninstall")
	if _, err := helm.Run(t.Context(), "install", "nodepools", chartFolder, "--namespace", "made-before"); err == nil || !strings.Contains(err.Error(), "made-before") {
		t.Errorf("the namespace of somebody else is taken: %v", err)
	}
	helm.Must(t, "install", "nodepools", chartFolder, "--namespace", "made-before", "--set", "namespace.create=false,crds.enabled=false")
}

// expectReleased fails unless those objects of a release are in the cluster that are
// meant to be, and no others.
func expectReleased(t *testing.T, c *cluster.Cluster, manifest string, meant func(kind string) bool) {
	t.Helper()
	var present, absent []string
	for _, object := range charts.Objects(t, manifest) {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = "default"
		}
		name := strings.ToLower(object.GetKind()) + "/" + object.GetName()
		output, err := c.Kubectl(t.Context(), "get", name, "--namespace", namespace, "--ignore-not-found", "--output", "name")
		if err != nil {
			t.Fatal(err)
		}
		if (output != "") != meant(object.GetKind()) {
			t.Errorf("%s is in the cluster: %t", name, output != "")
		}
		if output != "" {
			present = append(present, name)
		} else {
			absent = append(absent, name)
		}
	}
	if len(present) == 0 {
		t.Errorf("nothing of the release is in the cluster, and %d objects are not", len(absent))
	}
}

// changedField is one that the schema of pools gets by an upgrade.
const changedField = "addedByALaterVersion"

// changedChart is a later version of the chart, with another field in the schema.
func changedChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "nodepools")
	if err := os.CopyFS(dir, os.DirFS(chartFolder)); err != nil {
		t.Fatal(err)
	}
	for file, change := range map[string][2]string{
		"Chart.yaml":          {"version: 0.0.0-devel", "version: 0.0.1"},
		"templates/crds.yaml": {"              annotations:\n", "              " + changedField + ":\n                type: string\n              annotations:\n"},
	} {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q", file, change[0])
		}
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func expectField(t *testing.T, c *cluster.Cluster, want bool) {
	t.Helper()
	output, err := c.Kubectl(t.Context(), "get", "crd", "nodepools.nodes.lailin.xyz", "--output", "json")
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(output)) || strings.Contains(output, `"`+changedField+`"`) != want {
		t.Errorf("the schema of the cluster has %s: %t, want %t", changedField, !want, want)
	}
}

package main

import (
	"io"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/testdata/charts"
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
	given := map[string]bool{}
	for reason, test := range map[string]struct {
		install   [][]string // what is applied one after the other
		namespace string
		values    []string
	}{
		"the defaults":              {[][]string{nil}, manifests.DefaultNamespace, nil},
		"another namespace":         {[][]string{{"--namespace", "123"}}, "123", nil},
		"a namespace that there is": {[][]string{{"--create-namespace=false", "--namespace", "123"}}, "123", []string{"namespace.create=false"}},
		"an image with a tag":       {[][]string{{"--image", "registry.example.com:5000/a/b:v1"}}, manifests.DefaultNamespace, []string{"image.repository=registry.example.com:5000/a/b", "image.tag=v1"}},
		"an image with a digest": {[][]string{{"--image", "b@" + digest}}, manifests.DefaultNamespace,
			[]string{"image.repository=b", "image.digest=" + digest}},
		"an image with both": {[][]string{{"--image", "b:v1@" + digest}}, manifests.DefaultNamespace,
			[]string{"image.repository=b", "image.tag=v1", "image.digest=" + digest}},
		"drains":                   {[][]string{{"--rollout"}}, manifests.DefaultNamespace, []string{"rollout.enabled=true"}},
		"drains, and webhooks":     {[][]string{{"--rollout", "--webhook"}}, manifests.DefaultNamespace, []string{"rollout.enabled=true,webhook.enabled=true"}},
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
			for _, option := range options {
				name, _, _ := strings.Cut(option, "=")
				given[name] = true
			}
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
	newInstall(streams{}).Flags().VisitAll(func(flag *pflag.Flag) {
		if !given["--"+flag.Name] && !strings.HasPrefix(flag.Name, "output") {
			t.Errorf("--%s was not compared", flag.Name)
		}
	})
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

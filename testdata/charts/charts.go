// Package charts runs the real Helm for tests. Start with [New].
package charts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nodepools/nodepools/testdata/thirdparty"
)

// Helm is the real program, which knows nothing of the user's own configuration.
type Helm struct {
	program string
	env     []string
}

// New returns Helm for a test, with a kubeconfig file where it is to reach a cluster.
func New(t testing.TB, kubeconfig string) *Helm {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Helm: make test-all runs it")
	}
	home := t.TempDir()
	return &Helm{program: thirdparty.Program(t, "helm"), env: append(os.Environ(),
		"KUBECONFIG="+kubeconfig, "HELM_NAMESPACE=", "HELM_KUBECONTEXT=",
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)}
}

// Run returns what Helm prints to standard output. The error has what it prints to
// standard error.
func (h *Helm) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, h.program, args...)
	cmd.Env = h.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("helm %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// Must is Run where an error fails the test.
func (h *Helm) Must(t testing.TB, args ...string) string {
	t.Helper()
	output, err := h.Run(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// Objects reads documents of YAML, by kind and name, without what no object says:
// a status, and fields that are null.
func Objects(t testing.TB, documents string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	for document := range strings.SplitSeq("\n"+documents, "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if len(object.Object) == 0 {
			continue
		}
		key := object.GetKind() + " " + object.GetName()
		if objects[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		objects[key] = object
	}
	return objects
}

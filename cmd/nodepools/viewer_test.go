package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/manifests"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// TestViewerMayOnlyLook takes an inventory and compares, as the service account
// that install --viewer prints. The audit log of the API server then says that this
// was done by lists alone, and by each that the role allows.
func TestViewerMayOnlyLook(t *testing.T) {
	c := cluster.New(t, cluster.Options{Audit: true})
	const namespace = "default"
	for _, args := range [][]string{{"--crds-only"}, {"--viewer", "--namespace", namespace}} {
		printed, err := exec.CommandContext(t.Context(), "nodepools", append([]string{"install"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Apply(t.Context(), string(printed)); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	user := "system:serviceaccount:" + namespace + ":" + manifests.ViewerName
	cluster.Eventually(t, "the role counts", waitTimeout, func() error {
		out, err := c.Kubectl(t.Context(), "auth", "can-i", "list", "pods", "--as", user)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	_, kubeconfig, err := c.ServiceAccount(t.Context(), namespace, manifests.ViewerName)
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(t, c)
	// One more than a page holds.
	for i := range observe.PageSize + 1 {
		s.do(s.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", i)}}))
	}
	pools := filepath.Join(s.repository, "a.yaml")
	s.do(os.WriteFile(pools, []byte(poolFile("a", "runc")), 0o600))
	mark, err := c.AuditMark()
	if err != nil {
		t.Fatal(err)
	}

	file := filepath.Join(t.TempDir(), "inventory.json")
	run(t, 0, "inventory", "--kubeconfig", kubeconfig, "--output-file", file)
	run(t, 1, "diff", pools, "--kubeconfig", kubeconfig)
	run(t, 0, "adopt", "--kubeconfig", kubeconfig)
	run(t, 0, "uninstall", "--plan", "--kubeconfig", kubeconfig)

	text, err := os.ReadFile(file)
	s.do(err)
	taken, err := inventory.Read(bytes.NewReader(text))
	s.do(err)
	if len(taken.Nodes) != observe.PageSize+1 {
		t.Errorf("the inventory has %d nodes, want %d", len(taken.Nodes), observe.PageSize+1)
	}
	requests, err := c.Audit(mark)
	s.do(err)
	used := map[string]int{}
	for _, request := range requests {
		switch {
		case request.User != user || !strings.HasPrefix(request.UserAgent, "nodepools/"):
		case request.Verb != "list" || request.Code != 200 || request.DryRun || request.Object.Name != "" || request.Object.Namespace != "":
			t.Errorf("more than a list, or refused: %s", request)
		default:
			used[right(request.Verb, request.Object.Group, request.Object.Resource, request.Object.Subresource)]++
		}
	}
	if pages := used[right("list", "", "nodes", "")]; pages < 6 {
		t.Errorf("%d requests brought the nodes, want two pages for each of the three commands", pages)
	}
	shipped := rights(manifests.ViewerRules())
	for right := range shipped {
		if used[right] == 0 {
			t.Errorf("never used, so it is superfluous: %s", right)
		}
	}
	for right := range used {
		if !shipped[right] {
			t.Errorf("used, and not shipped: %s", right)
		}
	}
}

// run runs the program and demands how it ends.
func run(t *testing.T, code int, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "nodepools", args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("nodepools %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

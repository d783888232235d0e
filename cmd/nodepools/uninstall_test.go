package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
)

// What the documentation says of uninstalling removes all that install has printed, that
// for viewers too.
func TestUninstall(t *testing.T) {
	c := cluster.New(t, cluster.Options{ControllerManager: true}) // it is what removes a namespace
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable() // as nodepools, it is nodepools
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, "bin", "nodepools")); err != nil {
		t.Fatal(err)
	}
	sh := func(command string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBERC=off", "HOME="+dir,
			"PATH="+filepath.Dir(c.Program("kubectl"))+string(os.PathListSeparator)+os.Getenv("PATH"))
		var stderr strings.Builder
		cmd.Stderr = &stderr // kubectl warns of kinds that are deprecated
		output, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s%s", command, err, output, &stderr)
		}
		return string(output)
	}

	const list = "kubectl api-resources --verbs=list,delete -o name | grep -v '^events' | sort | " +
		"xargs -I{} kubectl get {} --all-namespaces -o name --ignore-not-found | { grep nodepools || true; }"
	sh("bin/nodepools install --rollout --webhook | kubectl apply --server-side -f -")
	sh("bin/nodepools install --viewer | kubectl apply --server-side -f -")
	sh("kubectl wait --for=condition=Established --timeout=60s crd/nodepools.nodes.lailin.xyz crd/nodepoolsources.nodes.lailin.xyz")
	if found := sh(list); !strings.Contains(found, "clusterrole.rbac.authorization.k8s.io/nodepools-viewer") {
		t.Fatalf("these are installed, without the role of viewers:\n%s", found)
	}

	_, uninstall, found := strings.Cut(docs.Cut(t, "\n## Uninstall\n", "\n```\n"), "\n```sh\n")
	if !found {
		t.Fatal("the documentation does not say how to uninstall")
	}
	sh(uninstall)
	if left := sh(list); left != "" {
		t.Errorf("this is left:\n%s", left)
	}
}

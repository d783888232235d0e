package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/apply/uninstall"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
)

// installedObjects lists all that install has printed, wherever it is, the namespace of the
// controller and what the controller has made itself included.
const installedObjects = "kubectl api-resources --verbs=list,delete -o name | grep -v '^events' | sort | " +
	"xargs -I{} kubectl get {} --all-namespaces -o name --ignore-not-found | { grep nodepools || true; } | { grep -v " + neighboursCRDs + " || true; }"

// What the documentation says of uninstalling removes all that install has printed, that
// for viewers too; but for the namespace, where somebody else may have something.
func TestUninstall(t *testing.T) {
	c := cluster.New(t, cluster.Options{ControllerManager: true, CRDs: neighbours()}) // it is what empties a namespace that is deleted
	sh := shell(t, c)
	untouched := neighbourPools(sh)
	installs(sh, "nodepools-system")
	if found := sh(installedObjects); !strings.Contains(found, "clusterrole.rbac.authorization.k8s.io/nodepools-viewer") {
		t.Fatalf("these are installed, without the role of viewers:\n%s", found)
	}

	_, commands, found := strings.Cut(docs.Cut(t, "\n## Uninstall\n", "\n```\n"), "\n```sh\n")
	if !found {
		t.Fatal("the documentation does not say how to uninstall")
	}
	sh(commands)
	if left := sh(installedObjects); left != "namespace/nodepools-system\n" {
		t.Errorf("this is left, want the namespace alone:\n%s", left)
	}
	sh("kubectl get configmap foreign --namespace nodepools-system")
	untouched(t)
}

// All steps of the plan, run as they are printed, leave a namespace that others share with
// the controller, and what they have there.
func TestUninstallPlanLeavesASharedNamespace(t *testing.T) {
	c := cluster.New(t, cluster.Options{ControllerManager: true, CRDs: neighbours()})
	sh := shell(t, c)
	untouched := neighbourPools(sh)
	installs(sh, "platform")
	var plan uninstall.Plan
	if err := json.Unmarshal([]byte(sh("bin/nodepools uninstall --plan --namespace platform -o json")), &plan); err != nil {
		t.Fatal(err)
	}
	for _, step := range plan.Steps {
		sh(step.Command)
	}
	if left := sh(installedObjects); left != "" {
		t.Errorf("this is left:\n%s", left)
	}
	sh("kubectl get configmap foreign --namespace platform")
	untouched(t)
	if phase := sh("kubectl get namespace platform -o jsonpath={.status.phase}"); phase != "Active" {
		t.Errorf("the namespace is %s", phase)
	}
}

// installs installs all that there is into a namespace in which somebody else has
// something, and makes the lease that the controller would make.
func installs(sh func(command string) string, namespace string) {
	sh("kubectl create namespace " + namespace)
	sh("kubectl create configmap foreign --namespace " + namespace)
	sh("bin/nodepools install --rollout --webhook --namespace " + namespace + " | kubectl apply --server-side -f -")
	sh("bin/nodepools install --viewer --namespace " + namespace + " | kubectl apply --server-side -f -")
	sh(`echo '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"nodepools","namespace":"` + namespace + `"}}' | kubectl create -f -`)
	sh("kubectl wait --for=condition=Established --timeout=60s crd/nodepools.nodes.lailin.xyz crd/nodepoolsources.nodes.lailin.xyz")
}

// shell returns what runs a command as a reader of the documentation does, with the
// program in bin.
func shell(t *testing.T, c *cluster.Cluster) (sh func(command string) string) {
	t.Helper()
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
	return func(command string) string {
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
}

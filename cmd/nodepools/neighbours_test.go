package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
)

// neighbours are the definitions of other projects that have the plural nodepools, as far as
// their names go. kubectl finds some of them before ours, and some after.
func neighbours() []*apiextensionsv1.CustomResourceDefinition {
	definition := func(group string, scope apiextensionsv1.ResourceScope, short ...string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: "nodepools." + group},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: group, Scope: scope,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "nodepools", Singular: "nodepool", Kind: "NodePool", ListKind: "NodePoolList", ShortNames: short},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)},
				}}},
			},
		}
	}
	return []*apiextensionsv1.CustomResourceDefinition{
		definition("karpenter.sh", apiextensionsv1.ClusterScoped),
		definition("apps.openyurt.io", apiextensionsv1.ClusterScoped, "np"),
		definition("hypershift.openshift.io", apiextensionsv1.NamespaceScoped, "np", "nps"),
	}
}

// neighboursCRDs are arguments of grep that match the names of neighbours.
const neighboursCRDs = "-e karpenter.sh -e openyurt.io -e openshift.io"

// neighbourPools makes pools of the neighbours, of the names that ours have, and returns what
// fails a test if anybody has touched one since.
func neighbourPools(sh func(command string) string) (untouched func(t *testing.T)) {
	for _, definition := range neighbours() {
		for _, name := range []string{"gpu", "edge"} {
			sh(`echo '{"apiVersion":"` + definition.Spec.Group + `/v1","kind":"NodePool","metadata":{"name":"` + name + `","namespace":"default"}}' | kubectl create -f -`)
		}
	}
	list := func() (found string) {
		for _, definition := range neighbours() {
			found += sh("kubectl get " + definition.Name + ` --namespace default -o jsonpath='{range .items[*]}{.apiVersion} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}'`)
		}
		return found
	}
	before := list()
	return func(t *testing.T) {
		t.Helper()
		if after := list(); after != before || strings.Count(before, "\n") != 6 {
			t.Errorf("the pools of neighbours were\n%sand are\n%s", before, after)
		}
	}
}

// Every command that a message of ours can have, run beside neighbours with pools of the same
// names, reaches ours and nothing of theirs. What the list lacks fails the test.
func TestPrintedCommandsMeanOurs(t *testing.T) {
	c := cluster.New(t, cluster.Options{CRDs: neighbours()})
	sh := shell(t, c)
	untouched := neighbourPools(sh)
	sh("bin/nodepools install --crds-only | kubectl apply --server-side -f -")
	sh("kubectl wait --for=condition=Established --timeout=60s crd/nodepools.nodes.lailin.xyz crd/nodepoolsources.nodes.lailin.xyz")
	for _, name := range []string{"gpu", "edge"} {
		sh(`echo '{"apiVersion":"nodes.lailin.xyz/v1","kind":"NodePool","metadata":{"name":"` + name + `"},"spec":{"rollout":{"paused":true}}}' | kubectl create -f -`)
	}
	sh(`echo '{"apiVersion":"nodes.lailin.xyz/v1","kind":"NodePoolSource","metadata":{"name":"platform"},"spec":{"url":"https://git.example.com/pools","ref":{"branch":"main"}}}' | kubectl create -f -`)

	// What is said without a group is a neighbour's: else nothing here would show anything.
	for _, resource := range []string{"nodepools", "nodepool", "np", "nps"} {
		if got := sh("kubectl get " + resource + " --namespace default -o name"); strings.Contains(got, v1.Domain) || got == "" {
			t.Fatalf("kubectl takes %s for ours, or for nothing: %q", resource, got)
		}
	}

	annotation := func(resource, name, key string) string {
		return "kubectl get " + resource + " " + name + ` -o jsonpath='{.metadata.annotations.nodes\.lailin\.xyz/` + key + "}'"
	}
	paused := "kubectl get " + command.Pool("gpu") + " -o jsonpath='{.spec.rollout}'"
	// They find ours, of which nothing waits.
	nothing := func(line string) string { return "bin/" + line + ` --yes 2>&1 | grep 'of pool "gpu"'` }
	sh("kubectl patch " + command.Source("platform") + ` --subresource status --type merge -p '{"status":{"pools":3,"revision":"main@sha1:1","conditions":[` +
		`{"type":"PruneBlocked","status":"True","reason":"PruneBlocked","message":"kept 2 of 3 pools","lastTransitionTime":"2026-11-25T02:00:00Z"}]}}'`)
	count := "kubectl get " + command.Pools + "," + command.Sources + " -o name | wc -l | tr -d ' '"
	ran := map[string]bool{"Pool": true, "Source": true, "Word": true} // parts of commands
	for _, of := range []struct {
		builder, command, then, want string
	}{
		{"Annotate", command.Annotate(command.Pools, v1.ApproveReleaseAnnotation, "7", "gpu"), annotation(command.Pools, "gpu", "approveRelease"), "7"},
		{"Annotate", command.Annotate(command.Sources, v1.ApprovePruneAnnotation, "main@sha1:0", "platform"), annotation(command.Sources, "platform", "approvePrune"), "main@sha1:0"},
		{"RemoveAnnotation", command.RemoveAnnotation(command.Pools, v1.ApproveReleaseAnnotation, "gpu", "edge"), annotation(command.Pools, "gpu", "approveRelease"), ""},
		{"ListPools", command.ListPools() + " gpu -o name", "", ""},
		{"Reconcile", "bin/" + command.Reconcile("platform"), annotation(command.Sources, "platform", "requestedAt") + " | cut -c1-2", "20"},
		{"ListSources", command.ListSources() + " platform -o name", "", ""},
		{"Describe", command.Describe(command.Pool("gpu")) + " | grep '^API Version: *nodes.lailin.xyz/'", "", ""},
		{"EditPool", "KUBE_EDITOR=true " + command.EditPool("gpu"), "", ""},
		{"Resume", "bin/" + command.Resume("gpu") + " --yes", paused, `{"paused":false}`},
		{"Approve", nothing(command.Approve("gpu")), "", ""},
		{"Expedite", nothing(command.Expedite("gpu")), "", ""},
		{"ApproveSource", "bin/" + command.ApproveSource("platform") + " --yes", annotation(command.Sources, "platform", "approvePrune"), "main@sha1:1"},
		{"RemoveRollouts", command.RemoveRollouts("gpu", "edge"), paused, ""},
		{"DeletePods", command.DeletePods("default", "gpu") + " --ignore-not-found", "", ""},
		{"ApproveAllDeletions", command.ApproveAllDeletions(), annotation(command.Pools, "edge", "approveRelease"), "deletion"},
		{"DeleteAllSources", command.DeleteAllSources(), count, "2"},
		{"DeleteAllPools", command.DeleteAllPools(), count, "0"},
		{"AwaitAllDeleted", command.AwaitAllDeleted(), count, "0"},
	} {
		ran[of.builder] = true
		sh(of.command)
		if of.then == "" {
			continue
		}
		if got := strings.TrimSpace(sh(of.then)); got != of.want {
			t.Errorf("%s\nafterwards %s prints %q, want %q", of.command, of.then, got, of.want)
		}
		untouched(t)
	}
	if want := builders(t); !slices.Equal(want, slices.Sorted(maps.Keys(ran))) {
		t.Errorf("package command has %v; these are run: %v", want, slices.Sorted(maps.Keys(ran)))
	}
}

// builders are the exported functions of package command, sorted.
func builders(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(docs.Root(t), "api", "command", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			if function, is := declared.(*ast.FuncDecl); is && function.Name.IsExported() && function.Recv == nil {
				names = append(names, function.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Doctor names each neighbour, and how to name what is ours.
func TestDoctorNamesNeighbours(t *testing.T) {
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, found, _ := examined(t, c.Kubeconfig())
	for _, definition := range neighbours() {
		if !slices.Contains(found, "note definitions "+definition.Name) {
			t.Errorf("%s is not named: %q", definition.Name, found)
		}
	}
}

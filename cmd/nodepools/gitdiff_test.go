package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// inventoryHead begins an inventory in YAML.
const inventoryHead = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: inventory.nodes.lailin.xyz/v1, kind: Inventory, taken: \"2026-11-20T00:00:00Z\"}"

// inventoryFile has the source fleet, whose pools are in the folder pools, and
// what else is given.
func inventoryFile(t *testing.T, source string, items ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "inventory.yaml")
	items = append([]string{inventoryHead, sourceItem("fleet", "s1", "url: \"https://git.example.com/fleet.git\", path: pools"+source)}, items...)
	if err := os.WriteFile(name, []byte(strings.Join(items, "\n- ")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func sourceItem(name, uid, spec string) string {
	return fmt.Sprintf("{apiVersion: nodes.lailin.xyz/v1, kind: NodePoolSource, metadata: {name: %s, uid: %s}, spec: {%s}}", name, uid, spec)
}

// poolItem is a pool in an inventory, of the source with the UID, or of none.
func poolItem(name, source, sourceUID, spec string) string {
	meta := fmt.Sprintf("name: %s, uid: uid-of-%s, creationTimestamp: \"2026-01-02T03:04:05Z\"", name, name)
	if source != "" {
		meta += ", labels: {nodes.lailin.xyz/source: " + source + "}"
	}
	if sourceUID != "" {
		meta += ", annotations: {nodes.lailin.xyz/sourceUID: " + sourceUID + "}"
	}
	return fmt.Sprintf("{apiVersion: nodes.lailin.xyz/v1, kind: NodePool, metadata: {%s}, spec: {%s}}", meta, spec)
}

// nodeItem is a node in an inventory, with the label of a role.
func nodeItem(name, role string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {node-role.kubernetes.io/%s: \"\"}}}", name, role)
}

// runningPod is a pod of a Deployment in an inventory, on a line.
func runningPod(namespace, deployment, name, node string) string {
	return fmt.Sprintf("- {apiVersion: v1, kind: Pod, metadata: {namespace: %s, name: %s, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: %s, uid: \"\", controller: true}]}, "+
		"spec: {nodeName: %s}, status: {conditions: [{type: Ready, status: \"True\"}]}}\n", namespace, name, deployment, node)
}

// reviewed is what diff reports the working tree against main.
func reviewed(t *testing.T, g *gitFolder, inventory string) *review.Review {
	t.Helper()
	t.Chdir(g.dir)
	stdout, stderr, code := diffed(t, "--base", "main", "--inventory", inventory, "-o", "json", "--exit-zero")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	reported := &review.Review{}
	if err := json.Unmarshal([]byte(stdout), reported); err != nil {
		t.Fatal(err)
	}
	return reported
}

// TestDiffShowsOnlyWhatTheHeadDoes: a cluster that lags behind the base, with pools
// and keys of others, is brought to the base first, and what is of others stays.
func TestDiffShowsOnlyWhatTheHeadDoes(t *testing.T) {
	g := newGitFolder(t)
	g.pool("gpu", "gold")
	g.pool("web", "silver") // the cluster does not have it yet
	g.commit()
	g.pool("gpu", "iron")
	inventory := inventoryFile(t, "",
		poolItem("gpu", "fleet", "s1", `labels: {tier: bronze}`),
		poolItem("hand", "", "", `priority: 10, nodeNames: [gpu-3], labels: {tier: hand}`),
		poolItem("other", "fleet2", "s2", `labels: {x: "y"}`),
		nodeItem("gpu-1", "gpu"),
		nodeItem("gpu-2", "gpu"),
		nodeItem("gpu-3", "gpu"),
		nodeItem("web-1", "web"),
		sourceItem("fleet2", "s2", `url: "https://git.example.com/other.git"`))
	t.Chdir(g.dir)
	stdout, stderr, code := diffed(t, "--base", "main", "--inventory", inventory)
	if code != 2 || !strings.Contains(stderr, "the inventory has several NodePoolSources") {
		t.Errorf("with two sources the exit code is %d: %s\n%s", code, stderr, stdout)
	}
	inventory = inventoryFile(t, "",
		poolItem("gpu", "fleet", "s1", `labels: {tier: bronze}`),
		poolItem("hand", "", "", `priority: 10, nodeNames: [gpu-3], labels: {tier: hand}`),
		nodeItem("gpu-1", "gpu"),
		nodeItem("gpu-2", "gpu"),
		nodeItem("gpu-3", "gpu"),
		nodeItem("web-1", "web"))
	reported := reviewed(t, g, inventory)
	var nodes []string
	for _, group := range reported.Nodes {
		nodes = append(nodes, group.Names...)
	}
	if diff := cmp.Diff([]string{"gpu-1", "gpu-2"}, nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if len(reported.Pools) != 1 || reported.Pools[0].Name != "gpu" {
		t.Fatalf("pools: %v", reported.Pools)
	}
	before := fmt.Sprint(reported.Pools[0].Before["spec"])
	if !strings.Contains(before, "gold") {
		t.Errorf("gpu was %s, and not what the base has", before)
	}
	if reported.Compared.Nodes == nil || *reported.Compared.Nodes != 4 || reported.Compared.Source != "fleet" || reported.Compared.Head != "working tree" {
		t.Errorf("compared: %+v", reported.Compared)
	}
}

// TestDiffLimitIsThatOfTheBase: what a percentage is of are the pools that the
// source has when the base is carried out, and not those of the inventory.
func TestDiffLimitIsThatOfTheBase(t *testing.T) {
	g := newGitFolder(t)
	for i := range 10 {
		g.pool(fmt.Sprintf("p%d", i), "gold")
	}
	g.commit()
	remove := func(count int) {
		for i := range count {
			if err := os.RemoveAll(filepath.Join(g.dir, "pools", fmt.Sprintf("p%d.yaml", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	inventory := inventoryFile(t, "}, status: {pruneBase: 1", poolItem("p0", "fleet", "s1", ``))
	remove(3)
	if reported := reviewed(t, g, inventory); reported.HeldBack != nil || reported.Summary.Counts.PoolsDeleted != 3 {
		t.Errorf("3 of 10 pools: %+v, %+v", reported.HeldBack, reported.Summary.Counts)
	}
	remove(4)
	if reported := reviewed(t, g, inventory); reported.HeldBack == nil || reported.HeldBack.Of != 10 || reported.Summary.Counts.PoolsDeleted != 0 {
		t.Errorf("4 of 10 pools: %+v, %+v", reported.HeldBack, reported.Summary.Counts)
	}
	// How the source is set up counts.
	generous := inventoryFile(t, ", pruneLimit: 5")
	if reported := reviewed(t, g, generous); reported.HeldBack != nil || reported.Summary.Counts.PoolsDeleted != 4 {
		t.Errorf("4 of 10 pools, and 5 may go: %+v, %+v", reported.HeldBack, reported.Summary.Counts)
	}
	never := inventoryFile(t, ", prune: false")
	if reported := reviewed(t, g, never); reported.HeldBack != nil || reported.Summary.Counts.PoolsDeleted != 0 {
		t.Errorf("4 of 10 pools, and none may go: %+v, %+v", reported.HeldBack, reported.Summary.Counts)
	}
}

// TestDiffBaseThatIsNotTaken: a base that has no place in the cluster is reported as
// such, the head is compared with the cluster, and a head that has none either is an error.
func TestDiffBaseThatIsNotTaken(t *testing.T) {
	g := newGitFolder(t)
	g.pool("gpu", "gold")
	g.commit()
	inventory := inventoryFile(t, "", poolItem("gpu", "", "", ``))
	t.Chdir(g.dir)
	stdout, stderr, code := diffed(t, "--base", "main", "--inventory", inventory)
	if code != 2 || stdout != "" || !strings.HasPrefix(stderr, `error: gpu.yaml:1: pool "gpu" exists already, and no source has applied it`) {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	g.git("mv", "pools/gpu.yaml", "pools/gold.yaml")
	g.pool("gold", "gold")
	reported := reviewed(t, g, inventory)
	broken := reported.Compared.BrokenBase
	if broken == nil || len(broken.Problems) != 1 || !strings.HasPrefix(broken.Problems[0], `the base main would not be taken: gpu.yaml:1: pool "gpu" exists already`) {
		t.Errorf("the broken base is %+v", broken)
	}
	if want := "inventory " + inventory + " (main is not taken)"; reported.Compared.Base != want || reported.Summary.Counts.PoolsCreated != 1 {
		t.Errorf("compared with %q, want %q: %s", reported.Compared.Base, want, reported.Summary.Changes)
	}
}

// TestDiffBaseOfAPoolThatWasHandedOver: what stands in the cluster is the base that was
// carried out, though today it would not be taken, and not what was there before it.
func TestDiffBaseOfAPoolThatWasHandedOver(t *testing.T) {
	g := newGitFolder(t)
	g.pool("web", "gold")
	g.commit()
	g.pool("web", "iron")
	g.pool("gpu", "gold")
	g.commit() // the cluster has this, and then somebody hands gpu over
	inventory := inventoryFile(t, "",
		poolItem("gpu", "", "s2", `labels: {tier: gold}`),
		poolItem("web", "fleet", "s1", `labels: {tier: iron}`),
		nodeItem("web-1", "web"))
	g.git("rm", "--quiet", "pools/gpu.yaml")
	g.pool("web", "gold")
	reported := reviewed(t, g, inventory)
	if reported.Compared.BrokenBase == nil || reported.Summary.Counts.NodesChanged != 1 {
		t.Errorf("compared with %s: %s", reported.Compared.Base, reported.Summary.Changes)
	}
}

// TestDiffOfARepair: what the head of a repair does is what it does to the cluster of the
// inventory.
func TestDiffOfARepair(t *testing.T) {
	g := newGitFolder(t)
	g.pool("gpu", "gold")
	g.pool("web", "gold")
	g.commit() // the cluster has this
	g.pool("gpu", "iron")
	g.commit() // and the source this, meanwhile
	inventory := inventoryFile(t, "",
		poolItem("gpu", "fleet", "s1", `labels: {tier: gold}`),
		poolItem("web", "fleet", "s1", `labels: {tier: gold}`),
		nodeItem("gpu-1", "gpu"),
		nodeItem("gpu-2", "gpu"),
		nodeItem("gpu-3", "gpu"),
		nodeItem("web-1", "web"))
	g.pool("web", "[]")
	g.commit()
	g.pool("web", "iron")
	reported := reviewed(t, g, inventory)
	if want := "inventory " + inventory + " (main is not taken)"; reported.Compared.Base != want {
		t.Errorf("compared with %s, want %s", reported.Compared.Base, want)
	}
	if len(reported.Pools) != 2 || reported.Summary.Counts.NodesChanged != 4 || reported.Summary.Counts.NewProblems != 0 {
		t.Errorf("it does: %s", reported.Summary.Changes)
	}
	if *reported.Compared.Nodes != 4 || reported.Compared.Source != "fleet" {
		t.Errorf("compared: %+v", reported.Compared)
	}
}

// TestDiffOfAPoolThatMoves: a pool that moves to the folder of another source of the
// repository is neither deleted by the first nor refused to the second, as when they run.
func TestDiffOfAPoolThatMoves(t *testing.T) {
	g := newGitFolder(t)
	g.pool("web", "gold")
	g.pool("gpu", "gold")
	other := filepath.Join(g.dir, "team", "other.yaml")
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: other}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.commit()
	inventory := inventoryFile(t, "",
		poolItem("gpu", "fleet", "s1", `labels: {tier: gold}`),
		nodeItem("gpu-1", "gpu"),
		sourceItem("team", "s2", `url: "ssh://git@git.example.com/fleet", path: team`))
	g.git("mv", "pools/gpu.yaml", "team/gpu.yaml")
	t.Chdir(g.dir)
	folders := map[string]string{"fleet": "pools", "team": "team"}
	for source, want := range map[string]string{"fleet": `pool "gpu" moves to NodePoolSource "team"`, "team": ""} {
		stdout, stderr, code := diffed(t, "--base", "main", "--inventory", inventory, "--source", source, folders[source], "-o", "json", "--exit-zero")
		reported := &review.Review{}
		if err := json.Unmarshal([]byte(stdout), reported); err != nil || code != 0 {
			t.Fatalf("source %s: exit code %d: %v: %s", source, code, err, stderr)
		}
		if counts := reported.Summary.Counts; counts.PoolsDeleted > 0 || counts.NodesChanged > 0 || !strings.Contains(stdout, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("source %s: %+v: %s", source, counts, stdout)
		}
	}
}

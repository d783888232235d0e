package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// layeredInventory is of a cluster whose source reads base and the layer of its name,
// with a pod on each of two nodes.
func layeredInventory(cluster string) string {
	return fmt.Sprintf(inventoryHead+`
- {apiVersion: nodes.lailin.xyz/v1, kind: NodePoolSource, metadata: {name: fleet, uid: uid-of-%[1]s}, spec: {url: "https://git.example.com/fleet.git", path: pools, layers: [base, clusters/%[1]s]}}
- {apiVersion: v1, kind: Node, metadata: {name: gpu-1, labels: {node-role.kubernetes.io/gpu: ""}}}
- {apiVersion: v1, kind: Node, metadata: {name: gpu-2, labels: {node-role.kubernetes.io/gpu: ""}}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: %[1]s-web}}
`, cluster) + runningPod("shop", cluster+"-web", "w-a", "gpu-1") + runningPod("shop", cluster+"-web", "w-b", "gpu-2")
}

// TestReviewRecipeOfSeveralClusters reviews a change of a layer that two clusters share,
// whose inventories are on a branch each, or in a folder of one.
func TestReviewRecipeOfSeveralClusters(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	forge := startForge(t, "github")
	r := newRecipe(t, forge)
	layer := func(spec string) string {
		return "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\nmetadata: {name: gpu}\nspec: " + spec + "\n"
	}
	for _, cluster := range []string{"prod-1", "prod-2"} {
		r.git(t, "checkout", "--quiet", "--orphan", "inventory-"+cluster)
		r.git(t, "rm", "-r", "--quiet", "--force", ".")
		r.commit(t, "inventory.json", layeredInventory(cluster))
		r.git(t, "update-ref", "refs/remotes/origin/inventory-"+cluster, "HEAD")
	}
	r.git(t, "rm", "-r", "--quiet", "--force", ".")
	r.commit(t, "clusters/README.md", "no clusters yet")
	r.git(t, "update-ref", "refs/remotes/origin/none", "HEAD")
	r.write(t, "clusters/eu/prod-1.yaml", layeredInventory("prod-1"))
	r.write(t, "clusters/README.md", "the clusters")
	r.commit(t, "clusters/prod-2.json", layeredInventory("prod-2"))
	r.git(t, "update-ref", "refs/remotes/origin/inventories", "HEAD")
	r.git(t, "checkout", "--quiet", "main")
	r.git(t, "rm", "-r", "--quiet", "pools")
	r.write(t, "pools/clusters/prod-1/gpu.yaml", layer("{labels: {site: berlin}}"))
	r.write(t, "pools/clusters/prod-2/gpu.yaml", layer("{labels: {tier: null}}"))
	r.commit(t, "pools/base/gpu.yaml", layer("{labels: {tier: gold}}"))
	r.git(t, "update-ref", "refs/remotes/origin/main", "main")
	r.git(t, "checkout", "--quiet", "-B", "change")

	r.commit(t, "pools/base/gpu.yaml", layer("{labels: {tier: gold}, taints: [{key: drained, effect: NoExecute}]}"))
	const branches = "INVENTORY_REV=refs/remotes/origin/inventory-prod-1 refs/remotes/origin/inventory-prod-2"
	r.run(t, branches, "FAIL_ON=evictions>3").ends(t, 3, "evictions: 4 in all clusters, and the limit is 3: prod-1 2, prod-2 2\n")
	both := r.comment(t, []forgeComment{}).body
	for _, part := range []string{"## 2 clusters: 2 changed\n", "**4 pods evicted;", "## Cluster `prod-1`\n", "`shop/prod-1-web`", "## Cluster `prod-2`\n", "`shop/prod-2-web`", "berlin"} {
		if !strings.Contains(both, part) {
			t.Errorf("the comment lacks %q:\n%s", part, both)
		}
	}

	r.run(t, "INVENTORY_REV=refs/remotes/origin/inventories", "INVENTORY=clusters").ends(t, 0)
	if got := r.comment(t, []forgeComment{}).body; !strings.Contains(got, "## Cluster `eu-prod-1`\n") || !strings.Contains(got, "## Cluster `prod-2`\n") || strings.Contains(got, "README") {
		t.Errorf("of a folder the comment is:\n%s", got)
	}

	// What is wrong for one cluster hides nothing of the other, and marks its line.
	r.commit(t, "pools/base/gpu.yaml", layer("{taints: [{key: drained, effect: NoExecute}]}"))
	r.run(t, branches).ends(t, 1, "pools/clusters/prod-2/gpu.yaml:4:", "there is nothing to remove")
	if got := r.comment(t, []forgeComment{}).body; !strings.Contains(got, "1 not compared, 1 changed") || !strings.Contains(got, "`shop/prod-1-web`") {
		t.Errorf("the comment is:\n%s", got)
	}

	// A cluster whose inventory is not there is not left out in silence, and what the pull
	// request has of that name is not taken for it.
	r.commit(t, "inventory.json", layeredInventory("prod-1"))
	r.run(t, branches+" refs/remotes/origin/inventory-prod-3").ends(t, 2, "there is no inventory.json in refs/remotes/origin/inventory-prod-3")
	r.run(t, "INVENTORY_REV=refs/remotes/origin/inventories refs/remotes/origin/none", "INVENTORY=clusters").ends(t, 2, "there is no inventory in clusters of refs/remotes/origin/none")
	r.run(t, "INVENTORY_REV=refs/remotes/origin/none", "INVENTORY=clusters").ends(t, 2, "there is no inventory in clusters of refs/remotes/origin/none")
	r.run(t, branches+" refs/remotes/origin/inventory-prod-1").ends(t, 2, "there are two inventories of the cluster prod-1")
	if got := r.comment(t, []forgeComment{}).body; !strings.Contains(got, "What is known of the clusters could not be read.") {
		t.Errorf("the comment is:\n%s", got)
	}
}

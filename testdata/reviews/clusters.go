package reviews

import (
	"fmt"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// Clusters is one change in five clusters: one is hit, one holds it back, one does not
// change, one has no inventory of nodes, and in one it breaks the layers.
func Clusters() *review.Reviews {
	return review.OfClusters([]review.Cluster{
		{Name: "prod-1", Inventory: "inventories/prod-1.json", Review: Evictions()},
		{Name: "prod-2", Inventory: "inventories/prod-2.json", Review: HeldBack()},
		{Name: "staging", Inventory: "inventories/staging.json", Review: Empty()},
		{Name: "edge", Inventory: "inventories/edge.json", Review: Unknown()},
		{Name: "lab", Inventory: "inventories/lab.json", Failure: &review.Failure{
			Message: "2 problems in the head, change",
			Problems: []string{
				`change:pools/clusters/lab/gpu.yaml:4: pool "gpus": no earlier layer has a pool of this name; did you mean "gpu"?`,
				`change:pools/clusters/lab/gpu.yaml:15: pool "gpu": spec.labels[teir]: no earlier layer sets it: there is nothing to remove`,
			},
			MoreProblems: 3, Remedy: "correct the layers of the cluster",
		}},
	}, []string{"the inventory of edge is 6 days older than the newest one: it is as of 2026-11-14T02:00:00Z"})
}

// ManyClusters is one change in so many clusters, each of which has much of it.
func ManyClusters(clusters, pools int) *review.Reviews {
	var all []review.Cluster
	for i := range clusters {
		r := Big(pools)
		r.Summary.Counts.NodesChanged = i
		all = append(all, review.Cluster{Name: fmt.Sprintf("cluster-%03d", i), Inventory: fmt.Sprintf("cluster-%03d.json", i), Review: r})
	}
	return review.OfClusters(all, nil)
}

// HostileClusters are clusters whose names, notes and failures were written to deceive.
func HostileClusters() *review.Reviews {
	r := Clusters()
	r.Clusters[0].Failure.Problems[0] = "</details><script>alert(1)</script> \x1b[2J::error::x @team #1"
	for i, name := range []string{"| a |", "</h2><img src=x onerror=alert(1)>", "`x`\n/close", "\u202egnp.exe", "a b"} {
		r.Clusters[i].Name = name
	}
	r.Clusters[1].Review = Hostile()
	return r
}

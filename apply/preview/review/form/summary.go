package form

import "github.com/nodepools/nodepools/apply/preview/review"

// summary is of a review what comes first.
func summary(r *review.Review) any {
	return struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Compared   review.Compared `json:"compared"`
		Summary    review.Summary  `json:"summary"`
	}{r.APIVersion, r.Kind, r.Compared, r.Summary}
}

// summaryOfClusters is of all, and of each cluster, what comes first.
func summaryOfClusters(r *review.Reviews) any {
	type cluster struct {
		Name      string          `json:"name"`
		Inventory string          `json:"inventory"`
		Review    any             `json:"review"`
		Failure   *review.Failure `json:"failure"`
	}
	clusters := []cluster{}
	for _, each := range r.Clusters {
		short := cluster{Name: each.Name, Inventory: each.Inventory, Failure: each.Failure}
		if each.Review != nil {
			short.Review = summary(each.Review)
		}
		clusters = append(clusters, short)
	}
	return struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Summary    review.Summary `json:"summary"`
		Clusters   []cluster      `json:"clusters"`
		Notes      []string       `json:"notes"`
	}{r.APIVersion, r.Kind, r.Summary, clusters, r.Notes}
}

package review

import (
	"github.com/nodepools/nodepools/apply/preview/redact"
)

// ClustersKind is the kind of [Reviews] in JSON and YAML.
const ClustersKind = "Reviews"

// Reviews are what one change does to several clusters. Every list is present,
// possibly empty.
type Reviews struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Summary is of all clusters: its counts are sums, in which a pool that several
	// clusters have counts once for each.
	Summary Summary `json:"summary"`
	// Clusters, the worst first: those that could not be compared, then by what happens
	// to their pods, then by what changes.
	Clusters []Cluster `json:"clusters"`
	// Notes are what the reader should know about the clusters together.
	Notes []string `json:"notes"`
}

// Cluster is what the change does to one cluster: it has a review or a failure.
type Cluster struct {
	// Name is the file name of its inventory without the extension, or the path of it
	// where several have that name.
	Name string `json:"name"`
	// Inventory is the file, as it was named.
	Inventory string `json:"inventory"`
	// Review is what the comparison with this cluster alone has; null where it could not
	// be compared.
	Review *Review `json:"review"`
	// Failure is why it could not be compared; null where it could.
	Failure *Failure `json:"failure"`
}

// Failure is why a cluster could not be compared.
type Failure struct {
	// Message in words: "1 problem in the head, change".
	Message string `json:"message"`
	// Problems of the pool files as the cluster reads them, at most ten.
	Problems []string `json:"problems"`
	// MoreProblems is how many there are besides.
	MoreProblems int `json:"moreProblems,omitempty"`
	// Remedy says what to do about it; may be empty.
	Remedy string `json:"remedy,omitempty"`
}

// List returns the listed problems, and a line with the number of further ones.
func (f *Failure) List() []string {
	list := listOf(f.Problems)
	if f.MoreProblems > 0 {
		list = append(list, "and "+Count(f.MoreProblems, "more problem"))
	}
	return list
}

// OfClusters puts the reviews of clusters together. It changes none of them.
func OfClusters(clusters []Cluster, notes []string) *Reviews {
	r := &Reviews{APIVersion: APIVersion, Kind: ClustersKind, Clusters: listOf(clusters), Notes: []string{}}
	for i := range r.Clusters {
		if failure := r.Clusters[i].Failure; failure != nil {
			r.Clusters[i].Failure = failure.masked()
		}
	}
	sortWorstFirst(r.Clusters)
	for _, note := range notes {
		r.Notes = append(r.Notes, redact.Text(note))
	}
	r.Summary = summarizeClusters(r.Clusters)
	return r
}

func (f *Failure) masked() *Failure {
	masked := Failure{Message: redact.Text(f.Message), Problems: []string{}, MoreProblems: f.MoreProblems, Remedy: redact.Text(f.Remedy)}
	for _, problem := range f.Problems {
		masked.Problems = append(masked.Problems, redact.Text(problem))
	}
	return &masked
}

// Failed returns the names of the clusters that could not be compared.
func (r *Reviews) Failed() []string {
	var names []string
	for _, cluster := range r.Clusters {
		if cluster.Review == nil {
			names = append(names, cluster.Name)
		}
	}
	return names
}

// Empty reports whether nothing would change in any cluster.
func (r *Reviews) Empty() bool {
	for _, cluster := range r.Clusters {
		if cluster.Review == nil || !cluster.Review.Empty() {
			return false
		}
	}
	return true
}

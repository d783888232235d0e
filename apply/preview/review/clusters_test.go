package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nodepools/nodepools/apply/preview/impact"
)

// someCluster has a review with these counts, and pods unless they are not known.
func someCluster(name string, c Counts, podsKnown bool) Cluster {
	nodes := 3
	r := &Review{APIVersion: APIVersion, Kind: Kind, Compared: Compared{Nodes: &nodes}, Summary: Summary{Counts: c}}
	if c.NodesChanged > 0 {
		r.Nodes = []Nodes{{Names: []string{"n"}}}
	}
	if podsKnown {
		r.Impact = &impact.Impact{}
	}
	return Cluster{Name: name, Inventory: name + ".json", Review: r}
}

// TestClustersAreSortedWorstFirst whatever order they come in.
func TestClustersAreSortedWorstFirst(t *testing.T) {
	want := []string{"failed", "evicts-9", "evicts-1", "budget", "unknown", "problem", "held", "many-nodes", "few-nodes", "same-a", "same-b"}
	clusters := map[string]Cluster{
		"failed":     {Name: "failed", Failure: &Failure{Message: "no"}},
		"evicts-9":   someCluster("evicts-9", Counts{Evictions: 9}, true),
		"evicts-1":   someCluster("evicts-1", Counts{Evictions: 1, NodesChanged: 100}, true),
		"budget":     someCluster("budget", Counts{BudgetsExceeded: 1}, true),
		"unknown":    someCluster("unknown", Counts{NodesChanged: 1}, false),
		"problem":    someCluster("problem", Counts{Problems: 1, NewProblems: 1}, true),
		"held":       someCluster("held", Counts{PoolsHeldBack: 1}, true),
		"many-nodes": someCluster("many-nodes", Counts{NodesChanged: 9}, true),
		"few-nodes":  someCluster("few-nodes", Counts{NodesChanged: 1, Problems: 5}, true),
		"same-a":     someCluster("same-a", Counts{}, true),
		"same-b":     someCluster("same-b", Counts{}, false),
	}
	for i := range want {
		var in []Cluster
		for _, name := range slices.Concat(want[i:], want[:i]) {
			in = append(in, clusters[name])
		}
		var got []string
		for _, cluster := range OfClusters(in, nil).Clusters {
			got = append(got, cluster.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestSummaryOfClusters(t *testing.T) {
	r := OfClusters([]Cluster{
		someCluster("a", Counts{Evictions: 2, NotRecreated: 1, BudgetsExceeded: 1, NodesChanged: 3}, true),
		someCluster("b", Counts{Evictions: 5, NodesChanged: 4}, true),
		someCluster("c", Counts{}, false),
		{Name: "d", Failure: &Failure{Message: "no"}},
	}, nil)
	want := Summary{
		Changes: "4 clusters: 1 not compared, 2 changed, 1 without a difference",
		Impact:  "7 pods evicted; 1 evicted pod not created again; 1 PodDisruptionBudget exceeded; pods of 1 cluster are not known",
		Counts:  Counts{Evictions: 7, NotRecreated: 1, BudgetsExceeded: 1, NodesChanged: 7},
	}
	if diff := cmp.Diff(want, r.Summary); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.Empty() || !OfClusters([]Cluster{someCluster("c", Counts{}, false)}, nil).Empty() {
		t.Error("what is empty is not, or the other way round")
	}
	if diff := cmp.Diff([]string{"0", "0", NotKnown, NotKnown, "0", "0"}, r.Clusters[3].Cells()); diff != "" || r.Clusters[0].Cells() != nil {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

// TestExceedsOfClusters: counts are of all clusters together, and what is not known of
// one passes no limit.
func TestExceedsOfClusters(t *testing.T) {
	a, b := someCluster("a", Counts{Evictions: 2, NodesChanged: 1}, true), someCluster("b", Counts{Evictions: 5}, true)
	blind, failed := someCluster("blind", Counts{}, false), Cluster{Name: "failed", Failure: &Failure{}}
	for name, test := range map[string]struct {
		reason   string
		clusters []Cluster
		limits   string
		want     []string
		fails    string
	}{
		"the sum":         {"7 are more than either", []Cluster{a, b}, "evictions>6", []string{"evictions: 7 in all clusters, and the limit is 6: b 5, a 2"}, ""},
		"within":          {"7 are allowed", []Cluster{a, b}, "evictions>7", nil, ""},
		"one of them":     {"who has none is not named", []Cluster{a, b}, "nodesChanged>0", []string{"nodesChanged: 1 in all clusters, and the limit is 0: a 1"}, ""},
		"pods not known":  {"it may be any number", []Cluster{a, blind}, "evictions>100", nil, "evictions not known in the cluster blind: the comparison knows no pods"},
		"known of it all": {"nodes are", []Cluster{a, blind}, "nodesChanged>100", nil, ""},
		"more than known": {"others cannot make it less", []Cluster{a, blind, failed}, "evictions>1", []string{"evictions: at least 2 in all clusters, and the limit is 1: a 2"}, ""},
		"one of two":      {"what is exceeded is said", []Cluster{a, failed}, "nodesChanged>100,evictions>1", []string{"evictions: at least 2 in all clusters, and the limit is 1: a 2"}, "nodesChanged not known: the cluster failed could not be compared"},
		"not compared":    {"nothing is known of it", []Cluster{a, failed}, "poolsDeleted>0", nil, "poolsDeleted not known: the cluster failed could not be compared"},
	} {
		limits, err := ParseThresholds(test.limits)
		if err != nil {
			t.Fatal(err)
		}
		got, err := OfClusters(test.clusters, nil).Exceeds(limits)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, test.reason, diff)
		}
		if (err != nil) != (test.fails != "") || err != nil && (!errors.Is(err, ErrNotKnown) || err.Error() != test.fails) {
			t.Errorf("%s: %s: error %v", name, test.reason, err)
		}
	}
}

// TestFailuresAreMasked: what pool files say may stand in a problem.
func TestFailuresAreMasked(t *testing.T) {
	const secret = "ghp_0123456789abcdefghij0123456789abcdef"
	in := &Failure{Message: "x " + secret, Problems: []string{"y " + secret}, Remedy: "z " + secret}
	r := OfClusters([]Cluster{{Name: "a", Failure: in}}, []string{"n " + secret})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), secret) {
		t.Errorf("a secret is in %s", text)
	}
	if !strings.Contains(in.Message, secret) {
		t.Error("what it was made of is changed")
	}
}

func TestReviewsOfClustersKeepToTheSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(clustersSchemaFile)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Of(wholeInput(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*Reviews{
		"none":  OfClusters(nil, nil),
		"whole": OfClusters([]Cluster{{Name: "a", Review: whole}, {Name: "b", Failure: &Failure{Message: "no", MoreProblems: 1}}}, []string{"a note"}),
	} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

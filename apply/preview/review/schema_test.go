package review

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/render"
)

var update = flag.Bool("update", false, "write the schema and the golden files anew")

// The schema of a review, and that of the reviews of several clusters.
const (
	schemaFile         = "schema.json"
	clustersSchemaFile = "clusters.schema.json"
)

// TestSchema holds the published schemas against the types, whose comments are their
// descriptions.
func TestSchema(t *testing.T) {
	expectSchema(t, schemaFile, Review{})
	expectSchema(t, clustersSchemaFile, Reviews{})
}

func expectSchema(t *testing.T, schemaFile string, root any) {
	t.Helper()
	schema := schemaOf(t, root, ".", "../impact", "../../plan")
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(published), string(text)); diff != "" {
		t.Errorf("%s is not what the types say; run make golden (-published +types):\n%s", schemaFile, diff)
	}
}

// TestReviewsKeepToTheSchema prints reviews, an empty one too, and holds them
// against the published schema.
func TestReviewsKeepToTheSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]Input{
		"empty": {Difference: &plan.Difference{Pools: &plan.PoolsPlan{}}},
		"whole": wholeInput(t),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Of(in)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), `"names":null`) || strings.Contains(string(text), `"pools":null`) {
				t.Errorf("a list is null: %s", text)
			}
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(document); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// wholeInput has something of everything.
func wholeInput(t *testing.T) Input {
	t.Helper()
	label := func(value string) map[string]v1.LabelValue {
		return map[string]v1.LabelValue{"tier": v1.LabelValue(value)}
	}
	definition := func(name string, spec v1.NodePoolSpec) render.Definition {
		return render.Definition{Pool: &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, File: name + ".yaml", Line: 1}
	}
	node := func(name, tier string) *plan.NodeState {
		return &plan.NodeState{Name: name, Labels: map[string]string{"tier": tier}}
	}
	before := plan.Cluster{Nodes: []*plan.NodeState{node("n1", "foreign"), node("n2", "gold"), {Name: "n3"}}}
	files := []render.Definition{
		definition("a", v1.NodePoolSpec{NodeNames: []string{"n*"}, Labels: label("gold"), Taints: []v1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}}),
		definition("b", v1.NodePoolSpec{NodeNames: []string{"n*"}, Labels: label("iron")}),
		definition("c", v1.NodePoolSpec{Parent: "infeasible"}),
	}
	difference, err := plan.Diff(plan.Revision{Source: "s", SourceUID: "uid-of-s", Name: "main@sha1:0", Pools: files, Release: plan.ReleasePolicy{Approval: "main@sha1:0"}}, before)
	if err != nil {
		t.Fatal(err)
	}
	difference.Pools.Blocked = &plan.PruneBlock{Pools: []string{"x"}, Of: 2, Reason: "the limit is 0", Remedy: "approve it"}
	owner, pods := impact.Workload{Kind: "Deployment", Namespace: "web", Name: "api"}, []impact.Pod{{Name: "api-1", Node: "n1"}}
	nodes, known := 3, 1
	return Input{
		Compared: Compared{Base: "a", Head: "b", Source: "s", Nodes: &nodes, Pods: &known, Taken: "2026-01-01T00:00:00Z"},
		Files:    files, Before: before, Difference: difference, Notes: []string{"a note"},
		Impact: &impact.Impact{
			Evictions:      []impact.Eviction{{Workload: owner, Taints: []string{"k:NoExecute"}, Pods: pods, NoFeasibleNode: true, Drain: &impact.Drain{TimeoutSeconds: 60, OnTimeout: "Hold"}}},
			Budgets:        []impact.Budget{{Namespace: "web", Name: "api", Lost: 1, Exceeded: true, Waiting: pods, Undrainable: pods}},
			Unschedulable:  []impact.Unschedulable{{Workload: owner, Reason: impact.Words("does not tolerate k:NoExecute"), Pods: pods}},
			Stranded:       []impact.Stranded{{Workload: owner, RuntimeClass: "node-pool-a", Pods: []string{"api-2"}, NoFeasibleNode: true, Remedy: "kubectl delete --namespace web pod/api-2"}},
			DaemonPods:     []impact.DaemonPods{{Workload: owner, Removed: pods, Started: []string{"n2"}}},
			RuntimeClasses: []impact.RuntimeClassUse{{Name: "node-pool-a", Action: "delete", Pods: 1, Users: pods, Workloads: []impact.Workload{owner}}},
			Overlaps:       []impact.Overlap{{Pools: []string{"a", "b"}, Nodes: []string{"n1"}, Reason: impact.Words("of k")}},
		},
	}
}

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

func TestAfter(t *testing.T) {
	changed := fromGit("changed", v1.NodePoolSpec{Handler: "kata"})
	changed.Labels["dropped"], changed.Labels["shared"], changed.Labels["repeated"] = "x", "x", "x"
	changed.ManagedFields = append(ownsMetadata(changed),
		managed("argo", metav1.ManagedFieldsOperationApply, "", `{"f:metadata":{"f:labels":{"f:shared":{}}}}`),
		managed("kubectl-edit", metav1.ManagedFieldsOperationUpdate, "", `{"f:metadata":{"f:labels":{"f:repeated":{}}}}`))
	changed.Annotations[v1.ReconcileAnnotation] = v1.Disabled // by hand
	changed.Finalizers = []string{"example.com/theirs"}
	kept, gone := fromGit("kept", v1.NodePoolSpec{}), fromGit("gone", v1.NodePoolSpec{})
	live := []*v1.NodePool{kept, gone, changed}
	p, err := Pools(Revision{
		Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Prune: PrunePolicy{Enabled: true, Limit: intstr.FromInt32(1)},
		Pools: []render.Definition{inFile("new", v1.NodePoolSpec{}), inFile("changed", v1.NodePoolSpec{}), inFile("kept", v1.NodePoolSpec{})},
	}, live)
	if err != nil {
		t.Fatal(err)
	}
	after := p.After(live)
	var names []string
	for _, pool := range after {
		names = append(names, pool.Name)
	}
	if diff := cmp.Diff([]string{"changed", "kept", "new"}, names); diff != "" {
		t.Fatalf("pools (-want +got):\n%s", diff)
	}
	got := after[0]
	if got.UID != changed.UID || got.Spec.Handler != "" {
		t.Errorf("UID %q, handler %q: it is the same pool with the new spec", got.UID, got.Spec.Handler)
	}
	wantLabels := map[string]string{v1.SourceLabel: "team", "shared": "x", "repeated": "x"}
	if diff := cmp.Diff(wantLabels, got.Labels); diff != "" {
		t.Errorf("labels: what Git dropped goes, unless another has set it (-want +got):\n%s", diff)
	}
	delete(got.Annotations, v1.RevisionNumberAnnotation)
	wantAnnotations := map[string]string{v1.SourceUIDAnnotation: string(teamUID), v1.RevisionAnnotation: "main@sha1:new", v1.FileAnnotation: "changed.yaml", v1.ReconcileAnnotation: v1.Disabled}
	if diff := cmp.Diff(wantAnnotations, got.Annotations); diff != "" {
		t.Errorf("annotations: a pause by hand stays (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"example.com/theirs", v1.ReleaseFinalizer}, got.Finalizers); diff != "" {
		t.Errorf("finalizers: ours comes to theirs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{v1.ReleaseFinalizer}, after[2].Finalizers); diff != "" {
		t.Errorf("finalizers of a new pool (-want +got):\n%s", diff)
	}
	if after[1] != kept || changed.Spec.Handler != "kata" {
		t.Error("a pool that does not change is the same; the live one is not touched")
	}
}

// What a plan that follows is made from has the pools that were created, in their
// order of age.
func TestPoolsAreDatedByThePlansThatCreateThem(t *testing.T) {
	cluster := Cluster{Pools: []*v1.NodePool{define("old", v1.NodePoolSpec{})}}
	cluster.Pools[0].CreationTimestamp = metav1.Unix(5, 0)
	for _, name := range []string{"z", "y"} {
		revision := Revision{Pools: []render.Definition{{Pool: define(name, v1.NodePoolSpec{})}}}
		d, err := Diff(revision, cluster)
		if err != nil {
			t.Fatal(err)
		}
		cluster = d.After(cluster)
	}
	ages := map[string]time.Time{}
	for _, pool := range cluster.Pools {
		ages[pool.Name] = pool.CreationTimestamp.Time
	}
	if !ages["old"].Before(ages["z"]) || !ages["z"].Before(ages["y"]) {
		t.Errorf("they were created at %v", ages)
	}
}

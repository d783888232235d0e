package plan

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// inFile is a pool of the revision, and fromGit the same pool in the cluster as
// an earlier revision of the source team left it.
func inFile(name string, spec v1.NodePoolSpec) render.Definition {
	return render.Definition{Pool: &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, File: name + ".yaml", Line: 3}
}

// teamUID is the UID of the source team.
const teamUID types.UID = "uid-of-team"

// handedTo is a pool that somebody has handed over to another source, which has
// not applied it yet.
func handedTo(source string) func(*v1.NodePool) {
	return func(pool *v1.NodePool) {
		pool.Labels[v1.SourceLabel] = source
		pool.Annotations[v1.SourceUIDAnnotation] = "uid-of-" + source
		pool.ManagedFields = ownsMetadata(&v1.NodePool{ObjectMeta: metav1.ObjectMeta{Labels: pool.Labels}})
	}
}

func fromGit(name string, spec v1.NodePoolSpec) *v1.NodePool {
	revision := Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:old"}
	pool := wantPool(revision, inFile(name, spec))
	revision.stamp(nil, pool, 1)
	pool.UID, pool.ResourceVersion, pool.Generation = "uid-of-pool", "7", 2
	pool.Status.Accepted = AcceptedSpecOf(pool)
	pool.ManagedFields = ownsMetadata(pool)
	return pool
}

// ownsMetadata says that the source applied every label and annotation.
func ownsMetadata(pool *v1.NodePool) []metav1.ManagedFieldsEntry {
	set := func(field string, values map[string]string) string {
		text := ""
		for _, key := range slices.Sorted(maps.Keys(values)) {
			text += `,"f:` + key + `":{}`
		}
		return `"f:` + field + `":{".":{}` + text + `}`
	}
	return []metav1.ManagedFieldsEntry{managed(v1.FieldManager, metav1.ManagedFieldsOperationApply, "",
		`{"f:metadata":{`+set("labels", pool.Labels)+`,`+set("annotations", pool.Annotations)+`},"f:spec":{"f:handler":{}}}`)}
}

func TestPoolsChanges(t *testing.T) {
	spec := v1.NodePoolSpec{Handler: "runc", Labels: map[string]v1.LabelValue{"k": "1"}}
	annotated := inFile("a", spec)
	annotated.Pool.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled, "note": "x"}
	wasAnnotated := fromGit("a", spec)
	wasAnnotated.Annotations[v1.ReconcileAnnotation] = v1.Disabled
	wasAnnotated.ManagedFields = ownsMetadata(wasAnnotated)
	live := func(edit func(*v1.NodePool)) *v1.NodePool {
		pool := fromGit("a", spec)
		edit(pool)
		return pool
	}
	moved := inFile("a", spec)
	moved.File, moved.Line = "b.yaml", 9
	cases := map[string]struct {
		reason string
		file   render.Definition
		live   *v1.NodePool
		want   Action
	}{
		"new":             {"it is created", inFile("a", spec), nil, Create},
		"unchanged":       {"a new revision alone is no change", inFile("a", spec), fromGit("a", spec), None},
		"defaults":        {"what the API server filled in is no change", inFile("a", spec), live(func(p *v1.NodePool) { p.Spec.ConflictPolicy = v1.ReportConflicts }), None},
		"empty for none":  {"an empty list is no list", inFile("a", spec), live(func(p *v1.NodePool) { p.Spec.Taints = []v1.Taint{} }), None},
		"changed in Git":  {"the spec", inFile("a", v1.NodePoolSpec{Handler: "kata"}), fromGit("a", spec), Update},
		"changed by hand": {"Git says all that there is to say of a pool", inFile("a", spec), live(func(p *v1.NodePool) { p.Spec.Priority = 5 }), Update},
		"moved in Git":    {"the file is where the pool was when it last changed", moved, fromGit("a", spec), None},
		"recorded with its line": {
			"an earlier version kept the line as well, and the pools are not all written anew",
			inFile("a", spec), live(func(p *v1.NodePool) { p.Annotations[v1.FileAnnotation] = "a.yaml:3" }), None,
		},
		"annotated in Git": {
			"what the file says in its metadata is part of it", annotated, fromGit("a", spec), Update,
		},
		"no longer paused in Git": {
			"or nobody would ever resume it", inFile("a", spec), wasAnnotated, Update,
		},
		"paused by hand": {
			"what others put there stays", inFile("a", spec), live(func(p *v1.NodePool) { p.Annotations[v1.ReconcileAnnotation] = v1.Disabled }), None,
		},
		"labelled by hand": {
			"the same", inFile("a", spec), live(func(p *v1.NodePool) { p.Labels["theirs"] = "x" }), None,
		},
		"lost its source": {
			"somebody took the label away, and the UID still names the source: it is put back",
			inFile("a", spec), live(func(p *v1.NodePool) { delete(p.Labels, v1.SourceLabel) }), Update,
		},
		"labelled for another": {
			"the same, and ownership does not go by the label",
			inFile("a", spec), live(func(p *v1.NodePool) { p.Labels[v1.SourceLabel] = "other" }), Update,
		},
		"handed over": {
			"the source applies it, so that it owns it from then on",
			inFile("a", spec), live(handedTo("team")), Update,
		},
		"on its way out": {
			"it comes back once it is gone",
			inFile("a", v1.NodePoolSpec{}), live(func(p *v1.NodePool) { p.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }), None,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var cluster []*v1.NodePool
			if c.live != nil {
				cluster = append(cluster, c.live)
			}
			p, err := Pools(Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Pools: []render.Definition{c.file}}, cluster)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == None {
				if len(p.Changes) > 0 {
					t.Errorf("%q: %s", p.Changes[0].Action, c.reason)
				}
				return
			}
			if len(p.Changes) != 1 || p.Changes[0].Action != c.want {
				t.Fatalf("%+v, want %q: %s", p.Changes, c.want, c.reason)
			}
			// Carried out, it is the state in which nothing is to be done.
			after := p.Changes[0].After()
			after.ManagedFields = nil
			again, err := Pools(Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:newer", Pools: []render.Definition{c.file}, Numbers: Numbers{teamUID: max(1, p.Number)}}, []*v1.NodePool{after})
			if err != nil || len(again.Changes) > 0 {
				t.Errorf("afterwards it is to do again: %+v, %v", again.Changes, err)
			}
		})
	}
}

// What is applied is what the file says, with where it comes from.
func TestWantedPool(t *testing.T) {
	file := inFile("a", v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1"}})
	file.Pool.Labels = map[string]string{"team": "x"}
	p, err := Pools(Revision{Source: "team", SourceUID: teamUID, Name: "main@sha1:new", Pools: []render.Definition{file}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &v1.NodePool{
		TypeMeta: metav1.TypeMeta{APIVersion: "nodes.lailin.xyz/v1", Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        "a",
			Labels:      map[string]string{"team": "x", "nodes.lailin.xyz/source": "team"},
			Annotations: map[string]string{"nodes.lailin.xyz/sourceUID": "uid-of-team", "nodes.lailin.xyz/revision": "main@sha1:new", "nodes.lailin.xyz/file": "a.yaml"},
			Finalizers:  []string{"nodes.lailin.xyz/release"},
		},
		Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"k": "1"}, ConflictPolicy: v1.ReportConflicts},
	}
	delete(p.Changes[0].Want.Annotations, v1.RevisionNumberAnnotation)
	if diff := cmp.Diff(want, p.Changes[0].Want); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(file.Pool.Labels) != 1 {
		t.Error("the pool of the file was changed")
	}
}

func TestPoolsOrder(t *testing.T) {
	prune := PrunePolicy{Enabled: true, Limit: intstr.FromString("100%")}
	revision := Revision{Source: "team", SourceUID: teamUID, Prune: prune, Pools: []render.Definition{
		inFile("z", v1.NodePoolSpec{}), inFile("m", v1.NodePoolSpec{Handler: "kata"}), inFile("b", v1.NodePoolSpec{}),
	}}
	live := []*v1.NodePool{fromGit("y", v1.NodePoolSpec{}), fromGit("m", v1.NodePoolSpec{}), fromGit("a", v1.NodePoolSpec{})}
	want := []string{"create b", "update m", "create z", "delete a", "delete y"}
	for range 3 {
		p, err := Pools(revision, live)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, change := range p.Changes {
			got = append(got, string(change.Action)+" "+change.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		slices.Reverse(live)
		slices.Reverse(revision.Pools)
	}
}

// A revision that says something of pools which are not the source's is not
// taken at all.
func TestClaims(t *testing.T) {
	byHand, others := fromGit("b", v1.NodePoolSpec{}), fromGit("a", v1.NodePoolSpec{})
	byHand.Labels, byHand.Annotations = nil, nil
	handedTo("other")(others)
	p, err := Pools(Revision{Source: "team", SourceUID: teamUID, Pools: []render.Definition{
		inFile("b", v1.NodePoolSpec{}), inFile("a", v1.NodePoolSpec{}), inFile("new", v1.NodePoolSpec{}),
	}}, []*v1.NodePool{byHand, others})
	var claims *ClaimError
	if p != nil || !errors.As(err, &claims) {
		t.Fatalf("planned %v, %v", p, err)
	}
	want := []Claim{{Pool: "a", File: "a.yaml", Line: 3, Owner: "other", OwnerUID: "uid-of-other"}, {Pool: "b", File: "b.yaml", Line: 3}}
	if diff := cmp.Diff(want, claims.Claims); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// handManaged are the managed fields of a pool whose owner kubectl has written: our
// apply, if there was one, owns the UID no more.
func handManaged(pool *v1.NodePool) []metav1.ManagedFieldsEntry {
	entries := []metav1.ManagedFieldsEntry{managed("kubectl", metav1.ManagedFieldsOperationUpdate, "",
		`{"f:metadata":{"f:annotations":{"f:nodes.lailin.xyz/sourceUID":{}},"f:labels":{"f:nodes.lailin.xyz/source":{}}}}`)}
	for _, entry := range pool.ManagedFields {
		if !isOurApply(entry) {
			entries = append(entries, entry)
		}
	}
	return entries
}

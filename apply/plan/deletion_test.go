package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

func TestDeletion(t *testing.T) {
	pool := func(name string, edit func(*v1.NodePool)) *v1.NodePool {
		pool := fromGit(name, v1.NodePoolSpec{})
		edit(pool)
		return pool
	}
	live := []*v1.NodePool{
		fromGit("b", v1.NodePoolSpec{}),
		fromGit("a", v1.NodePoolSpec{}),
		pool("leaving", func(p *v1.NodePool) { p.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }),
		pool("marked", func(p *v1.NodePool) { p.Annotations[v1.PruneAnnotation] = v1.Disabled }),
		pool("paused", func(p *v1.NodePool) { p.Annotations[v1.ReconcileAnnotation] = v1.Disabled }),
		pool("others", handedTo("other")),
		pool("handed over and not applied", handedTo("team")),
		pool("of an earlier team", func(p *v1.NodePool) { p.Annotations[v1.SourceUIDAnnotation] = "uid-of-earlier" }),
		pool("relabelled", func(p *v1.NodePool) { p.Labels[v1.SourceLabel] = "other" }),
		pool("by-hand", func(p *v1.NodePool) { p.Labels, p.Annotations = nil, nil }),
	}
	everything := []string{"a", "b", "marked", "paused", "relabelled"}
	cases := map[string]struct {
		reason                string
		edit                  func(*v1.NodePoolSource)
		deletes, leaves, kept []string
		why                   string
	}{
		"delete": {
			reason: "what nobody keeps goes, and what goes already is waited for", edit: func(*v1.NodePoolSource) {},
			deletes: []string{"a", "b", "relabelled"}, leaves: []string{"leaving"}, kept: []string{"marked", "paused"}, why: "they are paused or their pruning is disabled",
		},
		"whatever prune says": {
			reason: "it is about what vanishes from the repository",
			edit: func(src *v1.NodePoolSource) {
				src.Spec.Prune, src.Spec.PruneLimit = ptr.To(false), ptr.To(intstr.FromInt32(0))
			},
			deletes: []string{"a", "b", "relabelled"}, leaves: []string{"leaving"}, kept: []string{"marked", "paused"}, why: "they are paused or their pruning is disabled",
		},
		"orphan": {
			reason: "somebody has thought better of it", edit: func(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = v1.OrphanPools },
			kept: everything, why: "spec.deletionPolicy is Orphan",
		},
		"nothing said": {
			reason: "the default of the schema", edit: func(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = "" },
			kept: everything, why: "spec.deletionPolicy is Orphan",
		},
		"something unknown said": {
			reason: "nothing goes on doubt", edit: func(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = "delete" },
			kept: everything, why: "spec.deletionPolicy is Orphan",
		},
		"suspended": {
			reason: "nothing of it is to be touched", edit: func(src *v1.NodePoolSource) { src.Spec.Suspend = true },
			kept: everything, why: "the source is suspended",
		},
		"paused": {
			reason: "the same", edit: func(src *v1.NodePoolSource) {
				src.Annotations = map[string]string{v1.ReconcileAnnotation: "DISABLED"}
			},
			kept: everything, why: "the source is paused",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: teamUID}, Spec: v1.NodePoolSourceSpec{DeletionPolicy: v1.DeletePools}}
			c.edit(src)
			d := Deletion(src, live)
			deletes := (&PoolsPlan{Changes: d.Changes}).Deletes()
			for _, list := range []struct {
				what      string
				want, got []string
			}{{"deleted", c.deletes, deletes}, {"waited for", c.leaves, d.Leaving}, {"kept", c.kept, d.Kept}} {
				if diff := cmp.Diff(list.want, list.got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", list.what, c.reason, diff)
				}
			}
			if d.Why != c.why {
				t.Errorf("kept because %q, want %q", d.Why, c.why)
			}
			if d.Waits() != (len(c.deletes)+len(c.leaves) > 0) {
				t.Errorf("waits is %t: %s", d.Waits(), c.reason)
			}
		})
	}
}

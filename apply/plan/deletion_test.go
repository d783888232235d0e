package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
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
		pool("others", func(p *v1.NodePool) { p.Labels[v1.SourceLabel] = "other" }),
		pool("by-hand", func(p *v1.NodePool) { p.Labels, p.Annotations = nil, nil }),
	}
	everything := []string{"a", "b", "marked", "paused"}
	cases := map[string]struct {
		reason                string
		edit                  func(*v1.NodePoolSource)
		deletes, leaves, kept []string
		why                   string
	}{
		"delete": {
			reason: "what nobody keeps goes, and what goes already is waited for", edit: func(*v1.NodePoolSource) {},
			deletes: []string{"a", "b"}, leaves: []string{"leaving"}, kept: []string{"marked", "paused"}, why: "they are paused or their pruning is disabled",
		},
		"whatever prune says": {
			reason: "it is about what vanishes from the repository",
			edit: func(src *v1.NodePoolSource) {
				src.Spec.Prune, src.Spec.PruneLimit = ptr.To(false), ptr.To(intstr.FromInt32(0))
			},
			deletes: []string{"a", "b"}, leaves: []string{"leaving"}, kept: []string{"marked", "paused"}, why: "they are paused or their pruning is disabled",
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
			src := &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: v1.NodePoolSourceSpec{DeletionPolicy: v1.DeletePools}}
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

// A pool that a source left behind may be taken up by another one. Of a source
// that exists nothing is taken, and files without a source take nothing.
func TestInheritance(t *testing.T) {
	source := func(name string) *v1.NodePoolSource {
		return &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	leaving := source("old")
	leaving.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
	cases := map[string]struct {
		reason  string
		as      string
		sources []*v1.NodePoolSource
		label   string
		taken   bool
	}{
		"left behind":        {"nobody else says anything of it", "team", []*v1.NodePoolSource{source("team")}, "old", true},
		"of a living source": {"the first keeps it", "team", []*v1.NodePoolSource{source("team"), source("old")}, "old", false},
		"of one that leaves": {"it still has to decide about its pools", "team", []*v1.NodePoolSource{source("team"), leaving}, "old", false},
		"made by hand":       {"no source left it behind", "team", []*v1.NodePoolSource{source("team")}, "", false},
		"for no source":      {"a pool by hand would have no label", "", nil, "old", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pool := fromGit("a", v1.NodePoolSpec{})
			pool.Labels[v1.SourceLabel] = c.label
			if c.label == "" {
				pool.Labels, pool.Annotations = nil, nil
			}
			live := []*v1.NodePool{pool}
			p, err := Pools(Revision{
				Source: c.as, Name: "main@sha1:new", Departed: Departed(live, c.sources),
				Pools: []render.Definition{inFile("a", v1.NodePoolSpec{})},
			}, live)
			if claims := (*ClaimError)(nil); !c.taken {
				if !errors.As(err, &claims) {
					t.Errorf("planned %+v, %v: %s", p, err, c.reason)
				}
				return
			}
			if err != nil || len(p.Changes) != 1 || p.Changes[0].Action != Update {
				t.Fatalf("planned %+v, %v: %s", p, err, c.reason)
			}
			if diff := cmp.Diff([]string{"a"}, p.Inherits()); diff != "" {
				t.Errorf("told as (-want +got):\n%s", diff)
			}
			if have := p.Changes[0].After().Labels[v1.SourceLabel]; have != c.as {
				t.Errorf("it is of source %q then", have)
			}
		})
	}
	// Nobody has said which sources there are.
	pool := fromGit("a", v1.NodePoolSpec{})
	pool.Labels[v1.SourceLabel] = "old"
	if p, err := Pools(Revision{Source: "team", Pools: []render.Definition{inFile("a", v1.NodePoolSpec{})}}, []*v1.NodePool{pool}); err == nil {
		t.Errorf("not knowing, it plans %+v", p)
	}
}

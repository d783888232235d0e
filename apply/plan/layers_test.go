package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// TestFilesOfLayers holds that what a source writes on a pool leads from each key back
// to the file of the layer that set it.
func TestFilesOfLayers(t *testing.T) {
	definition := render.Definition{Pool: &v1.NodePool{}, File: "base/gpu.yaml", Changes: []render.Change{
		{Field: "spec.handler", File: "eu/gpu.yaml", Removed: true},
		{Field: "spec.labels[tier]", File: "eu/gpu.yaml"},
		{Field: "spec.annotations[a/b]", File: "prod/gpu.yaml"},
		{Field: "spec.taints[gpu:NoSchedule]", File: "prod/gpu.yaml"},
	}}
	pool := wantPool(Revision{Source: "s", SourceUID: "u"}, definition)
	files := LayerFiles(pool)
	for _, c := range []struct{ path, want string }{
		{Label.PathIn("tier"), "eu/gpu.yaml"},
		{Annotation.PathIn("a/b"), "prod/gpu.yaml"},
		{Taint.PathIn(render.TaintID{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}.String()), "prod/gpu.yaml"},
		{Label.PathIn("site"), ""},
		{"spec.handler", ""},
	} {
		if got := files[c.path]; got != c.want {
			t.Errorf("%s is of %q, want %q", c.path, got, c.want)
		}
	}
	pool.Annotations[v1.LayersAnnotation] = "{no JSON"
	if got := LayerFiles(pool); len(got) > 0 {
		t.Errorf("an annotation that cannot be read names %v", got)
	}
}

// TestLayersAloneAreNoChange holds that a pool which is the same is not written where
// only the layer that says so is another one.
func TestLayersAloneAreNoChange(t *testing.T) {
	pool := func(changes ...render.Change) *v1.NodePool {
		definition := render.Definition{Pool: &v1.NodePool{}, File: "base/gpu.yaml", Changes: changes}
		definition.Pool.Name = "gpu"
		return wantPool(Revision{Source: "s", SourceUID: "u"}, definition)
	}
	owned := func(pool *v1.NodePool) *v1.NodePool {
		pool.ManagedFields = ownsMetadata(pool)
		return pool
	}
	change := render.Change{Field: "spec.labels[tier]", File: "eu/gpu.yaml"}
	for name, c := range map[string]struct{ live, want *v1.NodePool }{
		"one came":  {pool(), pool(change)},
		"one went":  {owned(pool(change)), pool()},
		"other one": {owned(pool(change)), pool(render.Change{Field: "spec.labels[tier]", File: "prod/gpu.yaml"})},
	} {
		if got := poolChange(c.live, c.want); got.Action != "" {
			t.Errorf("%s: %s (-live +want):\n%s", name, got.Action, cmp.Diff(c.live.Annotations, c.want.Annotations))
		}
	}
}

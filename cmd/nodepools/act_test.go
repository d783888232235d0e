package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/status"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// What is written is what was shown: where that has changed while somebody was asked, nothing
// is; where only something else has, all the same.
func TestActsAreBoundToWhatWasShown(t *testing.T) {
	c := cluster.Shared(t)
	if err := reset(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	api, err := observe.NewClient(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "bound"}, Spec: v1.NodePoolSpec{Rollout: &v1.Rollout{Paused: true}}}
	if err := api.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	resume := func(meanwhile func(pool *v1.NodePool)) (shown string, err error) {
		var out bytes.Buffer
		o := actOptions{verb: status.Resume, name: "bound", std: streams{out: &out, err: &out}, cluster: clusterFlags{kubeconfig: c.Kubeconfig(), timeout: defaultTimeout}}
		o.ask = func(ctx context.Context) error {
			before := pool.DeepCopy()
			meanwhile(pool)
			return api.Patch(ctx, pool, client.MergeFrom(before))
		}
		err = o.run(t.Context())
		if getErr := api.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); getErr != nil {
			t.Fatal(getErr)
		}
		return out.String(), err
	}

	if shown, err := resume(func(pool *v1.NodePool) { pool.Annotations = map[string]string{v1.ReconcileAnnotation: v1.Disabled} }); err == nil ||
		!strings.Contains(err.Error(), "has changed since it was shown") || !pool.Spec.Rollout.Paused || pool.Annotations[v1.ReconcileAnnotation] == "" {
		t.Errorf("it was paused as well meanwhile: %v, %+v\n%s", err, pool, shown)
	}
	if shown, err := resume(func(pool *v1.NodePool) { pool.Labels = map[string]string{"team": "a"} }); err != nil || pool.Spec.Rollout.Paused || pool.Annotations[v1.ReconcileAnnotation] != "" {
		t.Errorf("it was labelled meanwhile: %v, %+v\n%s", err, pool, shown)
	}
}

package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Waves are those of the nodes that were members before, too: a pool that is deleted, or gives up
// nodes, lets the canary go, and then waits for the soak and the approval; so does it after a restart.
func TestNodesLeaveInWaves(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"deleted": func(w *world) {
			w.do(w.Delete(w.t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "batch"}}))
		},
		"other nodes": func(w *world) {
			w.change("batch", func(pool *v1.NodePool) { pool.Spec.NodeNames = pool.Spec.NodeNames[3:] })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var names []string
			for i := range 6 {
				names = append(names, fmt.Sprintf("leave-%d", i))
				w.node(names[i], nil)
			}
			w.isReadyNode(names...)
			w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: batch}
spec:
  labels: {example.com/tier: "1"}
  nodeNames: [leave-0, leave-1, leave-2, leave-3, leave-4, leave-5]
`)
			w.isReady("batch", 6)
			w.change("batch", func(pool *v1.NodePool) {
				pool.Spec.Rollout = &v1.Rollout{
					MaxUnavailable: ptr.To(intstr.FromInt32(1)),
					Waves:          []v1.Wave{{Name: "canary", Nodes: ptr.To(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: 30 * time.Minute}, Approval: v1.ApprovalRequired}},
				}
			})
			w.poolIs("batch", "all nodes follow it", func(pool *v1.NodePool) error {
				if pool.Status.Settled == nil {
					return errors.New("nothing is settled")
				}
				return nil
			})
			w.inUse(names...)
			left := func() (left []string) {
				for _, name := range names {
					if w.get(name).Labels["example.com/tier"] == "" {
						left = append(left, name)
					}
				}
				return left
			}
			change(w)
			w.eventually("the canary has left", func() error {
				if len(left()) == 0 {
					return errors.New("none has")
				}
				return nil
			})
			w.settle()
			w.stop()
			w.start()
			w.settle()
			if got := left(); !slices.Equal(got, names[:1]) {
				t.Errorf("%v have left, without soak and approval", got)
			}
		})
	}
}

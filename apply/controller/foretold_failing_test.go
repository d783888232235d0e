package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// disturb brings nodes into the state that they have before the revision is merged.
func (w *foretoldWorld) disturb() {
	w.t.Helper()
	var failing, recovered []string
	for _, s := range w.scenarios {
		for _, node := range s.nodes {
			if node.undisturbed() {
				continue
			}
			if node.unready || node.recovered {
				failing = append(failing, node.Name)
			}
			if node.recovered {
				recovered = append(recovered, node.Name)
			}
			w.changeNode(node.Name, func(live *corev1.Node) { node.changes(live) })
			if c := node.condition; c != nil {
				patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"lastHeartbeatTime":%q}]}}`, c.Type, c.Status, metav1.Now().UTC().Format("2006-01-02T15:04:05Z"))
				w.kubectl("patch", "node", node.Name, "--subresource=status", "--type=strategic", "-p", patch)
			}
		}
	}
	w.ready(false, failing)
	w.rest(mergePeriod)
	for _, name := range recovered {
		w.changeNode(name, func(live *corev1.Node) { delete(live.Annotations, cluster.BrokenAnnotation) })
	}
	w.ready(true, recovered)
}

// changes changes a node as whoever disturbs it does.
func (n *scenarioNode) changes(live *corev1.Node) {
	live.Spec.Unschedulable = n.cordoned
	if live.Annotations == nil {
		live.Annotations = map[string]string{}
	}
	if n.paused {
		live.Annotations[v1.ReconcileAnnotation] = v1.Disabled
	}
	if n.unready || n.recovered {
		live.Annotations[cluster.BrokenAnnotation] = "true"
	}
}

// ready waits until nodes are ready, or are not.
func (w *foretoldWorld) ready(ready bool, names []string) {
	w.t.Helper()
	for _, name := range names {
		w.eventually(fmt.Sprintf("node %s is ready: %t", name, ready), func() error {
			if !slices.ContainsFunc(w.get(name).Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && (c.Status == corev1.ConditionTrue) == ready
			}) {
				return errors.New("not yet")
			}
			return nil
		})
	}
}

// keepsReady reports a node that nobody has broken, and that is not ready all the same: when the
// machine is too busy for its lease to be renewed, what happens says nothing of what was foretold.
func (w *foretoldWorld) keepsReady(s *scenario, node *scenarioNode, live *corev1.Node) {
	w.t.Helper()
	if node.unready || node.recovered || w.lost[node.Name] {
		return
	}
	for _, c := range live.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			w.lost[node.Name] = true
			w.t.Errorf("%s: node %s is not ready at %v, and nobody has broken it: %s: %s", s.name, node.Name, w.clock.Now(), c.Reason, c.Message)
		}
	}
}

// resume resumes the rollouts that are to be, and reports whether there are some.
func (w *foretoldWorld) resume() (resumed bool) {
	w.t.Helper()
	for _, s := range w.scenarios {
		for _, name := range s.resumed {
			resume := ""
			w.poolIs(s.full(name), "is halted", func(pool *v1.NodePool) error {
				if pool.Status.Rollout == nil || pool.Status.Rollout.Halt == nil {
					return fmt.Errorf("status.rollout is %+v", pool.Status.Rollout)
				}
				resume = pool.Status.Rollout.Halt.Resume
				return nil
			})
			w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", s.full(name), v1.ResumeRolloutAnnotation+"="+resume)
			resumed = true
		}
	}
	return resumed
}

// halts compares the halts of rollouts with those that were foretold.
func (w *foretoldWorld) halts(rollouts []review.Rollout) {
	w.t.Helper()
	halted := 0
	w.eventually("rollouts are halted as foretold", func() error {
		var pools v1.NodePoolList
		if err := w.List(w.t.Context(), &pools); err != nil {
			return err
		}
		halts := map[string]*v1.RolloutHalt{}
		for _, pool := range pools.Items {
			if rollout := pool.Status.Rollout; rollout != nil && rollout.Halt != nil && !rollout.Halt.Resumed {
				halts[pool.Name] = rollout.Halt
			}
		}
		halted = len(halts)
		var wrong []string
		for _, r := range rollouts {
			foretold, is := r.Halt, halts[r.Pool]
			switch {
			case foretold == nil && is == nil:
			case foretold == nil || is == nil:
				wrong = append(wrong, fmt.Sprintf("pool %s: foretold is the halt %+v, and there is %+v", r.Pool, foretold, is))
			case foretold.Node != is.Node || foretold.Nodes != int(is.Nodes) || !timeOf(foretold.Since).Equal(is.Time.Time) || foretold.Resume != "" && foretold.Resume != is.Resume:
				wrong = append(wrong, fmt.Sprintf("pool %s: foretold is the halt %+v, since %s, and there is %+v", r.Pool, *foretold, stampOf(timeOf(foretold.Since)), *is))
			}
			delete(halts, r.Pool)
		}
		for pool, halt := range halts {
			wrong = append(wrong, fmt.Sprintf("pool %s: a halt that was not foretold: %+v", pool, *halt))
		}
		if len(wrong) > 0 {
			return errors.New(strings.Join(wrong, "\n"))
		}
		return nil
	})
	w.t.Logf("%d rollouts are halted, as foretold", halted)
}

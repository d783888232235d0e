package controller

import (
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const redPool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: red}
spec:
  labels: {color: red, only-red: "yes"}
  taints: [{key: paint, value: red, effect: NoSchedule}]
`

const bluePool = `
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: blue}
spec:
  labels: {color: blue, only-blue: "yes"}
  taints: [{key: paint, value: blue, effect: NoSchedule}]
`

func isConflicted(nodes int32, texts ...string) func(*v1.NodePool) error {
	return func(pool *v1.NodePool) error {
		if counts := pool.Status.Nodes; counts == nil || counts.Conflicted != nodes {
			return fmt.Errorf("counts are %+v", counts)
		}
		for _, kind := range []string{v1.ConflictedCondition, v1.StalledCondition} {
			if err := conditionIs(pool.Status.Conditions, kind, metav1.ConditionTrue, v1.ConflictReason, texts...); err != nil {
				return err
			}
		}
		return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.ConflictReason)
	}
}

func colored(labels map[string]string) map[string]string {
	all := role("red", "blue")
	maps.Copy(all, labels)
	return all
}

// One pool was first and its values stand; the other comes, of equal priority.
func TestEqualPriorityKeepsWhatStands(t *testing.T) {
	w := newWorld(t)
	w.node("both", role("red", "blue"))
	w.node("blue-only", role("blue"))
	w.pool(redPool)
	w.carries("both", colored(map[string]string{"color": "red", "only-red": "yes"}), "paint=red:NoSchedule")
	w.isReady("red", 1)

	w.pool(bluePool)
	conflicted := func() {
		t.Helper()
		w.carries("both", colored(map[string]string{"color": "red", "only-red": "yes", "only-blue": "yes"}), "paint=red:NoSchedule")
		w.poolIs("red", "reports the conflict", isConflicted(1, `node both: label color stays "red": pools of equal priority disagree, pool red wants "red", pool blue "blue"`, "taint paint:NoSchedule"))
		w.poolIs("blue", "reports the conflict", isConflicted(1, `node both: label color stays "red": pools of equal priority disagree, pool blue wants "blue", pool red "red"`, "taint paint:NoSchedule"))
		w.hasEvent("red", v1.ConflictReason, "node both", "color")
		w.hasEvent("blue", v1.ConflictReason, "node both", "color")
	}
	conflicted()
	blueOnly := role("blue")
	maps.Copy(blueOnly, map[string]string{"color": "blue", "only-blue": "yes"})
	w.carries("blue-only", blueOnly, "paint=blue:NoSchedule")
	w.staysQuiet()
	conflicted()

	w.change("blue", func(pool *v1.NodePool) { pool.Spec.Priority = 1 })
	w.carries("both", colored(map[string]string{"color": "blue", "only-red": "yes", "only-blue": "yes"}), "paint=blue:NoSchedule")
	w.isReady("red", 1)
	w.isReady("blue", 2)
	w.hasEvent("red", v1.ConflictReason+"Resolved")
}

// Both come at once and nothing stands: nobody gets the key, and each gets the
// others of its keys.
func TestEqualPriorityLeavesUnsetWhatIsUnset(t *testing.T) {
	w := newWorld(t)
	w.stop()
	w.node("both", role("red", "blue"))
	w.pool(redPool)
	w.pool(bluePool)
	w.start()
	w.poolIs("red", "reports the conflict", isConflicted(1, "label color stays unset", "pool blue"))
	w.poolIs("blue", "reports the conflict", isConflicted(1, "label color stays unset", "pool red"))
	w.carries("both", colored(map[string]string{"only-red": "yes", "only-blue": "yes"}))
	w.staysQuiet()
	w.carries("both", colored(map[string]string{"only-red": "yes", "only-blue": "yes"}))

	w.change("red", func(pool *v1.NodePool) { pool.Spec.Labels["color"] = "blue" })
	w.poolIs("red", "has the taint in conflict alone", isConflicted(1, "taint paint:NoSchedule stays unset"))
	w.carries("both", colored(map[string]string{"color": "blue", "only-red": "yes", "only-blue": "yes"}))
	w.remove("red")
	w.carries("both", colored(map[string]string{"color": "blue", "only-blue": "yes"}), "paint=blue:NoSchedule")
	w.isReady("blue", 1)
}

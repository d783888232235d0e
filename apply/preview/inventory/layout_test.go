package inventory

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestLayOut(t *testing.T) {
	long := strings.Repeat("x", width)
	cases := map[string]struct{ reason, compact, want string }{
		"short":    {"what fits on a line stands on it", `{"a":[1,{"b":"c"}],"d":null}`, `{"a": [1, {"b": "c"}], "d": null}`},
		"long":     {"what does not has a line for each element", `{"a":["` + long + `",1],"b":{}}`, "{\n \"a\": [\n  \"" + long + "\",\n  1\n ],\n \"b\": {}\n}"},
		"in texts": {"what looks like structure in a text is text", `{"a":"{\"b\":[1,2]}, \\","c":"` + long + `"}`, "{\n \"a\": \"{\\\"b\\\":[1,2]}, \\\\\",\n \"c\": \"" + long + "\"\n}"},
		"keys":     {"a key is a text too", `{"a\":{":"` + long + `"}`, "{\n \"a\\\":{\": \"" + long + "\"\n}"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := string(layOut([]byte(c.compact)))
			if diff := cmp.Diff(c.want+"\n", got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if !json.Valid([]byte(got)) {
				t.Error("it is no JSON any more")
			}
		})
	}
}

// What happens to a cluster every night must read like that in Git.
func TestSmallChangesAreFewLines(t *testing.T) {
	cases := map[string]struct {
		change func(inv *Inventory)
		most   int // lines that go or come
	}{
		"a pod moves": {func(inv *Inventory) {
			at := slices.IndexFunc(inv.Pods, func(pod Pod) bool { return pod.Owner.Kind == deployment })
			inv.Pods[at].Node = machineName(2)
		}, 2},
		"a pod is made anew": {func(inv *Inventory) {
			at := slices.IndexFunc(inv.Pods, func(pod Pod) bool { return pod.Owner.Kind == "DaemonSet" })
			inv.Pods[at].Name += "z"
		}, 2},
		"a Deployment is scaled": {func(inv *Inventory) {
			at := slices.IndexFunc(inv.Pods, func(pod Pod) bool { return pod.Owner.Kind == deployment })
			pod := inv.Pods[at]
			pod.Name, pod.Node = pod.Name+"z", machineName(4)
			inv.Pods = append(inv.Pods, pod)
		}, 1},
		"every node gets a label": {func(inv *Inventory) {
			for _, node := range inv.Nodes {
				node.Labels["example.com/new"] = "yes"
			}
		}, 15}, // one for each kind of node, of which there are 15
		"a node is cordoned": {func(inv *Inventory) {
			inv.Nodes[0].Unschedulable = true
			inv.Nodes[0].Taints = append(inv.Nodes[0].Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}, 45}, // a group of its own, with all that it has
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			fresh := func() *Inventory {
				b := &Builder{}
				fleet(300, 5, 2000, add(t, b))
				return b.Inventory("")
			}
			before := strings.Split(string(written(t, fresh())), "\n")
			changed := fresh()
			c.change(changed)
			changed.sort()
			after := strings.Split(string(written(t, changed)), "\n")
			lines := map[string]int{}
			for _, line := range before {
				lines[strings.TrimSuffix(line, ",")]++
			}
			for _, line := range after {
				lines[strings.TrimSuffix(line, ",")]--
			}
			different := 0
			for _, count := range lines {
				different += max(count, -count)
			}
			if different == 0 || different > c.most {
				t.Errorf("%d of %d lines are different, want 1 to %d", different, len(before), c.most)
			}
		})
	}
}

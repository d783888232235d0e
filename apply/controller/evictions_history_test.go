package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// history is what has happened to the pods of a name, one after the other, and to the
// NoExecute taints of the nodes that they were on.
func (v *evictionVerdict) history(name string) string {
	nodes := map[string]bool{}
	for _, event := range v.events {
		if event.pod != nil && event.pod.name == name {
			nodes[event.pod.node] = true
		}
	}
	var lines strings.Builder
	last := map[string]string{}
	for _, event := range v.events {
		about, text := "", ""
		switch {
		case event.pod != nil && event.pod.name == name:
			about = string(event.pod.uid)
			text = fmt.Sprintf("on node %q, terminating %t, gone %t, ended by %q", event.pod.node, event.pod.terminating, event.gone, v.enders[event.pod.uid].who)
		case event.node != nil && nodes[event.node.name]:
			taints := slices.DeleteFunc(slices.Clone(event.node.taints), func(taint corev1.Taint) bool { return taint.Effect == corev1.TaintEffectPreferNoSchedule })
			about, text = event.node.name, fmt.Sprintf("gone %t, taints %v", event.gone, taints)
		}
		if text != last[about] {
			last[about] = text
			fmt.Fprintf(&lines, "\n%s %d %s %s", event.at.Format(time.StampMilli), event.version, about, text)
		}
	}
	return lines.String()
}

package impact_test

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

// outcome is what a change does, predicted or observed.
type outcome []fate

// fate is what becomes of a pod, a workload or something else.
type fate struct {
	// of is the workload, as kind/name, or what else is spoken of.
	of string
	// pod and node are empty where no single one is meant.
	pod, node string
	what      string
	// seconds after which a pod is evicted.
	seconds int64
	// finished is a pod that has ended before.
	finished bool
}

// The fates of pods and workloads.
const (
	evicted    = "evicted"
	drained    = "drained"
	removed    = "removed because the node no longer matches"
	started    = "started"
	stuck      = "could not be scheduled again"
	infeasible = "finds no node"
	gone       = "is not created again"
	shutOut    = "nobody can run"
	deletedBy  = "deleted by somebody else"
	daemonEnds = "ends"
)

// soon is the longest that the scenarios wait for an eviction, in seconds.
const soon = 1

// said is the outcome as a scenario says it: without the names of pods, which
// Kubernetes chooses.
func (o outcome) said() []string {
	lines := []string{}
	counts := map[string]int{}
	for _, f := range o {
		line := f.of
		if f.node != "" {
			line += " on " + f.node
		}
		line += " " + f.what
		if f.what == evicted && f.seconds == 0 {
			line += " at once"
		} else if f.what == evicted {
			line += fmt.Sprintf(" after %ds", f.seconds)
		}
		if f.finished {
			line += ", finished"
		}
		if counts[line]++; counts[line] == 1 {
			lines = append(lines, line)
		}
	}
	for i, line := range lines {
		if counts[line] > 1 {
			lines[i] = fmt.Sprintf("%s, %d pods", line, counts[line])
		}
	}
	return sorted(lines)
}

// compared is the outcome pod by pod, as far as it can be observed. Who deletes
// the pod of a DaemonSet whose node is tainted is open: the DaemonSet controller
// does so as well.
func (o outcome) compared() []string {
	lines := []string{}
	for _, f := range o {
		what := f.what
		switch {
		case f.what == evicted && f.seconds > soon:
			what = "evicted later"
		case (f.what == evicted || f.what == removed) && strings.HasPrefix(f.of, "DaemonSet/"):
			what = daemonEnds
		}
		lines = append(lines, strings.Join([]string{f.of, f.pod, f.node, what}, " "))
	}
	return sorted(lines)
}

// prediction is the predicted outcome.
func (p *play) prediction() outcome {
	var o outcome
	homeless := map[string]bool{}
	for _, e := range p.predicted.Evictions {
		what := evicted
		if e.Drained() {
			what = drained
		}
		for _, pod := range e.Pods {
			o = append(o, fate{of: called(e.Workload), pod: pod.Name, node: p.short(pod.Node), what: what, seconds: e.AfterSeconds, finished: e.Finished})
			if e.NotRecreated && e.AfterSeconds <= soon {
				o = append(o, fate{of: called(e.Workload), what: gone})
			}
		}
		homeless[called(e.Workload)] = homeless[called(e.Workload)] || e.NoFeasibleNode
	}
	for _, u := range p.predicted.Unschedulable {
		for _, pod := range u.Pods {
			o = append(o, fate{of: called(u.Workload), pod: pod.Name, node: p.short(pod.Node), what: stuck})
		}
		homeless[called(u.Workload)] = homeless[called(u.Workload)] || u.NoFeasibleNode
	}
	for of, without := range homeless {
		if without {
			o = append(o, fate{of: of, what: infeasible})
		}
	}
	for _, d := range p.predicted.DaemonPods {
		for _, pod := range d.Removed {
			o = append(o, fate{of: called(d.Workload), pod: pod.Name, node: p.short(pod.Node), what: removed})
		}
		for _, node := range d.Started {
			o = append(o, fate{of: called(d.Workload), node: p.short(node), what: started})
		}
	}
	for _, b := range p.predicted.Budgets {
		o = append(o, disruption(b.Name, b.Allowed, b.Lost, b.Exceeded))
	}
	for _, c := range p.predicted.RuntimeClasses {
		var names []string
		for _, w := range c.Workloads {
			names = append(names, called(w))
		}
		o = append(o, p.classFate(c.Name, c.Action, c.Pods, names))
	}
	for _, overlap := range p.predicted.Overlaps {
		for _, node := range overlap.Nodes {
			o = append(o, p.overlapFate(overlap.Pools, node))
		}
	}
	return o
}

func called(w impact.Workload) string { return w.Kind + "/" + w.Name }

func disruption(budget string, allowed, lost int, exceeded bool) fate {
	f := fate{of: "budget " + budget, what: fmt.Sprintf("allows %d, loses %d", allowed, lost)}
	if exceeded {
		f.what += ", exceeded"
	}
	return f
}

func (p *play) classFate(name, action string, pods int, workloads []string) fate {
	f := fate{of: "RuntimeClass " + p.short(strings.TrimPrefix(name, v1.RuntimeClassPrefix))}
	f.what = fmt.Sprintf("%s, named by %d pods", action, pods)
	if len(workloads) > 0 {
		f.what += " and " + strings.Join(sorted(workloads), ", ")
	}
	return f
}

func (p *play) overlapFate(pools []string, node string) fate {
	var names []string
	for _, pool := range pools {
		names = append(names, p.short(pool))
	}
	slices.Sort(names)
	return fate{of: "pools " + strings.Join(names, ", "), node: p.short(node), what: shutOut}
}

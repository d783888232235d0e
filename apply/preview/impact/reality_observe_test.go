package impact_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
)

// observe reports what has become of everything.
func (p *play) observe() outcome {
	p.t.Helper()
	p.predictedHaveGone()
	ends := p.ends()
	fits, homeless, shut := p.fits(), p.homeless(), p.shutNodes()
	o := append(p.observedClasses(), p.observedStarts()...)
	for node, pools := range shut {
		// Where it was so before, it is reported only of a node that is in a further pool.
		was, did := p.shut[node]
		if !did || slices.ContainsFunc(pools, func(pool string) bool { return !slices.Contains(was, pool) }) {
			o = append(o, p.overlapFate(pools, node))
		}
	}
	stays := outcome{}
	for _, pod := range p.before.Pods {
		w := p.workloadOf(pod.Name, pod.Owner.Name)
		at := place{workload: w.title(), node: p.short(pod.Node)}
		if _, ended := ends[pod.Name]; !ended && !pod.Finished && !pod.Static && p.fitted[at] && !fits[at] && !p.refused(pod.RuntimeClass) {
			stays = append(stays, fate{of: at.workload, pod: pod.Name, node: at.node, what: stuck})
		}
	}
	p.deleteForReal(stays, homeless)
	later := p.calledOff()
	stays = slices.DeleteFunc(stays, func(f fate) bool { return later[f.pod] })
	o = append(o, stays...)
	lost, asked := map[string]int{}, map[string]int{}
	for _, pod := range p.before.Pods {
		w := p.workloadOf(pod.Name, pod.Owner.Name)
		f := fate{of: w.title(), pod: pod.Name, node: p.short(pod.Node), finished: pod.Finished}
		end, ended := ends[pod.Name]
		switch {
		case ended && end.tainted, ended && w.kind == "DaemonSet" && p.matches(w, pod.Node):
			f.what = evicted
		case ended && end.drained:
			f.what = drained
		case ended && w.kind == "DaemonSet":
			f.what = removed
		case ended:
			f.what = deletedBy
		case later[pod.Name]:
			f.what, f.seconds = evicted, soon+1
		default:
			continue
		}
		o = append(o, f)
		if (f.what == evicted || f.what == drained) && f.seconds == 0 && !f.finished && !p.recreated(w, pod.RuntimeClass) {
			o = append(o, fate{of: f.of, what: gone})
		}
		if pod.Ready && !pod.Finished {
			for _, budget := range pod.Budgets {
				lost[budget]++
				if f.what == drained {
					asked[budget]++
				}
			}
		}
	}
	for _, f := range o {
		lonely := fate{of: f.of, what: infeasible}
		// What has ended is not made anew.
		// Of a DaemonSet pod that both are after, its controller and the taint, either
		// may be the first.
		goes := f.what == evicted || f.what == drained || f.what == removed && p.predictsEviction(f.pod)
		if !f.finished && (goes || f.what == stuck) && homeless[f.of] && !slices.Contains(o, lonely) {
			o = append(o, lonely)
		}
	}
	for _, b := range p.before.Budgets {
		if n := lost[b.Name]; n > 0 {
			o = append(o, disruption(b.Name, int(b.Allowed), n, n-asked[b.Name] > int(b.Allowed)))
		}
	}
	p.noneTooSoon()
	return o
}

// recreated reports whether another pod has been created in the place of one that was
// evicted. A DaemonSet creates one where a node takes it. Others may be refused theirs,
// as the RuntimeClass is gone, and try on.
func (p *play) recreated(w workload, class string) bool {
	p.t.Helper()
	switch {
	case w.kind == "Pod":
		pods, err := p.podsOf(w.name)
		p.do(err)
		return len(pods) > 0
	case w.kind == "DaemonSet", p.refused(class):
		return true
	}
	p.eventually("another pod of "+w.title(), func() error {
		pods, err := p.podsOf(w.name)
		if err == nil && len(pods) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	return true
}

// predictsEviction reports whether the taint was to delete a pod.
func (p *play) predictsEviction(pod string) bool {
	return slices.ContainsFunc(p.predicted.Evictions, func(e impact.Eviction) bool {
		return slices.ContainsFunc(e.Pods, func(gone impact.Pod) bool { return gone.Name == pod })
	})
}

// ends are those of the pods that have been deleted, by name.
func (p *play) ends() map[string]end {
	ends := map[string]end{}
	for name, uid := range p.uids {
		if end, ended := p.history.of(uid); ended {
			ends[name] = end
		}
	}
	return ends
}

// refused reports whether pods that name the RuntimeClass are refused, because it
// is gone.
func (p *play) refused(class string) bool {
	p.t.Helper()
	return class != "" && !slices.ContainsFunc(p.world().RuntimeClasses, func(c *nodev1.RuntimeClass) bool { return c.Name == class })
}

// matches reports whether the labels of a node are what a workload asks for.
func (p *play) matches(w workload, node string) bool {
	p.t.Helper()
	matched, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: p.podSpec(w)}).Match(p.nodeNamed(node))
	p.do(err)
	return matched
}

func (p *play) nodeNamed(name string) *corev1.Node {
	p.t.Helper()
	var node corev1.Node
	p.do(p.Get(p.t.Context(), client.ObjectKey{Name: name}, &node))
	return &node
}

// observedClasses reports which RuntimeClasses have gone that somebody names.
func (p *play) observedClasses() outcome {
	p.t.Helper()
	live := map[string]*nodev1.RuntimeClass{}
	for _, class := range p.world().RuntimeClasses {
		live[class.Name] = class
	}
	var o outcome
	for _, class := range p.before.RuntimeClasses {
		action := ""
		if now := live[class.Name]; now == nil {
			action = "delete"
		} else if now.UID != p.classes[class.Name] {
			action = "replace"
		}
		pods := 0
		for _, pod := range p.before.Pods {
			if pod.RuntimeClass == class.Name && !pod.Finished {
				pods++
			}
		}
		var names []string
		for _, w := range p.scenario.workloads {
			if name := p.podSpec(w).RuntimeClassName; name != nil && *name == class.Name && w.kind != "Pod" && (w.kind != "Job" || !p.over[w.name]) {
				names = append(names, w.kind+"/"+w.name)
			}
		}
		if action != "" && (pods > 0 || len(names) > 0) {
			o = append(o, p.classFate(class.Name, action, pods, names))
		}
	}
	return o
}

// shutNodes are the nodes of several pools on which the pods of none of them can
// run, each with these pools.
func (p *play) shutNodes() map[string][]string {
	p.t.Helper()
	probes := map[place]probe{}
	shared := map[string][]string{}
	for _, node := range p.nodes() {
		pools := p.poolsOf(node)
		if len(pools) < 2 {
			continue
		}
		shared[node.Name] = pools
		for _, pool := range pools {
			spec := newWorkload("Pod", pool, 1, nil).spec
			spec.RuntimeClassName = ptr.To(v1.RuntimeClassName(pool))
			probes[place{workload: pool, node: node.Name}] = probe{spec: spec, node: p.short(node.Name)}
		}
	}
	answers := p.ask(probes)
	maps.DeleteFunc(shared, func(node string, pools []string) bool {
		return slices.ContainsFunc(pools, func(pool string) bool { return answers[place{workload: pool, node: node}] != "" })
	})
	return shared
}

// poolsOf are the pools that have put something on a node, sorted.
func (p *play) poolsOf(node *corev1.Node) []string {
	p.t.Helper()
	record, err := plan.ParseRecord(node.Annotations[v1.AppliedAnnotation])
	p.do(err)
	return slices.Sorted(maps.Keys(record.Pools()))
}

// observedStarts reports on which nodes DaemonSets have a pod that had none.
//
// A pod that waits asks for its node by name instead of what the affinity of its
// template asks, and has the tolerations of its RuntimeClass. So a change may let it
// onto a node where its controller, which goes by the template, does not keep it. The
// scheduler binds it, and the controller deletes it right after: this is waited for,
// and is no start.
func (p *play) observedStarts() outcome {
	p.t.Helper()
	had := map[place]bool{}
	for _, pod := range p.before.Pods {
		had[place{workload: pod.Owner.Name, node: pod.Node}] = true
	}
	var o outcome
	for _, w := range p.scenario.workloads {
		if w.kind != "DaemonSet" {
			continue
		}
		p.eventually("the pods of "+w.name+" have their nodes", func() error {
			pods, err := p.podsOf(w.name)
			if err != nil {
				return err
			}
			for _, pod := range pods {
				if pod.Spec.NodeName == "" && !unschedulable(&pod) {
					return fmt.Errorf("pod %s waits", pod.Name)
				}
			}
			return nil
		})
		p.soonEnough(func() bool { return p.predictsStarts(w.name) })
		for node := range p.history.nodes(p.slug, w.name, p.uids) {
			switch {
			case had[place{workload: w.name, node: node}]:
			case p.keeps(w, node):
				o = append(o, fate{of: "DaemonSet/" + w.name, node: p.short(node), what: started})
			default:
				p.leaves(w, node)
			}
		}
	}
	return o
}

// keeps reports whether the controller of a DaemonSet leaves a pod on the node, going by
// the template alone.
func (p *play) keeps(w workload, node string) bool {
	p.t.Helper()
	evicts := func(taint *corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoExecute }
	_, untolerated := schedulinghelper.FindMatchingUntoleratedTaint(
		klog.Logger{}, p.nodeNamed(node).Spec.Taints, p.podSpec(w).Tolerations, evicts, true)
	return !untolerated && p.matches(w, node)
}

// leaves waits until the pods of a workload on the node are being deleted.
func (p *play) leaves(w workload, node string) {
	p.t.Helper()
	p.eventually("the pod of "+w.name+" leaves "+node, func() error {
		pods, err := p.podsOf(w.name)
		for _, pod := range pods {
			if pod.Spec.NodeName == node && pod.DeletionTimestamp == nil {
				return fmt.Errorf("pod %s is there", pod.Name)
			}
		}
		return err
	})
}

// predictsStarts reports whether all starts have been seen that were predicted: news
// takes its time.
func (p *play) predictsStarts(daemonSet string) bool {
	nodes := p.history.nodes(p.slug, daemonSet, p.uids)
	return !slices.ContainsFunc(p.prediction(), func(f fate) bool {
		return f.of == "DaemonSet/"+daemonSet && f.what == started && !nodes[p.full(f.node)]
	})
}

// homeless are the workloads for whose next pod the scheduler finds no node. For a
// DaemonSet that names a RuntimeClass, its controller has to be asked as well, and
// that goes by the template alone: so each node is tried both ways.
func (p *play) homeless() map[string]bool {
	p.t.Helper()
	probes := map[place]probe{}
	without := map[string]bool{}
	for _, w := range p.scenario.workloads {
		if w.kind == "Static" || w.kind == "Pod" {
			continue // nothing creates a next pod
		}
		without[w.title()] = true
		spec := p.nextPod(w)
		if w.kind != "DaemonSet" || spec.RuntimeClassName == nil {
			probes[place{workload: w.title()}] = probe{spec: spec}
			continue
		}
		bare := *spec.DeepCopy()
		bare.RuntimeClassName = nil
		for _, node := range p.scenario.nodes {
			probes[place{workload: w.title(), node: node.name}] = probe{spec: *spec.DeepCopy(), node: node.name}
			probes[place{workload: w.title() + templateAlone, node: node.name}] = probe{spec: *bare.DeepCopy(), node: node.name}
		}
	}
	answers := p.ask(probes)
	for at, node := range answers {
		alone, asked := answers[place{workload: at.workload + templateAlone, node: at.node}]
		if node != "" && (!asked || alone != "") {
			without[at.workload] = false
		}
	}
	return without
}

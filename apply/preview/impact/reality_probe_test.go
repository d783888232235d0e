package impact_test

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// probe is a pod that is created to see where the scheduler puts it.
type probe struct {
	spec corev1.PodSpec
	// node pins it; empty for any.
	node string
}

// ask returns the nodes on which the probes were put: "" where the scheduler
// found none, or where the pod was refused.
func (p *play) ask(probes map[place]probe) map[place]string {
	p.t.Helper()
	answers := map[place]string{}
	asked := map[place]*corev1.Pod{}
	for query, probe := range probes {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: p.probes()}, Spec: probe.spec}
		pod.Spec.TopologySpreadConstraints = nil
		// How long something is tolerated is nothing to the scheduler, and the probe
		// shall be there until it is asked.
		for i := range pod.Spec.Tolerations {
			pod.Spec.Tolerations[i].TolerationSeconds = nil
		}
		pod.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
		if probe.node != "" {
			pin(&pod.Spec, p.full(probe.node))
		}
		if err := p.Create(p.t.Context(), pod); apierrors.IsForbidden(err) {
			answers[query] = ""
			continue
		} else if err != nil {
			p.t.Fatal(err)
		}
		asked[query] = pod
	}
	p.eventually("the scheduler has an answer", func() error {
		for query, pod := range asked {
			var live corev1.Pod
			if err := p.Get(p.t.Context(), client.ObjectKeyFromObject(pod), &live); err != nil {
				return err
			}
			if live.Spec.NodeName == "" && !unschedulable(&live) {
				return fmt.Errorf("none for %v: %v", query, live.Status.Conditions)
			}
			answers[query] = p.short(live.Spec.NodeName)
		}
		return nil
	})
	p.do(p.DeleteAllOf(p.t.Context(), &corev1.Pod{}, client.InNamespace(p.probes()), client.GracePeriodSeconds(0)))
	return answers
}

// pin binds a pod to a node by the one means that asks for nothing of the node
// but its name. Taints and labels still count.
func pin(spec *corev1.PodSpec, node string) {
	name := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}},
		}}
	}
	terms := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchFields = append(terms[i].MatchFields, name)
	}
}

func unschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
	})
}

// fits reports for every workload and each node on which a pod of it runs, whether
// its next pod would be put there.
func (p *play) fits() map[place]bool {
	p.t.Helper()
	p.admissionKnows()
	probes := map[place]probe{}
	for _, pod := range p.before.Pods {
		if pod.Finished || pod.Static {
			continue
		}
		if _, ended := p.history.of(p.uids[pod.Name]); !ended {
			w := p.workloadOf(pod.Name, pod.Owner.Name)
			at := place{workload: w.title(), node: p.short(pod.Node)}
			spec := p.nextPod(w)
			// A cordon is left aside: what is reported does not depend on the hour.
			spec.Tolerations = append(spec.Tolerations, cordonToleration)
			probes[at] = probe{spec: spec, node: at.node}
			if w.kind == "DaemonSet" && spec.RuntimeClassName != nil {
				// Its controller makes no pod where the template alone does not fit.
				spec.RuntimeClassName = nil
				probes[place{workload: at.workload + templateAlone, node: at.node}] = probe{spec: *spec.DeepCopy(), node: at.node}
			}
		}
	}
	fits := map[place]bool{}
	answers := p.ask(probes)
	for at, node := range answers {
		alone, asked := answers[place{workload: at.workload + templateAlone, node: at.node}]
		fits[at] = node != "" && (!asked || alone != "")
	}
	return fits
}

const templateAlone = " by its template alone"

// workloadOf finds the workload of a pod in the scenario.
func (p *play) workloadOf(pod, owner string) workload {
	p.t.Helper()
	for _, w := range p.scenario.workloads {
		if w.name == owner || owner == "" && w.name == pod {
			return w
		}
	}
	p.t.Fatalf("pod %s is of no workload", pod)
	return workload{}
}

// nextPod is the next pod of a workload, as its controller makes it.
func (p *play) nextPod(w workload) corev1.PodSpec {
	spec := p.podSpec(w)
	if w.kind == "DaemonSet" {
		spec.Tolerations = append(spec.Tolerations, cordonToleration)
	}
	return spec
}

var cordonToleration = corev1.Toleration{
	Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
}

// admissionKnows waits until the admission of pods, which reads RuntimeClasses
// from a cache, adds what they say now.
func (p *play) admissionKnows() {
	p.t.Helper()
	classes := map[string]*nodev1.RuntimeClass{}
	for _, pools := range []map[string]bool{keysOf(p.scenario.before), keysOf(p.scenario.after)} {
		for pool := range pools {
			classes["node-pool-"+p.full(pool)] = nil
		}
	}
	for _, class := range p.world().RuntimeClasses {
		classes[class.Name] = class
	}
	for name, class := range classes {
		p.eventually("the admission knows RuntimeClass "+name, func() error {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: p.probes()},
				Spec:       corev1.PodSpec{RuntimeClassName: &name, Containers: []corev1.Container{{Name: "main", Image: "none"}}},
			}
			err := p.Create(p.t.Context(), pod, client.DryRunAll)
			switch {
			case class == nil && apierrors.IsForbidden(err):
				return nil
			case err != nil || class == nil:
				return fmt.Errorf("want it to be there: %t; create: %w", class != nil, err)
			case class.Scheduling == nil:
				return nil
			case !maps.Equal(pod.Spec.NodeSelector, class.Scheduling.NodeSelector):
				return fmt.Errorf("it selects %v", pod.Spec.NodeSelector)
			}
			// Besides those of the class there are the two that every pod gets.
			if len(pod.Spec.Tolerations) != len(class.Scheduling.Tolerations)+2 {
				return fmt.Errorf("it tolerates %v", pod.Spec.Tolerations)
			}
			for _, wanted := range class.Scheduling.Tolerations {
				if !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.MatchToleration(&wanted) }) {
					return fmt.Errorf("it tolerates %v", pod.Spec.Tolerations)
				}
			}
			return nil
		})
	}
}

func keysOf[V any](m map[string]V) map[string]bool {
	keys := make(map[string]bool, len(m))
	for key := range m {
		keys[key] = true
	}
	return keys
}

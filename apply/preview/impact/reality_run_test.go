package impact_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// run creates a workload.
func (p *play) run(w workload) {
	p.t.Helper()
	object := p.object(w)
	switch w.kind {
	case "Static":
		p.runStatic(object.(*corev1.Pod))
		return
	case "Pod":
		// RuntimeClasses reach the admission of pods through a cache.
		p.eventually("pod "+w.name+" is admitted", func() error {
			err := p.Create(p.t.Context(), object)
			if apierrors.IsInvalid(err) {
				p.t.Fatal(err)
			}
			return client.IgnoreAlreadyExists(err)
		})
		return
	}
	p.do(p.Create(p.t.Context(), object))
	if cron, is := object.(*batchv1.CronJob); is {
		p.do(p.Create(p.t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{
				Name: w.name + "-now", Namespace: p.slug,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
			},
			Spec: cron.Spec.JobTemplate.Spec,
		}))
	}
}

// runStatic makes the picture of a static pod, as the kubelet of its node does.
func (p *play) runStatic(pod *corev1.Pod) {
	p.t.Helper()
	config, err := p.cluster.AddUser("system:node:"+pod.Spec.NodeName, "system:nodes")
	p.do(err)
	kubelet, err := client.New(config, client.Options{Scheme: p.Scheme(), Mapper: p.RESTMapper()})
	p.do(err)
	var node corev1.Node
	p.do(p.Get(p.t.Context(), client.ObjectKey{Name: pod.Spec.NodeName}, &node))
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "picture"}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: ptr.To(true),
	}}
	p.do(kubelet.Create(p.t.Context(), pod))
}

// runs waits until the pods of all workloads run, and until their budgets know.
func (p *play) runs() {
	p.t.Helper()
	for _, w := range p.scenario.workloads {
		p.eventually(w.kind+" "+w.name+" runs", func() error {
			pods, err := p.podsOf(w.name)
			if err != nil {
				return err
			}
			done, waiting := 0, 0
			for _, pod := range pods {
				if unschedulable(&pod) {
					waiting++
				}
				if phase := pod.Status.Phase; phase == corev1.PodRunning || phase == corev1.PodSucceeded {
					done++
				}
				if w.ends() && !unschedulable(&pod) && pod.Status.Phase != corev1.PodSucceeded {
					return fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
				}
			}
			if w.ends() && done == w.pods {
				if err := p.hasEnded(w); err != nil {
					return err
				}
			}
			if p.scenario.settles {
				if len(pods) != done+waiting {
					return fmt.Errorf("of %d pods %d run and %d find no node", len(pods), done, waiting)
				}
				return p.isMade(w, len(pods))
			}
			if done != w.pods || waiting != w.waiting || len(pods) != w.pods+w.waiting {
				return fmt.Errorf("of %d pods %d run, want %d, and %d find no node, want %d", len(pods), done, w.pods, waiting, w.waiting)
			}
			if w.kind == "DaemonSet" {
				return p.isMade(w, w.pods+w.waiting)
			}
			return nil
		})
	}
	for _, b := range p.scenario.budgets {
		p.eventually("the budget of "+b.workload+" is worked out", func() error {
			var live policyv1.PodDisruptionBudget
			if err := p.Get(p.t.Context(), client.ObjectKey{Namespace: p.slug, Name: b.workload}, &live); err != nil {
				return err
			}
			pods, err := p.podsOf(b.workload)
			ready := 0
			for _, pod := range pods {
				if pod.Status.Phase == corev1.PodRunning {
					ready++
				}
			}
			if err == nil && (live.Status.ObservedGeneration != live.Generation || int(live.Status.CurrentHealthy) != ready) {
				err = fmt.Errorf("it counts %d healthy pods of %d", live.Status.CurrentHealthy, ready)
			}
			return err
		})
	}
}

// isMade reports whether the workload has all the pods that it shall have.
func (p *play) isMade(w workload, pods int) error {
	if w.kind != "DaemonSet" {
		if pods < w.pods {
			return fmt.Errorf("it has %d pods, want %d", pods, w.pods)
		}
		return nil
	}
	var set appsv1.DaemonSet
	if err := p.Get(p.t.Context(), client.ObjectKey{Namespace: p.slug, Name: w.name}, &set); err != nil {
		return err
	}
	if set.Status.ObservedGeneration != set.Generation || int(set.Status.DesiredNumberScheduled) != pods {
		return fmt.Errorf("it has %d pods, want %d", pods, set.Status.DesiredNumberScheduled)
	}
	return nil
}

// hasEnded reports whether the Job controller knows that all pods of a Job have
// succeeded. It learns of them later than who lists pods, and until then the Job
// counts as one that makes more.
func (p *play) hasEnded(w workload) error {
	var live batchv1.Job
	if err := p.Get(p.t.Context(), client.ObjectKey{Namespace: p.slug, Name: w.name}, &live); err != nil {
		return err
	}
	if !isOver(&live) {
		return fmt.Errorf("all its pods have succeeded, and its conditions are %v", live.Status.Conditions)
	}
	return nil
}

func (p *play) podsOf(name string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := p.List(p.t.Context(), &pods, client.InNamespace(p.slug), client.MatchingLabels{"app": name})
	return pods.Items, err
}

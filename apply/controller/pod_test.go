package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pod makes a pod that names a RuntimeClass, or none, and nothing else.
func (w *world) pod(name, runtimeClass string) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{
			Containers:                    []corev1.Container{{Name: "main", Image: "none"}},
			TerminationGracePeriodSeconds: ptr.To[int64](0),
		},
	}
	if runtimeClass != "" {
		pod.Spec.RuntimeClassName = &runtimeClass
	}
	// RuntimeClasses reach the admission of pods through a cache.
	w.eventually("pod "+name+" is admitted", func() error {
		return w.Create(w.t.Context(), pod.DeepCopy())
	})
}

func (w *world) runsOn(pod, node string) {
	w.t.Helper()
	w.eventually("pod "+pod+" runs on node "+node, func() error {
		live, err := w.getPod(pod)
		if err == nil && (live.Spec.NodeName != node || live.Status.Phase != corev1.PodRunning) {
			err = fmt.Errorf("it is %s on %q: %v", live.Status.Phase, live.Spec.NodeName, live.Status.Conditions)
		}
		return err
	})
}

// cannotRun waits until the scheduler has found no node for a pod.
func (w *world) cannotRun(pod string) {
	w.t.Helper()
	w.eventually("pod "+pod+" finds no node", func() error {
		live, err := w.getPod(pod)
		if err != nil {
			return err
		}
		for _, condition := range live.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
				return nil
			}
		}
		return fmt.Errorf("it is %s on %q", live.Status.Phase, live.Spec.NodeName)
	})
}

func (w *world) getPod(name string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := w.Get(w.t.Context(), client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}, pod)
	return pod, err
}

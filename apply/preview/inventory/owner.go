package inventory

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	deployment = "Deployment"
	replicaSet = "ReplicaSet"
	job        = "Job"
	daemonSet  = "DaemonSet"
)

// builtIn are the kinds of Kubernetes itself that create pods, and their groups.
var builtIn = map[string]string{
	deployment: appsv1.GroupName, replicaSet: appsv1.GroupName,
	"StatefulSet": appsv1.GroupName, daemonSet: appsv1.GroupName,
	job: batchv1.GroupName, "CronJob": batchv1.GroupName,
}

// groupOf returns the group of a kind as an [Owner] has it.
func groupOf(group, kind string) string {
	if known, found := builtIn[kind]; found && group == known {
		return ""
	}
	return group
}

// isLink reports whether an object is between pods and what recreates them: a
// ReplicaSet of a Deployment, a Job of a CronJob. One that nothing else controls is
// the end of the chain.
func (o Owner) isLink() bool { return o.Group == "" && (o.Kind == replicaSet || o.Kind == job) }

// controllerOf returns the controller of an object, of any kind; empty for none.
func controllerOf(object metav1.Object) Owner {
	controller := metav1.GetControllerOfNoCopy(object)
	if controller == nil {
		return Owner{}
	}
	group, _, grouped := strings.Cut(controller.APIVersion, "/")
	if !grouped {
		group = "" // it is the version alone
	}
	return Owner{Group: groupOf(group, controller.Kind), Kind: controller.Kind, Namespace: object.GetNamespace(), Name: controller.Name}
}

// isOver reports whether a Job creates no more pods.
func isOver(job *batchv1.Job) bool {
	for _, condition := range job.Status.Conditions {
		ended := condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed
		if ended && condition.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// isReady reports whether the disruption controller counts a pod as healthy.
func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

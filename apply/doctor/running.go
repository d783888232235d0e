package doctor

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/manifests"
)

const deploymentObject = "deployment/" + manifests.Name

// controller is the Deployment and its replicas.
func controller(s *State) []Finding {
	d := s.Deployment
	describe := fmt.Sprintf("%s --namespace %s; kubectl logs %s --namespace %s", command.Describe(deploymentObject), s.Namespace, deploymentObject, s.Namespace)
	switch {
	case d == nil:
		return []Finding{{Severity: Note, Message: fmt.Sprintf("there is no Deployment %s in %s: the controller is to run elsewhere", manifests.Name, s.Namespace),
			Action: "if it is installed in another namespace, name that with --namespace"}}
	case d.Spec.Replicas != nil && *d.Spec.Replicas == 0:
		return []Finding{{Severity: Problem, Object: deploymentObject, Message: "has no replicas: nothing is carried out", Action: fmt.Sprintf("kubectl scale %s --replicas 2 --namespace %s", deploymentObject, s.Namespace)}}
	case d.Status.ReadyReplicas == 0:
		return []Finding{{Severity: Problem, Object: deploymentObject, Message: "has no replica that is ready" + failure(d), Action: describe}}
	case failure(d) != "":
		return []Finding{{Severity: Problem, Object: deploymentObject, Message: "does not get on with its rollout, and what is ready may be of before it" + failure(d), Action: describe}}
	case d.Spec.Replicas != nil && d.Status.ReadyReplicas < *d.Spec.Replicas:
		return []Finding{{Severity: Note, Object: deploymentObject, Message: fmt.Sprintf("%d of %d replicas are ready", d.Status.ReadyReplicas, *d.Spec.Replicas), Action: describe}}
	case d.Status.ObservedGeneration < d.Generation || d.Spec.Replicas != nil && d.Status.UpdatedReplicas < *d.Spec.Replicas:
		return []Finding{{Severity: Note, Object: deploymentObject, Message: "a rollout is under way: not every replica that is ready is of the present version", Action: describe}}
	}
	return nil
}

// failure is what a Deployment says of why its pods do not come; empty where they do.
func failure(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue || c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return ": " + c.Message
		}
	}
	return ""
}

func controllerFine(s *State) string {
	return fmt.Sprintf("%d replicas are ready", s.Deployment.Status.ReadyReplicas)
}

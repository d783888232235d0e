package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
)

const deploymentObject = "deployment/" + manifests.Name

// controller is the Deployment and its replicas.
func controller(s *State) []Finding {
	d := s.Deployment
	describe := fmt.Sprintf("kubectl describe %s --namespace %s; kubectl logs %s --namespace %s", deploymentObject, s.Namespace, deploymentObject, s.Namespace)
	switch {
	case d == nil:
		return []Finding{{Severity: Note, Message: fmt.Sprintf("there is no Deployment %s in %s: the controller is to run elsewhere", manifests.Name, s.Namespace),
			Action: "if it is installed in another namespace, name that with --namespace"}}
	case d.Spec.Replicas != nil && *d.Spec.Replicas == 0:
		return []Finding{{Severity: Problem, Object: deploymentObject, Message: "has no replicas: nothing is carried out", Action: fmt.Sprintf("kubectl scale %s --replicas 2 --namespace %s", deploymentObject, s.Namespace)}}
	case d.Status.ReadyReplicas == 0:
		return []Finding{{Severity: Problem, Object: deploymentObject, Message: "has no replica that is ready", Action: describe}}
	case d.Spec.Replicas != nil && d.Status.ReadyReplicas < *d.Spec.Replicas:
		return []Finding{{Severity: Note, Object: deploymentObject, Message: fmt.Sprintf("%d of %d replicas are ready", d.Status.ReadyReplicas, *d.Spec.Replicas), Action: describe}}
	}
	return nil
}

func controllerFine(s *State) string {
	return fmt.Sprintf("%d replicas are ready", s.Deployment.Status.ReadyReplicas)
}

// clockSkew is how far the clock of this machine may be from that of the controller.
const clockSkew = time.Minute

// lease is to be held, and renewed: else nothing works.
func lease(s *State) []Finding {
	object := "lease/" + v1.LeaseName
	action := "see whether the controller runs, and what its log says"
	if s.Lease == nil {
		return []Finding{{Severity: Problem, Message: fmt.Sprintf("there is none in %s: no controller has worked by one yet", s.Namespace),
			Action: action + "; if it is installed in another namespace, name that with --namespace"}}
	}
	spec := s.Lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return []Finding{{Severity: Problem, Object: object, Message: "nobody holds it, so nothing is carried out", Action: action}}
	}
	if age := s.Now.Sub(spec.RenewTime.Time); age > time.Duration(*spec.LeaseDurationSeconds)*time.Second+clockSkew {
		return []Finding{{Severity: Problem, Object: object,
			Message: fmt.Sprintf("was renewed last %s ago, by %s: nothing is carried out, and what is reported of pools and sources is as old", age.Round(time.Second), *spec.HolderIdentity),
			Action:  action}}
	}
	return nil
}

func leaseFine(s *State) string { return "held by " + *s.Lease.Spec.HolderIdentity }

// metrics are served by the container, where there is one.
func metrics(s *State) []Finding {
	if s.Deployment == nil {
		return []Finding{{Severity: Note, Message: "not checked: the controller runs elsewhere"}}
	}
	for _, c := range s.Deployment.Spec.Template.Spec.Containers {
		if c.Name == manifests.Name && slices.Contains(c.Args, "--metrics-bind-address=0") {
			return []Finding{{Severity: Note, Message: "the controller is told to serve none", Action: "without --metrics-bind-address=0 alerts have something to go by"}}
		}
	}
	return nil
}

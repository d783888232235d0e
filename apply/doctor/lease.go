package doctor

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// clockSlack is how far apart the clocks of the API server and of the controller may be,
// and how coarse that of the API server is known.
const clockSlack = 2 * time.Second

// Held reports whether somebody holds a lease.
func Held(lease *coordinationv1.Lease) bool {
	spec := lease.Spec
	return spec.HolderIdentity != nil && *spec.HolderIdentity != "" && spec.RenewTime != nil && spec.LeaseDurationSeconds != nil
}

// Current reports whether the time at which a lease was renewed is one of a holder that
// works. Where it is not, that may be for the clock of the holder: one that works renews
// the lease again.
func Current(lease *coordinationv1.Lease, now time.Time) bool {
	if !Held(lease) {
		return false
	}
	age := now.Sub(lease.Spec.RenewTime.Time)
	return age >= -clockSlack && age <= time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second+clockSlack
}

// lease is to be held, and renewed: else nothing works. There is to be one in the cluster.
func lease(s *State) []Finding {
	object := "lease/" + v1.LeaseName
	action := "see whether the controller runs, and what its log says"
	elsewhere := others(s)
	if s.Lease == nil {
		if len(elsewhere) > 0 {
			return []Finding{{Severity: Problem, Message: fmt.Sprintf("there is none in %s, but %s has one that is held", s.Namespace, elsewhere[0].Namespace),
				Action: "name the namespace of the controller with --namespace " + elsewhere[0].Namespace}}
		}
		return []Finding{{Severity: Problem, Message: fmt.Sprintf("there is none in %s: no controller has worked by one yet", s.Namespace),
			Action: action + "; if it is installed in another namespace, name that with --namespace"}}
	}
	if !Held(s.Lease) {
		return []Finding{{Severity: Problem, Object: object, Message: "nobody holds it, so nothing is carried out", Action: action}}
	}
	holder := *s.Lease.Spec.HolderIdentity
	if !s.Renewed && !Current(s.Lease, s.Now) {
		age := s.Now.Sub(s.Lease.Spec.RenewTime.Time).Round(time.Second)
		when := fmt.Sprintf("was renewed last %s ago", age)
		if age < 0 {
			when = fmt.Sprintf("was renewed last by a clock that is %s ahead of the API server's, and is not renewed any more", -age)
		}
		return []Finding{{Severity: Problem, Object: object,
			Message: fmt.Sprintf("%s, by %s: nothing is carried out, and what is reported of pools and sources is as old", when, holder),
			Action:  action}}
	}
	var found []Finding
	for _, other := range elsewhere {
		found = append(found, Finding{Severity: Problem, Object: object,
			Message: fmt.Sprintf("is held by %s, and that of the namespace %s by %s: two controllers write the same nodes", holder, other.Namespace, *other.Spec.HolderIdentity),
			Action:  fmt.Sprintf("keep one of them: kubectl scale deployment/%s --replicas 0 --namespace NAMESPACE", manifests.Name)})
	}
	return found
}

// others are the leases of other namespaces by which a controller works.
func others(s *State) []*coordinationv1.Lease {
	var found []*coordinationv1.Lease
	for _, other := range s.OtherLeases {
		if Current(other, s.Now) {
			found = append(found, other)
		}
	}
	return found
}

func leaseFine(s *State) string { return "held by " + *s.Lease.Spec.HolderIdentity }

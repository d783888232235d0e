package doctor

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/nodepools/nodepools/api/manifests"
)

// rights are those of the account by which the Deployment runs.
func rights(s *State) []Finding {
	account := AccountName(s.Deployment)
	if s.Account == nil {
		return []Finding{{Severity: Note, Message: fmt.Sprintf("there is no ServiceAccount %s in %s: the controller runs elsewhere, with rights that are not known", account, s.Namespace),
			Action: "if it is installed in another namespace, name that with --namespace"}}
	}
	lacks := func(missing []string, why, action string) Finding {
		return Finding{Severity: Problem, Object: "serviceaccount/" + account, Message: "may not " + strings.Join(missing, ", nor ") + why, Action: action}
	}
	var found []Finding
	if len(s.Missing) > 0 {
		found = append(found, lacks(s.Missing, "", reinstall))
	}
	if pools := drainedPools(s); len(pools) > 0 && len(s.MissingForDrains) > 0 {
		found = append(found, lacks(s.MissingForDrains, ", so nodes cannot be drained for "+named(pools),
			"add --rollout to 'nodepools install', and apply what it prints, or set rollout.enabled=true of the Helm chart; or take rollout.drain out of the pools"))
	}
	return found
}

// rightsFine says what was judged: a pool that is not known may have nodes drained.
func rightsFine(s *State) string {
	if len(s.MissingForDrains) > 0 && s.Unread[Pools] != nil {
		return "the controller has all that it needs, unless a pool has rollout.drain: pools could not be read"
	}
	return "the controller has all that it needs"
}

// drainedPools are those whose rollout has nodes drained, by name.
func drainedPools(s *State) []string {
	var names []string
	for _, pool := range s.Pools {
		if rollout := pool.Spec.Rollout; rollout != nil && rollout.Drain != nil {
			names = append(names, pool.Name)
		}
	}
	slices.Sort(names)
	return names
}

// maxNamed is how many pools are named that something is wrong with for one cause.
const maxNamed = 3

// named names pools, and counts those that are too many.
func named(pools []string) string {
	text := "pool "
	if len(pools) > 1 {
		text = "the pools "
	}
	if more := len(pools) - maxNamed; more > 0 {
		return text + strings.Join(pools[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return text + strings.Join(pools, ", ")
}

// AccountName is the name of the ServiceAccount by which a Deployment runs: the one that
// is installed, where there is no Deployment.
func AccountName(d *appsv1.Deployment) string {
	switch {
	case d == nil:
		return manifests.Name
	case d.Spec.Template.Spec.ServiceAccountName == "":
		return "default"
	}
	return d.Spec.Template.Spec.ServiceAccountName
}

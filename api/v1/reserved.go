package v1

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Some keys of a node belong to Kubernetes or to another controller. The schema
// repeats what this file says of them, see the markers of [NodePool],
// [NodePoolSpec] and its labels.

// identityLabels say what machine a node is. The scheduler, volumes and
// DaemonSets rely on them, so a pool never sets them.
var identityLabels = regexp.MustCompile(`^(beta[.])?kubernetes[.]io/(hostname|os|arch)$`)

// reportOnlyLabels are set by kubelets, cloud providers and Karpenter, and say
// where a node is and how it was made. That a node is of the control plane is
// for the installer of the cluster to say.
var reportOnlyLabels = regexp.MustCompile(`^((topology|failure-domain[.]beta|node)[.]kubernetes[.]io/|beta[.]kubernetes[.]io/instance-type$|karpenter[.]sh/|node-role[.]kubernetes[.]io/(control-plane|master)$)`)

// reportOnlyTaints are set and removed by installers, by the cluster autoscaler
// and by Karpenter, which go by them when they add and delete nodes. Those of the
// autoscaler that have a prefix are set by others, who remove them when a node
// is fit for use.
var reportOnlyTaints = regexp.MustCompile(`^(node-role[.]kubernetes[.]io/(control-plane|master)$|(ToBeDeletedBy|DeletionCandidateOf)ClusterAutoscaler$|(startup-taint|status-taint|ignore-taint)[.]cluster-autoscaler[.]kubernetes[.]io/|karpenter[.]sh/|node[.]cluster[.]x-k8s[.]io/)`)

// ReportOnlyLabel reports whether a label belongs to another program, so that no
// pool takes it over or adopts it: towards this key every conflict policy is
// Report.
func ReportOnlyLabel(key string) bool { return reportOnlyLabels.MatchString(key) }

// ReportOnlyTaint reports whether a taint of this key belongs to another program,
// so that no pool takes it over or adopts it: towards this key every conflict
// policy is Report.
func ReportOnlyTaint(key string) bool { return reportOnlyTaints.MatchString(key) }

// controlPlanePools are the names of pools whose role label Kubernetes itself
// gives a meaning to.
var controlPlanePools = []string{"control-plane", "master"}

// ValidateRoles returns what of a pool would give nodes a role that is not its to
// give: the role label of another pool, which is what that pool's RuntimeClass
// selects; the own one with a value, by which no pool chooses; or that of the
// control plane for nodes that somebody did not make part of it.
func ValidateRoles(pool *NodePool) field.ErrorList {
	var problems field.ErrorList
	spec := field.NewPath("spec")
	for _, key := range slices.Sorted(maps.Keys(pool.Spec.Labels)) {
		at := spec.Child("labels").Key(key)
		switch name, isRole := strings.CutPrefix(key, RoleLabelPrefix); {
		case !isRole:
		case name != pool.Name:
			problems = append(problems, field.Forbidden(at, fmt.Sprintf("is the role label of a pool %q: only that pool puts it on nodes; define a pool of that name to show it in the ROLES column", name)))
		case pool.Spec.Labels[key] != "":
			problems = append(problems, field.Forbidden(at, "is the pool's own role label, whose value is empty: leave it out, as the controller sets it"))
		}
	}
	if slices.Contains(controlPlanePools, pool.Name) {
		detail := fmt.Sprintf("a pool named %s chooses its members by the label %s alone, because Kubernetes gives that label a meaning: leave it out, or give the pool another name", pool.Name, RoleLabel(pool.Name))
		if pool.Spec.Selector != nil {
			problems = append(problems, field.Forbidden(spec.Child("selector"), detail))
		}
		if pool.Spec.NodeNames != nil {
			problems = append(problems, field.Forbidden(spec.Child("nodeNames"), detail))
		}
	}
	return problems
}

// validateReserved refuses keys that are not for pools to set, or not for a pool
// of this conflict policy.
func validateReserved(spec *NodePoolSpec, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	takes := spec.ConflictPolicy == TakeOver || spec.ConflictPolicy == Adopt
	refused := fmt.Sprintf("belongs to Kubernetes or another controller, so no pool takes it over or adopts it: use conflictPolicy %s, or leave the key out", ReportConflicts)
	for key := range spec.Labels {
		switch {
		case identityLabels.MatchString(key):
			problems = append(problems, field.Forbidden(at.Child("labels").Key(key), "says what machine a node is, and is the kubelet's to set"))
		case takes && ReportOnlyLabel(key):
			problems = append(problems, field.Forbidden(at.Child("labels").Key(key), refused))
		}
	}
	for i, taint := range spec.Taints {
		if takes && ReportOnlyTaint(taint.Key) {
			problems = append(problems, field.Forbidden(at.Child("taints").Index(i).Child("key"), refused))
		}
	}
	return sorted(problems)
}

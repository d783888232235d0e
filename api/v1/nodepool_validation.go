package v1

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxNameLength is that of the name part of a label key: a pool's name becomes
// the name part of its role label.
const maxNameLength = utilvalidation.LabelValueMaxLength

// The bounds that the schema sets; ValidateNodePool repeats them.
const (
	maxKeys                  = 64
	maxTaints                = 32
	maxNodeNames             = 1000
	maxAnnotationValueLength = 1024
	// maxAnnotationBytes is the size of all annotations of a pool, keys and values.
	// All annotations of a node share 262,144 bytes, and whatever exceeds them
	// makes the API server refuse every write to the node, those for other pools
	// too. The record repeats each value, in JSON, where a control character has
	// six bytes, and repeats labels and taints, at most 40 KiB: in the worst case a
	// pool takes 97 KiB of a node. What pools say in practice is below 1 KiB.
	maxAnnotationBytes = 8 << 10
)

// conditionTaints report the condition of a node. Kubernetes or an agent of the node
// removes such a taint when the node is ready, and a pool would put it back.
var conditionTaints = regexp.MustCompile(`^(node|node[.]cloudprovider)[.]kubernetes[.]io/|^readiness[.]k8s[.]io/|/agent-not-ready$`)

// IsConditionTaint reports whether a taint of this key reports the condition of a
// node. No pool adds or removes such a taint.
func IsConditionTaint(key string) bool { return conditionTaints.MatchString(key) }

// ValidateNodePool returns every reason for which the API server would refuse
// the pool.
// It looks at the one pool; what pools must hold among themselves (unique
// names, parents that exist) is for the package that knows them all.
func ValidateNodePool(pool *NodePool) field.ErrorList {
	problems := validateName(pool.Name, field.NewPath("metadata", "name"))
	spec := field.NewPath("spec")
	problems = append(problems, validateParent(pool, spec.Child("parent"))...)
	problems = append(problems, validateMembership(&pool.Spec, spec)...)
	problems = append(problems, validateLabels(pool.Spec.Labels, spec.Child("labels"))...)
	problems = append(problems, validateAnnotations(pool.Spec.Annotations, spec.Child("annotations"))...)
	problems = append(problems, validateTaints(pool.Spec.Taints, spec.Child("taints"))...)
	problems = append(problems, validateReserved(&pool.Spec, spec)...)
	problems = append(problems, ValidateRoles(pool)...)
	if pool.Spec.Handler != "" {
		for _, message := range utilvalidation.IsDNS1123Label(pool.Spec.Handler) {
			problems = append(problems, field.Invalid(spec.Child("handler"), pool.Spec.Handler, message))
		}
	}
	policies := []ConflictPolicy{Adopt, ReportConflicts, TakeOver}
	if policy := pool.Spec.ConflictPolicy; policy != "" && !slices.Contains(policies, policy) {
		problems = append(problems, field.NotSupported(spec.Child("conflictPolicy"), policy, policies))
	}
	return append(problems, validateRollout(pool.Spec.Rollout, spec.Child("rollout"))...)
}

func validateName(name string, at *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(at, "a pool needs a name")}
	}
	var problems field.ErrorList
	for _, message := range utilvalidation.IsDNS1123Subdomain(name) {
		problems = append(problems, field.Invalid(at, name, message))
	}
	if len(name) > maxNameLength {
		problems = append(problems, field.TooLong(at, name, maxNameLength))
	}
	return problems
}

func validateParent(pool *NodePool, at *field.Path) field.ErrorList {
	switch pool.Spec.Parent {
	case "":
		return nil
	case pool.Name:
		return field.ErrorList{field.Invalid(at, pool.Spec.Parent, "must name another pool")}
	default:
		return validateName(pool.Spec.Parent, at)
	}
}

func validateMembership(spec *NodePoolSpec, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if spec.Selector != nil && spec.NodeNames != nil {
		problems = append(problems, field.Forbidden(at.Child("nodeNames"), "excludes selector: a pool's members are chosen in one way"))
	}
	if spec.Selector != nil {
		problems = append(problems, validateSelector(spec.Selector, at.Child("selector"))...)
	}
	if spec.NodeNames != nil && len(spec.NodeNames) == 0 {
		problems = append(problems, field.Required(at.Child("nodeNames"), "leave it out to choose members by the role label"))
	}
	if len(spec.NodeNames) > maxNodeNames {
		problems = append(problems, field.TooMany(at.Child("nodeNames"), len(spec.NodeNames), maxNodeNames))
	}
	seen := map[string]bool{}
	for i, pattern := range spec.NodeNames {
		each := at.Child("nodeNames").Index(i)
		if seen[pattern] {
			problems = append(problems, field.Duplicate(each, pattern))
		}
		seen[pattern] = true
		problems = append(problems, ValidateNodeNamePattern(pattern, each)...)
	}
	return problems
}

func validateLabels(labels map[string]LabelValue, at *field.Path) field.ErrorList {
	problems := validateCount(len(labels), at)
	for key, value := range labels {
		problems = append(problems, validateKey(key, at.Key(key))...)
		problems = append(problems, validateLabelValue(string(value), at.Key(key))...)
	}
	return sorted(problems)
}

func validateAnnotations(annotations map[string]AnnotationValue, at *field.Path) field.ErrorList {
	problems := validateCount(len(annotations), at)
	size := 0
	for key, value := range annotations {
		size += len(key) + len(value)
		problems = append(problems, validateKey(key, at.Key(key))...)
		if len([]rune(value)) > maxAnnotationValueLength {
			problems = append(problems, field.TooLongMaxLength(at.Key(key), "", maxAnnotationValueLength))
		}
	}
	if size > maxAnnotationBytes {
		problems = append(problems, field.Forbidden(at, fmt.Sprintf("have %d bytes, keys and values together, and may have no more than %d: all annotations of a node share %d, those of other pools too; shorten them, or keep long texts elsewhere",
			size, maxAnnotationBytes, apivalidation.TotalAnnotationSizeLimitB)))
	}
	return sorted(problems)
}

func validateTaints(taints []Taint, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	if len(taints) > maxTaints {
		problems = append(problems, field.TooMany(at, len(taints), maxTaints))
	}
	effects := []corev1.TaintEffect{corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule}
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[identity]bool{}
	for i, taint := range taints {
		each := at.Index(i)
		problems = append(problems, validateKey(taint.Key, each.Child("key"))...)
		if IsConditionTaint(taint.Key) {
			problems = append(problems, field.Forbidden(each.Child("key"), "taints that report the condition of a node are removed when the node is ready, and a pool would put them back for ever"))
		}
		problems = append(problems, validateLabelValue(taint.Value, each.Child("value"))...)
		if !slices.Contains(effects, taint.Effect) {
			problems = append(problems, field.NotSupported(each.Child("effect"), taint.Effect, effects))
		}
		if seen[identity{taint.Key, taint.Effect}] {
			problems = append(problems, field.Duplicate(each, taint.Key+":"+string(taint.Effect)))
		}
		seen[identity{taint.Key, taint.Effect}] = true
	}
	return problems
}

func validateCount(count int, at *field.Path) field.ErrorList {
	if count > maxKeys {
		return field.ErrorList{field.TooMany(at, count, maxKeys)}
	}
	return nil
}

func validateKey(key string, at *field.Path) field.ErrorList {
	problems := validateQualifiedName(key, at)
	if strings.HasPrefix(key, Domain+"/") {
		problems = append(problems, field.Forbidden(at, "keys under "+Domain+"/ are kept for the controller"))
	}
	return problems
}

// sorted makes what was found in the order of a map deterministic.
func sorted(problems field.ErrorList) field.ErrorList {
	slices.SortStableFunc(problems, func(a, b *field.Error) int { return strings.Compare(a.Error(), b.Error()) })
	return problems
}

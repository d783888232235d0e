package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxMatchExpressions = 64
	maxSelectorValues   = 1000
)

// LabelSelectorOperators are the operators that a selector may have.
var LabelSelectorOperators = []metav1.LabelSelectorOperator{
	metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
}

func validateSelector(selector *LabelSelector, at *field.Path) field.ErrorList {
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(at, "it would match every node; to say just that, use nodeNames: ['*']")}
	}
	labels, expressions := at.Child("matchLabels"), at.Child("matchExpressions")
	problems := validateCount(len(selector.MatchLabels), labels)
	for key, value := range selector.MatchLabels {
		problems = append(problems, validateQualifiedName(key, labels.Key(key))...)
		problems = append(problems, validateLabelValue(string(value), labels.Key(key))...)
	}
	if count := len(selector.MatchExpressions); count > maxMatchExpressions {
		problems = append(problems, field.TooMany(expressions, count, maxMatchExpressions))
	}
	valid := map[string]bool{}
	for i := range selector.MatchExpressions {
		problems = append(problems, validateRequirement(&selector.MatchExpressions[i], valid, expressions.Index(i))...)
	}
	return sorted(problems)
}

// validateRequirement adds the values that it finds valid to those that are known to
// be: one list may stand in many requirements, by an alias.
func validateRequirement(requirement *LabelSelectorRequirement, valid map[string]bool, at *field.Path) field.ErrorList {
	problems := validateQualifiedName(requirement.Key, at.Child("key"))
	values := at.Child("values")
	switch requirement.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(requirement.Values) == 0 {
			problems = append(problems, field.Required(values, "the operators In and NotIn need values"))
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(requirement.Values) > 0 {
			problems = append(problems, field.Forbidden(values, "the operators Exists and DoesNotExist go by the key alone, and take no values"))
		}
	default:
		problems = append(problems, field.NotSupported(at.Child("operator"), requirement.Operator, LabelSelectorOperators))
	}
	if count := len(requirement.Values); count > maxSelectorValues {
		problems = append(problems, field.TooMany(values, count, maxSelectorValues))
	}
	for i, value := range requirement.Values {
		if valid[value] {
			continue
		}
		invalid := validateLabelValue(value, values.Index(i))
		valid[value] = len(invalid) == 0
		problems = append(problems, invalid...)
	}
	return problems
}

func validateLabelValue(value string, at *field.Path) field.ErrorList {
	var problems field.ErrorList
	for _, message := range utilvalidation.IsValidLabelValue(value) {
		problems = append(problems, field.Invalid(at, value, message))
	}
	return problems
}

// validateQualifiedName holds the key of a label, an annotation or a taint to the
// form that Kubernetes gives it.
func validateQualifiedName(key string, at *field.Path) field.ErrorList {
	if key == "" {
		return field.ErrorList{field.Required(at, "must be a qualified name, such as example.com/team")}
	}
	var problems field.ErrorList
	for _, message := range utilvalidation.IsQualifiedName(key) {
		problems = append(problems, field.Invalid(at, key, message))
	}
	return problems
}

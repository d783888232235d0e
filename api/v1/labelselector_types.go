package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelSelector chooses nodes by their labels. It is [metav1.LabelSelector] with
// bounds: without them the API server would refuse to check keys and values, as
// that could take too long.
//
// +structType=atomic
type LabelSelector struct {
	// matchLabels are labels that a node must have, each with its value.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are further requirements, all of which a node must meet.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelSelectorRequirement is what a label of a node must be like. It is
// [metav1.LabelSelectorRequirement] with bounds.
//
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",message="the operators In and NotIn need values",reason="FieldValueRequired",fieldPath=".values"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",message="the operators Exists and DoesNotExist go by the key alone, and take no values",reason="FieldValueForbidden",fieldPath=".values"
type LabelSelectorRequirement struct {
	// key of the label, a qualified name.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator says how the label and the values relate.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are those of which the label must have one (In) or none (NotIn). With
	// Exists and DoesNotExist there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Values []string `json:"values,omitempty"`
}

// MetaV1 returns the selector as the packages of Kubernetes take it.
func (s *LabelSelector) MetaV1() *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	selector := &metav1.LabelSelector{}
	if s.MatchLabels != nil {
		selector.MatchLabels = make(map[string]string, len(s.MatchLabels))
	}
	for key, value := range s.MatchLabels {
		selector.MatchLabels[key] = string(value)
	}
	for _, requirement := range s.MatchExpressions {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement(requirement))
	}
	return selector
}

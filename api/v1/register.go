package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "nodes.lailin.xyz", Version: "v1"}

// The kinds of this package, as they stand in a manifest.
const (
	NodePoolKind       = "NodePool"
	NodePoolSourceKind = "NodePoolSource"
)

// AddToScheme makes a scheme know the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&NodePool{}, &NodePoolList{},
		&NodePoolSource{}, &NodePoolSourceList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

package plan

import (
	"maps"

	nodev1 "k8s.io/api/node/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// inheritanceOf is what others have set on a RuntimeClass, which the one that
// replaces it gets; nil where they have set nothing. Between the two there is none
// to read it from, so that for as long as it takes it stands in the pool's status.
func inheritanceOf(class *nodev1.RuntimeClass) *v1.ReplacedRuntimeClass {
	if len(class.Labels)+len(class.Annotations) == 0 && class.Overhead == nil {
		return nil
	}
	return &v1.ReplacedRuntimeClass{
		UID: class.UID, Labels: maps.Clone(class.Labels), Annotations: maps.Clone(class.Annotations), Overhead: class.Overhead.DeepCopy(),
	}
}

// inherit gives a new RuntimeClass what the one that it replaces had. Without the
// UID of that one it is not known that there ever was one.
func inherit(class *nodev1.RuntimeClass, from *v1.ReplacedRuntimeClass) {
	if from == nil || from.UID == "" {
		return
	}
	class.Labels, class.Annotations = maps.Clone(from.Labels), maps.Clone(from.Annotations)
	class.Overhead = from.Overhead.DeepCopy()
}

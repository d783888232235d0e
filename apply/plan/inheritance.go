package plan

import (
	"encoding/json"
	"fmt"
	"maps"

	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// inheritance is what others have set on a RuntimeClass, and what the one that
// replaces it takes over. Between the two there is none to read it from, so that
// for as long as it takes it stands on the pool.
type inheritance struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Overhead    *nodev1.Overhead  `json:"overhead,omitempty"`
}

func inheritanceOf(class *nodev1.RuntimeClass) inheritance {
	return inheritance{
		Labels: maps.Clone(class.Labels), Annotations: maps.Clone(class.Annotations), Overhead: class.Overhead.DeepCopy(),
	}
}

// leftBy reads what was noted on a pool and not claimed since: a replacement was
// interrupted. What cannot be read is nothing; nobody but a person can have
// written it.
func leftBy(pool *v1.NodePool) inheritance {
	var left inheritance
	if err := json.Unmarshal([]byte(pool.Annotations[v1.InheritanceAnnotation]), &left); err != nil {
		return inheritance{}
	}
	return left
}

// passTo gives the new RuntimeClass what the old one had.
func (i inheritance) passTo(class *nodev1.RuntimeClass) {
	class.Labels, class.Annotations, class.Overhead = i.Labels, i.Annotations, i.Overhead
}

// note is how it stands on the pool; empty where there is nothing to note.
func (i inheritance) note() (string, error) {
	if equality.Semantic.DeepEqual(i, inheritance{}) {
		return "", nil
	}
	data, err := json.Marshal(i)
	if err != nil {
		return "", fmt.Errorf("note what others have set: %w", err)
	}
	return string(data), nil
}

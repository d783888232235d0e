package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const (
	// groupLabel is what the nodes come with and most pools choose by.
	groupLabel = "example.com/group"
	tierLabel  = "example.com/tier"
	// channelLabel is the tier of an overlay: no two pools want the same key.
	channelLabel = "example.com/channel"
	// drivingKey is that of a taint before which nodes are drained.
	drivingKey = "example.com/reserved"
)

// labels that the pool puts on.
func (p *pool) labels() map[string]string {
	if p.group < 0 {
		return map[string]string{channelLabel: p.tier, "example.com/overlay": p.name}
	}
	return map[string]string{tierLabel: p.tier, "example.com/pool": p.name}
}

// taints that the pool puts on.
func (p *pool) taints() []corev1.Taint {
	key := "example.com/dedicated"
	if p.group < 0 {
		key = channelLabel
	}
	taints := []corev1.Taint{{Key: key, Value: p.name, Effect: corev1.TaintEffectPreferNoSchedule}}
	if p.drives {
		taints = append(taints, corev1.Taint{Key: drivingKey, Value: p.name, Effect: corev1.TaintEffectNoExecute})
	}
	return taints
}

// byPattern reports whether the pool chooses its nodes by the pattern of their names.
func (p *pool) byPattern() bool { return p.group%4 == 3 }

// record is the pool as a NodePool. Nodes are chosen in all the ways that people
// use: by a label mostly, by a pattern, and one by one.
func (p *pool) record() *v1.NodePool {
	np := &v1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec:       v1.NodePoolSpec{Labels: map[string]v1.LabelValue{}, Priority: p.priority, Rollout: p.rollout},
	}
	switch {
	case p.names != nil:
		np.Spec.NodeNames = p.names
	case p.byPattern():
		np.Spec.NodeNames = []string{fmt.Sprintf("worker-%03d-*", p.group)}
	default:
		np.Spec.Selector = &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{groupLabel: v1.LabelValue(groupName(p.group))}}
	}
	for key, value := range p.labels() {
		np.Spec.Labels[key] = v1.LabelValue(value)
	}
	for _, taint := range p.taints() {
		np.Spec.Taints = append(np.Spec.Taints, v1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
	}
	return np
}

// spare is a pool without nodes. It is there before the others are pushed, as a
// source wants to have a pool.
var spare = &pool{name: "spare", group: -1, names: []string{"no-such-node"}, tier: firstTier}

// file is the pool as a file of the repository.
func (p *pool) file() ([]byte, error) {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": "NodePool",
		"metadata": map[string]string{"name": p.name}, "spec": p.record().Spec,
	})
	if err != nil {
		return nil, fmt.Errorf("write pool %q: %w", p.name, err)
	}
	return text, nil
}

func groupName(group int) string { return fmt.Sprintf("group-%03d", group) }

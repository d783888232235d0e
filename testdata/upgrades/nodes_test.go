package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(version, tier string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", ResourceVersion: version,
			Labels:      map[string]string{"tier": tier, "theirs.example.com/rack": "r1"},
			Annotations: map[string]string{"tier": tier},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "tiers", Effect: "NoSchedule"}, {Key: "tier", Effect: "NoExecute"}, {Key: "theirs.example.com/gate", Effect: "NoExecute"}}},
	}
}

func TestBare(t *testing.T) {
	b := bareOf(node("1", "front"))
	if got, want := b.without("tier").String(), `{"labels":{"theirs.example.com/rack":"r1"},"taints":["theirs.example.com/gate:NoExecute","tiers:NoSchedule"]}`; got != want {
		t.Errorf("without a key it is\n%s\nwant\n%s", got, want)
	}
	if got, want := b.foreign().String(), `{"labels":{"theirs.example.com/rack":"r1"},"taints":["theirs.example.com/gate:NoExecute"]}`; got != want {
		t.Errorf("of others it has\n%s\nwant\n%s", got, want)
	}
	if got := bareOf(node("2", "front")).String(); got != b.String() || got != b.without("").String() {
		t.Errorf("it is\n%s\nand was\n%s", got, b)
	}
}

func TestChanged(t *testing.T) {
	before := map[string]*corev1.Node{"a": node("1", "front")}
	cases := map[string]struct {
		reason string
		now    map[string]*corev1.Node
		but    []string
		want   bool
	}{
		"same":    {"it was not written", map[string]*corev1.Node{"a": node("1", "front")}, nil, false},
		"written": {"a write that changes no label is one", map[string]*corev1.Node{"a": node("2", "front")}, nil, true},
		"meant":   {"it was to be written", map[string]*corev1.Node{"a": node("2", "back")}, []string{"a"}, false},
		"gone":    {"a node that is not there has changed", nil, nil, true},
	}
	for name, c := range cases {
		if err := changed(before, c.now, c.but...); (err != nil) != c.want {
			t.Errorf("%s: %v: %s", name, err, c.reason)
		}
	}
}

func TestRecordVersion(t *testing.T) {
	n := node("1", "front")
	if version, err := recordVersion(n); version != 0 || err != nil {
		t.Errorf("of a node without a record: %d, %v", version, err)
	}
	n.Annotations["nodes.lailin.xyz/applied"] = `{"version":3,"pools":{}}`
	if version, err := recordVersion(n); version != 3 || err != nil {
		t.Errorf("of a node with a record: %d, %v", version, err)
	}
	n.Annotations["nodes.lailin.xyz/applied"] = `{"version":`
	if _, err := recordVersion(n); err == nil {
		t.Error("half a record has a version")
	}
}

package main

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestObserver(t *testing.T) {
	node := func(name, value string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"x": value}}}
	}
	check := func(want string) func(*corev1.Node) error {
		return func(n *corev1.Node) error {
			if n.Labels["x"] != want {
				return errNot(n.Name)
			}
			return nil
		}
	}
	client := fake.NewClientset(node("a", "1"), node("b", "1"))
	o, err := observing(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	nodes := client.CoreV1().Nodes()

	if err := o.expect("as they are", []string{"a", "b"}, check("1")).wait(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	e := o.expect("changed", []string{"a", "b"}, check("2"))
	for _, name := range []string{"a", "b"} {
		if _, err := nodes.Update(t.Context(), node(name, "2"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.wait(t.Context(), time.Minute); err != nil || e.last.Before(e.first) {
		t.Errorf("first %s, last %s, %v", e.first, e.last, err)
	}
	err = o.expect("a node comes", []string{"a", "c"}, check("2")).wait(t.Context(), 10*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "1 nodes left") || !strings.Contains(err.Error(), `"c" is not there`) {
		t.Errorf("error is %v", err)
	}
	e = o.expect("a node comes", []string{"c"}, check("2"))
	if _, err := nodes.Create(t.Context(), node("c", "2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := e.wait(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	if at, ok := o.addedAt("c"); !ok || at.After(e.last) {
		t.Errorf("added at %s, %t; right at %s", at, ok, e.last)
	}
}

type errNot string

func (e errNot) Error() string { return string(e) + " is not" }

package cluster

import (
	"fmt"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What was written before a program ends is there when it runs again, at the
// same address and for the same users.
func TestHaltAndResume(t *testing.T) {
	c := New(t, Options{})
	client := clientFor(t, c.Config)
	for i, tc := range []struct {
		program string
		signal  syscall.Signal
		serves  bool // while it is halted
	}{
		{"kube-apiserver", syscall.SIGKILL, false},
		{"etcd", syscall.SIGKILL, true},
		{"kube-apiserver", syscall.SIGTERM, false},
	} {
		name := fmt.Sprint("before-", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := c.Resume(t.Context(), tc.program); err == nil {
			t.Fatalf("%s was resumed while it ran", tc.program)
		}
		if err := c.Halt(tc.program, tc.signal); err != nil {
			t.Fatal(err)
		}
		if err := healthy(t.Context(), c.Config, "/livez/ping"); (err == nil) != tc.serves {
			t.Errorf("%s is halted, and asking the API server gives: %v", tc.program, err)
		}
		if err := c.Resume(t.Context(), tc.program); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("after %s was halted by %q: %v", tc.program, tc.signal, err)
		}
	}
	if err := c.Halt("kube-scheduler", syscall.SIGKILL); err == nil {
		t.Error("a program was halted that is not there")
	}
}

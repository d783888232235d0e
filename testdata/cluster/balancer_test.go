package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Two API servers have one store, and one audit log. A balancer goes round them, and passes
// over one that is not ready; and it can be cut, so that nothing is answered.
func TestBalancerOfAPIServers(t *testing.T) {
	c := New(t, Options{Audit: true})
	second, program, err := c.AddAPIServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Balance(c.Config, second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	user, err := c.AddUser("balanced", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, b.For(user))
	for i := range 4 {
		name := fmt.Sprint("n", i)
		Eventually(t, "node "+name+" is created", startTimeout, func() error { // its connection may be lost
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
				return err
			}
			return nil
		})
		for _, direct := range []kubernetes.Interface{clientFor(t, c.Config), clientFor(t, second)} {
			if _, err := direct.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
		}
		b.Drop()
	}
	if passed := b.Passed(); len(passed) != 2 {
		t.Errorf("connections went to %v, want both API servers", passed)
	}
	requests, err := c.Audit(0)
	if err != nil {
		t.Fatal(err)
	}
	created := slices.DeleteFunc(WritesBy("balanced", requests), func(r Request) bool { return r.Code != http.StatusCreated })
	if len(created) != 4 {
		t.Errorf("the audit log has the writes %v, want 4", created)
	}

	b.Cut()
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := client.CoreV1().Nodes().Get(short, "n0", metav1.GetOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a line that is cut gives %v", err)
	}
	b.Mend()
	if _, err := client.CoreV1().Nodes().Get(t.Context(), "n0", metav1.GetOptions{}); err != nil {
		t.Errorf("after the line was mended: %v", err)
	}

	for _, ended := range []string{program, apiServer} {
		if err := c.Halt(ended, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			b.Drop()
			Eventually(t, "the other API server answers", startTimeout, func() error {
				_, err := client.CoreV1().Nodes().Get(t.Context(), "n0", metav1.GetOptions{})
				return err
			})
		}
		if err := c.Resume(t.Context(), ended); err != nil {
			t.Fatal(err)
		}
	}
}

// What a lagging API server shows is late, and what is asked of its store is not older for
// that.
func TestLag(t *testing.T) {
	c := New(t, Options{})
	second, program, err := c.AddAPIServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const lag = 300 * time.Millisecond
	if err := c.Lag(program, lag); err != nil {
		t.Fatal(err)
	}
	if err := c.Lag("etcd", lag); err == nil {
		t.Error("etcd was made to lag")
	}
	watch, err := clientFor(t, second).CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := clientFor(t, c.Config).CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	created := time.Now()
	listed, err := clientFor(t, second).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(listed.Items, func(node corev1.Node) bool { return node.Name == "late" }) {
		t.Error("a list of the store is behind")
	}
	<-watch.ResultChan()
	if after := time.Since(created); after < lag/2 {
		t.Errorf("the node was seen after %s, want %s at least", after, lag/2)
	}
}

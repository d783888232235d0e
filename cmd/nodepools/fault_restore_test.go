package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// etcd is restored from a backup while controllers run. They notice, the one that
// leads as the one that stands by; a value that is in no pool any more is never
// written, not even when the resource versions have passed those that were lost; and
// the nodes get what the restored pools say.
func TestFaultRestoreFromBackup(t *testing.T) {
	cluster.Long(t)
	quietLibraries()
	cases := map[string]struct {
		reason string
		args   [][]string
	}{
		"with a lease": {"two instances, of which one leads", [][]string{
			{"--leader-elect", "--leader-election-namespace", "default"}, {"--leader-elect", "--leader-election-namespace", "default"},
		}},
		"without": {"the lease has no part in it", [][]string{{"--leader-elect=false"}}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) { restoreUnder(t, test.args) })
	}
}

func restoreUnder(t *testing.T, instances [][]string) {
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{CRDs: definitions})
	s := newStory(t, c)
	var names []string
	for i := range 45 {
		names = append(names, fmt.Sprintf("n%d", i))
		s.node(names[i], "shared")
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"turn": "first"}}}
	s.do(s.Create(t.Context(), pool))
	change := func(turn string) { s.patch(pool, fmt.Sprintf(`{"spec":{"labels":{"turn":%q}}}`, turn)) }

	// At the backup the nodes are not what the pool says.
	before := runController(t, c.Kubeconfig(), t.TempDir(), instances[0]...)
	t.Cleanup(before.kill)
	s.allLabelled(names, "turn", "first")
	before.stop(t)
	change("kept")
	since := s.version()
	backup, err := c.Backup(t.Context())
	s.do(err)

	var running []*process
	for _, args := range instances {
		p := runController(t, c.Kubeconfig(), t.TempDir(), args...)
		t.Cleanup(func() {
			p.kill()
			if t.Failed() {
				t.Logf("the log of a controller:\n%s", p.log.String())
			}
		})
		running = append(running, p)
		s.allLabelled(names, "turn", "kept")
	}
	for i := range 10 {
		change(fmt.Sprint("lost-", i))
		s.allLabelled(names, "turn", fmt.Sprint("lost-", i))
	}
	lost := s.version()
	s.do(c.Restore(t.Context(), backup))

	s.allLabelled(names, "turn", "kept")
	s.until("the pool says so", func() error {
		now := &v1.NodePool{}
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(pool), now); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(now.Status.Conditions, v1.ReadyCondition) || now.Status.Nodes == nil || int(now.Status.Nodes.Updated) != len(names) {
			return fmt.Errorf("status is %+v", now.Status)
		}
		return nil
	})
	// Everything that waits for a version of the future has it from here on.
	s.until("the versions that were lost are passed", func() error {
		for range 100 {
			s.patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[0]}}, `{"metadata":{"annotations":{"example.com/n":"`+s.version()+`"}}}`)
		}
		if order, err := resourceversion.CompareResourceVersion(s.version(), lost); err != nil || order < 0 {
			return fmt.Errorf("at %s, they were at %s (%w)", s.version(), lost, err)
		}
		return nil
	})
	change("new")
	s.allLabelled(names, "turn", "new")
	if len(running) > 1 { // the one that stood by works on what is true as well
		running[0].stop(t)
		change("newer")
		s.allLabelled(names, "turn", "newer")
		running = running[1:]
	}
	for _, value := range s.valuesSince(since, "turn") {
		if strings.HasPrefix(value, "lost") {
			t.Errorf("a value that was lost was written to a node: %s", value)
		}
	}
	for _, p := range running {
		p.stop(t)
		if count := strings.Count(p.log.String(), "the cluster has gone back in time"); count != 1 {
			t.Errorf("%d lines say that the cluster has gone back in time, want 1", count)
		}
	}
}

// version is the resource version that the nodes are at.
func (s *story) version() string {
	s.t.Helper()
	var nodes corev1.NodeList
	s.do(s.List(s.t.Context(), &nodes, client.Limit(1)))
	return nodes.ResourceVersion
}

// valuesSince are the values that a label of nodes has had since a resource version,
// by all that was written.
func (s *story) valuesSince(version, label string) (values []string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	api, err := kubernetes.NewForConfig(s.c.Config)
	s.do(err)
	now := s.version()
	events, err := api.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	s.do(err)
	defer events.Stop()
	s.do(s.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "last"}})) // ends what is read
	for event := range events.ResultChan() {
		node, ok := event.Object.(*corev1.Node)
		if !ok { // an error
			s.t.Fatalf("watch nodes from %s to %s: %v", version, now, event.Object)
		}
		if node.Name == "last" {
			return values
		}
		values = append(values, node.Labels[label])
	}
	s.t.Fatal("the watch of nodes has ended")
	return nil
}

package main

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// Of two instances one works. It is killed in the middle of its writes, and the
// other finishes them when the lease has run out. By the audit log of the API
// server, the two never write at the same time.
func TestCrashOfTheLeader(t *testing.T) {
	cluster.Long(t)
	rounds := 1 // each waits for a lease to run out, 15 seconds
	if cluster.Stress() {
		rounds = 3
	}
	quietLibraries()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.New(t, cluster.Options{Audit: true, CRDs: definitions})
	s := newStory(t, c)
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("n%d", i))
		s.node(names[i], "shared")
	}
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: v1.NodePoolSpec{Labels: map[string]v1.LabelValue{"turn": "0"}}}
	s.do(s.Create(t.Context(), pool))

	leader, other := newInstance(t, c, "one"), newInstance(t, c, "two")
	leader.start()
	s.allLabelled(names, "turn", "0")
	other.start()
	want, turn := []string{leader.user}, 0
	change := func() string {
		turn++
		s.patch(pool, fmt.Sprintf(`{"spec":{"labels":{"turn":"%d"}}}`, turn))
		return fmt.Sprint(turn)
	}
	for range rounds {
		s.until("the other one stands by", func() error {
			if !other.gate.reads("leases") {
				return fmt.Errorf("%s does not ask for the lease", other.user)
			}
			return nil
		})
		for range 5 { // while both run
			s.allLabelled(names, "turn", change())
		}
		dies := leader.process
		leader.gate.arm(moment{write: "PATCH nodes", nth: 5, carriedOut: len(want)%2 == 0}, dies.kill)
		last := change()
		s.until("the leader is killed", func() error {
			select {
			case <-dies.ended:
				return dies.killed()
			default:
				return fmt.Errorf("%s lives", leader.user)
			}
		})
		s.allLabelled(names, "turn", last)
		leader.start()
		leader, other = other, leader
		want = append(want, leader.user)
	}
	requests, err := c.Audit(0)
	s.do(err)
	var writers []string
	for _, request := range cluster.WritesBy("", requests) {
		if (request.User == "one" || request.User == "two") && request.Object.Resource != "leases" {
			writers = append(writers, request.User)
		}
	}
	if got := slices.Compact(slices.Clone(writers)); !slices.Equal(got, want) {
		t.Errorf("of %d writes, by turns, %v; want %v", len(writers), got, want)
	}
	t.Logf("%d writes by two instances that took turns: %v", len(writers), want)
}

// instance is one of several controllers that agree by a lease on who works.
type instance struct {
	t                     *testing.T
	user                  string
	gate                  *gate
	kubeconfig, temporary string
	process               *process
}

func newInstance(t *testing.T, c *cluster.Cluster, user string) *instance {
	t.Helper()
	config, err := c.AddUser(user, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{t: t, user: user, gate: newGate(t, config), temporary: t.TempDir()}
	if i.kubeconfig, err = c.WriteKubeconfig(anonymous(i.gate.address)); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *instance) start() {
	i.t.Helper()
	i.gate.forget()
	i.process = runController(i.t, i.kubeconfig, i.temporary,
		"--leader-elect", "--leader-election-namespace", "default",
		"--concurrency", "1") // so that nodes are left for the other when it is killed
	i.t.Cleanup(i.process.kill)
}

// allLabelled waits until every node has a label.
func (s *story) allLabelled(names []string, key, value string) {
	s.t.Helper()
	s.until(fmt.Sprintf("all nodes have %s=%s", key, value), func() error {
		for _, name := range names {
			node := &corev1.Node{}
			if err := s.Get(s.t.Context(), client.ObjectKey{Name: name}, node); err != nil {
				return err
			}
			if node.Labels[key] != value {
				return fmt.Errorf("node %s has %s=%s", name, key, node.Labels[key])
			}
		}
		return nil
	})
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

var seed = flag.Uint64("seed", 0, "what happens in tests that leave it to chance; 0 for something new each time")

// extent is how much a crash test does.
type extent struct {
	nodes, rounds, kills int // kills in each round, and while the pools are deleted
}

func crashExtent() extent {
	if cluster.Stress() {
		return extent{nodes: mostCrashNodes, rounds: 14, kills: 10}
	}
	return extent{nodes: 6, rounds: 1, kills: 6}
}

const mostCrashNodes = 9

// A controller is killed by SIGKILL, again and again, while pools, nodes and what
// others put there change: when it starts, at any time, and at single writes, just
// before one is carried out or just after. The same happens to a twin, which is
// never killed. At the end of each round the two clusters are the same, field by
// field; and when every pool is deleted, the nodes are what they would be had
// there never been one.
func TestCrash(t *testing.T) {
	cluster.Long(t)
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	quietLibraries() // of the test; the controllers are processes of their own
	t.Logf("to see this again: -seed %d", *seed)
	began := time.Now()
	extent := crashExtent()
	s, m := newCrash(t)
	for range extent.nodes {
		s.join()
	}
	s.everywhere(follow)
	twin := runController(t, s.worlds[1].c.Kubeconfig(), t.TempDir())
	defer twin.kill()

	s.compare(m)
	for range extent.rounds {
		s.move(m)
		for range extent.kills {
			s.killOnce(m)
		}
		s.compare(m)
	}
	s.everywhere(func(world *story) {
		world.do(world.DeleteAllOf(t.Context(), &v1.NodePoolSource{}))
		// All are deleted at once.
		for _, pool := range world.pools() {
			world.patch(pool, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1.ApproveReleaseAnnotation, v1.DeletionApproval))
		}
		world.do(world.DeleteAllOf(t.Context(), &v1.NodePool{}))
	})
	for i := 0; i < extent.kills && s.released(s.worlds[0]) != nil; i++ {
		write := "PATCH nodes" // nodes are released first, then finalizers go
		if i >= extent.kills/2 {
			write = "PATCH nodepools"
		}
		m.live(0, func() fate { return s.at(write) })
		if err := s.worlds[0].held(); err != nil {
			t.Fatal(err)
		}
	}
	last := runController(t, m.kubeconfig, m.temporary)
	defer last.kill()
	s.everywhere(func(world *story) {
		world.until("nodes are as if there had been no pools", func() error { return s.released(world) })
	})
	last.kill()
	if err := last.killed(); err != nil {
		t.Error(err)
	}
	twin.stop(t)
	if err := m.leavesNothing(); err != nil {
		t.Error(err)
	}
	t.Logf("killed %d times in %s, over %d rounds; %d changes by others, none lost; %d nodes the same as those of a controller never killed, and as without pools",
		m.kills(), time.Since(began).Round(time.Second), s.round, s.foreign, len(s.nodes))
	t.Logf("killed %v", m.deaths)
}

// newCrash starts two clusters with one repository.
func newCrash(t *testing.T) (*script, *mortal) {
	t.Helper()
	worlds := startAlike(t, 2)
	killed, never := worlds[0], worlds[1]
	never.repository = killed.repository
	s := &script{
		t: t, random: rand.New(rand.NewPCG(*seed, 0)), worlds: worlds,
		published: map[string]*v1.NodePoolSpec{}, standing: map[string]*v1.NodePoolSpec{},
		nodes: map[string]*corev1.Node{}, classes: map[string]map[string]string{},
	}
	for _, name := range slices.Concat(stayingPools, sparePools[:1]) {
		s.published[name] = s.spec(name)
	}
	s.prioritize()
	throughGate := newGate(t, killed.c.Config)
	kubeconfig, err := killed.c.WriteKubeconfig(anonymous(throughGate.address))
	if err != nil {
		t.Fatal(err)
	}
	return s, &mortal{t: t, gate: throughGate, repository: throughGate.serveGit(t, killed.repository), kubeconfig: kubeconfig, temporary: t.TempDir(), random: s.random, deaths: map[string]int{}}
}

// startAlike starts clusters in which nobody but the controller and the test
// changes nodes, all at the same time.
func startAlike(t *testing.T, count int) []*story {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	clusters, failures := make([]*cluster.Cluster, count), make([]error, count)
	var starts sync.WaitGroup
	for i := range count {
		starts.Go(func() {
			definitions, err := crds.All()
			if err == nil {
				clusters[i], err = cluster.Start(t.Context(), cluster.Options{
					CRDs: definitions, ControllerManager: true,
					ControllerManagerArgs: []string{"--controllers=-node-lifecycle-controller,-ttl-controller"},
				})
			}
			failures[i] = err
		})
	}
	starts.Wait()
	var worlds []*story
	for i, c := range clusters {
		if c != nil {
			t.Cleanup(func() {
				if err := c.Stop(); err != nil {
					t.Errorf("stop the cluster: %v", err)
				}
			})
		}
		if failures[i] == nil {
			worlds = append(worlds, newStory(t, c))
		}
	}
	if err := errors.Join(failures...); err != nil {
		t.Fatalf("start clusters: %v", err)
	}
	return worlds
}

// follow makes a source of the repository.
func follow(world *story) {
	all := intstr.FromString("100%")
	world.do(world.Create(world.t.Context(), &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: "pools"},
		Spec: v1.NodePoolSourceSpec{
			URL: "file://" + world.repository, Interval: metav1.Duration{Duration: time.Second}, PruneLimit: ptr.To(all), ReleaseLimit: ptr.To(all),
		},
	}))
}

// move has the controller that is killed read the repository in the other way:
// through the gate, where it can be killed while it reads, or by a git program
// that it starts, which must not outlive it. The twin reads by a program always.
func (s *script) move(m *mortal) {
	s.t.Helper()
	url := "file://" + s.worlds[0].repository
	if s.byGate = !s.byGate; s.byGate {
		url = m.repository
	}
	s.worlds[0].patch(&v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: "pools"}}, fmt.Sprintf(`{"spec":{"url":%q}}`, url))
}

// killOnce changes something, before the controller starts or while it runs, and
// kills it.
func (s *script) killOnce(m *mortal) {
	s.t.Helper()
	if s.chance(50) {
		writes := pick(s.random, s.changes())()
		m.live(0, func() fate { return s.fate(writes...) })
		return
	}
	while := time.Duration(s.random.IntN(1500)) * time.Millisecond
	m.live(while, func() fate { return s.fate(pick(s.random, s.liveChanges())()...) })
}

// fate draws how the controller is to be killed after a change: at any time, or at
// one of the writes to which the change leads.
func (s *script) fate(writes ...string) fate {
	if len(writes) == 0 || s.chance(20) {
		return fate{within: time.Duration(s.random.IntN(1000)) * time.Millisecond}
	}
	if s.byGate && s.chance(20) {
		return s.at("GET refs", packRequest)
	}
	if s.chance(30) {
		return fate{at: &moment{nth: 1 + s.random.IntN(10), carriedOut: s.chance(50)}, within: lifetime}
	}
	return s.at(writes...)
}

// at draws a write at which the controller is to be killed.
func (s *script) at(writes ...string) fate {
	write, nth := pick(s.random, writes), 1
	if write == "PATCH nodes" { // there are always several
		nth += s.random.IntN(4)
	}
	return fate{at: &moment{write: write, nth: nth, carriedOut: s.chance(50)}, within: lifetime}
}

// lifetime is how long a controller lives that does not come to write what it is
// to be killed at.
const lifetime = 5 * time.Second

// compare lets the controller finish, and waits until both clusters are the same.
func (s *script) compare(m *mortal) {
	s.t.Helper()
	s.rest()
	m.live(0, func() fate { return s.fate("PATCH nodes", "PATCH nodepools") })
	last := runController(s.t, m.kubeconfig, m.temporary)
	defer last.kill()
	s.worlds[0].until(fmt.Sprintf("what was killed %d times is where it was never killed", m.kills()), func() error {
		var both []*state
		for i, world := range s.worlds {
			state, err := settled(world, s.revision)
			if err != nil {
				return fmt.Errorf("cluster %d: %w", i, err)
			}
			both = append(both, state)
		}
		both[0].Sources["pools"].Spec.URL = both[1].Sources["pools"].Spec.URL // see move
		if diff := gocmp.Diff(both[1], both[0]); diff != "" {
			return fmt.Errorf("the clusters differ (-never killed +killed):\n%s", diff)
		}
		return s.classesKept(both[0])
	})
	for _, pool := range classPools {
		s.onClass(pool)
	}
}

// classesKept reports what others have lost that they had put on RuntimeClasses.
func (s *script) classesKept(both *state) error {
	for name, want := range s.classes {
		class := both.Classes[name]
		for _, have := range []map[string]string{class.Labels, class.Annotations} {
			if diff := gocmp.Diff(want, have); len(want)+len(have) > 0 && diff != "" {
				return fmt.Errorf("what others put on RuntimeClass %s (-want +got):\n%s", name, diff)
			}
		}
	}
	return nil
}

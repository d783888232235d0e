package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// cacheLag is by how much all that one API server hears of etcd is late: its caches are
// behind those of the other, and its own reads and writes take longer, too.
const cacheLag = 50 * time.Millisecond

// Two API servers are behind a balancer that goes round: first for each connection, while
// connections end all the time; then for each request, while watches end all the time, and
// what one API server hears of etcd is late. Then they are upgraded under load: one after
// the other ends in order, as with a rolling restart, and is started again. All the time
// nodes join, in one write each, and others write them. Nothing goes back, by any API
// server, and nobody loses anything.
func TestAvailabilityOfAPIServers(t *testing.T) {
	cluster.Long(t)
	a := newAvailability(t, cluster.Options{APIServerArgs: endInOrder})
	second, program, err := a.c.AddAPIServer(t.Context())
	a.do(err)
	a.follow(second)
	servers := []*rest.Config{a.c.Config, second}

	a.lead(a.replica("one", servers...), a.replica("two", servers...))
	a.roundByConnection()
	a.stop()

	a.do(a.c.Lag(program, cacheLag))
	a.lead(a.byRequest("three", second), a.byRequest("four", second))
	a.roundByRequest()
	a.do(a.c.Lag(program, 0))
	a.stop()

	a.lead(a.replica("five", servers...), a.replica("six", servers...))
	again := func(program string) error { return a.c.Resume(a.t.Context(), program) }
	show(t, serversRestarted, a.upgrade(servers, max(1, availabilityExtent().rounds/3), again, "kube-apiserver", program))
	a.check()
	a.stop()
}

// endInOrder has an API server end as behind a balancer, which learns in the first two
// seconds that it ends; those who watch have two more.
var endInOrder = []string{"--shutdown-delay-duration=2s", "--shutdown-watch-termination-grace-period=2s"}

// upgradedFrom is of the minor version before that of the other tests, upgradedTo.
const upgradedFrom, upgradedTo = "v1.36.3", "v1.37."

// Two API servers are upgraded from one minor version to the next, one after the other, so
// that for a while they are of different versions. All the time nodes join, in one write
// each, and nobody loses anything. Only make availability does it: the earlier version may
// have to be built, which takes minutes.
func TestAvailabilityOfAnUpgrade(t *testing.T) {
	cluster.Long(t)
	if !*figures {
		t.Skip("make availability runs it")
	}
	var waits []time.Duration
	for range 3 {
		t.Run("", func(t *testing.T) { waits = append(waits, upgraded(t)...) })
	}
	if t.Failed() {
		return
	}
	show(t, serversUpgraded, waits)
}

// upgraded returns how long nodes waited while the API servers of a cluster were upgraded.
func upgraded(t *testing.T) []time.Duration {
	a := newAvailability(t, cluster.Options{Kubernetes: upgradedFrom, APIServerArgs: endInOrder})
	second, program, err := a.c.AddAPIServer(t.Context())
	a.do(err)
	a.follow(second)
	servers := []*rest.Config{a.c.Config, second}
	a.lead(a.replica("one", servers...), a.replica("two", servers...))
	a.versions(servers, upgradedFrom)
	programs, err := cluster.Assets(t.Context()) // before a server is halted: it may take a while
	a.do(err)
	waits := a.upgrade(servers, 1, func(program string) error { return a.c.Upgrade(t.Context(), program, programs) }, "kube-apiserver", program)
	a.versions(servers, upgradedTo)
	a.check()
	a.stop()
	return waits
}

// versions holds with what the versions of Kubernetes of API servers begin.
func (a *availability) versions(servers []*rest.Config, want string) {
	a.t.Helper()
	for _, server := range servers {
		if got, err := cluster.Version(server); err != nil || !strings.HasPrefix(got, want) {
			a.t.Errorf("an API server is of version %s (%v), want %s", got, err, want)
		}
	}
}

// roundByConnection has the connections of the replicas closed all the time, so that they
// go round the API servers.
func (a *availability) roundByConnection() {
	a.t.Helper()
	closed := 0
	names, waits := a.joinWhile(func() {
		for _, r := range a.replicas {
			closed += r.line.Drop()
		}
	})
	show(a.t, byConnection, waits)
	for _, r := range a.replicas {
		passed := r.line.Passed()
		if len(passed) != 2 {
			a.t.Errorf("the connections of %s went to %v, want both API servers", r.user, passed)
		}
		a.t.Logf("%s had connections to %v", r.user, slices.Collect(maps.Values(passed)))
	}
	a.t.Logf("%d connections were closed; %s", closed, a.eachInOneWrite(names))
}

// byRequest makes a replica whose requests go round the first API server and others.
func (a *availability) byRequest(user string, others ...*rest.Config) *replica {
	a.t.Helper()
	config, err := a.c.AddUser(user, "system:masters")
	a.do(err)
	proxy, err := a.c.Proxy(config, others...)
	a.do(err)
	a.t.Cleanup(func() { a.do(proxy.Close()) })
	kubeconfig, err := a.c.WriteKubeconfig(proxy.Config)
	a.do(err)
	return &replica{t: a.t, user: user, program: "nodepools", kubeconfig: kubeconfig, temporary: a.t.TempDir(), proxy: proxy}
}

// roundByRequest has the watches of the replicas end all the time.
func (a *availability) roundByRequest() {
	a.t.Helper()
	ended := 0
	endWatches := func() {
		for _, r := range a.replicas {
			ended += r.proxy.EndWatches()
		}
	}
	names, waits := a.joinWhile(endWatches)
	show(a.t, byRequest, waits)
	a.t.Logf("%d watches ended; %s", ended, a.eachInOneWrite(names))
	a.changeWhile(names, endWatches)
}

// disturbPeriod is how often something is disturbed while nodes join, joinPeriod how often
// one joins.
const (
	disturbPeriod = 1500 * time.Millisecond
	joinPeriod    = 150 * time.Millisecond
)

// joinWhile lets nodes join while something is disturbed all the time.
func (a *availability) joinWhile(disturb func()) (names []string, waits []time.Duration) {
	a.t.Helper()
	extent := availabilityExtent()
	stop := a.repeat(disturbPeriod, disturb)
	for range max(20, extent.rounds*extent.nodes) {
		names = append(names, a.join(a.Client, 1)...)
		time.Sleep(joinPeriod)
	}
	waits = a.awaitRight(names)
	stop()
	return names, waits
}

// repeat does something once in a period, until the function returned is called.
func (a *availability) repeat(period time.Duration, do func()) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	var repeating sync.WaitGroup
	repeating.Go(func() {
		for ctx.Err() == nil {
			do()
			select {
			case <-ctx.Done():
			case <-time.After(period):
			}
		}
	})
	stop = func() { end(); repeating.Wait() }
	a.t.Cleanup(stop) // of a test that fails
	return stop
}

// changeWhile changes the pool again and again, as others change the nodes, while something
// is disturbed all the time. In the end each node has the last that either has written, and
// no more writes were accepted than there were changes.
func (a *availability) changeWhile(names []string, disturb func()) {
	a.t.Helper()
	const label = "example.com/beat"
	pool := &v1.NodePool{}
	pool.Name = sharedPool
	before, beats, turns := len(a.nodeWrites(names)), 0, 8
	stopBeats := a.repeat(50*time.Millisecond, func() {
		beats++
		node := &corev1.Node{}
		node.Name = names[beats%len(names)]
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"%d"}}}`, label, beats)
		if err := a.Patch(a.t.Context(), node, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			a.t.Errorf("somebody else writes: %v", err)
		}
	})
	stop := a.repeat(disturbPeriod, disturb)
	for turn := range turns {
		a.patch(pool, fmt.Sprintf(`{"spec":{"labels":{%q:"%d"}}}`, turnLabel, turn+1))
		time.Sleep(2 * joinPeriod)
	}
	a.allLabelled(names, turnLabel, strconv.Itoa(turns))
	stop()
	stopBeats()
	a.allLabelled(names, turnLabel, strconv.Itoa(turns))
	last := map[string]string{}
	for beat := range beats {
		last[names[(beat+1)%len(names)]] = strconv.Itoa(beat + 1)
	}
	for name, want := range last {
		node := &corev1.Node{}
		a.do(a.Get(a.t.Context(), client.ObjectKey{Name: name}, node))
		if node.Labels[label] != want {
			a.t.Errorf("node %s has %s=%s, want what somebody else has written last, %s", name, label, node.Labels[label], want)
		}
	}
	if writes := len(a.nodeWrites(names)) - before; writes > turns*len(names) {
		a.t.Errorf("%d writes of %d nodes in %d changes, want one for each at the most", writes, len(names), turns)
	} else {
		a.t.Logf("%d writes of %d nodes in %d changes, and %d writes by somebody else", writes, len(names), turns, beats)
	}
}

// nodeWrites are the writes of nodes by replicas that were accepted.
func (a *availability) nodeWrites(names []string) []cluster.Request {
	a.t.Helper()
	return slices.DeleteFunc(a.writes(), func(r cluster.Request) bool {
		return r.Code != 200 || r.Object.Resource != "nodes" || !slices.Contains(names, r.Object.Name)
	})
}

// upgrade replaces the API servers one after the other while nodes join all the time, by
// kubelets that reach the API servers as replicas do. An API server has ended when it is to
// be started again. It returns how long the nodes have waited.
func (a *availability) upgrade(servers []*rest.Config, rounds int, start func(program string) error, programs ...string) []time.Duration {
	a.t.Helper()
	config := a.balance(servers...).For(a.c.Config)
	config.Timeout = 5 * time.Second
	kubelets := a.clientOf(config)
	replaced, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		replaced <- a.replace(rounds, start, programs)
	}()
	a.t.Cleanup(func() { <-ended })
	var names []string
	var err error
	for over := false; !over; {
		names = append(names, a.join(kubelets, 1)...)
		select {
		case err = <-replaced:
			over = true
		case <-time.After(joinPeriod):
		}
	}
	a.do(err)
	waits := a.awaitRight(names)
	a.t.Logf("%d API servers ended and started; %s", rounds*len(programs), a.eachInOneWrite(names))
	return waits
}

// replace ends API servers in order and starts them, in rounds, with a rest after each.
func (a *availability) replace(rounds int, start func(program string) error, programs []string) error {
	const rest = time.Second
	for range rounds {
		for _, program := range programs {
			began := time.Now()
			if err := a.c.Halt(program, syscall.SIGTERM); err != nil {
				return err
			}
			a.t.Logf("%s took %s to end", program, time.Since(began).Round(time.Millisecond))
			if err := start(program); err != nil {
				return err
			}
			time.Sleep(rest)
		}
	}
	return nil
}

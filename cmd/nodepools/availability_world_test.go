package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/crds"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// availability is a cluster whose nodes join while something fails that the controller
// depends on. Two replicas work for it, with the lease as nodepools install has it.
type availability struct {
	*story
	joins    *joins
	replicas []*replica // the first leads
	// leaders are those who have led so far, one after the other; users are all replicas.
	leaders, users []string
	// nodes are all that have joined.
	nodes []string
	// killed is when the API server was last killed that keeps the audit log; zero where it
	// never was. What it was serving then is never answered.
	killed time.Time
}

// replica is one instance of the controller, known to the audit log by its user.
type replica struct {
	t                     *testing.T
	user                  string
	program               string
	environment           []string
	kubeconfig, temporary string
	// line or proxy is how it reaches API servers.
	line    *cluster.Balancer
	proxy   *cluster.Proxy
	process *process
}

// newAvailability starts a cluster, and follows its nodes at its API server.
func newAvailability(t *testing.T, options cluster.Options) *availability {
	t.Helper()
	quietLibraries()
	if !*figures {
		t.Parallel() // mostly it waits for a lease to run out
	}
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	options.Audit, options.CRDs = true, definitions
	a := &availability{story: newStory(t, cluster.New(t, options)), joins: newJoins()}
	a.follow(a.c.Config)
	a.do(a.Create(t.Context(), joinedPool()))
	return a
}

// follow follows nodes at an API server until the test ends.
func (a *availability) follow(server *rest.Config) {
	a.t.Helper()
	ctx, end := context.WithCancel(context.Background())
	var following sync.WaitGroup
	a.t.Cleanup(func() { end(); following.Wait() })
	api := a.clientOf(server)
	following.Go(func() { a.joins.follow(ctx, api) })
}

func (a *availability) clientOf(config *rest.Config) client.WithWatch {
	a.t.Helper()
	scheme, err := controller.NewScheme()
	a.do(err)
	api, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	a.do(err)
	return api
}

// balance opens a balancer until the test ends.
func (a *availability) balance(servers ...*rest.Config) *cluster.Balancer {
	a.t.Helper()
	line, err := a.c.Balance(servers...)
	a.do(err)
	a.t.Cleanup(func() { a.do(line.Close()) })
	return line
}

// replica makes a replica with a line of its own to API servers.
func (a *availability) replica(user string, servers ...*rest.Config) *replica {
	a.t.Helper()
	config, err := a.c.AddUser(user, "system:masters")
	a.do(err)
	r := &replica{t: a.t, user: user, program: "nodepools", temporary: a.t.TempDir(), line: a.balance(servers...)}
	r.kubeconfig, err = a.c.WriteKubeconfig(r.line.For(config))
	a.do(err)
	return r
}

func (r *replica) start() {
	r.t.Helper()
	r.process = runProgram(r.t, r.program, r.environment, r.kubeconfig, r.temporary,
		"--leader-elect", "--leader-election-namespace", "default")
	r.t.Cleanup(r.process.kill)
}

// sessions counts how often a replica has begun to ask for the lease.
func (r *replica) sessions() int {
	return strings.Count(r.process.log.String(), "ttempting to acquire leader lease")
}

// lead starts two replicas, of which the first leads.
func (a *availability) lead(first, second *replica) {
	a.t.Helper()
	a.replicas, a.leaders = []*replica{first, second}, append(a.leaders, first.user)
	a.users = append(a.users, first.user, second.user)
	first.start()
	a.awaitRight(a.join(a.Client, 1))
	a.startStandby()
}

// startStandby starts the second replica, and returns when it can take over.
func (a *availability) startStandby() {
	a.t.Helper()
	mark := a.mark()
	a.replicas[1].start()
	a.standsBy(mark, 0)
}

func (a *availability) mark() int64 {
	a.t.Helper()
	mark, err := a.c.AuditMark()
	a.do(err)
	return mark
}

// standsBy waits until the second replica has begun a session after an earlier one, and has
// asked for what it needs to work since a mark.
func (a *availability) standsBy(mark int64, sessions int) {
	a.t.Helper()
	standby := a.replicas[1]
	a.until(standby.user+" stands by", func() error {
		if standby.sessions() <= sessions {
			return fmt.Errorf("it has not begun")
		}
		requests, err := a.c.Audit(mark)
		if err != nil {
			return err
		}
		for _, want := range []string{"get leases", "watch nodes", "watch nodepools"} {
			if !slices.ContainsFunc(requests, func(r cluster.Request) bool {
				return r.User == standby.user && r.Verb+" "+r.Object.Resource == want
			}) {
				return fmt.Errorf("it has not asked to %s", want)
			}
		}
		return nil
	})
}

// takeOver notes that the other replica leads from now on.
func (a *availability) takeOver() {
	a.replicas[0], a.replicas[1] = a.replicas[1], a.replicas[0]
	a.leaders = append(a.leaders, a.replicas[0].user)
}

// join lets nodes join, and returns their names.
func (a *availability) join(by client.Client, count int) (names []string) {
	a.t.Helper()
	for range count {
		name := fmt.Sprintf("n%d", len(a.nodes))
		a.do(a.joins.create(a.t.Context(), by, name))
		names, a.nodes = append(names, name), append(a.nodes, name)
	}
	return names
}

// awaitRight waits until nodes have what their pool says, and returns how long each waited.
func (a *availability) awaitRight(names []string) (waits []time.Duration) {
	a.t.Helper()
	a.until(fmt.Sprintf("%d nodes get what their pool says", len(names)), func() (err error) {
		waits, err = a.joins.waits(names)
		return err
	})
	return waits
}

// oneByOne lets nodes join one after the other, each when the one before is right.
func (a *availability) oneByOne(count int) (waits []time.Duration) {
	a.t.Helper()
	for range count {
		waits = append(waits, a.awaitRight(a.join(a.Client, 1))...)
	}
	return waits
}

// check holds, at the end, that all nodes are right, that others have lost nothing and
// nothing went back, and that one leader wrote at a time.
func (a *availability) check() {
	a.t.Helper()
	var nodes corev1.NodeList
	a.do(a.List(a.t.Context(), &nodes))
	if len(nodes.Items) != len(a.nodes) {
		a.t.Errorf("there are %d nodes, want %d", len(nodes.Items), len(a.nodes))
	}
	for i := range nodes.Items {
		for _, check := range []func(*corev1.Node) error{joined, kept} {
			if err := check(&nodes.Items[i]); err != nil {
				a.t.Error(err)
			}
		}
	}
	a.joins.mu.Lock()
	defer a.joins.mu.Unlock()
	for _, back := range a.joins.back {
		a.t.Error(back)
	}
	var wrote []string
	for _, write := range a.writes() {
		if write.Code < 400 {
			wrote = append(wrote, write.User)
		}
	}
	if got := slices.Compact(slices.Clone(wrote)); !slices.Equal(got, a.leaders) {
		a.t.Errorf("of %d writes, by turns, %v; want %v", len(wrote), got, a.leaders)
	}
	for _, r := range a.replicas {
		if err := r.process.sound(); err != nil {
			a.t.Error(err)
		}
	}
}

// stop stops both replicas, so that none takes over.
func (a *availability) stop() {
	a.t.Helper()
	a.replicas[1].process.stop(a.t)
	a.replicas[0].process.stop(a.t)
}

// writes are those of replicas so far, without those of the lease.
func (a *availability) writes() (writes []cluster.Request) {
	a.t.Helper()
	a.until("what replicas write is carried out", func() error {
		requests, err := a.c.Audit(0)
		if err != nil {
			return err
		}
		writes = slices.DeleteFunc(cluster.WritesBy("", requests), func(r cluster.Request) bool {
			return !slices.Contains(a.users, r.User) || r.Object.Resource == "leases"
		})
		for _, write := range writes {
			if write.Code == 0 && write.Received.After(a.killed) {
				return fmt.Errorf("still being served: %s", write)
			}
		}
		return nil
	})
	return writes
}

// eachInOneWrite holds that nodes which have joined were written once, and returns how many
// writes were refused, as a node had changed since it was read, and of how many the answer
// was lost. The audit log has an error for these, whether they were carried out or not;
// where one was, its repetition is refused.
func (a *availability) eachInOneWrite(names []string) string {
	a.t.Helper()
	done, lost, refused := map[string]int{}, map[string]int{}, 0
	for _, write := range a.writes() {
		switch {
		case write.Object.Resource != "nodes" || !slices.Contains(names, write.Object.Name):
		case write.Code == http.StatusOK:
			done[write.Object.Name]++
		case write.Code == http.StatusConflict:
			refused++
		default:
			lost[write.Object.Name]++
			a.t.Logf("its answer was lost: %s", write)
		}
	}
	for _, name := range names {
		if done[name] > 1 || done[name]+lost[name] == 0 {
			a.t.Errorf("node %s has joined in %d writes, want one", name, done[name])
		}
	}
	return fmt.Sprintf("%d nodes have joined, in one write each; %d more were refused, and the answers to writes of %d were lost", len(names), refused, len(lost))
}

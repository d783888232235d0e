package controller

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/leaks"
)

// passes runs the source loop pass by pass, against the real API server and real
// repositories, and without a manager: through the loops a source is looked at
// once a second at the most, and 1,000 passes would take minutes. A manager adds
// nothing to a pass but the queue; what starting and stopping it leaves is the
// next test's.
type passes struct {
	*world
	// patient has all the time there is, hasty gives up on a server that hangs.
	patient, hasty *sources.Reconciler
	taken          atomic.Int64
}

func newPasses(t *testing.T) *passes {
	t.Helper()
	c := cluster.Shared(t)
	p := &passes{world: &world{Client: newClient(t, c.Config), t: t, cluster: c}}
	t.Cleanup(p.clear)
	t.Cleanup(p.releaseAll)
	var polls atomic.Int64
	reconciler := func(timeout time.Duration) *sources.Reconciler {
		return sources.New(p.Client, p.Client, fleet.New(p.Client, nodecache.Live(p.Client)), noEvents{}, sources.Options{
			// Whenever it is asked for the time it is a day later: every pass polls.
			Now: func() time.Time {
				return time.Unix(0, 0).Add(time.Duration(polls.Add(1)) * 24 * time.Hour)
			},
			FetchTimeout: timeout, MaxRetry: time.Second,
		})
	}
	p.patient, p.hasty = reconciler(waitTimeout), reconciler(30*time.Millisecond)
	return p
}

// releaseAll takes the finalizer off all pools, as the pool loop would, which does not
// run.
func (p *passes) releaseAll() {
	ctx := context.Background()
	var pools v1.NodePoolList
	if err := p.List(ctx, &pools); err != nil {
		p.t.Errorf("release pools: %v", err)
	}
	for i := range pools.Items {
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := p.Patch(ctx, &pools.Items[i], free); err != nil {
			p.t.Errorf("release pool %q: %v", pools.Items[i].Name, err)
		}
	}
}

type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// take is one pass over a source.
func (p *passes) take(reconciler *sources.Reconciler, source string) error {
	p.taken.Add(1)
	_, err := reconciler.Reconcile(p.t.Context(), loop.RequestFor(source))
	return err
}

// all takes a pass over each source, as many at once as the loop polls of one host.
func (p *passes) all(lasting []lasting) {
	p.t.Helper()
	var running sync.WaitGroup
	turn := make(chan struct{}, sources.Workers/2)
	for _, source := range lasting {
		turn <- struct{}{}
		running.Go(func() {
			defer func() { <-turn }()
			if err := p.take(source.reconciler, source.name); err != nil {
				p.t.Errorf("source %s: %v", source.name, err)
			}
		})
	}
	running.Wait()
	if p.t.Failed() {
		p.t.FailNow()
	}
}

// lasting is a source that is there all the time.
type lasting struct {
	name, url, path, branch string
	reconciler              *sources.Reconciler
	// condition is the one that is false, and why; empty for a source that is well.
	condition, reason string
}

func (s lasting) object() *v1.NodePoolSource {
	src := &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: s.name},
		Spec:       v1.NodePoolSourceSpec{URL: s.url, Path: s.path, Interval: metav1.Duration{Duration: time.Minute}},
	}
	if s.branch != "" {
		src.Spec.Ref = &v1.GitRef{Branch: s.branch}
	}
	return src
}

// After hundreds of passes over sources that find nothing new, read new revisions, fail
// in every way, come and go, nothing is left of them: no goroutine, file, process
// or temporary file, and no memory of a source that is gone. What is left once in each
// round, or for each source, shows after few of them; 10,000 passes with -stress.
func TestSourcePassesLeaveNothing(t *testing.T) {
	cluster.Long(t)
	rounds, passes := 15, int64(250)
	if cluster.Stress() {
		rounds, passes = 600, 10_000
	}
	p := newPasses(t)
	t.Setenv("TMPDIR", t.TempDir()) // the control plane keeps its folder in the one before
	repo, broken := newRepository(t), newRepository(t)
	lasting := p.sources(repo.serve(t), repo, broken)
	commit := func(n int) {
		changed := files{"none/README.md": fmt.Sprint(n)}
		for i := range healthySources {
			changed[fmt.Sprintf("h%d/pool.yaml", i)] = poolFile(fmt.Sprintf("h%d", i), fmt.Sprint(n))
		}
		repo.commit(changed)
		broken.commit(files{"pools/a.yaml": fmt.Sprintf("kind: Nonsense\nn: %d\n", n)})
	}
	commit(0)
	for _, source := range lasting {
		p.do(p.Create(t.Context(), source.object()))
	}
	visit := func(n int) {
		guest := lasting[n%len(lasting)]
		guest.name = fmt.Sprintf("guest-%d", n)
		if guest.reason == "" {
			guest.path = "none" // two sources cannot have the same pools
		}
		src := guest.object()
		p.do(p.Create(t.Context(), src))
		p.do(p.take(guest.reconciler, guest.name))
		p.do(p.Delete(t.Context(), src))
		p.do(p.take(guest.reconciler, guest.name))
	}
	for n := range lasting {
		visit(n) // what the process keeps for good, such as connections to the API server
	}
	p.all(lasting)
	before := leaks.Now(t)
	p.taken.Store(0)
	for n := range rounds {
		if n%10 == 0 {
			commit(n + 1)
		}
		p.all(lasting)
		visit(len(lasting) + n)
	}
	p.t.Logf("%d passes", p.taken.Load())
	for _, source := range lasting {
		src := &v1.NodePoolSource{}
		p.do(p.Get(t.Context(), client.ObjectKey{Name: source.name}, src))
		want, condition := metav1.ConditionFalse, source.condition
		if condition == "" {
			want, condition, source.reason = metav1.ConditionTrue, v1.ReadyCondition, v1.SucceededReason
		}
		if err := conditionIs(src.Status.Conditions, condition, want, source.reason); err != nil {
			t.Errorf("source %s: %v", source.name, err)
		}
		p.do(p.Delete(t.Context(), src))
		p.do(p.take(source.reconciler, source.name))
	}
	before.Check(t, waitTimeout)
	if left := p.patient.Kept() + p.hasty.Kept(); left > 0 {
		t.Errorf("%d sources are remembered that are gone", left)
	}
	if p.taken.Load() < passes {
		t.Errorf("%d passes, want %d at least", p.taken.Load(), passes)
	}
}

const healthySources = 5

// sources are some that are well, and one for each way to fail.
func (p *passes) sources(server *gitServer, repo, broken *repository) []lasting {
	t := p.t
	ill := func(handler http.HandlerFunc) string {
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		return s.URL + "/repo"
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	p.do(err)
	p.do(nobody.Close())

	failing := []lasting{
		{name: "unreachable", url: "http://" + nobody.Addr().String() + "/repo", reason: "Unreachable"},
		{name: "hangs", url: ill(server.hang), reason: "Timeout", reconciler: p.hasty},
		{name: "hangs-in-pack", url: ill(inPack(server, server.hang)), reason: "Timeout", reconciler: p.hasty},
		{name: "fails", url: ill(answer(500)), reason: "ServerFailed"},
		{name: "limits", url: ill(answer(429)), reason: "RateLimited"},
		{name: "breaks-off", url: ill(inPack(server, breakOff(server))), reason: "Unreachable"},
		{name: "redirects", url: ill(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }), reason: "RedirectRefused"},
		{name: "untrusted", url: secure.URL + "/repo", reason: "CertificateUntrusted"},
		{name: "no-key", url: "ssh://git@" + nobody.Addr().String() + "/repo", reason: "HostKeyUntrusted"},
		{name: "no-branch", url: server.url(), branch: "nope", reason: "RefMissing"},
		{name: "no-folder", url: repo.url(), path: "nope", reason: "PathMissing"},
		{name: "broken", url: broken.url(), path: "pools", condition: v1.ValidCondition, reason: v1.InvalidReason},
	}
	var all []lasting
	for i := range healthySources {
		url := server.url()
		if i == 0 {
			url = repo.url()
		}
		all = append(all, lasting{name: fmt.Sprintf("well-%d", i), url: url, path: fmt.Sprintf("h%d", i), reconciler: p.patient})
	}
	for _, source := range failing {
		if source.condition == "" {
			source.condition = v1.FetchedCondition
		}
		if source.reconciler == nil {
			source.reconciler = p.patient
		}
		all = append(all, source)
	}
	return all
}

// inPack answers the list of refs as Git does, and the request for a pack
// otherwise.
func inPack(server *gitServer, pack http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kindOfGit(r) == packing {
			body, _ := io.ReadAll(r.Body) // unread, it would hide the end of the connection
			r.Body = io.NopCloser(bytes.NewReader(body))
			pack(w, r)
			return
		}
		server.backend.ServeHTTP(w, r)
	}
}

// breakOff sends the first half of what Git sends.
func breakOff(server *gitServer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		whole := httptest.NewRecorder()
		server.backend.ServeHTTP(whole, r)
		w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// The loops end whole: started and stopped again and again, with work done in
// between, they leave nothing behind.
func TestLoopsLeaveNothing(t *testing.T) {
	cluster.Long(t)
	c := cluster.Shared(t)
	t.Setenv("TMPDIR", t.TempDir()) // the control plane keeps its folder in the one before
	w := &world{Client: newClient(t, c.Config), t: t, cluster: c}
	user, err := c.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	repo := newRepository(t)
	git := &gitWorld{world: w}
	t.Cleanup(func() {
		stop := runLoops(t, user, Options{}, logr.Discard())
		w.clear() // pools are released by the loops
		stop()
	})
	w.node("a1", role("a"))
	git.source("whole", repo.url())
	once := func(n int) {
		revision := repo.commit(files{"pools/a.yaml": poolFile("a", fmt.Sprint(n))})
		stop := runLoops(t, user, Options{}, logr.Discard())
		defer stop()
		git.follows("whole", revision)
		git.carries("a1", tiers("a", fmt.Sprint(n)))
		git.poolsReady("a")
	}
	once(math.MaxUint8) // what the process keeps for good
	before := leaks.Now(t)
	for n := range 5 {
		once(n)
	}
	before.Check(t, waitTimeout)
}

package controller

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/controller/nodes"
)

// writesPool reports whether a request writes a pool, and is no dry run.
func writesPool(request *http.Request, method, pool string) bool {
	return request.Method == method && strings.HasSuffix(request.URL.Path, "/nodepools/"+pool) && !request.URL.Query().Has("dryRun")
}

// disagree waits until every node was looked at, and pool b reports that it does not
// get what pool a, which goes before it, has got.
func (w *gitWorld) disagree() {
	w.t.Helper()
	w.poolsReady("a")
	w.poolIs("b", "is in conflict", func(pool *v1.NodePool) error {
		return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, v1.ConflictReason)
	})
}

// torn is a world of a node in two pools that get on with each other, for a test
// in which the loops are disturbed when they disagree.
func torn(t *testing.T, gate func(request *http.Request) error) (w *gitWorld, server *gitServer, disturb func() (revision string)) {
	t.Helper()
	w = newGitWorld(t)
	w.stop()
	repo := newRepository(t)
	server = repo.serve(t)
	w.node("n1", role("a", "b"))
	before := files{}
	for _, name := range []string{"a", "b"} {
		before["pools/"+name+".yaml"] = strings.ReplaceAll(poolFile(name, "0"), "example.com/tier", "example.com/"+name)
	}
	// The older pool wins: pools of one commit may be created in any order.
	repo.commit(files{"pools/a.yaml": before["pools/a.yaml"]})
	var armed atomic.Bool
	w.startBehind(func(_ map[string]int, request *http.Request) error {
		if armed.Load() {
			return gate(request)
		}
		return nil
	})
	t.Cleanup(w.clear)
	w.source("torn", server.url())
	w.poolsReady("a")
	w.follows("torn", repo.commit(before))
	w.poolsReady("a", "b")
	return w, server, func() string {
		armed.Store(true)
		return repo.commit(files{"pools/a.yaml": poolFile("a", "A"), "pools/b.yaml": poolFile("b", "B")})
	}
}

// whole waits until the revision is carried out. The node was written once since the
// mark: nobody has followed a part of it.
func (w *gitWorld) whole(revision string, mark int64) {
	w.t.Helper()
	w.follows("torn", revision)
	w.disagree()
	agreed := role("a", "b")
	agreed["example.com/tier"] = "A"
	w.carries("n1", agreed)
	if writes, _ := w.nodeWrites(mark); writes["n1"] != 1 {
		w.t.Errorf("the node was written %d times, want once", writes["n1"])
	}
}

// A revision is followed as a whole, also where somebody is faster with its second
// pool, so that it is written by the next pass.
func TestGitTornByAConflict(t *testing.T) {
	var faster atomic.Bool
	var w *gitWorld
	w, _, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "b") && faster.CompareAndSwap(false, true) {
			_, err := w.cluster.Kubectl(t.Context(), "annotate", "nodepools.nodes.lailin.xyz", "b", "example.com/faster=true")
			return err
		}
		return nil
	})
	mark := w.mark()
	w.whole(disturb(), mark)
	if !faster.Load() {
		t.Error("nobody was faster")
	}
}

// So it is where the API server cannot be reached for some tries.
func TestGitTornByAFault(t *testing.T) {
	var failed atomic.Int32
	w, _, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "b") && failed.Add(1) <= 3 {
			return errors.New("the connection is cut")
		}
		return nil
	})
	mark := w.mark()
	w.whole(disturb(), mark)
	if failed.Load() < 4 {
		t.Errorf("the second pool was written %d times, want three that fail", failed.Load())
	}
}

// And where the API server refuses the second one, as somebody has made a policy
// meanwhile: no node follows the first, for as long as that lasts, and the source says
// what is wrong.
func TestGitTornByARefusal(t *testing.T) {
	var refusing atomic.Bool
	refusing.Store(true)
	w, _, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "b") && refusing.Load() {
			return apierrors.NewForbidden(schema.GroupResource{Group: v1.GroupVersion.Group, Resource: "nodepools"}, "b", errors.New("a new policy"))
		}
		return nil
	})
	before := w.get("n1")
	revision := disturb()
	w.stands("torn", v1.ValidCondition, metav1.ConditionFalse, v1.ApplyReason, "a new policy", revision)
	if pool := w.allPools()["a"]; pool.Generation != 2 {
		t.Errorf("the first pool is at generation %d, want it written", pool.Generation)
	}
	// A node that joins follows the pools from before, and is proof that the loops have
	// seen the first one.
	w.node("n2", role("a", "b"))
	old := role("a", "b")
	old["example.com/a"], old["example.com/b"] = "0", "0"
	w.carries("n2", old)
	if now := w.get("n1"); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("the node was written while its revision was refused in part: it has %v", now.Labels)
	}
	mark := w.mark()
	refusing.Store(false)
	w.changeSource("torn", func(src *v1.NodePoolSource) {
		metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1.RequestedAtAnnotation, "now")
	})
	w.whole(revision, mark)
}

// killedBetween is a torn world in which the controller was killed when it had
// written one of two pools.
func killedBetween(t *testing.T) (w *gitWorld, server *gitServer, revision string, mark int64) {
	t.Helper()
	killed, writes := make(chan struct{}), 0
	w, server, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "a") || writesPool(request, http.MethodPatch, "b") {
			if writes++; writes == 2 {
				close(killed)
			}
		}
		if writes >= 2 {
			return errors.New("killed")
		}
		return nil
	})
	mark = w.mark()
	revision = disturb()
	<-killed
	w.eventually("the first of two pools is written", func() error {
		if pools := w.allPools(); pools["a"].Generation+pools["b"].Generation != 3 {
			return fmt.Errorf("generations are %d and %d", pools["a"].Generation, pools["b"].Generation)
		}
		return nil
	})
	w.stop()
	return w, server, revision, mark
}

// And where the controller is killed before it has written the second one: the
// next one finishes the revision first.
func TestGitTornByAKill(t *testing.T) {
	w, _, revision, mark := killedBetween(t)
	w.start()
	w.whole(revision, mark)
}

// And where it is killed when all pools are written, and the number is not: nodes follow the
// revision before, also one that joins, until the next one has written it.
func TestGitTornBeforeTheNumber(t *testing.T) {
	killed, written := make(chan struct{}), 0
	var once sync.Once
	w, _, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "a") || writesPool(request, http.MethodPatch, "b") {
			written++
		}
		if written >= 2 && strings.HasSuffix(request.URL.Path, "/nodepoolsources/torn/status") {
			once.Do(func() { close(killed) })
			return errors.New("killed")
		}
		return nil
	})
	revision := disturb()
	<-killed
	w.node("n2", role("a", "b"))
	old := role("a", "b")
	old["example.com/a"], old["example.com/b"] = "0", "0"
	w.carries("n2", old)
	w.stop()
	if pools := w.allPools(); pools["a"].Generation+pools["b"].Generation != 4 {
		t.Errorf("generations are %d and %d, want both pools written", pools["a"].Generation, pools["b"].Generation)
	}
	w.kubectl("delete", "node", "n2")
	mark := w.mark()
	w.start()
	w.whole(revision, mark)
}

// Also where somebody changes the source while it looks at the repository.
func TestGitTornByAKillAndAChange(t *testing.T) {
	w, server, revision, mark := killedBetween(t)
	var once sync.Once
	server.ill(func(answer http.ResponseWriter, request *http.Request) {
		once.Do(func() {
			w.changeSource("torn", func(src *v1.NodePoolSource) { src.Spec.Interval.Duration = 2 * time.Second })
		})
		time.Sleep(10 * nodes.CoalescePeriod) // nodes would follow
		server.backend.ServeHTTP(answer, request)
	})
	w.start()
	w.whole(revision, mark)
}

// A pool that goes is there until the last write of its keys has ended, and what
// that has put there is gone with it.
func TestGitPoolWaitsForAWriteOfItsKeys(t *testing.T) {
	w := newGitWorld(t)
	w.stop()
	w.node("n1", nil)
	w.node("n2", nil)
	var armed atomic.Bool
	reached, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	user, err := w.cluster.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	user.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/nodes/n1") && armed.CompareAndSwap(true, false) {
				close(reached)
				<-goOn
			}
			return next.RoundTrip(request)
		})
	})
	w.stop = startLoopsWith(t, user, Options{}, funcr.New(w.log.add, funcr.Options{Verbosity: 10}))
	t.Cleanup(w.clear)
	w.pool("{apiVersion: nodes.lailin.xyz/v1, kind: NodePool, metadata: {name: p}, spec: {selector: {matchLabels: {zone: a}}, taints: [{key: p, effect: NoExecute}]}}")
	w.pool("{apiVersion: nodes.lailin.xyz/v1, kind: NodePool, metadata: {name: q}, spec: {nodeNames: [n2]}}")
	w.isReady("p", 0)
	w.isReady("q", 1)
	armed.Store(true)
	w.kubectl("label", "node", "n1", "zone=a")
	<-reached
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "p", "--wait=false")
	// What comes after the deletion is carried out, as far as it is known: the
	// pools were looked at.
	w.kubectl("patch", "nodepools.nodes.lailin.xyz", "q", "--type=merge", "--patch", `{"spec":{"labels":{"example.com/later":"yes"}}}`)
	w.carries("n2", map[string]string{v1.RoleLabel("q"): "", "example.com/later": "yes"})
	time.Sleep(2 * loop.RetryPeriod)
	w.poolsAre("p (leaving)", "q")
	release()
	w.poolsAre("q")
	w.carries("n1", map[string]string{"zone": "a"})
}

// When a source goes with its pools, no node gets what one pool had to leave to
// another that goes before it.
func TestGitTornByADeletion(t *testing.T) {
	w := newGitWorld(t)
	w.stop()
	repo := newRepository(t)
	w.node("n1", role("a", "b"))
	revision := repo.commit(files{"pools/a.yaml": poolFile("a", "A"), "pools/b.yaml": poolFile("b", "B")})
	w.startBehind(func(_ map[string]int, request *http.Request) error {
		if writesPool(request, http.MethodDelete, "b") {
			time.Sleep(4 * nodes.CoalescePeriod) // nodes would follow the deletion of a
		}
		return nil
	})
	t.Cleanup(w.clear)
	w.source("torn", repo.url(), func(src *v1.NodePoolSource) { src.Spec.DeletionPolicy = v1.DeletePools })
	w.follows("torn", revision)
	w.disagree()
	mark := w.mark()
	w.kubectl("delete", "nodepoolsources.nodes.lailin.xyz", "torn")
	w.poolsAre()
	w.carries("n1", role("a", "b"))
	if writes, _ := w.nodeWrites(mark); writes["n1"] != 1 {
		t.Errorf("the node was written %d times, want once, when both pools were gone", writes["n1"])
	}
}

// While a revision is being written, for however long, a node that joins gets the
// whole of the one before, and what others say of other pools is followed.
func TestGitJoinDuringARevision(t *testing.T) {
	var reachable atomic.Bool
	w, _, disturb := torn(t, func(request *http.Request) error {
		if writesPool(request, http.MethodPatch, "b") && !reachable.Load() {
			return errors.New("the connection is cut")
		}
		return nil
	})
	revision := disturb()
	w.eventually("the first of two pools is written", func() error {
		if pool := w.allPools()["a"]; pool.Generation != 2 {
			return fmt.Errorf("its generation is %d", pool.Generation)
		}
		return nil
	})
	w.pool("{apiVersion: nodes.lailin.xyz/v1, kind: NodePool, metadata: {name: wall}, spec: {nodeNames: [n1, n2], labels: {example.com/wall: stands}}}")
	w.node("n2", role("a", "b"))
	old := role("a", "b", "wall")
	old["example.com/a"], old["example.com/b"], old["example.com/wall"] = "0", "0", "stands"
	w.carries("n2", old)
	w.carries("n1", old)
	reachable.Store(true)
	w.follows("torn", revision)
	w.disagree()
	delete(old, "example.com/a")
	delete(old, "example.com/b")
	old["example.com/tier"] = "A"
	w.carries("n1", old)
	w.carries("n2", old)
}

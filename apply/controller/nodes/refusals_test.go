package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/nodecache"
	"github.com/nodepools/nodepools/apply/plan"
)

// refusingServer is an API server with a policy for nodes, and a queue whose clock somebody
// moves. It is none of the real ones, which TestWhatAPolicyRefusesOfPoolsKeepsNoOtherOff has:
// here hours go by, with hundreds of refused pools, and requests are counted.
type refusingServer struct {
	*testing.T
	client.WithWatch
	r   *Reconciler
	now time.Time

	writes int
	// refuses is the policy; a write that it refuses is answered with says, or as forbidden.
	refuses func(patch string) bool
	says    string
	// webhook is the code with which it is a webhook that refuses, and delay what a request
	// takes.
	webhook int32
	delay   time.Duration
	// before is what somebody else does before each request.
	before func()
}

var reasons = map[int32]metav1.StatusReason{
	401: metav1.StatusReasonUnauthorized, 404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict,
	413: metav1.StatusReasonRequestEntityTooLarge, 500: metav1.StatusReasonInternalError,
}

const isolated = corev1.LabelNamespaceNodeRestriction + "/isolated"

func serverWith(t *testing.T, pools ...*v1.NodePool) *refusingServer {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "1", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"busy": ""}}}}
	for _, pool := range pools {
		objects = append(objects, pool)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	s := &refusingServer{T: t, WithWatch: c, now: time.Now(), delay: 10 * time.Millisecond, refuses: func(patch string) bool { return strings.Contains(patch, "bad") }}
	s.r = New(c, c, nodecache.Live(c), fleet.New(c, nodecache.Live(c)), s, plan.DefaultRepairBackoff(), nil, logr.Discard())
	s.r.repairs.now = func() time.Time { return s.now }
	return s
}

// PatchNode implements [apply.NodePatcher].
func (s *refusingServer) PatchNode(ctx context.Context, name string, patch plan.Patch) error {
	if s.before != nil {
		s.before()
	}
	s.now = s.now.Add(s.delay)
	s.writes++
	resource := schema.GroupResource{Resource: "nodes"}
	if version := fmt.Sprintf("%q:%q", "resourceVersion", s.node().ResourceVersion); patch.Type != types.JSONPatchType && !strings.Contains(string(patch.Data), version) {
		return apierrors.NewConflict(resource, name, errors.New("it has been modified"))
	}
	if s.refuses(string(patch.Data)) {
		if s.webhook != 0 {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Code: s.webhook, Reason: reasons[s.webhook], Message: `admission webhook "nodes.example.com" denied the request: no`}}
		}
		if s.says != "" {
			refusal := apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, name, nil)
			refusal.ErrStatus.Message = fmt.Sprintf("nodes %q is forbidden: %s", name, s.says)
			return refusal
		}
		return apierrors.NewForbidden(resource, name, errors.New("a policy"))
	}
	options := []client.PatchOption{client.FieldOwner(v1.FieldManager)}
	if patch.Type == types.ApplyPatchType {
		options = append(options, client.ForceOwnership)
	}
	return s.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.RawPatch(patch.Type, patch.Data), options...)
}

var _ apply.NodePatcher = (*refusingServer)(nil)

func (s *refusingServer) node() *corev1.Node {
	s.Helper()
	node := &corev1.Node{}
	if err := s.Get(s.Context(), client.ObjectKey{Name: "n1"}, node); err != nil {
		s.Fatal(err)
	}
	return node
}

// until makes passes as the queue would, until the node has a label, and returns after what
// time that was. It fails after two hours.
func (s *refusingServer) until(label string) time.Duration {
	s.Helper()
	began, failures := s.now, 0
	for s.now.Sub(began) < 2*time.Hour {
		result, err := s.r.Reconcile(s.Context(), loop.RequestFor("n1"))
		if _, has := s.node().Labels[label]; has {
			return s.now.Sub(began)
		}
		switch {
		case err != nil:
			s.now = s.now.Add(min(loop.FirstBackoff<<min(failures, 20), loop.MaxBackoff))
			failures++
		case result.RequeueAfter == 0:
			s.now, failures = s.now.Add(time.Minute), 0
		default:
			s.now, failures = s.now.Add(result.RequeueAfter), 0
		}
	}
	s.Fatalf("%s is not there after two hours: %d writes, labels %v", label, s.writes, s.node().Labels)
	return 0
}

func everywhere(name string, priority int32, labels ...string) *v1.NodePool {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1, UID: types.UID(name), Finalizers: []string{v1.ReleaseFinalizer}}}
	pool.Spec = v1.NodePoolSpec{NodeNames: []string{"*"}, Priority: priority, Labels: map[string]v1.LabelValue{}}
	for _, label := range labels {
		pool.Spec.Labels[label] = "v"
	}
	pool.Status.Accepted = plan.AcceptedSpecOf(pool)
	return pool
}

func quarantine() *v1.NodePool { return everywhere("quarantine", 100, isolated) }

// However many pools are refused, a stronger one is there at once, a weaker one comes within the
// writes of some passes, and all that were refused come when they are tried again.
func TestManyRefusedPoolsKeepNobodyOff(t *testing.T) {
	for _, count := range []int{1, 2, 5, 30, 200} {
		outer, nested := everywhere("outer", -50), quarantine()
		nested.Spec.Parent = "outer"
		s := serverWith(t, append(badPools(count), outer, nested, everywhere("zz-last", -100, "example.com/last"))...)
		if took := s.until(isolated); took > time.Second {
			t.Errorf("%d refused pools: the quarantine comes after %s, %d writes", count, took, s.writes)
		}
		last := s.until("example.com/last")
		t.Logf("%d refused pools: the last pool comes after %s, with %d writes", count, last, s.writes)
		if last > 15*time.Second {
			t.Errorf("%d refused pools: the last pool comes after %s", count, last)
		}
		before := s.writes
		s.now = s.now.Add(time.Hour)
		s.refuses = func(string) bool { return false }
		s.until(fmt.Sprintf("example.com/bad%03d", count-1))
		if requests := s.writes - before; requests > 3 {
			t.Errorf("%d refused pools: all are there %d requests after the policy has gone", count, requests)
		}
	}
}

// While pools are refused, an hour costs each of them a write in five minutes.
func TestRefusedPoolsAreTriedRarely(t *testing.T) {
	s := serverWith(t, quarantine(), everywhere("a", 0, "example.com/bad"), everywhere("b", 0, "example.com/bad2"))
	s.until(isolated)
	for end := s.now.Add(20 * time.Minute); s.now.Before(end); {
		s.pass()
	}
	writes := s.writes
	for end := s.now.Add(time.Hour); s.now.Before(end); {
		s.pass()
	}
	if tried := s.writes - writes; tried < 20 || tried > 2*14 {
		t.Errorf("in an hour it makes %d writes", tried)
	}
}

// pass makes one, and waits as long as it says.
func (s *refusingServer) pass() {
	s.Helper()
	result, err := s.r.Reconcile(s.Context(), loop.RequestFor("n1"))
	if err != nil || result.RequeueAfter == 0 {
		s.Fatalf("the pass is not repeated: %+v %v", result, err)
	}
	s.now = s.now.Add(result.RequeueAfter)
}

// What may keep a quarantine off a node: it is there within a second, or the time that is named.
func TestNothingOfRefusedPoolsKeepsAQuarantineOff(t *testing.T) {
	within := func(pool *v1.NodePool, outer string) *v1.NodePool {
		pool.Spec.Parent = outer
		return pool
	}
	for name, c := range map[string]struct {
		pools []*v1.NodePool
		set   func(*refusingServer)
		most  time.Duration
	}{
		"pools agree": {[]*v1.NodePool{everywhere("a", 0, "example.com/bad"), everywhere("b", -1, "example.com/bad"), everywhere("c", -1, "example.com/bad")}, nil, 0},
		"within a pool that has a refused one": {[]*v1.NodePool{everywhere("outer", 0, "example.com/outer"),
			within(everywhere("a", 200, "example.com/bad"), "outer")}, nil, 0},
		"the refusal says what others say": {[]*v1.NodePool{everywhere("a", 0, "example.com/bad")}, func(s *refusingServer) {
			s.says = "the server rejected our request due to an error in our request"
		}, 0},
		"it says that it is too large": {[]*v1.NodePool{everywhere("a", 0, "example.com/bad")}, func(s *refusingServer) {
			s.says = "etcdserver: request is too large"
		}, 0},
		"the kubelet is never at rest": {[]*v1.NodePool{everywhere("a", 0, corev1.LabelNamespaceNodeRestriction+"/bad")}, func(s *refusingServer) {
			s.before = func() {
				node := s.node()
				node.Annotations["busy"] += "."
				if err := s.Update(s.Context(), node); err != nil {
					s.Fatal(err)
				}
			}
		}, 0},
		"the kubelet flips what a pool wants": {[]*v1.NodePool{everywhere("a", 0, corev1.LabelNamespaceNodeRestriction+"/bad"), everywhere("p", 0, "example.com/flips")}, func(s *refusingServer) {
			s.before = func() {
				node := s.node()
				if _, has := node.Labels["example.com/flips"]; has {
					delete(node.Labels, "example.com/flips")
				} else {
					node.Labels["example.com/flips"] = "x"
				}
				if err := s.Update(s.Context(), node); err != nil {
					s.Fatal(err)
				}
			}
		}, time.Minute},
		"what waits is refused, too": {[]*v1.NodePool{pausedWith("bad")}, func(s *refusingServer) {
			first := 0
			s.refuses = func(patch string) bool {
				if strings.Contains(patch, "isolated") {
					first++
				}
				return strings.Contains(patch, "bad") || strings.Contains(patch, "isolated") && first < 4
			}
		}, time.Minute},
		"a webhook takes its time": {badPools(40), func(s *refusingServer) { s.delay = 2 * time.Second }, 40 * time.Second},
		"a webhook says 401":       {badPools(2), func(s *refusingServer) { s.webhook = 401 }, 0},
		"a webhook says 404":       {badPools(2), func(s *refusingServer) { s.webhook = 404 }, 0},
		"a webhook says 409":       {badPools(2), func(s *refusingServer) { s.webhook = 409 }, 0},
		"a webhook says 413":       {badPools(2), func(s *refusingServer) { s.webhook = 413 }, 0},
		"a webhook says 500":       {badPools(2), func(s *refusingServer) { s.webhook = 500 }, 0},
		"one write alone is refused": {nil, func(s *refusingServer) {
			refused := false
			s.refuses = func(string) bool { was := refused; refused = true; return !was }
		}, 2 * time.Second},
	} {
		s := serverWith(t, append(c.pools, quarantine())...)
		if c.set != nil {
			c.set(s)
		}
		if took := s.until(isolated); took > cmp.Or(c.most, time.Second) {
			t.Errorf("%s: it comes after %s, %d writes", name, took, s.writes)
		}
	}
}

func badPools(count int) (pools []*v1.NodePool) {
	for i := range count {
		pools = append(pools, everywhere(fmt.Sprintf("p%03d", i), 0, fmt.Sprintf("example.com/bad%03d", i)))
	}
	return pools
}

// pausedWith is a paused pool with a taint.
func pausedWith(taint string) *v1.NodePool {
	pool := everywhere("paused", 0)
	pool.Spec.Taints = []v1.Taint{{Key: taint, Effect: corev1.TaintEffectNoSchedule}}
	pool.Spec.Rollout = &v1.Rollout{Paused: true}
	return pool
}

// A cluster that takes no change of nodes for an hour blames nobody for longer than five minutes.
func TestFreezeBlamesNobodyForLong(t *testing.T) {
	for name, refuses := range map[string]func(patch string) bool{
		"whatever is changed": func(string) bool { return true },
		"labels":              func(patch string) bool { return strings.Contains(patch, "v") && strings.Contains(patch, "isolated") },
	} {
		s := serverWith(t, quarantine())
		ends := s.now.Add(52 * time.Minute)
		s.refuses = func(patch string) bool { return s.now.Before(ends) && refuses(patch) }
		if took := s.until(isolated); took > 58*time.Minute {
			t.Errorf("%s: it comes %s after the freeze", name, took-52*time.Minute)
		}
	}
}

// A pool that changes is tried at once, and a node of the same name is another one.
func TestRefusalsAreOfWhatThereWas(t *testing.T) {
	s := serverWith(t, quarantine(), everywhere("a", 0, "example.com/bad"))
	s.until(isolated)
	s.pass()
	s.now = s.now.Add(-time.Millisecond) // the pool is tried next
	pools, err := s.r.fleet.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if left := s.r.refusals.of("n1", "1", pools, s.now); len(left) != 1 || s.r.refusals.again("n1", pools, s.now) <= 0 {
		t.Errorf("the pool is refused: %+v", left)
	}
	if left := s.r.refusals.of("n1", "1", pools, s.now.Add(maxRefusal)); len(left) != 0 {
		t.Errorf("and tried later: %+v", left)
	}
	if left := s.r.refusals.of("n1", "2", pools, s.now); len(left) != 0 || len(s.r.refusals.nodes) != 0 {
		t.Errorf("of another node nothing is known: %+v", left)
	}
}

// What was refused and is taken again waits for its window, as what has never been written.
func TestWhatIsTakenAgainWaitsForItsWindow(t *testing.T) {
	a := everywhere("a", 0)
	a.Spec.Taints = []v1.Taint{{Key: "bad", Effect: corev1.TaintEffectNoSchedule}}
	a.Spec.Rollout = &v1.Rollout{Windows: []v1.Window{{Schedule: "0 0 * * *", Duration: metav1.Duration{Duration: 10 * time.Minute}}}}
	s := serverWith(t, quarantine(), a)
	midnight := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	s.now = midnight.Add(time.Minute)
	s.until(isolated)
	for s.now.Before(midnight.Add(time.Hour)) {
		s.pass()
	}
	s.refuses = func(string) bool { return false }
	for s.now.Before(midnight.Add(23 * time.Hour)) {
		result, err := s.r.Reconcile(t.Context(), loop.RequestFor("n1"))
		if _, has := s.node().Labels[v1.RoleLabel("a")]; has || err != nil {
			t.Fatalf("outside its window, at %s, the pool is there: %v", s.now, err)
		}
		s.now = s.now.Add(cmp.Or(result.RequeueAfter, time.Minute))
	}
	if s.until(v1.RoleLabel("a")); s.now.Sub(midnight) < 24*time.Hour {
		t.Errorf("the pool comes at %s", s.now)
	}
}

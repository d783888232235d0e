package controller

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/apply/controller/pools"
	"github.com/nodepools/nodepools/apply/controller/sources"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/preview/compare"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// foretoldWorld is a control plane with a source of pools, the loops, and a clock that is
// moved from one moment to the next at which something may happen. The scenarios of a world
// have nodes and pools of their own, and happen all at the same time.
type foretoldWorld struct {
	*gitWorld
	clock     *movedClock
	fleet     *fleet.Fleet
	repo      *repository
	scenarios []*scenario
	// seen are the nodes as they were last, happened what has changed on them since the
	// revision was merged.
	seen   map[string]*corev1.Node
	merged bool
	// applied is when the revision may be applied.
	applied  time.Time
	happened map[*scenario][]happening
	// asked are the approvals that somebody has been asked for, and since when; given are
	// those that he gave.
	asked map[string]time.Time
	given map[string]bool
	beats int
	// lost are the nodes of which it was reported that they are not ready.
	lost map[string]bool
}

const (
	foretoldSource = "foretold"
	// probe is a node that is in no pool. What happens to it shows how far the loops are.
	probe = "probe"
	// quietPeriod is for how long nothing may be due before the loops count as idle.
	quietPeriod = 40 * time.Millisecond
	// mergePeriod is that after a revision was merged: the loops gather changes of pools.
	mergePeriod = 500 * time.Millisecond
)

// newForetoldWorld is one in which the first revision of all scenarios has been carried out.
func newForetoldWorld(t *testing.T, start time.Time, scenarios []*scenario, adjust func(*v1.NodePoolSource)) *foretoldWorld {
	t.Helper()
	c := cluster.Shared(t)
	w := &foretoldWorld{
		gitWorld:  &gitWorld{world: &world{Client: newClient(t, c.Config), t: t, cluster: c}, log: &logLines{}},
		clock:     newMovedClock(start.Add(-time.Hour)),
		scenarios: scenarios, seen: map[string]*corev1.Node{}, happened: map[*scenario][]happening{},
		asked: map[string]time.Time{}, given: map[string]bool{}, lost: map[string]bool{},
	}
	w.startMoved()
	w.repo = newRepository(t)
	w.node(probe, nil)
	var names []string
	first := files{"pools/.keep": "\n"}
	for _, s := range scenarios {
		for _, node := range s.nodes {
			w.node(node.Name, node.Labels)
			names = append(names, node.Name)
		}
		maps.Copy(first, s.files(s.start, nil))
	}
	w.isReadyNode(names...)
	revision := w.repo.commit(first)
	w.source(foretoldSource, w.repo.url(), func(src *v1.NodePoolSource) {
		src.Spec.Interval.Duration = 24 * time.Hour
		all := intstrPercent(100)
		src.Spec.PruneLimit, src.Spec.ReleaseLimit = &all, &all
		if adjust != nil {
			adjust(src)
		}
	})
	w.follows(foretoldSource, revision)
	w.rest(mergePeriod)
	w.second(start)
	w.dates()
	w.disturb()
	w.clock.moveTo(start)
	w.rest(mergePeriod)
	if w.resume() {
		w.rest(mergePeriod)
	}
	return w
}

// dates notes when pools were created: who is older may be a matter of a moment.
func (w *foretoldWorld) dates() {
	w.t.Helper()
	var list v1.NodePoolList
	w.do(w.List(w.t.Context(), &list))
	for _, s := range w.scenarios {
		s.created = map[string]time.Time{}
		for i := range list.Items {
			if pool := &list.Items[i]; strings.HasPrefix(pool.Name, s.prefix+"-") {
				s.created[pool.Name] = pool.CreationTimestamp.Time
			}
		}
	}
}

// second has the loops carry out the second revision of scenarios that have one, a few minutes
// before the last one.
func (w *foretoldWorld) second(start time.Time) {
	w.t.Helper()
	changed := files{}
	for _, s := range w.scenarios {
		if s.second != "" {
			maps.Copy(changed, s.files(s.before, s.start))
		}
	}
	if len(changed) == 0 {
		return
	}
	w.clock.moveTo(start.Add(-5 * time.Minute))
	w.repo.write(changed)
	w.repo.commit(nil)
	w.request(foretoldSource, "second")
	w.rest(mergePeriod)
}

// startMoved runs the loops by the clock.
func (w *foretoldWorld) startMoved() {
	w.t.Helper()
	user, err := w.cluster.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	options := Options{FetchTimeout: waitTimeout, MaxRetry: time.Second, clock: w.clock.clock()}
	options.added = func(view *fleet.Fleet, _ *nodes.Reconciler, _ *pools.Reconciler, _ *sources.Reconciler) {
		w.fleet = view
	}
	w.stop = startLoopsWith(w.t, user, options, funcr.New(w.log.add, funcr.Options{Verbosity: 1}))
	w.t.Cleanup(w.clear)
	w.t.Cleanup(func() { w.clock.moveTo(w.clock.Now().AddDate(1, 0, 0)) }) // what waits is released
}

// foretell is what diff says of the second revision, in the folder of the repository.
func (w *foretoldWorld) foretell() []review.Rollout {
	w.t.Helper()
	changed := files{}
	for _, s := range w.scenarios {
		maps.Copy(changed, s.files(s.after, s.before))
	}
	w.repo.write(changed)
	server, err := observe.Connect(w.cluster.Config, waitTimeout)
	w.do(err)
	sides, err := compare.Folder(w.repo.dir+"/pools", nil, foretoldSource, func() (*observe.State, error) { return server.State(w.t.Context()) })
	if invalid := (*render.InvalidError)(nil); errors.As(err, &invalid) {
		w.t.Fatalf("%v: %v", err, invalid.Problems)
	}
	w.do(err)
	sides.AddWindowNotes(w.clock.Now(), "now")
	difference, err := sides.Difference()
	w.do(err)
	reviewed, err := sides.Review(difference)
	w.do(err)
	return reviewed.Rollouts
}

// merge has the loops follow the second revision.
func (w *foretoldWorld) merge() {
	w.t.Helper()
	w.record()
	w.merged = true
	w.repo.commit(nil)
	w.request(foretoldSource, "merged")
	w.rest(mergePeriod)
}

// rest waits until nothing is due as long as the clock stands, and notes what has happened.
func (w *foretoldWorld) rest(quiet time.Duration) {
	w.t.Helper()
	for changed := true; changed; {
		w.beat()
		for since := time.Now(); time.Since(since) < quiet; time.Sleep(quiet / 8) {
			if w.clock.due() != "" {
				since = time.Now()
			}
		}
		changed = w.record() || w.approve()
		if changed {
			quiet = max(quiet, 4*quietPeriod)
		}
	}
}

// beat waits until the loops have had all events of nodes that came before.
func (w *foretoldWorld) beat() {
	w.t.Helper()
	w.beats++
	before := w.clock.passesOf(probe)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/beat":"%d"}}}`, w.beats)
	w.do(w.Patch(w.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: probe}}, client.RawPatch("application/merge-patch+json", patch)))
	deadline := time.Now().Add(2 * waitTimeout)
	for w.clock.passesOf(probe) == before || w.clock.due() != "" {
		if time.Now().After(deadline) {
			w.t.Fatalf("the loops do not come to rest at %v: due is %s", w.clock.Now(), w.clock.due())
		}
		time.Sleep(time.Millisecond)
	}
}

// record notes what has happened to nodes, and reports whether something has.
func (w *foretoldWorld) record() (changed bool) {
	w.t.Helper()
	var list corev1.NodeList
	w.do(w.List(w.t.Context(), &list))
	live := map[string]*corev1.Node{}
	for i := range list.Items {
		live[list.Items[i].Name] = &list.Items[i]
	}
	for _, s := range w.scenarios {
		for _, node := range s.nodes {
			before, after := w.seen[node.Name], live[node.Name]
			w.keepsReady(s, node, after)
			w.seen[node.Name] = after
			if before == nil || before.Annotations[v1.AppliedAnnotation] == after.Annotations[v1.AppliedAnnotation] {
				continue
			}
			changed = true
			if pools := s.disrupted(before, after); len(pools) > 0 && w.merged {
				w.happened[s] = append(w.happened[s], happening{w.clock.Now(), node.Name, pools, s.concerned(before)})
			}
		}
	}
	return changed
}

// approve gives the approvals that alone are missing, and reports whether there were some.
func (w *foretoldWorld) approve() (approved bool) {
	w.t.Helper()
	if !w.merged {
		return false
	}
	for _, s := range w.scenarios {
		for name := range s.names() { // also one that is deleted
			state := w.fleet.Wave(s.full(name))
			if state == nil || state.Approval == "" || state.Behind > 0 || !state.Unavailable.None() || !state.Soaks.IsZero() || w.given[state.Approval] {
				continue
			}
			if w.asked[state.Approval].IsZero() {
				w.asked[state.Approval] = w.clock.Now()
			}
			if s.approvedAfter < 0 || w.clock.Now().Before(w.asked[state.Approval].Add(s.approvedAfter)) {
				continue
			}
			w.given[state.Approval], approved = true, true
			s.approved = append(s.approved, s.full(name)+"/"+state.Wave)
			w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", s.full(name), v1.ApproveRolloutAnnotation+"="+state.Approval)
		}
	}
	if approved {
		w.heeds()
	}
	return approved
}

// heeds waits until no wave waits for an approval that was given: the loops gather changes of
// pools, for how long depends on how busy the machine is.
func (w *foretoldWorld) heeds() {
	w.t.Helper()
	waits := func() (pool string) {
		for _, s := range w.scenarios {
			for name := range s.names() { // also one that is deleted
				if state := w.fleet.Wave(s.full(name)); state != nil && state.Approval != "" && w.given[state.Approval] {
					return s.full(name)
				}
			}
		}
		return ""
	}
	for deadline := time.Now().Add(waitTimeout); waits() != ""; time.Sleep(quietPeriod / 8) {
		if time.Now().After(deadline) {
			w.t.Errorf("pool %s waits for an approval that was given", waits())
			return
		}
	}
}

// write writes files without a commit.
func (r *repository) write(changed files) {
	r.t.Helper()
	r.git("checkout", "--quiet", "main")
	for name, content := range changed {
		r.writeFile(name, content)
	}
}

// poolText is the file of a pool.
func poolText(name string, spec *v1.NodePoolSpec) string {
	pool := map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": "NodePool", "metadata": map[string]any{"name": name}, "spec": spec}
	text, err := yaml.Marshal(pool)
	if err != nil {
		panic(err)
	}
	return string(text)
}

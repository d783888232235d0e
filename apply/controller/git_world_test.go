package controller

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/build"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// loopsUser is who the loops are to the API server in these tests, so that the
// audit log tells their writes from those of the test.
const loopsUser = "nodepools-loops"

// gitWorld is a world whose loops are patient for seconds only, and whose every
// log line and write is known.
type gitWorld struct {
	*world
	log  *logLines
	stop func()
	// metrics are those of the loops that were started last.
	metrics *metrics.Metrics
	// fetchTimeout bounds one request to a repository.
	fetchTimeout time.Duration
}

func newGitWorld(t *testing.T) *gitWorld {
	t.Helper()
	return newGitWorldOf(t, 3*time.Second)
}

func newGitWorldOf(t *testing.T, fetchTimeout time.Duration) *gitWorld {
	t.Helper()
	c := cluster.Shared(t)
	w := &gitWorld{world: &world{Client: newClient(t, c.Config), t: t, cluster: c}, log: &logLines{}, fetchTimeout: fetchTimeout}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the loops:\n%s", w.log.text(`"revision"=`, `"wrote node"`, `"error"=`))
		}
	})
	w.start()
	return w
}

// start runs the loops as a user of their own; stop ends them before the test
// does.
func (w *gitWorld) start() {
	w.t.Helper()
	user, err := w.cluster.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	w.metrics = metrics.New(build.Read("v1.2.3", "", debug.ReadBuildInfo))
	options := Options{FetchTimeout: w.fetchTimeout, MaxRetry: time.Second, Webhooks: true, Metrics: w.metrics}
	w.stop = startLoopsWith(w.t, user, options, funcr.New(w.log.add, funcr.Options{Verbosity: 10}))
	w.t.Cleanup(w.clear) // while they run: pools are released by them
}

// series are all metrics, with their labels.
func (w *gitWorld) series() string {
	w.t.Helper()
	all := fmt.Sprint(scraped(w.t, w.metrics))
	if !strings.Contains(all, "nodepools_source_polls_total") {
		w.t.Error("no poll is reported: this proves nothing")
	}
	return all
}

// in is the same world for a subtest.
func (w *gitWorld) in(t *testing.T) *gitWorld {
	sub, inner := *w, *w.world
	inner.t = t
	sub.world = &inner
	return &sub
}

// logLines is what the loops have logged, at every level.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) add(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, prefix+" "+args)
}

// text is the lines in which one of the marks stands; all without a mark.
func (l *logLines) text(marks ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var chosen []string
	for _, line := range l.lines {
		if len(marks) == 0 || slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(line, mark) }) {
			chosen = append(chosen, line)
		}
	}
	return strings.Join(chosen, "\n")
}

// poolFile is the file of a pool that gives its nodes the label tier, and what
// else is said of its spec, one field a line.
func poolFile(name, tier string, spec ...string) string {
	lines := append([]string{
		"apiVersion: nodes.lailin.xyz/v1", "kind: NodePool", "metadata:", "  name: " + name,
		"spec:", "  labels:", "    example.com/tier: " + fmt.Sprintf("%q", tier),
	}, spec...)
	return strings.Join(lines, "\n") + "\n"
}

// source makes a NodePoolSource that takes the folder pools of a repository,
// every second unless it is configured otherwise.
func (w *gitWorld) source(name, url string, adjust ...func(*v1.NodePoolSource)) {
	w.t.Helper()
	src := &v1.NodePoolSource{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.NodePoolSourceSpec{URL: url, Path: "pools", Interval: metav1.Duration{Duration: time.Second}},
	}
	for _, each := range adjust {
		each(src)
	}
	w.do(w.Create(w.t.Context(), src))
}

// uid is the UID of a source.
func (w *gitWorld) uid(source string) string {
	w.t.Helper()
	return string(w.mustRead(source).UID)
}

// handOver gives pools to a source, with the command that its status has.
func (w *gitWorld) handOver(source string, pools ...string) {
	w.t.Helper()
	w.kubectl(slices.Concat([]string{"annotate", "--overwrite", "nodepools.nodes.lailin.xyz"}, pools, []string{v1.SourceUIDAnnotation + "=" + w.uid(source)})...)
}

// rarely makes a source look at its repository when it is asked to, and else
// not while the test runs.
func rarely(src *v1.NodePoolSource) { src.Spec.Interval.Duration = time.Hour }

// anyRelease lets a revision change most nodes of a small cluster without an approval.
func anyRelease(src *v1.NodePoolSource) { src.Spec.ReleaseLimit = ptr.To(intstr.FromString("100%")) }

// changeSource changes a source as it is now.
func (w *gitWorld) changeSource(name string, change func(*v1.NodePoolSource)) {
	w.t.Helper()
	update(w.world, &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name}}, change)
}

// request asks for a look at once and waits until it was taken.
func (w *gitWorld) request(name, token string) {
	w.t.Helper()
	w.changeSource(name, func(src *v1.NodePoolSource) {
		metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1.RequestedAtAnnotation, token)
	})
	w.sourceIs(name, "has answered the request "+token, func(src *v1.NodePoolSource) error {
		if src.Status.LastHandledReconcileAt != token {
			return fmt.Errorf("lastHandledReconcileAt is %q", src.Status.LastHandledReconcileAt)
		}
		return nil
	})
}

// sourceIs waits until a source's status, the present generation observed,
// passes a check.
func (w *gitWorld) sourceIs(name, what string, check func(*v1.NodePoolSource) error) {
	w.t.Helper()
	w.eventually("source "+name+" "+what, func() error {
		src, err := w.readSource(name)
		if err != nil {
			return err
		}
		if src.Status.ObservedGeneration != src.Generation {
			return fmt.Errorf("generation %d observed, want %d", src.Status.ObservedGeneration, src.Generation)
		}
		return check(src)
	})
}

func (w *gitWorld) readSource(name string) (*v1.NodePoolSource, error) {
	src := &v1.NodePoolSource{}
	return src, w.Get(w.t.Context(), client.ObjectKey{Name: name}, src)
}

// follows waits until a source has carried out a revision in full.
func (w *gitWorld) follows(name, revision string) {
	w.t.Helper()
	w.sourceIs(name, "has carried out "+revision, func(src *v1.NodePoolSource) error {
		if src.Status.Revision != revision || src.Status.LastAttemptedRevision != revision {
			return fmt.Errorf("revision is %q, attempted was %q: %v", src.Status.Revision, src.Status.LastAttemptedRevision, messages(src))
		}
		return conditionIs(src.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason)
	})
}

// stands waits until a source has a trouble, reported by one condition and by Ready.
func (w *gitWorld) stands(name, kind string, status metav1.ConditionStatus, reason string, texts ...string) {
	w.t.Helper()
	w.sourceIs(name, fmt.Sprintf("has %s=%s for %s", kind, status, reason), func(src *v1.NodePoolSource) error {
		if err := conditionIs(src.Status.Conditions, kind, status, reason, texts...); err != nil {
			return err
		}
		return conditionIs(src.Status.Conditions, v1.ReadyCondition, metav1.ConditionFalse, reason, texts...)
	})
}

func messages(src *v1.NodePoolSource) map[string]string {
	all := map[string]string{}
	for _, condition := range src.Status.Conditions {
		all[condition.Type] = string(condition.Status) + " " + condition.Reason + ": " + condition.Message
	}
	return all
}

// poolsAre waits until the cluster has exactly these pools, none of them on its
// way out.
func (w *gitWorld) poolsAre(names ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("pools are %v", names), func() error {
		have := []string{}
		for name, pool := range w.allPools() {
			if !pool.DeletionTimestamp.IsZero() {
				name += " (leaving)"
			}
			have = append(have, name)
		}
		slices.Sort(have)
		if want := slices.Sorted(slices.Values(names)); !slices.Equal(have, want) {
			return fmt.Errorf("they are %v", have)
		}
		return nil
	})
}

// poolsReady waits until pools are carried out and say so. Nothing is left to be
// written for them then.
func (w *gitWorld) poolsReady(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.poolIs(name, "is ready", func(pool *v1.NodePool) error {
			return conditionIs(pool.Status.Conditions, v1.ReadyCondition, metav1.ConditionTrue, v1.SucceededReason)
		})
	}
}

func (w *gitWorld) allPools() map[string]*v1.NodePool {
	w.t.Helper()
	var list v1.NodePoolList
	w.do(w.List(w.t.Context(), &list))
	byName := map[string]*v1.NodePool{}
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	return byName
}

// tiers are the labels of a member of a pool made by poolFile.
func tiers(pool, tier string) map[string]string {
	labels := role(pool)
	labels["example.com/tier"] = tier
	return labels
}

// mark is a moment in the audit log.
func (w *gitWorld) mark() int64 {
	w.t.Helper()
	mark, err := w.cluster.AuditMark()
	w.do(err)
	return mark
}

// written is what the loops have written since a mark, as "patch nodes a", in
// order. Left out are events, and deletions that were refused: whether one is a
// dry run stands in its body, which the audit log does not have.
func (w *gitWorld) written(since int64) []string {
	w.t.Helper()
	requests, err := w.cluster.Audit(since)
	w.do(err)
	var writes []string
	for _, request := range cluster.WritesBy(loopsUser, requests) {
		if request.Object.Resource == "events" || request.Verb == "delete" && request.Code >= http.StatusBadRequest {
			continue
		}
		target := request.Object.Resource
		if request.Object.Subresource != "" {
			target += "/" + request.Object.Subresource
		}
		writes = append(writes, request.Verb+" "+target+" "+request.Object.Name)
	}
	return writes
}

// wroteOnly fails the test when the loops have written anything since a mark but
// what is allowed, and the status of pools: that follows nodes, which are never
// quite still.
func (w *gitWorld) wroteOnly(since int64, allowed ...string) {
	w.t.Helper()
	writes := slices.DeleteFunc(w.written(since), func(write string) bool {
		return slices.Contains(allowed, write) || strings.HasPrefix(write, "patch nodepools/status ")
	})
	if len(writes) > 0 {
		w.t.Errorf("the loops wrote %q, want nothing but %q", writes, allowed)
	}
}

// eventsOf are the texts of all events on an object, reason first.
func (w *gitWorld) eventsOf(object client.Object) []string {
	w.t.Helper()
	var list corev1.EventList
	w.do(w.List(w.t.Context(), &list))
	var texts []string
	for _, event := range list.Items {
		if event.InvolvedObject.UID == object.GetUID() {
			texts = append(texts, event.Reason+": "+event.Message)
		}
	}
	slices.Sort(texts)
	return texts
}

package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/docs"
	"github.com/nodepools/nodepools/testdata/thirdparty"
)

// TestKubeStateMetrics has the real kube-state-metrics serve metrics of pools and sources in
// many states, by the configuration and with the rights of the examples, and compares each
// series with the objects: while the controller works, and after it is gone.
func TestKubeStateMetrics(t *testing.T) {
	cluster.Long(t)
	program := thirdparty.Program(t, "kube-state-metrics")
	c := cluster.New(t, cluster.Options{Audit: true})
	install(t, c)
	s := newStory(t, c)
	_, kubeconfig, err := c.ServiceAccount(t.Context(), manifests.DefaultNamespace, manifests.Name)
	s.do(err)
	stop := startRun(t, kubeconfig, "--leader-elect=false")
	s.manyStates()
	stateMetrics := s.startKubeStateMetrics(program)
	s.serves(stateMetrics)

	// What no controller sees is there all the same.
	stop()
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "cpu"}}
	s.patch(pool, `{"spec":{"labels":{"pool":"other"}}}`)
	s.do(s.Delete(t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}))
	served := s.serves(stateMetrics)
	if before, now := served["kube_nodepools_pool_observed_generation pool=cpu"], served["kube_nodepools_pool_generation pool=cpu"]; before == 0 || before == now {
		t.Errorf("nobody has seen the change of the pool, and the generation %v is observed of %v", before, now)
	}
	if served["kube_nodepools_pool_deletion_timestamp_seconds pool=gpu"] == 0 {
		t.Error("a pool whose nodes nobody releases is not shown as deleted")
	}

	// The rights are enough, and each kind is needed. Lists are asked for only where the API
	// server does not send them with a watch.
	requests, err := c.Audit(0)
	s.do(err)
	watched := map[string]bool{}
	for _, request := range requests {
		if request.User != "system:serviceaccount:monitoring:kube-state-metrics" || request.Object.Resource == "" {
			continue
		}
		if request.Code == http.StatusForbidden {
			t.Errorf("refused, so a rule is missing: %s", request)
		}
		if request.Verb == "watch" {
			watched[request.Object.Resource] = true
		}
	}
	want := []string{"customresourcedefinitions", "nodepools", "nodepoolsources"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(watched))); diff != "" {
		t.Errorf("what is granted and what is used differ (-granted +used):\n%s", diff)
	}
}

// manyStates makes pools and sources in states that differ, and waits for them.
func (s *story) manyStates() {
	s.t.Helper()
	for node, pool := range map[string]string{"n1": "gpu", "n2": "cpu", "n3": "taken", "n4": "held"} {
		s.node(node, pool)
	}
	ready := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	s.do(s.Status().Patch(s.t.Context(), ready, client.RawPatch("application/merge-patch+json",
		[]byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`))))
	s.patch(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n3"}}, `{"metadata":{"labels":{"team":"theirs"}}}`)
	s.commit(map[string]string{"gpu.yaml": poolFile("gpu", "runc"), "cpu.yaml": poolFile("cpu", "runc")})
	for name, spec := range map[string]v1.NodePoolSourceSpec{
		"fleet": {URL: "file://" + s.repository},
		"gone":  {URL: "file://" + filepath.Join(s.repository, "nothing"), Path: "pools"},
		"off":   {URL: "file://" + s.repository, Suspend: true},
	} {
		spec.Interval = metav1.Duration{Duration: time.Second}
		s.do(s.Create(s.t.Context(), &v1.NodePoolSource{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}))
	}
	for name, spec := range map[string]v1.NodePoolSpec{
		"taken":  {Labels: map[string]v1.LabelValue{"team": "ours"}},
		"orphan": {Parent: "nobody"},
		"held":   {Labels: map[string]v1.LabelValue{"pool": "held"}},
	} {
		s.do(s.Create(s.t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}))
	}
	s.labelled("n1", "pool", "gpu")
	s.labelled("n2", "pool", "cpu")
	s.labelled("n4", "pool", "held")
	held := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "held"}}
	s.patch(held, `{"metadata":{"annotations":{"`+v1.ReconcileAnnotation+`":"disabled"}}}`)
	s.do(s.Delete(s.t.Context(), held)) // and stays, as it is paused
	s.until("the states are those that were meant", func() error {
		var pools v1.NodePoolList
		var sources v1.NodePoolSourceList
		s.do(s.List(s.t.Context(), &pools))
		s.do(s.List(s.t.Context(), &sources))
		have := map[string]string{}
		for _, pool := range pools.Items {
			have[pool.Name] = reasonOf(pool.Status.Conditions)
		}
		for _, source := range sources.Items {
			have[source.Name] = reasonOf(source.Status.Conditions)
		}
		if diff := cmp.Diff(map[string]string{
			"gpu": v1.SucceededReason, "cpu": v1.SucceededReason, "taken": v1.ConflictReason, "orphan": v1.ParentReason,
			"held": v1.PausedReason, "fleet": v1.SucceededReason, "gone": "RepositoryMissing", "off": v1.SuspendedReason,
		}, have); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
}

func reasonOf(conditions []metav1.Condition) string {
	if ready := meta.FindStatusCondition(conditions, v1.ReadyCondition); ready != nil {
		return ready.Reason
	}
	return ""
}

// startKubeStateMetrics runs kube-state-metrics until the test ends, and returns its URL.
func (s *story) startKubeStateMetrics(program string) string {
	s.t.Helper()
	monitoring := filepath.Join(docs.Root(s.t), "examples", "monitoring")
	s.do(s.Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "monitoring"}}))
	if out, err := s.c.Kubectl(s.t.Context(), "apply", "-f", filepath.Join(monitoring, "kube-state-metrics-rbac.yaml")); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	_, kubeconfig, err := s.c.ServiceAccount(s.t.Context(), "monitoring", "kube-state-metrics")
	s.do(err)
	var ports []string
	for range 2 {
		address, err := freeAddress()
		s.do(err)
		ports = append(ports, strings.TrimPrefix(address, "127.0.0.1:"))
	}
	cmd := exec.Command(program, "--kubeconfig", kubeconfig, "--custom-resource-state-only",
		"--custom-resource-state-config-file", filepath.Join(monitoring, "kube-state-metrics.yaml"),
		"--host", "127.0.0.1", "--port", ports[0], "--telemetry-host", "127.0.0.1", "--telemetry-port", ports[1])
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	s.do(cmd.Start())
	s.t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			s.t.Errorf("stop kube-state-metrics: %v", err)
		}
		_ = cmd.Wait() // it ends by the signal
		if strings.Contains(log.String(), "got nil while resolving path") {
			s.t.Error("fields that an object does not have are errors in the log")
		}
		if s.t.Failed() {
			s.t.Logf("kube-state-metrics:\n%s", log.String())
		}
	})
	return "http://127.0.0.1:" + ports[0] + "/metrics"
}

// serves waits until each series is what the objects say, and there is no other.
func (s *story) serves(url string) map[string]float64 {
	s.t.Helper()
	var served map[string]float64
	s.until("kube-state-metrics serves what is there", func() error {
		var err error
		if served, err = scrape(s.t, url); err != nil {
			return err
		}
		if diff := cmp.Diff(s.stateSeries(), served); diff != "" {
			return fmt.Errorf("-objects +served:\n%s", diff)
		}
		return nil
	})
	return served
}

// scrape reads the series at a URL. The labels that each of them has are left out.
func scrape(t *testing.T, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for name, family := range families {
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, label := range metric.Label {
				if !strings.HasPrefix(label.GetName(), "customresource_") {
					labels[label.GetName()] = label.GetValue()
				}
			}
			all[seriesName(name, labels)] = metric.GetGauge().GetValue()
		}
	}
	return all, nil
}

func seriesName(name string, labels map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if labels[key] != "" {
			name += " " + key + "=" + labels[key]
		}
	}
	return name
}

// stateSeries are the series that the objects in the cluster make.
func (s *story) stateSeries() map[string]float64 {
	s.t.Helper()
	var pools v1.NodePoolList
	var sources v1.NodePoolSourceList
	s.do(s.List(s.t.Context(), &pools))
	s.do(s.List(s.t.Context(), &sources))
	all := map[string]float64{}
	for _, pool := range pools.Items {
		of := seriesOf{all, "kube_nodepools_pool_", "pool", pool.Name}
		of.common(&pool, pool.Status.ObservedGeneration, pool.Status.Conditions, map[string]string{
			"source": pool.Labels[v1.SourceLabel], "parent": pool.Spec.Parent,
		})
		if counts := pool.Status.Nodes; counts != nil {
			for state, count := range map[string]int32{"desired": counts.Desired, "updated": counts.Updated, "ready": counts.Ready, "conflicted": counts.Conflicted} {
				of.add("nodes", map[string]string{"state": state}, float64(count))
			}
		}
		if pool.Status.Revision != "" {
			of.add("revision_info", map[string]string{"revision": pool.Status.Revision}, 1)
		}
	}
	for _, source := range sources.Items {
		of := seriesOf{all, "kube_nodepools_source_", "source", source.Name}
		of.common(&source, source.Status.ObservedGeneration, source.Status.Conditions, map[string]string{"path": source.Spec.Path})
		suspended := 0.
		if source.Spec.Suspend {
			suspended = 1
		}
		of.add("suspended", nil, suspended)
		if source.Status.Revision != "" {
			of.add("pools", nil, float64(source.Status.Pools))
			of.add("revision_info", map[string]string{"revision": source.Status.Revision, "attempted_revision": source.Status.LastAttemptedRevision}, 1)
		}
	}
	return all
}

// seriesOf adds the series of one object.
type seriesOf struct {
	all                  map[string]float64
	prefix, label, value string
}

func (o seriesOf) add(name string, labels map[string]string, value float64) {
	every := map[string]string{o.label: o.value}
	maps.Copy(every, labels)
	o.all[seriesName(o.prefix+name, every)] = value
}

// common adds those that a pool and a source have.
func (o seriesOf) common(object client.Object, observed int64, conditions []metav1.Condition, info map[string]string) {
	info["uid"], info["reconcile"] = string(object.GetUID()), object.GetAnnotations()[v1.ReconcileAnnotation]
	o.add("info", info, 1)
	o.add("generation", nil, float64(object.GetGeneration()))
	o.add("observed_generation", nil, float64(observed))
	if deleted := object.GetDeletionTimestamp(); deleted != nil {
		o.add("deletion_timestamp_seconds", nil, float64(deleted.Unix()))
	}
	for _, condition := range conditions {
		o.add("condition_info", map[string]string{"type": condition.Type, "status": string(condition.Status), "reason": condition.Reason}, 1)
		o.add("condition_transition_timestamp_seconds", map[string]string{"type": condition.Type, "status": string(condition.Status)}, float64(condition.LastTransitionTime.Unix()))
	}
}

package controller

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nodepools/nodepools/api/build"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/metrics"
)

// What happens in a cluster is what the metrics report of it.
func TestMetricsReportWhatHappens(t *testing.T) {
	w := newGitWorld(t)
	w.stop()
	user, err := w.cluster.AddUser(loopsUser, "system:masters")
	w.do(err)
	user.QPS = -1
	m := metrics.New(build.Read("v1.2.3", "", debug.ReadBuildInfo))
	stop := startLoopsWith(t, user, Options{MaxRetry: time.Second, Metrics: m}, logr.Discard())

	repo := newRepository(t)
	first := repo.commit(files{"pools/gpu.yaml": poolFile("gpu", "0"), "pools/cpu.yaml": poolFile("cpu", "0")})
	w.source("fleet", repo.url(), rarely)
	w.follows("fleet", first)
	w.node("gpu-1", role("gpu"))
	w.node("gpu-2", map[string]string{v1.RoleLabel("gpu"): "", "example.com/tier": "theirs"})
	w.reports(m, map[string]float64{
		`nodepools_leader`: 1,
		`nodepools_status_condition{kind="NodePool",name="cpu",reason="Succeeded",status="True",type="Ready"}`:         1,
		`nodepools_status_condition{kind="NodePool",name="gpu",reason="Conflict",status="True",type="Conflicted"}`:     1,
		`nodepools_status_condition{kind="NodePoolSource",name="fleet",reason="Succeeded",status="True",type="Ready"}`: 1,
		`nodepools_pool_nodes{pool="gpu",state="desired"}`:                                                             2,
		`nodepools_pool_nodes{pool="gpu",state="conflicted"}`:                                                          1,
		`nodepools_pool_nodes{pool="cpu",state="desired"}`:                                                             0,
		`nodepools_pool_conflicts{pool="gpu"}`:                                                                         1,
		`nodepools_node_writes_total{action="update",result="success"}`:                                                1,
		`nodepools_node_convergence_seconds_count{cause="join"}`:                                                       1,
		`nodepools_nodes_pending`:                                                          0,
		`nodepools_records_unreadable`:                                                     0,
		`nodepools_source_pools{source="fleet"}`:                                           2,
		`nodepools_source_prune_held{source="fleet"}`:                                      0,
		`nodepools_source_interval_seconds{source="fleet"}`:                                3600,
		`nodepools_source_polls_total{reason="Succeeded",result="changed",source="fleet"}`: 1,
		fmt.Sprintf(`nodepools_source_revision_info{revision=%q,source="fleet"}`, first):   1,
	})

	w.kubectl("label", "--overwrite", "node", "gpu-1", "example.com/tier=hand")
	w.reports(m, map[string]float64{
		`nodepools_drift_repairs_total{pool="gpu"}`:                     1,
		`nodepools_node_writes_total{action="repair",result="success"}`: 1,
		`nodepools_node_convergence_seconds_count{cause="change"}`:      1,
	})

	repo.commit(files{"pools/gpu.yaml": "kind: Nonsense\n"})
	w.request("fleet", "1")
	repo.git("mv", "pools", "elsewhere")
	repo.commit(nil)
	w.request("fleet", "2")
	w.stands("fleet", v1.FetchedCondition, metav1.ConditionFalse, "PathMissing")
	w.kubectl("annotate", "--overwrite", "node", "gpu-2", v1.AppliedAnnotation+"=nonsense")
	w.reports(m, map[string]float64{
		`nodepools_source_polls_total{reason="Invalid",result="refused",source="fleet"}`:                                  1,
		`nodepools_source_polls_total{reason="PathMissing",result="refused",source="fleet"}`:                              1,
		`nodepools_status_condition{kind="NodePoolSource",name="fleet",reason="PathMissing",status="False",type="Ready"}`: 1,
		`nodepools_records_unreadable`:                     1,
		`nodepools_pool_nodes{pool="gpu",state="failing"}`: 1,
	})

	// By hand, as a pool of the source would come back.
	w.pool(`
metadata: {name: spare}
spec: {nodeNames: [spare-*]}
`)
	w.reports(m, map[string]float64{`nodepools_pool_nodes{pool="spare",state="desired"}`: 0})
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "spare")
	w.eventually("nothing is reported of a pool that is gone", func() error {
		for series := range scraped(t, m) {
			if strings.Contains(series, `"spare"`) {
				return errors.New(series)
			}
		}
		return nil
	})
	w.pool(`
metadata: {name: frozen}
spec:
  nodeNames: [gpu-1]
  taints: [{key: example.com/frozen, effect: NoSchedule}]
  rollout: {exclusions: [{start: 2020-01-01T00:00:00Z, end: 2199-01-01T00:00:00Z}]}
`)
	w.isReady("frozen", 1) // the node is young, and joins
	w.inUse("gpu-1")
	w.change("frozen", func(pool *v1.NodePool) { pool.Spec.Taints[0].Value = "changed" })
	w.reports(m, map[string]float64{
		`nodepools_rollout_window_open{pool="frozen"}`:            0,
		`nodepools_rollout_nodes{pool="frozen",state="waiting"}`:  1,
		`nodepools_rollout_nodes{pool="gpu",state="waiting"}`:     0,
		`nodepools_rollout_nodes{pool="frozen",state="draining"}`: 0,
		`nodepools_rollout_halted{pool="frozen"}`:                 0,
	})
	w.change("frozen", func(pool *v1.NodePool) {
		pool.Spec.Rollout.Exclusions[0].End = &metav1.Time{Time: time.Now().Add(-time.Minute)}
	})
	w.reports(m, map[string]float64{
		`nodepools_rollout_window_open{pool="frozen"}`:           1,
		`nodepools_rollout_nodes{pool="frozen",state="waiting"}`: 0,
	})
	w.clear() // by these loops
	stop()
	if got := scraped(t, m); got["nodepools_leader"] != 0 || len(got) > 100 {
		t.Errorf("after the end %d series are reported: %v", len(got), slices.Sorted(maps.Keys(got)))
	}
}

// reports waits until the metrics have these values.
func (w *gitWorld) reports(m *metrics.Metrics, want map[string]float64) {
	w.t.Helper()
	w.eventually("the metrics report it", func() error {
		got := scraped(w.t, m)
		var wrong []error
		for _, series := range slices.Sorted(maps.Keys(want)) {
			if value, reported := got[series]; !reported || value != want[series] {
				wrong = append(wrong, fmt.Errorf("%s is %v (%t), want %v", series, value, reported, want[series]))
			}
		}
		return errors.Join(wrong...)
	})
}

// scraped returns the values of all series; of a histogram, its count.
func scraped(t *testing.T, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			name, value := family.GetName(), metric.GetGauge().GetValue()+metric.GetCounter().GetValue()
			if metric.GetHistogram() != nil {
				name, value = name+"_count", float64(metric.GetHistogram().GetSampleCount())
			}
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			all[name] = value
		}
	}
	return all
}

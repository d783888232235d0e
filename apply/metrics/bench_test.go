package metrics_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/build"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/fleet"
	"github.com/nodepools/nodepools/apply/metrics"
)

// large stands for the cache of a manager, which needs an API server. As with that, a
// list is a copy of the objects, and not of what they point to.
type large struct {
	client.Reader
	pools []v1.NodePool
}

func (l large) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if pools, ok := list.(*v1.NodePoolList); ok {
		pools.Items = append([]v1.NodePool(nil), l.pools...)
	}
	return nil
}

// BenchmarkScrape is a scrape, as Prometheus makes it, of an instance that works for 1,000
// pools and 15,000 nodes, each in one pool; and of one with troubles, on every tenth.
func BenchmarkScrape(b *testing.B) {
	const pools, nodes = 1000, 15000
	for _, troubles := range []bool{false, true} {
		b.Run(fmt.Sprintf("troubles=%v", troubles), func(b *testing.B) {
			m := metrics.New(build.Read("v1.2.3", "0123abc", func() (*debug.BuildInfo, bool) { return nil, false }))
			world := large{pools: make([]v1.NodePool, pools)}
			for i := range world.pools {
				world.pools[i].Name = fmt.Sprintf("pool-%04d", i)
				world.pools[i].Status = v1.NodePoolStatus{Nodes: &v1.NodeCounts{Desired: 15, Updated: 15, Ready: 15}}
				for _, kind := range []string{v1.ReadyCondition, v1.ReconcilingCondition, v1.StalledCondition, v1.ConflictedCondition, v1.SelfJoinableCondition} {
					world.pools[i].Status.Conditions = append(world.pools[i].Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: v1.SucceededReason})
				}
				m.DriftRepaired(world.pools[i].Name, 1)
			}
			view := fleet.New(world, nil)
			for i := range nodes {
				observed := fleet.Observation{Epoch: 1}
				observed.Ready, observed.Members = true, []string{world.pools[i%pools].Name}
				if troubles && i%10 == 0 {
					observed.Problem = "could not be written: refused"
				}
				view.Report(fmt.Sprintf("node-%05d", i), observed, nil)
			}
			elected := make(chan struct{})
			close(elected)
			m.Follow(&metrics.View{
				Cached: world, Elected: elected,
				Nodes: func() metrics.NodeCounts {
					totals, _ := view.Totals(time.Now())
					counts := metrics.NodeCounts{Known: true, Pools: map[string]metrics.PoolCounts{}}
					for name, pool := range totals.Pools {
						counts.Pools[name] = metrics.PoolCounts(pool)
					}
					return counts
				},
				Pending: func() (int, time.Time) { return 0, time.Time{} },
				Polls:   func() map[string]metrics.Poll { return nil },
			})
			registry := prometheus.NewRegistry()
			registry.MustRegister(m)
			handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
			size := 0
			b.ReportAllocs()
			b.ResetTimer()
			before := processorTime(b)
			for b.Loop() {
				request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil)
				request.Header.Set("Accept-Encoding", "gzip")
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				size = answer.Body.Len()
				if answer.Code != http.StatusOK {
					b.Fatal(answer.Body.String())
				}
				if b.N == 1 {
					text, err := gzip.NewReader(answer.Body)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := io.Copy(io.Discard, text); err != nil {
						b.Fatal(err)
					}
				}
			}
			used := processorTime(b) - before
			b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(size), "gzip-B/op")
		})
	}
}

// processorTime is that of all threads of the process, with what the garbage collector
// takes.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

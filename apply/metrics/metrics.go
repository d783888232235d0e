package metrics

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodepools/nodepools/api/build"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// Metrics are those of a process. Make them with [New], and register them where they are
// served.
type Metrics struct {
	build build.Report
	now   func() time.Time
	// view is what the process has in memory; nil before it works.
	view atomic.Pointer[View]

	webhookRequests, nodeWrites *prometheus.CounterVec
	convergence                 *prometheus.HistogramVec
	pollDuration                prometheus.Histogram
	// These have the names of pools and sources, and lose those that are gone.
	driftRepairs, evictions, polls, fetchedBytes *perObject
}

var _ prometheus.Collector = (*Metrics)(nil)

// Bounds of histograms, in seconds.
var (
	convergenceBounds  = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	pollDurationBounds = []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
)

// New returns the metrics of a program.
func New(program build.Info) *Metrics {
	m := &Metrics{
		build: program.Report(), now: time.Now,
		webhookRequests: counters(webhookRequests), nodeWrites: counters(nodeWrites),
		convergence: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: nodeConvergence.Name, Help: nodeConvergence.Help, Buckets: convergenceBounds,
		}, nodeConvergence.Labels),
		pollDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: sourcePollDuration.Name, Help: sourcePollDuration.Help, Buckets: pollDurationBounds,
		}),
		driftRepairs: newPerObject(driftRepairs), evictions: newPerObject(evictions), polls: newPerObject(sourcePolls), fetchedBytes: newPerObject(sourceFetchedBytes),
	}
	// A rate needs to know that there was none yet.
	for _, action := range []WriteAction{UpdateNode, RepairNode, ReleaseNode} {
		for _, result := range []WriteResult{Success, Conflict, Gone, Throttled, Refused, Failed} {
			m.nodeWrites.WithLabelValues(string(action), string(result))
		}
	}
	m.webhookRequests.WithLabelValues("202")
	for _, cause := range []Cause{NodeJoined, NodeChanged, PoolChanged} {
		m.convergence.WithLabelValues(string(cause))
	}
	return m
}

func counters(of *Definition) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: of.Name, Help: of.Help}, of.Labels)
}

// descriptors are those of all metrics, by the definition.
var descriptors = func() map[*Definition]descriptor {
	all := make(map[*Definition]descriptor, len(definitions))
	for _, d := range definitions {
		byName := make([]int, len(d.Labels))
		for i := range byName {
			byName[i] = i
		}
		slices.SortFunc(byName, func(a, b int) int { return strings.Compare(d.Labels[a], d.Labels[b]) })
		all[d] = descriptor{prometheus.NewDesc(d.Name, d.Help, d.Labels, nil), byName}
	}
	return all
}()

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range definitions {
		out <- descriptors[d].desc
	}
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	c := collection{out: out, now: m.now()}
	c.gauge(buildInfo, 1, m.build.Version, m.build.Commit, strings.TrimPrefix(m.build.GoVersion, "go"))
	m.webhookRequests.Collect(out)
	m.nodeWrites.Collect(out)
	m.convergence.Collect(out)
	m.pollDuration.Collect(out)
	view := m.view.Load()
	if view == nil || !view.leads() {
		c.gauge(leader, 0)
		return
	}
	c.gauge(leader, 1)
	view.collect(&c, m)
}

// Follow has the state of the process reported from now on, until the returned function is
// called.
func (m *Metrics) Follow(view *View) (end func()) {
	if m == nil {
		return func() {}
	}
	m.view.Store(view)
	return func() { m.view.CompareAndSwap(view, nil) }
}

// WriteAction is what a write of a node does.
type WriteAction string

// What writes of nodes do. ReleaseNode takes everything of a pool off, RepairNode puts
// back what somebody else has changed and does nothing else, UpdateNode is any other.
const (
	UpdateNode  WriteAction = "update"
	RepairNode  WriteAction = "repair"
	ReleaseNode WriteAction = "release"
)

// WriteResult is what became of a write.
type WriteResult string

// What becomes of writes.
const (
	Success   WriteResult = "success"
	Conflict  WriteResult = "conflict"
	Gone      WriteResult = "gone"
	Throttled WriteResult = "throttled"
	Refused   WriteResult = "refused"
	Failed    WriteResult = "error"
)

// NodeWritten counts a write of a node.
func (m *Metrics) NodeWritten(action WriteAction, result WriteResult) {
	if m != nil {
		m.nodeWrites.WithLabelValues(string(action), string(result)).Inc()
	}
}

// EvictionResult is what became of an eviction.
type EvictionResult string

// What becomes of evictions.
const (
	PodEvicted      EvictionResult = "success"
	EvictionBlocked EvictionResult = "blocked"
	PodGone         EvictionResult = "gone"
	EvictionFailed  EvictionResult = "error"
)

// EvictionAsked counts an eviction that was asked for, as the node is drained for some pools.
func (m *Metrics) EvictionAsked(pools []string, result EvictionResult) {
	if m == nil {
		return
	}
	for _, pool := range pools {
		m.evictions.add(1, pool, string(result))
	}
}

// beginEvictions has a pool that drains nodes reported before the first eviction: a rate needs
// to know that there was none yet.
func (m *Metrics) beginEvictions(pool *v1.NodePool) {
	if pool.Spec.Rollout.Drain == nil {
		return
	}
	for _, result := range []EvictionResult{PodEvicted, EvictionBlocked, PodGone, EvictionFailed} {
		m.evictions.add(0, pool.Name, string(result))
	}
}

// Cause is why a node had to be written.
type Cause string

// Why nodes have to be written.
const (
	NodeJoined  Cause = "join"
	NodeChanged Cause = "change"
	PoolChanged Cause = "pool"
)

// NodeConverged counts a node that was written, so long after the cause became known.
func (m *Metrics) NodeConverged(cause Cause, after time.Duration) {
	if m != nil {
		m.convergence.WithLabelValues(string(cause)).Observe(after.Seconds())
	}
}

// DriftRepaired counts keys of a pool that were put back.
func (m *Metrics) DriftRepaired(pool string, keys int) {
	if m != nil {
		m.driftRepairs.add(float64(keys), pool)
	}
}

// PollResult is what became of a poll.
type PollResult string

// What becomes of polls.
const (
	Unchanged       PollResult = "unchanged"
	Changed         PollResult = "changed"
	RevisionRefused PollResult = "refused"
	PollFailed      PollResult = "failed"
)

// SourcePolled counts a poll of a repository. The reason is a word of a condition.
func (m *Metrics) SourcePolled(source string, result PollResult, reason string, took time.Duration, received int64) {
	if m == nil {
		return
	}
	m.polls.add(1, source, string(result), reason)
	m.fetchedBytes.add(float64(received), source)
	m.pollDuration.Observe(took.Seconds())
}

// WebhookAnswered counts a request to the webhook by the status code of its answer.
func (m *Metrics) WebhookAnswered(status int) {
	if m != nil {
		m.webhookRequests.WithLabelValues(strconv.Itoa(status)).Inc()
	}
}

package main

import (
	"context"
	"slices"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// mark is where the counters stood at a moment.
type mark struct {
	counts cluster.Counts
	audit  int64
	use    usage // zero while the program does not run
}

func (w *world) mark(ctx context.Context) (m mark, err error) {
	if m.counts, err = w.cluster.RequestCounts(ctx); err != nil {
		return m, err
	}
	if m.audit, err = w.cluster.AuditMark(); err != nil || w.runs == nil {
		return m, err
	}
	m.use, err = w.runs.use()
	return m, err
}

// nodeWrites are the writes of nodes that the API server has answered, by how.
// Those of a node's status are left out: they are the kubelets'.
type nodeWrites struct {
	done, conflicts, otherwise int
}

func (n nodeWrites) all() int { return n.done + n.conflicts + n.otherwise }

// nodeWrites since an earlier mark.
func (m mark) nodeWrites(earlier mark) (n nodeWrites) {
	for kind, count := range m.counts.Since(earlier.counts).Writes() {
		if kind.Resource != "nodes" || kind.Subresource != "" {
			continue
		}
		switch kind.Code {
		case "200", "201":
			n.done += count
		case "409":
			n.conflicts += count
		default:
			n.otherwise += count
		}
	}
	return n
}

// asked is what the program has asked the API server for since a mark, patches of
// nodes left out.
func (w *world) asked(since mark) ([]cluster.Request, error) {
	requests, err := w.cluster.Audit(since.audit)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(requests, func(r cluster.Request) bool { return r.User != w.launch.user() }), nil
}

// tallied counts requests: all, those that are writes of other resources than the
// named, and those that are about nodes.
type tallied struct{ all, outside, nodes int }

func writesOf(requests []cluster.Request, except ...string) (t tallied) {
	for _, r := range requests {
		t.all++
		if r.Object.Resource == "nodes" {
			t.nodes++
		}
		if r.Write() && !slices.Contains(except, r.Object.Resource) {
			t.outside++
		}
	}
	return t
}

// lastWrite is when the last write of a resource, and not of a part of it, arrived.
func lastWrite(requests []cluster.Request, resource string) (last time.Time) {
	for _, r := range requests {
		if r.Write() && r.Object.Resource == resource && r.Object.Subresource == "" && r.Received.After(last) {
			last = r.Received
		}
	}
	return last
}

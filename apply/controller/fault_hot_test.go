package controller

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// While requests fail, each object is tried less and less often: what the loops
// ask of an API server that is ill does not grow with how quickly it refuses.
// The bounds follow from the rate limiters and the time that has passed.
func TestFaultNoHotLoop(t *testing.T) {
	cluster.Long(t)
	lasting := 3 * time.Second
	if cluster.Stress() {
		lasting = 45 * time.Second
	}
	w := newFaultWorld(t, cluster.Shared(t))
	s := newScene(w)
	s.runs()
	for _, tc := range []struct {
		name   string
		faults []cluster.Fault
		// then is what goes wrong once nodes are being written: a watch that does not
		// come back would have given the loops nothing to write.
		then []cluster.Fault
	}{
		{"conflicts", []cluster.Fault{
			{OnlyWrites: true, Resources: []string{"nodes"}, Code: 409},
			{OnlyWrites: true, Resources: []string{"nodepools/status"}, Code: 503},
		}, nil},
		{"nodes seem to be gone", []cluster.Fault{{OnlyWrites: true, Resources: []string{"nodes"}, Code: 404}}, nil},
		{"too many requests", []cluster.Fault{{OnlyWrites: true, Code: 429, RetryAfter: 1}}, nil},
		{"nothing gets through", []cluster.Fault{{OnlyWrites: true, DropRequest: true}}, []cluster.Fault{{DropRequest: true}}},
		{"conflicts elsewhere", []cluster.Fault{
			{OnlyWrites: true, Resources: []string{"nodes"}, Code: 500},
			{OnlyWrites: true, Resources: []string{"nodepools/status", "runtimeclasses"}, Code: 409},
		}, nil},
		{"nothing is heard of", []cluster.Fault{{OnlyWrites: true, DropAnswer: true}}, []cluster.Fault{{DropAnswer: true}}},
		{"nothing is served", []cluster.Fault{{OnlyWrites: true, Code: 503}}, []cluster.Fault{{Code: 503}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			outer := s.t
			s.in(t)
			defer s.in(outer)
			began := time.Now()
			s.proxy.Disturb(tc.faults...)
			s.change()
			s.nodesDisturbed(began, DefaultConcurrency)
			if tc.then != nil {
				s.proxy.Disturb(tc.then...)
				s.proxy.CloseConnections() // what the watches bring, too
			}
			time.Sleep(time.Until(began.Add(lasting)))
			seen, elapsed := s.proxy.Seen(began), time.Since(began)
			s.proxy.Disturb()
			s.reckon(seen, elapsed)
			s.stands(true)
		})
	}
	s.becomesIdle()
}

// nodesDisturbed waits until the change of the pools has led to writes of so many
// nodes. Other requests may be left over from before it, and are no sign that
// anybody has heard of it.
func (s *scene) nodesDisturbed(since time.Time, atLeast int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("writes of %d nodes were disturbed", atLeast), func() error {
		nodes := map[string]bool{}
		for _, passage := range s.proxy.Seen(since) {
			if passage.Disturbed && passage.Object.Resource == "nodes" && passage.Object.Name != "" {
				nodes[passage.Object.Name] = true
			}
		}
		if len(nodes) < atLeast {
			return fmt.Errorf("those of %d were", len(nodes))
		}
		return nil
	})
}

// reckon compares how often each object was asked for with what the rate
// limiters allow in that time. A pass may read its node before it writes it, where the
// cache has not caught up with what was written before, and has to where that is in
// conflict.
func (s *scene) reckon(seen []cluster.Passage, elapsed time.Duration) {
	s.t.Helper()
	asked, read, answered := map[cluster.Object]int{}, map[cluster.Object]int{}, map[cluster.Object]int{}
	for _, passage := range seen {
		switch {
		case passage.Disturbed:
			asked[passage.Object]++
			answered[passage.Object] = max(answered[passage.Object], passage.Code)
		case passage.Verb == "get":
			read[passage.Object]++
		}
	}
	for object, count := range read {
		if answered[object] == http.StatusConflict {
			asked[object] += count
		} else {
			asked[object] = max(asked[object], count)
		}
	}
	most := map[int]int{}
	for object, count := range asked {
		code := answered[object]
		if object.Resource == "nodes" && object.Name != "" {
			most[code] = max(most[code], count)
		}
		allowed := allowed(elapsed, code, object)
		if object.Name == "" { // a create does not say of which pool
			allowed *= len(s.pools())
		}
		if count > allowed {
			s.t.Errorf("%+v was asked for %d times within %s and answered %d, want %d at most", object, count, elapsed, code, allowed)
		}
	}
	if len(asked) < DefaultConcurrency {
		s.t.Errorf("%d objects were asked for, want as many nodes as are written at once: %v", len(asked), asked)
	}
	s.t.Logf("within %s %d requests about %d objects", elapsed, len(seen), len(asked))
	for code, count := range most {
		node := cluster.Object{Resource: "nodes", Name: "any"}
		s.t.Logf("for one node that is answered %d: %d requests of %d allowed", code, count, allowed(elapsed, code, node))
	}
}

// allowed is how many requests one object may cost in a time in which all are
// answered this code, 0 for none. The pauses double, so that the tries grow with the
// logarithm of the time; each of the pools that change may lead to a pass of its
// own. What is reported of a pool is reported once in a statusPeriod, and the client
// itself repeats a read that was dropped once a second. A pass that ends in a
// conflict reads and writes several times.
func allowed(elapsed time.Duration, code int, object cluster.Object) int {
	const changes = 3
	regular := 0
	if object.Resource == "nodepools" || object.Name == "" {
		regular = int(elapsed/time.Second) + 1
	}
	passes := func(pause time.Duration) int {
		return changes + regular + 1 + int(math.Log2(1+float64(elapsed)/float64(pause)))
	}
	switch code {
	case http.StatusConflict:
		return passes(loop.RetryPeriod) * 2 * nodes.MaxTries // as often read anew, but for once, and the walls
	case http.StatusNotFound:
		return nodes.AbsentTries + passes(loop.FirstBackoff)
	case http.StatusTooManyRequests:
		return 1 + int(elapsed/time.Second) // one at once, and then as it was asked to
	default:
		return passes(loop.FirstBackoff)
	}
}

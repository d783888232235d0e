package main

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[99-i] = float64(i + 1)
	}
	for _, test := range []struct {
		reason string
		values []float64
		p      float64
		want   float64
	}{
		{"half of them are at most 50", hundred, 50, 50},
		{"99 of them are at most 99", hundred, 99, 99},
		{"all of them are at most the last", hundred, 100, 100},
		{"one value is every percentile", []float64{7}, 50, 7},
		{"between two, it is one that was measured", []float64{1, 2}, 50, 1},
		{"99 of 3 is the last", []float64{3, 1, 2}, 99, 3},
		{"none is less than the first", []float64{3, 1, 2}, 0, 1},
	} {
		if got := percentile(test.values, test.p); got != test.want {
			t.Errorf("p%g is %g, expected %g: %s", test.p, got, test.want, test.reason)
		}
	}
}

// The round that is reported is the one in the middle by what it is a multiple of, and
// not by its time: a round beside a slow bare client was slow for the same reason.
func TestMiddleRound(t *testing.T) {
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	c := &convergence{}
	for _, took := range []float64{10, 10, 30, 10} {
		c.floors = append(c.floors, floored{took: seconds(took)})
	}
	for _, took := range []float64{20, 24, 22} { // 2, 1.2 and 1.1 times
		c.rounds = append(c.rounds, round{pushed: pushed{last: seconds(took)}})
	}
	if c.took() != 24 || c.floor() != 20 || c.ratio() != 1.2 {
		t.Errorf("reported are %g s beside %g s, expected 24 beside 20", c.took(), c.floor())
	}
	for _, took := range []float64{10, 10, 10, 12} {
		c.sparing = append(c.sparing, floored{took: seconds(took)})
	}
	if c.sparingRatio() != 2 { // 2, 2.4 and 2 times
		t.Errorf("reported is %g times the client that asks as little, expected 2", c.sparingRatio())
	}
	c.rounds, c.floors = c.rounds[:2], c.floors[:3]
	if c.ratio() != 2 {
		t.Errorf("of two rounds, the one of %g times is reported, expected the worse one, of 2", c.ratio())
	}
}

func TestParseUsage(t *testing.T) {
	stat := "4242 (a (b) c) S 1 4242 4242 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 100 200 300"
	got, err := parseUsage([]byte(stat), []byte("Name:\tx\nVmPeak:\t 9999 kB\nVmHWM:\t   51200 kB\nVmRSS:\t 1 kB\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (usage{cpu: 2, peak: 50}); got != want {
		t.Errorf("got %+v, expected %+v", got, want)
	}
	for reason, files := range map[string][2]string{
		"no name":    {"4242", "VmHWM: 1 kB\n"},
		"cut off":    {"4242 (a) S 1 2", "VmHWM: 1 kB\n"},
		"no numbers": {"4242 (a) S 1 1 1 1 1 1 1 1 1 1 x y 1", "VmHWM: 1 kB\n"},
		"no peak":    {stat, "VmRSS: 1 kB\n"},
	} {
		if _, err := parseUsage([]byte(files[0]), []byte(files[1])); err == nil {
			t.Errorf("%s, and no error", reason)
		}
	}
}

func TestEverybody(t *testing.T) {
	s, err := parseStat([]byte("4242 (a (b) c) S 17 4242 4242 0 -1 4194560 1 2 3 4 150 50 0 0"))
	if want := (stat{pid: 4242, parent: 17, name: "a (b) c", cpu: 2}); err != nil || s != want {
		t.Errorf("got %+v, %v, expected %+v", s, err, want)
	}
	before, err := everybody()
	if err != nil {
		t.Fatal(err)
	}
	if after, err := everybody(); err != nil || after.clients < before.clients || after.server < before.server {
		t.Errorf("after %+v there is %+v, %v", before, after, err)
	}
	sum := processors{}
	for _, s := range []stat{
		{1, 0, "bench", 1}, {2, 1, "kube-apiserver", 10}, {3, 1, "etcd", 100}, {4, 1, "nodepools", 1000}, {5, 6, "etcd", 10000},
	} {
		sum.add(1, s)
	}
	if want := (processors{server: 110, clients: 1001}); sum != want || sum.all() != 1111 {
		t.Errorf("got %+v, expected %+v: those of others do not count", sum, want)
	}
}

func TestKnown(t *testing.T) {
	unknown := math.NaN()
	got := known([]Figure{
		{Name: "a", Value: 1}, {Name: "b", Value: unknown}, {Name: "c", Value: 2, Baseline: &Baseline{Value: unknown}}, {Name: "d", Baseline: &Baseline{}},
	})
	if len(got) != 2 || got[0].Name != "a" || got[1].Name != "d" {
		t.Errorf("got %v", got)
	}
}

func TestNodeWrites(t *testing.T) {
	kind := func(verb, resource, subresource, code string) cluster.RequestKind {
		return cluster.RequestKind{Verb: verb, Resource: resource, Subresource: subresource, Code: code}
	}
	before := mark{counts: cluster.Counts{kind("APPLY", "nodes", "", "200"): 10}}
	after := mark{counts: cluster.Counts{
		kind("APPLY", "nodes", "", "200"):       15,
		kind("PATCH", "nodes", "", "200"):       2,
		kind("APPLY", "nodes", "", "409"):       3,
		kind("APPLY", "nodes", "", "429"):       1,
		kind("PATCH", "nodes", "status", "200"): 100,
		kind("GET", "nodes", "", "200"):         100,
		kind("PATCH", "pods", "", "200"):        100,
	}}
	got := after.nodeWrites(before)
	if want := (nodeWrites{done: 7, conflicts: 3, otherwise: 1}); got != want || got.all() != 11 {
		t.Errorf("got %+v, %d in all; expected %+v", got, got.all(), want)
	}
}

func TestWritesOf(t *testing.T) {
	request := func(verb, resource string) cluster.Request {
		return cluster.Request{Verb: verb, Object: cluster.Object{Resource: resource}}
	}
	got := writesOf([]cluster.Request{
		request("update", "leases"), request("get", "leases"), request("watch", "nodes"), request("update", "nodes"),
		request("patch", "nodepools"), request("list", "nodepools"), request("create", "events"),
	}, "nodes", "leases")
	if want := (tallied{all: 7, outside: 2, nodes: 2}); got != want {
		t.Errorf("got %+v, expected %+v", got, want)
	}
}

func TestTogether(t *testing.T) {
	var calls atomic.Int64
	if err := together(t.Context(), 100, 8, func(context.Context, int) error { calls.Add(1); return nil }); err != nil || calls.Load() != 100 {
		t.Errorf("%d calls, error %v", calls.Load(), err)
	}
	failure := errors.New("no more")
	err := together(t.Context(), 1<<40, 4, func(_ context.Context, i int) error {
		if i == 50 {
			return failure
		}
		return nil
	})
	if !errors.Is(err, failure) {
		t.Errorf("error is %v, expected that of the call", err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := together(stopped, 1<<40, 4, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, expected that of the context", err)
	}
}

// Each index comes in its turn, and the end of the context is no error. Without a period
// each call is late, so that the end is always seen beside a timer that has run out.
func TestEvenly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen [3]atomic.Int64
	calls, err := evenly(ctx, len(seen), 0, 1, func(_ context.Context, i int) error {
		if seen[i].Add(1) == 4 && i == 2 {
			cancel()
		}
		return nil
	})
	if err != nil || calls != 12 {
		t.Errorf("%d calls, error %v; expected 12 and none", calls, err)
	}
	for i := range seen {
		if n := seen[i].Load(); n != 4 {
			t.Errorf("%d came %d times, expected 4", i, n)
		}
	}
	failure := errors.New("no more")
	if _, err := evenly(t.Context(), 2, time.Millisecond, 2, func(context.Context, int) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("error is %v, expected that of the call", err)
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"-nodes", "1000", "-growth", "1000,3000"})
	if err != nil {
		t.Fatal(err)
	}
	if o.size != (size{nodes: 1000, pools: 100, overlap: 100}) || o.grown(3000) != (size{nodes: 3000, pools: 100, overlap: 300}) || !o.rows["growth"] {
		t.Errorf("options are %+v", o)
	}
	for reason, args := range map[string][]string{
		"fewer nodes than pools": {"-nodes", "10"},
		"no such row":            {"-rows", "converge,speed"},
		"growth that shrinks":    {"-growth", "5000,1000"},
		"growth without numbers": {"-growth", "much"},
		"what is no flag":        {"more"},
		"nothing at a time":      {"-concurrency", "0"},
		"no round":               {"-rounds", "0"},
		"no pool":                {"-many-pools", "1000,0"},
	} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%s, and no error", reason)
		}
	}
}

func TestWholeNumbersAreParted(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 15000: "15,000", 1234567: "1,234,567"} {
		if got := number(float64(n)); got != want {
			t.Errorf("%d is %q, expected %q", n, got, want)
		}
	}
}

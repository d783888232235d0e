package main

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// The pools that are pushed say what the rows claim.
func TestRollouts(t *testing.T) {
	for name, c := range map[string]*v1.Rollout{
		"windows": closed(time.Now()), "budget": {MaxUnavailable: new(intstr.FromInt32(0))}, "waves": inWaves(nil), "drained": inWaves(&v1.Drain{}),
	} {
		t.Run(name, func(t *testing.T) {
			p := &pool{name: "p", group: -1, names: []string{"*"}, tier: firstTier, rollout: c, drives: c.Drain != nil, priority: 1000}
			if problems := v1.ValidateNodePool(p.record()); len(problems) > 0 {
				t.Errorf("it is refused: %v", problems)
			}
			text, err := p.file()
			if err != nil || !strings.Contains(string(text), "rollout:") || strings.Contains(string(text), "effect: NoExecute") != (c.Drain != nil) {
				t.Errorf("%v, its file is\n%s", err, text)
			}
		})
	}
	if rollout := inWaves(nil); len(rollout.Waves)+1 != waves {
		t.Errorf("there are %d waves and the rest, expected %d", len(rollout.Waves), waves)
	}
}

// Whenever the nodes are held, no window opens before they have been looked at.
func TestClosed(t *testing.T) {
	for hour := range 24 {
		now := time.Date(2026, 3, 28, hour, 59, 59, 0, time.FixedZone("", 2*60*60))
		p := &v1.NodePool{Spec: v1.NodePoolSpec{Rollout: closed(now)}}
		for later := range 10 {
			if at := now.Add(time.Duration(later) * time.Hour); p.Calendar().Open(at) {
				t.Errorf("a window that is to be closed at %s is open at %s", now, at)
			}
		}
	}
}

func TestHeldFigures(t *testing.T) {
	w := &world{size: size{nodes: 5000, pools: 100, rollouts: true}}
	kept := resting{lasted: time.Minute, asked: tallied{all: 20}, cpu: 0.4, peak: 80}
	free := held{resting: kept, status: 1500}
	count := func(all []held, followed pushed) (missed []string) {
		for _, f := range w.figuresOfHeld(free, all, followed) {
			if err := f.check(); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
			if f.Missed() {
				missed = append(missed, f.Name)
			}
		}
		return missed
	}
	once := pushed{writes: nodeWrites{done: 5000}}
	if missed := count([]held{{kept, "windows", 1900}, {kept, "budgets", 1900}}, once); len(missed) > 0 {
		t.Errorf("nothing is written, and missed is %v", missed)
	}
	node, status, busy := kept, kept, kept
	node.nodeWrites, status.asked.outside, busy.cpu = 1, 1, 0.6
	for reason, c := range map[string]struct {
		held     held
		followed pushed
		missed   int
	}{
		"a node is written":             {held{node, "windows", 1900}, once, 2},
		"a status is written":           {held{status, "windows", 1900}, once, 1},
		"it is busy":                    {held{busy, "windows", 1900}, once, 1},
		"the status names it":           {held{kept, "windows", 5000 * 20}, once, 1},
		"a node is written twice later": {held{kept, "windows", 1900}, pushed{writes: nodeWrites{done: 5001}}, 1},
	} {
		if missed := count([]held{c.held}, c.followed); len(missed) != c.missed {
			t.Errorf("%s, and missed is %q", reason, missed)
		}
	}
}

func TestWaveFigures(t *testing.T) {
	request := func(verb, resource, subresource string) cluster.Request {
		return cluster.Request{Verb: verb, Object: cluster.Object{Resource: resource, Subresource: subresource}}
	}
	at := func(writes int, requests ...cluster.Request) pushed {
		return pushed{last: time.Second, cpu: 1, writes: nodeWrites{done: writes}, requests: requests}
	}
	once := []pushed{at(100, request("patch", "nodepools", "status")), at(100, request("patch", "nodepools", "status"))}
	m := waved{
		one: at(100), others: at(101), onceOne: once, onceOthers: once, pods: 2, peak: 80,
		drained: at(
			200, request("list", "pods", ""), request("create", "pods", "eviction"), request("create", "pods", "eviction"), request("create", "events", ""),
			request("patch", "nodepools", "status"), request("patch", "nodepools", "status"), request("patch", "nodepools", ""),
		),
	}
	values, missed := map[string]float64{}, []string{}
	for _, f := range m.figures(size{nodes: 100, pools: 10, rollouts: true}) {
		if err := f.check(); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		values[f.Row+": "+f.Name] = f.Value
		if f.Missed() {
			missed = append(missed, f.Row+": "+f.Name)
		}
	}
	const drained = "rollout, the same waves, drained: "
	for name, want := range map[string]float64{
		"rollout, 50 waves of 100 nodes: writes per node": 1, "rollout, the same waves, 10 pools wait for them: writes per node": 1.01,
		drained + "writes per node": 2, drained + "lists of pods per node": 0.01, drained + "evictions of each of 2 pods": 1,
		drained + "writes of statuses of pools": 2, drained + "events": 1, drained + "all requests but writes of nodes": 7,
	} {
		if got, known := values[name]; !known || got != want {
			t.Errorf("%s is %v, expected %v", name, got, want)
		}
	}
	if len(missed) != 1 || !strings.Contains(missed[0], "wait for them: writes per node") {
		t.Errorf("missed is %q, expected the writes of nodes that were written twice", missed)
	}
}

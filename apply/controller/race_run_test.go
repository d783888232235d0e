package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// race has everybody write to the same nodes at once: writers with things of
// their own, machines that come and go, Kubernetes itself, and whoever carries
// out the pools.
type race struct {
	*world
	ledger   *raceLedger
	machines *raceMachines
	pools    *racePools
	writers  []*raceWriter
}

// newRace makes nodes that stay, nodes that come and go, and two for kubectl, and
// everybody who will write to them.
func newRace(w *world, staying, passing int) *race {
	w.t.Helper()
	ledger := &raceLedger{}
	r := &race{
		world: w, ledger: ledger,
		machines: newRaceMachines(w.Client, ledger, staying, passing),
		pools:    newRacePools(w.Client, ledger),
	}
	add := func(writer raceWriter) {
		if writer.client == nil {
			writer.client = client.WithFieldOwner(w.Client, writer.name)
		}
		if writer.nodes == nil {
			writer.nodes = r.machines.writable()
		}
		if writer.vary == nil {
			writer.vary = varyKeys
		}
		writer.ledger, writer.left = ledger, map[string]leftBehind{}
		r.writers = append(r.writers, &writer)
	}
	add(raceWriter{name: "update", write: byUpdate})
	add(raceWriter{name: "strategic", write: byStrategicMerge})
	add(raceWriter{name: "unlocked", write: byUnlockedStrategicMerge, more: []string{v1.RoleLabel(recruitPool)}})
	add(raceWriter{name: "merge", write: byMergePatch})
	add(raceWriter{name: "json", write: byJSONPatch})
	add(raceWriter{name: "apply", write: byApply})
	add(raceWriter{name: "cordon", write: byCordon, vary: varyCordon, cordons: true})
	add(raceWriter{name: "kubectl", write: byKubectl(w.cluster), vary: varyByKubectl, cordons: true, nodes: r.machines.apart})
	for _, node := range r.machines.staying[:3] {
		config, err := w.cluster.AddUser("system:node:"+node, "system:nodes")
		w.do(err)
		add(raceWriter{name: "kubelet", write: byHeartbeat, vary: varyKubelet, nodes: []string{node}, client: newClient(w.t, config)})
	}
	for _, name := range r.machines.names() {
		w.do(r.machines.join(w.t.Context(), name))
	}
	return r
}

// run lets everybody race until enough has happened, or something that cannot
// go on.
func (r *race) run(enough func(raceScore) bool, more ...func(stop, ctx context.Context)) (raceScore, []loss) {
	r.t.Helper()
	ctx := r.t.Context()
	stop, cancel := context.WithTimeout(ctx, raceLimit())
	defer cancel()
	var racing sync.WaitGroup
	for _, writer := range r.writers {
		racing.Go(func() { writer.race(stop, ctx) })
	}
	for _, each := range more {
		racing.Go(func() { each(stop, ctx) })
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		score, _, failure := r.ledger.read()
		if failure != nil || stop.Err() != nil || enough(score) {
			break
		}
		<-ticker.C
	}
	tooLong := stop.Err()
	cancel()
	racing.Wait()
	score, losses, failure := r.ledger.read()
	switch {
	case failure != nil:
		r.t.Fatalf("%v; so far: %s", failure, score)
	case tooLong != nil:
		r.t.Fatalf("not enough has happened in %s: %s", raceLimit(), score)
	}
	return score, losses
}

// raceLimit is when a race has hung.
func raceLimit() time.Duration {
	if cluster.Stress() {
		return 30 * time.Minute
	}
	return 2 * time.Minute
}

// look has every writer look once more at every node.
func (r *race) look() {
	r.t.Helper()
	var nodes corev1.NodeList
	r.do(r.List(r.t.Context(), &nodes))
	for i := range nodes.Items {
		for _, writer := range r.writers {
			if slices.Contains(writer.nodes, nodes.Items[i].Name) {
				writer.compare(&nodes.Items[i])
			}
		}
	}
}

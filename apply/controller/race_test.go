package controller

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/nodes"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// Many others change things of their own on the same nodes as fast as they can,
// while pools change and nodes join and vanish. Nothing of theirs is lost, and
// nothing comes back that they took away.
func TestRaceLosesNothingOfOthers(t *testing.T) {
	cluster.Long(t)
	wanted := raceScore{changes: 400, poolChanges: 25, vanished: 10}
	if cluster.Stress() {
		wanted = raceScore{changes: 20_000, poolChanges: 1_000, vanished: 200}
	}
	w := newWorld(t)
	errorLog := w.collectErrors()
	r := newRace(w, 36, 12)
	mark := w.mark()
	r.run(func(now raceScore) bool {
		return now.changes >= wanted.changes && now.poolChanges >= wanted.poolChanges && now.vanished >= wanted.vanished
	}, r.pools.race, r.machines.race, r.meddle)
	r.look()
	defer r.tell(mark)
	if score, _, _ := r.ledger.read(); score.lost > 0 {
		return // and it is reported what
	}
	defer func() {
		// Who was slower reads and tries again: that is no error.
		if logged := errorLog.text(); logged != "" {
			t.Errorf("the loops have logged errors:\n%s", logged)
		}
	}()

	definitions := r.lastPools()
	r.hold("every node has what others left and pools want, and nothing else", definitions)
	r.look()
	w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "--all", v1.ApproveReleaseAnnotation+"="+v1.DeletionApproval)
	for _, pool := range definitions {
		w.do(w.Delete(t.Context(), pool))
	}
	r.hold("every node has what others left, and nothing else", nil)
	r.look()
}

// lastPools sees to it that in the end all pools are there, and agree.
func (r *race) lastPools() []*v1.NodePool {
	r.t.Helper()
	for _, name := range r.pools.names {
		r.eventually("pool "+name+" has its last definition", func() error { return r.pools.put(r.t.Context(), name, r.pools.settle) })
	}
	var list v1.NodePoolList
	r.do(r.List(r.t.Context(), &list))
	var definitions []*v1.NodePool
	for i := range list.Items {
		definitions = append(definitions, &list.Items[i])
	}
	if len(definitions) != len(r.pools.names) {
		r.t.Fatalf("there are %d pools, want %d", len(definitions), len(r.pools.names))
	}
	return definitions
}

// tell prints how the race has ended, and fails the test when anything was lost,
// or when nothing could have been.
func (r *race) tell(mark int64) {
	r.t.Helper()
	for _, writer := range r.writers {
		r.t.Logf("%s on %d nodes: %d changes", writer.name, len(writer.nodes), writer.changes)
		if writer.changes == 0 {
			r.t.Errorf("%s has changed nothing", writer.name)
		}
	}
	score, losses, _ := r.ledger.read()
	for _, each := range losses {
		r.t.Errorf("lost: %s", each)
	}
	if more := score.lost - len(losses); more > 0 {
		r.t.Errorf("and %d more", more)
	}
	r.tellWrites(mark, score)
}

// nodeLifecycle is who puts taints on nodes for Kubernetes.
const nodeLifecycle = "system:serviceaccount:kube-system:node-controller"

// tellWrites prints the score, with what the audit log has of writes of nodes.
func (r *race) tellWrites(mark int64, score raceScore) {
	r.t.Helper()
	var writes []cluster.Request
	r.eventually("the API server has answered all that it has received", func() error {
		requests, err := r.cluster.Audit(mark)
		r.do(err)
		writes = cluster.WritesBy("", requests)
		if i := slices.IndexFunc(writes, func(write cluster.Request) bool { return write.User == r.user && write.Code == 0 }); i >= 0 {
			return fmt.Errorf("no answer yet: %s", writes[i])
		}
		return nil
	})
	var done, refused, tested, kubernetes int
	for _, write := range writes {
		switch {
		case write.Object.Resource != "nodes" || write.Object.Subresource != "":
		case write.User == nodeLifecycle:
			kubernetes++
		case write.User != r.user:
		case write.Verb == "patch" && write.Code == http.StatusOK:
			done++
		case write.Code == http.StatusConflict, write.Code == http.StatusNotFound:
			refused++ // the node has changed, is another one or is gone
		case write.Code == http.StatusUnprocessableEntity:
			tested++ // what a patch that names no version tests has changed
		default:
			r.t.Errorf("unexpected: %s", write)
		}
	}
	r.t.Logf("%s; %d writes of nodes by the loops (%d refused, %d by their own tests), %d by the node lifecycle controller", score, done, refused, tested, kubernetes)
	if tested*nodes.MaxTries > refused {
		r.t.Errorf("%d patches were refused by their own tests, more than one for %d that were outdated", tested, nodes.MaxTries)
	}
	if refused == 0 || kubernetes == 0 {
		r.t.Error("not everybody has raced: the race has shown nothing")
	}
}

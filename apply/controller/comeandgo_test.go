package controller

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/nodes"
)

func TestNodeJoinsAndLeaves(t *testing.T) {
	w := newWorld(t)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: byrole}
spec: {labels: {byrole: "yes"}, taints: [{key: byrole, effect: NoSchedule}]}
`)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: bylabel}
spec: {selector: {matchLabels: {zone: a}}, labels: {bylabel: "yes"}, annotations: {bylabel: "yes"}}
`)
	w.isReady("byrole", 0)

	// Born with the role label, and labelled since.
	w.node("born", role("byrole"), "theirs=:NoSchedule")
	w.node("labelled", map[string]string{"zone": "a"})
	byRole := role("byrole")
	byRole["byrole"] = "yes"
	w.carries("born", byRole, "theirs=:NoSchedule", "byrole=:NoSchedule")
	w.kubectl("label", "node", "labelled", v1.RoleLabel("byrole")+"=")
	both := maps.Clone(byRole)
	maps.Copy(both, map[string]string{"zone": "a", "bylabel": "yes", v1.RoleLabel("bylabel"): ""})
	w.carries("labelled", both, "byrole=:NoSchedule")
	w.isReady("byrole", 2)
	w.isReady("bylabel", 1)

	w.kubectl("label", "node", "born", v1.RoleLabel("byrole")+"-")
	w.carries("born", map[string]string{}, "theirs=:NoSchedule")
	w.isReady("byrole", 1)
	w.hasEvent("byrole", "Released", "1 node")

	w.change("bylabel", func(pool *v1.NodePool) { pool.Spec.Selector.MatchLabels = map[string]v1.LabelValue{"zone": "b"} })
	w.isStalled("bylabel", v1.ReleaseBlockedReason, "1 of 1 nodes would leave pool \"bylabel\"", "none would be left")
	w.approves("bylabel")
	byRole["zone"] = "a"
	w.carries("labelled", byRole, "byrole=:NoSchedule")
	w.isReady("bylabel", 0)

	w.do(w.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "labelled"}}))
	w.isReady("byrole", 0)
}

// Under the same name comes another machine. What its predecessor carried says
// nothing of it.
func TestNodeComesBackUnderTheSameName(t *testing.T) {
	w := newWorld(t)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: rack}
spec: {labels: {rack: one}, taints: [{key: rack, value: one, effect: NoSchedule}]}
`)
	member := role("rack")
	member["rack"] = "one"
	for range 3 {
		w.node("machine", role("rack"), "first=:NoSchedule")
		w.carries("machine", member, "rack=one:NoSchedule", "first=:NoSchedule")
		before := w.get("machine").UID

		w.do(w.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine"}}))
		w.node("machine", nil, "second=:NoSchedule")
		w.isReady("rack", 0)
		w.carries("machine", map[string]string{}, "second=:NoSchedule")

		w.do(w.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine"}}))
		w.node("machine", role("rack"), "third=:NoSchedule")
		w.carries("machine", member, "rack=one:NoSchedule", "third=:NoSchedule")
		w.isReady("rack", 1)
		if w.get("machine").UID == before {
			t.Fatal("the node was not replaced")
		}
		w.do(w.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine"}}))
	}
	w.isReady("rack", 0)
}

// Nodes come and go in a tight loop while every write of the loops is on its way
// to one of them. None may come to life by such a write.
func TestNoNodeIsEverCreated(t *testing.T) {
	w := newWorld(t)
	w.pool(`
apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata: {name: busy}
spec: {labels: {turn: "0"}, taints: [{key: busy, effect: NoSchedule}]}
`)
	mark := w.mark()
	until := time.Now().Add(5 * time.Second)
	var mu sync.Mutex
	last := map[string]types.UID{} // of the nodes that the test has made and not deleted
	var writers sync.WaitGroup
	for i := range 6 {
		writers.Go(func() {
			name := fmt.Sprintf("short-lived-%d", i)
			for turn := 0; time.Now().Before(until) || turn%2 == 1; turn++ {
				var err error
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: role("busy")}}
				if turn%2 == 0 {
					err = w.Create(t.Context(), node)
				} else {
					err = w.Delete(t.Context(), node)
				}
				if err != nil {
					t.Errorf("turn %d of %s: %v", turn, name, err)
					return
				}
				mu.Lock()
				if turn%2 == 0 {
					last[name] = node.UID
				} else {
					delete(last, name)
				}
				mu.Unlock()
				// Sometimes long enough to be written, sometimes not.
				time.Sleep(time.Duration(turn*7%40) * time.Millisecond)
			}
		})
	}
	for turn := 1; time.Now().Before(until); turn++ {
		w.change("busy", func(pool *v1.NodePool) { pool.Spec.Labels["turn"] = v1.LabelValue(fmt.Sprint(turn)) })
	}
	writers.Wait()
	w.node("survivor", role("busy"))
	last["survivor"] = w.get("survivor").UID
	w.settle()
	w.isReady("busy", 1)

	var listed corev1.NodeList
	w.do(w.List(t.Context(), &listed, &client.ListOptions{}))
	left := map[string]types.UID{}
	for _, node := range listed.Items {
		left[node.Name] = node.UID
	}
	if diff := cmp.Diff(last, left); diff != "" {
		t.Errorf("nodes (-made by the test +there):\n%s", diff)
	}
	written, refused, tested := 0, 0, 0
	for _, request := range w.writesSince(mark) {
		if request.Object.Resource != "nodes" {
			continue
		}
		switch {
		case request.Verb != "patch" || request.Code == 201:
			t.Errorf("%s: nodes are only ever patched", request)
		case request.Code == 200:
			written++
		case request.Code == 409 || request.Code == 404:
			refused++
		case request.Code == 422:
			tested++ // by the tests of a patch that names no version
		default:
			t.Errorf("unexpected answer: %s", request)
		}
	}
	t.Logf("%d writes to nodes, %d refused because the node was gone or another, and %d of walls", written, refused, tested)
	if tested*nodes.MaxTries > refused {
		t.Errorf("%d patches were refused by their own tests, more than one for %d that were outdated", tested, nodes.MaxTries)
	}
	if written == 0 || refused == 0 {
		t.Error("no write met a node that was deleted: the test has shown nothing")
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/crds"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// proof is a cluster in which what 'nodepools diff' says is held against what
// 'nodepools run' then does: the API server is read before and after, and what
// the JSON of diff says is carried out on what was read before, by code that
// knows nothing of the package plan.
//
// To start and stop the controller for each of many worlds would take hours, so
// worlds stand side by side in one cluster: every name in it begins with that of
// its world and a dot, and no pool has nodes of another world.
type proof struct {
	client.Client
	t          *testing.T
	c          *cluster.Cluster
	kubeconfig string
	// user is whom the audit log has for the controller.
	user string

	controller *exec.Cmd
	log        bytes.Buffer
	passes     int
}

// newProof starts a cluster that collects garbage, as RuntimeClasses go with
// their pools, and in which nobody but the test and the controller writes nodes.
func newProof(t *testing.T) *proof {
	t.Helper()
	definitions, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	p := &proof{t: t, user: "controller", c: cluster.New(t, cluster.Options{
		Audit: true, CRDs: definitions, ControllerManager: true,
		ControllerManagerArgs: []string{"--controllers=-node-lifecycle-controller,-ttl-controller,-taint-eviction-controller"},
	})}
	scheme, err := controller.NewScheme()
	p.do(err)
	p.Client, err = client.New(p.c.Config, client.Options{Scheme: scheme})
	p.do(err)
	user, err := p.c.AddUser(p.user, "system:masters")
	p.do(err)
	p.kubeconfig, err = p.c.WriteKubeconfig(user)
	p.do(err)
	p.do(p.Create(t.Context(), &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: sentinel}, Spec: v1.NodePoolSpec{NodeNames: []string{"nobody"}},
	}))
	t.Cleanup(p.stop)
	return p
}

func (p *proof) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// start runs the controller as a process of its own, stop ends it.
func (p *proof) start() {
	p.t.Helper()
	p.controller = exec.Command("nodepools", "run", "--kubeconfig", p.kubeconfig,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0")
	p.controller.Stderr = &p.log
	p.do(p.controller.Start())
}

func (p *proof) stop() {
	p.t.Helper()
	if p.controller == nil {
		return
	}
	if err := errors.Join(p.controller.Process.Signal(syscall.SIGTERM), p.controller.Wait()); err != nil {
		p.t.Errorf("controller: %v\n%s", err, p.log.String())
	}
	p.controller = nil
}

// pass lets the controller do all that it has to do, from its start on, and
// returns what it has written.
func (p *proof) pass() writes {
	p.t.Helper()
	mark, err := p.c.AuditMark()
	p.do(err)
	p.start()
	p.settle()
	p.stop()
	return p.writtenSince(mark)
}

// sentinel is a pool without nodes. Its status answers a request once the
// controller has looked at every node.
const sentinel = "sentinel"

// request asks the controller of the next pass for an answer.
func (p *proof) request() {
	p.t.Helper()
	p.passes++
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, v1.RequestedAtAnnotation, p.passes)
	p.do(p.Patch(p.t.Context(), &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: sentinel}}, client.RawPatch("application/merge-patch+json", patch)))
}

// settle waits until the controller has seen everything and is quiet.
func (p *proof) settle() {
	p.t.Helper()
	heads := map[string]string{}
	cluster.Eventually(p.t, "the controller has done all", 3*waitTimeout, func() error {
		if err := p.sourcesAnswer(heads); err != nil {
			return err
		}
		if err := p.poolsAnswer(); err != nil {
			return err
		}
		mark, err := p.c.AuditMark()
		p.do(err)
		// Longer than the second in which changes of a status are gathered.
		time.Sleep(1250 * time.Millisecond)
		if all := p.writtenSince(mark).all; len(all) > 0 {
			return fmt.Errorf("it still writes: %v", all)
		}
		return nil
	})
}

// sourcesAnswer reports whether the newest revision of every source that is
// followed was looked at. Nobody commits meanwhile: what git has said of a repository
// is kept in heads.
func (p *proof) sourcesAnswer(heads map[string]string) error {
	var sources v1.NodePoolSourceList
	p.do(p.List(p.t.Context(), &sources))
	for i := range sources.Items {
		src := &sources.Items[i]
		if src.Spec.Suspend || v1.IsDisabled(src, v1.ReconcileAnnotation) || !src.DeletionTimestamp.IsZero() {
			continue
		}
		head, known := heads[src.Spec.URL]
		if !known {
			head = headOf(p.t, strings.TrimPrefix(src.Spec.URL, "file://"))
			heads[src.Spec.URL] = head
		}
		if src.Status.LastAttemptedRevision != head || src.Status.ObservedGeneration != src.Generation {
			return fmt.Errorf("source %s has looked at %q, want %q", src.Name, src.Status.LastAttemptedRevision, head)
		}
	}
	return nil
}

// poolsAnswer reports whether the status of every pool is of its present spec, and
// no RuntimeClass of a pool that is gone is left.
func (p *proof) poolsAnswer() error {
	var pools v1.NodePoolList
	p.do(p.List(p.t.Context(), &pools))
	alive := map[string]bool{}
	for i := range pools.Items {
		pool := &pools.Items[i]
		alive[string(pool.UID)] = true
		if pool.DeletionTimestamp.IsZero() && pool.Status.ObservedGeneration != pool.Generation {
			return fmt.Errorf("pool %s: generation %d observed, want %d", pool.Name, pool.Status.ObservedGeneration, pool.Generation)
		}
		if answer := pool.Status.LastHandledReconcileAt; pool.Name == sentinel && answer != fmt.Sprint(p.passes) {
			return fmt.Errorf("the request %d is answered with %q", p.passes, answer)
		}
	}
	var classes nodev1.RuntimeClassList
	p.do(p.List(p.t.Context(), &classes))
	for i := range classes.Items {
		owner := metav1.GetControllerOf(&classes.Items[i])
		if owner != nil && owner.Kind == v1.NodePoolKind && !alive[string(owner.UID)] {
			return fmt.Errorf("RuntimeClass %s outlives its pool", classes.Items[i].Name)
		}
	}
	return nil
}

// diff runs 'nodepools diff -o json' and reads what it prints: to the last
// field, as it is documented. The exit code has to say the same.
func (p *proof) diff(args ...string) (*review.Review, error) {
	var out, reported bytes.Buffer
	args = append([]string{"nodepools", "diff", "--kubeconfig", p.c.Kubeconfig(), "-o", "json"}, args...)
	code := execute(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &reported})
	if code > 1 {
		return nil, fmt.Errorf("exit code %d: %s", code, reported.String())
	}
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	r := &review.Review{}
	if err := decoder.Decode(r); err != nil {
		return nil, err
	}
	if r.APIVersion != review.APIVersion || r.Kind != review.Kind || decoder.More() {
		return nil, fmt.Errorf("it prints a %s %s, want one %s %s", r.APIVersion, r.Kind, review.APIVersion, review.Kind)
	}
	if differs := len(r.Pools)+len(r.RuntimeClasses)+len(r.Nodes) > 0; differs != (code == 1) {
		return nil, fmt.Errorf("exit code %d, and the JSON has %d pools, %d RuntimeClasses and %d groups of nodes that change",
			code, len(r.Pools), len(r.RuntimeClasses), len(r.Nodes))
	}
	return r, nil
}

// writes are requests of the controller that have changed something, or wanted to.
type writes struct {
	all []string
	// objects are those that it has written, as "nodes/a", statuses and events
	// left aside; times is how often.
	objects []string
	times   map[string]int
}

// writtenSince is what the controller has written since a mark. A dry run of a
// deletion looks like a deletion in the log: what it names in its body is not
// there.
func (p *proof) writtenSince(mark int64) writes {
	p.t.Helper()
	requests, err := p.c.Audit(mark)
	p.do(err)
	w := writes{times: map[string]int{}}
	for _, request := range cluster.WritesBy(p.user, requests) {
		w.all = append(w.all, request.String())
		switch resource := request.Object.Resource; {
		case request.Object.Subresource != "" || request.Code >= 400:
		case resource == "nodes", resource == "runtimeclasses", resource == "nodepools":
			w.times[resource+"/"+request.Object.Name]++
		case resource != "events" && resource != "nodepoolsources":
			p.t.Errorf("unexpected write: %s", request)
		}
	}
	for object := range w.times {
		w.objects = append(w.objects, object)
	}
	slices.Sort(w.objects)
	return w
}

package impact_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/observe"
	"github.com/nodepools/nodepools/apply/status"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// TestStrandedPodsStayPending predicts which pods without a node a change strands, carries the
// change out, and makes room for all of them: those that are stranded stay without a node
// though the scheduler has looked at them again, and run after the remedy.
func TestStrandedPodsStayPending(t *testing.T) {
	cluster.Long(t)
	stage := newStage(t)
	pool := func(labels map[string]v1.LabelValue, taints ...v1.Taint) map[string]v1.NodePoolSpec {
		return map[string]v1.NodePoolSpec{"gpu": {NodeNames: []string{"s1", "s2"}, Labels: labels, Taints: taints}}
	}
	old := map[string]v1.LabelValue{"example.com/tier": "old"}
	for name, c := range map[string]struct {
		reason string
		after  map[string]v1.NodePoolSpec
		// inStatus is set where the status of a later time knows which pods are stranded.
		inStatus bool
	}{
		"a label changes":   {"the copied selector matches no node", pool(map[string]v1.LabelValue{"example.com/tier": "new"}), true},
		"a label goes away": {"the copied selector matches no node, and may be the pod's own", pool(nil), false},
		"a taint comes":     {"the copied tolerations do not tolerate it", pool(old, taints("example.com/tier=old:NoSchedule")...), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := stage.open(t, scenario{reason: c.reason, nodes: nodes("s1", "s2"), before: pool(old), after: c.after})
			queued := p.queue()
			p.predict()
			var predicted []string
			for _, group := range p.predicted.Stranded {
				for _, pod := range group.Pods {
					predicted = append(predicted, called(group.Workload)+" "+pod)
				}
			}
			if diff := cmp.Diff(queued, sorted(predicted)); diff != "" {
				t.Errorf("%s: predicted otherwise than the queue (-queued +predicted):\n%s", c.reason, diff)
			}
			began := time.Now().Truncate(time.Second)
			p.apply(c.after)
			p.closeNodes(false)
			p.eventually("the scheduler puts the pod that names no RuntimeClass on a node", func() error { return p.allRun("free") })
			p.stay(len(queued), began)
			p.isReported(len(queued), c.inStatus)
			for _, group := range p.predicted.Stranded {
				if group.Workload.Name != "once" {
					p.remedy(group.Remedy)
				}
			}
			// As docs/troubleshooting.md has it for a Job that may not fail.
			p.remedy("kubectl patch job once --namespace " + p.slug + ` --type merge --patch {"spec":{"suspend":true}}`)
			p.remedy("kubectl wait job once --namespace " + p.slug + " --for condition=Suspended")
			p.remedy("kubectl patch job once --namespace " + p.slug + ` --type merge --patch {"spec":{"suspend":false}}`)
			for _, w := range []string{"serve", "db", "train", "once"} {
				p.eventually("the pods of "+w+" run after the remedy", func() error { return p.allRun(w) })
			}
		})
	}
}

// queue creates pods of a Deployment, a StatefulSet and a Job while no node takes any, and
// returns them, and one that names no RuntimeClass.
func (p *play) queue() []string {
	p.t.Helper()
	p.closeNodes(true)
	var queued []string
	for _, w := range []workload{deployment("serve", 3, inPool("gpu")), statefulSet("db", 2, inPool("gpu")), job("train", 2, inPool("gpu")), job("once", 1, inPool("gpu")), deployment("free", 1, tolerates("example.com/tier"))} {
		if w.name == "once" {
			p.runOnce(w)
		} else {
			p.run(w)
		}
		p.eventually(w.title()+" waits", func() error {
			pods, err := p.podsOf(w.name)
			if err != nil {
				return err
			}
			if len(pods) != w.pods || slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !unschedulable(&pod) }) {
				return fmt.Errorf("it has %d pods, not all of which the scheduler has looked at", len(pods))
			}
			return nil
		})
		if w.name == "free" {
			continue
		}
		pods, err := p.podsOf(w.name)
		p.do(err)
		for _, pod := range pods {
			queued = append(queued, w.title()+" "+pod.Name)
		}
	}
	return sorted(queued)
}

// runOnce creates a Job of which no pod may fail.
func (p *play) runOnce(w workload) {
	p.t.Helper()
	once := p.object(w).(*batchv1.Job)
	once.Spec.BackoffLimit = ptr.To[int32](0)
	p.do(p.Create(p.t.Context(), once))
}

// closeNodes makes the nodes take no pods, or take them again.
func (p *play) closeNodes(cordoned bool) {
	p.t.Helper()
	for _, node := range p.nodes() {
		p.do(p.Patch(p.t.Context(), node, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"unschedulable":%v}}`, cordoned))))
	}
}

// stay expects that so many pods that name the RuntimeClass have no node, and that the
// scheduler has said so of the nodes as they are now.
func (p *play) stay(want int, since time.Time) {
	p.t.Helper()
	p.eventually("the scheduler finds no node that matches", func() error {
		var pods corev1.PodList
		if err := p.List(p.t.Context(), &pods, client.InNamespace(p.slug)); err != nil {
			return err
		}
		stay := 0
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Spec.RuntimeClassName == nil {
				continue
			}
			if pod.Spec.NodeName != "" {
				p.t.Fatalf("pod %s is on node %s", pod.Name, pod.Spec.NodeName)
			}
			for _, condition := range pod.Status.Conditions {
				// Cordoned nodes were another reason.
				if condition.Reason == corev1.PodReasonUnschedulable && !strings.Contains(condition.Message, "unschedulable") {
					stay++
				}
			}
		}
		if stay != want {
			return fmt.Errorf("of %d pods %d are judged by the nodes as they are since %s", want, stay, since)
		}
		return nil
	})
}

// isReported expects the event of the pool and, where it is known by then, the status.
func (p *play) isReported(pods int, inStatus bool) {
	p.t.Helper()
	count := fmt.Sprintf("%d pods are stranded, pod %s/", pods, p.slug)
	p.eventually("an event counts the pods", func() error {
		var events eventsv1.EventList
		if err := p.List(p.t.Context(), &events, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "PodsStranded" && event.Regarding.Name == p.full("gpu") {
				if !strings.HasPrefix(event.Note, count) || !strings.Contains(event.Note, "kubectl delete --namespace "+p.slug+" pod/") {
					p.t.Fatalf("the event says %q", event.Note)
				}
				return nil
			}
		}
		return fmt.Errorf("there is none among %d", len(events.Items))
	})
	server, err := observe.Connect(p.cluster.Config, timeout)
	p.do(err)
	progress, err := server.Progress(p.t.Context())
	p.do(err)
	cluster := status.Cluster{Pools: progress.Pools, Waiting: progress.Waiting, Classes: progress.Classes}
	for _, node := range progress.Nodes {
		cluster.Nodes = append(cluster.Nodes, status.Node(node))
	}
	report, _ := status.Of(cluster, time.Now()).Only(p.full("gpu"))
	switch got := report.Pools[0].PodsStranded; {
	case !inStatus && got != nil:
		p.t.Errorf("the status counts %+v, and cannot know that", got)
	case inStatus && (got == nil || got.Count != pods || !strings.HasPrefix(got.Message, count)):
		p.t.Errorf("the status counts %+v, want %d", got, pods)
	}
}

// remedy runs the printed command.
func (p *play) remedy(command string) {
	p.t.Helper()
	words := strings.Fields(command)
	if len(words) == 0 || words[0] != "kubectl" {
		p.t.Fatalf("the remedy is %q", command)
	}
	out, err := p.cluster.Kubectl(p.t.Context(), words[1:]...)
	if err != nil {
		p.t.Fatalf("%s: %v: %s", command, err, out)
	}
}

// allRun reports as an error that not all pods of a workload run.
func (p *play) allRun(workload string) error {
	pods, err := p.podsOf(workload)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
		}
	}
	if len(pods) == 0 {
		return fmt.Errorf("there is none")
	}
	return nil
}

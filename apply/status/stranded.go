package status

import (
	"fmt"
	"io"
	"strings"

	"github.com/nodepools/nodepools/api/command"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/review"
)

// PodsStranded are pods without a node that never get one, as they were created before the
// RuntimeClass of the pool changed.
type PodsStranded struct {
	Count int `json:"count"`
	// First is the first of them, as namespace/name, and Message says what is wrong.
	First   string `json:"first"`
	Message string `json:"message"`
	// Remedy is the command after which the owner of the first pod creates the pod anew.
	Remedy string `json:"remedy"`
}

// strandedOf returns the stranded pods by their RuntimeClass. What a pod has copied from an
// earlier RuntimeClass is known where the present one says something else: a label that a pool
// no longer has may as well be selected by the pod itself.
func strandedOf(cluster Cluster) map[string][]plan.WaitingPod {
	classes, nodes := plan.ClassesOf(cluster.Classes), make([]*plan.NodeState, len(cluster.Nodes))
	for i, node := range cluster.Nodes {
		nodes[i] = node.NodeState
	}
	byClass := map[string][]plan.WaitingPod{}
	for _, pod := range plan.Stranded(cluster.Waiting, classes, classes, nodes) {
		byClass[pod.RuntimeClass] = append(byClass[pod.RuntimeClass], pod)
	}
	return byClass
}

// strand reports pods of the pool that are stranded.
func (p *Pool) strand(pods []plan.WaitingPod) {
	if len(pods) == 0 {
		return
	}
	first := pods[0]
	p.PodsStranded = &PodsStranded{
		Count: len(pods), First: first.Namespace + "/" + first.Name, Message: plan.DescribeStranded(pods), Remedy: command.DeletePods(first.Namespace, first.Name),
	}
	p.Steps = append(p.Steps, Step{"have pod " + review.Word(p.PodsStranded.First) + " created anew", p.PodsStranded.Remedy})
}

// text says what is wrong; empty where nothing is.
func (s *PodsStranded) text() string {
	if s == nil {
		return ""
	}
	return s.Message
}

// stranded writes a line for each pool with stranded pods, and a command.
func (r *Report) stranded(w io.Writer) {
	for _, pool := range r.Pools {
		if pods := pool.PodsStranded; pods != nil {
			fmt.Fprintln(w)
			wrap.Hang(w, "", "  ", strings.Fields(fmt.Sprintf("Pool %s: %s. To have the pod created anew:", review.Word(pool.Name), pods.Message)))
			commandLine(w, pods.Remedy)
		}
	}
}

package impact_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// deleteForReal deletes one of the pods of each workload that could not come
// back, and looks where its controller's next one ends up. What is made by hand,
// and what a Job counts, is left to the probes.
func (p *play) deleteForReal(stays outcome, homeless map[string]bool) {
	p.t.Helper()
	places := map[place]bool{}
	for _, f := range stays {
		places[place{workload: f.of, node: f.node}] = true
	}
	predicted, done := p.prediction(), map[string]bool{}
	for _, f := range stays {
		kind, name, _ := strings.Cut(f.of, "/")
		// One that only stays for a while is left to the end of its time.
		if done[f.of] || !slices.Contains(predicted, f) || kind != "Deployment" && kind != "StatefulSet" && kind != "DaemonSet" {
			continue
		}
		done[f.of] = true
		pods, err := p.podsOf(name)
		p.do(err)
		known := map[types.UID]bool{}
		for i := range pods {
			known[pods[i].UID] = true
			if pods[i].Name == f.pod {
				p.do(p.Delete(p.t.Context(), &pods[i]))
			}
		}
		if kind == "DaemonSet" {
			p.daemonStaysAway(f, known)
		} else {
			p.comesElsewhere(f, known, places, homeless[f.of])
		}
	}
}

// comesElsewhere checks that the next pod is not where none of its workload can be
// scheduled, and waits where it is predicted to.
func (p *play) comesElsewhere(f fate, known map[types.UID]bool, places map[place]bool, homeless bool) {
	p.t.Helper()
	_, name, _ := strings.Cut(f.of, "/")
	p.eventually("another pod in the place of "+f.pod, func() error {
		pods, err := p.podsOf(name)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			node := p.short(pod.Spec.NodeName)
			switch {
			case known[pod.UID]:
			case node == "" && !unschedulable(&pod):
				return fmt.Errorf("pod %s waits", pod.Name)
			case places[place{workload: f.of, node: node}], (node == "") != homeless:
				p.t.Errorf("pod %s was deleted, and the next one is on node %q; it finds no node: %t", f.pod, node, homeless)
				return nil
			default:
				return nil
			}
		}
		return errors.New("there is none")
	})
}

// daemonStaysAway checks that a DaemonSet has no other pod that runs on the node.
func (p *play) daemonStaysAway(f fate, known map[types.UID]bool) {
	p.t.Helper()
	_, name, _ := strings.Cut(f.of, "/")
	p.eventually("pod "+f.pod+" is gone", func() error {
		pods, err := p.podsOf(name)
		for _, pod := range pods {
			if err == nil && pod.Name == f.pod {
				err = errors.New("it is still there")
			}
		}
		return err
	})
	p.daemonSetsLookAgain()
	p.eventually("the next pods have their nodes, or find none", func() error {
		pods, err := p.podsOf(name)
		for _, pod := range pods {
			switch {
			case known[pod.UID]:
			case pod.Spec.NodeName == p.full(f.node):
				p.t.Errorf("pod %s was deleted, and %s is on its node", f.pod, pod.Name)
				return nil
			case pod.Spec.NodeName == "" && !unschedulable(&pod):
				err = fmt.Errorf("pod %s waits", pod.Name)
			}
		}
		return err
	})
}

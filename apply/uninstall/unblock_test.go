package uninstall

import (
	"slices"
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// Pools that are being deleted still wait for their own rollout, so a step takes it off:
// after they are deleted, as what waits would be carried out before, and before they are
// waited for.
func TestPlanTakesRolloutsOff(t *testing.T) {
	windows, paused, free := pool("windows"), pool("paused", v1.ReconcileAnnotation), pool("free")
	windows.Spec.Rollout = &v1.Rollout{Windows: []v1.Window{{Schedule: "@yearly"}}}
	paused.Spec.Rollout = &v1.Rollout{Paused: true}
	var commands []string
	for _, step := range Of("s", plan.Cluster{Pools: []*v1.NodePool{windows, paused, free}}, nil, here).Steps {
		commands = append(commands, step.Command)
	}
	at := -1
	for _, want := range []string{
		"kubectl delete nodepools.nodes.lailin.xyz --all --wait=false",
		"kubectl annotate nodepools.nodes.lailin.xyz paused nodes.lailin.xyz/reconcile-",
		`kubectl patch nodepools.nodes.lailin.xyz paused windows --type=merge --patch '{"spec":{"rollout":null}}' || true`,
		"kubectl wait --for=delete nodepools.nodes.lailin.xyz,nodepoolsources.nodes.lailin.xyz --all --timeout=10m",
	} {
		next := slices.Index(commands, want)
		if next <= at {
			t.Fatalf("command %q is missing, or comes too early: %q", want, commands)
		}
		at = next
	}
}

// Without a rollout there is none to take off.
func TestPlanWithoutRollouts(t *testing.T) {
	for _, step := range Of("s", world, nil, here).Steps {
		if strings.Contains(step.Command, "kubectl patch") {
			t.Errorf("no pool has a rollout, and there is the step %+v", step)
		}
	}
}

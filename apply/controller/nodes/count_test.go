package nodes

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nodepools/nodepools/apply/metrics"
	"github.com/nodepools/nodepools/apply/plan"
)

func plainBackoff() plan.RepairBackoff { return plan.DefaultRepairBackoff() }

func TestResultOf(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	for reason, c := range map[string]struct {
		err  error
		want metrics.WriteResult
	}{
		"it was written":                      {nil, metrics.Success},
		"somebody else was faster":            {apierrors.NewConflict(nodes, "n", errors.New("moved on")), metrics.Conflict},
		"the node is deleted":                 {apierrors.NewNotFound(nodes, "n"), metrics.Gone},
		"the API server has too much to do":   {apierrors.NewTooManyRequests("busy", 1), metrics.Throttled},
		"the API server names a time to wait": {apierrors.NewServerTimeout(nodes, "patch", 2), metrics.Throttled},
		"a webhook refuses it":                {apierrors.NewForbidden(nodes, "n", errors.New("no")), metrics.Refused},
		"the API server fails":                {apierrors.NewInternalError(errors.New("etcd")), metrics.Failed},
		"the connection is lost":              {errors.New("EOF"), metrics.Failed},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("write node %q: %w", "n", err)
		}
		if got := resultOf(err); got != c.want {
			t.Errorf("%s: the result is %s, want %s", reason, got, c.want)
		}
	}
}

func TestActionOf(t *testing.T) {
	changes := func(drift ...bool) *plan.NodePlan {
		p := &plan.NodePlan{}
		for _, d := range drift {
			p.Changes = append(p.Changes, plan.KeyChange{Field: plan.Label, Key: "k", Pool: "p", Drift: d})
		}
		return p
	}
	for reason, c := range map[string]struct {
		plan *plan.NodePlan
		want metrics.WriteAction
	}{
		"all of it puts something back":      {changes(true, true), metrics.RepairNode},
		"a part of it puts something back":   {changes(true, false), metrics.UpdateNode},
		"it is the record that is rewritten": {changes(), metrics.UpdateNode},
	} {
		if got := actionOf(c.plan); got != c.want {
			t.Errorf("%s: the action is %s, want %s", reason, got, c.want)
		}
	}
}

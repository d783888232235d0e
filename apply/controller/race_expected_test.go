package controller

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// ttlAnnotation is put on every node by a controller of Kubernetes.
const ttlAnnotation = "node.alpha.kubernetes.io/ttl"

// hold waits until every node is what others and these pools make of it, and
// there is no other node.
func (r *race) hold(what string, definitions []*v1.NodePool) {
	r.t.Helper()
	expansion := render.Expand(definitions)
	r.eventually(what, func() error {
		var nodes corev1.NodeList
		if err := r.List(r.t.Context(), &nodes); err != nil {
			return err
		}
		made, there := map[string]types.UID{}, map[string]types.UID{}
		for name, born := range r.machines.born {
			made[name] = born.uid
		}
		var problems []error
		for i := range nodes.Items {
			node := &nodes.Items[i]
			there[node.Name] = node.UID
			want, err := r.expected(node.Name, expansion)
			if err != nil {
				r.t.Fatal(err)
			}
			if diff := cmp.Diff(want, r.standing(node)); diff != "" {
				problems = append(problems, fmt.Errorf("node %s, record %s (-want +there):\n%s", node.Name, node.Annotations[v1.AppliedAnnotation], diff))
			}
			if _, recorded := node.Annotations[v1.AppliedAnnotation]; recorded && len(definitions) == 0 {
				problems = append(problems, fmt.Errorf("node %s still has a record", node.Name))
			}
		}
		if diff := cmp.Diff(made, there); diff != "" {
			problems = append(problems, fmt.Errorf("nodes (-made +there):\n%s", diff))
		}
		if len(problems) > 3 {
			problems = append(problems[:3], fmt.Errorf("and %d more", len(problems)-3))
		}
		return errors.Join(problems...)
	})
}

// foreign is all that others have left on a node, the machines' part included.
func (r *race) foreign(name string) belongings {
	all := r.machines.born[name].belongings.clone()
	all.conditions = map[string]string{}
	for _, writer := range r.writers {
		mine, found := writer.left[name]
		if !found || mine.uid != r.machines.born[name].uid {
			continue
		}
		maps.Copy(all.labels, mine.labels)
		maps.Copy(all.annotations, mine.annotations)
		maps.Copy(all.conditions, mine.conditions)
		all.taints = append(all.taints, mine.taints...)
		all.unschedulable = all.unschedulable || mine.unschedulable
	}
	return all
}

// expected is all that shall stand on a node: what others have left, and over it
// what pools want of a node on which nothing else is. No record has a say in it.
func (r *race) expected(name string, pools *render.Expansion) (map[string]string, error) {
	foreign := r.foreign(name)
	all := foreign.flat()
	if all["spec.unschedulable"] == "true" {
		all["taint "+corev1.TaintNodeUnschedulable+":NoSchedule"] = ""
		all["timeAdded of taint "+corev1.TaintNodeUnschedulable+":NoSchedule"] = "set"
	}
	desired := pools.Node(name, foreign.labels)
	wants := map[string]render.Want{}
	for key, want := range desired.Labels {
		wants["label "+key] = want
	}
	for key, want := range desired.Annotations {
		wants["annotation "+key] = want
	}
	for id, want := range desired.Taints {
		wants["taint "+id.String()] = want
	}
	for what, want := range wants {
		if _, stands := all[what]; len(want.Younger) > 0 || stands && want.Policy != v1.TakeOver {
			return nil, fmt.Errorf("node %s: %s is not for pool %s to decide: %+v", name, what, want.Pool, want)
		}
		all[what] = want.Value
	}
	return all, nil
}

// standing is all that stands on a node, left aside the record and what
// Kubernetes tells by itself.
func (r *race) standing(node *corev1.Node) map[string]string {
	all := belongings{
		labels: maps.Clone(node.Labels), annotations: maps.Clone(node.Annotations),
		taints: node.Spec.Taints, unschedulable: node.Spec.Unschedulable,
	}
	delete(all.annotations, v1.AppliedAnnotation)
	delete(all.annotations, ttlAnnotation)
	flat := all.flat()
	for _, condition := range node.Status.Conditions {
		if strings.Contains(string(condition.Type), "/") {
			flat["condition "+string(condition.Type)] = condition.Reason
		}
	}
	if cordoned := "timeAdded of taint " + corev1.TaintNodeUnschedulable + ":NoSchedule"; flat[cordoned] != "" {
		flat[cordoned] = "set"
	}
	return flat
}

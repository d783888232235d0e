package pools

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/render"
)

// describeSelfJoin reports whether nodes can join a pool by themselves: the status,
// reason and message of the condition SelfJoinable. The message also names the
// labels that are no protection as a nodeSelector, whoever the members are. It is the
// same whether or not somebody has acknowledged it; then the reason says so.
func describeSelfJoin(pool *v1.NodePool) (joinable bool, reason, message string) {
	within := ""
	if pool.Spec.Parent != "" {
		within = fmt.Sprintf(", within its parent %q", pool.Spec.Parent)
	}
	possible, entries := render.SelfJoins(pool), render.Acknowledged(pool)
	acknowledged := slices.DeleteFunc(slices.Clone(possible), func(entry string) bool { return !entries[entry] })
	choose := fmt.Sprintf("where the pool is there for security, choose by labels under %s/, by %s or by whole names",
		corev1.LabelNamespaceNodeRestriction, v1.RoleLabel(pool.Name))
	keys, patterns := render.SelfJoinKeys(pool), render.SelfJoinPatterns(pool)
	switch {
	case len(keys) > 0:
		joinable, reason = true, v1.KubeletLabelsReason
		message = fmt.Sprintf("a node can join or leave the pool by itself%s, as a kubelet may set on its own node: %s; %s", within, nameSome(keys), choose)
	case len(patterns) > 0:
		joinable, reason = true, v1.NamePatternsReason
		message = fmt.Sprintf("whoever may bootstrap nodes of any name, with a bootstrap token for example, can add one to the pool%s, as these are patterns: %s; %s", within, nameSome(patterns), choose)
	default:
		reason, message = v1.ProtectedReason, "members are chosen by what no kubelet can change on its own node"
	}
	if open := render.OpenLabels(pool); len(open) > 0 {
		message += fmt.Sprintf("; a nodeSelector by these labels alone does not keep a pod in the pool, as a kubelet may set them on its own node: %s; use the RuntimeClass %s, which also selects %s",
			nameSome(open), v1.RuntimeClassName(pool.Name), v1.RoleLabel(pool.Name))
	}
	if len(acknowledged) > 0 {
		message += fmt.Sprintf("; acknowledged by the annotation %s: %s", v1.AcknowledgeSelfJoinAnnotation, nameSome(acknowledged))
		if joinable && len(acknowledged) == len(possible) {
			reason = v1.AcknowledgedReason
		}
	}
	return joinable, reason, message
}

// nameSome names the first of many.
func nameSome(names []string) string {
	return listing{names[:min(len(names), maxNamed)], max(0, len(names)-maxNamed)}.String()
}

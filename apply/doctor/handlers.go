package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// handlers is of pools whose handler is not configured on some of their nodes: there the
// pods that name the RuntimeClass do not start. It goes by what kubelets report in
// status.runtimeHandlers; older kubelets and container runtimes report nothing.
func handlers(s *State) []Finding {
	if len(s.Handlers) == 0 {
		return nil
	}
	expansion, lacking := plan.Expand(s.Pools, plan.NumbersOf(s.Sources)), map[string][]string{}
	for _, node := range s.Nodes {
		configured, reported := s.Handlers[node.Name]
		if !reported {
			continue
		}
		for _, pool := range plan.CurrentMembers(node, expansion) {
			if class := expansion.RuntimeClass(pool); class != nil && !slices.Contains(configured, class.Handler) {
				lacking[pool] = append(lacking[pool], node.Name)
			}
		}
	}
	var found []Finding
	for _, pool := range s.Pools {
		nodes := lacking[pool.Name]
		if len(nodes) == 0 {
			continue
		}
		slices.Sort(nodes)
		handler, others := expansion.RuntimeClass(pool.Name).Handler, ""
		if more := len(nodes) - 1; more > 0 {
			others = fmt.Sprintf(" and %d more", more)
		}
		found = append(found, Finding{
			Severity: Problem, Object: command.Pool(pool.Name),
			Message: fmt.Sprintf("its handler %q is not configured on node %s%s: pods that name RuntimeClass %s do not start there", handler, nodes[0], others, v1.RuntimeClassName(pool.Name)),
			Action:  fmt.Sprintf("configure the handler in the container runtime of the node, or set spec.handler to one that the node has: %s", strings.Join(s.Handlers[nodes[0]], ", ")),
		})
	}
	return found
}

package doctor

import (
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
)

// A pool whose handler is not configured on its nodes is a problem, where kubelets report
// handlers.
func TestHandlers(t *testing.T) {
	for name, c := range map[string]struct {
		handler  string
		handlers map[string][]string
		want     string
	}{
		"configured":               {"kata", map[string][]string{"n1": {"kata", "runc"}, "n2": {"kata"}}, ""},
		"default":                  {"", map[string][]string{"n1": {"runc"}}, ""},
		"not reported":             {"kata", nil, ""},
		"reported by another node": {"kata", map[string][]string{"elsewhere": {"runc"}}, ""},
		"lacking":                  {"kata", map[string][]string{"n1": {"runc", "runsc"}}, `its handler "kata" is not configured on node n1: pods that name RuntimeClass node-pool-gpu do not start there`},
		"lacking on several":       {"kata", map[string][]string{"n1": {"runc"}, "n2": {"runc"}}, `its handler "kata" is not configured on node n1 and 1 more: `},
		"only the default":         {"", map[string][]string{"n1": {"crun"}}, `its handler "runc" is not configured on node n1: `},
		"of the parent":            {"parent", map[string][]string{"n1": {"runc"}}, `its handler "kata" is not configured on node n1: `},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(t)
			s.Pools[0].Spec.NodeNames, s.Pools[0].Spec.Handler = []string{"n*"}, c.handler
			if c.handler == "parent" {
				outer := s.Pools[0].DeepCopy()
				outer.Name, outer.Spec.Handler = "outer", "kata"
				s.Pools[0].Spec.Handler, s.Pools[0].Spec.Parent = "", "outer"
				s.Pools = append(s.Pools, outer)
			}
			s.Nodes = append(s.Nodes, &plan.NodeState{Name: "n2"}, &plan.NodeState{Name: "elsewhere"})
			s.Handlers = c.handlers
			var found []string
			for _, f := range Examine(s).Findings {
				if f.Check == Pools && f.Severity == Problem && f.Object == "nodepools."+v1.Domain+"/gpu" {
					found = append(found, f.Message)
					if !strings.HasSuffix(f.Action, strings.Join(c.handlers["n1"], ", ")) {
						t.Errorf("the action is %q, which does not name the handlers of the node", f.Action)
					}
				}
			}
			if got := strings.Join(found, "\n"); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

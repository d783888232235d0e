package inventory

import (
	"strings"

	"github.com/nodepools/nodepools/apply/plan"
)

// hosts maps the names of nodes to whole names: the whole name itself, and the
// part before its first dot where that is unique. A short name of several nodes
// maps to nothing.
type hosts map[string]string

func newHosts(nodes []*plan.NodeState) hosts {
	h := hosts{}
	for _, node := range nodes {
		h.add(node.Name)
	}
	return h
}

func (h hosts) add(name string) {
	h[name] = name
	if short, _, isLong := strings.Cut(name, "."); isLong {
		if other, taken := h[short]; !taken {
			h[short] = name
		} else if other != short {
			h[short] = ""
		}
	}
}

func (h hosts) has(name string) bool { return h[name] == name }

// short returns the shortest unique name of a node.
func (h hosts) short(name string) string {
	if short, _, _ := strings.Cut(name, "."); h[short] == name {
		return short
	}
	return name
}

// full returns the whole name of a node.
func (h hosts) full(name string) (string, bool) {
	full := h[name]
	return full, full != ""
}

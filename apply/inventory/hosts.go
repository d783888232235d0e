package inventory

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// hosts are the nodes by the names that tell which one is meant: the whole name,
// and what stands before its first dot where no other node is called so. It has
// the whole name of each; empty for a short one of several.
type hosts map[string]string

func newHosts(nodes []*corev1.Node) hosts {
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

// short is the shortest name that says which node is meant.
func (h hosts) short(name string) string {
	if short, _, _ := strings.Cut(name, "."); h[short] == name {
		return short
	}
	return name
}

// full is the whole name of a node.
func (h hosts) full(name string) (string, bool) {
	full := h[name]
	return full, full != ""
}

// Package uninstall works out what would stay on nodes if the controller were uninstalled
// now, and what has to be done before so that nothing does. Start with [Of].
package uninstall

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nodepools/nodepools/api/command"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// Plan is what would stay, and the steps by which nothing does.
type Plan struct {
	Cluster string `json:"cluster"`
	// Clean reports whether nothing would stay.
	Clean bool `json:"clean"`
	// Nodes is the number of nodes on which something would stay.
	Nodes int `json:"nodes"`
	// Pools whose keys are on nodes, by name.
	Pools []Pool `json:"pools"`
	// Unreadable are the nodes whose record cannot be read: what is the pools' on them is
	// not known.
	Unreadable []string `json:"unreadable,omitempty"`
	// PausedNodes are those with a record from which nothing is removed before they are
	// resumed.
	PausedNodes []string `json:"pausedNodes,omitempty"`
	// Steps are what is to be done, in this order.
	Steps []Step `json:"steps"`
}

// Pool is what one pool has put on nodes.
type Pool struct {
	Name string `json:"name"`
	// Exists is false for one that is gone, and Paused for one that releases nothing.
	Exists bool `json:"exists"`
	Paused bool `json:"paused,omitempty"`
	// Nodes that carry any of these.
	Nodes       []string `json:"nodes"`
	Labels      []string `json:"labels,omitempty"`
	Annotations []string `json:"annotations,omitempty"`
	Taints      []string `json:"taints,omitempty"`
	// TakenOver are the keys in whose place somebody else's value was, which would not be
	// restored.
	TakenOver []string `json:"takenOver,omitempty"`
	// Adopted are the keys that were somebody else's before and are the pool's for good:
	// with the pool they go, and no value comes back.
	Adopted []string `json:"adopted,omitempty"`
}

// Step is something to do.
type Step struct {
	Why string `json:"why"`
	// Command does it; empty where it takes a decision.
	Command string `json:"command,omitempty"`
}

// Of works the plan out.
func Of(server string, cluster plan.Cluster, sources []*v1.NodePoolSource, in Installation) *Plan {
	p := &Plan{Cluster: server, Pools: []Pool{}, Steps: []Step{}}
	carried := carriers{}
	for _, node := range cluster.Nodes {
		text := node.Annotations[v1.AppliedAnnotation]
		record, err := plan.ParseRecord(text)
		switch {
		case err != nil:
			p.Unreadable = append(p.Unreadable, node.Name)
		case record.Empty():
			continue
		default:
			carried.add(node.Name, record)
		}
		p.Nodes++
		if v1.IsDisabled(node, v1.ReconcileAnnotation) {
			p.PausedNodes = append(p.PausedNodes, node.Name)
		}
	}
	known := map[string]*v1.NodePool{}
	for _, pool := range cluster.Pools {
		known[pool.Name] = pool
	}
	for _, name := range slices.Sorted(maps.Keys(carried)) {
		pool := carried[name].pool(name)
		if is := known[name]; is != nil {
			pool.Exists, pool.Paused = true, v1.IsDisabled(is, v1.ReconcileAnnotation)
		}
		p.Pools = append(p.Pools, pool)
	}
	slices.Sort(p.Unreadable)
	slices.Sort(p.PausedNodes)
	p.Clean = p.Nodes == 0
	p.steps(cluster.Pools, sources, in)
	return p
}

// carriers are what pools have put on nodes, by pool.
type carriers map[string]*keys

// keys of a pool, and the nodes that carry any of them.
type keys struct{ nodes, labels, annotations, taints, before, adopted map[string]bool }

func (c carriers) of(pool string) *keys {
	if c[pool] == nil {
		c[pool] = &keys{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	}
	return c[pool]
}

func (c carriers) add(node string, record plan.Record) {
	entries(c, node, "label ", record.Labels, func(k *keys) map[string]bool { return k.labels }, func(key string) string { return key })
	entries(c, node, "annotation ", record.Annotations, func(k *keys) map[string]bool { return k.annotations }, func(key string) string { return key })
	entries(c, node, "taint ", record.Taints, func(k *keys) map[string]bool { return k.taints }, render.TaintID.String)
}

func entries[K comparable](c carriers, node, field string, found map[K]plan.Entry, in func(*keys) map[string]bool, name func(K) string) {
	for key, entry := range found {
		of := c.of(entry.Pool)
		of.nodes[node] = true
		in(of)[name(key)] = true
		switch {
		case entry.Before == nil:
		case entry.Adopted:
			of.adopted[field+name(key)] = true
		default:
			of.before[field+name(key)] = true
		}
	}
}

func (k *keys) pool(name string) Pool {
	sorted := func(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
	return Pool{Name: name, Nodes: sorted(k.nodes), Labels: sorted(k.labels), Annotations: sorted(k.annotations), Taints: sorted(k.taints), TakenOver: sorted(k.before), Adopted: sorted(k.adopted)}
}

// steps are those of the documentation, as far as there is something to do for each.
func (p *Plan) steps(pools []*v1.NodePool, sources []*v1.NodePoolSource, in Installation) {
	step := func(why, command string) { p.Steps = append(p.Steps, Step{why, command}) }
	if len(p.Unreadable) > 0 {
		step(fmt.Sprintf("repair the records of %s, or accept that what is on them stays", some(p.Unreadable)), "")
	}
	// Somebody has deleted the definitions, and with them all pools.
	if !in.Definitions && p.Nodes > 0 {
		step("install the definitions again, as no pool can be created without them, and see that the controller runs, with the options that it had: it is what cleans nodes",
			"nodepools install --crds-only | kubectl apply --server-side -f -")
		in.Definitions = true
	}
	var adopted []string
	for _, pool := range p.Pools {
		if len(pool.Adopted) > 0 {
			adopted = append(adopted, pool.Name)
		}
	}
	if len(adopted) > 0 {
		step("decide whether nodes may lose what "+some(adopted)+" adopted: it was there before the pools, and is removed with them; what is to stay has to be set again afterwards", "")
	}
	for _, pool := range p.Pools {
		if !pool.Exists {
			step(fmt.Sprintf("create the pool %s again: without it nothing may be released of it", pool.Name),
				fmt.Sprintf(`echo '{"apiVersion":"%s","kind":"%s","metadata":{"name":"%s"},"spec":{}}' | kubectl create -f -`, v1.GroupVersion, v1.NodePoolKind, pool.Name))
		}
	}
	if len(pools) > 0 || len(p.Pools) > 0 {
		step("approve that all nodes are released", command.ApproveAllDeletions())
	}
	if len(sources) > 0 {
		step("delete the sources, so that none brings pools back", command.DeleteAllSources())
	}
	if len(pools) > 0 || len(p.Pools) > 0 {
		step("delete the pools while the controller runs, which releases the nodes", command.DeleteAllPools())
		p.unblock(pools)
		step("wait until they are gone; if some are not in time, 'nodepools status' says what each waits for. Do not go on before none is left: run this again", command.AwaitAllDeleted())
		step("see that nothing stays", "nodepools uninstall --plan")
	}
	if in.Definitions || in.Helm != nil {
		p.Steps = append(p.Steps, in.remove()...)
	}
}

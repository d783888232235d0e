package plan

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// outcomes are what the guard says of changes of pools p (zones a and b), q (a) and r (b), each
// by a revision and by hand.
func TestGuard(t *testing.T) {
	before := func() []*v1.NodePool {
		return []*v1.NodePool{ofZone("p", "a", "b"), ofZone("q", "a"), ofZone("r", "b")}
	}
	with := func(changed ...*v1.NodePool) []*v1.NodePool {
		pools := before()
		for _, pool := range changed {
			if at := slices.IndexFunc(pools, func(p *v1.NodePool) bool { return p.Name == pool.Name }); at >= 0 {
				pools[at] = pool
			} else {
				pools = append(pools, pool)
			}
		}
		return pools
	}
	without := func(names ...string) []*v1.NodePool {
		return slices.DeleteFunc(before(), func(pool *v1.NodePool) bool { return slices.Contains(names, pool.Name) })
	}
	evicting := func(pool *v1.NodePool) *v1.NodePool { evictingOn(pool); return pool }
	renamed := func(pool *v1.NodePool, keys string) *v1.NodePool {
		pool.Spec.Labels = map[string]v1.LabelValue{"example.com/" + keys: "yes"}
		return pool
	}
	for name, c := range map[string]struct {
		zones [2]int
		after []*v1.NodePool
		// git and hand are the pools that are held; "-" is the revision as a whole, for its
		// deletions or evictions.
		git, hand string
	}{
		"nothing":                        {[2]int{10, 10}, before(), "", ""},
		"selector typo":                  {[2]int{10, 10}, with(ofZone("p", "A")), "p", "p"},
		"selector typo, of 300":          {[2]int{150, 150}, with(ofZone("p", "A")), "p", "p"},
		"half leaves":                    {[2]int{10, 10}, with(ofZone("p", "a")), "", ""},
		"more than half leaves":          {[2]int{9, 11}, with(ofZone("p", "a")), "p", "p"},
		"the last of 1":                  {[2]int{1, 0}, with(ofZone("p", "x")), "p", "p"},
		"the last of 2":                  {[2]int{2, 0}, with(ofZone("q", "x")), "q", "q"},
		"the last of 8":                  {[2]int{8, 0}, with(ofZone("q", "x")), "q", "q"},
		"1 of 2":                         {[2]int{1, 1}, with(ofZone("p", "a")), "", ""},
		"1 of 3":                         {[2]int{2, 1}, with(ofZone("p", "a")), "", ""},
		"2 of 3":                         {[2]int{1, 2}, with(ofZone("p", "a")), "p", "p"},
		"4 of 8":                         {[2]int{4, 4}, with(ofZone("p", "a")), "", ""},
		"5 of 8":                         {[2]int{3, 5}, with(ofZone("p", "a")), "p", "p"},
		"5 of 9":                         {[2]int{4, 5}, with(ofZone("p", "a")), "p", "p"},
		"5 of 10":                        {[2]int{5, 5}, with(ofZone("p", "a")), "", ""},
		"another node for the only one":  {[2]int{1, 1}, with(ofZone("q", "b")), "", ""},
		"a rename":                       {[2]int{10, 10}, append(without("p"), renamed(ofZone("new", "a", "b"), "p")), "", ""},
		"a rename with another label":    {[2]int{10, 10}, append(without("p"), ofZone("new", "a", "b")), "-", ""},
		"parent moved":                   {[2]int{10, 10}, with(within(ofZone("q", "a"), "r")), "q", "q"},
		"parent narrowed":                {[2]int{10, 10}, with(within(ofZone("q", "a"), "p"), ofZone("p", "b")), "q", "q"},
		"evicts from all":                {[2]int{10, 10}, with(evicting(ofZone("p", "a", "b"))), "-", "p"},
		"evicts from half":               {[2]int{10, 10}, with(evicting(ofZone("q", "a"))), "", ""},
		"a new one evicts from all":      {[2]int{10, 10}, with(evicting(ofZone("new", "a", "b"))), "-", "new"},
		"evicts from 1 of 2":             {[2]int{1, 1}, with(evicting(ofZone("q", "a"))), "", ""},
		"evicts from 2 of 2":             {[2]int{1, 1}, with(evicting(ofZone("p", "a", "b"))), "-", "p"},
		"one pool goes":                  {[2]int{10, 10}, without("q"), "", ""},
		"one pool goes, with most nodes": {[2]int{10, 10}, without("p"), "-", ""},
		"two pools go":                   {[2]int{10, 10}, without("p", "q"), "-", "p q"},
		"two small pools go":             {[2]int{2, 18}, append(without("q"), ofZone("s", "a")), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := inZones(map[string]int{"a": c.zones[0], "b": c.zones[1]})
			first := revisionOfPools("main@sha1:1", ReleasePolicy{Approval: "main@sha1:1"}, before()...)
			cluster := appliedRevision(t, first, Cluster{Nodes: nodes})
			d, err := Diff(revisionOfPools("main@sha1:2", ReleasePolicy{}, c.after...), cluster)
			if err != nil {
				t.Fatal(err)
			}
			if d.Pools.Held == nil != (c.git == "") || d.Pools.Held != nil && len(d.Nodes)+len(d.Pools.Changes) > 0 {
				t.Errorf("by a revision: held for %v, want %q; %d nodes change", d.Pools.Held, c.git, len(d.Nodes))
			} else if c.git != "" && c.git != "-" && !slices.Equal(losers(d), []string{c.git}) {
				t.Errorf("by a revision: held for %v, want %q", losers(d), c.git)
			}
			cluster = carriedOut(t, Cluster{Pools: approvedNow(before()), Nodes: nodes})
			carried := carriersOf(cluster.Nodes)
			cluster.Pools = editedTo(cluster.Pools, c.after)
			held := heldNames(cluster)
			if got := strings.Join(held, " "); got != c.hand {
				t.Errorf("by hand: held are %q, want %q", got, c.hand)
			}
			after := carriersOf(carriedOut(t, cluster).Nodes)
			for _, pool := range held {
				if after[pool] != carried[pool] {
					t.Errorf("by hand: %s is held, and is on %d nodes, after %d", pool, after[pool], carried[pool])
				}
			}
		})
	}
}

// approvedNow are pools that somebody has approved as they are.
func approvedNow(pools []*v1.NodePool) []*v1.NodePool {
	for _, pool := range pools {
		approvedBy(strconv.FormatInt(pool.Generation, 10))(pool)
	}
	return pools
}

// editedTo are pools of which somebody has made others by hand.
func editedTo(live, want []*v1.NodePool) []*v1.NodePool {
	named := byName(want)
	for _, pool := range live {
		is := named[pool.Name]
		switch {
		case is == nil:
			live = edited(live, pool.Name, deleted)
		case hashOf(&is.Spec) != hashOf(&pool.Spec):
			live = edited(live, pool.Name, func(pool *v1.NodePool) { pool.Spec = is.Spec })
		}
		delete(named, pool.Name)
	}
	for _, pool := range want {
		if named[pool.Name] != nil {
			live = append(live, pool)
		}
	}
	return live
}

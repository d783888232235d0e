package render

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// TestOverride: of pools in random nests, of random strength, some of them paused, which want
// a key of one node, the right one decides its value, whatever the others are.
func TestOverride(t *testing.T) {
	nested := 0
	for seed := range uint64(2000) {
		_, claimants := randomClaimants(rand.New(rand.NewPCG(seed, 1)))
		d := decide(claimants)
		if d.by == nil {
			if slices.ContainsFunc(claimants, active) {
				t.Fatalf("seed %d: nobody decides between %s", seed, worded(claimants))
			}
			continue
		}
		if d.by.paused {
			t.Fatalf("seed %d: %s decides, which is paused, of %s", seed, d.by.name, worded(claimants))
		}
		nested += len(d.unheard(claimants))
		for _, p := range claimants {
			if active(p) && p.rank < d.by.rank && !p.nestedWith(d.by) {
				t.Errorf("seed %d: %s decides, and %s is stronger, of %s", seed, d.by.name, p.name, worded(claimants))
			}
			if active(p) && p.within(d.by) && !slices.ContainsFunc(claimants, func(third *pool) bool { return third.keepsFromOverriding(p, claimants) }) {
				t.Errorf("seed %d: %s does not override %s, and no third pool is stronger, of %s", seed, p.name, d.by.name, worded(claimants))
			}
			if p == d.by {
				continue
			}
			p.paused = !p.paused
			if now := decide(claimants).by; now != d.by && now != p {
				t.Errorf("seed %d: %s is paused (%t), and %s decides in place of %s, of %s", seed, p.name, p.paused, now.name, d.by.name, worded(claimants))
			}
			p.paused = !p.paused
		}
	}
	if nested < 100 {
		t.Errorf("only %d pools were too weak to override the one around them", nested)
	}
}

// TestContenders: whether any pool is stronger than one that holds a key is seen by those that
// are named.
func TestContenders(t *testing.T) {
	lost := 0
	for seed := range uint64(2000) {
		pools, claimants := randomClaimants(rand.New(rand.NewPCG(seed, 2)))
		d := decide(claimants)
		for _, holder := range pools { // which may have ceased to want the key
			if active(holder) || d.by == nil {
				continue
			}
			goesBefore := func(p *pool) bool { // unless a paused pool alone keeps it from having its way
				kept := slices.ContainsFunc(claimants, func(third *pool) bool { return third.paused && third.keepsFromOverriding(p, claimants) })
				return active(p) && p.rank < holder.rank && !p.nestedWith(holder) && !kept
			}
			loses, seen := slices.ContainsFunc(claimants, goesBefore), slices.ContainsFunc(append(d.contenders, d.by), goesBefore)
			if loses != seen {
				t.Errorf("seed %d: %s loses the key (%t), of %s", seed, holder.name, loses, worded(claimants))
			}
			if loses {
				lost++
			}
		}
	}
	if lost < 100 {
		t.Errorf("only %d pools lost the key", lost)
	}
}

func active(p *pool) bool { return !p.paused }

// keepsFromOverriding reports whether a pool is the third one of another and a pool around it.
func (p *pool) keepsFromOverriding(inner *pool, claimants []*pool) bool {
	return p.rank < inner.rank && !p.nestedWith(inner) && slices.ContainsFunc(inner.enclosing, func(around *pool) bool {
		return active(around) && slices.Contains(claimants, around) && around.rank < p.rank && !p.nestedWith(around)
	})
}

// randomClaimants are up to eight pools that are nested in each other, and those of them that
// want a key.
func randomClaimants(r *rand.Rand) (pools, claimants []*pool) {
	var definitions []*v1.NodePool
	for i := range 2 + r.IntN(7) {
		spec := v1.NodePoolSpec{Priority: int32(r.IntN(6))}
		if i > 0 && r.IntN(3) > 0 {
			spec.Parent = fmt.Sprint("p", r.IntN(i))
		}
		definition := onNode(fmt.Sprint("p", i), spec)
		if r.IntN(4) == 0 {
			definition = pausedPool(definition)
		}
		definitions = append(definitions, definition)
	}
	e := Expand(definitions)
	for _, definition := range definitions {
		pools = append(pools, e.pools[definition.Name])
		if r.IntN(4) > 0 {
			claimants = append(claimants, e.pools[definition.Name])
		}
	}
	return pools, claimants
}

func worded(claimants []*pool) (text string) {
	for _, p := range claimants {
		text += fmt.Sprintf("%s (priority %d, paused %t) in %v; ", p.name, p.priority, p.paused, namesOf(p.enclosing))
	}
	return text
}

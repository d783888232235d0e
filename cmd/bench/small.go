package main

import (
	"context"
	"fmt"
)

// smallRows converge the fleet with small nodes, in a world of their own.
func smallRows(ctx context.Context, o options) ([]Figure, error) {
	s := o.size
	s.small = true
	c, err := convergeAlone(ctx, o, s)
	if err != nil {
		return nil, err
	}
	i := c.middle(c.sparing)
	return []Figure{
		{
			Row: "small nodes", Name: fmt.Sprintf("push to the last of %s nodes right", number(float64(s.nodes))), Value: c.took(), Unit: "s",
			Baseline: &Baseline{Name: floorName, Value: c.floor()},
		},
		{
			Row: "small nodes", Name: "the same, against a client that asks as little", Value: c.rounds[i].seconds(), Unit: "s",
			Baseline: &Baseline{Name: "client, same requests", Value: c.sparing.beside(i)}, Target: &Target{AtMost: 1 / smallRate},
		},
	}, nil
}

// smallRate is the least share of the rate of the same requests, sustained over all
// nodes.
const smallRate = 0.95

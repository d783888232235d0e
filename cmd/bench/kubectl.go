package main

import (
	"context"
	"slices"
	"time"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// kubectl is how long people's script takes: for each pool, kubectl label and
// kubectl taint with the pool's selector, one after the other. The nodes must be
// bare, and the program must not run.
func (w *world) kubectl(ctx context.Context) (time.Duration, error) {
	if err := w.settle(ctx); err != nil {
		return 0, err
	}
	right := w.observer.expect("kubectl has written every node", w.fleet.names(), w.fleet.right)
	start := time.Now()
	for _, p := range w.fleet.pools {
		for _, command := range p.script() {
			if _, err := w.cluster.Kubectl(ctx, command...); err != nil {
				return 0, err
			}
		}
	}
	if err := right.wait(ctx, w.waitTimeout()); err != nil {
		return 0, err
	}
	return right.last.Sub(start), nil
}

// script is the commands that do what the pool says. An overlay names its nodes;
// the others have a label to select by.
func (p *pool) script() [][]string {
	members := []string{"--selector", groupLabel + "=" + groupName(p.group)}
	if p.names != nil {
		members = p.names
	}
	label := slices.Concat([]string{"label", "nodes", "--overwrite"}, members, []string{v1.RoleLabel(p.name) + "="})
	for key, value := range p.labels() {
		label = append(label, key+"="+value)
	}
	taint := slices.Concat([]string{"taint", "nodes", "--overwrite"}, members)
	for _, t := range p.taints() {
		taint = append(taint, t.ToString())
	}
	return [][]string{label, taint}
}

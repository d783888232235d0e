package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// run is the way of one cluster through versions: left by an older one, taken up by the
// present one, back, forward again, and without pools in the end.
type run struct {
	*world
	present, old *version
	// before are the nodes as they were before there was a pool.
	before map[string]bare
	// left are the versions of the records that the older program has left, by node, and
	// unreadable the nodes whose records it cannot read when it comes back.
	left       map[string]int
	unreadable []string
	// budgets reports that the older definition has nodes that follow one after the other.
	budgets bool
}

// step is a part of a run, and how a failure of it is called.
type step struct {
	name string
	do   func(context.Context) error
}

// whole is a run from the older program on.
func (r *run) whole(ctx context.Context) error {
	return r.steps(ctx, step{"left by it", r.leave}, step{"upgrade", r.upgrade}, step{"change after the upgrade", r.change},
		step{"downgrade", r.downgrade}, step{"upgrade again", r.upgradeAgain}, step{"deletion of the pools", r.releaseAll})
}

// fromLeft is a run of what an older program has left, without that.
func (r *run) fromLeft(ctx context.Context) error {
	return r.steps(ctx, step{"upgrade", r.upgrade}, step{"drift", r.drift}, step{"change after the upgrade", r.change},
		step{"deletion of the pools", r.releaseAll})
}

func (r *run) steps(ctx context.Context, steps ...step) error {
	for _, s := range steps {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// leave has the older program give nodes to pools, and stops it.
func (r *run) leave(ctx context.Context) error {
	if err := r.install(ctx, r.old); err != nil {
		return err
	}
	if err := r.createNodes(ctx); err != nil {
		return err
	}
	nodes, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	r.before = map[string]bare{}
	for name, node := range nodes {
		r.before[name] = bareOf(node)
	}
	if r.budgets, err = r.knowsBudgets(ctx); err != nil {
		return err
	}
	if err := r.createPools(ctx, r.budgets); err != nil {
		return err
	}
	if err := r.start(ctx, r.old); err != nil {
		return err
	}
	if err := r.settled(ctx); err != nil {
		return err
	}
	if err := r.patch(ctx, "rolling", imagePatch("2", nil)); err != nil {
		return err
	}
	if err := r.follow(ctx, imageLabel, "2", members["rolling"]...); err != nil {
		return err
	}
	if err := r.settled(ctx); err != nil {
		return err
	}
	return r.stop()
}

// settled waits until all pools are ready, and nothing is left to do.
func (r *run) settled(ctx context.Context) error {
	if err := r.handled(ctx); err != nil {
		return err
	}
	if err := r.ready(ctx); err != nil {
		return err
	}
	return r.idle(ctx)
}

// passed waits until all pools have been looked at once more, and nothing is left to do.
func (r *run) passed(ctx context.Context) error {
	if err := r.handled(ctx); err != nil {
		return err
	}
	return r.idle(ctx)
}

// upgrade installs and runs the present program, which writes no node.
func (r *run) upgrade(ctx context.Context) error {
	before, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	if r.left, err = recordVersions(before); err != nil {
		return err
	}
	if want := len(before) - 1; len(r.left) != want { // one is in no pool
		return fmt.Errorf("%d nodes have a record, expected %d", len(r.left), want)
	}
	if err := r.takeOver(ctx, r.present, before); err != nil {
		return err
	}
	return r.understood(ctx)
}

// understood returns an error unless all pools are ready: none has a node whose record
// cannot be read.
func (r *run) understood(ctx context.Context) error {
	names, err := r.unreadableNodes(ctx)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("the records of %s cannot be read: %w", strings.Join(names, ", "), r.said(ctx))
	}
	return r.ready(ctx)
}

// replace has another version in the place of the one that has been stopped.
func (r *run) replace(ctx context.Context, v *version) error {
	if err := r.install(ctx, v); err != nil {
		return err
	}
	return r.start(ctx, v)
}

// takeOver has another version in the place of the one that has been stopped, which writes
// none of the nodes that it finds.
func (r *run) takeOver(ctx context.Context, v *version, before map[string]*corev1.Node) error {
	if err := r.replace(ctx, v); err != nil {
		return err
	}
	if err := r.passed(ctx); err != nil {
		return err
	}
	now, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	return changed(before, now)
}

// drift is a change by hand of a label, which the present program puts back.
func (r *run) drift(ctx context.Context) error {
	const name, label = "accelerated-1", "example.com/class"
	mark, err := r.cluster.AuditMark()
	if err != nil {
		return err
	}
	if _, err := r.cluster.Kubectl(ctx, "label", "--overwrite", "node", name, label+"=by-hand"); err != nil {
		return err
	}
	if err := r.follow(ctx, label, "dedicated", name); err != nil {
		return err
	}
	if err := r.settled(ctx); err != nil {
		return err
	}
	return r.writtenOnce(mark, name)
}

// change changes two pools, one of which has its nodes follow one after the other. Just
// their nodes are written, each once, with a record in the form of today.
func (r *run) change(ctx context.Context) error {
	before, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	want, err := recordVersions(before)
	if err != nil {
		return err
	}
	mark, err := r.cluster.AuditMark()
	if err != nil {
		return err
	}
	if err := r.changePools(ctx, "b", "3", map[string]any{"maxUnavailable": 1}); err != nil {
		return err
	}
	for _, name := range members["tenant"] {
		want[name] = 2
	}
	for _, name := range members["rolling"] {
		want[name] = 3
	}
	if err := r.followAll(ctx, "b", "3"); err != nil {
		return err
	}
	if err := r.settled(ctx); err != nil {
		return err
	}
	now, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	got, err := recordVersions(now)
	if err != nil {
		return err
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("records are of the versions %v, want %v", got, want)
	}
	if err := r.writtenOnce(mark, changing()...); err != nil {
		return err
	}
	return r.intact(now)
}

// downgrade installs and runs the older program. It writes no node by that; a change then
// reaches those whose record it can read, and the others it names in the status of their
// pools and leaves alone.
func (r *run) downgrade(ctx context.Context) error {
	if err := r.stop(); err != nil {
		return err
	}
	before, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	if err := r.unprotect(ctx); err != nil {
		return err
	}
	if err := r.takeOver(ctx, r.old, before); err != nil {
		return err
	}
	if r.unreadable, err = r.unreadableNodes(ctx); err != nil {
		return err
	}
	if err := r.judgeUnreadable(before); err != nil {
		return err
	}
	if err := r.changePools(ctx, "c", "4", nil); err != nil {
		return err
	}
	if err := r.followAll(ctx, "c", "4", r.unreadable...); err != nil {
		return err
	}
	if err := r.passed(ctx); err != nil {
		return err
	}
	now, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	followed := slices.DeleteFunc(changing(), func(name string) bool { return slices.Contains(r.unreadable, name) })
	if err := changed(before, now, followed...); err != nil {
		return err
	}
	if err := r.intact(now); err != nil {
		return err
	}
	return r.stop()
}

// judgeUnreadable holds what an older program cannot read to the versions that it has
// written: it knows those, and none after them. Fields that were added to the newest one
// since then, it need not know.
func (r *run) judgeUnreadable(nodes map[string]*corev1.Node) error {
	newest := slices.Max(slices.Collect(maps.Values(r.left)))
	for _, name := range changing() {
		version, err := recordVersion(nodes[name])
		if err != nil {
			return err
		}
		named := slices.Contains(r.unreadable, name)
		if version > newest && !named {
			return fmt.Errorf("node %s has a record of version %d, of which its pool says nothing", name, version)
		}
		if version < 3 && version <= newest && named {
			return fmt.Errorf("node %s has a record of version %d, which is called unreadable", name, version)
		}
	}
	return nil
}

// upgradeAgain runs the present program again: what was left alone follows. A field that the
// older definition does not have is no longer there.
func (r *run) upgradeAgain(ctx context.Context) error {
	mark, err := r.cluster.AuditMark()
	if err != nil {
		return err
	}
	if err := r.replace(ctx, r.present); err != nil {
		return err
	}
	if err := r.followAll(ctx, "c", "4"); err != nil {
		return err
	}
	if err := r.settled(ctx); err != nil {
		return err
	}
	kept, err := r.hasBudget(ctx, "rolling")
	if err != nil {
		return err
	}
	if kept != r.budgets {
		return fmt.Errorf("pool rolling has a budget: %v, and the older definition has: %v", kept, r.budgets)
	}
	return r.writtenOnce(mark, r.unreadable...)
}

// releaseAll deletes the pools: nodes are what they were before there was one.
func (r *run) releaseAll(ctx context.Context) error {
	if err := r.release(ctx); err != nil {
		return err
	}
	if err := r.idle(ctx); err != nil {
		return err
	}
	now, err := r.nodes(ctx)
	if err != nil {
		return err
	}
	for name, was := range r.before {
		want, got := was.without(adopted[name]).String(), bareOf(orEmpty(now[name])).String()
		if got != want {
			return fmt.Errorf("node %s is\n%s\nand without pools it was\n%s", name, got, want)
		}
	}
	return r.stop()
}

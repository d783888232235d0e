package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const (
	tenantLabel = "example.com/tenant"
	imageLabel  = "example.com/image"
)

// changePools changes what the pools tenant and rolling say.
func (r *run) changePools(ctx context.Context, tenant, image string, rollout map[string]any) error {
	spec := map[string]any{
		"labels": map[string]any{tenantLabel: tenant},
		"taints": []any{taint(tenantLabel, tenant, corev1.TaintEffectNoSchedule), taint(tenantLabel, tenant, corev1.TaintEffectNoExecute)},
	}
	if err := r.patch(ctx, "tenant", map[string]any{"spec": spec}); err != nil {
		return err
	}
	return r.patch(ctx, "rolling", imagePatch(image, rollout))
}

func imagePatch(image string, rollout map[string]any) map[string]any {
	spec := map[string]any{
		"labels": map[string]any{imageLabel: image},
		"taints": []any{taint(imageLabel, image, corev1.TaintEffectNoSchedule)},
	}
	if rollout != nil {
		spec["rollout"] = rollout
	}
	return map[string]any{"spec": spec}
}

func taint(key, value string, effect corev1.TaintEffect) map[string]any {
	return map[string]any{"key": key, "value": value, "effect": string(effect)}
}

// changing are the nodes that changePools concerns.
func changing() []string { return slices.Concat(members["tenant"], members["rolling"]) }

// followAll waits until they have followed, but for some.
func (r *run) followAll(ctx context.Context, tenant, image string, but ...string) error {
	not := func(name string) bool { return slices.Contains(but, name) }
	if err := r.follow(ctx, tenantLabel, tenant, slices.DeleteFunc(slices.Clone(members["tenant"]), not)...); err != nil {
		return err
	}
	return r.follow(ctx, imageLabel, image, slices.DeleteFunc(slices.Clone(members["rolling"]), not)...)
}

// follow waits until nodes have a label, and the NoSchedule taint of the same key where their
// pool has it.
func (r *run) follow(ctx context.Context, key, value string, names ...string) error {
	err := r.eventually(ctx, "nodes have "+key+"="+value, func() error {
		nodes, err := r.nodes(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			node := bareOf(orEmpty(nodes[name]))
			tainted := slices.Contains(changing(), name)
			if node.Labels[key] != value || tainted && !slices.Contains(node.Taints, key+"="+value+":NoSchedule") {
				return fmt.Errorf("node %s is %s", name, node)
			}
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, r.said(ctx))
	}
	return nil
}

// said is what pools that are not ready say of that.
func (w *world) said(ctx context.Context) error {
	pools, err := w.pools(ctx)
	for _, pool := range pools {
		for _, condition := range conditions(pool) {
			if condition["type"] == "Ready" && condition["status"] != "True" {
				err = errors.Join(err, fmt.Errorf("pool %s: %v: %v", pool.GetName(), condition["reason"], condition["message"]))
			}
		}
	}
	return err
}

// intact returns an error where something has changed that no pool says anything about.
func (r *run) intact(nodes map[string]*corev1.Node) error {
	for name, was := range r.before {
		if got, want := bareOf(orEmpty(nodes[name])).foreign().String(), was.foreign().String(); got != want {
			return fmt.Errorf("of others, node %s has\n%s\nand had\n%s", name, got, want)
		}
	}
	if _, found := nodes["free-1"].Annotations[v1.AppliedAnnotation]; found {
		return errors.New("node free-1 has a record, and is in no pool")
	}
	return nil
}

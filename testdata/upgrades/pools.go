package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/nodepools/nodepools/api/v1"
)

//go:embed pools.yaml
var poolsYAML []byte

// members are the nodes of the pools that runs change.
var members = map[string][]string{
	"tenant":  {"tenant-1", "tenant-2"},
	"rolling": {"rolling-1", "rolling-2"},
}

// poolKind is read without a type: it may have fields that this version does not know, or
// lack some.
var poolKind = schema.GroupVersionKind{Group: v1.GroupVersion.Group, Version: v1.GroupVersion.Version, Kind: "NodePool"}

// createPools creates the pools of a run, with the budget of one where that is known.
func (w *world) createPools(ctx context.Context, budgets bool) error {
	var pools []map[string]any
	if err := yaml.Unmarshal(poolsYAML, &pools); err != nil {
		return fmt.Errorf("pools.yaml: %w", err)
	}
	for _, content := range pools {
		pool := &unstructured.Unstructured{Object: content}
		pool.SetGroupVersionKind(poolKind)
		if !budgets {
			unstructured.RemoveNestedField(pool.Object, "spec", "rollout")
		}
		if err := w.Create(ctx, pool); err != nil {
			return err
		}
	}
	return nil
}

// knowsBudgets reports whether the definition has nodes that follow one after the other.
func (w *world) knowsBudgets(ctx context.Context) (bool, error) {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := w.Get(ctx, client.ObjectKey{Name: "nodepools." + poolKind.Group}, definition); err != nil {
		return false, err
	}
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		return false, err
	}
	if len(versions) != 1 {
		return false, fmt.Errorf("the definition has %d versions, expected 1", len(versions))
	}
	first, _ := versions[0].(map[string]any)
	_, found, err := unstructured.NestedMap(first, "schema", "openAPIV3Schema", "properties", "spec", "properties", "rollout", "properties", "maxUnavailable")
	return found, err
}

// hasBudget reports whether nodes of a pool follow one after the other.
func (w *world) hasBudget(ctx context.Context, name string) (bool, error) {
	pool := &unstructured.Unstructured{}
	pool.SetGroupVersionKind(poolKind)
	if err := w.Get(ctx, client.ObjectKey{Name: name}, pool); err != nil {
		return false, err
	}
	_, found, err := unstructured.NestedFieldNoCopy(pool.Object, "spec", "rollout", "maxUnavailable")
	return found, err
}

// pools returns all pools.
func (w *world) pools(ctx context.Context) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(poolKind.GroupVersion().WithKind("NodePoolList"))
	if err := w.List(ctx, list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// patch changes a pool by a merge patch, and repeats that until the API server has taken all
// of it: a definition that was just applied takes a moment.
func (w *world) patch(ctx context.Context, name string, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	pool := &unstructured.Unstructured{}
	pool.SetGroupVersionKind(poolKind)
	pool.SetName(name)
	strictly := client.WithFieldValidation(w.Client, "Strict")
	return w.eventually(ctx, "a change of pool "+name+" is taken", func() error {
		return strictly.Patch(ctx, pool, client.RawPatch(types.MergePatchType, body))
	})
}

// handled has every pool looked at once more, and waits until its status says so.
func (w *world) handled(ctx context.Context) error {
	w.tokens++
	token := fmt.Sprintf("pass-%d", w.tokens)
	pools, err := w.pools(ctx)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		request := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1.RequestedAtAnnotation: token}}}
		if err := w.patch(ctx, pool.GetName(), request); err != nil {
			return err
		}
	}
	return w.eachPool(ctx, "pools report what is requested", func(pool unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(pool.Object, "status", "lastHandledReconcileAt"); got != token {
			return fmt.Errorf("status.lastHandledReconcileAt is %q, want %q", got, token)
		}
		if got, _, _ := unstructured.NestedInt64(pool.Object, "status", "observedGeneration"); got != pool.GetGeneration() {
			return fmt.Errorf("status.observedGeneration is %d, want %d", got, pool.GetGeneration())
		}
		return nil
	})
}

// ready waits until every pool is ready.
func (w *world) ready(ctx context.Context) error {
	return w.eachPool(ctx, "pools are ready", func(pool unstructured.Unstructured) error {
		for _, condition := range conditions(pool) {
			if condition["type"] == "Ready" && condition["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("it is not ready: %v", conditions(pool))
	})
}

// eachPool waits until check returns nil for every pool.
func (w *world) eachPool(ctx context.Context, what string, check func(unstructured.Unstructured) error) error {
	return w.eventually(ctx, what, func() error {
		pools, err := w.pools(ctx)
		if err != nil {
			return err
		}
		for _, pool := range pools {
			if err := check(pool); err != nil {
				return fmt.Errorf("pool %s: %w", pool.GetName(), err)
			}
		}
		return nil
	})
}

func conditions(pool unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(pool.Object, "status", "conditions")
	var all []map[string]any
	for _, item := range list {
		if condition, ok := item.(map[string]any); ok {
			all = append(all, condition)
		}
	}
	return all
}

// unreadableNodes are the members of changed pools whose record the program cannot read, according
// to the status of the pools.
func (w *world) unreadableNodes(ctx context.Context) ([]string, error) {
	pools, err := w.pools(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, pool := range pools {
		for _, condition := range conditions(pool) {
			message, _ := condition["message"].(string)
			if condition["type"] != "Ready" || !strings.Contains(message, "record") {
				continue
			}
			for _, node := range members[pool.GetName()] {
				if strings.Contains(message, node) {
					names = append(names, node)
				}
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// release deletes all pools, with the approval of that, and waits until they are gone.
func (w *world) release(ctx context.Context) error {
	pools, err := w.pools(ctx)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		approval := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1.ApproveReleaseAnnotation: "deletion"}}}
		if err := w.patch(ctx, pool.GetName(), approval); err != nil {
			return err
		}
		if err := w.Delete(ctx, &pool); err != nil {
			return err
		}
	}
	return w.eventually(ctx, "the pools are gone", func() error {
		left, err := w.pools(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d pools are left, such as %s", len(left), left[0].GetName())
		}
		return err
	})
}

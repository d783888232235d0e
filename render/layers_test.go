package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const gpuBase = header + `metadata:
  name: gpu
  annotations: {team: ml}
spec:
  priority: 3
  selector:
    matchLabels: {example.com/a: x, example.com/b: z}
  labels: {tier: gold, site: lab}
  taints:
  - {key: gpu, value: "1", effect: NoSchedule}
  - {key: gpu, value: "2", effect: NoExecute}
  handler: nvidia
`

// layered loads base and two layers above it.
func layered(t *testing.T, base, middle, top string) ([]Definition, error) {
	t.Helper()
	return Load(tree("base/gpu.yaml", base, "eu/gpu.yaml", middle, "prod/gpu.yaml", top, "other/gpu.yaml", "not: [read"), "base", "eu", "prod")
}

func TestLaterLayersChangeEarlierOnes(t *testing.T) {
	definitions, err := layered(t, gpuBase,
		named("gpu", "spec:\n  labels:\n    tier: silver\n    rack: r1\n  taints:\n  - {key: gpu, effect: NoExecute, $patch: delete}\n  - {key: dedicated, value: ml, effect: NoSchedule}\n"),
		named("gpu", "  annotations: {cost: high}\nspec:\n  priority: 9\n  selector: {matchLabels: {example.com/b: null}}\n  labels:\n    site: null\n  taints:\n  - {key: gpu, value: \"7\", effect: NoSchedule}\n  handler: ~\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &v1.NodePool{}
	want.APIVersion, want.Kind, want.Name = v1.GroupVersion.String(), v1.NodePoolKind, "gpu"
	want.Annotations = map[string]string{"team": "ml", "cost": "high"}
	want.Spec = v1.NodePoolSpec{
		Priority: 9,
		Selector: &v1.LabelSelector{MatchLabels: map[string]v1.LabelValue{"example.com/a": "x"}},
		Labels:   map[string]v1.LabelValue{"tier": "silver", "rack": "r1"},
		Taints: []v1.Taint{
			{Key: "gpu", Value: "7", Effect: corev1.TaintEffectNoSchedule},
			{Key: "dedicated", Value: "ml", Effect: corev1.TaintEffectNoSchedule},
		},
	}
	if diff := cmp.Diff(want, definitions[0].Pool); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	wantChanges := []Change{
		{Field: "metadata.annotations[cost]", Layer: "prod", File: "prod/gpu.yaml", Line: 5},
		{Field: "spec.handler", Layer: "prod", File: "prod/gpu.yaml", Line: 13, Removed: true},
		{Field: "spec.labels[rack]", Layer: "eu", File: "eu/gpu.yaml", Line: 8},
		{Field: "spec.labels[site]", Layer: "prod", File: "prod/gpu.yaml", Line: 10, Removed: true},
		{Field: "spec.labels[tier]", Layer: "eu", File: "eu/gpu.yaml", Line: 7},
		{Field: "spec.priority", Layer: "prod", File: "prod/gpu.yaml", Line: 7},
		{Field: "spec.selector.matchLabels[example.com/b]", Layer: "prod", File: "prod/gpu.yaml", Line: 8, Removed: true},
		{Field: "spec.taints[dedicated:NoSchedule]", Layer: "eu", File: "eu/gpu.yaml", Line: 11},
		{Field: "spec.taints[gpu:NoExecute]", Layer: "eu", File: "eu/gpu.yaml", Line: 10, Removed: true},
		{Field: "spec.taints[gpu:NoSchedule]", Layer: "prod", File: "prod/gpu.yaml", Line: 12},
	}
	if diff := cmp.Diff(wantChanges, definitions[0].Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// What is removed with its map is no change of a key any more.
func TestRemovedMapTakesItsChangesAlong(t *testing.T) {
	definitions, err := layered(t, gpuBase, named("gpu", "spec:\n  labels: {rack: r1}\n"), named("gpu", "spec:\n  labels: null\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{{Field: "spec.labels", Layer: "prod", File: "prod/gpu.yaml", Line: 6, Removed: true}}
	if diff := cmp.Diff(want, definitions[0].Changes); diff != "" || len(definitions[0].Pool.Spec.Labels) > 0 {
		t.Errorf("labels %v, changes (-want +got):\n%s", definitions[0].Pool.Spec.Labels, diff)
	}
}

func TestLayersAddAndRemovePools(t *testing.T) {
	definitions, err := Load(tree(
		"base/a.yaml", named("a", "")+"---\n"+named("b", "")+"---\n"+named("c", "spec: {priority: 1}\n"),
		"eu/changes.yaml", named("b", "  annotations: {nodes.lailin.xyz/layer: remove}\n")+"---\n"+named("d", "  annotations: {nodes.lailin.xyz/layer: add}\nspec: {priority: 2}\n")+"---\n"+named("c", "  annotations: {nodes.lailin.xyz/layer: remove}\n"),
		"prod/changes.yaml", named("d", "spec: {priority: 4}\n")+"---\n"+named("c", "  annotations: {nodes.lailin.xyz/layer: add, team: x}\n"),
	), "base", "eu", "prod")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range definitions {
		got = append(got, fmt.Sprint(d.Pool.Name, " ", d.File, ":", d.Line, " ", d.Pool.Spec.Priority, " ", d.Pool.Annotations))
	}
	want := []string{"a base/a.yaml:1 0 map[]", "c prod/changes.yaml:7 0 map[team:x]", "d eu/changes.yaml:7 4 map[]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
}

// TestOneLayerIsThePlainFolder holds that layers differ from no layers by nothing else.
func TestOneLayerIsThePlainFolder(t *testing.T) {
	files := tree("pools/gpu.yaml", gpuBase, "pools/sub/cpu.yaml", named("cpu", ""))
	plain, err := Load(files)
	if err != nil {
		t.Fatal(err)
	}
	one, err := Load(files, "pools")
	if diff := cmp.Diff(plain, one, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("one layer: %v, (-plain +one):\n%s", err, diff)
	}
}

func TestProblemsOfLayers(t *testing.T) {
	spec := func(text string) string { return named("gpu", "spec:\n"+text) }
	for _, c := range []struct{ name, middle, top, want string }{
		{"no such pool", named("gpuu", "spec: {priority: 1}\n"), "", `eu/gpu.yaml:4: pool "gpuu": no earlier layer has a pool of this name; did you mean "gpu"?; to define a pool in this layer, annotate it with nodes.lailin.xyz/layer: add`},
		{"twice", spec("  priority: 1\n") + "---\n" + spec("  priority: 2\n"), "", `eu/gpu.yaml:11: pool "gpu": the layer changes the pool in eu/gpu.yaml:4 too; keep one of the two`},
		{"added though there", named("gpu", "  annotations: {nodes.lailin.xyz/layer: add}\n"), "", `eu/gpu.yaml:4: pool "gpu": the name is taken: it is defined in base/gpu.yaml:4 too`},
		{"other word", named("gpu", "  annotations: {nodes.lailin.xyz/layer: drop}\n"), "", `eu/gpu.yaml:5: pool "gpu": metadata.annotations[nodes.lailin.xyz/layer]: must be add or remove, and is "drop"`},
		{"no word", named("gpu", "  annotations: {nodes.lailin.xyz/layer: 5}\n"), "", `eu/gpu.yaml:5: pool "gpu": metadata.annotations[nodes.lailin.xyz/layer]: must be add or remove, and is the number 5`},
		{"removed with a spec", named("gpu", "  annotations: {nodes.lailin.xyz/layer: remove}\nspec: {priority: 1}\n"), "", `eu/gpu.yaml:6: pool "gpu": spec: the annotation nodes.lailin.xyz/layer removes the pool`},
		{"changed after its removal", named("gpu", "  annotations: {nodes.lailin.xyz/layer: remove}\n"), spec("  priority: 1\n"), `prod/gpu.yaml:4: pool "gpu": the pool is removed in eu/gpu.yaml:4: there is nothing left to change`},
		{"null of nothing", spec("  labels: {teir: null}\n"), "", `eu/gpu.yaml:6: pool "gpu": spec.labels[teir]: no earlier layer sets it: there is nothing to remove`},
		{"null twice", spec("  handler: null\n"), spec("  handler: null\n"), `prod/gpu.yaml:6: pool "gpu": spec.handler: no earlier layer sets it`},
		{"blank", spec("  labels:\n"), "", `eu/gpu.yaml:6: pool "gpu": spec.labels: is empty, and changes nothing; write null to remove`},
		{"empty taints", spec("  taints: []\n"), "", `eu/gpu.yaml:6: pool "gpu": spec.taints: is empty, and changes nothing`},
		{"unknown field", spec("  lables: {a: b}\n"), "", `eu/gpu.yaml:6: pool "gpu": spec: unknown field "lables"; did you mean "labels"?`},
		{"wrong type", "", spec("  labels: [a]\n"), `prod/gpu.yaml:6: pool "gpu": spec.labels: must be a map, and is a list`},
		{"taint without an effect", spec("  taints:\n  - {key: gpu, value: x}\n"), "", `eu/gpu.yaml:7: pool "gpu": spec.taints[2].effect`},
		{"taint twice", spec("  taints:\n  - {key: gpu, effect: NoSchedule}\n  - {key: gpu, effect: NoSchedule}\n"), "", `eu/gpu.yaml:8: pool "gpu": spec.taints[1]: the layer has the taint "gpu:NoSchedule" twice`},
		{"no taint to delete", spec("  taints:\n  - {key: gpu, effect: PreferNoSchedule, $patch: delete}\n"), "", `eu/gpu.yaml:7: pool "gpu": spec.taints[0]: no earlier layer has the taint "gpu:PreferNoSchedule"`},
		{"other directive", spec("  taints:\n  - {key: gpu, effect: NoSchedule, $patch: replace}\n"), "", `eu/gpu.yaml:7: pool "gpu": spec.taints[0].$patch: must be delete, and is "replace"`},
		{"value of a layer", spec("  labels: {tier: \"a b\"}\n"), "", `eu/gpu.yaml:6: pool "gpu": spec.labels[tier]`},
		{"parent of a layer", spec("  parent: none\n"), "", `eu/gpu.yaml:6: pool "gpu": spec.parent: there is no pool "none"`},
		{"duplicate key of a layer", spec("  priority: 1\n  priority: 2\n"), "", `eu/gpu.yaml:7: pool "gpu": the key "priority" appears twice`},
		{"two ways to choose", spec("  nodeNames: [a]\n"), "", `eu/gpu.yaml:6: pool "gpu": spec.nodeNames: excludes selector`},
		{"not YAML", "a: [", "", `eu/gpu.yaml:1: this is not YAML`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := layered(t, gpuBase, c.middle, c.top)
			var problems Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v, want problems", err)
			}
			var texts []string
			for _, p := range problems {
				texts = append(texts, p.String()+"; "+p.Hint)
			}
			if all := strings.Join(texts, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("problems:\n%s\nwant %s", all, c.want)
			} else if len(problems) > 2 {
				t.Errorf("%d problems from one mistake:\n%s", len(problems), all)
			}
		})
	}
}

func TestLayersThatAreNone(t *testing.T) {
	files := tree("base/gpu.yaml", gpuBase, "file", "x")
	for _, c := range []struct {
		layers []string
		want   string
	}{
		{[]string{"base", "regions/eu"}, "regions/eu: the layer is not a folder of this revision"},
		{[]string{"base", "file"}, "file: the layer is not a folder"},
		{[]string{"base", "base"}, `the layer "base" is there twice`},
		{[]string{"base", "base/eu"}, `the layers "base" and "base/eu" are within each other`},
		{[]string{"."}, `the layer "." is not a path within the folder`},
		{[]string{"../base"}, `the layer "../base" is not a path`},
		{[]string{"/base"}, `the layer "/base" is not a path`},
		{[]string{"base/"}, `the layer "base/" is not a path`},
		{[]string{".hidden"}, `the layer ".hidden" has a name that begins with a dot`},
		{[]string{"a/.b"}, `the layer "a/.b" has a name that begins with a dot`},
		{make([]string, 17), "17 layers: there may be 16"},
	} {
		if _, err := Load(files, c.layers...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("layers %q: %v, want %s", c.layers, err, c.want)
		}
	}
}

func TestAnnotationOfALayerWithoutLayers(t *testing.T) {
	_, err := Load(tree("gpu.yaml", named("gpu", "  annotations: {nodes.lailin.xyz/layer: remove}\n")))
	if want := "the folder is not read in layers"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestLayersMergeAsJSONMergePatch compares random layers with RFC 7386, in which the
// list of taints is a map by key and effect.
func TestLayersMergeAsJSONMergePatch(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := randomSpec(r)
		middle := randomPatch(r, base)
		want := mergePatch(t, base, middle)
		top := randomPatch(r, want)
		want = mergePatch(t, want, top)
		files := tree("base/p.yaml", poolText(t, base), "eu/p.yaml", poolText(t, middle), "prod/p.yaml", poolText(t, top))
		definitions, err := Load(files, "base", "eu", "prod")
		if err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s\n%s", seed, err, poolText(t, base), poolText(t, middle), poolText(t, top))
		}
		plain, err := Load(tree("p.yaml", poolText(t, want)))
		if err != nil {
			t.Fatalf("seed %d: the oracle's pool: %v", seed, err)
		}
		byTaint := cmpopts.SortSlices(func(a, b v1.Taint) bool { return a.Key+string(a.Effect) < b.Key+string(b.Effect) })
		if diff := cmp.Diff(plain[0].Pool, definitions[0].Pool, byTaint, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d (-RFC 7386 +layers):\n%s", seed, diff)
		}
	}
}

// randomSpec returns a spec in which taints are a map by key and effect.
func randomSpec(r *rand.Rand) map[string]any {
	spec := map[string]any{"priority": float64(r.IntN(9)), "handler": "runc"}
	for _, field := range []string{"labels", "annotations", "taints"} {
		entries := map[string]any{}
		for _, key := range []string{"k1", "k2", "k3", "k4"} {
			if r.IntN(2) == 0 {
				entries[key] = fmt.Sprint("v", r.IntN(3))
			}
		}
		if len(entries) > 0 {
			spec[field] = entries
		}
	}
	if r.IntN(2) == 0 {
		spec["nodeNames"] = []any{fmt.Sprint("n", r.IntN(3))}
	}
	return spec
}

// randomPatch returns a patch of a spec. It removes only what is there.
func randomPatch(r *rand.Rand, spec map[string]any) map[string]any {
	patch := map[string]any{}
	for name, value := range randomSpec(r) {
		before := spec[name]
		switch entries, isMap := value.(map[string]any); {
		case r.IntN(3) == 0:
		case before != nil && r.IntN(4) == 0:
			patch[name] = nil
		case isMap:
			old, _ := before.(map[string]any)
			for key := range old {
				if r.IntN(4) == 0 {
					entries[key] = nil
				}
			}
			patch[name] = entries
		default:
			patch[name] = value
		}
	}
	return patch
}

func mergePatch(t *testing.T, spec, patch map[string]any) map[string]any {
	t.Helper()
	merged, err := jsonpatch.MergePatch(must(json.Marshal(spec)), must(json.Marshal(patch)))
	if err != nil {
		t.Fatal(err)
	}
	var result map[string]any
	if err := json.Unmarshal(merged, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// poolText is the document of a spec or a patch, with taints as a list.
func poolText(t *testing.T, spec map[string]any) string {
	t.Helper()
	spec = maps.Clone(spec)
	if byKey, isMap := spec["taints"].(map[string]any); isMap {
		var list []any
		for _, key := range slices.Sorted(maps.Keys(byKey)) {
			taint := map[string]any{"key": key, "effect": "NoSchedule", "value": byKey[key]}
			if byKey[key] == nil {
				taint = map[string]any{"key": key, "effect": "NoSchedule", "$patch": "delete"}
			}
			list = append(list, taint)
		}
		if spec["taints"] = list; len(list) == 0 {
			delete(spec, "taints") // an empty map is what a merge patch leaves of one
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if entries, isMap := spec[field].(map[string]any); isMap && len(entries) == 0 {
			delete(spec, field)
		}
	}
	if len(spec) == 0 {
		return named("p", "")
	}
	return named("p", "spec: "+string(must(json.Marshal(spec)))+"\n")
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// FuzzLayers: for any three layers, Load does not panic, its problems can be printed
// and lie in the file that they name, and what it accepts is valid.
func FuzzLayers(f *testing.F) {
	f.Add(gpuBase, named("gpu", "spec:\n  labels: {tier: null}\n"), named("gpu", "  annotations: {nodes.lailin.xyz/layer: remove}\n"))
	f.Add(gpuBase, named("gpu", "spec: &s {labels: &l {x: *l}, taints: [*s, &t {<<: *t}]}\n"), named("gpu", "spec: {taints: [{key: gpu, effect: NoSchedule, $patch: delete}]}\n"))
	f.Add(named("a", "spec: {<<: {labels: {a: b}}, labels: {c: d}}\n"), named("a", "spec: {labels: {<<: {a: null}, c: null}}\n"), named("a", "  annotations: {nodes.lailin.xyz/layer: add}\n---\n")+gpuBase)
	f.Fuzz(func(t *testing.T, base, middle, top string) {
		files := map[string]string{"base/p.yaml": base, "eu/p.yaml": middle, "prod/p.yaml": top}
		definitions, err := Load(tree("base/p.yaml", base, "eu/p.yaml", middle, "prod/p.yaml", top), "base", "eu", "prod")
		problems := problemsOf(t, err)
		mustBeSafe(t, problems)
		for _, p := range problems {
			if text, found := files[p.File]; found && p.Line > 1+strings.Count(text, "\n") {
				t.Errorf("line %d of %s: %s", p.Line, p.File, p.Message)
			}
		}
		for _, d := range definitions {
			if errs := v1.ValidateNodePool(d.Pool); len(errs) > 0 {
				t.Errorf("%s: %v", d.Pool.Name, errs)
			}
			for _, change := range d.Changes {
				if text := files[change.File]; change.Line < 1 || change.Line > 1+strings.Count(text, "\n") {
					t.Errorf("change of %s at line %d of %s", change.Field, change.Line, change.File)
				}
			}
		}
	})
}

// TestLayersThatAreMuchWork holds that aliases and long lists in layers cost no more
// than they do in a definition: each is read once, out of one budget.
func TestLayersThatAreMuchWork(t *testing.T) {
	var many, wide strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&many, "  - {key: k%d, effect: NoSchedule}\n", i)
		fmt.Fprintf(&wide, "k%d: v, ", i)
	}
	for name, c := range map[string]struct{ base, middle string }{
		"many taints":         {named("p", "spec:\n  taints:\n"+many.String()), named("p", "spec:\n  taints:\n"+many.String())},
		"wide aliases":        {gpuBase, named("gpu", "spec:\n  taints:\n  - &a {"+wide.String()+"}\n"+strings.Repeat("  - *a\n", 9000))},
		"changes of one pool": {gpuBase, strings.Repeat(named("gpu", "spec: {priority: 1}\n")+"---\n", 999)},
		"own ancestor":        {gpuBase, named("gpu", "spec: &s\n  selector: *s\n  labels: *s\n")},
	} {
		_, err := Load(tree("base/p.yaml", c.base, "eu/p.yaml", c.middle), "base", "eu")
		if problems := problemsOf(t, err); len(problems) == 0 {
			t.Errorf("%s: no problem", name)
		}
	}
}

func TestKustomizationGetsAHint(t *testing.T) {
	for _, text := range []string{"resources: [gpu.yaml]\n", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [gpu.yaml]\n"} {
		_, err := Load(tree("gpu.yaml", gpuBase, "kustomization.yaml", text))
		problems := problemsOf(t, err)
		if len(problems) != 1 || problems[0].String() != "kustomization.yaml:1: a kustomization is not read" || !strings.Contains(problems[0].Hint, "--layer") {
			t.Errorf("problems %v", problems)
		}
	}
}

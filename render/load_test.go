package render

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

const header = "apiVersion: nodes.lailin.xyz/v1\nkind: NodePool\n"

// named is the smallest pool of that name, and what follows in its file.
func named(name, rest string) string { return header + "metadata:\n  name: " + name + "\n" + rest }

// tree is a file tree of these names and contents.
func tree(files ...string) fstest.MapFS {
	t := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		t[files[i]] = &fstest.MapFile{Data: []byte(files[i+1]), Mode: 0o644}
	}
	return t
}

// where returns the position and the name of each definition.
func where(definitions []Definition) []string {
	var lines []string
	for _, d := range definitions {
		lines = append(lines, fmt.Sprintf("%s %s:%d", d.Pool.Name, d.File, d.Line))
	}
	return lines
}

func TestLoadTheManifestOfTheProduct(t *testing.T) {
	definitions, err := Load(tree("pools/master.yaml", `apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: master
spec:
  taints:
  - key: node-pool.lailin.xyz
    value: master
    effect: NoSchedule
  labels:
    "node-pool.lailin.xyz/master": "8"
    "node-pool.lailin.xyz/test": "2"
  handler: runc
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Definition{{File: "pools/master.yaml", Line: 1, Pool: &v1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: "nodes.lailin.xyz/v1", Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: "master"},
		Spec: v1.NodePoolSpec{
			Taints:  []v1.Taint{{Key: "node-pool.lailin.xyz", Value: "master", Effect: corev1.TaintEffectNoSchedule}},
			Labels:  map[string]v1.LabelValue{"node-pool.lailin.xyz/master": "8", "node-pool.lailin.xyz/test": "2"},
			Handler: "runc",
		},
	}}}
	if diff := cmp.Diff(want, definitions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadReadsEveryField(t *testing.T) {
	definitions, err := Load(tree("gpu.yaml", named("parent", "---\n")+`apiVersion: nodes.lailin.xyz/v1
kind: NodePool
metadata:
  name: gpu
  labels: {team: ml}
  annotations:
    nodes.lailin.xyz/prune: disabled
    nodes.lailin.xyz/reconcile: disabled
    example.com/note: "any text: 8"
spec:
  parent: parent
  priority: -7
  selector:
    matchLabels: {zone: a}
    matchExpressions:
    - {key: arch, operator: In, values: [amd64, "8"]}
  labels: {}
  annotations:
    example.com/script: |
      one
      two
  taints: []
  conflictPolicy: TakeOver
  rollout:
    windows:
    - {schedule: 0 2 * * 6, timeZone: Europe/Berlin, duration: 4h}
    exclusions:
    - {start: 2026-12-18T00:00:00+01:00, end: "2027-01-05T00:00:00+01:00", reason: peak season}
    - {schedule: "@monthly", duration: 24h}
    maxUnavailable: 10%
    minReady: 90s
    paused: true
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &v1.NodePool{
		TypeMeta: metav1.TypeMeta{APIVersion: "nodes.lailin.xyz/v1", Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{
			Name:   "gpu",
			Labels: map[string]string{"team": "ml"},
			Annotations: map[string]string{
				"nodes.lailin.xyz/prune":     "disabled",
				"nodes.lailin.xyz/reconcile": "disabled",
				"example.com/note":           "any text: 8",
			},
		},
		Spec: v1.NodePoolSpec{
			Parent:   "parent",
			Priority: -7,
			Selector: &v1.LabelSelector{
				MatchLabels:      map[string]v1.LabelValue{"zone": "a"},
				MatchExpressions: []v1.LabelSelectorRequirement{{Key: "arch", Operator: "In", Values: []string{"amd64", "8"}}},
			},
			Labels:         map[string]v1.LabelValue{},
			Annotations:    map[string]v1.AnnotationValue{"example.com/script": "one\ntwo\n"},
			Taints:         []v1.Taint{},
			ConflictPolicy: v1.TakeOver,
			Rollout: &v1.Rollout{
				Windows: []v1.Window{{Schedule: "0 2 * * 6", TimeZone: "Europe/Berlin", Duration: metav1.Duration{Duration: 4 * time.Hour}}},
				Exclusions: []v1.Exclusion{
					{Start: ptr.To(metav1.NewTime(time.Date(2026, 12, 17, 23, 0, 0, 0, time.UTC))), End: ptr.To(metav1.NewTime(time.Date(2027, 1, 4, 23, 0, 0, 0, time.UTC))), Reason: "peak season"},
					{Schedule: "@monthly", Duration: &metav1.Duration{Duration: 24 * time.Hour}},
				},
				MaxUnavailable: ptr.To(intstr.FromString("10%")), MinReady: &metav1.Duration{Duration: 90 * time.Second}, Paused: true,
			},
		},
	}
	if diff := cmp.Diff(want, definitions[0].Pool); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadFindsPools(t *testing.T) {
	cases := map[string]struct {
		reason string
		files  fs.FS
		want   []string
	}{
		"nothing": {
			"whether an empty tree can be meant is for the caller to decide",
			tree(), nil,
		},
		"no pools": {
			"other files are none of our business",
			tree("README.md", "not: [pool", "pools.json", "{", "Makefile", "a:\n\tb"), nil,
		},
		"folders": {
			"all folders and both extensions in any case, sorted by the name of the pool",
			tree("z.yaml", named("a", ""), "a/b/c.yml", named("z", ""), "a/D.YAML", named("d", "")),
			[]string{"a z.yaml:1", "d a/D.YAML:1", "z a/b/c.yml:1"},
		},
		"hidden": {
			"hidden folders and files are tools' own",
			tree(".github/x.yaml", "a: [", "a/.git/y.yaml", "b: [", "a/.z.yaml", "c: [", "a/p.yaml", named("p", "")),
			[]string{"p a/p.yaml:1"},
		},
		"folder named as a file": {
			"a folder is a folder, whatever its name",
			tree("a.yaml/p.yml", named("p", "")),
			[]string{"p a.yaml/p.yml:1"},
		},
		"documents": {
			"the line is that of the first key, not of the marker or the comment before it",
			tree("p.yaml", "# licence\n---\n# one\n\n"+named("one", "--- # marker with a comment\n")+named("two", "---\n\n---\n# nothing\n---\n")+named("three", "---\n")),
			[]string{"one p.yaml:5", "three p.yaml:19", "two p.yaml:10"},
		},
		"empty documents": {
			"templates leave them behind",
			tree("a.yaml", "", "b.yaml", "\n\n", "c.yaml", "# only\n# comments\n", "d.yaml", "---\n---\n---", "e.yaml", "\uFEFF", "f.yaml", "---\nnull\n"), nil,
		},
		"crlf": {
			"files from Windows have the same lines",
			tree("p.yaml", strings.ReplaceAll("# c\n---\n"+named("one", "---\n")+named("two", ""), "\n", "\r\n")),
			[]string{"one p.yaml:3", "two p.yaml:8"},
		},
		"byte order mark": {
			"some editors write it",
			tree("p.yaml", "\uFEFF"+named("one", "")),
			[]string{"one p.yaml:1"},
		},
		"directive and end marker": {
			"both are YAML, if rare",
			tree("p.yaml", "%YAML 1.1\n---\n"+named("one", "...\n---\n")+named("two", "...\n")),
			[]string{"one p.yaml:3", "two p.yaml:9"},
		},
		"marker within text": {
			"--- at the beginning of a line alone parts documents",
			tree("p.yaml", named("one", "spec:\n  annotations:\n    a: |\n      x\n      ---\n      y\n    b: '--- z'\n")),
			[]string{"one p.yaml:1"},
		},
		"json": {
			"YAML in flow style is YAML",
			tree("p.yaml", `{"apiVersion": "nodes.lailin.xyz/v1", "kind": "NodePool", "metadata": {"name": "one"}}`),
			[]string{"one p.yaml:1"},
		},
		"aliases": {
			"anchors save writing within one pool",
			tree("p.yaml", named("one", "spec:\n  taints:\n  - &t {key: a, value: &v x, effect: NoSchedule}\n  - {<<: *t, effect: NoExecute}\n  labels:\n    a: *v\n")),
			[]string{"one p.yaml:1"},
		},
		"wide merges": {
			"many keys from many places, and again the same key of its own",
			tree("p.yaml", named("one", "spec:\n  labels:\n    <<: [{"+commaKeys(15)+"}, {"+strings.ReplaceAll(commaKeys(15), "k", "l")+"}, {"+commaKeys(20)+"}]\n    k1: mine\n")),
			[]string{"one p.yaml:1"},
		},
		"null maps": {
			"what is commented out line by line leaves the key behind",
			tree("p.yaml", named("one", "spec:\n  labels:\n  annotations:\n  taints:\n")),
			[]string{"one p.yaml:1"},
		},
		"text that looks like a date": {
			"a date is text to Kubernetes",
			tree("p.yaml", named("one", "spec:\n  labels:\n    a: 2024-01-01\n")),
			[]string{"one p.yaml:1"},
		},
		"parents": {
			"in any order and in any file",
			tree("a.yaml", named("a", "spec:\n  parent: b\n"), "b.yaml", named("b", "spec:\n  parent: c\n---\n")+named("c", "")),
			[]string{"a a.yaml:1", "b b.yaml:1", "c b.yaml:8"},
		},
		"link with another extension": {
			"it cannot be a pool or a folder of pools",
			fstest.MapFS{"README.md": {Mode: fs.ModeSymlink, Data: []byte("docs/README.md")}}, nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			definitions, err := Load(c.files)
			if err != nil {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if diff := cmp.Diff(c.want, where(definitions)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// Merge keys and aliases mean what they mean to other readers of YAML.
func TestLoadMerges(t *testing.T) {
	definitions, err := Load(tree("p.yaml", named("one", `spec:
  taints:
  - &first {key: a, value: one, effect: NoSchedule}
  - &second {key: b, value: two, effect: NoExecute}
  - {<<: *first, key: c}
  - {key: d, <<: [*second, *first]}
  labels: &labels
    x: "1"
  annotations:
    <<: *labels
    z: "2"
`)))
	if err != nil {
		t.Fatal(err)
	}
	want := v1.NodePoolSpec{
		Taints: []v1.Taint{
			{Key: "a", Value: "one", Effect: "NoSchedule"},
			{Key: "b", Value: "two", Effect: "NoExecute"},
			{Key: "c", Value: "one", Effect: "NoSchedule"},
			{Key: "d", Value: "two", Effect: "NoExecute"},
		},
		Labels:      map[string]v1.LabelValue{"x": "1"},
		Annotations: map[string]v1.AnnotationValue{"x": "1", "z": "2"},
	}
	if diff := cmp.Diff(want, definitions[0].Pool.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadReturnsNoPoolsWithAProblem(t *testing.T) {
	definitions, err := Load(tree("a.yaml", named("a", ""), "b.yaml", named("b", "spce: {}\n")))
	if definitions != nil || err == nil {
		t.Errorf("a tree is taken whole or not at all: got %v, %v", where(definitions), err)
	}
	want := `b.yaml:5: pool "b": unknown field "spce"`
	if err != nil && err.Error() != want {
		t.Errorf("want %s, got %v", want, err)
	}
}

// brokenFS fails where a test wants it to.
type brokenFS struct {
	fs.FS
	name string
}

var errBroken = errors.New("object \x1b[1m is missing")

func (b brokenFS) Open(name string) (fs.File, error) {
	if name == b.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errBroken}
	}
	return b.FS.Open(name)
}

func TestLoadReportsWhatCannotBeRead(t *testing.T) {
	files := tree("a/p.yaml", named("p", "spec: {parent: q}\n"), "b.yaml", named("b", ""))
	for _, name := range []string{".", "a", "a/p.yaml", "b.yaml"} {
		definitions, err := Load(brokenFS{files, name})
		problems := problemsOf(t, err)
		if definitions != nil || len(problems) == 0 || problems[0].File != name {
			t.Errorf("%s cannot be read, and Load returns %v, %v", name, where(definitions), err)
		}
		mustBeSafe(t, problems)
	}
}

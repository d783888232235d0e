package review_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/apply/preview/impact"
	"github.com/nodepools/nodepools/apply/preview/inventory"
	"github.com/nodepools/nodepools/apply/preview/review"
	"github.com/nodepools/nodepools/apply/preview/review/markdown"
	"github.com/nodepools/nodepools/apply/preview/review/page"
	"github.com/nodepools/nodepools/apply/preview/review/text"
	"github.com/nodepools/nodepools/render"
	"github.com/nodepools/nodepools/testdata/secrets"
)

// The secrets of two revisions and of others. The short ones are too short to be
// distinguished from a word.
const (
	longBefore, longAfter   = "canary-of-before-0123", "canary-of-after-0123"
	shortBefore, shortAfter = "zq7xb", "zq8xb"
	foreign                 = "canary-of-others-0123"
	credential              = "ghp_0123456789abcdefghij0123456789abcdef"
)

var canaries = []string{longBefore, longAfter, shortBefore, shortAfter, foreign, credential, "hunter2"}

// secretPools have secrets wherever a pool has a value.
func secretPools(long, short string) []render.Definition {
	a := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"example.com/token": long}},
		Spec: v1.NodePoolSpec{
			NodeNames: []string{"n*"}, Handler: "runc", ConflictPolicy: v1.ReportConflicts,
			Selector: &v1.LabelSelector{MatchExpressions: []v1.LabelSelectorRequirement{
				{Key: "api-token", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"hunter2hunter2", short}},
				{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{credential, "gold"}},
			}},
			Labels: map[string]v1.LabelValue{"api-key": v1.LabelValue(long), "their-secret": v1.LabelValue(long)},
			Annotations: map[string]v1.AnnotationValue{
				"password": v1.AnnotationValue(long),
				"config":   v1.AnnotationValue("user: me\npassword: " + short + "\nlist: a=b,dbPassword=" + short + ",c=d\n"),
				"address":  v1.AnnotationValue("https://me:" + short + "@example.com"),
			},
			Taints: []v1.Taint{
				{Key: "access-token", Value: short, Effect: corev1.TaintEffectNoExecute},
				{Key: "token", Value: short, Effect: corev1.TaintEffectNoSchedule},
				{Key: "dedicated", Value: credential, Effect: corev1.TaintEffectNoExecute},
			},
		},
	}
	b := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Spec: v1.NodePoolSpec{
			NodeNames: []string{"n*"}, Handler: "runc",
			Taints: []v1.Taint{{Key: "b-secret", Value: short, Effect: corev1.TaintEffectNoExecute}},
		},
	}
	return []render.Definition{{Pool: a, File: "a.yaml", Line: 1}, {Pool: b, File: "b.yaml", Line: 1}}
}

// secretReview is the review of a change to a cluster whose pods mention the
// secrets, with what it was made of.
func secretReview(t *testing.T, before plan.Cluster, long, short string) (*review.Review, review.Input) {
	t.Helper()
	pools := secretPools(long, short)
	difference, err := plan.Diff(plan.Revision{
		Source: "team", SourceUID: "uid-of-team", Name: "main@sha1:new", Pools: pools, Release: plan.ReleasePolicy{Approval: "main@sha1:new"}, Prune: plan.PrunePolicy{Enabled: true, Limit: intstr.FromInt32(1)},
	}, before)
	if err != nil {
		t.Fatal(err)
	}
	if difference.Pools.Blocked == nil {
		t.Fatal("no pool is held back")
	}
	difference.Pools.Blocked.Reason += ", says api-key=" + long + foreign
	difference.Pools.Blocked.Remedy += ", says their-secret=" + foreign + ", as https://me:hunter2@example.com"
	known := &inventory.Inventory{Cluster: before}
	run := func(name string, on *plan.NodeState, asks inventory.Scheduling) {
		owner := inventory.Owner{Kind: "Deployment", Namespace: "shop", Name: name}
		known.Workloads = append(known.Workloads, inventory.Workload{Owner: owner, Template: asks})
		known.Pods = append(known.Pods, inventory.Pod{Namespace: "shop", Name: name, Node: on.Name, Owner: owner, Scheduling: asks, Ready: true})
	}
	tolerating := func(effect corev1.TaintEffect) []corev1.Toleration {
		return []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: effect}}
	}
	oldest, newest := before.Nodes[0], before.Nodes[len(before.Nodes)-1]
	run("evicted", newest, inventory.Scheduling{})
	run("intolerant", newest, inventory.Scheduling{Tolerations: tolerating(corev1.TaintEffectNoExecute)})
	run("selecting", oldest, inventory.Scheduling{NodeSelector: map[string]string{"api-key": longBefore}, Tolerations: tolerating("")})
	in := review.Input{
		Before: before, Difference: difference, Files: pools, Impact: impact.Of(known, difference.After(before), nil),
		Compared: review.Compared{BrokenBase: &review.BrokenBase{Revision: "main", Problems: []string{"a problem with password: " + long}}},
		Notes:    []string{"a note on --token " + long + foreign},
	}
	given := givenText(t, in)
	r, err := review.Of(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(given, givenText(t, in)); diff != "" {
		t.Errorf("what the review was made of is masked itself (-before +after):\n%s", diff)
	}
	for _, secret := range []string{long, short} {
		if !strings.Contains(given, secret) {
			t.Errorf("%q is not there to be masked", secret)
		}
	}
	return r, in
}

// givenText has all that a review is made of and that has secrets in it.
func givenText(t *testing.T, in review.Input) string {
	t.Helper()
	text, err := json.Marshal([]any{in.Impact, in.Difference.PoolChanges, in.Difference.Nodes, in.Difference.Pools.Blocked, in.Before.Pools, in.Before.RuntimeClasses, in.Notes, in.Compared})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reviewWriters are all that a review is written by.
var reviewWriters = map[string]func(*bytes.Buffer, *review.Review) error{
	"text":     func(to *bytes.Buffer, r *review.Review) error { return text.Write(to, r, text.Options{}) },
	"markdown": func(to *bytes.Buffer, r *review.Review) error { return markdown.Write(to, r, markdown.Options{}) },
	"page":     func(to *bytes.Buffer, r *review.Review) error { return page.Write(to, r, page.Options{}) },
	"JSON":     func(to *bytes.Buffer, r *review.Review) error { return json.NewEncoder(to).Encode(r) },
	"YAML":     func(to *bytes.Buffer, r *review.Review) error { return render.WriteYAML(to, r) },
	"clusters": func(to *bytes.Buffer, r *review.Review) error {
		all := review.OfClusters([]review.Cluster{{Name: "a", Review: r}, {Name: "b", Review: r}}, nil)
		return errors.Join(text.WriteClusters(to, all, text.Options{}), markdown.WriteClusters(to, all, markdown.Options{}),
			page.WriteClusters(to, all, page.Options{}), json.NewEncoder(to).Encode(all))
	},
}

// TestSecretsAreMaskedEverywhere puts secrets wherever a review has a value, and
// looks for them in all that is written of it.
func TestSecretsAreMaskedEverywhere(t *testing.T) {
	empty := plan.Cluster{Nodes: []*plan.NodeState{
		{Name: "n1", Labels: map[string]string{"their-secret": foreign}},
	}}
	for _, name := range []string{"gone", "left"} {
		empty.Pools = append(empty.Pools, &v1.NodePool{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: "1", Labels: map[string]string{v1.SourceLabel: "team"}, Annotations: map[string]string{v1.SourceUIDAnnotation: "uid-of-team", v1.RevisionAnnotation: "main@sha1:old"},
		}})
	}
	created, in := secretReview(t, empty, longBefore, shortBefore)
	world := in.Difference.After(empty)
	// This node comes into the pools only now: of the other one it is known already that
	// no pod can run there.
	world.Nodes = append(world.Nodes, &plan.NodeState{Name: "n2"})
	changed, _ := secretReview(t, world, longAfter, shortAfter)
	for name, r := range map[string]*review.Review{"created": created, "changed": changed} {
		for writer, write := range reviewWriters {
			t.Run(name+" as "+writer, func(t *testing.T) {
				var written bytes.Buffer
				if err := write(&written, r); err != nil {
					t.Fatal(err)
				}
				for _, secret := range canaries {
					if i := strings.Index(written.String(), secret); i >= 0 {
						t.Errorf("%q stands in: …%s…", secret, written.String()[max(i-120, 0):min(i+60, written.Len())])
					}
				}
			})
		}
		if len(r.Nodes) == 0 || len(r.Records) == 0 || len(r.Conflicts) == 0 || len(r.Pools) < 2 || r.HeldBack == nil ||
			len(r.Impact.Evictions) == 0 || len(r.Impact.Unschedulable) == 0 || len(r.Impact.Overlaps) == 0 {
			t.Fatalf("%s: there is nothing to mask in a part of %+v", name, r.Summary.Counts)
		}
	}
	expectThatChangesAreSeen(t, changed)
}

// TestCredentialsAreMaskedEverywhere puts credentials of every kind, in texts of every
// kind, into the values and the keys of a pool and of a node.
func TestCredentialsAreMaskedEverywhere(t *testing.T) {
	pool := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{}},
		Spec:       v1.NodePoolSpec{NodeNames: []string{"n*"}, Handler: "runc", ConflictPolicy: v1.ReportConflicts, Annotations: map[string]v1.AnnotationValue{}},
	}
	node := &plan.NodeState{Name: "n1", Annotations: map[string]string{}}
	var notes []string
	for i, credential := range secrets.Credentials() {
		for wrap, wrapped := range secrets.Wraps {
			key := fmt.Sprintf("example.com/%s-%d", strings.ReplaceAll(wrap, " ", "-"), i)
			pool.Annotations[key], pool.Spec.Annotations[key] = wrapped(credential.Text), v1.AnnotationValue(wrapped(credential.Text))
			if i%2 == 0 {
				node.Annotations[key] = wrapped(credential.Text) + " of others"
			}
		}
		notes = append(notes, "a note: "+credential.Text)
	}
	const inKey = "ghp_0123456789abcdefghij0123456789abcdef"
	pool.Spec.Labels = map[string]v1.LabelValue{"example.com/" + inKey: "x"}
	before := plan.Cluster{Nodes: []*plan.NodeState{node}}
	pools := []render.Definition{{Pool: pool, File: "a.yaml", Line: 1}}
	difference, err := plan.Diff(plan.Revision{Source: "team", Name: "main@sha1:new", Pools: pools}, before)
	if err != nil {
		t.Fatal(err)
	}
	r, err := review.Of(review.Input{Before: before, Difference: difference, Files: pools, Notes: notes})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Conflicts) == 0 || len(r.Nodes) == 0 || len(r.Pools) == 0 || len(r.Records) == 0 {
		t.Fatalf("there is nothing to mask: %+v", r.Summary.Counts)
	}
	for writer, write := range reviewWriters {
		var written bytes.Buffer
		if err := write(&written, r); err != nil {
			t.Fatal(err)
		}
		for _, credential := range append(secrets.Credentials(), secrets.Credential{Name: "key", Text: inKey}) {
			if at := strings.Index(written.String(), credential.Core()); at >= 0 {
				t.Errorf("%s as %s: …%s…", credential.Name, writer, written.String()[max(at-120, 0):min(at+60, written.Len())])
			}
			if core := credential.Core(); writer != "JSON" || len(core) < 16 {
				continue // the document has all that the others have, and is searched for parts too
			} else if found := secrets.Find(written.String(), core); found != "" {
				t.Errorf("%s as %s: %s", credential.Name, writer, found)
			}
		}
	}
}

// expectThatChangesAreSeen checks that a reader sees changes in spite of masks.
func expectThatChangesAreSeen(t *testing.T, r *review.Review) {
	t.Helper()
	var written bytes.Buffer
	if err := text.Write(&written, r, text.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := json.NewEncoder(&written).Encode(r.Pools); err != nil {
		t.Fatal(err)
	}
	seen := strings.Join(strings.Fields(written.String()), " ")
	for _, want := range []string{
		"label api-key=*** (before) -> *** (after)", "access-token=***:NoExecute", "does not tolerate token=***:NoSchedule",
		"the node has no label api-key=***", "pods of a do not tolerate b-secret=***:NoExecute of b", `"values":["***","gold"]`, `"config":"*** (after)"`,
	} {
		if !strings.Contains(seen, want) {
			t.Errorf("%s is not to be seen in:\n%s", want, written.String())
		}
	}
}

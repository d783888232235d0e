package manifests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/testdata/cluster"
	"github.com/nodepools/nodepools/testdata/policies"
)

const (
	// markLabel is a label of our domain that an administrator has put on.
	markLabel = v1.Domain + "/mark"
	// aRecord is one as the controller writes it.
	aRecord = `{"version":1,"pools":{"quarantine":{"taints":{"quarantine:NoSchedule":"yes"}}}}`
)

// attack is a change of its own node that a kubelet tries.
type attack struct {
	reason string
	change func(*corev1.Node)
	// names is the key that the refusal names; removes is set where the change
	// only takes something away.
	names   string
	removes bool
}

var attacks = []attack{
	{"a forged record makes the controller take off what it names", setAnnotation(v1.AppliedAnnotation, `{"version":1}`), "annotation " + v1.AppliedAnnotation, false},
	{"without its record what pools put there counts as the node's own", removeAnnotation(v1.AppliedAnnotation), "annotation " + v1.AppliedAnnotation, true},
	{"a paused node is left alone", setAnnotation(v1.ReconcileAnnotation, v1.Disabled), "annotation " + v1.ReconcileAnnotation, false},
	{"the whole map holds the record", func(node *corev1.Node) { node.Annotations = nil }, "annotation " + v1.AppliedAnnotation, true},
	{"an annotation that means nothing yet", setAnnotation(v1.Domain+"/later", ""), "annotation " + v1.Domain + "/later", false},
	{"a label that means nothing yet", setLabel(v1.Domain+"/later", ""), "label " + v1.Domain + "/later", false},
	{"a label that somebody else has put", setLabel(markLabel, "forged"), "label " + markLabel, false},
	{"and its end", removeLabel(markLabel), "label " + markLabel, true},
	{"beside what a kubelet may write", func(node *corev1.Node) {
		node.Labels["example.com/own"] = "new"
		node.Annotations["example.com/own"] = "new"
		delete(node.Annotations, v1.AppliedAnnotation)
	}, "annotation " + v1.AppliedAnnotation, true},
}

// A kubelet changes nothing of our domain on its node, whatever request it makes.
// The same requests pass without the policy: it is what refuses them.
func TestAKubeletCannotWriteOurDomain(t *testing.T) {
	p := newTest(t)
	p.Node("n1", map[string]string{"example.com/own": "old", markLabel: "admin"}, map[string]string{"example.com/own": "old", v1.AppliedAnnotation: aRecord})
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	everyAttack := func(options metav1.PatchOptions, judge func(t *testing.T, a attack, err error)) {
		for _, way := range waysToWrite() {
			for _, a := range attacks {
				if a.removes && way.adds {
					continue
				}
				t.Run(way.name+"/"+a.reason, func(t *testing.T) {
					before := p.Get("n1")
					changed := before.DeepCopy()
					a.change(changed)
					judge(t, a, way.send(t.Context(), kubelet, before, changed, options))
				})
			}
		}
	}
	p.Uninstalled()
	everyAttack(metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, func(t *testing.T, _ attack, err error) {
		if err != nil {
			t.Errorf("without the policy, refused: %v", err)
		}
	})
	p.Install()
	before := p.Get("n1")
	everyAttack(metav1.PatchOptions{}, func(t *testing.T, a attack, err error) { policies.Refused(t, err, a.names+": ") })
	if diff := cmp.Diff(before, p.Get("n1")); diff != "" {
		t.Errorf("the node has changed (-want +got):\n%s", diff)
	}
}

// A node that is not there yet is no way round, and neither is its end.
func TestAKubeletCannotBringOurDomainWithItsNode(t *testing.T) {
	p := newTest(t)
	p.Install()
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	for _, a := range attacks {
		if a.removes {
			continue
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
		a.change(node)
		_, err := kubelet.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
		t.Run("create/"+a.reason, func(t *testing.T) { policies.Refused(t, err, a.names+": ") })
		body, err := policies.MetadataOnly(nil, node)
		if err != nil {
			t.Fatal(err)
		}
		_, err = kubelet.CoreV1().Nodes().Patch(t.Context(), "n1", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "kubelet"})
		t.Run("apply/"+a.reason, func(t *testing.T) { policies.Refused(t, err, a.names+": ") })
	}
	if _, err := kubelet.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("a node without labels and annotations cannot register: %v", err)
	}
	// The policy has no part in this: the node authorizer gives no kubelet the
	// right, so that it cannot come again without what was put on it.
	if err := kubelet.CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "Policy") {
		t.Errorf("a kubelet deletes its node: %v, want that it has no right to", err)
	}
}

// Whatever else a kubelet does of a day passes.
func TestAKubeletDoesItsWorkUnderThePolicy(t *testing.T) {
	p := newTest(t)
	p.Install()
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	_, err := kubelet.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n1", Labels: map[string]string{corev1.LabelHostname: "n1", "example.com/own": "new"},
		Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}}, metav1.CreateOptions{})
	p.Do(err)
	p.Do(p.Patch(p, "n1", policies.Record(aRecord)))

	for _, way := range waysToWrite() {
		for reason, change := range map[string]func(*corev1.Node){
			"a label of its own":             setLabel("example.com/own", way.name[:4]),
			"its last label":                 func(node *corev1.Node) { node.Labels = nil },
			"an annotation of its own":       setAnnotation("example.com/own", way.name),
			"and its end":                    removeAnnotation("example.com/own"),
			"nothing":                        func(*corev1.Node) {},
			"another domain that ends so":    setLabel("my"+v1.Domain+"/own", "x"),
			"another that is within":         setLabel("sub."+v1.Domain+"/own", "x"),
			"a name that is not in a domain": setAnnotation(v1.Domain, "x"),
		} {
			before := p.Get("n1")
			changed := before.DeepCopy()
			change(changed)
			if err := way.send(t.Context(), kubelet, before, changed, metav1.PatchOptions{}); err != nil {
				t.Errorf("%s: %s is refused: %v", way.name, reason, err)
			}
		}
	}
	if got := p.Get("n1").Annotations[v1.AppliedAnnotation]; got != aRecord {
		t.Errorf("the record has become %q", got)
	}
	for i := range 3 {
		node := p.Get("n1")
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Message: fmt.Sprint(i)}}
		if _, err := kubelet.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Errorf("heartbeat by update: %v", err)
		}
		heartbeat := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"True","message":"patch %d"}]}}`, i)
		if _, err := kubelet.CoreV1().Nodes().PatchStatus(t.Context(), "n1", heartbeat); err != nil {
			t.Errorf("heartbeat by patch: %v", err)
		}
	}
	leases := kubelet.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create the lease: %v", err)
	}
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Errorf("renew the lease: %v", err)
	}
	p.Do(leases.Delete(t.Context(), "n1", metav1.DeleteOptions{}))
}

// An expression that fails refuses the request, and one that takes long takes the
// API server's time. So a node may have as many keys as it can hold: its kubelet
// and whoever may write nodes change them, and only who has the right changes ours.
func TestThePolicyHoldsOnFullNodes(t *testing.T) {
	p := newTest(t)
	p.Install()
	many := func(count int) map[string]string {
		all := map[string]string{}
		for i := range count {
			all[fmt.Sprintf("key-%d", i)] = ""
		}
		return all
	}
	p.Node("n1", nil, nil) // for the roles of users to be seen
	operator := policies.UserOf(t, p.Cluster, p.UserWith(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"*"}}}))
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	for _, test := range []struct {
		name                string
		labels, annotations map[string]string
	}{
		{"no key at all", nil, nil},
		{"127 KiB of annotations", nil, map[string]string{"example.com/long": strings.Repeat("x", 127<<10)}},
		{"127 KiB of what is longest in quotes", nil, map[string]string{"example.com/long": strings.Repeat("\x01", 127<<8)}},
		{"1,000 labels and annotations", many(1000), many(1000)},
		{"one label more", many(1001), nil},
		{"5,000 labels and annotations", many(5000), many(5000)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.Do(p.CoreV1().Nodes().Delete(t.Context(), "n1", metav1.DeleteOptions{}))
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: test.labels, Annotations: test.annotations}}
			forged := node.DeepCopy()
			metav1.SetMetaDataAnnotation(&forged.ObjectMeta, v1.AppliedAnnotation, "{}")
			_, err := kubelet.CoreV1().Nodes().Create(t.Context(), forged, metav1.CreateOptions{})
			policies.Refused(t, err, "annotation "+v1.AppliedAnnotation+": ")
			if _, err := kubelet.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
				t.Fatalf("a kubelet registers: %v", err)
			}
			p.Do(p.Patch(p, "n1", policies.Record(aRecord)))
			for who, api := range map[string]kubernetes.Interface{"a kubelet": kubelet, "who may write nodes": operator} {
				if err := p.Patch(api, "n1", map[string]any{"labels": map[string]any{"own": strings.ReplaceAll(who, " ", "-")}, "annotations": map[string]any{"own": who}}); err != nil {
					t.Errorf("%s changes a label and an annotation: %v", who, err)
				}
				for _, text := range []any{"{}", nil} {
					err := p.Patch(api, "n1", map[string]any{"annotations": map[string]any{v1.AppliedAnnotation: text, "own": "new"}})
					policies.Refused(t, err, "annotation "+v1.AppliedAnnotation+": ")
				}
			}
			if _, err := kubelet.CoreV1().Nodes().PatchStatus(t.Context(), "n1", []byte(`{"status":{"phase":"Running"}}`)); err != nil {
				t.Errorf("a heartbeat: %v", err)
			}
			if err := p.Patch(p, "n1", map[string]any{"annotations": map[string]any{v1.AppliedAnnotation: nil}, "labels": map[string]any{"own": nil}}); err != nil {
				t.Errorf("who has the right: %v", err)
			}
		})
	}
}

// A kubelet fills its node no further than the bound, by whatever request; everybody else may. What is
// larger already it may make smaller, and it goes on to report its status.
func TestAKubeletBringsNoMoreThanTheBound(t *testing.T) {
	const long = "example.com/long"
	p := newTest(t)
	p.Install()
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	large := map[string]string{
		"letters":    strings.Repeat("x", manifests.MaxKubeletAnnotations),
		"wide signs": strings.Repeat("\u4e16", manifests.MaxKubeletAnnotations/3),
		"quotes":     strings.Repeat(`"`, manifests.MaxKubeletAnnotations/2),
	}
	for name, value := range large {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Annotations: map[string]string{long: value}}}
		_, err := kubelet.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
		t.Run("create/"+name, func(t *testing.T) { tooMuch(t, err) })
	}
	p.Node("n1", nil, map[string]string{"example.com/own": "old", v1.AppliedAnnotation: aRecord})
	for _, way := range waysToWrite() {
		for name, value := range large {
			before := p.Get("n1")
			changed := before.DeepCopy()
			changed.Annotations[long] = value
			err := way.send(t.Context(), kubelet, before, changed, metav1.PatchOptions{})
			t.Run(way.name+"/"+name, func(t *testing.T) { tooMuch(t, err) })
		}
	}
	if has := p.Get("n1").Annotations[long]; has != "" {
		t.Errorf("%d bytes were written", len(has))
	}
	p.Do(p.Patch(p, "n1", map[string]any{"annotations": map[string]any{long: strings.Repeat("x", 200<<10)}}))
	annotate := func(key string, value any) error {
		return p.Patch(kubelet, "n1", map[string]any{"annotations": map[string]any{key: value}})
	}
	tooMuch(t, annotate("example.com/more", "x"))
	if _, err := kubelet.CoreV1().Nodes().PatchStatus(t.Context(), "n1", []byte(`{"status":{"phase":"Running"}}`)); err != nil {
		t.Errorf("a heartbeat of a full node: %v", err)
	}
	p.Do(annotate("example.com/own", nil))
	p.Do(annotate(long, strings.Repeat("x", 100<<10)))
	p.Do(annotate("example.com/more", "x"))
}

func tooMuch(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "the annotations of a node may take 128 KiB together where its kubelet writes them") {
		t.Errorf("not refused as too much: %v", err)
	}
}

// The rule compares texts, so what a kubelet writes into a value must neither pass
// for an entry of ours nor hide one.
func TestThePolicyIsNotDeceivedByValues(t *testing.T) {
	p := newTest(t)
	p.Install()
	p.Node("n1", nil, nil)
	kubelet := policies.KubeletOf(t, p.Cluster, "n1")
	ours := v1.Domain + `/applied":"` // as an entry begins in the text
	values := []string{
		`", "`, `, `, `\`, `\", "`, `"`, `{"`, `":"`, ``, ` `, "\x00\xc2\xa0", `"}`,
		`", "` + ours + `{}`, `, "` + ours + `{}", "`, `\", "` + ours, ours, `", "` + ours + aRecord + `", "`, aRecord,
	}
	for _, value := range values {
		for _, key := range []string{"a", "nodes.lailin.xyz.example.com/a", "z"} {
			for _, before := range []any{nil, `, `, value} {
				name := fmt.Sprintf("%s=%q, record %v", key, value, before)
				p.Do(p.Patch(p, "n1", map[string]any{"annotations": map[string]any{key: nil, v1.AppliedAnnotation: before}}))
				if err := p.Patch(kubelet, "n1", map[string]any{"annotations": map[string]any{key: value}}); err != nil {
					t.Errorf("%s: a kubelet's own annotation: %v", name, err)
				}
				for _, after := range []any{nil, aRecord, `, `, value} {
					if after == before {
						continue
					}
					for _, own := range []any{nil, value} {
						err := p.Patch(kubelet, "n1", map[string]any{"annotations": map[string]any{key: own, v1.AppliedAnnotation: after}})
						if !apierrors.IsForbidden(err) {
							t.Errorf("%s: with it %v, the record becomes %v: %v", name, own, after, err)
						}
					}
				}
			}
		}
	}
}

// Who has the right writes, by whatever role; who has only that to nodes does
// not; and it is the shipped role that gives it to the controller.
func TestWhoMayWriteOurDomain(t *testing.T) {
	p := newTest(t)
	p.Install()
	p.Node("n1", nil, nil)
	nodes := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"*"}}
	right := rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{manifests.NodeMetadataResource}, Verbs: []string{manifests.NodeMetadataVerb}}
	every := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	standard := rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"*"},
		Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}}
	less := slices.DeleteFunc(manifests.ClusterRules(), func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Resources, manifests.NodeMetadataResource)
	})
	for reason, test := range map[string]struct {
		rules   []rbacv1.PolicyRule
		allowed bool
	}{
		"the controller, by its role":               {manifests.ClusterRules(), true},
		"that role without the one rule":            {less, false},
		"a cluster administrator":                   {[]rbacv1.PolicyRule{every}, true},
		"somebody who may do all with nodes":        {[]rbacv1.PolicyRule{nodes}, false},
		"the same with the right":                   {[]rbacv1.PolicyRule{nodes, right}, true},
		"the same who may write every kind of ours": {[]rbacv1.PolicyRule{nodes, standard}, false},
	} {
		t.Run(reason, func(t *testing.T) {
			user := policies.UserOf(t, p.Cluster, p.UserWith(t, test.rules))
			err := p.Patch(user, "n1", policies.Record("{}"))
			switch {
			case test.allowed && err != nil:
				t.Errorf("refused: %v", err)
			case !test.allowed:
				policies.Refused(t, err, "annotation "+v1.AppliedAnnotation+": ")
			}
			p.Do(p.Patch(p, "n1", map[string]any{"annotations": nil}))
		})
	}
}

// Every subresource of a node that can be written as a node is matched, also one
// that a later Kubernetes brings.
func TestThePolicyMatchesEveryWriteOfANode(t *testing.T) {
	c := cluster.Shared(t)
	api, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	served, err := api.Discovery().ServerResourcesForGroupVersion("v1")
	if err != nil {
		t.Fatal(err)
	}
	policy := manifests.NodePolicy()[0].(*admissionv1.ValidatingAdmissionPolicy)
	matched := policy.Spec.MatchConstraints.ResourceRules[0].Resources
	found := 0
	for _, resource := range served.APIResources {
		name, _, _ := strings.Cut(resource.Name, "/")
		writes := slices.ContainsFunc(resource.Verbs, func(verb string) bool { return slices.Contains([]string{"create", "update", "patch"}, verb) })
		// To connect to a kubelet writes nothing, whatever the method is called.
		if name != "nodes" || !writes || resource.Kind == "NodeProxyOptions" {
			continue
		}
		found++
		if !slices.Contains(matched, resource.Name) {
			t.Errorf("%s (%s) can be written (%v) and is not matched", resource.Name, resource.Kind, resource.Verbs)
		}
	}
	if found != len(matched) {
		t.Errorf("%d resources are served of the %d that are matched", found, len(matched))
	}
}

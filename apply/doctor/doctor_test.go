package doctor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/nodepools/nodepools/api/crds"
	"github.com/nodepools/nodepools/api/hint"
	"github.com/nodepools/nodepools/api/manifests"
	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/api/wrap"
	"github.com/nodepools/nodepools/apply/plan"
)

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

const recordOf = `{"version":1,"pools":{"%s":{"labels":{"a":"b"}}}}`

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// healthy is an installation with a source, a pool and a node.
func healthy(t *testing.T) *State {
	t.Helper()
	s := &State{
		Server: "https://10.0.0.1:6443", Kubernetes: "v1.37.1", Version: "v1.2.3", Tag: "v1.2.3", Namespace: "here", Now: now,
		Definitions: map[string]*apiextensionsv1.CustomResourceDefinition{},
		Policies:    map[string]*admissionv1.ValidatingAdmissionPolicy{},
		Bindings:    map[string]*admissionv1.ValidatingAdmissionPolicyBinding{},
		Account:     &corev1.ServiceAccount{},
		Deployment:  manifests.Deployment(manifests.Options{Namespace: "here", Image: "registry.example.com:5000/nodepools:v1.2.3"}),
		Lease: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("pod-1"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: now.Add(-2 * time.Second)},
		}},
		Sources: []*v1.NodePoolSource{{ObjectMeta: metav1.ObjectMeta{Name: "platform"}, Status: v1.NodePoolSourceStatus{Conditions: []metav1.Condition{condition("Ready", "True", "Succeeded", "")}}}},
		Pools:   []*v1.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Status: v1.NodePoolStatus{Conditions: []metav1.Condition{condition("Ready", "True", "Succeeded", "")}}}},
		Nodes:   []*plan.NodeState{{Name: "n1", Annotations: map[string]string{v1.AppliedAnnotation: fmt.Sprintf(recordOf, "gpu")}}},
		Unread:  map[Check]error{},
	}
	s.Deployment.Status.ReadyReplicas, s.Deployment.Status.UpdatedReplicas = 2, 2
	s.MetricsService = manifests.Metrics("here", manifests.SecureMetrics)[0].(*corev1.Service)
	own, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range own {
		crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
		s.Definitions[crd.Name] = crd
	}
	for _, object := range append(manifests.NodePolicy(), manifests.StatusPolicy()...) {
		switch object := object.(type) {
		case *admissionv1.ValidatingAdmissionPolicy:
			s.Policies[object.Name] = object
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			s.Bindings[object.Name] = object
		}
	}
	return s
}

// rolledOut gives the pool a rollout with a window of an hour.
func rolledOut(s *State, open v1.Window) {
	open.Duration = metav1.Duration{Duration: time.Hour}
	s.Pools[0].Spec.Rollout = &v1.Rollout{Windows: []v1.Window{open}}
}

// drains has all pools drain their nodes.
func drains(s *State) {
	for _, pool := range s.Pools {
		pool.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}}
	}
}

// leaseIn is one of another namespace.
func leaseIn(namespace string, age time.Duration) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("pod-2"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: now.Add(-age)},
	}}
}

func TestHealthy(t *testing.T) {
	report := Examine(healthy(t))
	if !report.Healthy || len(report.Findings) != 10 {
		t.Errorf("healthy: %t, %d findings, want one for each of 10 checks: %+v", report.Healthy, len(report.Findings), report.Findings)
	}
	for _, f := range report.Findings {
		if f.Severity != OK {
			t.Errorf("%+v", f)
		}
	}
}

// What each thing that goes wrong leads to, beside what is well.
func TestFindings(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string, others ...metav1.Condition) []metav1.Condition {
		return append([]metav1.Condition{condition("Ready", status, reason, "message of "+reason)}, others...)
	}
	const crd = "nodepools.nodes.lailin.xyz"
	for name, test := range map[string]struct {
		change func(s *State)
		// severity, object and a part of message and action of all that is not ok
		want []string
	}{
		"no definition": {func(s *State) { delete(s.Definitions, crd) }, []string{"problem crd/" + crd + " not installed|--crds-only"}},
		"a neighbour with our plural": {func(s *State) { s.Neighbours = []string{"nodepools.karpenter.sh"} },
			[]string{"note nodepools.karpenter.sh the same plural|name ours nodepools.nodes.lailin.xyz and nodepoolsources.nodes.lailin.xyz"}},
		"definition not served": {func(s *State) { s.Definitions[crd].Status.Conditions = nil }, []string{"problem crd/" + crd + " not served|kubectl describe"}},
		"definition that goes":  {func(s *State) { s.Definitions[crd].DeletionTimestamp = &metav1.Time{Time: now} }, []string{"problem crd/" + crd + " is being deleted|kubectl describe"}},
		"a policy with an exception": {func(s *State) {
			s.Policies["nodepools"].Spec.MatchConstraints.ExcludeResourceRules = s.Policies["nodepools"].Spec.MatchConstraints.ResourceRules
		}, []string{"problem validatingadmissionpolicy/nodepools is not that of this program|nodepools install"}},
		"a policy for some objects": {func(s *State) {
			s.Policies["nodepools"].Spec.MatchConstraints.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		}, []string{"problem validatingadmissionpolicy/nodepools is not that of this program|nodepools install"}},
		"a policy as it is stored": {func(s *State) {
			match := s.Policies["nodepools"].Spec.MatchConstraints
			match.ObjectSelector, match.NamespaceSelector, match.MatchPolicy = &metav1.LabelSelector{}, &metav1.LabelSelector{}, ptr.To(admissionv1.Equivalent)
		}, nil},
		"definition of an upgrade": {func(s *State) { s.Definitions[crd].Spec.Versions[0].Name = "v9" }, []string{"problem crd/" + crd + " another version|--crds-only"}},
		"no policy":                {func(s *State) { delete(s.Policies, "nodepools") }, []string{"problem validatingadmissionpolicy/nodepools a kubelet can write|nodepools install"}},
		"another policy": {func(s *State) { s.Policies["nodepools-status"].Spec.Validations[0].Expression = "true" },
			[]string{"problem validatingadmissionpolicy/nodepools-status is not that of this program|nodepools install"}},
		"a policy without force": {func(s *State) { delete(s.Bindings, "nodepools-status") }, []string{"problem validatingadmissionpolicybinding/nodepools-status not in force|nodepools install"}},
		"a policy that only warns": {func(s *State) {
			s.Bindings["nodepools"].Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
		},
			[]string{"problem validatingadmissionpolicybinding/nodepools does not deny|nodepools install"}},
		"a right is missing": {func(s *State) { s.Missing = []string{"patch nodes", "list pods"} }, []string{"problem serviceaccount/nodepools may not patch nodes, nor list pods|nodepools install"}},
		"drains without the rights": {func(s *State) { drains(s); s.MissingForDrains = []string{"list pods", "create pods/eviction"} },
			[]string{"problem serviceaccount/nodepools may not list pods, nor create pods/eviction, so nodes cannot be drained for pool gpu|add --rollout to 'nodepools install'"}},
		"many drains without one of the rights": {func(s *State) {
			s.Pools[0].Name = "e"
			for _, name := range []string{"d", "c", "b", "a"} {
				pool := s.Pools[0].DeepCopy()
				pool.Name, s.Nodes = name, nil
				s.Pools = append(s.Pools, pool)
			}
			drains(s)
			s.MissingForDrains = []string{"create pods/eviction"}
		}, []string{"problem serviceaccount/nodepools may not create pods/eviction, so nodes cannot be drained for the pools a, b, c and 2 more|rollout.enabled=true"}},
		"drains without any right": {func(s *State) {
			drains(s)
			s.Missing, s.MissingForDrains = []string{"patch nodes"}, []string{"list pods"}
		}, []string{"problem serviceaccount/nodepools may not patch nodes|nodepools install", "problem serviceaccount/nodepools may not list pods, so|--rollout"}},
		"drains with the rights":               {drains, nil},
		"no rights for drains, and none asked": {func(s *State) { s.MissingForDrains = []string{"list pods"} }, nil},
		"the controller elsewhere": {func(s *State) { s.Account, s.Deployment = nil, nil },
			[]string{"note  there is no ServiceAccount|--namespace", "note  there is no Deployment|--namespace", "note  runs elsewhere|"}},
		"no replica is ready":  {func(s *State) { s.Deployment.Status.ReadyReplicas = 0 }, []string{"problem deployment/nodepools no replica that is ready|kubectl logs"}},
		"one replica is ready": {func(s *State) { s.Deployment.Status.ReadyReplicas = 1 }, []string{"note deployment/nodepools 1 of 2|kubectl describe"}},
		"scaled to nothing":    {func(s *State) { s.Deployment.Spec.Replicas = ptr.To[int32](0) }, []string{"problem deployment/nodepools has no replicas|kubectl scale"}},
		"a rollout that is stuck": {func(s *State) {
			s.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: "False", Message: "progress deadline"}}
		}, []string{"problem deployment/nodepools rollout, and what is ready may be of before it: progress deadline|kubectl logs"}},
		"pods that are refused": {func(s *State) {
			s.Deployment.Status.ReadyReplicas = 0
			s.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: "True", Message: "exceeded quota"}}
		}, []string{"problem deployment/nodepools that is ready: exceeded quota|kubectl logs"}},
		"a rollout under way":                {func(s *State) { s.Deployment.Status.UpdatedReplicas = 1 }, []string{"note deployment/nodepools a rollout is under way|kubectl describe"}},
		"a Deployment that has just changed": {func(s *State) { s.Deployment.Generation = 1 }, []string{"note deployment/nodepools a rollout is under way|kubectl describe"}},
		"another account": {func(s *State) {
			s.Deployment.Spec.Template.Spec.ServiceAccountName, s.Missing = "other", []string{"patch nodes"}
		}, []string{"problem serviceaccount/other may not patch nodes|nodepools install"}},
		"no account": {func(s *State) {
			s.Deployment.Spec.Template.Spec.ServiceAccountName, s.Account = "", nil
		}, []string{"note  there is no ServiceAccount default|--namespace"}},
		"no lease":              {func(s *State) { s.Lease = nil }, []string{"problem  there is none in here|--namespace"}},
		"a lease that was left": {func(s *State) { s.Lease.Spec.HolderIdentity = ptr.To("") }, []string{"problem lease/nodepools nobody holds it|log"}},
		"a lease that ran out":  {func(s *State) { s.Lease.Spec.RenewTime.Time = now.Add(-18 * time.Second) }, []string{"problem lease/nodepools 18s ago, by pod-1|log"}},
		"a lease that may be":   {func(s *State) { s.Lease.Spec.RenewTime.Time = now.Add(-17 * time.Second) }, nil},
		"a lease of the future": {func(s *State) { s.Lease.Spec.RenewTime.Time = now.Add(time.Hour) }, []string{"problem lease/nodepools 1h0m0s ahead of the API server's|log"}},
		"clocks that differ":    {func(s *State) { s.Renewed = true; s.Lease.Spec.RenewTime.Time = now.Add(-time.Hour) }, nil},
		"two that work": {func(s *State) { s.OtherLeases = []*coordinationv1.Lease{leaseIn("there", time.Second)} },
			[]string{"problem lease/nodepools that of the namespace there by pod-2: two controllers|scale"}},
		"one that worked":        {func(s *State) { s.OtherLeases = []*coordinationv1.Lease{leaseIn("there", time.Hour)} }, nil},
		"the lease is elsewhere": {func(s *State) { s.Lease, s.OtherLeases = nil, []*coordinationv1.Lease{leaseIn("there", time.Second)} }, []string{"problem  but there has one|--namespace there"}},
		"no metrics": {func(s *State) {
			c := &s.Deployment.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "--metrics-bind-address=0")
		}, []string{"note  told to serve none|"}},
		"metrics that no Service finds": {func(s *State) { s.MetricsService = nil }, []string{"note  there is no Service nodepools-metrics in here|nodepools install"}},
		"a Service of other pods": {func(s *State) { s.MetricsService.Spec.Selector["app.kubernetes.io/name"] = "other" },
			[]string{"problem service/nodepools-metrics a selector that no pod of the controller matches|nodepools install"}},
		"a Service without a selector": {func(s *State) { s.MetricsService.Spec.Selector = nil }, []string{"problem service/nodepools-metrics no pod of the controller|nodepools install"}},
		"a Service of another port": {func(s *State) { s.MetricsService.Spec.Ports[0].TargetPort = intstr.FromInt32(8080) },
			[]string{"problem service/nodepools-metrics no port that one of them has|nodepools install"}},
		"a Service by the number of the port": {func(s *State) { s.MetricsService.Spec.Ports[0].TargetPort = intstr.FromInt32(8443) }, nil},
		"another container":                   {func(s *State) { s.Deployment.Spec.Template.Spec.Containers[0].Name = "other" }, []string{"note  no container nodepools|"}},
		"an old Kubernetes":                   {func(s *State) { s.Kubernetes = "v1.29.9-gke.1" }, []string{"problem  1.30.0 is required|upgrade"}},
		"another version":                     {func(s *State) { s.Tag, s.Version = "v1.2.4", "v1.2.4" }, []string{"note deployment/nodepools runs v1.2.3, and this program is v1.2.4|"}},
		"a development build":                 {func(s *State) { s.Tag = "" }, nil},
		"an image by its digest": {func(s *State) {
			s.Deployment.Spec.Template.Spec.Containers[0].Image = "registry.example.com:5000/n@sha256:0"
		}, nil},

		"a source that fails": {func(s *State) { s.Sources[0].Status.Conditions = ready("False", "Unauthorized") }, []string{"problem nodepoolsources.nodes.lailin.xyz/platform Unauthorized: message|docs/troubleshooting.md"}},
		"a source that is held": {func(s *State) {
			s.Sources[0].Status.Conditions = ready("True", "Succeeded", condition("PruneBlocked", "True", "PruneBlocked", "m"))
		}, []string{"problem nodepoolsources.nodes.lailin.xyz/platform PruneBlocked, PruneBlocked: m|approve"}},
		"said twice, and reported once": {func(s *State) {
			s.Sources[0].Status.Conditions = ready("False", "PruneBlocked", condition("PruneBlocked", "True", "PruneBlocked", "m"))
		}, []string{"problem nodepoolsources.nodes.lailin.xyz/platform PruneBlocked: message|approve"}},
		"a webhook that fails": {func(s *State) {
			s.Sources[0].Status.Conditions = ready("True", "Succeeded", condition("WebhookReady", "False", "WebhookDisabled", "m"))
		}, []string{"problem nodepoolsources.nodes.lailin.xyz/platform webhook does not work, WebhookDisabled|interval"}},
		"a source is suspended":   {func(s *State) { s.Sources[0].Status.Conditions = ready("False", "Suspended") }, []string{"note nodepoolsources.nodes.lailin.xyz/platform Suspended|"}},
		"a poll that is not made": {func(s *State) { s.Sources[0].Annotations = map[string]string{v1.RequestedAtAnnotation: "1"} }, []string{"note nodepoolsources.nodes.lailin.xyz/platform has not ended yet|log"}},
		"a poll that was made": {func(s *State) {
			s.Sources[0].Annotations, s.Sources[0].Status.LastHandledReconcileAt = map[string]string{v1.RequestedAtAnnotation: "1"}, "1"
		}, nil},
		"no sources": {func(s *State) { s.Sources = nil }, []string{"note  come from no repository|"}},
		"a conflict": {func(s *State) {
			s.Pools[0].Status.Conditions = ready("False", "Conflict", condition("Conflicted", "True", "Conflict", "m"))
		}, []string{"problem nodepools.nodes.lailin.xyz/gpu Conflict: message|explain node"}},
		"a fight": {func(s *State) {
			s.Pools[0].Status.Conditions = ready("False", "Contested", condition("Contested", "True", "Contested", "m"))
		}, []string{"problem nodepools.nodes.lailin.xyz/gpu Contested: message|other controller"}},
		"a conflict and a fight": {func(s *State) {
			s.Pools[0].Status.Conditions = ready("False", "Contested", condition("Conflicted", "True", "Conflict", "m"))
		}, []string{"problem nodepools.nodes.lailin.xyz/gpu Contested: message|other controller", "problem nodepools.nodes.lailin.xyz/gpu Conflicted, Conflict: m|priority"}},
		"a deletion that is approved": {func(s *State) {
			for _, object := range []metav1.Object{s.Pools[0], s.Sources[0]} {
				object.SetAnnotations(map[string]string{v1.ApproveReleaseAnnotation: v1.DeletionApproval})
			}
		}, []string{"note nodepoolsources.nodes.lailin.xyz/platform its deletion is approved|kubectl annotate nodepoolsources.nodes.lailin.xyz/platform nodes.lailin.xyz/approveRelease-",
			"note nodepools.nodes.lailin.xyz/gpu its deletion is approved|kubectl annotate nodepools.nodes.lailin.xyz/gpu nodes.lailin.xyz/approveRelease-"}},
		"an approved deletion under way": {func(s *State) {
			s.Pools[0].Annotations = map[string]string{v1.ApproveReleaseAnnotation: v1.DeletionApproval}
			s.Pools[0].DeletionTimestamp = &metav1.Time{Time: now}
		}, nil},
		"a pool under way":        {func(s *State) { s.Pools[0].Status.Conditions = ready("False", "Progressing") }, []string{"note nodepools.nodes.lailin.xyz/gpu Progressing|"}},
		"a pool without status":   {func(s *State) { s.Pools[0].Status.Conditions = nil }, []string{"problem nodepools.nodes.lailin.xyz/gpu no controller has reported|lease"}},
		"a pool that has changed": {func(s *State) { s.Pools[0].Generation = 2; s.Pools[0].Status.ObservedGeneration = 1 }, []string{"note nodepools.nodes.lailin.xyz/gpu has changed|"}},

		"a pool that waits": {func(s *State) {
			rolledOut(s, v1.Window{Schedule: "0 2 * * *"})
			s.Pools[0].Status.Conditions = ready("False", "WaitingForWindow")
			s.Pools[0].Status.Rollout = &v1.RolloutStatus{Waiting: 2, NextWindow: &metav1.Time{Time: now.Add(14 * time.Hour)}}
		}, []string{"note nodepools.nodes.lailin.xyz/gpu WaitingForWindow: message|"}},
		"a pool that waits, and is in conflict": {func(s *State) {
			rolledOut(s, v1.Window{Schedule: "0 2 * * *"})
			s.Pools[0].Status.Conditions = ready("False", "Conflict")
			s.Pools[0].Status.Rollout = &v1.RolloutStatus{Waiting: 2, NextWindow: &metav1.Time{Time: now.Add(14 * time.Hour)}}
		}, []string{"problem nodepools.nodes.lailin.xyz/gpu Conflict: message|priority", "note nodepools.nodes.lailin.xyz/gpu on 2 nodes; the next opening is 2026-11-26T02:00:00Z|"}},
		"a rollout of an unknown zone": {func(s *State) { rolledOut(s, v1.Window{Schedule: "0 2 * * *", TimeZone: "Mars/Olympus"}) },
			[]string{"problem nodepools.nodes.lailin.xyz/gpu spec.rollout cannot be read: windows[0]: |IANA"}},
		"a rollout that never opens": {func(s *State) {
			s.Pools[0].Spec.Rollout = &v1.Rollout{Exclusions: []v1.Exclusion{{Start: &metav1.Time{Time: now.Add(-time.Hour)}, End: &metav1.Time{Time: now.AddDate(100, 0, 0)}}}}
		}, []string{"problem nodepools.nodes.lailin.xyz/gpu no opening of spec.rollout was found|windows PATH"}},
		"rollouts that are never open together": {func(s *State) {
			rolledOut(s, v1.Window{Schedule: "0 2 * * *"})
			s.Pools[0].Status.Conditions = ready("False", "WaitingForWindow")
			s.Pools[0].Status.Rollout = &v1.RolloutStatus{Waiting: 1}
		}, []string{"problem nodepools.nodes.lailin.xyz/gpu on 1 node, and no time was found|Reconciling", "note nodepools.nodes.lailin.xyz/gpu WaitingForWindow: message|"}},
		"a wave that no node is in": {func(s *State) {
			s.Nodes[0].Labels = map[string]string{"node-role.kubernetes.io/gpu": ""}
			s.Pools[0].Spec.Rollout = &v1.Rollout{Waves: []v1.Wave{{Name: "canary", Selector: &v1.WaveSelector{MatchLabels: map[string]v1.LabelValue{"zone": "A"}}}}}
		}, []string{"note nodepools.nodes.lailin.xyz/gpu no node of pool \"gpu\" is in its wave canary; those after it begin without it|selector"}},
		"a rollout for which nothing waits": {func(s *State) { rolledOut(s, v1.Window{Schedule: "0 2 * * *"}) }, nil},

		"an unreadable record":     {func(s *State) { s.Nodes[0].Annotations[v1.AppliedAnnotation] = "{" }, []string{"problem node/n1 cannot be read|repair"}},
		"a record of the future":   {func(s *State) { s.Nodes[0].Annotations[v1.AppliedAnnotation] = `{"version":99}` }, []string{"problem node/n1 later version of nodepools|later version"}},
		"a pool that is gone":      {func(s *State) { s.Nodes[0].Annotations[v1.AppliedAnnotation] = fmt.Sprintf(recordOf, "gone") }, []string{"problem node/n1 never released: gone|create the pool again"}},
		"pools that are not known": {func(s *State) { s.Pools, s.Unread[Pools] = nil, errors.New("this user may not list nodepools") }, []string{"unknown  not checked: this user may not|"}},
		"a paused node":            {func(s *State) { s.Nodes[0].Annotations[v1.ReconcileAnnotation] = "disabled" }, []string{"note node/n1 is paused|kubectl annotate"}},
		"what cannot be read": {func(s *State) { s.Unread[Lease] = hint.Add(errors.New("this user may not get leases"), "ask somebody") },
			[]string{"unknown  not checked: this user may not get leases|ask somebody"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthy(t)
			test.change(s)
			report := Examine(s)
			var rest []Finding
			problems := false
			for _, f := range report.Findings {
				if f.Severity != OK {
					rest = append(rest, f)
				}
				problems = problems || f.Severity == Problem
			}
			if report.Healthy == problems {
				t.Errorf("healthy: %t", report.Healthy)
			}
			if len(rest) != len(test.want) {
				t.Fatalf("got %+v, want %q", rest, test.want)
			}
			for i, f := range rest {
				want, action, _ := strings.Cut(test.want[i], "|")
				severity, want, _ := strings.Cut(want, " ")
				object, message, _ := strings.Cut(want, " ")
				if string(f.Severity) != severity || f.Object != object || !strings.Contains(f.Message, message) || !strings.Contains(f.Action, action) {
					t.Errorf("got %+v, want %s", f, test.want[i])
				}
			}
		})
	}
}

// Every change is of one check: the others say that all is well, once each.
func TestEveryCheckIsReported(t *testing.T) {
	s := healthy(t)
	for range 25 {
		s.Nodes = append(s.Nodes, &plan.NodeState{Name: "bad", Annotations: map[string]string{v1.AppliedAnnotation: "{"}})
	}
	counts := map[Check]int{}
	for _, f := range Examine(s).Findings {
		counts[f.Check]++
	}
	want := map[Check]int{Definitions: 1, Policies: 1, Rights: 1, Controller: 1, Lease: 1, Metrics: 1, Versions: 1, Sources: 1, Pools: 1, Nodes: maxFindings + 1}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("findings by check (-want +got):\n%s", diff)
	}
}

// Who may not read all is not told that all is well.
func TestTextOfWhatIsNotKnown(t *testing.T) {
	s := healthy(t)
	s.Unread[Pools], s.Unread[Nodes] = errors.New("this user may not list nodepools"), errors.New("this user may not list nodes")
	var text strings.Builder
	if err := Examine(s).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if want := "\n\nnothing wrong was found in https://10.0.0.1:6443, of which 2 of the checks could not be made\n"; !strings.HasSuffix(text.String(), want) {
		t.Errorf("%q is missing in\n%s", want, text.String())
	}
}

// What is said to be well is no more than what was observed.
func TestNoMoreIsSaidThanIsKnown(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *State)
		check  Check
		want   string
	}{
		"metrics by TLS": {func(*State) {}, Metrics, "the controller is told to serve them, by TLS to those who may read, and service/nodepools-metrics leads to it; they were not read"},
		"metrics in the clear": {func(s *State) {
			c := &s.Deployment.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "--metrics-secure=false")
		}, Metrics, "the controller is told to serve them, in the clear to everybody, and service/nodepools-metrics leads to it; they were not read"},
		"rights": {func(s *State) { s.MissingForDrains = []string{"list pods"} }, Rights, "the controller has all that it needs"},
		"rights for pools that are not known": {func(s *State) {
			s.MissingForDrains, s.Pools, s.Unread[Pools] = []string{"list pods"}, nil, errors.New("this user may not list nodepools")
		}, Rights, "the controller has all that it needs, unless a pool has rollout.drain: pools could not be read"},
	} {
		s := healthy(t)
		test.change(s)
		for _, f := range Examine(s).Findings {
			if f.Check == test.check && (f.Severity != OK || f.Message != test.want) {
				t.Errorf("%s: %s: %s, want %q", name, f.Severity, f.Message, test.want)
			}
		}
	}
}

// What others have written does nothing to a terminal, and no line is too wide for one.
func TestText(t *testing.T) {
	s := healthy(t)
	s.Pools[0].Status.Conditions = []metav1.Condition{condition("Ready", "False", "Conflict", "a\x1b[31mred\n::error::forged "+strings.Repeat("many words ", 200))}
	s.Deployment = &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2)}}
	var text strings.Builder
	if err := Examine(s).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text.String(), "\x1b") || strings.Contains(text.String(), "\n::") {
		t.Errorf("hostile text gets through:\n%s", text.String())
	}
	for line := range strings.Lines(text.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > wrap.Width {
			t.Errorf("too wide: %s", line)
		}
	}
	for _, want := range []string{
		"ok       definitions: both are those of this program\n",
		"problem  nodepools.nodes.lailin.xyz/gpu: Conflict: a\\x1b[31mred",
		"         -> give one pool a higher priority",
		"\n\n2 problems in https://10.0.0.1:6443\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}

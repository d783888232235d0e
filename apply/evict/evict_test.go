package evict

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/apply/plan"
)

// lists and refuses are an API server with webhooks that refuse evictions in many ways; what a
// real one does is tried by TestEvictions of package controller.
type lists struct{ pods []corev1.Pod }

func (l lists) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("not asked")
}

func (l lists) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.PodList).Items = l.pods
	return nil
}

type refuses struct {
	client.SubResourceWriter
	evicted map[string]bool
	refusal map[string]error
}

func (r refuses) Create(_ context.Context, pod client.Object, _ client.Object, _ ...client.SubResourceCreateOption) error {
	if err := r.refusal[pod.GetName()]; err != nil {
		return err
	}
	r.evicted[pod.GetName()] = true
	return nil
}

func podNamed(name string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: "u"}}
}

var drain = &plan.Drain{Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoExecute}}}

// An admission webhook refuses the eviction of one pod: that is 403, too, and says nothing of
// rights; the others go.
func TestOneRefusalStopsNoOtherEviction(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	for name, refusal := range map[string]error{
		"a webhook denies it": apierrors.NewForbidden(resource, "first", errors.New(`admission webhook "guard.example.com" denied the request`)),
		"bad request":         apierrors.NewBadRequest("admission webhook denied the request"),
		"webhook times out":   apierrors.NewTimeoutError("webhook", 1),
	} {
		writer := refuses{evicted: map[string]bool{}, refusal: map[string]error{"first": refusal}}
		left, err := Pods(t.Context(), lists{[]corev1.Pod{podNamed("first"), podNamed("second")}}, writer, "n", drain, &plan.Evictions{}, time.Now())
		if !writer.evicted["second"] {
			t.Errorf("%s: the second pod is never evicted: %v, %v", name, left, err)
		}
		if name == "a webhook denies it" && errors.Is(err, ErrNoRights) {
			t.Errorf("%s: it says %q", name, err)
		}
	}
}

// What became of an eviction is known by what the API server answers.
func TestResults(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	want := map[string]Result{"evicted": Evicted, "blocked": Blocked, "gone": Gone, "another": Gone, "failed": Failed}
	writer := refuses{evicted: map[string]bool{}, refusal: map[string]error{
		"blocked": apierrors.NewTooManyRequests("a budget", 1),
		"gone":    apierrors.NewNotFound(resource, "gone"),
		"another": apierrors.NewConflict(resource, "another", errors.New("the UID is another one")),
		"failed":  apierrors.NewInternalError(errors.New("two budgets")),
	}}
	var pods []corev1.Pod
	for name := range want {
		pods = append(pods, podNamed(name))
	}
	left, err := Pods(t.Context(), lists{pods}, writer, "n", drain, &plan.Evictions{}, time.Now())
	if err != nil || len(left) != len(want) {
		t.Fatal(left, err)
	}
	for _, pod := range left {
		if pod.Result != want[pod.Name] || (pod.Reason == "") != (pod.Result == Evicted || pod.Result == Gone) {
			t.Errorf("%s: %d, %q", pod.Name, pod.Result, pod.Reason)
		}
	}
}

// A pod that is being deleted is still there, and is not evicted once more: by its taints,
// Kubernetes would end it by its name, and so the next pod of that name, wherever that is.
func TestPodsThatAreBeingDeletedAreWaitedFor(t *testing.T) {
	going, tolerates := podNamed("going"), podNamed("tolerates")
	until := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC))
	going.DeletionTimestamp, tolerates.DeletionTimestamp = &until, &until
	tolerates.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	writer := refuses{evicted: map[string]bool{}}
	left, err := Pods(t.Context(), lists{[]corev1.Pod{going, tolerates}}, writer, "n", drain, &plan.Evictions{}, time.Now())
	if err != nil || len(left) != 1 || left[0].Result != NotAsked || len(writer.evicted) > 0 {
		t.Fatalf("left are %v, %v, and evicted %v", left, err, writer.evicted)
	}
	if got, want := left[0].String(), "pod a/going: it is being deleted, and was to be gone by 2026-03-01T12:00:30Z"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// A pod of a DaemonSet that tolerates NoSchedule taints would be put back on the node as often
// as it is evicted.
func TestDaemonSetsAreLeftAlone(t *testing.T) {
	pod := podNamed("agent")
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", Controller: new(true)}}
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	writer := refuses{evicted: map[string]bool{}}
	if left, _ := Pods(t.Context(), lists{[]corev1.Pod{pod}}, writer, "n", drain, &plan.Evictions{}, time.Now()); writer.evicted["agent"] {
		t.Errorf("it is evicted, and comes again: the twin does not keep it off; left: %v", left)
	}
}

package controller

import (
	"context"
	"errors"
	"testing"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// noKata keeps everybody from making RuntimeClasses of one handler.
const noKata = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-kata}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [node.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [runtimeclasses]}
  validations:
  - {expression: "object.handler != 'kata'", message: "kata is not for this cluster"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-kata}
spec: {policyName: no-kata, validationActions: [Deny]}
`

// A handler that the API server will not take must not cost the pool the
// RuntimeClass that it has: pods that name it could not be created any more.
func TestRefusedHandlerKeepsTheRuntimeClass(t *testing.T) {
	w := newWorld(t)
	w.node("n1", role("tenant"))
	w.pool(tenantPool)
	w.isReady("tenant", 1)
	class := &nodev1.RuntimeClass{}
	name := client.ObjectKey{Name: v1.RuntimeClassName("tenant")}
	w.do(w.Get(t.Context(), name, class))

	_, err := w.cluster.Apply(t.Context(), noKata)
	w.do(err)
	try := func() error {
		kata := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "try"}, Handler: "kata"}
		return w.Create(context.Background(), kata, client.DryRunAll)
	}
	t.Cleanup(func() {
		_, err := w.cluster.Kubectl(context.Background(), "delete", "--ignore-not-found",
			"validatingadmissionpolicybinding,validatingadmissionpolicy", "no-kata")
		w.do(err)
		// The API server forgets a policy a moment later, and the next test would meet
		// it: what is refused is tried again only after a while.
		w.eventually("the policy is not in force any more", try)
	})
	w.eventually("the policy is in force", func() error {
		if try() == nil {
			return errors.New("a RuntimeClass was made")
		}
		return nil
	})

	w.change("tenant", func(pool *v1.NodePool) { pool.Spec.Handler = "kata" })
	w.isStalled("tenant", v1.RuntimeClassReason, "kata is not for this cluster")
	stands := &nodev1.RuntimeClass{}
	w.do(w.Get(t.Context(), name, stands))
	if stands.UID != class.UID || stands.Handler != class.Handler {
		t.Errorf("RuntimeClass is now %s of handler %s, want the one of handler %s to stand", stands.UID, stands.Handler, class.Handler)
	}

	w.change("tenant", func(pool *v1.NodePool) { pool.Spec.Handler = "gvisor" })
	w.isReady("tenant", 1)
	w.do(w.Get(t.Context(), name, stands))
	if stands.Handler != "gvisor" {
		t.Errorf("handler is %s, want gvisor", stands.Handler)
	}
}

// Killed between the deletion of a RuntimeClass and the creation of the next one,
// the loops find on the pool what others had set.
func TestInterruptedReplacementLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.pool(tenantPool)
	w.isReady("tenant", 0)
	w.stop()
	// The old one is gone, and what others had set on it is noted.
	w.change("tenant", func(pool *v1.NodePool) {
		pool.Spec.Handler = "kata"
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, v1.InheritanceAnnotation,
			`{"labels":{"theirs":"label"},"annotations":{"theirs":"annotation"},"overhead":{"podFixed":{"memory":"120Mi"}}}`)
	})
	w.do(w.Delete(t.Context(), w.runtimeClass("node-pool-tenant")))
	w.start()
	w.eventually("the pool has no note any more", func() error {
		pool := &v1.NodePool{}
		if err := w.Get(t.Context(), client.ObjectKey{Name: "tenant"}, pool); err != nil {
			return err
		}
		if note := pool.Annotations[v1.InheritanceAnnotation]; note != "" {
			return errors.New(note)
		}
		return nil
	})
	class := w.runtimeClass("node-pool-tenant")
	if class.Handler != "kata" || class.Labels["theirs"] != "label" || class.Annotations["theirs"] != "annotation" ||
		class.Overhead == nil || class.Overhead.PodFixed.Memory().String() != "120Mi" {
		t.Errorf("RuntimeClass is %+v", class)
	}
	w.isReady("tenant", 0)
	w.staysQuiet()
}

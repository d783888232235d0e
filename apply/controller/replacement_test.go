package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	w.approvedPool(tenantPool)
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
// the loops find in the status of the pool what others had set.
func TestInterruptedReplacementLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.approvedPool(tenantPool)
	w.isReady("tenant", 0)
	w.stop()
	// The old one is gone, and what others had set on it is noted.
	w.change("tenant", func(pool *v1.NodePool) { pool.Spec.Handler = "kata" })
	before := w.runtimeClass("node-pool-tenant")
	w.noteReplaced("tenant", &v1.ReplacedRuntimeClass{
		UID: before.UID, Labels: map[string]string{"theirs": "label"}, Annotations: map[string]string{"theirs": "annotation"}, Overhead: overheadOf("120Mi"),
	})
	w.do(w.Delete(t.Context(), before))
	w.start()
	w.eventually("the pool has no note any more", func() error {
		pool := &v1.NodePool{}
		if err := w.Get(t.Context(), client.ObjectKey{Name: "tenant"}, pool); err != nil {
			return err
		}
		if note := pool.Status.ReplacedRuntimeClass; note != nil {
			return fmt.Errorf("%+v", note)
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

// noteReplaced leaves a pool as loops leave it that are killed while they replace its
// RuntimeClass.
func (w *world) noteReplaced(pool string, replaced *v1.ReplacedRuntimeClass) {
	w.t.Helper()
	noted := &v1.NodePool{}
	w.do(w.Get(w.t.Context(), client.ObjectKey{Name: pool}, noted))
	before := noted.DeepCopy()
	noted.Status.ReplacedRuntimeClass = replaced
	w.do(w.Status().Patch(w.t.Context(), noted, client.MergeFrom(before), client.FieldOwner(v1.FieldManager)))
}

func overheadOf(memory string) *nodev1.Overhead {
	return &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}}
}

// Somebody who may write pools, and no RuntimeClass, gives the RuntimeClass of a
// pool neither an overhead nor labels: not by an annotation, which was enough once,
// and not by a status that comes with the pool.
func TestAPoolGivesItsRuntimeClassNoOverhead(t *testing.T) {
	w := newWorld(t)
	forged := parsePool(t, tenantPool)
	forged.Annotations = map[string]string{"nodes.lailin.xyz/inheritance": `{"labels":{"forged":"x"},"overhead":{"podFixed":{"memory":"1Ti"}}}`}
	forged.Status.ReplacedRuntimeClass = &v1.ReplacedRuntimeClass{UID: "1", Labels: map[string]string{"forged": "x"}, Overhead: overheadOf("1Ti")}
	w.do(w.Create(t.Context(), forged))
	w.isReady("tenant", 0)
	class := w.runtimeClass("node-pool-tenant")
	if class.Overhead != nil || class.Labels["forged"] != "" {
		t.Errorf("RuntimeClass has the labels %v and the overhead %v", class.Labels, class.Overhead)
	}

	// Nor do they by updating a pool that is there.
	w.stop()
	w.change("tenant", func(pool *v1.NodePool) {
		pool.Spec.Handler = "kata"
		pool.Status.ReplacedRuntimeClass = &v1.ReplacedRuntimeClass{UID: class.UID, Overhead: overheadOf("1Ti")}
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, "nodes.lailin.xyz/inheritance", `{"uid":"`+string(class.UID)+`","overhead":{"podFixed":{"memory":"1Ti"}}}`)
	})
	w.do(w.Delete(t.Context(), class))
	w.start()
	w.isReady("tenant", 0)
	if class := w.runtimeClass("node-pool-tenant"); class.Handler != "kata" || class.Overhead != nil {
		t.Errorf("RuntimeClass is of handler %s, with the overhead %v", class.Handler, class.Overhead)
	}
}

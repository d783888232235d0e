package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply"
	"github.com/nodepools/nodepools/apply/plan"
	"github.com/nodepools/nodepools/render"
)

// refusals is a policy of the cluster's administrator that no repository knows:
// pools of the tier "forbidden" are refused, and pools whose name begins with
// "keep" are not deleted.
const refusals = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refusals}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [nodes.lailin.xyz], apiVersions: [v1], resources: [nodepools], operations: [CREATE, UPDATE, DELETE]}
  validations:
  - expression: request.operation != 'DELETE' || !oldObject.metadata.name.startsWith('keep')
    message: this pool is kept
  - expression: request.operation == 'DELETE' || !has(object.spec.labels) || !object.spec.labels.exists(k, object.spec.labels[k] == 'forbidden')
    message: this tier is forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refusals}
spec: {policyName: refusals, validationActions: [Deny]}
`

// refuse makes the API server refuse what the policy says, until it is lifted or
// the test ends.
func (w *gitWorld) refuse() (lift func()) {
	w.t.Helper()
	ctx := context.Background() // the test's own ends before what it cleans up
	_, err := w.cluster.Apply(ctx, refusals)
	w.do(err)
	probe := parsePool(w.t, poolFile("probe", "forbidden"))
	inForce := func(want bool) func() error {
		return func() error {
			if err := w.Create(ctx, probe.DeepCopy(), client.DryRunAll); (err != nil) != want {
				return fmt.Errorf("a forbidden pool gives %v", err)
			}
			return nil
		}
	}
	lift = sync.OnceFunc(func() {
		_, err := w.cluster.Kubectl(ctx, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "refusals")
		w.do(err)
		w.eventually("the policy is lifted", inForce(false))
	})
	w.t.Cleanup(lift)
	w.eventually("the policy is in force", inForce(true))
	return lift
}

// A revision of which the API server refuses one change changes nothing, and
// goes through once it no longer does.
func TestGitRefusedByTheServer(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	for _, name := range []string{"a", "z", "keep"} {
		w.node(name+"1", role(name))
	}
	good := repo.commit(files{"pools/a.yaml": poolFile("a", "0"), "pools/keep.yaml": poolFile("keep", "0"), "pools/z.yaml": poolFile("z", "0")})
	w.source("whole", repo.url(), anyRelease, func(src *v1.NodePoolSource) { src.Spec.PruneLimit = ptr.To(intstr.FromInt32(2)) })
	w.follows("whole", good)
	w.poolsReady("a", "keep", "z")
	lift := w.refuse()

	for _, tc := range []struct {
		name   string
		reason string
		files  files
		says   []string
		// dryRun is what the audit log cannot distinguish from a write.
		dryRun string
	}{
		{
			name: "a new pool", reason: "it comes after one that changes",
			files: files{"pools/a.yaml": poolFile("a", "1"), "pools/m.yaml": poolFile("m", "forbidden")},
			says:  []string{`create pool "m"`, "this tier is forbidden"},
		},
		{
			name: "a changed pool", reason: "others come before and after it",
			files: files{"pools/a.yaml": poolFile("a", "2"), "pools/m.yaml": poolFile("m", "0"), "pools/z.yaml": poolFile("z", "forbidden")},
			says:  []string{`update pool "z"`, "this tier is forbidden"},
		},
		{
			name: "a deleted pool", reason: "deletions come last, when the rest is written, and one would go",
			files: files{"pools/a.yaml": "", "pools/keep.yaml": "", "pools/z.yaml": poolFile("z", "3")},
			says:  []string{`delete pool "keep"`, "this pool is kept"}, dryRun: "delete nodepools a",
		},
	} {
		mark, before := w.mark(), w.allPools()
		bad := repo.commit(tc.files)
		w.stands("whole", v1.ValidCondition, metav1.ConditionFalse, v1.ApplyReason, append(tc.says, bad+" is not taken; "+good+" stays")...)
		if src := w.mustRead("whole"); src.Status.Revision != good || src.Status.LastAttemptedRevision != bad {
			t.Errorf("%s: revision is %q, attempted was %q", tc.name, src.Status.Revision, src.Status.LastAttemptedRevision)
		}
		w.wroteOnly(mark, "patch nodepoolsources/status whole", tc.dryRun)
		w.poolsAre("a", "keep", "z")
		for name, pool := range w.allPools() {
			if pool.UID != before[name].UID || pool.Generation != before[name].Generation {
				t.Errorf("%s: pool %s was %s at generation %d and is %s at %d", tc.name, name, before[name].UID, before[name].Generation, pool.UID, pool.Generation)
			}
		}
		w.carries("a1", tiers("a", "0"))
		w.carries("z1", tiers("z", "0"))
		if t.Failed() {
			t.Fatalf("the case %s is there because %s", tc.name, tc.reason)
		}
	}
	lift()
	w.follows("whole", repo.revision())
	w.poolsAre("m", "z")
	w.carries("z1", tiers("z", "3"))
	w.carries("a1", role("a"))
	w.carries("keep1", role("keep"))
}

// A plan made from a cache that is behind writes nothing over what it has not
// seen.
func TestGitPlanFromAnOldCache(t *testing.T) {
	w := newGitWorld(t)
	w.stop() // what is written here is written by this test
	applier := apply.New(w.Client)
	definition := func(manifest string) []render.Definition {
		return []render.Definition{{Pool: parsePool(t, manifest), File: "pool.yaml", Line: 1}}
	}
	planned := func(source string, live []*v1.NodePool, definitions []render.Definition) *plan.PoolsPlan {
		p, err := plan.Pools(plan.Revision{Source: source, SourceUID: types.UID(source), Name: "main@sha1:0", Pools: definitions, Prune: plan.PrunePolicy{Enabled: true}}, live)
		w.do(err)
		if len(p.Changes) != 1 {
			t.Fatalf("the plan is %+v, want one change", p)
		}
		return p
	}
	read := func(name string) *v1.NodePool {
		pool := &v1.NodePool{}
		w.do(w.Get(t.Context(), client.ObjectKey{Name: name}, pool))
		return pool
	}

	made := w.pool(poolFile("a", "hand"))
	for _, tc := range []struct {
		name   string
		reason string
		plan   func() *plan.PoolsPlan
		hand   func()
	}{
		{
			name: "create", reason: "somebody has just made a pool of that name",
			plan: func() *plan.PoolsPlan { return planned("s", nil, definition(poolFile("a", "git"))) },
			hand: func() {},
		},
		{
			name: "update", reason: "somebody has just handed the pool over",
			plan: func() *plan.PoolsPlan {
				w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "a", v1.SourceUIDAnnotation+"=s")
				return planned("s", []*v1.NodePool{read("a")}, definition(poolFile("a", "git")))
			},
			hand: func() {
				w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "a", v1.SourceUIDAnnotation+"=other")
			},
		},
		{
			name: "delete", reason: "somebody has just handed the pool over",
			plan: func() *plan.PoolsPlan {
				w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "a", v1.SourceUIDAnnotation+"=s")
				live := read("a")
				return &plan.PoolsPlan{Changes: []plan.PoolChange{{Action: plan.Delete, Name: "a", Live: live}}}
			},
			hand: func() {
				w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "a", v1.SourceUIDAnnotation+"=other")
			},
		},
		{
			name: "update of another", reason: "the pool was deleted and made again",
			plan: func() *plan.PoolsPlan {
				w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "a", v1.SourceUIDAnnotation+"=s")
				return planned("s", []*v1.NodePool{read("a")}, definition(poolFile("a", "git")))
			},
			hand: func() {
				w.kubectl("delete", "nodepools.nodes.lailin.xyz", "a")
				made = w.pool(poolFile("a", "hand"))
			},
		},
	} {
		p := tc.plan()
		tc.hand()
		before := read("a")
		if err := applier.Pools(t.Context(), p); !apply.IsConflict(err) {
			t.Errorf("%s: the error is %v, want a conflict: %s", tc.name, err, tc.reason)
		}
		if after := read("a"); after.ResourceVersion != before.ResourceVersion || after.UID != made.UID {
			t.Errorf("%s: the pool was written: %s", tc.name, tc.reason)
		}
	}

	// An update or a deletion of what is gone makes nothing anew.
	w.kubectl("annotate", "--overwrite", "nodepools.nodes.lailin.xyz", "a", v1.SourceUIDAnnotation+"=s")
	p := planned("s", []*v1.NodePool{read("a")}, definition(poolFile("a", "git")))
	w.kubectl("delete", "nodepools.nodes.lailin.xyz", "a")
	if err := applier.Pools(t.Context(), p); !apply.IsConflict(err) && !apierrors.IsNotFound(err) {
		t.Errorf("update of what is gone: %v", err)
	}
	if err := w.Get(t.Context(), client.ObjectKey{Name: "a"}, &v1.NodePool{}); !apierrors.IsNotFound(err) {
		t.Errorf("pool a was made anew: %v", err)
	}
}

package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// ownedClass is the RuntimeClass of a pool as it stands in a cluster.
func ownedClass(pool *v1.NodePool, edit func(*nodev1.RuntimeClass)) *nodev1.RuntimeClass {
	class := expand(pool).RuntimeClass(pool.Name)
	class.OwnerReferences = []metav1.OwnerReference{OwnerReference(pool)}
	class.UID, class.ResourceVersion = "uid-of-class", "7"
	class.Labels = map[string]string{"theirs": "x"}
	if edit != nil {
		edit(class)
	}
	return class
}

func TestRuntimeClass(t *testing.T) {
	pool := define("a", v1.NodePoolSpec{
		Labels: map[string]v1.LabelValue{"k": "1"}, Taints: []v1.Taint{{Key: "k", Value: "1", Effect: "NoSchedule"}},
	})
	namesake := pool.DeepCopy()
	namesake.UID = "uid-of-an-earlier-pool"
	cases := map[string]struct {
		reason  string
		live    *nodev1.RuntimeClass
		want    Action
		foreign bool
	}{
		"none yet":        {"it is created", nil, Create, false},
		"as it shall be":  {"labels of others and server fields are no difference", ownedClass(pool, nil), None, false},
		"another handler": {"the handler is immutable", ownedClass(pool, func(c *nodev1.RuntimeClass) { c.Handler = "kata" }), Replace, false},
		"handler and selector": {
			"the replacement brings the selector along",
			ownedClass(pool, func(c *nodev1.RuntimeClass) { c.Handler, c.Scheduling = "kata", nil }), Replace, false,
		},
		"another selector": {"put back", ownedClass(pool, func(c *nodev1.RuntimeClass) { c.Scheduling.NodeSelector["k"] = "2" }), Update, false},
		"one more selector": {
			"pods would find fewer nodes",
			ownedClass(pool, func(c *nodev1.RuntimeClass) { c.Scheduling.NodeSelector["other"] = "x" }), Update, false,
		},
		"a toleration gone": {"put back", ownedClass(pool, func(c *nodev1.RuntimeClass) { c.Scheduling.Tolerations = nil }), Update, false},
		"no scheduling":     {"put back", ownedClass(pool, func(c *nodev1.RuntimeClass) { c.Scheduling = nil }), Update, false},
		"overhead": {
			"it is not for pools to say",
			ownedClass(pool, func(c *nodev1.RuntimeClass) { c.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{}} }), None, false,
		},
		"made by hand":  {"it is somebody's", ownedClass(pool, func(c *nodev1.RuntimeClass) { c.OwnerReferences = nil }), None, true},
		"of a namesake": {"the garbage collector is about to take it", ownedClass(namesake, nil), None, true},
		"not its controller": {
			"whoever owns it beside the pool is not the pool",
			ownedClass(pool, func(c *nodev1.RuntimeClass) { c.OwnerReferences[0].Controller = nil }), None, true,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := expand(pool).RuntimeClass("a")
			change, err := RuntimeClass(c.live, want, pool)
			var foreign *ForeignError
			if errors.As(err, &foreign) != c.foreign || (err != nil) != c.foreign {
				t.Fatalf("error %v: %s", err, c.reason)
			}
			if change.Action != c.want {
				t.Errorf("action %q, want %q: %s", change.Action, c.want, c.reason)
			}
			if c.foreign {
				return
			}
			if change.Name() != "node-pool-a" || change.Live != c.live {
				t.Errorf("change of %s, live %v", change.Name(), change.Live)
			}
			wantOwner := []metav1.OwnerReference{{
				APIVersion: "nodes.lailin.xyz/v1", Kind: "NodePool", Name: "a", UID: "uid-of-pool", Controller: ptr.To(true),
			}}
			if diff := cmp.Diff(wantOwner, change.Want.OwnerReferences); diff != "" {
				t.Errorf("owner (-want +got):\n%s", diff)
			}
			if want.OwnerReferences != nil {
				t.Error("the wanted RuntimeClass of the expansion was changed")
			}
		})
	}
}

// What others have set on a RuntimeClass goes over to the one that replaces it,
// also when the replacement was interrupted after the old one was deleted.
func TestRuntimeClassInherits(t *testing.T) {
	before := define("a", v1.NodePoolSpec{Handler: "runc"})
	live := ownedClass(before, func(class *nodev1.RuntimeClass) {
		class.Annotations = map[string]string{"theirs": "y"}
		class.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("120Mi")}}
	})
	pool := define("a", v1.NodePoolSpec{Handler: "kata"})
	replace := planClass(t, live, pool)
	if replace.Action != Replace || replace.Replaced == nil || replace.Replaced.UID != live.UID {
		t.Fatalf("action %q with the note %+v, want a replacement with one of the UID %s", replace.Action, replace.Replaced, live.UID)
	}
	pool.Status.ReplacedRuntimeClass = replace.Replaced
	create := planClass(t, nil, pool)
	if create.Action != Create || create.Replaced != nil {
		t.Errorf("action %q with the note %+v, want a creation without", create.Action, create.Replaced)
	}
	for name, change := range map[string]RuntimeClassChange{"replaced": replace, "interrupted": create} {
		want := change.Want.DeepCopy()
		want.Labels, want.Annotations, want.Overhead = live.Labels, live.Annotations, live.Overhead
		if diff := cmp.Diff(want, change.Want); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	cases := map[string]struct {
		reason string
		edit   func(*v1.NodePool)
	}{
		"none": {"most pools never have one", func(pool *v1.NodePool) { pool.Status.ReplacedRuntimeClass = nil }},
		"of no class": {
			"it is not known that there ever was one",
			func(pool *v1.NodePool) { pool.Status.ReplacedRuntimeClass.UID = "" },
		},
		"an annotation": {
			"whoever may write a pool may write it",
			func(pool *v1.NodePool) {
				pool.Status.ReplacedRuntimeClass = nil
				pool.Annotations = map[string]string{"nodes.lailin.xyz/inheritance": `{"overhead":{"podFixed":{"memory":"1Ti"}}}`}
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			edited := pool.DeepCopy()
			c.edit(edited)
			want := planClass(t, nil, edited).Want
			if want.Labels != nil || want.Annotations != nil || want.Overhead != nil {
				t.Errorf("inherited %v, %v, %v: %s", want.Labels, want.Annotations, want.Overhead, c.reason)
			}
		})
	}
	bare := ownedClass(before, func(class *nodev1.RuntimeClass) { class.Labels = nil })
	if note := planClass(t, bare, pool).Replaced; note != nil {
		t.Errorf("note %+v of what nobody has set", note)
	}
}

func planClass(t *testing.T, live *nodev1.RuntimeClass, pool *v1.NodePool) RuntimeClassChange {
	t.Helper()
	change, err := RuntimeClass(live, expand(pool).RuntimeClass(pool.Name), pool)
	if err != nil {
		t.Fatal(err)
	}
	return change
}

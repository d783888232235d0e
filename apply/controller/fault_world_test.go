package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/testdata/cluster"
)

// kinds are what the loops keep in caches.
var kinds = []string{"nodes", "nodepools", "runtimeclasses", "nodepoolsources"}

// faultWorld is a world whose loops reach the API server through a proxy that
// disturbs them. The test itself, and the other writers, go round it. The loops
// do not run yet.
type faultWorld struct {
	*world
	proxy *cluster.Proxy
}

func newFaultWorld(t *testing.T, c *cluster.Cluster) *faultWorld {
	t.Helper()
	w := &faultWorld{world: &world{Client: newClient(t, c.Config), t: t, cluster: c, user: "loops of " + t.Name()}}
	user, err := c.AddUser(w.user, "system:masters")
	w.do(err)
	w.proxy, err = c.Proxy(user)
	w.do(err)
	w.config = w.proxy.Config
	t.Cleanup(func() {
		if err := w.proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if w.stop != nil {
			w.stop()
		}
	})
	t.Cleanup(w.clear)
	t.Cleanup(func() { w.proxy.Disturb() })
	return w
}

// disturbed waits until faults have met so many requests since a moment.
func (w *faultWorld) disturbed(since time.Time, atLeast int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d requests were disturbed", atLeast), func() error {
		met := 0
		for _, passage := range w.proxy.Seen(since) {
			if passage.Disturbed {
				met++
			}
		}
		if met < atLeast {
			return fmt.Errorf("%d were", met)
		}
		return nil
	})
}

// scene is a fleet that several pools share, and others who write to it. What
// each node has to carry in the end follows from the version of the pools and
// from what the others wrote last.
type scene struct {
	*faultWorld
	version int
	others  []*other
}

const sceneSize = 20

// recovery bounds the wait for what was delayed by failures: a pass, and before
// it a watch, comes back after the longest pause at the latest.
const recovery = waitTimeout + 2*loop.MaxBackoff

// newScene makes the nodes and the pools.
func newScene(w *faultWorld) *scene {
	w.t.Helper()
	s := &scene{faultWorld: w}
	for i := range sceneSize {
		name := fmt.Sprintf("fault-%02d", i)
		labels := map[string]string{"fleet": "faulty", "zone": "theirs-" + name}
		if i >= 10 {
			labels[v1.RoleLabel("upper")] = ""
		}
		w.node(name, labels, "first=:NoSchedule")
		s.others = append(s.others, &other{client: w.Client, node: name})
	}
	for _, pool := range s.pools() {
		w.do(w.Create(w.t.Context(), pool))
	}
	return s
}

// runs starts the loops, waits until the pools are carried out, and puts a label
// on the RuntimeClass that will be replaced.
func (s *scene) runs() {
	s.t.Helper()
	s.start()
	s.eventually("the RuntimeClass of pool lower is labelled", func() error {
		class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: v1.RuntimeClassName("lower")}}
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"theirs"}}}`, othersKey)
		return s.Patch(s.t.Context(), class, client.RawPatch(types.MergePatchType, patch))
	})
	s.stands(true)
}

// pools are those of the scene at its version: one of all nodes, one within it
// that takes a key over and whose RuntimeClass is replaced by every second
// version, and one that has no taint in every third.
func (s *scene) pools() []*v1.NodePool {
	version := fmt.Sprint(s.version)
	handlers := []string{"runc", "gvisor"}
	manifests := []string{`
metadata: {name: fleet}
spec:
  selector: {matchLabels: {fleet: faulty}}
  labels: {fleet-version: "` + version + `"}
  annotations: {fleet-version: "` + version + `"}
  taints: [{key: fleet, value: "` + version + `", effect: NoSchedule}]`, `
metadata: {name: lower}
spec:
  parent: fleet
  nodeNames: ["fault-0*"]
  conflictPolicy: TakeOver
  handler: ` + handlers[s.version%2] + `
  labels: {zone: "pool-` + version + `"}`, `
metadata: {name: upper}
spec:
  labels: {upper-version: "` + version + `"}`,
	}
	var pools []*v1.NodePool
	for _, manifest := range manifests {
		pools = append(pools, parsePool(s.t, manifest))
	}
	if s.version%3 != 0 {
		pools[2].Spec.Taints = []v1.Taint{{Key: "upper", Value: version, Effect: corev1.TaintEffectPreferNoSchedule}}
	}
	return pools
}

// in is the same scene for a subtest.
func (s *scene) in(t *testing.T) *scene {
	s.faultWorld.world = s.world.in(t)
	return s
}

// change brings the pools to their next version.
func (s *scene) change() {
	s.t.Helper()
	s.version++
	for _, next := range s.pools() {
		s.world.change(next.Name, func(pool *v1.NodePool) { pool.Spec = next.Spec })
	}
}

// carried is what the test says of a node: what Kubernetes itself puts there is
// left aside.
type carried struct {
	Labels, Annotations map[string]string
	Taints              []string
}

// wanted is what node i has to carry.
func (s *scene) wanted(i int, pools bool) carried {
	name, version := s.others[i].node, fmt.Sprint(s.version)
	want := carried{
		Labels:      map[string]string{"fleet": "faulty", "zone": "theirs-" + name},
		Annotations: map[string]string{},
		Taints:      []string{"first=:NoSchedule"},
	}
	if i >= 10 {
		want.Labels[v1.RoleLabel("upper")] = ""
	}
	s.others[i].addTo(&want)
	if pools {
		want.Labels[v1.RoleLabel("fleet")] = ""
		want.Labels["fleet-version"] = version
		want.Annotations["fleet-version"] = version
		want.Taints = append(want.Taints, "fleet="+version+":NoSchedule")
		if i < 10 {
			want.Labels[v1.RoleLabel("lower")] = ""
			want.Labels["zone"] = "pool-" + version
		} else {
			want.Labels["upper-version"] = version
			if s.version%3 != 0 {
				want.Taints = append(want.Taints, "upper="+version+":PreferNoSchedule")
			}
		}
	}
	slices.Sort(want.Taints)
	return want
}

// stands waits until every node carries exactly what the pools want, or exactly
// what it would without them, and what the others have put there.
func (s *scene) stands(pools bool) {
	s.t.Helper()
	what := fmt.Sprintf("nodes are as version %d and the others want them (pools: %t)", s.version, pools)
	cluster.Eventually(s.t, what, recovery, func() error {
		var nodes corev1.NodeList
		if err := s.List(s.t.Context(), &nodes, client.MatchingLabels{"fleet": "faulty"}); err != nil {
			return err
		}
		if len(nodes.Items) != sceneSize {
			return fmt.Errorf("%d nodes", len(nodes.Items))
		}
		if err := s.classStands(pools); err != nil {
			return err
		}
		for i := range nodes.Items { // by name, as the API server lists them
			if diff := cmp.Diff(s.wanted(i, pools), stateOf(&nodes.Items[i])); diff != "" {
				return fmt.Errorf("node %s (-want +got):\n%s", nodes.Items[i].Name, diff)
			}
		}
		return nil
	})
}

// classStands checks the RuntimeClass that is replaced, and what somebody else has
// put on it.
func (s *scene) classStands(pools bool) error {
	class, want := &nodev1.RuntimeClass{}, s.pools()[1]
	err := s.Get(s.t.Context(), client.ObjectKey{Name: v1.RuntimeClassName(want.Name)}, class)
	if !pools {
		return nil // the garbage collector takes its time
	}
	if err != nil {
		return err
	}
	if class.Handler != want.Spec.Handler || class.Labels[othersKey] != "theirs" || class.Scheduling.NodeSelector["zone"] != string(want.Spec.Labels["zone"]) {
		return fmt.Errorf("RuntimeClass has handler %s, labels %v, selector %v", class.Handler, class.Labels, class.Scheduling.NodeSelector)
	}
	return nil
}

func stateOf(node *corev1.Node) carried {
	annotations := maps.Clone(node.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return key == v1.AppliedAnnotation || strings.Contains(key, "kubernetes.io/") || strings.Contains(key, "kwok")
	})
	if annotations == nil {
		annotations = map[string]string{}
	}
	return carried{Labels: ownLabels(node), Annotations: annotations, Taints: ownTaints(node)}
}

package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// TestNoPoolKeepsAWallOffANode: a pool that comes later by rank, whatever it says, changes no
// label and no taint of a wall, and none of its annotations takes the room that they need. So
// it is where the wall is the one that is added. The wall is nested in another one every second
// time; what is added is nested as well, in either of them, in each other, in circles, or in
// nothing.
func TestNoPoolKeepsAWallOffANode(t *testing.T) {
	s := newServer()
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		w.held = false
		walls := w.walls()
		if w.oneIn(2) { // they come later
			for _, wall := range walls {
				wall.CreationTimestamp, wall.Spec.Priority = metav1.Unix(1002, 0), 2
			}
		} else {
			maps.Copy(w.pools, walls)
		}
		if w.oneIn(2) {
			w.node, _ = s.write(t, w.node, w.expansion())
		}
		hostile := map[string]*v1.NodePool{}
		for i := range 1 + w.r.IntN(4) {
			name := fmt.Sprint(pick(w.r, []string{"a", "z"}), i)
			hostile[name] = w.hostile(name, len(walls) > 1)
		}
		for _, name := range slices.Sorted(maps.Keys(hostile)) {
			pool := hostile[name]
			w.pools[name] = pool
			if w.oneIn(2) {
				w.node, _ = s.write(t, w.node, w.expansion())
			}
			switch frozen := pool.DeepCopy(); { // what it has put there stays
			case w.oneIn(4):
				frozen.Spec.Parent = "nobody"
				w.pools[name] = frozen
			case w.oneIn(4):
				delete(w.pools, name)
				w.vanished = name
			}
		}
		maps.Copy(w.pools, walls)
		w.node, _ = s.write(t, w.node, w.expansion())
		has := standing(w.node)
		for _, key := range keysOf(walls) {
			if value := has[key.field][key.id]; value != key.wall {
				t.Fatalf("seed %d: of pool %s the %s %s is %q", seed, key.wall, key.field, key.id, value)
			}
		}
		w.pausesMoveNothing(t, seed, s)
		for name, wall := range walls { // a pause gives nobody its keys
			w.pools[name] = faulty(wall.DeepCopy())
		}
		w.node, _ = s.write(t, w.node, w.expansion())
		still := standing(w.node)
		for _, key := range keysOf(walls) {
			if was, is := has[key.field][key.id], still[key.field][key.id]; is != was {
				t.Fatalf("seed %d: pool %s is paused, and the %s %s becomes %q, which was %q", seed, key.wall, key.field, key.id, is, was)
			}
		}
	}
}

// pausesMoveNothing fails if the pause of any one pool changes a label or a taint that pools
// have put on the node. What somebody else has put there, they do not keep.
func (w *world) pausesMoveNothing(t *testing.T, seed uint64, s server) {
	t.Helper()
	settled, err := Node(w.node, w.expansion())
	if err != nil {
		t.Fatal(err)
	}
	has := standing(w.node)
	for name, pool := range w.pools {
		w.pools[name] = faulty(pool.DeepCopy())
		node, _ := s.write(t, w.node, w.expansion())
		w.pools[name] = pool
		still := standing(node)
		for field, ours := range entries(settled.Recorded()) {
			for key, entry := range ours {
				if was, is := has[field][key], still[field][key]; field != Annotation && is != was {
					t.Fatalf("seed %d: %s is paused, and the %s %s of pool %s becomes %q, which was %q", seed, name, field, key, entry.Pool, is, was)
				}
			}
		}
	}
}

// keyOfWall is a label or a taint of a wall.
type keyOfWall struct {
	wall  string
	field Field
	id    string
}

func keysOf(walls map[string]*v1.NodePool) (keys []keyOfWall) {
	for name, wall := range walls {
		for key := range wall.Spec.Labels {
			keys = append(keys, keyOfWall{name, Label, key}, keyOfWall{name, Taint, key + ":NoSchedule"})
		}
	}
	return keys
}

// walls are the pools that stand: a wall, and every second time the one around it.
func (w *world) walls() map[string]*v1.NodePool {
	wall := func(name, key string) *v1.NodePool {
		pool := define(name, v1.NodePoolSpec{
			NodeNames: []string{"n"}, Priority: 1, ConflictPolicy: v1.TakeOver,
			Labels: map[string]v1.LabelValue{key: v1.LabelValue(name)}, Taints: []v1.Taint{{Key: key, Value: name, Effect: corev1.TaintEffectNoSchedule}},
		})
		pool.CreationTimestamp = metav1.Unix(1000, 0)
		return pool
	}
	walls := map[string]*v1.NodePool{"wall": wall("wall", "k0")}
	if w.oneIn(2) {
		walls["outer"] = wall("outer", "k1")
		walls["wall"].Spec.Parent = "outer"
	}
	return walls
}

// hostile is a pool of a hostile author, which is nested where it likes to be.
func (w *world) hostile(name string, outer bool) *v1.NodePool {
	pool := w.pool(name)
	pool.Spec.NodeNames, pool.Spec.Selector = []string{"*"}, nil
	pool.Spec.Priority = int32(w.r.IntN(2))
	pool.CreationTimestamp = metav1.Unix(1001, 0)
	around := []string{"", "", "", "wall", "wall", "wall", "a0", "z1", "nobody"}
	if outer {
		around = append(around, "outer", "outer")
	}
	pool.Spec.Parent = pick(w.r, around)
	if w.oneIn(2) {
		pool.Spec.Annotations = large(w.r.IntN(64), w.r)
	}
	return pool
}

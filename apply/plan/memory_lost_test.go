package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// A wall is put back at once that was taken off together with the record, whatever else waits on
// the node, and again and again; what waits stays away.
func TestWallTakenWithItsRecordComesAtOnce(t *testing.T) {
	also := func(pool *v1.NodePool) { pool.Spec.Labels["example.com/b"] = "later" }
	weak := func(change func(*v1.NodePool)) *v1.NodePool { return waitingPool("weak", change) }
	for name, c := range map[string]struct {
		before, after []*v1.NodePool
		refused       string
	}{
		"a weak pool is paused in its rollout": {
			[]*v1.NodePool{wallPool(), weak(labelled("1"))},
			[]*v1.NodePool{wallPool(), weak(all(labelled("2"), func(pool *v1.NodePool) { pool.Spec.Rollout = &v1.Rollout{Paused: true} }))}, "",
		},
		"its own pool waits for a window":   {[]*v1.NodePool{wallPool()}, []*v1.NodePool{changed(wallPool(), all(also, closed))}, ""},
		"its own pool waits for its turn":   {[]*v1.NodePool{wallPool()}, []*v1.NodePool{changed(wallPool(), all(also, limited("1", time.Minute)))}, ""},
		"a weak pool is refused":            {[]*v1.NodePool{wallPool(), weak(labelled("1"))}, []*v1.NodePool{wallPool(), weak(labelled("2"))}, "weak"},
		"its own pool has just been closed": {[]*v1.NodePool{wallPool()}, []*v1.NodePool{changed(wallPool(), closed)}, ""},
		"the node is drained for another": {
			[]*v1.NodePool{wallPool(), waitingPool("weak", labelled("1"))},
			[]*v1.NodePool{wallPool(), waitingPool("weak", all(labelled("1"), tainted("v", corev1.TaintEffectNoExecute), func(pool *v1.NodePool) {
				pool.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}}
			}))}, "",
		},
	} {
		w := newMemoryWorld(t, nil, c.before...)
		w.pools = c.after
		if c.refused != "" {
			w.facts.Refused = map[string]Refusal{c.refused: {}}
		}
		w.pass()
		want := taintsOf(w.node)
		for range 3 {
			w.without(true)
			w.node.Labels = map[string]string{}
			o := w.pass()
			if got := taintsOf(w.node); !slices.Equal(got, want) || w.node.Labels["example.com/a"] != "ours" {
				t.Errorf("%s: the node has the taints %v and the labels %v, want the taints %v; it waits %q", name, got, w.node.Labels, want, waitsText(o))
			}
			if again := w.pass(); !again.Admission.Plan.NoOp() {
				t.Errorf("%s: another pass writes %v", name, again.Admission.Plan.Changes)
			}
		}
	}
}

func changed(pool *v1.NodePool, change func(*v1.NodePool)) *v1.NodePool {
	change(pool)
	return pool
}

// What evicts is put back at once as well: the node is not drained of it once more.
func TestDrainedWallTakenWithItsRecordComesAtOnce(t *testing.T) {
	pool := drainingPool(nil)
	w := newMemoryWorld(t, nil, waitingPool("p", all(prior(5), labelled("2"), tainted("v", corev1.TaintEffectNoExecute))))
	w.pools = []*v1.NodePool{pool}
	w.pass()
	w.without(true)
	if o := w.pass(); !slices.Equal(taintsOf(w.node), []string{"v:NoExecute"}) || o.Drain != nil || o.Begins {
		t.Errorf("it has the taints %v, begins: %t, is drained %+v", taintsOf(w.node), o.Begins, o.Drain)
	}
}

// Of a paused pool nothing is written; what was taken meanwhile is back once it goes on.
func TestPausedPoolIsRemembered(t *testing.T) {
	w := newMemoryWorld(t, nil, wallPool(), waitingPool("other", labelled("1")))
	w.pools[0] = paused(wallPool())
	w.pass()
	w.without(true)
	w.node.Labels = map[string]string{key: "1", v1.RoleLabel("other"): ""}
	for i := range 3 {
		if i == 1 {
			w.pools[1] = waitingPool("other", labelled("2"))
		}
		if o := w.pass(); len(w.node.Taints) > 0 || i != 1 && !o.Admission.Plan.NoOp() || mustRead(t, w.node).Pools()["wall"] {
			t.Errorf("pass %d writes %v, and the record is %s", i, o.Admission.Plan.Changes, w.node.Annotations[v1.AppliedAnnotation])
		}
	}
	w.pools[0] = changed(wallPool(), closed)
	if o := w.pass(); !w.has(wallID, "yes") || w.node.Labels["example.com/a"] != "ours" {
		t.Errorf("it goes on: the node has the taints %v and the labels %v, and waits %q", w.node.Taints, w.node.Labels, waitsText(o))
	}
}

// A drain whose record is lost goes on, and ends where nobody wants it any more.
func TestDrainWhoseRecordIsLost(t *testing.T) {
	pool := drainingPool(nil)
	w := newMemoryWorld(t, nil, waitingPool("p", all(prior(5), labelled("1"))))
	w.pools = []*v1.NodePool{pool}
	w.facts.Turn = Turn{In: []string{"p"}}
	began := w.pass()
	w.facts.Turn = Turn{}
	if began.Drain == nil || !began.Begins {
		t.Fatalf("it is drained %+v", began.Drain)
	}
	since := w.facts.LastChange.Drains[drainedID].Since
	w.without(true)
	w.facts.Now = w.facts.Now.Add(time.Minute)
	w.pass()
	if drained := LastChangeOf(w.node).Drains[drainedID]; !slices.Equal(taintsOf(w.node), []string{"v:NoSchedule"}) || !drained.Since.Equal(since) {
		t.Errorf("it has the taints %v, and is drained %+v, want since %v", taintsOf(w.node), drained, since)
	}
	w.without(true)
	w.pools = []*v1.NodePool{changed(drainingPool(nil), noTaints)}
	w.pass()
	if w.pass(); len(w.facts.LastChange.Drains)+len(LastChangeOf(w.node).Drains)+len(w.node.Taints) > 0 {
		t.Errorf("nobody wants the taint: the node has %v, and is drained %v", taintsOf(w.node), w.facts.LastChange.Drains)
	}
}

// Somebody puts an older state of the node back, with its record: that says what is whose, as it does
// of what another controller has written, and what pools want since is a change.
func TestOlderStateIsAsItsRecordSays(t *testing.T) {
	world := func(theirs string, change func(*v1.NodePool)) (w *memoryWorld, older *NodeState) {
		w = newMemoryWorld(t, nil, waitingPool("p", nil))
		if w.node = w.node.DeepCopy(); theirs != "" {
			w.node.Labels[key] = theirs
		}
		w.pools = []*v1.NodePool{waitingPool("p", all(labelled("1"), change))}
		w.pass()
		older = w.node
		w.pools = []*v1.NodePool{waitingPool("p", all(labelled("2"), change))}
		w.pass()
		if older.Labels[key] != "1" || w.node.Labels[key] != "2" {
			t.Fatalf("it had %q, and then %q", older.Labels[key], w.node.Labels[key])
		}
		return w, older
	}
	none := func(*v1.NodePool) {}
	for name, c := range map[string]struct {
		theirs string
		change func(*v1.NodePool)
		then   []*v1.NodePool
		want   string
	}{
		"still wanted":                     {"", none, []*v1.NodePool{waitingPool("p", all(labelled("2"), closed))}, "1"},
		"while another change waits":       {"", none, []*v1.NodePool{waitingPool("p", all(labelled("3"), closed))}, "1"},
		"the pool is gone":                 {"", none, nil, ""},
		"the pool holds still":             {"", none, []*v1.NodePool{paused(waitingPool("p", labelled("2")))}, "1"},
		"taken over":                       {"x", takesOver, []*v1.NodePool{waitingPool("p", all(labelled("2"), takesOver, closed))}, "1"},
		"taken over, and the pool is gone": {"x", takesOver, nil, "x"},
	} {
		w, older := world(c.theirs, c.change)
		w.node, w.pools = older, c.then
		w.pass()
		if got := w.node.Labels[key]; got != c.want {
			t.Errorf("%s: the label is %q, want %q", name, got, c.want)
		}
		if o := w.pass(); !o.Admission.Plan.NoOp() {
			t.Errorf("%s: another pass writes %v", name, o.Admission.Plan.Changes)
		}
		w.pools = nil
		w.pass()
		if got := w.node.Labels[key]; got != c.theirs || w.node.Annotations[v1.AppliedAnnotation] != "" {
			t.Errorf("%s: without pools, the label is %q, want %q; the record is %q", name, got, c.theirs, w.node.Annotations[v1.AppliedAnnotation])
		}
	}
}

// What stands on the node, and is not in the record, is somebody else's, whatever is remembered:
// so a key is handed over, and so is one of which somebody has set another value meanwhile.
func TestMemoryTakesNothingFromOthers(t *testing.T) {
	for _, value := range []string{"yes", "theirs"} {
		w := newMemoryWorld(t, nil, wallPool())
		w.node = w.node.DeepCopy()
		delete(w.node.Annotations, v1.AppliedAnnotation)
		w.node.Taints[0].Value = value
		before := maps.Clone(w.node.Labels)
		w.pass()
		w.pools = nil
		w.pass()
		if !w.has(wallID, value) || !maps.Equal(w.node.Labels, before) {
			t.Errorf("of the value %s, the node has the taints %v and the labels %v, want them all", value, w.node.Taints, w.node.Labels)
		}
	}
}

// A wall that others had put there, as the pool wants it, is put back when they take it off, but
// for one that evicts, and where the pool has waited then.
func TestSharedWallComesAtOnce(t *testing.T) {
	for _, c := range []struct {
		effect corev1.TaintEffect
		waits  bool
		want   int
	}{{corev1.TaintEffectNoSchedule, false, 1}, {corev1.TaintEffectNoExecute, false, 0}, {corev1.TaintEffectNoSchedule, true, 0}} {
		theirs := []corev1.Taint{{Key: key, Value: "wall", Effect: c.effect}}
		w := newMemoryWorld(t, nil, waitingPool("p", labelled("1")))
		w.node = w.node.DeepCopy()
		w.node.Taints = theirs
		if c.waits {
			w.pools = []*v1.NodePool{waitingPool("p", all(labelled("2"), tainted("wall", c.effect), closed))}
		} else {
			w.pools = []*v1.NodePool{waitingPool("p", all(labelled("1"), tainted("wall", c.effect)))}
		}
		w.pass()
		w.pools = []*v1.NodePool{waitingPool("p", all(labelled("2"), tainted("wall", c.effect), closed))}
		w.pass()
		w.without(false)
		w.pass()
		if len(w.node.Taints) != c.want {
			t.Errorf("of %s, waiting %t, the node has the taints %v", c.effect, c.waits, w.node.Taints)
		}
	}
}

// No label is put back before a wall of its pool that waits: neither one that others had put there, as
// they had the wall, nor one that went with its record, while somebody has changed the wall.
func TestNoLabelComesBackBeforeItsWall(t *testing.T) {
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		wants := all(labelled("1"), tainted("v", effect))
		theirs := newMemoryWorld(t, nil)
		theirs.edit(func(node *NodeState) {
			node.Labels = map[string]string{key: "1"}
			node.Taints = []corev1.Taint{{Key: key, Value: "v", Effect: effect}}
		})
		theirs.pools = []*v1.NodePool{waitingPool("p", wants)}
		theirs.pass()
		theirs.pools = []*v1.NodePool{waitingPool("p", all(wants, closed))}
		theirs.pass()
		theirs.without(false)

		taken := newMemoryWorld(t, nil, waitingPool("p", all(wants, takesOver)))
		taken.pools = []*v1.NodePool{waitingPool("p", all(wants, takesOver, closed))}
		taken.pass()
		taken.without(true)
		taken.edit(func(node *NodeState) { node.Taints = []corev1.Taint{{Key: key, Value: "theirs", Effect: effect}} })

		for name, w := range map[string]*memoryWorld{"of others": theirs, "taken over": taken} {
			delete(w.node.Labels, key)
			o := w.pass()
			wall := slices.Contains(taintsOf(w.node), "v:"+string(effect))
			if label := w.node.Labels[key]; label != "" && !wall || !wall && o.Wait.Of("p") == nil {
				t.Errorf("%s, %s: the label is %q, the node has the taints %v, and waits %q", effect, name, label, taintsOf(w.node), waitsText(o))
			}
		}
	}
}

// What a pool had, gave up, and had once more as somebody put an older state of the node back, is gone
// with the newer one: the pool that wants it again waits, and the node is drained of it.
func TestWhatWasGivenUpIsNoDrift(t *testing.T) {
	evicts := tainted("v", corev1.TaintEffectNoExecute)
	w := newMemoryWorld(t, nil, waitingPool("p", all(labelled("1"), evicts)))
	older := w.node
	w.pools = []*v1.NodePool{waitingPool("p", labelled("1"))}
	w.pass()
	newer := w.node
	w.pools = []*v1.NodePool{waitingPool("p", all(labelled("2"), closed))}
	for _, w.node = range []*NodeState{newer, older, newer} {
		w.pass()
	}
	w.pools = []*v1.NodePool{changed(drainingPool(nil), inWindows)}
	if o := w.pass(); len(w.node.Taints) > 0 || waitsText(o) != "p[p]" {
		t.Errorf("it waits %q, and has the taints %v", waitsText(o), taintsOf(w.node))
	}
}

// What is gone with its record, and nobody wants, costs no write.
func TestLostAndUnwantedWritesNothing(t *testing.T) {
	w := newMemoryWorld(t, nil, wallPool())
	w.without(true)
	w.node.Labels, w.pools = map[string]string{}, nil
	if o := w.pass(); !o.Admission.Plan.NoOp() || o.State != NodeStateUnchanged || w.facts.Memory.Record != "" {
		t.Errorf("it is %s, and writes %v; remembered is %q", o.State, fmt.Sprint(o.Admission.Plan.Changes), w.facts.Memory.Record)
	}
}

// What a paused pool had, and was taken with its record, is nobody's meanwhile: other pools wait and
// are drained as if it had never been there, and nothing of it comes back for them.
func TestWhatAPausedPoolHadHelpsNobody(t *testing.T) {
	evicts := func(value string, change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("p", all(prior(5), tainted(value, corev1.TaintEffectNoExecute), labelPairs("x", "2"), change))
	}
	drains := func(pool *v1.NodePool) { pool.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}} }
	for _, value := range []string{"v", "w"} {
		for _, priority := range []int32{0, 9} {
			for name, c := range map[string]struct {
				change func(*v1.NodePool)
				taints []string
				label  string
			}{
				"is drained":         {drains, []string{"v:NoSchedule"}, "2"},
				"waits for a window": {all(drains, closed), nil, ""},
			} {
				other := waitingPool("other", all(prior(priority), tainted(value, corev1.TaintEffectNoExecute), labelPairs("x", "1")))
				w := newMemoryWorld(t, nil, waitingPool("p", prior(5)), other)
				w.edit(func(node *NodeState) {
					node.Taints, node.Labels = nil, map[string]string{v1.RoleLabel("p"): ""}
					delete(node.Annotations, v1.AppliedAnnotation)
				})
				w.pools, w.facts.Turn = []*v1.NodePool{evicts("v", c.change), paused(other)}, Turn{In: []string{"p"}}
				for range 2 {
					if o := w.pass(); !slices.Equal(taintsOf(w.node), c.taints) || w.node.Labels["example.com/x"] != c.label {
						t.Errorf("%s, beside %s of priority %d: it has the taints %v and the labels %v, and waits %q", name, value, priority, taintsOf(w.node), w.node.Labels, waitsText(o))
					}
				}
			}
		}
	}
}

// What a pool had that does not want it any more, or is gone, does not come for another one either:
// that one waits, and the node is drained.
func TestWhatAPoolHadComesForNoOther(t *testing.T) {
	drains := func(pool *v1.NodePool) { pool.Spec.Rollout = &v1.Rollout{Drain: &v1.Drain{}} }
	other := func(change func(*v1.NodePool)) *v1.NodePool {
		return waitingPool("other", all(prior(9), tainted("v", corev1.TaintEffectNoExecute), change))
	}
	none := func(*v1.NodePool) {}
	for name, later := range map[string]*v1.NodePool{
		"it is gone": nil, "it wants nothing": other(noTaints), "it has left": other(func(pool *v1.NodePool) { pool.Spec.NodeNames = []string{"elsewhere"} }),
	} {
		for _, value := range []string{"v", "w"} {
			p := waitingPool("p", all(prior(5), tainted(value, corev1.TaintEffectNoExecute), labelPairs("x", "2"), drains, closed))
			w := newMemoryWorld(t, nil, waitingPool("p", prior(5)), other(none))
			w.pools = []*v1.NodePool{p, paused(other(none))}
			w.pass()
			w.edit(func(node *NodeState) {
				node.Taints, node.Labels = nil, map[string]string{v1.RoleLabel("p"): ""}
				delete(node.Annotations, v1.AppliedAnnotation)
			})
			w.pass()
			if w.pools = []*v1.NodePool{p}; later != nil {
				w.pools = append(w.pools, later)
			}
			for range 2 {
				if o := w.pass(); len(w.node.Taints) > 0 || o.Wait.Of("p") == nil {
					t.Errorf("%s, %s: it has the taints %v, and waits %q", name, value, taintsOf(w.node), waitsText(o))
				}
			}
		}
	}
}

func takesOver(pool *v1.NodePool) { pool.Spec.ConflictPolicy = v1.TakeOver }

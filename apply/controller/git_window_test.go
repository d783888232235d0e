package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// Outside the windows of its source a new revision is read and validated, and waits:
// over a restart, too. What is changed by hand is put back to the one that stands. It is
// applied when the exclusion ends, though no poll is due then.
func TestGitRevisionWaitsForItsWindow(t *testing.T) {
	w := newGitWorld(t)
	repo := newRepository(t)
	first := repo.commit(files{"pools/a.yaml": poolFile("a", "1")})
	w.source("nightly", repo.url(), rarely)
	w.follows("nightly", first)

	exclude := func(until time.Time) {
		w.changeSource("nightly", func(src *v1.NodePoolSource) {
			src.Spec.Exclusions = []v1.Exclusion{{
				Start: &metav1.Time{Time: until.AddDate(-1, 0, 0)}, End: &metav1.Time{Time: until}, Reason: "peak season",
			}}
		})
	}
	end := time.Now().Add(24 * time.Hour).UTC().Truncate(time.Second)
	exclude(end)
	second := repo.commit(files{"pools/a.yaml": poolFile("a", "2")})
	w.request("nightly", "second")
	waits := func() error {
		src := w.mustRead("nightly")
		message := w.readyMessage("nightly")
		if src.Status.Revision != first || src.Status.LastAttemptedRevision != second ||
			!strings.HasPrefix(message, "revision "+second+" is valid, and waits: an exclusion of the source is in force (peak season); the next opening is "+end.Format(time.RFC3339)) {
			return fmt.Errorf("revision %s of %s, and message %q", src.Status.Revision, src.Status.LastAttemptedRevision, message)
		}
		return nil
	}
	w.eventually("it waits", waits)
	w.stands("nightly", v1.ReconcilingCondition, metav1.ConditionTrue, v1.WaitingForWindowReason)
	w.sourceIs("nightly", "is valid", func(src *v1.NodePoolSource) error {
		return conditionIs(src.Status.Conditions, v1.ValidCondition, metav1.ConditionTrue, v1.SucceededReason)
	})

	tier := func() string {
		pool := &v1.NodePool{}
		w.do(w.Get(t.Context(), client.ObjectKey{Name: "a"}, pool))
		return string(pool.Spec.Labels["example.com/tier"])
	}
	update(w.world, &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, func(pool *v1.NodePool) {
		pool.Spec.Labels["example.com/tier"] = "by-hand"
	})
	w.eventually("the pool is as the first revision has it", func() error {
		if got := tier(); got != "1" {
			return fmt.Errorf("tier is %q", got)
		}
		return nil
	})

	w.stop()
	w.start()
	w.request("nightly", "restarted")
	w.eventually("it still waits", waits)
	if got := tier(); got != "1" {
		t.Errorf("after a restart the tier is %q, want that of the first revision", got)
	}

	exclude(time.Now().Add(3 * time.Second))
	w.follows("nightly", second)
	if got := tier(); got != "2" {
		t.Errorf("tier is %q, want that of the second revision", got)
	}
}

package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	v1 "github.com/nodepools/nodepools/api/v1"
	"github.com/nodepools/nodepools/apply/controller/loop"
	"github.com/nodepools/nodepools/apply/nodecache"
)

// However long the API server was away, turns are given again soon after it is back.
func TestTurnsAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const outage = 10 * time.Minute
		cache := &poolList{pools: map[string]*v1.NodePool{"a": {
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec:       v1.NodePoolSpec{Rollout: &v1.Rollout{MaxUnavailable: ptr.To(intstr.FromInt32(1))}},
		}}}
		began := time.Now()
		var again time.Duration
		list := func(context.Context) (Earlier, error) {
			if time.Since(began) < outage {
				time.Sleep(outage)
				return Earlier{}, errors.New("it was away")
			}
			again = time.Since(began) - outage
			return Earlier{}, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		view := New(cache, nodecache.Live(cache))
		view.turns.setDue()
		go view.GiveTurns(ctx, list, func(string) {})
		time.Sleep(2 * outage)
		synctest.Wait()
		if most := loop.RetryPeriod + 2*maxRest; again == 0 || again > most {
			t.Errorf("turns are given again %v after the outage, want at most %v", again, most)
		}
	})
}

package metrics

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nodepools/nodepools/api/build"
	v1 "github.com/nodepools/nodepools/api/v1"
)

// cached stands for the cache of a manager, which needs an API server: what is tested
// here is what is made of its lists.
type cached struct {
	client.Reader
	pools   []v1.NodePool
	sources []v1.NodePoolSource
	err     error
}

func (c cached) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *v1.NodePoolList:
		list.Items = c.pools
	case *v1.NodePoolSourceList:
		list.Items = c.sources
	}
	return c.err
}

// program is a build of which all is known.
func program() build.Info { return build.Read("v1.2.3", "0123abc", noBuild) }

// viewOf is what the instance has in memory that works with a cache.
func viewOf(c cached) *View {
	elected := make(chan struct{})
	close(elected)
	return &View{
		Cached: c, Elected: elected,
		Nodes:   func() NodeCounts { return NodeCounts{Known: true} },
		Pending: func() (int, time.Time) { return 0, time.Time{} },
		Polls:   func() map[string]Poll { return nil },
	}
}

// manyPools are pools with the conditions that every pool has, and counts of nodes.
func manyPools(count int) []v1.NodePool {
	pools := make([]v1.NodePool, count)
	for i := range pools {
		pool := &pools[i]
		pool.Name = fmt.Sprintf("pool-%04d", i)
		pool.Status.Nodes = &v1.NodeCounts{Desired: 15, Updated: 15, Ready: 14, Conflicted: 1}
		for _, kind := range []string{v1.ReadyCondition, v1.ReconcilingCondition, v1.StalledCondition, v1.ConflictedCondition, v1.SelfJoinableCondition} {
			pool.Status.Conditions = append(pool.Status.Conditions, metav1.Condition{
				Type: kind, Status: metav1.ConditionFalse, Reason: v1.SucceededReason,
			})
		}
	}
	return pools
}

package controller

import (
	"fmt"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// collectErrors runs the loops anew, and returns what they log as an error from
// then on.
func (w *world) collectErrors() *logLines {
	w.t.Helper()
	w.stop()
	errorLog := &logLines{}
	w.stop = runLoops(w.t, w.config, Options{repairs: shortBackoff}, funcr.New(errorLog.add, funcr.Options{Verbosity: -1}))
	return errorLog
}

// A pool may be gone again before the loops have put their finalizer on it. That
// is no error that anybody has to know of.
func TestShortLivedPoolIsNoError(t *testing.T) {
	w := newWorld(t)
	errorLog := w.collectErrors()
	w.settle()
	var makers sync.WaitGroup
	for i := range 4 {
		makers.Go(func() {
			for turn := range 5 {
				pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("short-lived-%d-%d", i, turn)}}
				if err := w.Create(t.Context(), pool); err != nil {
					t.Error(err)
				} else if err := w.Delete(t.Context(), pool); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	w.eventually("nothing but the sentinel is left", func() error {
		var pools v1.NodePoolList
		if err := w.List(t.Context(), &pools); err != nil || len(pools.Items) == 1 {
			return err
		}
		return fmt.Errorf("%d pools", len(pools.Items))
	})
	w.settle()
	if logged := errorLog.text(); logged != "" {
		t.Errorf("the loops have logged errors:\n%s", logged)
	}
}

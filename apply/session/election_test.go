package session

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// lostLock is a lock in memory that somebody else acquires while its renewal takes longer
// than the leader election waits. Reading that ends the session, as the guard does it.
type lostLock struct {
	mu     sync.Mutex
	record *resourcelock.LeaderElectionRecord
	renew  func()
	lost   func()
}

func (l *lostLock) Identity() string   { return "me" }
func (l *lostLock) Describe() string   { return "lock" }
func (l *lostLock) RecordEvent(string) {}

func (l *lostLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record.HolderIdentity == "other" {
		l.lost()
	}
	return ptr.To(*l.record), []byte(l.record.HolderIdentity), nil
}

func (l *lostLock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	return errors.New("it is there")
}

func (l *lostLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record.HolderIdentity == "" {
		l.record = &record
		return nil
	}
	l.renew()
	l.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 15, RenewTime: metav1.Now()}
	return errors.New("somebody else was faster")
}

// A lease that is lost ends the session, and the leader election gives up by the same
// answer. The race detector reports a manager that is stopped by both at once.
func TestLostLeaseStopsTheManagerOnce(t *testing.T) {
	for range 3 {
		ctx, end := context.WithCancel(t.Context())
		const deadline = 200 * time.Millisecond
		lock := &lostLock{record: &resourcelock.LeaderElectionRecord{}, lost: end}
		stops := make(managerStops)
		mgr, err := manager.New(&rest.Config{Host: "https://127.0.0.1:1"}, manager.Options{
			Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
			LeaderElection: true, LeaderElectionReleaseOnCancel: true,
			LeaderElectionResourceLockInterface: electionLock{Interface: lock, session: ctx, stops: stops},
			LeaseDuration:                       ptr.To(time.Second), RenewDeadline: ptr.To(deadline), RetryPeriod: ptr.To(deadline / 10),
			GracefulShutdownTimeout: ptr.To(stopTimeout),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := mgr.Add(stops); err != nil {
			t.Fatal(err)
		}
		lock.renew = func() {
			<-mgr.Elected()
			time.Sleep(2 * deadline)
		}
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("the manager ended with %v, want none: its context has ended", err)
		}
		end()
	}
}

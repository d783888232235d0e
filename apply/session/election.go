package session

import (
	"context"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// electionLock is the lock of a leader election whose manager stops when the session ends.
// From then on it answers only once the manager has begun to stop.
//
// A lease that is lost would otherwise stop the manager twice at once: the guard ends the
// session, and the leader election gives up by the same answer. One reads how long the
// manager waits for passes that are under way, the other sets that to zero, and
// controller-runtime has nothing between the two.
type electionLock struct {
	resourcelock.Interface
	session context.Context
	stops   managerStops
}

// Get implements [resourcelock.Interface].
func (l electionLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	defer l.await()
	return l.Interface.Get(ctx)
}

// Create implements [resourcelock.Interface].
func (l electionLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	defer l.await()
	return l.Interface.Create(ctx, record)
}

// Update implements [resourcelock.Interface].
func (l electionLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	defer l.await()
	return l.Interface.Update(ctx, record)
}

// await waits until the manager begins to stop, where the session has ended. It always
// does: a manager begins the leader election after it has started what runs without one,
// [managerStops] among it, and ends that first.
func (l electionLock) await() {
	select {
	case <-l.stops:
		return // also where it stops by itself, and the session has not ended yet
	default:
	}
	if l.session.Err() != nil {
		<-l.stops
	}
}

// managerStops is closed when the manager that runs it begins to stop.
type managerStops chan struct{}

// NeedLeaderElection has it run also while another instance works.
func (managerStops) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. Its context does not end with that of the session:
// the manager cancels it once it has begun to stop.
func (s managerStops) Start(ctx context.Context) error {
	<-ctx.Done()
	close(s)
	return nil
}

package controller

import (
	"fmt"
	"sync"
)

// raceScore is how a race stands.
type raceScore struct {
	// changes are the writes of others that went through, refused those that did
	// not and were tried again.
	changes, refused int
	// poolChanges are all that was done to pools; joined and vanished count nodes.
	poolChanges, joined, vanished int
	lost                          int
}

func (s raceScore) String() string {
	return fmt.Sprintf("%d lost of %d foreign changes (%d refused and retried), %d pool changes, %d nodes joined, %d vanished",
		s.lost, s.changes, s.refused, s.poolChanges, s.joined, s.vanished)
}

// raceLedger keeps the score for everybody in a race.
type raceLedger struct {
	mu      sync.Mutex
	score   raceScore
	losses  []loss
	failure error
}

func (l *raceLedger) note(change func(*raceScore)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.score)
}

// lost notes losses. The first few are kept to be reported.
func (l *raceLedger) lost(losses []loss) {
	const most = 20
	l.mu.Lock()
	defer l.mu.Unlock()
	l.score.lost += len(losses)
	l.losses = append(l.losses, losses[:min(len(losses), most-len(l.losses))]...)
}

// fail notes the first thing that went otherwise than the race can go on with.
func (l *raceLedger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil {
		l.failure = err
	}
}

func (l *raceLedger) read() (raceScore, []loss, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.score, l.losses, l.failure
}

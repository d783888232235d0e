package controller

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/nodepools/nodepools/testdata/cluster"
)

// Many faults at once, chosen by chance, again and again.
func TestFaultRandomly(t *testing.T) {
	cluster.Long(t)
	rounds := 20
	if cluster.Stress() {
		rounds = 150
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	w := newFaultWorld(t, cluster.Shared(t))
	s := newScene(w)
	s.runs()
	for round := range rounds {
		s.proxy.Disturb(randomFaults(dice)...)
		switch dice.IntN(6) {
		case 0:
			s.proxy.CloseConnections()
		case 1:
			s.proxy.CutWatches()
		case 2:
			s.proxy.CutWatchesMidway()
		}
		s.change()
		s.everyoneTurns()
		time.Sleep(time.Duration(dice.IntN(1000)) * time.Millisecond)
		if round%10 == 9 {
			s.proxy.Disturb()
			s.stands(true)
		}
	}
	s.proxy.Disturb()
	s.stands(true)
	s.becomesIdle()
	for _, pool := range s.pools() {
		s.remove(pool.Name)
	}
	s.stands(false)
	disturbed := 0
	for _, passage := range s.proxy.Seen(time.Time{}) {
		if passage.Disturbed {
			disturbed++
		}
	}
	t.Logf("0 lost of %d changes of the others, with %d of %d requests disturbed", 3*s.turns(), disturbed, len(s.proxy.Seen(time.Time{})))
}

func randomFaults(dice *rand.Rand) []cluster.Fault {
	var faults []cluster.Fault
	for range 1 + dice.IntN(4) {
		fault := cluster.Fault{Share: 0.2 + 0.7*dice.Float64()}
		if resource := dice.IntN(2 * len(kinds)); resource < len(kinds) {
			fault.Resources = []string{kinds[resource], kinds[resource] + "/status"}
		}
		switch dice.IntN(6) {
		case 0:
			fault.DropRequest = true
		case 1:
			fault.DropAnswer = true
		case 2:
			fault.Delay = time.Duration(dice.IntN(300)) * time.Millisecond
		case 3:
			fault.CutAfter = int64(1 + dice.IntN(3000))
		default:
			fault.Code = []int{409, 429, 500, 503}[dice.IntN(4)]
			fault.RetryAfter = dice.IntN(2)
			fault.OnlyWrites = fault.Code == http.StatusConflict // nothing else gets one
		}
		faults = append(faults, fault)
	}
	return faults
}

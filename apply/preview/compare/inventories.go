package compare

import (
	"fmt"
	"time"

	"github.com/nodepools/nodepools/apply/preview/review"
)

// inventories are those that one change is reviewed with.
type inventories struct {
	// owner has the cluster of each source by its UID, which is that of one object.
	owner map[string]string
	twins []string
	taken []snapshotTime
}

// snapshotTime is when the inventory of a cluster was taken.
type snapshotTime struct {
	cluster, text string
	at            time.Time
}

func (i *inventories) add(cluster string, s *Sides) {
	if at, err := time.Parse(time.RFC3339, s.Compared.Taken); err == nil {
		i.taken = append(i.taken, snapshotTime{cluster, s.Compared.Taken, at})
	}
	if i.owner == nil {
		i.owner = map[string]string{}
	}
	for _, source := range s.sources {
		uid := string(source.UID)
		if other, known := i.owner[uid]; known && uid != "" {
			i.twins = append(i.twins, fmt.Sprintf("%s and %s are inventories of one cluster, or of a copy of it: NodePoolSource %q has the same UID in both",
				review.Word(other), review.Word(cluster), source.Name))
			return
		}
	}
	for _, source := range s.sources {
		i.owner[string(source.UID)] = cluster
	}
}

// staleAfter is how much older than the newest an inventory may be. Those of a nightly
// job are of one night.
const staleAfter = 48 * time.Hour

// notes name the inventories that may be of one cluster, and those that are much older
// than the newest.
func (i *inventories) notes() []string {
	notes := i.twins
	var newest time.Time
	for _, each := range i.taken {
		if each.at.After(newest) {
			newest = each.at
		}
	}
	for _, each := range i.taken {
		if age := newest.Sub(each.at); age > staleAfter {
			notes = append(notes, fmt.Sprintf("the inventory of %s is %s older than the newest one: it is as of %s",
				review.Word(each.cluster), review.Count(int(age/(24*time.Hour)), "day"), each.text))
		}
	}
	return notes
}

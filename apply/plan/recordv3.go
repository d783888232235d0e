package plan

import (
	"errors"
	"time"
)

// recordV3 is the text of version 3: that of version 2, and what there is to know of the
// last change that the node has followed in its turn.
//
//	{"version":3,
//	 "pools":{"gpu":{"labels":{"team":"ml"}}},
//	 "change":{"at":"2026-11-25T02:00:07Z","unready":true,"pools":{"gpu":{"content":"3fa2c1","undo":"9b1c22ab44d0"}}}}
//
// What is there of a pool under change are texts to compare with others, see
// [FollowedPool]; nothing is read out of them.
type recordV3 struct {
	recordV2
	Change changeV3 `json:"change"`
}

// changeV3 is a change that the node has followed.
type changeV3 struct {
	// At is when that began, in UTC and as RFC 3339 has it, in whole seconds.
	At      string                  `json:"at"`
	Unready bool                    `json:"unready,omitempty"`
	Pools   map[string]FollowedPool `json:"pools,omitempty"`
}

func newRecordV3(r Record) recordV3 {
	written := recordV3{newRecordV2(r), changeV3{r.Change.At.UTC().Format(time.RFC3339), r.Change.Unready, r.Change.Pools}}
	written.Version = newestRecordVersion
	return written
}

func readRecordV3(text string) (Record, error) {
	var written recordV3
	if err := readStrictly(text, &written); err != nil {
		return Record{}, err
	}
	at, err := time.Parse(time.RFC3339, written.Change.At)
	if err != nil || at.IsZero() || at.UTC().Format(time.RFC3339) != written.Change.At {
		return Record{}, errors.New("a change has no time, or not as it is written")
	}
	r, err := written.read()
	if err == nil && r.Empty() {
		return Record{}, errors.New("there is a change, and nothing that has changed")
	}
	r.Change = LastChange{at.UTC(), written.Change.Unready, written.Change.Pools}
	return r, err
}

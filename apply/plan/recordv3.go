package plan

import (
	"errors"
	"time"

	"github.com/nodepools/nodepools/render"
)

// recordV3 is the text of version 3: that of version 2, and what the node has followed in
// its turn.
//
//	{"version":3,
//	 "pools":{"gpu":{"labels":{"team":"ml"}}},
//	 "change":{"at":"2026-11-25T02:00:07Z","pools":{
//	  "gpu":{"content":"3fa2c1","before":{"labels":{"team":"web"},"taints":{"gpu:NoSchedule":null}}}}}}
//
// Under before are the values that keys had; null for those that no pool had put there.
type recordV3 struct {
	recordV2
	Change changeV3 `json:"change"`
}

// changeV3 is what the node has followed.
type changeV3 struct {
	// At is when it last began, in UTC and as RFC 3339 has it, in whole seconds.
	At    string                `json:"at"`
	Pools map[string]followedV3 `json:"pools,omitempty"`
}

// followedV3 is what the node has followed of a pool.
type followedV3 struct {
	// At is when that began; left out where it is that of the change.
	At      string   `json:"at,omitempty"`
	Unready bool     `json:"unready,omitempty"`
	Content string   `json:"content,omitempty"`
	Before  beforeV3 `json:"before,omitzero"`
	Drains  bool     `json:"drains,omitempty"`
}

type beforeV3 struct {
	Labels map[string]*string         `json:"labels,omitempty"`
	Taints map[render.TaintID]*string `json:"taints,omitempty"`
}

func newRecordV3(r Record) recordV3 {
	written := recordV3{newRecordV2(r), changeV3{At: r.Change.At.UTC().Format(time.RFC3339)}}
	written.Version = newestRecordVersion
	for pool, followed := range r.Change.Pools {
		at := ""
		if !followed.At.Equal(r.Change.At) {
			at = followed.At.UTC().Format(time.RFC3339)
		}
		if written.Change.Pools == nil {
			written.Change.Pools = map[string]followedV3{}
		}
		written.Change.Pools[pool] = followedV3{at, followed.Unready, followed.Content, beforeV3{followed.Labels, followed.Taints}, followed.Drains}
	}
	return written
}

func readRecordV3(text string) (Record, error) {
	var written recordV3
	if err := readStrictly(text, &written); err != nil {
		return Record{}, err
	}
	r, err := written.read()
	if err != nil {
		return Record{}, err
	}
	if r.Empty() {
		return Record{}, errors.New("there is a change, and nothing that has changed")
	}
	if r.Change.At, err = readTime(written.Change.At); err != nil {
		return Record{}, err
	}
	for pool, followed := range written.Change.Pools {
		at := r.Change.At
		if followed.At != "" {
			if at, err = readTime(followed.At); err != nil || at.Equal(r.Change.At) {
				return Record{}, errors.New("what was followed of a pool has no time of its own, or not as it is written")
			}
		}
		if r.Change.Pools == nil {
			r.Change.Pools = map[string]FollowedPool{}
		}
		r.Change.Pools[pool] = FollowedPool{at, followed.Unready, followed.Content, followed.Before.Labels, followed.Before.Taints, followed.Drains}
	}
	return r, nil
}

func readTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() || at.UTC().Format(time.RFC3339) != text {
		return time.Time{}, errors.New("a change has no time, or not as it is written")
	}
	return at.UTC(), nil
}

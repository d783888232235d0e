package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/render"
)

// recordV3 is the text of version 3: that of version 2, and what the node has followed in
// its turn.
//
//	{"version":3,
//	 "pools":{"gpu":{"labels":{"team":"ml"}}},
//	 "change":{"at":"2026-11-25T02:00:07Z","pools":{
//	  "gpu":{"content":"3fa2c1","keys":"0c44d9e1f2a8.b1d0775c6e3f","commit":"9a41c07d2be5","before":{"labels":{"team":"web"},"taints":{"gpu:NoSchedule":null}}}},
//	  "drains":{"gpu:NoExecute":{"pool":"gpu","value":"a100"}}}}
//
// The keys stand for those of the pool that have changed, and for their values. The commit is
// that by which the pool said so. Under before are the values that keys had; null for those
// that no pool had put there. Under drains are the taints that come when the node is drained.
type recordV3 struct {
	recordV2
	Change changeV3 `json:"change"`
}

// changeV3 is what the node has followed.
type changeV3 struct {
	// At is when it last began, in UTC and as RFC 3339 has it, in whole seconds.
	At     string                       `json:"at"`
	Pools  map[string]followedV3        `json:"pools,omitempty"`
	Drains map[render.TaintID]drainedV3 `json:"drains,omitempty"`
	// Unready is for all pools, as the first programs that wrote this version had it.
	Unready bool `json:"unready,omitempty"`
}

// drainedV3 is a taint that comes when the node is drained.
type drainedV3 struct {
	Pool  string `json:"pool"`
	Value string `json:"value"`
	// Since is when that began; left out where it is the time of the change.
	Since string `json:"since,omitempty"`
	// Stands is since when a NoSchedule taint keeps pods off; left out where it is that, too.
	Stands string `json:"stands,omitempty"`
	// Before is the NoSchedule taint before one kept pods off.
	Before *string `json:"before,omitempty"`
}

// followedV3 is what the node has followed of a pool.
type followedV3 struct {
	// At is when that began; left out where it is that of the change.
	At string `json:"at,omitempty"`
	// Began is when that began, where the node was drained for it until then.
	Began   string `json:"began,omitempty"`
	Unready bool   `json:"unready,omitempty"`
	Content string `json:"content,omitempty"`
	// Keys are those of [FollowedPool.Keys], with a dot between two.
	Keys   string   `json:"keys,omitempty"`
	Commit string   `json:"commit,omitempty"`
	Before beforeV3 `json:"before,omitzero"`
	// Change and Undo stood for what Keys and Before say, in the first programs that wrote
	// this version. They are never written, and nothing is made of them.
	Change string `json:"change,omitempty"`
	Undo   string `json:"undo,omitempty"`
}

type beforeV3 struct {
	Labels map[string]*string         `json:"labels,omitempty"`
	Taints map[render.TaintID]*string `json:"taints,omitempty"`
}

func newRecordV3(r Record) recordV3 {
	written := recordV3{newRecordV2(r), changeV3{At: r.Change.At.UTC().Format(time.RFC3339)}}
	written.Change.writeDrains(r.Change)
	written.Version = newestRecordVersion
	for pool, followed := range r.Change.Pools {
		at := writeOwnTime(followed.At, r.Change)
		if written.Change.Pools == nil {
			written.Change.Pools = map[string]followedV3{}
		}
		written.Change.Pools[pool] = followedV3{
			At: at, Began: writeEarlier(followed), Unready: followed.Unready, Content: followed.Content, Keys: strings.Join(followed.Keys, "."),
			Commit: followed.Commit, Before: beforeV3{followed.Labels, followed.Taints},
		}
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
	if r.Change.At, err = readTime(written.Change.At); err != nil {
		return Record{}, err
	}
	for pool, followed := range written.Change.Pools {
		at, err := readOwnTime(followed.At, r.Change)
		if err != nil {
			return Record{}, err
		}
		if r.Change.Pools == nil {
			r.Change.Pools = map[string]FollowedPool{}
		}
		began, err := readEarlier(followed.Began, at)
		if err != nil {
			return Record{}, err
		}
		keys, err := readKeys(followed.Keys)
		if err != nil {
			return Record{}, err
		}
		if followed.Commit != "" && !isShortCommit(followed.Commit) {
			return Record{}, fmt.Errorf("no commit can be %q", followed.Commit)
		}
		r.Change.Pools[pool] = FollowedPool{at, followed.Unready || written.Change.Unready, began, followed.Content, keys, followed.Commit, followed.Before.Labels, followed.Before.Taints}
	}
	if err := written.Change.readDrains(&r.Change); err != nil {
		return Record{}, err
	}
	if r.Empty() {
		return Record{}, errors.New("there is a change, and nothing that has changed")
	}
	return r, nil
}

func readKeys(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	keys := strings.Split(text, ".")
	for i, key := range keys {
		if !isFollowedKey(key) || i > 0 && key <= keys[i-1] {
			return nil, fmt.Errorf("nothing that a node has followed is written as %q", text)
		}
	}
	return keys, nil
}

func (w *changeV3) writeDrains(c LastChange) {
	for id, drained := range c.Drains {
		if w.Drains == nil {
			w.Drains = map[render.TaintID]drainedV3{}
		}
		w.Drains[id] = drainedV3{drained.Pool, drained.Value, writeOwnTime(drained.Since, c), writeOwnTime(drained.Stands, c), drained.Before}
	}
}

func (w *changeV3) readDrains(c *LastChange) error {
	for id, drained := range w.Drains {
		since, err := readOwnTime(drained.Since, *c)
		if err != nil {
			return err
		}
		stands, err := readOwnTime(drained.Stands, *c)
		if err != nil {
			return err
		}
		if drained.Pool == "" || id.Effect != corev1.TaintEffectNoExecute {
			return fmt.Errorf("nodes are not drained of %q", id)
		}
		if c.Drains == nil {
			c.Drains = map[render.TaintID]DrainedTaint{}
		}
		c.Drains[id] = DrainedTaint{drained.Pool, drained.Value, since, stands, drained.Before}
	}
	return nil
}

// writeOwnTime is a time that need not be that of the whole change; empty where it is.
func writeOwnTime(at time.Time, c LastChange) string {
	if at.Equal(c.At) {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func readOwnTime(text string, c LastChange) (time.Time, error) {
	if text == "" {
		return c.At, nil
	}
	at, err := readTime(text)
	if err != nil || at.Equal(c.At) {
		return time.Time{}, errors.New("a part of a change has no time of its own, or not as it is written")
	}
	return at, nil
}

// writeEarlier is when what a node has followed began, where it was drained for that; empty
// where it was not.
func writeEarlier(followed FollowedPool) string {
	if followed.Began.IsZero() {
		return ""
	}
	return followed.Began.UTC().Format(time.RFC3339)
}

func readEarlier(text string, than time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := readTime(text)
	if err != nil || !at.Before(than) {
		return time.Time{}, errors.New("a drain has not begun before it has ended, or not as it is written")
	}
	return at, nil
}

func readTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() || at.UTC().Format(time.RFC3339) != text {
		return time.Time{}, errors.New("a change has no time, or not as it is written")
	}
	return at.UTC(), nil
}

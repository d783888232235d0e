package plan

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/nodepools/nodepools/render"
)

// writtenRecord is the JSON of a record. The values that a pool has put on the node are under
// the name of the pool:
//
//	{"version":1,
//	 "pools":{
//	  "edge":{"labels":{"zone":"dmz"},"taints":{"edge:NoSchedule":"yes"}},
//	  "gpu":{"labels":{"team":"ml","tier":"front"}}},
//	 "before":{"labels":{"team":"web"}},
//	 "adopted":{"labels":{"tier":"back"}},
//	 "change":{"at":"2026-11-25T02:00:07Z","pools":{
//	  "gpu":{"spec":"3fa2c10c44d9","previous":"b1d0775c6e3f","commit":"9a41c07d2be5"}},
//	  "drains":{"gpu:NoExecute":{"pool":"gpu","value":"a100"}}}}
//
// A key under before was taken over; its value there comes back on release. A key under adopted
// stays with the pool; its value there is the earlier one, null for none. The change is what
// the node has followed in its turn.
type writtenRecord struct {
	Version int                      `json:"version"`
	Pools   map[string]writtenValues `json:"pools,omitempty"`
	Before  writtenValues            `json:"before,omitzero"`
	Adopted writtenValues            `json:"adopted,omitzero"`
	Change  *writtenChange           `json:"change,omitempty"`
}

// writtenValues are values by field and key.
type writtenValues struct {
	Labels      map[string]*string         `json:"labels,omitempty"`
	Annotations map[string]*string         `json:"annotations,omitempty"`
	Taints      map[render.TaintID]*string `json:"taints,omitempty"`
}

// writtenChange is what the node has followed.
type writtenChange struct {
	// At is when it last began, in UTC and as RFC 3339 has it, in whole seconds.
	At     string                            `json:"at"`
	Pools  map[string]writtenFollowed        `json:"pools,omitempty"`
	Drains map[render.TaintID]writtenDrained `json:"drains,omitempty"`
}

// writtenFollowed is what the node has followed of a pool.
type writtenFollowed struct {
	// At is when that began; left out where it is that of the change.
	At       string `json:"at,omitempty"`
	Unready  bool   `json:"unready,omitempty"`
	Spec     string `json:"spec,omitempty"`
	Previous string `json:"previous,omitempty"`
	Commit   string `json:"commit,omitempty"`
}

// writtenDrained is a taint that comes when the node is drained.
type writtenDrained struct {
	Pool  string `json:"pool"`
	Value string `json:"value"`
	// Since is when that began; left out where it is the time of the change.
	Since string `json:"since,omitempty"`
	// Stands is since when a NoSchedule taint keeps pods off; left out where it is that, too.
	Stands string `json:"stands,omitempty"`
	// Before is the NoSchedule taint before one kept pods off.
	Before *string `json:"before,omitempty"`
}

func (r Record) written() writtenRecord {
	written := writtenRecord{Version: recordVersion, Pools: map[string]writtenValues{}}
	writeEntries(&written, r.Labels, func(v *writtenValues) *map[string]*string { return &v.Labels })
	writeEntries(&written, r.Annotations, func(v *writtenValues) *map[string]*string { return &v.Annotations })
	writeEntries(&written, r.Taints, func(v *writtenValues) *map[render.TaintID]*string { return &v.Taints })
	if !r.Change.At.IsZero() {
		written.Change = r.Change.written()
	}
	return written
}

// writeEntries writes the entries of one field, which in picks out of values.
func writeEntries[K comparable](written *writtenRecord, entries map[K]Entry, in func(*writtenValues) *map[K]*string) {
	put := func(into *writtenValues, key K, value *string) {
		values := in(into)
		if *values == nil {
			*values = map[K]*string{}
		}
		(*values)[key] = value
	}
	for key, entry := range entries {
		pool := written.Pools[entry.Pool]
		put(&pool, key, &entry.Value)
		written.Pools[entry.Pool] = pool
		switch {
		case entry.Adopted:
			put(&written.Adopted, key, entry.Before)
		case entry.Before != nil:
			put(&written.Before, key, entry.Before)
		}
	}
}

func (c LastChange) written() *writtenChange {
	written := &writtenChange{At: writeTime(c.At), Pools: map[string]writtenFollowed{}, Drains: map[render.TaintID]writtenDrained{}}
	for pool, followed := range c.Pools {
		written.Pools[pool] = writtenFollowed{c.writeOwnTime(followed.At), followed.Unready, followed.Spec, followed.Previous, followed.Commit}
	}
	for id, drained := range c.Drains {
		written.Drains[id] = writtenDrained{drained.Pool, drained.Value, c.writeOwnTime(drained.Since), c.writeOwnTime(drained.Stands), drained.Before}
	}
	return written
}

func (written writtenRecord) read() (Record, error) {
	var r Record
	if err := readEntries(&r.Labels, written, func(v writtenValues) map[string]*string { return v.Labels }); err != nil {
		return Record{}, err
	}
	if err := readEntries(&r.Annotations, written, func(v writtenValues) map[string]*string { return v.Annotations }); err != nil {
		return Record{}, err
	}
	if err := readEntries(&r.Taints, written, func(v writtenValues) map[render.TaintID]*string { return v.Taints }); err != nil {
		return Record{}, err
	}
	if written.Change == nil {
		return r, nil
	}
	var err error
	if r.Change, err = written.Change.read(); err != nil {
		return Record{}, err
	}
	if r.Empty() {
		return Record{}, errors.New("there is a change, and nothing that has changed")
	}
	return r, nil
}

// readEntries reads the entries of one field, which of picks out of values.
func readEntries[K comparable](into *map[K]Entry, written writtenRecord, of func(writtenValues) map[K]*string) error {
	entries := map[K]Entry{}
	for pool, values := range written.Pools {
		for key, value := range of(values) {
			if value == nil {
				return fmt.Errorf("the entry of %q has no value", fmt.Sprint(key))
			}
			if _, twice := entries[key]; twice {
				return fmt.Errorf("the entry of %q is of two pools", fmt.Sprint(key))
			}
			entries[key] = Entry{Pool: pool, Value: *value}
		}
	}
	for key, before := range of(written.Before) {
		entry, found := entries[key]
		if !found {
			return fmt.Errorf("%q had a value before, and is of no pool", fmt.Sprint(key))
		}
		if before == nil {
			return fmt.Errorf("%q had a value before that is missing", fmt.Sprint(key))
		}
		entry.Before = before
		entries[key] = entry
	}
	for key, before := range of(written.Adopted) {
		entry, found := entries[key]
		if !found {
			return fmt.Errorf("%q is adopted, and is of no pool", fmt.Sprint(key))
		}
		if entry.Before != nil {
			return fmt.Errorf("%q is adopted, and has a value to come back", fmt.Sprint(key))
		}
		entry.Before, entry.Adopted = before, true
		entries[key] = entry
	}
	*into = entries
	return nil
}

func (written *writtenChange) read() (c LastChange, err error) {
	if c.At, err = readTime(written.At); err != nil {
		return c, err
	}
	if len(written.Pools) > 0 {
		c.Pools = map[string]FollowedPool{}
	}
	for pool, followed := range written.Pools {
		if c.Pools[pool], err = followed.read(c); err != nil {
			return c, err
		}
	}
	if len(written.Drains) > 0 {
		c.Drains = map[render.TaintID]DrainedTaint{}
	}
	for id, drained := range written.Drains {
		since, err := c.readOwnTime(drained.Since)
		if err != nil {
			return c, err
		}
		stands, err := c.readOwnTime(drained.Stands)
		if err != nil {
			return c, err
		}
		if drained.Pool == "" || id.Effect != corev1.TaintEffectNoExecute {
			return c, fmt.Errorf("nodes are not drained of %q", id)
		}
		c.Drains[id] = DrainedTaint{drained.Pool, drained.Value, since, stands, drained.Before}
	}
	return c, nil
}

func (written writtenFollowed) read(c LastChange) (FollowedPool, error) {
	at, err := c.readOwnTime(written.At)
	if err != nil {
		return FollowedPool{}, err
	}
	if written.Commit != "" && !isShortCommit(written.Commit) {
		return FollowedPool{}, fmt.Errorf("no commit can be %q", written.Commit)
	}
	return FollowedPool{at, written.Unready, written.Spec, written.Previous, written.Commit}, nil
}

// writeOwnTime is a time that need not be that of the whole change; empty where it is.
func (c LastChange) writeOwnTime(at time.Time) string {
	if at.Equal(c.At) {
		return ""
	}
	return writeTime(at)
}

func (c LastChange) readOwnTime(text string) (time.Time, error) {
	if text == "" {
		return c.At, nil
	}
	at, err := readTime(text)
	if err != nil || at.Equal(c.At) {
		return time.Time{}, errors.New("a part of a change has no time of its own, or not as it is written")
	}
	return at, nil
}

func writeTime(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func readTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() || writeTime(at) != text {
		return time.Time{}, errors.New("a change has no time, or not as it is written")
	}
	return at.UTC(), nil
}

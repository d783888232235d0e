package plan

import (
	"fmt"

	"github.com/nodepools/nodepools/render"
)

// recordV2 is the text of version 2. What the pools have put there stands under
// the name of each pool, as it stands in the pool's own file:
//
//	{"version":2,
//	 "pools":{
//	  "edge":{"labels":{"zone":"dmz"},"taints":{"edge:NoSchedule":"yes"}},
//	  "gpu":{"labels":{"team":"ml","tier":"front"}}},
//	 "before":{"labels":{"team":"web"}},
//	 "adopted":{"labels":{"tier":"back"}}}
//
// A key under before was taken over and had that value, which comes back; one
// under adopted is the pool's for good, and had that value, or null for none.
type recordV2 struct {
	Version int                 `json:"version"`
	Pools   map[string]valuesV2 `json:"pools,omitempty"`
	Before  valuesV2            `json:"before,omitzero"`
	Adopted valuesV2            `json:"adopted,omitzero"`
}

// valuesV2 are values by field and key.
type valuesV2 struct {
	Labels      map[string]*string         `json:"labels,omitempty"`
	Annotations map[string]*string         `json:"annotations,omitempty"`
	Taints      map[render.TaintID]*string `json:"taints,omitempty"`
}

func newRecordV2(r Record) recordV2 {
	written := recordV2{Version: recordVersion, Pools: map[string]valuesV2{}}
	writeV2(&written, r.Labels, func(v *valuesV2) *map[string]*string { return &v.Labels })
	writeV2(&written, r.Annotations, func(v *valuesV2) *map[string]*string { return &v.Annotations })
	writeV2(&written, r.Taints, func(v *valuesV2) *map[render.TaintID]*string { return &v.Taints })
	return written
}

// writeV2 writes the entries of one field, which in picks out of values.
func writeV2[K comparable](written *recordV2, entries map[K]Entry, in func(*valuesV2) *map[K]*string) {
	put := func(into *valuesV2, key K, value *string) {
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

func readRecordV2(text string) (Record, error) {
	var written recordV2
	if err := readStrictly(text, &written); err != nil {
		return Record{}, err
	}
	return written.read()
}

func (written recordV2) read() (Record, error) {
	var r Record
	if err := readV2(&r.Labels, written, func(v valuesV2) map[string]*string { return v.Labels }); err != nil {
		return Record{}, err
	}
	if err := readV2(&r.Annotations, written, func(v valuesV2) map[string]*string { return v.Annotations }); err != nil {
		return Record{}, err
	}
	if err := readV2(&r.Taints, written, func(v valuesV2) map[render.TaintID]*string { return v.Taints }); err != nil {
		return Record{}, err
	}
	return r, nil
}

// readV2 reads the entries of one field, which of picks out of values.
func readV2[K comparable](into *map[K]Entry, written recordV2, of func(valuesV2) map[K]*string) error {
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

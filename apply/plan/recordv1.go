package plan

import (
	"fmt"

	"github.com/nodepools/nodepools/render"
)

// recordV1 is the text of version 1, in which each key has all that is to be
// said of it. It is no longer written.
type recordV1 struct {
	Version     int                        `json:"version"`
	Labels      map[string]entryV1         `json:"labels"`
	Annotations map[string]entryV1         `json:"annotations"`
	Taints      map[render.TaintID]entryV1 `json:"taints"`
}

type entryV1 struct {
	Pool    string  `json:"pool"`
	Value   *string `json:"value"`
	Before  *string `json:"before"`
	Adopted bool    `json:"adopted"`
}

func readRecordV1(text string) (Record, error) {
	var written recordV1
	if err := readStrictly(text, &written); err != nil {
		return Record{}, err
	}
	var r Record
	if err := readEntriesV1(&r.Labels, written.Labels); err != nil {
		return Record{}, err
	}
	if err := readEntriesV1(&r.Annotations, written.Annotations); err != nil {
		return Record{}, err
	}
	if err := readEntriesV1(&r.Taints, written.Taints); err != nil {
		return Record{}, err
	}
	return r, nil
}

func readEntriesV1[K comparable](into *map[K]Entry, written map[K]entryV1) error {
	*into = make(map[K]Entry, len(written))
	for key, entry := range written {
		if entry.Value == nil {
			return fmt.Errorf("the entry of %q has no value", fmt.Sprint(key))
		}
		(*into)[key] = Entry{Pool: entry.Pool, Value: *entry.Value, Before: entry.Before, Adopted: entry.Adopted}
	}
	return nil
}

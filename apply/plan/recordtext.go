package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	v1 "github.com/nodepools/nodepools/api/v1"
)

// recordVersion is the version of the record that this code reads and writes.
const recordVersion = 1

// ErrNewerRecord says that a record was written by a later version.
var ErrNewerRecord = errors.New("written by a later version of nodepools")

// ParseRecord reads a record; the empty text is an empty record. Whatever it
// does not know to the last field it refuses, and so it does what can be read in
// two ways: a record that is only half understood is not understood.
func ParseRecord(text string) (Record, error) {
	if text == "" {
		return Record{}, nil
	}
	// A later version may have fields of its own, so its number goes first.
	var written struct {
		Version int `json:"version"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &written); err != nil {
		return Record{}, notARecord(err)
	}
	switch version := written.Version; {
	case version > recordVersion:
		return Record{}, fmt.Errorf("record of version %d: %w", version, ErrNewerRecord)
	case version < recordVersion:
		return Record{}, fmt.Errorf("record of version %d, which never was", version)
	}
	var all writtenRecord
	if err := readStrictly(text, &all); err != nil {
		return Record{}, notARecord(err)
	}
	record, err := all.read()
	if err == nil {
		err = record.check()
	}
	if err != nil {
		return Record{}, notARecord(err)
	}
	return record, nil
}

// notARecord says it of where a type is wrong in words that are not those of a
// Go program.
func notARecord(err error) error {
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("misplaced %s, up to byte %d", mistyped.Value, mistyped.Offset)
	}
	return fmt.Errorf("not a record: %w", err)
}

// readStrictly refuses fields that are unknown, in another case, or there twice,
// and text after the end.
func readStrictly(text string, into any) error {
	strict, err := kjson.UnmarshalStrict([]byte(text), into)
	if err == nil && len(strict) > 0 {
		err = strict[0]
	}
	return err
}

// check refuses entries that this code would never write. The name of a pool is printed
// in commands to copy, so it has to be one that a pool can have.
func (r Record) check() error {
	pools := r.Pools()
	for _, drained := range r.Change.Drains {
		pools[drained.Pool] = true
	}
	for pool := range pools {
		if problems := validation.IsDNS1123Subdomain(pool); pool != "" && len(problems) > 0 {
			return fmt.Errorf("no pool can have the name %q", pool)
		}
	}
	for _, entries := range []map[string]Entry{r.Labels, r.Annotations} {
		for key, entry := range entries {
			if key == "" || entry.Pool == "" {
				return fmt.Errorf("the entry of %q names no pool or no key", key)
			}
			if strings.HasPrefix(key, v1.Domain+"/") {
				return fmt.Errorf("%q is not for pools to set", key)
			}
		}
	}
	for id, entry := range r.Taints {
		if entry.Pool == "" {
			return fmt.Errorf("the entry of %q names no pool", id)
		}
		if v1.IsConditionTaint(id.Key) || strings.HasPrefix(id.Key, v1.Domain+"/") {
			return fmt.Errorf("%q is not for pools to set", id)
		}
	}
	return nil
}

// String writes the record as it stands in the annotation, "" when it is empty.
// The keys are sorted, so equal records are equal texts.
func (r Record) String() string {
	if r.Empty() {
		return ""
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // it is read by people, not by browsers
	if err := encoder.Encode(r.written()); err != nil {
		// Maps of strings always marshal; TaintID's MarshalText never fails.
		panic(fmt.Sprintf("record: %v", err))
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// MarshalJSON writes the record as it stands in the annotation: whoever prints
// one shows what is there.
func (r Record) MarshalJSON() ([]byte, error) { return json.Marshal(r.written()) }

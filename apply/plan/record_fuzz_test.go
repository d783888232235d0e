package plan

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// records are texts to start from, beside those of testdata.
var records = []string{
	"", "{}", "null", `{"version":1}`, `{"version":2}`, `{"version":1,"labels":null}`, `{"version":1,"pools":null}`, `{"version":1,"change":null}`,
	`{"version":1,"pools":{"a":{"labels":{"k0":"1"}},"b":{"labels":{"k0":"1"}}}}`,
	`{"version":1,"pools":{"a":{"labels":{"k0":"1"},"labels":{}}},"before":{"labels":{"k1":""}},"adopted":{"labels":{"k0":null}}}`,
	`{"version":1,"pools":{"a":{"taints":{"k0:NoSchedule":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","pools":{"a":{"at":"2026-11-25T01:00:07Z","spec":"c","previous":"d"}},"drains":{"k0:NoExecute":{"pool":"a","value":"","since":"2026-11-25T01:00:07Z","before":""}}}}`,
	`{"version":1,"pools":{"a":{"labels":{"k0":"1"}}},"change":{"at":"2026-11-25T02:00:07.5+01:00"}}`, `{"version":1,"change":{"at":"9999-12-31T23:59:59-12:00"}}`,
	`{"version":1,"pools":{"z":{"taints":{"k0:NoExecute":"\ud800"},"annotations":{"k1":""}}},"before":{"taints":{"k0:NoExecute":""}},"adopted":{"annotations":{"k1":null}}}`,
	`{"version":1,"pools":{"b":{"taints":{"a:b:c":"1"}}}}`,
	`{"version":1,"pools":{"a":{"annotations":{"nodes.lailin.xyz/applied":"1"}}}}`,
}

func addRecords(f *testing.F, add func(seed uint64, text string)) {
	f.Helper()
	for seed, text := range append([]string{whole.String()}, records...) {
		add(uint64(seed), text)
	}
}

// FuzzParseRecord: whatever stands in the annotation, it is refused, or it is
// read so that nothing of it is passed over, and so that writing and reading it
// again changes nothing.
func FuzzParseRecord(f *testing.F) {
	addRecords(f, func(_ uint64, text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		record, err := ParseRecord(text)
		if err != nil {
			if !record.Empty() {
				t.Errorf("refused, and yet it says %s", record)
			}
			return
		}
		written := record.String()
		again, err := ParseRecord(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		if !again.Equal(record) || again.String() != written {
			t.Errorf("read as\n%s, then as\n%s", written, again)
		}
		if text == "" {
			return
		}
		// What was read says all that the text says.
		if written == "" {
			written = "{}"
		}
		said, says := saying(t, text), saying(t, written)
		if diff := cmp.Diff(said, says); diff != "" {
			t.Errorf("passed over or made up (-said +read):\n%s", diff)
		}
	})
}

// saying is what a JSON text says, known or not, without what says nothing: the
// version, empty objects, false, and null, but for an adopted key, of which null says that
// it had no value.
func saying(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	said := readOnce(t, decoder)
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("text after the end is passed over: %v", err)
	}
	if object, isObject := said.(map[string]any); isObject {
		delete(object, "version")
	}
	return terse(said, false)
}

// readOnce reads a value, and fails where an object has a key twice.
func readOnce(t *testing.T, decoder *json.Decoder) any {
	t.Helper()
	token, err := decoder.Token()
	if err != nil {
		t.Fatalf("no JSON, and taken for a record: %v", err)
	}
	if token != json.Delim('{') {
		return token
	}
	object := map[string]any{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			t.Fatalf("no JSON, and taken for a record: %v", err)
		}
		name, _ := key.(string)
		if _, twice := object[name]; twice {
			t.Errorf("%q stands there twice", name)
		}
		object[name] = readOnce(t, decoder)
	}
	if _, err := decoder.Token(); err != nil {
		t.Fatalf("no JSON, and taken for a record: %v", err)
	}
	return object
}

func terse(value any, adopted bool) any {
	object, isObject := value.(map[string]any)
	if !isObject {
		return value
	}
	for key, inner := range object {
		inner = terse(inner, adopted || key == "adopted")
		empty, isObject := inner.(map[string]any)
		if isObject && len(empty) == 0 || inner == nil && !adopted || inner == false {
			delete(object, key)
		} else {
			object[key] = inner
		}
	}
	return object
}

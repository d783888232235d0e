package plan

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// records are texts to start from, beside those of testdata.
var records = []string{
	"", "{}", "null", `{"version":1}`, `{"version":2}`, `{"version":4}`, `{"version":1,"labels":null}`, `{"version":2,"pools":null}`,
	`{"version":1,"labels":{"k0":{"pool":"a","value":"1"}}}`,
	`{"version":1,"labels":{"k0":{"pool":"a","value":"","before":"","adopted":true}},"annotations":{"k1":{"pool":"z","value":"\ufffd"}}}`,
	`{"version":1,"taints":{"k0:NoSchedule":{"pool":"b","value":"1"},"k0:NoExecute":{"pool":"a","value":"2","before":"1"}}}`,
	`{"version":1,"taints":{"a:b:c":{"pool":"b","value":"1"}}}`,
	`{"version":1,"labels":{"k0":{"pool":"a","value":"1"},"k0":{"pool":"b","value":"2"}}}`,
	`{"version":1,"annotations":{"nodes.lailin.xyz/applied":{"pool":"a","value":"1"}}}`,
	`{"version":2,"pools":{"a":{"labels":{"k0":"1"}},"b":{"labels":{"k0":"1"}}}}`,
	`{"version":2,"pools":{"a":{"labels":{"k0":"1"},"labels":{}}},"before":{"labels":{"k1":""}},"adopted":{"labels":{"k0":null}}}`,
	`{"version":3,"pools":{"a":{"taints":{"k0:NoSchedule":"1"}}},"change":{"at":"2026-11-25T02:00:07Z","pools":{"a":{"at":"2026-11-25T01:00:07Z","content":"c","before":{"taints":{"k0:NoSchedule":null}}}},"drains":{"k0:NoExecute":{"pool":"a","value":"","since":"2026-11-25T01:00:07Z","before":""}}}}`,
	`{"version":3,"pools":{"a":{"labels":{"k0":"1"}}},"change":{"at":"2026-11-25T02:00:07.5+01:00"}}`, `{"version":3,"change":{"at":"9999-12-31T23:59:59-12:00"}}`,
	`{"version":2,"pools":{"z":{"taints":{"k0:NoExecute":"\ud800"},"annotations":{"k1":""}}},"before":{"taints":{"k0:NoExecute":""}},"adopted":{"annotations":{"k1":null}}}`,
}

func addRecords(f *testing.F, add func(seed uint64, text string)) {
	f.Helper()
	files, err := filepath.Glob("testdata/records/*/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no records in testdata: %v", err)
	}
	all := append([]string{whole.String(), textV1(f, whole)}, records...)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, string(text))
	}
	for seed, text := range all {
		add(uint64(seed), text)
	}
}

// FuzzParseRecord: whatever stands in the annotation, it is refused, or it is
// read so that nothing of it is passed over, and so that writing and reading it
// again changes nothing, in either version.
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
		old := textV1(t, record)
		if again, err := ParseRecord(old); err != nil || !again.Equal(record) {
			t.Errorf("read as\n%s, and from version 1 as\n%s, %v", written, again, err)
		}
		if text == "" {
			return
		}
		// What was read says all that the text says.
		said, version := saying(t, text)
		same := written
		if version == 1 {
			same = old
		}
		if same == "" {
			same = "{}"
		}
		says, _ := saying(t, same)
		if diff := cmp.Diff(said, says); diff != "" {
			t.Errorf("passed over or made up (-said +read):\n%s", diff)
		}
	})
}

// textV1 is a record as version 1 wrote it.
func textV1(t testing.TB, record Record) string {
	t.Helper()
	type entry struct {
		Pool    string  `json:"pool"`
		Value   string  `json:"value"`
		Before  *string `json:"before,omitempty"`
		Adopted bool    `json:"adopted,omitempty"`
	}
	written := map[string]any{"version": 1}
	for field, entries := range entries(record) {
		all := map[string]entry{}
		for key, e := range entries {
			all[key] = entry(e)
		}
		written[string(field)+"s"] = all
	}
	text, err := json.Marshal(written)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// saying is what a JSON text says, known or not, without what says nothing: the
// version, which is returned beside it, empty objects, false, and null, but for
// an adopted key, of which null says that it had no value.
func saying(t *testing.T, text string) (said any, version float64) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	said = readOnce(t, decoder)
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("text after the end is passed over: %v", err)
	}
	object, _ := said.(map[string]any)
	version, _ = object["version"].(float64)
	delete(object, "version")
	return terse(said, false), version
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

package plan

import "testing"

func TestParseRecordV1(t *testing.T) {
	mustParse(t, map[string]parsing{
		"empty": {"nothing is ours", `{"version":1}`, Record{}, ""},
		"all": {
			"every field, and every form of an entry",
			`{"version":1,"labels":{"l":{"pool":"a","value":""},"m":{"pool":"b","value":"1","adopted":true}},` +
				`"annotations":{"n":{"pool":"b","value":"1","before":""},"o":{"pool":"b","value":"2","before":"","adopted":true}},` +
				`"taints":{"t:NoSchedule":{"pool":"c","value":"2","before":"3"},"t:NoExecute":{"pool":"a","value":"2"}}}`,
			whole, "",
		},
		"cut off":             {"half a record is none", `{"version":1,"labels":{"l":{"pool":"a"`, Record{}, "not a record"},
		"unknown field":       {"half understood is not understood", `{"version":1,"roles":{}}`, Record{}, `unknown field "roles"`},
		"unknown in entry":    {"the same in an entry", `{"version":1,"labels":{"l":{"pool":"a","value":"1","weight":2}}}`, Record{}, `unknown field "labels.l.weight"`},
		"field of version 2":  {"a mix is of no version", `{"version":1,"pools":{"a":{"labels":{"l":"1"}}}}`, Record{}, `unknown field "pools"`},
		"field in capitals":   {"encoding/json would take it for the other and drop one", `{"version":1,"Labels":{},"labels":{}}`, Record{}, `unknown field "Labels"`},
		"key twice":           {"whose is it", `{"version":1,"labels":{"l":{"pool":"a","value":"1"},"l":{"pool":"b","value":"1"}}}`, Record{}, `duplicate field "labels.l"`},
		"key twice, escaped":  {"the same", `{"version":1,"labels":{"l":{"pool":"a","value":"1"},"\u006c":{"pool":"b","value":"1"}}}`, Record{}, `duplicate field "labels.l"`},
		"value twice":         {"which one is ours", `{"version":1,"labels":{"l":{"pool":"a","value":"1","value":"2"}}}`, Record{}, `duplicate field "labels.l.value"`},
		"taint twice":         {"whose is it", `{"version":1,"taints":{"t:NoSchedule":{"pool":"a","value":"1"},"t:NoSchedule":{"pool":"b","value":"1"}}}`, Record{}, `duplicate field "taints.t:NoSchedule"`},
		"no value":            {"what is ours cannot be distinguished from what is not", `{"version":1,"labels":{"l":{"pool":"a"}}}`, Record{}, `the entry of "l" has no value`},
		"null as value":       {"the same", `{"version":1,"taints":{"t:NoSchedule":{"pool":"a","value":null}}}`, Record{}, `the entry of "t:NoSchedule" has no value`},
		"number as value":     {"no value is a number", `{"version":1,"labels":{"l":{"pool":"a","value":1}}}`, Record{}, "misplaced number, up to byte 48"},
		"nobody's label":      {"whom should it be released for", `{"version":1,"labels":{"l":{"value":"1"}}}`, Record{}, "names no pool"},
		"nobody's taint":      {"the same", `{"version":1,"taints":{"t:NoSchedule":{"value":"1"}}}`, Record{}, "names no pool"},
		"no key":              {"there is no such label", `{"version":1,"annotations":{"":{"pool":"a","value":"1"}}}`, Record{}, "no key"},
		"taint sans effect":   {"a taint is known by key and effect", `{"version":1,"taints":{"t":{"pool":"a","value":"1"}}}`, Record{}, "key:effect"},
		"taint without a key": {"the same", `{"version":1,"taints":{":NoSchedule":{"pool":"a","value":"1"}}}`, Record{}, "key:effect"},
	})
}
